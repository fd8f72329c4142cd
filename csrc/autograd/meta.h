// Autograd's state of a tensor beyond its grad_fn: gradient, hooks, and what it is a view of.
#pragma once

#include "autograd/node.h"

namespace genesis {

// The node of a leaf: the engine adds the gradients that arrive here to the gradient of the leaf.
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

// For a tensor that only a node holds (kept() in record.h): copies its memory before the memory is written.
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
  AccumulateGrad* accumulator = nullptr;  // not owned: exists while a graph uses it
  std::vector<Ref<Hook>> hooks;           // of a leaf; those of other tensors are kept by their node
  std::vector<Ref<Hook>> post_accumulate_hooks;
  TensorImpl* self = nullptr;
  bool retains_grad = false;
  bool frozen = false;  // output of a Function that shares memory with an input: in-place writes are errors

  // For a view: its base, and the state of the base when the grad_fn of the view was created: the version of its memory
  // and its generation (how often its grad_fn had been replaced). If either has changed and the base requires grad, the
  // grad_fn of the view is created again from the base.
  Tensor base;
  uint32_t base_version = 0;
  uint32_t base_generation = 0;
  uint32_t generation = 0;  // of a base
  std::unique_ptr<KeptValues> kept;

  ~TensorMeta() override;
};

TensorMeta& meta(const Tensor& t);
inline TensorMeta* meta_if_any(const Tensor& t) { return static_cast<TensorMeta*>(t->extras.get()); }

// Creates the grad_fn of a view again after its base was written; set by ops/shape.cpp, which
// knows how to differentiate as_strided.
inline void (*regenerate_view)(const Tensor& view) = nullptr;
// A copy of a tensor's values outside the graph; set by ops/view.cpp, which implements copies.
inline Tensor (*clone_values)(const Tensor& t) = nullptr;

// The node that receives the gradient of x: the one that created x, or the accumulator of a leaf. Null if x is outside
// any graph and no tape records it.
Edge gradient_edge(const Tensor& x);

// Whether x requires grad. The flag is not enough: a view requires grad as soon as its base does.
inline bool requires_grad(const Tensor& x) {
  if (x->requires_grad) return true;
  if (!x->extras) [[likely]]
    return false;
  const Tensor& base = meta_if_any(x)->base;
  return base.defined() && base->requires_grad && base->storage == x->storage;
}

// Whether a tape of this thread records operations on x, which need not require grad.
bool recorded_by_tape(const Tensor& x);
// Whether a gradient of x may be requested: it requires grad, or a tape records it.
inline bool needs_grad(const Tensor& x) { return requires_grad(x) || (grad_mode.recorder && recorded_by_tape(x)); }
// Whether an operation on x must be recorded now.
inline bool tracked(const Tensor& x) { return grad_mode.enabled && needs_grad(x); }

// The base of a view, or the tensor itself.
inline Tensor base_of(const Tensor& x) {
  TensorMeta* m = meta_if_any(x);
  return m && m->base.defined() ? m->base : x;
}
// Declares `view` to be a view of x's memory.
void mark_view(const Tensor& view, const Tensor& x);

// Turns a view into a plain tensor if an operator created its base and nothing else refers to the base.
void forget_hidden_base(const Tensor& view);
// Another tensor with the memory and the grad_fn of x.
Tensor stand_in(const Tensor& x);

// requires_grad_(), with its checks.
void set_requires_grad(const Tensor& x, bool value);
// Removes x from its graph (detach_).
void detach_inplace(const Tensor& x);
// The node that created x, recreated if x is a view whose base was written.
Node* grad_fn(const Tensor& x);
// Gives x the grad_fn of `from`. If x retains its gradient, it retains the one that arrives there.
void move_to_place_of(const Tensor& from, const Tensor& x);

Ref<Hook> add_hook(const Tensor& x, Ref<Hook> hook);
void retain_grad(const Tensor& x);

}  // namespace genesis
