#include "ops/reduce.h"

#include <cmath>

#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/linalg.h"

namespace genesis::py {

// (input, dim, unbiased, keepdim, correction): x.var(0), x.var(0, False), x.var(False), x.var(correction=0).
namespace {
struct Moment {
  Dims dims;
  double correction = 1;
  bool keepdim;
  explicit Moment(Args& a) : keepdim(a.boolean(3)) {
    const bool bool_first = a.has(1) && PyBool_Check(a[1]);
    if (a.has(1) && !bool_first) dims = a.dims(1);
    const bool unbiased = bool_first ? a.boolean(1) : a.boolean(2);
    require(!((bool_first || a.has(2)) && a.has(4)), a.name(), ": pass unbiased or correction, not both");
    correction = a.has(4) ? a.number(4) : unbiased ? 1 : 0;
  }
};
}  // namespace

static double order_of_norm(Args& a, int i) {
  if (!a.has(i)) return 2;
  if (!PyUnicode_Check(a[i])) return a.number(i);
  const std::string name = a.string(i);
  if (name == "fro") return 2;
  if (name == "inf") return INFINITY;
  if (name == "-inf") return -INFINITY;
  a.fail(i, "a number, 'fro', 'nuc', 'inf' or '-inf'");
}

static Tensor norm(Args& a) {
  const bool nuclear = a.has(1) && PyUnicode_Check(a[1]) && a.string(1) == "nuc";
  if (!nuclear)
    return ops::norm(a.tensor(0), order_of_norm(a, 1), a.optional_dims(2), a.boolean(3), a.optional_dtype(4));
  const Dims dims = a.has(2) ? a.dims(2) : Dims{-2, -1};
  return ops::linalg_matrix_norm(a.tensor(0), {ops::MatrixOrder::Nuclear}, dims, a.boolean(3), a.optional_dtype(4));
}

static PyObject* pair(PyTypeObject* type, const std::pair<Tensor, Tensor>& values) {
  return named(type, {values.first, values.second});
}

static const Family family({.kind = Kind::Reduction, .takes = Takes::Complex, .page = "reduction"}, [] {
  def<"sum(Tensor input, int[]? dim=None, bool keepdim=False, *, DType? dtype=None, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::sum(a.tensor(0), a.optional_dims(1), a.boolean(2), a.optional_dtype(3)); }>(
      kBoth, "The sum of the elements, of all or along `dim`.", {.autocast = Cast::Wide});
  def<"mean(Tensor input, int[]? dim=None, bool keepdim=False, *, DType? dtype=None, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::mean(a.tensor(0), a.optional_dims(1), a.boolean(2), a.optional_dtype(3)); }>(
      kBoth, "The mean of the elements, of all or along `dim`.", {.autocast = Cast::Wide});
  def<"nansum(Tensor input, int[]? dim=None, bool keepdim=False, *, DType? dtype=None, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::nansum(a.tensor(0), a.optional_dims(1), a.boolean(2), a.optional_dtype(3)); }>(
      kBoth, "The sum of the elements that are not NaN.", {.autocast = Cast::Wide});
  def<"nanmean(Tensor input, int[]? dim=None, bool keepdim=False, *, DType? dtype=None, Tensor? out=None) -> "
      "Tensor",
      [](Args& a) { return ops::nanmean(a.tensor(0), a.optional_dims(1), a.boolean(2), a.optional_dtype(3)); }>(
      kBoth, "The mean of the elements that are not NaN.", {.autocast = Cast::Wide});
  def<"prod(Tensor input, int[]? dim=None, bool keepdim=False, *, DType? dtype=None, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::prod(a.tensor(0), a.optional_dims(1), a.boolean(2), a.optional_dtype(3)); }>(
      kBoth, "The product of the elements, of all or along `dim`.", {.autocast = Cast::Wide});
  def<"any(Tensor input, int[]? dim=None, bool keepdim=False, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::any(a.tensor(0), a.optional_dims(1), a.boolean(2));
  }>(kBoth, "Whether any element is not zero.");
  def<"all(Tensor input, int[]? dim=None, bool keepdim=False, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::all(a.tensor(0), a.optional_dims(1), a.boolean(2));
  }>(kBoth, "Whether no element is zero.");
  def<"count_nonzero(Tensor input, int[]? dim=None) -> Tensor", [](Args& a) {
    return ops::count_nonzero(a.tensor(0), a.optional_dims(1));
  }>(kBoth, "How many elements are not zero.");
  def<"sum_to_size(Tensor input, int *size) -> Tensor", [](Args& a) {
    const Dims shape = a.dims(1);
    const Tensor& x = a.tensor(0);
    require(shape.size() <= x.dim() && broadcast_shapes("sum_to_size", x.shape(), shape) == x.shape(),
            "sum_to_size: size ", shape, " does not broadcast to the shape of the input, ", x.shape());
    return ops::sum_to(x, shape);
  }>(kMethod, "The sum over the dimensions that broadcasting from `size` would have repeated.");
  def<"has_nan(Tensor input) -> bool", [](Args& a) { return ops::has_nan(a.tensor(0)); }>(
      kMethod, "Whether any element is NaN.", {.kind = Kind::Query});
  def<"has_inf(Tensor input) -> bool", [](Args& a) { return ops::has_inf(a.tensor(0)); }>(
      kMethod, "Whether any element is infinite.", {.kind = Kind::Query});

  def<"var(Tensor input, int[]? dim=None, bool unbiased=True, bool keepdim=False, *, float correction=1, Tensor? "
      "out=None) -> Tensor",
      [](Args& a) {
        const Moment m(a);
        return ops::var(a.tensor(0), m.dims, m.correction, m.keepdim);
      }>(kBoth, "The variance: squared distances to the mean, summed and divided by n - correction.",
         {.autocast = Cast::Wide, .flops = Flops::FiveInput});
  def<"std(Tensor input, int[]? dim=None, bool unbiased=True, bool keepdim=False, *, float correction=1, Tensor? "
      "out=None) -> Tensor",
      [](Args& a) {
        const Moment m(a);
        return ops::std(a.tensor(0), m.dims, m.correction, m.keepdim);
      }>(kBoth, "The standard deviation, the square root of var(). Its gradient where it is 0 is 0.",
         {.autocast = Cast::Wide, .flops = Flops::FiveInput});
  def<"var_mean(Tensor input, int[]? dim=None, bool unbiased=True, bool keepdim=False, *, float correction=1) -> "
      "(Tensor var, Tensor mean)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("var_mean", {"var", "mean"});
        const Moment m(a);
        return pair(type, ops::var_mean(a.tensor(0), m.dims, m.correction, m.keepdim));
      }>(kBoth, "(var, mean) in one pass.", {.autocast = Cast::Wide, .flops = Flops::FiveInput});
  def<"std_mean(Tensor input, int[]? dim=None, bool unbiased=True, bool keepdim=False, *, float correction=1) -> "
      "(Tensor std, Tensor mean)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("std_mean", {"std", "mean"});
        const Moment m(a);
        return pair(type, ops::std_mean(a.tensor(0), m.dims, m.correction, m.keepdim));
      }>(kBoth, "(std, mean) in one pass.", {.autocast = Cast::Wide, .flops = Flops::FiveInput});

  def<"norm(Tensor input, Scalar|str p='fro', int[]? dim=None, bool keepdim=False, DType? dtype=None, *, Tensor? "
      "out=None) -> Tensor",
      norm>(kBoth,
            "sum(|x|^p)^(1/p), of all elements or along `dim`; p may be 0 and +-inf, or 'nuc' for matrices. The "
            "gradient at "
            "0 is 0.",
            {.autocast = Cast::Wide, .flops = Flops::FiveInput});
  def<"vector_norm(Tensor input, Scalar|str ord=2, int[]? dim=None, bool keepdim=False, *, DType? dtype=None) -> "
      "Tensor",
      [](Args& a) {
        return ops::norm(a.tensor(0), order_of_norm(a, 1), a.optional_dims(2), a.boolean(3), a.optional_dtype(4));
      }>(kFunction, "sum(|x|^ord)^(1/ord), of all elements or along `dim`.",
         {.autocast = Cast::Wide, .flops = Flops::FiveInput});
  def<"logsumexp(Tensor input, int[]? dim=None, bool keepdim=False, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::logsumexp(a.tensor(0), a.optional_dims(1), a.boolean(2)); }>(
      kBoth, "log(sum(exp(x))) without overflow.",
      {.autocast = Cast::Wide, .flops = Flops::FiveInput, .also = "special.logsumexp"});
});

}  // namespace genesis::py
