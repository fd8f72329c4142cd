#include "ops/shared_node.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family({.kind = Kind::View, .page = "settings"}, [] {
  def<"_shared_node(Tensor[] tensors) -> Tensor[]", [](Args& a) { return ops::shared_node(a.tensors(0)); }>(
      kFunction, "The same tensors, made by one node whose hooks see the gradients of all.");
});

}  // namespace genesis::py
