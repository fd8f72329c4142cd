#include "ops/masked.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family({.kind = Kind::Index, .page = "shape"}, [] {
  def<"masked_fill(Tensor input, Tensor mask, Operand value) -> Tensor", [](Args& a) {
    return ops::masked_fill(a.tensor(0), a.tensor(1), a.operand(2));
  }>(kBoth, "A copy of input with value where mask is true.", {.kind = Kind::Move});
  def<"masked_fill_(Tensor input, Tensor mask, Operand value) -> Self", [](Args& a) {
    return ops::masked_fill_(a.tensor(0), a.tensor(1), a.operand(2));
  }>(kMethod, "In-place version of masked_fill().", {.kind = Kind::Move});
  def<"masked_select(Tensor input, Tensor mask, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::masked_select(a.tensor(0), a.tensor(1));
  }>(kBoth, "The elements of input where mask is true, as a 1-d tensor.");
  def<"masked_scatter(Tensor input, Tensor mask, Tensor source) -> Tensor", [](Args& a) {
    return ops::masked_scatter(a.tensor(0), a.tensor(1), a.tensor(2));
  }>(kBoth, "A copy of input with successive elements of source where mask is true.");
  def<"masked_scatter_(Tensor input, Tensor mask, Tensor source) -> Self", [](Args& a) {
    return ops::masked_scatter_(a.tensor(0), a.tensor(1), a.tensor(2));
  }>(kMethod, "In-place version of masked_scatter().");
});

}  // namespace genesis::py
