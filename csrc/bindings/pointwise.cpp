#include "ops/pointwise.h"

#include "bindings/elementwise.h"
#include "bindings/module.h"
#include "ops/power.h"

namespace genesis::py {

static const Family family([] {
  def<"add(input, other, *, alpha=1, out=None)", [](Args& a) {
    return ops::add(a.operand(0), a.operand(1), a.scalar(2, 1), a.out(3));
  }>(kBoth, "input + alpha * other.");
  def<"add_(input, other, *, alpha=1)", [](Args& a) {
    return ops::add_(a.tensor(0), a.operand(1), a.scalar(2, 1));
  }>(kMethod, "In-place form.");
  def<"sub(input, other, *, alpha=1, out=None)", [](Args& a) {
    return ops::sub(a.operand(0), a.operand(1), a.scalar(2, 1), a.out(3));
  }>(kBoth, "input - alpha * other.");
  def<"sub_(input, other, *, alpha=1)", [](Args& a) {
    return ops::sub_(a.tensor(0), a.operand(1), a.scalar(2, 1));
  }>(kMethod, "In-place form.");
  def_zip<"mul", ops::mul>("input * other.");
  def_zip<"div", ops::div>("input / other.");
  def_map<"neg", ops::neg>("-input.");
  def_map<"abs", ops::abs>("The absolute value.");
  def_map<"sign", ops::sign>("1, 0 or -1, as input is positive, zero or negative.");
  def_map<"square", ops::square>("input * input.");
  def_map<"reciprocal", ops::reciprocal>("1 / input.");
  def<"pow(input, exponent, *, out=None)", [](Args& a) {
    return ops::pow(a.operand(0), a.operand(1), a.out(2));
  }>(kBoth, "input to the power of exponent.");
  def<"pow_(input, exponent)", [](Args& a) {
    return ops::pow_(a.tensor(0), a.operand(1));
  }>(kMethod, "In-place form.");
  def_zip<"xlogy", ops::xlogy>("input * log(other), and 0 where input is 0.");
});

}  // namespace genesis::py
