#include "ops/pool.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static PyObject* pair(const Tensor& values, const Tensor& indices) {
  return to_python(std::vector<Tensor>{values, indices});
}

// (input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
static PyObject* pool_max(Args& a, int spatial) {
  const ops::PoolOptions options{a.dims(1), a.optional_dims(2), a.dims(3), a.dims(4), a.boolean(5)};
  if (!a.boolean(6)) return to_python(ops::max_pool(a.name(), spatial, a.tensor(0), options));
  Tensor indices;
  const Tensor values = ops::max_pool(a.name(), spatial, a.tensor(0), options, &indices);
  return pair(values, indices);
}

// Functions of nn.functional are registered with an underscore, which errors omit.
static const char* public_name(Args& a) { return a.name() + (a.name()[0] == '_'); }

// (input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
static Tensor pool_avg(Args& a, int spatial) {
  const ops::PoolOptions options{a.dims(1), a.optional_dims(2), a.dims(3), {1}, a.boolean(4)};
  const bool divides = spatial > 1 && a.optional_integer(6).has_value();
  const int64_t divisor = divides ? *a.optional_integer(6) : 0;
  require(!divides || divisor != 0, public_name(a), ": divisor_override must not be 0");
  return ops::avg_pool(public_name(a), spatial, a.tensor(0), options, a.boolean(5), divisor);
}

static const Family family({.kind = Kind::Pool, .page = "neural"}, [] {
  def<"max_pool1d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool "
      "ceil_mode=False, bool return_indices=False) -> Tensor|(Tensor, Tensor)",
      [](Args& a) { return pool_max(a, 1); }>(kFunction,
                                              "The largest element of each window along the last dimension.");
  def<"max_pool2d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool "
      "ceil_mode=False, bool return_indices=False) -> Tensor|(Tensor, Tensor)",
      [](Args& a) { return pool_max(a, 2); }>(kFunction,
                                              "The largest element of each window over the last two dimensions.");
  def<"max_pool3d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool "
      "ceil_mode=False, bool return_indices=False) -> Tensor|(Tensor, Tensor)",
      [](Args& a) { return pool_max(a, 3); }>(kFunction,
                                              "The largest element of each window over the last three dimensions.");
  def<"avg_pool1d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool "
      "count_include_pad=True) -> Tensor",
      [](Args& a) { return pool_avg(a, 1); }>(kFunction, "The mean of each window along the last dimension.");
  def<"_avg_pool2d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, "
      "bool "
      "count_include_pad=True, int? divisor_override=None) -> Tensor",
      [](Args& a) { return pool_avg(a, 2); }>(kFunction, "The mean of each window over the last two dimensions.");
  def<"_avg_pool3d(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, "
      "bool "
      "count_include_pad=True, int? divisor_override=None) -> Tensor",
      [](Args& a) { return pool_avg(a, 3); }>(kFunction, "The mean of each window over the last three dimensions.");
  def<"_adaptive_avg_pool(Tensor input, int[] output_size) -> Tensor", [](Args& a) {
    const Dims size = a.dims(1);
    constexpr const char* names[] = {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"};
    require(size.size() >= 1 && size.size() <= 3, "adaptive_avg_pool: output_size must have 1 to 3 numbers, got ",
            size);
    return ops::adaptive_avg_pool(names[size.size() - 1], size.size(), a.tensor(0), size);
  }>(kFunction, "Means over windows that give output_size results.");
  def<"_adaptive_max_pool(Tensor input, int[] output_size) -> (Tensor, Tensor)", [](Args& a) {
    const Dims size = a.dims(1);
    constexpr const char* names[] = {"adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"};
    require(size.size() >= 1 && size.size() <= 3, "adaptive_max_pool: output_size must have 1 to 3 numbers, got ",
            size);
    Tensor indices;
    const Tensor values = ops::adaptive_max_pool(names[size.size() - 1], size.size(), a.tensor(0), size, &indices);
    return pair(values, indices);
  }>(kFunction, "Maxima over windows that give output_size results, and their places.");
  def<"_max_unpool(Tensor input, Tensor indices, int[] output_size) -> Tensor", [](Args& a) {
    const Dims size = a.dims(2);
    constexpr const char* names[] = {"max_unpool1d", "max_unpool2d", "max_unpool3d"};
    require(size.size() >= 1 && size.size() <= 3, "max_unpool: output_size must have 1 to 3 numbers, got ", size);
    return ops::max_unpool(names[size.size() - 1], a.tensor(0), a.tensor(1), size);
  }>(kFunction, "Puts elements back to where max pooling found them, zeros elsewhere.");
});

}  // namespace genesis::py
