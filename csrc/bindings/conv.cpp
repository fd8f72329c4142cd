#include "ops/conv.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

// (input, weight, bias, stride, padding, dilation, groups)
static Tensor convolve(Args& a, int spatial) {
  ops::ConvOptions options{a.dims(3), {0}, a.dims(5), a.integer(6)};
  if (a.has(4) && PyUnicode_Check(a[4])) {
    const std::string padding = a.string(4);
    require(padding == "same" || padding == "valid", a.name(), ": padding must be 'same', 'valid' or numbers, got '",
            padding, "'");
    options.same = padding == "same";
  } else {
    options.padding = a.dims(4);
  }
  return ops::conv(a.name(), spatial, a.tensor(0), a.tensor(1), a.optional_tensor(2), options);
}

// (input, weight, bias, stride, padding, output_padding, groups, dilation)
static Tensor convolve_transposed(Args& a, int spatial) {
  return ops::conv_transpose(a.name(), spatial, a.tensor(0), a.tensor(1), a.optional_tensor(2),
                             {a.dims(3), a.dims(4), a.dims(7), a.integer(6)}, a.dims(5));
}

static const Family family(
    {.kind = Kind::Window, .autocast = Cast::Low, .takes = Takes::Complex, .page = "neural"}, [] {
      def<"conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[]|str padding=0, int[] "
          "dilation=1, "
          "int groups=1) -> Tensor",
          [](Args& a) { return convolve(a, 1); }>(
          kFunction, "Correlates (batch, channels, length) with weight (out, channels / groups, size).");
      def<"conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[]|str padding=0, int[] "
          "dilation=1, "
          "int groups=1) -> Tensor",
          [](Args& a) { return convolve(a, 2); }>(
          kFunction, "Correlates (batch, channels, height, width) with weight (out, channels / groups, *sizes).");
      def<"conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[]|str padding=0, int[] "
          "dilation=1, "
          "int groups=1) -> Tensor",
          [](Args& a) { return convolve(a, 3); }>(
          kFunction,
          "Correlates (batch, channels, depth, height, width) with weight (out, channels / groups, *sizes).");
      def<"conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] "
          "output_padding=0, int groups=1, int[] dilation=1) -> Tensor",
          [](Args& a) { return convolve_transposed(a, 1); }>(
          kFunction, "The transpose of conv1d in its input; weight is (channels, out / groups, size).",
          {.flops = Flops::ConvTranspose});
      def<"conv_transpose2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] "
          "output_padding=0, int groups=1, int[] dilation=1) -> Tensor",
          [](Args& a) { return convolve_transposed(a, 2); }>(
          kFunction, "The transpose of conv2d in its input; weight is (channels, out / groups, *sizes).",
          {.flops = Flops::ConvTranspose});
      def<"conv_transpose3d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] "
          "output_padding=0, int groups=1, int[] dilation=1) -> Tensor",
          [](Args& a) { return convolve_transposed(a, 3); }>(
          kFunction, "The transpose of conv3d in its input; weight is (channels, out / groups, *sizes).",
          {.flops = Flops::ConvTranspose});
    });

}  // namespace genesis::py
