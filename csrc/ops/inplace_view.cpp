#include "ops/inplace_view.h"

namespace genesis::ops {

Tensor begin_view(const char* op, const Tensor& x) {
  require<GraphError>(!x->inference || grad_mode.inference, op,
                      ": a tensor made in inference_mode cannot be changed in place outside it; clone() it first");
  if (!tracked(x)) return alias(x);
  const Tensor base = base_of(x);
  require<GraphError>(
      !(base->requires_grad && !grad_fn(base)), op,
      x.same(base) ? ": a leaf tensor that requires grad" : ": a view of a leaf tensor that requires grad",
      " cannot be changed in place, since its gradient would be lost; use the out-of-place form");
  return stand_in(x);
}

Tensor finish_view(const char* op, const Tensor& x, const Tensor& result) {
  if (TensorMeta* m = meta_if_any(x); m && m->retains_grad && result->grad_fn) {
    if (Node* node = node_of(x))
      std::erase_if(node->extras().retained, [&](const auto& r) { return r.tensor == x.impl(); });
    m->retains_grad = false;
  }
  x->shape = result.shape();
  x->strides = result.strides();
  x->data = result->data;
  x->geometry_changed();
  if (result->grad_fn) {
    x->grad_fn = result->grad_fn;
    x->output_index = result->output_index;
  }
  // What saved x saved its shape with it.
  x->storage->written(op);
  return x;
}

}  // namespace genesis::ops
