#include "autograd/meta.h"

#include <algorithm>

#include "autograd/recorder.h"
#include "core/pool.h"

namespace genesis {

TensorMeta& meta(const Tensor& t) {
  if (!t->extras) {
    auto fresh = std::make_unique<TensorMeta>();
    fresh->self = t.impl();
    t->extras = std::move(fresh);
  }
  return static_cast<TensorMeta&>(*t->extras);
}

TensorMeta::~TensorMeta() {
  if (!retains_grad) return;
  auto* node = static_cast<Node*>(self->grad_fn.get());
  if (!node || !node->extras_if_any()) return;
  std::erase_if(node->extras().retained, [&](const auto& r) { return r.tensor == self; });
}

void forget_hidden_base(const Tensor& view) {
  TensorMeta& m = *meta_if_any(view);
  if (!m.base.defined() || m.base->foreign() || m.base->count() > 1) return;
  const bool current = m.base->storage == view->storage && m.base_version == view->storage->version &&
                       m.base->requires_grad == view->requires_grad;
  if (current) m.base = Tensor();
}

void KeptValues::copy() {
  const Tensor fresh = clone_values(Tensor(tensor_));
  fresh->storage->version = tensor_->storage->version;
  leave();  // before the memory that owns this list is freed
  tensor_->take_contents(*fresh.impl());
}

Tensor stand_in(const Tensor& x) {
  Tensor t = alias(x);
  // For a leaf this is its accumulator: gradients must arrive at x itself, not at the substitute.
  if (const Edge edge = gradient_edge(x); edge.node) {
    t->grad_fn = Ref<Counted>(edge.node.get());
    t->output_index = edge.index;
    t->requires_grad = true;
  }
  return t;
}

void AccumulateGrad::free() noexcept {
  if (auto* m = meta_if_any(leaf); m && m->accumulator == this) m->accumulator = nullptr;
  this->~AccumulateGrad();
  Pool<sizeof(AccumulateGrad)>::give(this);
}

Node* grad_fn(const Tensor& x) {
  TensorMeta* m = meta_if_any(x);
  if (m && m->base.defined() && m->base->requires_grad && m->base->storage == x->storage) {
    const TensorMeta* base = meta_if_any(m->base);
    if (m->base_version != x->storage->version || m->base_generation != (base ? base->generation : 0))
      regenerate_view(x);
  }
  return node_of(x);
}

void move_to_place_of(const Tensor& from, const Tensor& x) {
  const TensorMeta* m = meta_if_any(x);
  const bool retains = m && m->retains_grad;
  if (Node* node = node_of(x); retains && node && node->extras_if_any())
    std::erase_if(node->extras().retained, [&](const auto& r) { return r.tensor == x.impl(); });
  x->grad_fn = from->grad_fn;
  x->output_index = from->output_index;
  x->requires_grad = from->requires_grad;
  if (Node* node = node_of(x); retains && node) node->extras().retained.push_back({x->output_index, x.impl()});
}

bool recorded_by_tape(const Tensor& x) {
  if (!is_differentiable(x.dtype()) || x->inference) return false;
  for (const Recorder* r = grad_mode.recorder; r; r = r->outer)
    if (r->watches(x)) return true;
  return false;
}

// Whether the node that created x belongs to the current graph. For a result that only tapes recorded, this holds as
// long as one of these tapes records; otherwise it is a value without history.
static bool has_history(const Tensor& x) {
  if (requires_grad(x)) return true;
  for (const Recorder* r = grad_mode.recorder; r; r = r->outer)
    if (r->made(x)) return true;
  return false;
}

Edge gradient_edge(const Tensor& x) {
  Edge edge;
  edge.dtype = x.dtype();
  if (!x->grad_fn && !x->extras && !needs_grad(x)) return edge;
  if (Node* node = grad_fn(x); node && has_history(x)) {
    edge.node = Ref<Node>(node);
    edge.index = x->output_index;
  } else if (x->requires_grad || (grad_mode.recorder && recorded_by_tape(x))) {
    // Not for a view that requires grad only because its base does: it was created outside the graph and has no
    // gradient.
    TensorMeta& m = meta(x);
    if (!m.accumulator) m.accumulator = new (Pool<sizeof(AccumulateGrad)>::take()) AccumulateGrad(x);
    edge.node = Ref<Node>(m.accumulator);
  }
  return edge;
}

void mark_view(const Tensor& view, const Tensor& x) {
  TensorMeta& m = meta(view);
  m.base = base_of(x);
  m.base_version = view->storage->version;
  if (const TensorMeta* base = meta_if_any(m.base)) m.base_generation = base->generation;
}

void set_requires_grad(const Tensor& x, bool value) {
  if (value)
    require<DTypeError>(is_differentiable(x.dtype()),
                        "requires_grad_: only floating and complex tensors have gradients, got ", x.dtype(),
                        "; use x.float()");
  require<GraphError>(!(value && x->inference),
                      "requires_grad_: a tensor made in inference_mode cannot enter a graph; "
                      "clone() it outside inference_mode");
  require<GraphError>(value || !grad_fn(x) || !requires_grad(x),
                      "requires_grad_: requires_grad can only be turned off on a leaf, and this tensor of "
                      "shape ",
                      x.shape(), " was computed; use detach()");
  if (value && !requires_grad(x) && x->grad_fn && !grad_mode.recorder) {  // only a tape recorded it: a leaf from now on
    x->grad_fn = Ref<Counted>();
    x->output_index = 0;
  }
  x->requires_grad = value;
}

void detach_inplace(const Tensor& x) {
  TensorMeta* m = meta_if_any(x);
  require<GraphError>(!(m && m->base.defined() && (x->grad_fn || requires_grad(m->base))),
                      "detach_: cannot take a view out of the graph of its base; use detach()");
  x->grad_fn = Ref<Counted>();
  x->output_index = 0;
  x->requires_grad = false;
}

Ref<Hook> add_hook(const Tensor& x, Ref<Hook> hook) {
  require<GraphError>(needs_grad(x) || x->grad_fn,
                      "register_hook: the tensor does not require grad, so no gradient will reach it; "
                      "call requires_grad_() first");
  if (Node* node = grad_fn(x)) node->extras().output_hooks.push_back({x->output_index, hook});
  else meta(x).hooks.push_back(hook);
  return hook;
}

void retain_grad(const Tensor& x) {
  require<GraphError>(needs_grad(x), "retain_grad: the tensor does not require grad");
  Node* node = grad_fn(x);
  if (!node || meta(x).retains_grad) return;  // a leaf always keeps its gradient
  meta(x).retains_grad = true;
  node->extras().retained.push_back({x->output_index, x.impl()});
}

}  // namespace genesis
