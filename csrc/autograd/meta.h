// Autograd's state of a tensor beyond its grad_fn: gradient, hooks, and what it is a view of.
#pragma once

#include "autograd/node.h"

namespace genesis {

// The end of a path through the graph: adds what arrives to the leaf's gradient (the engine does it).
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(Tensor leaf) : Node("accumulate_grad"), leaf(std::move(leaf)) {}
  Grads apply(Grads&&) override { return {}; }
  std::string name() const override { return "AccumulateGrad"; }
  bool is_leaf() const override { return true; }

  Tensor leaf;

 private:
  void free() noexcept override;
};

// Of a tensor that a node alone holds (record.h, kept()): gives it a copy of its memory before somebody writes to that.
class KeptValues final : public Keeper {
 public:
  explicit KeptValues(TensorImpl* tensor) : Keeper(*tensor->storage), tensor_(tensor) {}
  ~KeptValues() = default;
  void copy() override;

 private:
  TensorImpl* tensor_;  // the owner of this
};

struct TensorMeta final : TensorExtras {
  Tensor grad;
  AccumulateGrad* accumulator = nullptr;  // not owned: exists while a graph ends here
  std::vector<Ref<Hook>> hooks;           // of a leaf; those of other tensors are kept by their node
  std::vector<Ref<Hook>> post_accumulate_hooks;
  TensorImpl* self = nullptr;
  bool retains_grad = false;
  bool frozen = false;  // a Function made it and it shows an input's memory: not to be written inside the graph

  // Of a view: the tensor whose memory it shows, and the state that it had when the view's grad_fn was made: the
  // version of its memory, and how often its own place in the graph had changed. When either has moved on and the base
  // requires grad, the view's grad_fn is made anew from the base.
  Tensor base;
  uint32_t base_version = 0;
  uint32_t base_generation = 0;
  uint32_t generation = 0;  // of a base
  std::unique_ptr<KeptValues> kept;

  ~TensorMeta() override;
};

TensorMeta& meta(const Tensor& t);
inline TensorMeta* meta_if_any(const Tensor& t) { return static_cast<TensorMeta*>(t->extras.get()); }

// The operation that re-makes the gradient function of a view whose base was written; set by ops/shape.cpp, which
// knows how to differentiate as_strided.
inline void (*regenerate_view)(const Tensor& view) = nullptr;
// A copy of a tensor's values outside the graph; set by ops/view.cpp, which can copy.
inline Tensor (*clone_values)(const Tensor& t) = nullptr;

// The node that wants x's gradient: the one that made x, or the accumulator of a leaf. Null if x is outside any graph
// and no tape watches it.
Edge gradient_edge(const Tensor& x);

// Whether x requires grad. The flag alone does not tell: a view requires grad as soon as its base does.
inline bool requires_grad(const Tensor& x) {
  if (x->requires_grad) return true;
  if (!x->extras) [[likely]]
    return false;
  const Tensor& base = meta_if_any(x)->base;
  return base.defined() && base->requires_grad && base->storage == x->storage;
}

bool watched_by_tape(const Tensor& x);
inline bool watched(const Tensor& x) { return requires_grad(x) || (grad_mode.recorder && watched_by_tape(x)); }
// Whether an operation on x is to be recorded now.
inline bool tracked(const Tensor& x) { return grad_mode.enabled && watched(x); }

// The base of a view, or the tensor itself.
inline Tensor base_of(const Tensor& x) {
  TensorMeta* m = meta_if_any(x);
  return m && m->base.defined() ? m->base : x;
}
// Declares `view` to be a view of x's memory.
void mark_view(const Tensor& view, const Tensor& x);

// A view whose base an operator made and nobody else holds is a tensor of its own: makes it one.
void forget_hidden_base(const Tensor& view);
// Another tensor on x's memory, at x's place in the graph.
Tensor stand_in(const Tensor& x);

// requires_grad_(), with its checks.
void set_requires_grad(const Tensor& x, bool value);
// Takes x out of its graph (detach_).
void detach_inplace(const Tensor& x);
// The node that made x, brought up to date if x is a view whose base was written.
Node* grad_fn(const Tensor& x);
// Gives x the place in the graph that `from` has. A gradient that x retains is retained there.
void move_to_place_of(const Tensor& from, const Tensor& x);

Ref<Hook> add_hook(const Tensor& x, Ref<Hook> hook);
void retain_grad(const Tensor& x);

}  // namespace genesis
