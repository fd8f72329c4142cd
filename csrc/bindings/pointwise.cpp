#include "ops/pointwise.h"

#include "bindings/elementwise.h"
#include "bindings/module.h"
#include "ops/complex.h"
#include "ops/power.h"

namespace genesis::py {

// Name(input, other, alpha=1) and its in-place form.
template <FixedString Name, auto Op, auto InPlace>
static void def_sum(const char* doc, Traits traits = {}) {
  def<join<Name, "(Operand input, Operand other, *, Scalar alpha=1, Tensor? out=None) -> Tensor">(),
      [](Args& a) { return Op(a.operand(0), a.operand(1), a.scalar(2), a.out(3)); }>(kBoth, doc, traits);
  def<join<Name, "_(Tensor input, Operand other, *, Scalar alpha=1) -> Self">(),
      [](Args& a) { return InPlace(a.tensor(0), a.operand(1), a.scalar(2)); }>(kMethod, "In-place form.", traits);
}
static Tensor add(const Operand& x, const Operand& y, Scalar alpha, ops::Out out) { return ops::add(x, y, alpha, out); }
static Tensor sub(const Operand& x, const Operand& y, Scalar alpha, ops::Out out) { return ops::sub(x, y, alpha, out); }

// Name(input, tensor1, tensor2, value=1) and its in-place form.
template <FixedString Name, auto Op>
static void def_addc(const char* doc, Traits traits = {}) {
  def<join<Name, "(Tensor input, Operand tensor1, Operand tensor2, *, Scalar value=1, Tensor? out=None) -> Tensor">(),
      [](Args& a) { return Op(a.tensor(0), a.operand(1), a.operand(2), a.scalar(3), a.out(4)); }>(kBoth, doc, traits);
  def<join<Name, "_(Tensor input, Operand tensor1, Operand tensor2, *, Scalar value=1) -> Self">(), [](Args& a) {
    static constexpr auto name = join<Name, "_">();
    const Tensor& x = a.tensor(0);
    const Operand y = a.operand(1), z = a.operand(2);
    return ops::inplace(name.text, x, {&y.or_undefined(), &z.or_undefined()}, [&](const Tensor& input, ops::Out out) {
      return Op(input, y.tensor && y.tensor->same(x) ? Operand(input) : y,
                z.tensor && z.tensor->same(x) ? Operand(input) : z, a.scalar(3), out);
    });
  }>(kMethod, "In-place form.", traits);
}

static const Family family({.kind = Kind::Pointwise, .page = "pointwise"}, [] {
  def_sum<"add", add, ops::add_>("input + alpha * other.");
  def_sum<"sub", sub, ops::sub_>("input - alpha * other.");
  def_sum<"subtract", sub, ops::sub_>("Another name of sub.");
  def<"rsub(Operand input, Operand other, *, Scalar alpha=1) -> Tensor", [](Args& a) {
    const Operand x = a.operand(0), y = a.operand(1);
    broadcast_shapes("rsub", x.shape(), y.shape());  // an error must not mention the swapped operands
    return ops::sub(y, x, a.scalar(2));
  }>(kBoth, "other - alpha * input.");
  def_zip_function<"mul", ops::mul>("input * other.");
  def<"mul_(Tensor input, Operand other) -> Self", [](Args& a) { return ops::mul_(a.tensor(0), a.operand(1)); }>(
      kMethod, "In-place form.");
  def_zip<"multiply", ops::mul>("Another name of mul.");
  def_map<"neg", ops::neg>("-input.");
  def_map<"negative", ops::neg>("Another name of neg.");
  def_map<"abs", ops::abs, ops::Overlap::Unfolded>("The absolute value.");
  def_map<"absolute", ops::abs>("Another name of abs.");
  def_map<"sign", ops::sign, ops::Overlap::Unfolded>("1, 0 or -1, as input is positive, zero or negative.");
  def_map<"sgn", ops::sgn>("The sign; of a complex number, z / |z|.");
  def_map<"square", ops::square>("input * input.");
  def_map<"reciprocal", ops::reciprocal>("1 / input.", {.autocast = Cast::Wide});
  def<"pow(Operand input, Operand exponent, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::pow(a.operand(0), a.operand(1), a.out(2)); }>(kBoth, "input to the power of exponent.");
  def<"pow_(Tensor input, Operand exponent) -> Self", [](Args& a) { return ops::pow_(a.tensor(0), a.operand(1)); }>(
      kMethod, "In-place form.");
  def<"float_power(Operand input, Operand exponent, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::float_power(a.operand(0), a.operand(1), a.out(2));
  }>(kBoth, "input to the power of exponent, in float64.");
  def<"float_power_(Tensor input, Operand exponent) -> Self", [](Args& a) {
    require<DTypeError>(a.tensor(0).dtype() == DType::Float64,
                        "float_power_: the result is float64 and cannot be stored in a ", a.tensor(0).dtype(),
                        " tensor; use float_power()");
    return ops::inplace_zip<ops::float_power>("float_power_", a.tensor(0), a.operand(1));
  }>(kMethod, "In-place form.");
  def_addc<"addcmul", ops::addcmul>("input + value * tensor1 * tensor2.");
  def_addc<"addcdiv", ops::addcdiv>("input + value * tensor1 / tensor2.");
  def<"lerp(Tensor input, Operand end, Operand weight, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::lerp(a.tensor(0), a.operand(1), a.operand(2), a.out(3));
  }>(kBoth, "input + weight * (end - input).");
  def<"lerp_(Tensor input, Operand end, Operand weight) -> Self", [](Args& a) {
    return ops::inplace_zip<ops::lerp>("lerp_", a.tensor(0), a.operand(1), a.operand(2));
  }>(kMethod, "In-place form.");
  def_zip<"xlogy", ops::xlogy>("input * log(other), and 0 where input is 0.", {.also = "special.xlogy"});
});

}  // namespace genesis::py
