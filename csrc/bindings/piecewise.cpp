#include "ops/piecewise.h"

#include "bindings/args.h"
#include "bindings/inplace_option.h"
#include "bindings/module.h"

namespace genesis::py {

namespace {

Tensor hardtanh(Args& a, bool inplace) {
  const Scalar low = a.scalar(1), high = a.scalar(2);
  return run(a, inplace, "hardtanh_",
             [=](const Tensor& x, ops::Out out) { return ops::hardtanh("hardtanh", x, low, high, out); });
}
Tensor threshold(Args& a, bool inplace) {
  const Scalar bound = a.scalar(1), value = a.scalar(2);
  return run(
      a, inplace, "threshold_", [=](const Tensor& x, ops::Out out) { return ops::threshold(x, bound, value, out); },
      ops::Overlap::Expanded);
}

}  // namespace

static const Family family({.kind = Kind::Activation, .page = "neural"}, [] {
  def<"_hardtanh(Tensor input, Scalar min_val=-1.0, Scalar max_val=1.0, bool inplace=False) -> Tensor",
      [](Args& a) { return hardtanh(a, a.boolean(3)); }>(kFunction, "x, bounded by min_val and max_val.");
  def<"_hardtanh_(Tensor input, Scalar min_val=-1.0, Scalar max_val=1.0) -> Self",
      [](Args& a) { return hardtanh(a, true); }>(kFunction, "hardtanh, in place.");
  def<"_relu6(Tensor input, bool inplace=False) -> Tensor", [](Args& a) {
    return run(a, a.boolean(1), "relu6_",
               [](const Tensor& x, ops::Out out) { return ops::hardtanh("relu6", x, 0, 6, out); });
  }>(kFunction, "x, bounded by 0 and 6.");
  def<"_hardsigmoid(Tensor input, bool inplace=False) -> Tensor", [](Args& a) {
    return run(a, a.boolean(1), "hardsigmoid_", [](const Tensor& x, ops::Out out) { return ops::hardsigmoid(x, out); });
  }>(kFunction, "clamp(x + 3, 0, 6) / 6.");
  def<"_hardswish(Tensor input, bool inplace=False) -> Tensor", [](Args& a) {
    return run(a, a.boolean(1), "hardswish_", [](const Tensor& x, ops::Out out) { return ops::hardswish(x, out); });
  }>(kFunction, "x * clamp(x + 3, 0, 6) / 6.");
  def<"hardshrink(Tensor input, float lambd=0.5) -> Tensor",
      [](Args& a) { return ops::hardshrink(a.tensor(0), a.number(1)); }>(kBoth, "0 for |x| <= lambd, x elsewhere.");
  def<"_softshrink(Tensor input, float lambd=0.5) -> Tensor", [](Args& a) {
    return ops::softshrink(a.tensor(0), a.number(1));
  }>(kFunction, "0 for |x| <= lambd, x moved towards 0 by lambd elsewhere.");
  def<"threshold(Tensor input, Scalar threshold, Scalar value, bool inplace=False, *, Tensor? out=None) -> Tensor",
      [](Args& a) {
        require(!a.boolean(3) || !a.has(4), "threshold: inplace=True and out= name two results; pass one of them");
        return threshold(a, a.boolean(3));
      }>(kFunction, "x where it is above the threshold, else value.");
  def<"threshold_(Tensor input, Scalar threshold, Scalar value) -> Self", [](Args& a) { return threshold(a, true); }>(
      kFunction, "threshold, in place.");
  def<"prelu(Tensor input, Tensor weight) -> Tensor", [](Args& a) { return ops::prelu(a.tensor(0), a.tensor(1)); }>(
      kBoth, "x for x > 0, weight * x below; one weight, or one for each channel.");
  def<"_leaky(Tensor input, Tensor slope, bool inplace=False) -> Tensor", [](Args& a) {
    const Tensor slope = a.tensor(1);
    if (!a.boolean(2)) return ops::leaky("rrelu", a.tensor(0), slope);
    return ops::inplace("rrelu_", a.tensor(0), {&slope},
                        [&](const Tensor& x, ops::Out out) { return ops::leaky("rrelu", x, slope, out); });
  }>(kFunction, "x for x > 0, slope * x below, for a tensor of slopes.");
});

}  // namespace genesis::py
