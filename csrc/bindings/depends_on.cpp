// Queries about the graph: transforms use them before they return a result, and checkpoints before they start.
#include <algorithm>
#include <unordered_set>

#include "autograd/meta.h"
#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

// Whether a leaf other than `within` is reachable from `roots`; stops at the first one.
static bool depends_on_other_leaves(const std::vector<Tensor>& roots, const std::vector<Tensor>& within) {
  const auto inside = [&](const Node* leaf) {
    const Tensor& x = static_cast<const AccumulateGrad*>(leaf)->leaf;
    return std::any_of(within.begin(), within.end(), [&](const Tensor& t) { return t.impl() == x.impl(); });
  };
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> open;
  const auto visit = [&](const Node* node) {
    if (node && seen.insert(node).second) open.push_back(node);
  };
  for (const Tensor& root : roots) {
    const Edge edge = gradient_edge(root);
    if (edge.node && edge.node->is_leaf() && !inside(edge.node.get())) return true;
    // The accumulator of a leaf may be destroyed with this edge, so it is checked here; `roots` keep the other nodes.
    if (edge.node && !edge.node->is_leaf()) visit(edge.node.get());
  }
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (node->is_leaf() && !inside(node)) return true;
    for (const Edge& edge : node->edges()) visit(edge.node.get());
  }
  return false;
}

static const Family family([] {
  def<"_depends_on_other_leaves(Tensor[] tensors, Tensor[] leaves) -> bool",
      [](Args& a) { return depends_on_other_leaves(a.tensors(0), a.tensors(1)); }>(kFunction);
  def<"_needs_grad(Tensor tensor) -> bool", [](Args& a) { return needs_grad(a.tensor(0)); }>(kFunction);
});

}  // namespace genesis::py
