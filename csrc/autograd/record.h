// How an operator records itself. The rule is written inside the operator, next to the forward computation:
//
//   Tensor exp(const Tensor& x) {
//     Tensor y = ...;
//     return record("exp", y, inputs(x), save(output(y)), [](const Tensor& dy, const Saved& saved) {
//       return Grads{dy * saved[0]};
//     });
//   }
//
// Three conventions keep this safe. A rule captures plain values only (numbers, Dims); tensors are passed to save(), so
// that the engine can free them and check that they were not written. The operator's own result is saved as output(y):
// its storage is kept, not the tensor, since y -> node -> y would be a cycle. Rules use differentiable operations, so
// that higher derivatives need no further code. broadcast(x, y) instead of inputs(x, y) makes the engine sum each
// gradient to its input's shape. A rule with several outputs takes `const Grads& dy`, with undefined tensors for
// missing gradients.
#pragma once

#include <array>
#include <concepts>

#include "autograd/meta.h"
#include "core/pool.h"

namespace genesis {

template <size_t N>
struct Inputs {
  std::array<const Tensor*, N> tensors;
  bool broadcast;

  bool tracked() const {
    if (!grad_mode.enabled) return false;
    for (const Tensor* t : tensors)
      if (t->defined() && needs_grad(*t)) return true;
    return false;
  }
};
template <class... T>
Inputs<sizeof...(T)> inputs(const T&... tensors) {
  return {{&tensors...}, false};
}
template <class... T>
Inputs<sizeof...(T)> broadcast(const T&... tensors) {
  return {{&tensors...}, true};
}

struct ToSave {
  const Tensor* tensor;
  bool output = false, kept = false;
  uint32_t index = 0;
  ToSave(const Tensor& t) : tensor(&t) {}
  ToSave(const Tensor& t, bool output, bool kept, uint32_t index)
      : tensor(&t), output(output), kept(kept), index(index) {}
};
inline ToSave output(const Tensor& y, uint32_t index = 0) { return {y, true, false, index}; }
// Saves x so that it may be written afterwards: the node then gets a copy of the old values. Used where PyTorch saves
// another tensor and so permits the write. The copy is made only if x is written.
inline ToSave kept(const Tensor& x) { return {x, false, true, 0}; }
inline ToSave kept_output(const Tensor& y, uint32_t index = 0) { return {y, true, true, index}; }
template <class... T>
std::array<ToSave, sizeof...(T)> save(const T&... tensors) {
  return {ToSave(tensors)...};
}

void fill(Node& node, size_t slot, const ToSave& what);
void fill(Edge& edge, const Tensor& input, const Dims* broadcast_to);

template <class Rule>
Grads run_rule(const Rule& rule, Grads&& dy, const Saved& saved) {
  if constexpr (std::invocable<const Rule&, const Tensor&, const Saved&>) return rule(dy[0], saved);
  else return rule(static_cast<const Grads&>(dy), saved);
}

template <class Rule, size_t N, size_t M>
class RuleNode final : public Node {
 public:
  RuleNode(const char* op, Rule rule) : Node(op), rule_(std::move(rule)) {
    edges_ = edge_space_.data();
    saved_ = saved_space_.data();
    num_edges_ = N;
    num_saved_ = M;
  }
  Grads apply(Grads&& dy) override { return run_rule(rule_, std::move(dy), Saved(*this)); }

 private:
  void free() noexcept override {
    this->~RuleNode();
    Pool<sizeof(RuleNode)>::give(this);
  }
  [[no_unique_address]] Rule rule_;
  std::array<Edge, N> edge_space_;
  std::array<SavedTensor, M> saved_space_;
};

// The same for a variable number of inputs (cat, stack, index_put).
template <class Rule>
class ListNode final : public Node {
 public:
  ListNode(const char* op, Rule rule, size_t num_edges, size_t num_saved)
      : Node(op), rule_(std::move(rule)), edge_space_(num_edges), saved_space_(num_saved) {
    edges_ = edge_space_.data();
    saved_ = saved_space_.data();
    num_edges_ = static_cast<uint32_t>(num_edges);
    num_saved_ = static_cast<uint32_t>(num_saved);
  }
  Grads apply(Grads&& dy) override { return run_rule(rule_, std::move(dy), Saved(*this)); }

 private:
  void free() noexcept override { delete this; }
  [[no_unique_address]] Rule rule_;
  std::vector<Edge> edge_space_;
  std::vector<SavedTensor> saved_space_;
};

void tell_recorders(Node& node, const Tensor& y, uint32_t index);

inline void attach(const Tensor& y, Node* node, uint32_t index) {
  if (!y.defined() || !is_differentiable(y.dtype())) return;
  y->requires_grad = true;
  y->grad_fn = Ref<Counted>(node);
  y->output_index = index;
  if (index == 0) node->output_info.set(y);
  if (grad_mode.recorder) [[unlikely]]
    tell_recorders(*node, y, index);
}

template <size_t N, size_t M, class Rule>
Ref<Node> make_node(const char* op, const Dims& shape, const Inputs<N>& in, const std::array<ToSave, M>& saved,
                    Rule rule) {
  using This = RuleNode<Rule, N, M>;
  Ref<Node> node(new (Pool<sizeof(This)>::take()) This(op, std::move(rule)));
  for (size_t i = 0; i < N; ++i)
    if (in.tensors[i]->defined()) fill(node->edges()[i], *in.tensors[i], in.broadcast ? &shape : nullptr);
  for (size_t i = 0; i < M; ++i) fill(*node, i, saved[i]);
  return node;
}

template <size_t N, size_t M, class Rule>
Tensor record(const char* op, Tensor y, const Inputs<N>& in, const std::array<ToSave, M>& saved, Rule rule) {
  if (grad_mode.inference) y->inference = true;
  if (!in.tracked()) return y;
  Ref<Node> node = make_node(op, y.shape(), in, saved, std::move(rule));
  attach(y, node.get(), 0);
  return y;
}

// Several outputs from one node.
template <size_t N, size_t M, class Rule>
void record_outputs(const char* op, std::span<const Tensor> ys, const Inputs<N>& in, const std::array<ToSave, M>& saved,
                    Rule rule) {
  if (grad_mode.inference)
    for (const Tensor& y : ys) y->inference = true;
  if (!in.tracked()) return;
  Ref<Node> node = make_node(op, Dims{}, in, saved, std::move(rule));
  node->num_outputs = static_cast<uint32_t>(ys.size());
  for (uint32_t i = 0; i < ys.size(); ++i) attach(ys[i], node.get(), i);
}

// One output of a list of inputs.
template <class Rule>
Tensor record_list(const char* op, Tensor y, std::span<const Tensor> in, std::span<const ToSave> saved, Rule rule) {
  if (grad_mode.inference) y->inference = true;
  bool any = false;
  for (const Tensor& t : in) any = any || (t.defined() && tracked(t));
  if (!any) return y;
  Ref<Node> node(new ListNode<Rule>(op, std::move(rule), in.size(), saved.size()));
  for (size_t i = 0; i < in.size(); ++i)
    if (in[i].defined()) fill(node->edges()[i], in[i], nullptr);
  for (size_t i = 0; i < saved.size(); ++i) fill(*node, i, saved[i]);
  attach(y, node.get(), 0);
  return y;
}

// For results without a gradient (comparisons, argmax): marks those that are created in inference mode.
inline Tensor untracked(Tensor y) {
  if (grad_mode.inference) y->inference = true;
  return y;
}

}  // namespace genesis
