#include "ops/conv.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static Dims dims_or(Args& a, int i, int64_t absent) { return a.has(i) ? a.dims(i) : Dims{absent}; }

// (input, weight, bias, stride, padding, dilation, groups)
static Tensor convolve(Args& a, int spatial) {
  ops::ConvOptions options{dims_or(a, 3, 1), {0}, dims_or(a, 5, 1), a.integer(6, 1)};
  if (a.has(4) && PyUnicode_Check(a[4])) {
    const std::string padding = a.string(4);
    require(padding == "same" || padding == "valid", a.name(), ": padding must be 'same', 'valid' or numbers, got '",
            padding, "'");
    options.same = padding == "same";
  } else {
    options.padding = dims_or(a, 4, 0);
  }
  return ops::conv(a.name(), spatial, a.tensor(0), a.tensor(1), a.optional_tensor(2), options);
}

// (input, weight, bias, stride, padding, output_padding, groups, dilation)
static Tensor convolve_transposed(Args& a, int spatial) {
  return ops::conv_transpose(a.name(), spatial, a.tensor(0), a.tensor(1), a.optional_tensor(2),
                             {dims_or(a, 3, 1), dims_or(a, 4, 0), dims_or(a, 7, 1), a.integer(6, 1)}, dims_or(a, 5, 0));
}

static const Family family([] {
  def<"conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)", [](Args& a) {
    return convolve(a, 1);
  }>(kFunction, "Correlates (batch, channels, length) with weight (out, channels / groups, size).");
  def<"conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)", [](Args& a) {
    return convolve(a, 2);
  }>(kFunction, "Correlates (batch, channels, height, width) with weight (out, channels / groups, *sizes).");
  def<"conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)", [](Args& a) {
    return convolve(a, 3);
  }>(kFunction, "Correlates (batch, channels, depth, height, width) with weight (out, channels / groups, *sizes).");
  def<"conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1)",
      [](Args& a) { return convolve_transposed(a, 1); }>(
      kFunction, "The transpose of conv1d in its input; weight is (channels, out / groups, size).");
  def<"conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1)",
      [](Args& a) { return convolve_transposed(a, 2); }>(
      kFunction, "The transpose of conv2d in its input; weight is (channels, out / groups, *sizes).");
  def<"conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1)",
      [](Args& a) { return convolve_transposed(a, 3); }>(
      kFunction, "The transpose of conv3d in its input; weight is (channels, out / groups, *sizes).");
});

}  // namespace genesis::py
