#include "ops/inplace.h"

#include "autograd/record.h"
#include "core/exact.h"
#include "kernels/elementwise/convert.h"
#include "ops/complex.h"
#include "ops/create.h"
#include "ops/pointwise.h"
#include "ops/view.h"

namespace genesis::ops {

bool shows_twice(const Tensor& x) { return !x.contiguous() && overlaps(x.shape(), x.strides()); }

// Whether x has stride 0 along a dimension.
static bool expanded(const Tensor& x) {
  for (int d = 0; d < x.dim(); ++d)
    if (x.size(d) > 1 && x.stride(d) == 0) return true;
  return false;
}

static void require_castable(const char* op, DType from, DType to) {
  const auto kind = [](DType t) { return t == DType::Bool ? 0 : is_integral(t) ? 1 : is_floating(t) ? 2 : 3; };
  require<DTypeError>(kind(from) <= kind(to), op, ": the result is ", from, " and cannot be stored in a ", to,
                      " tensor; convert the tensor first, e.g. x.to(genesis.", from, ")");
}

void require_writable(const char* op, const Tensor& x, Overlap allowed) {
  require<GraphError>(x->storage->writable, op,
                      ": the memory is read-only (it belongs to a read-only NumPy array); "
                      "clone() the tensor first");
  x->storage->before_write();
  if (x.contiguous() || allowed >= Overlap::Expanded) return;
  require<GraphError>(!(allowed == Overlap::Unfolded ? expanded(x) : shows_twice(x)), op,
                      ": several elements of this tensor of shape ", x.shape(),
                      " share one memory location (it was expanded or unfolded); clone() it first");
}

static void require_holds(const char* op, const Tensor& x, const Dims& shape, DType dtype) {
  require(x.shape() == shape, op, ": the result has shape ", shape, " and cannot be stored in a tensor of shape ",
          x.shape());
  require_castable(op, dtype, x.dtype());
  require_writable(op, x);
}

Tensor destination(const char* op, const Dims& shape, DType dtype, Out out) {
  if (!out) return empty(shape, dtype);
  const Tensor& x = *out.tensor;
  require_holds(op, x, shape, dtype);
  return x.dtype() == dtype ? x : empty(shape, dtype);
}

Tensor deliver(const char* op, Tensor result, Out out) {
  if (!out || result.same(*out.tensor)) return result;
  require_holds(op, *out.tensor, result.shape(), result.dtype());
  const Completes completes;
  kernels::copy(out.tensor->view(), result.view());
  return *out.tensor;
}

void write_result(const char* op, const Tensor& x, const Tensor& result) {
  require(result.shape() == x.shape(), op, ": the result has shape ", result.shape(),
          " and cannot be stored in a tensor of shape ", x.shape());
  require_castable(op, result.dtype(), x.dtype());
  kernels::copy(x.view(), result.view());
}

// The base of a view, unless it has been given other memory since (x.data = y).
static Tensor shared_base(const Tensor& x) {
  Tensor base = base_of(x);
  return base->storage == x->storage ? base : x;
}

bool begin_inplace(const char* op, const Tensor& x, std::initializer_list<const Tensor*> others, Overlap allowed) {
  require_writable(op, x, allowed);
  require<GraphError>(!x->inference || grad_mode.inference, op,
                      ": a tensor made in inference_mode cannot be changed in place outside it; clone() it first");
  if (!grad_mode.enabled) return false;
  bool others_need_grad = false;
  for (const Tensor* t : others) others_need_grad = others_need_grad || (t->defined() && needs_grad(*t));
  const Tensor base = shared_base(x);
  if (!others_need_grad && !needs_grad(x) && !needs_grad(base)) return false;
  for (const Tensor* t : {&x, &base})
    require<GraphError>(
        !(meta_if_any(*t) && meta_if_any(*t)->frozen), op,
        ": this tensor was returned by a Function and shows the memory of another, so writing to it would bypass the "
        "backward of the Function; clone() it first, or return a clone from forward");
  // A tensor that only a tape records is not a leaf: its gradient goes to the tape.
  const bool taped = !base->requires_grad && needs_grad(base);
  const bool leaf = requires_grad(x) && !taped && !grad_fn(base);
  if (!leaf) {
    if (allowed != Overlap::Filled) require_writable(op, x);  // its gradient would be counted twice
    return true;
  }
  if (base->parameter && !exact_torch && !others_need_grad && x.same(base)) return false;
  fail<GraphError>(op,
                   x.same(base) ? ": a leaf tensor that requires grad (a leaf Variable)"
                                : ": a view of a leaf tensor that requires grad (a leaf Variable)",
                   " cannot be changed in place, since its gradient would be lost; wrap the change in "
                   "`with genesis.no_grad():`, or use the out-of-place form");
}

// The history of a view's base after the view was overwritten by `value`: the base with that part replaced.
static void replace_in_base(const Tensor& base, const Tensor& view, const Tensor& value) {
  const Geometry whole = geometry(base), part = geometry(view);
  Tensor before = stand_in(base);
  Tensor after = record("copy_slices", alias(base), inputs(before, value), save(),
                        [whole, part, dtype = view.dtype()](const Tensor& dy, const Saved& saved) {
                          const auto at_part = [&](const Tensor& t) { return part_of(t, whole, part, dtype); };
                          Tensor inside, outside;
                          // A gradient without other references is changed in place, so that a loop that fills a tensor
                          // row by row takes linear time.
                          const bool reuse = !grad_mode.enabled && dy.exclusive() && dy.strides() == whole.strides;
                          const Tensor g = reuse ? dy : with_geometry(dy, whole);
                          if (saved.needs(1)) inside = clone(at_part(g));
                          if (saved.needs(0)) {
                            outside = reuse ? dy : clone_with_geometry(g, whole);
                            fill_(at_part(outside), 0.0);
                          }
                          return Grads{outside, inside};
                        });
  move_to_place_of(after, base);
}

Tensor finish_inplace(const char* op, const Tensor& x, Tensor input, Tensor result) {
  require(result.shape() == x.shape(), op, ": the result has shape ", result.shape(),
          " and cannot be stored in a tensor of shape ", x.shape());
  require_castable(op, result.dtype(), x.dtype());
  if (input->count() > 1 || input->foreign()) {
    // The substitute was saved: it gets new memory with the old values.
    Tensor old;
    {
      const WithGradMode off(false);
      old = clone_with_geometry(alias(input), geometry(input));
    }
    old->storage->version = x->storage->version;
    std::swap(input->storage, old->storage);
    std::swap(input->data, old->data);
    std::swap(input->strides, old->strides);
    input->geometry_changed();
  }
  if (result.dtype() != x.dtype()) result = cast(result, x.dtype());
  const Completes completes;
  kernels::copy(x.view(), result.view());
  x->storage->written(op);
  return take_history(x, result);
}

Tensor take_history(const Tensor& x, const Tensor& result) {
  if (const Tensor base = shared_base(x); !base.same(x)) {
    replace_in_base(base, x, result);
    ++meta(base).generation;
    grad_fn(x);
  } else {
    move_to_place_of(result, x);
    ++meta(x).generation;
  }
  return x;
}

}  // namespace genesis::ops
