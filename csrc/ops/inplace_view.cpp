#include "ops/inplace_view.h"

#include <algorithm>
#include <cstring>

#include "core/parallel.h"

namespace genesis::ops {

Tensor begin_view(const char* op, const Tensor& x) {
  require<GraphError>(!x->inference || grad_mode.inference, op,
                      ": a tensor made in inference_mode cannot be changed in place outside it; clone() it first");
  if (!tracked(x)) return alias(x);
  const Tensor base = base_of(x);
  require<GraphError>(!(base->requires_grad && !grad_fn(base)) && !(x->requires_grad && !grad_fn(x)), op,
                      x.same(base) ? ": a leaf tensor that requires grad (a leaf Variable)"
                                   : ": a view of a leaf tensor that requires grad (a leaf Variable)",
                      " cannot be changed in place, since its gradient would be lost; use the out-of-place form");
  return stand_in(x);
}

Tensor finish_view(const char* op, const Tensor& x, const Tensor& result) {
  x->storage->before_write();  // for nodes that keep values: the version changes
  x->take_contents(*result.impl());
  if (result->grad_fn) move_to_place_of(result, x);
  // Tensors that were saved with x's shape are outdated now.
  x->storage->written(op);
  return x;
}

Tensor resize_(const char* op, const Tensor& x, const Dims& shape, MemoryFormat format) {
  for (int64_t n : shape) require(n >= 0, op, ": sizes must not be negative, got ", shape);
  require(format != MemoryFormat::Preserve, op, ": memory_format must not be preserve_format");
  require<GraphError>(!tracked(x), op, ": a tensor that requires grad cannot be resized; resize x.detach()");
  if (shape == x.shape() && format == MemoryFormat::Contiguous) return x;
  x->storage->before_write();
  const Tensor memory = empty_in_format(op, shape, x.dtype(), format);
  const auto bytes = static_cast<size_t>((x.offset() + memory.numel()) * itemsize(x.dtype()));
  if (memory.numel() > 0 && bytes > x->storage->nbytes) {
    require(x->storage->refs == 1, op, ": growing from shape ", x.shape(), " to ", shape,
            " needs new memory, but other tensors (views, or the base of one) share this; use clone() first");
    require(!x->storage->owner, op, ": growing from shape ", x.shape(), " to ", shape,
            " needs new memory, but this is another library's (NumPy's, say); use clone() first");
    const size_t kept = x->storage->nbytes - static_cast<size_t>(x.offset() * itemsize(x.dtype()));
    capture::interrupt("a storage is resized");
    if (!on_meta) std::memcpy(memory->data, x->data, std::min(kept, memory->storage->nbytes));
    memory->storage->version = x->storage->version;
    x->take_contents(*memory.impl());
  } else {
    await_kernels();
    x->shape = memory->shape;
    x->strides = memory->strides;
    x->geometry_changed();
  }
  x->storage->written(op);
  return x;
}

}  // namespace genesis::ops
