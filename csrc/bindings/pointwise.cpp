#include "ops/pointwise.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family([] {
  def<"add(input, other)", [](Args& a) { return ops::add(a.operand(0), a.operand(1)); }>();
  def<"sub(input, other)", [](Args& a) { return ops::sub(a.operand(0), a.operand(1)); }>();
  def<"mul(input, other)", [](Args& a) { return ops::mul(a.operand(0), a.operand(1)); }>();
  def<"div(input, other)", [](Args& a) { return ops::div(a.operand(0), a.operand(1)); }>();
  def<"add_(input, other)", [](Args& a) { return ops::add_(a.tensor(0), a.operand(1)); }>(kMethod);
  def<"mul_(input, other)", [](Args& a) { return ops::mul_(a.tensor(0), a.operand(1)); }>(kMethod);
});

}  // namespace genesis::py
