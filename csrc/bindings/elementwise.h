// The forms that an elementwise operator has in Python: function and method with out=, and the in-place method.
#pragma once

#include "bindings/args.h"
#include "ops/elementwise.h"

namespace genesis::py {

// Name(input) and Name_(input) for Op(x, out). Allowed is Unfolded if Op is idempotent.
template <FixedString Name, auto Op, ops::Overlap Allowed = ops::Overlap::None>
void def_map(const char* doc, Traits traits = {}) {
  def<join<Name, "(Tensor input, *, Tensor? out=None) -> Tensor">(), [](Args& a) { return Op(a.tensor(0), a.out(1)); }>(
      kBoth, doc, traits);
  def<join<Name, "_(Tensor input) -> Self">(), [](Args& a) {
    static constexpr auto name = join<Name, "_">();
    return ops::inplace_map<Op, Allowed>(name.text, a.tensor(0));
  }>(kBoth, "In-place form.", traits);
}

// Name(input, other) for Op(x, y, out); def_zip also defines Name_(input, other).
template <FixedString Name, auto Op>
void def_zip_function(const char* doc, Traits traits = {}) {
  def<join<Name, "(Operand input, Operand other, *, Tensor? out=None) -> Tensor">(),
      [](Args& a) { return Op(a.operand(0), a.operand(1), a.out(2)); }>(kBoth, doc, traits);
}
template <FixedString Name, auto Op>
void def_zip(const char* doc, Traits traits = {}) {
  def_zip_function<Name, Op>(doc, traits);
  def<join<Name, "_(Tensor input, Operand other) -> Self">(), [](Args& a) {
    static constexpr auto name = join<Name, "_">();
    return ops::inplace_zip<Op>(name.text, a.tensor(0), a.operand(1));
  }>(kMethod, "In-place form.", traits);
}

}  // namespace genesis::py
