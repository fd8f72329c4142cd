#include "ops/shared_node.h"

#include "autograd/record.h"
#include "ops/view.h"

namespace genesis::ops {

std::vector<Tensor> shared_node(std::span<const Tensor> xs) {
  std::vector<Tensor> ys;
  ys.reserve(xs.size());
  bool any = false;
  for (const Tensor& x : xs) {
    ys.push_back(untracked(alias(x)));
    link_view(ys.back(), x);
    any = any || tracked(x);
  }
  if (!any) return ys;
  const auto pass = [](const Grads& dy, const Saved&) { return dy; };
  Ref<Node> node(new ListNode<decltype(pass)>("backward_hook", pass, xs.size(), 0));
  node->num_outputs = static_cast<uint32_t>(xs.size());
  for (size_t i = 0; i < xs.size(); ++i) {
    fill(node->edges()[i], xs[i], nullptr);
    if (tracked(xs[i])) attach(ys[i], node.get(), static_cast<uint32_t>(i));
  }
  return ys;
}

}  // namespace genesis::ops
