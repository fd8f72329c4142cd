#include "ops/piecewise.h"

#include "bindings/args.h"
#include "bindings/inplace_option.h"
#include "bindings/module.h"

namespace genesis::py {

namespace {

Tensor hardtanh(Args& a, bool inplace) {
  const Scalar low = a.scalar(1, -1), high = a.scalar(2, 1);
  return run(a, inplace, "hardtanh_",
             [=](const Tensor& x, ops::Out out) { return ops::hardtanh("hardtanh", x, low, high, out); });
}
Tensor threshold(Args& a, bool inplace) {
  const Scalar bound = a.scalar(1), value = a.scalar(2);
  return run(a, inplace, "threshold_",
             [=](const Tensor& x, ops::Out out) { return ops::threshold(x, bound, value, out); });
}

}  // namespace

static const Family family([] {
  def<"_hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False)",
      [](Args& a) { return hardtanh(a, a.boolean(3, false)); }>(kFunction, "x, bounded by min_val and max_val.");
  def<"_hardtanh_(input, min_val=-1.0, max_val=1.0)", [](Args& a) { return hardtanh(a, true); }>(kFunction,
                                                                                                 "hardtanh, in place.");
  def<"_relu6(input, inplace=False)", [](Args& a) {
    return run(a, a.boolean(1, false), "relu6_",
               [](const Tensor& x, ops::Out out) { return ops::hardtanh("relu6", x, 0, 6, out); });
  }>(kFunction, "x, bounded by 0 and 6.");
  def<"_hardsigmoid(input, inplace=False)", [](Args& a) {
    return run(a, a.boolean(1, false), "hardsigmoid_",
               [](const Tensor& x, ops::Out out) { return ops::hardsigmoid(x, out); });
  }>(kFunction, "clamp(x + 3, 0, 6) / 6.");
  def<"_hardswish(input, inplace=False)", [](Args& a) {
    return run(a, a.boolean(1, false), "hardswish_",
               [](const Tensor& x, ops::Out out) { return ops::hardswish(x, out); });
  }>(kFunction, "x * clamp(x + 3, 0, 6) / 6.");
  def<"hardshrink(input, lambd=0.5)", [](Args& a) { return ops::hardshrink(a.tensor(0), a.number(1, 0.5)); }>(
      kBoth, "0 for |x| <= lambd, x elsewhere.");
  def<"_softshrink(input, lambd=0.5)", [](Args& a) { return ops::softshrink(a.tensor(0), a.number(1, 0.5)); }>(
      kFunction, "0 for |x| <= lambd, x moved towards 0 by lambd elsewhere.");
  def<"threshold(input, threshold, value, inplace=False, *, out=None)", [](Args& a) {
    return threshold(a, a.boolean(3, false));
  }>(kFunction, "x where it is above the threshold, else value.");
  def<"threshold_(input, threshold, value)", [](Args& a) { return threshold(a, true); }>(kFunction,
                                                                                         "threshold, in place.");
  def<"prelu(input, weight)", [](Args& a) { return ops::prelu(a.tensor(0), a.tensor(1)); }>(
      kBoth, "x for x > 0, weight * x below; one weight, or one for each channel.");
  def<"_leaky(input, slope, inplace=False)", [](Args& a) {
    const Tensor slope = a.tensor(1);
    if (!a.boolean(2, false)) return ops::leaky("rrelu", a.tensor(0), slope);
    return ops::inplace("rrelu_", a.tensor(0), {&slope},
                        [&](const Tensor& x, ops::Out out) { return ops::leaky("rrelu", x, slope, out); });
  }>(kFunction, "x for x > 0, slope * x below, for a tensor of slopes.");
});

}  // namespace genesis::py
