#include "ops/gate.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family({.kind = Kind::View, .page = "settings"}, [] {
  def<"_gate(Tensor[] tensors) -> Tensor[]", [](Args& a) { return ops::gate(a.tensors(0)); }>(
      kFunction, "The same tensors, made by one node whose hooks see the gradients of all.");
});

}  // namespace genesis::py
