#include "ops/masked.h"

#include "autograd/record.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/select.h"
#include "kernels/index/gather.h"
#include "ops/create.h"
#include "ops/index.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace genesis::ops {

static void require_mask(const char* op, const Tensor& mask) {
  require<DTypeError>(mask.dtype() == DType::Bool, op, ": mask must be bool, got ", mask.dtype(), "; use mask != 0");
}

// Inputs must not change while the operator writes to `out`, unless they have the same elements at the same positions.
static Tensor apart(const Tensor& t, Out out) {
  if (!out || out.tensor->impl()->storage != t->storage) return t;
  if (t->data == (*out.tensor)->data && t.shape() == out.tensor->shape() && t.strides() == out.tensor->strides())
    return t;
  const WithGradMode off(false);
  return clone(t);
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value, Out out) {
  require_mask("masked_fill", mask);
  require(value.is_scalar() || value.tensor->dim() == 0,
          "masked_fill: value must be a number or a 0-d tensor, got shape ", value.shape(),
          "; use where() for more values");
  require_fits("masked_fill", value, x.dtype());
  Tensor y = destination("masked_fill", broadcast_shapes("masked_fill", x.shape(), mask.shape()), x.dtype(), out);
  const Tensor of_value = value.is_scalar() ? Tensor() : apart(*value.tensor, out);
  kernels::where(y.view(), apart(mask, out).view(), value.is_scalar() ? value.view() : of_value.view(),
                 apart(x, out).view());
  return record("masked_fill", std::move(y), broadcast(x, value.or_undefined()), save(mask),
                [](const Tensor& dy, const Saved& saved) {
                  const Tensor dx = masked_fill(dy, saved[0], 0);
                  return Grads{dx, saved.needs(1) ? dy - dx : Tensor()};
                });
}

// ---- masked_select and masked_scatter, each the transpose of the other ---------------------------------------------

// The elements of x, in row-major order, where the mask (of the same shape) is true.
static Tensor compressed(const Tensor& x, const Tensor& mask) {
  const WithGradMode off(false);
  const Tensor from = contiguous(x), flags = contiguous(mask);
  if (on_meta) fail_no_data();
  const int64_t count = kernels::compress(nullptr, nullptr, flags.address<bool>(), flags.numel(), 1);
  Tensor y = empty({count}, x.dtype());
  kernels::compress(y->data, from->data, flags.address<bool>(), flags.numel(), itemsize(x.dtype()));
  return y;
}

// zeros of the mask's shape, with the elements of dy where it is true.
static Tensor masked_select_backward(const Tensor& dy, const Tensor& mask) {
  Tensor dx = zeros(mask.shape(), dy.dtype());
  {
    const WithGradMode off(false);
    const Tensor from = contiguous(dy), flags = contiguous(mask);
    kernels::expand(dx->data, from->data, flags.address<bool>(), flags.numel(), itemsize(dy.dtype()));
  }
  return record("masked_select_backward", std::move(dx), inputs(dy), save(mask),
                [](const Tensor& ddx, const Saved& saved) { return Grads{masked_select(ddx, saved[0])}; });
}

Tensor masked_select(const Tensor& x_in, const Tensor& mask_in) {
  require_mask("masked_select", mask_in);
  const Dims shape = broadcast_shapes("masked_select", x_in.shape(), mask_in.shape());
  const Tensor x = x_in.shape() == shape ? x_in : expand(x_in, shape);
  const Tensor mask = mask_in.shape() == shape ? mask_in : expand(mask_in, shape);
  return record("masked_select", compressed(x, mask), inputs(x), save(mask),
                [](const Tensor& dy, const Saved& saved) { return Grads{masked_select_backward(dy, saved[0])}; });
}

// The elements of dy where the mask is true, followed by zeros: one for each element of a source of `shape`.
static Tensor masked_scatter_backward(const Tensor& dy, const Tensor& mask, const Dims& shape) {
  Tensor dx = zeros(shape, dy.dtype());
  {
    const WithGradMode off(false);
    const Tensor from = contiguous(dy), flags = contiguous(mask);
    kernels::compress(dx->data, from->data, flags.address<bool>(), flags.numel(), itemsize(dy.dtype()));
  }
  return record("masked_scatter_backward", std::move(dx), inputs(dy), save(mask),
                [](const Tensor& ddx, const Saved& saved) {
                  const Tensor at = saved[0];
                  return Grads{masked_scatter(zeros(at.shape(), ddx.dtype()), at, ddx)};
                });
}

Tensor masked_scatter(const Tensor& x_in, const Tensor& mask_in, const Tensor& source, Out out) {
  require_mask("masked_scatter", mask_in);
  require<DTypeError>(x_in.dtype() == source.dtype(), "masked_scatter: source is ", source.dtype(),
                      " but the input is ", x_in.dtype(), "; use source.to(input.dtype)");
  const Dims shape = broadcast_shapes("masked_scatter", x_in.shape(), mask_in.shape());
  const Tensor x = x_in.shape() == shape ? x_in : expand(x_in, shape);
  const Tensor mask = mask_in.shape() == shape ? mask_in : expand(mask_in, shape);
  Tensor y;
  {
    const WithGradMode off(false);
    const Tensor flags = contiguous(mask), from = contiguous(source);
    if (on_meta) fail_no_data();
    const int64_t count = kernels::compress(nullptr, nullptr, flags.address<bool>(), flags.numel(), 1);
    require(count <= source.numel(), "masked_scatter: mask has ", count, " true elements but source only ",
            source.numel(), " elements");
    if (out) destination("masked_scatter", shape, x.dtype(), out);  // raises unless the result fits
    y = empty(shape, x.dtype());
    kernels::copy(y.view(), x.view());
    kernels::expand(y->data, from->data, flags.address<bool>(), flags.numel(), itemsize(x.dtype()));
    y = deliver("masked_scatter", std::move(y), out);
  }
  return record("masked_scatter", std::move(y), inputs(x, source), save(mask),
                [from = source.shape()](const Tensor& dy, const Saved& saved) {
                  return Grads{saved.needs(0) ? masked_fill(dy, saved[0], 0) : Tensor(),
                               saved.needs(1) ? masked_scatter_backward(dy, saved[0], from) : Tensor()};
                });
}

Tensor masked_fill_(const Tensor& x, const Tensor& mask, const Operand& value) {
  // If elements of x overlap, only those that the mask selects may be written.
  if (value.is_scalar() && shows_twice(x)) {
    require_mask("masked_fill_", mask);
    require_fits("masked_fill_", value, x.dtype());
    const Tensor where[] = {expand(mask, x.shape())};
    return index_put_(x, where, value.scalar, false);
  }
  return inplace("masked_fill_", x, {&value.or_undefined()},
                 [&](const Tensor& input, Out out) { return masked_fill(input, mask, value, out); });
}
Tensor masked_scatter_(const Tensor& x, const Tensor& mask, const Tensor& source) {
  return inplace("masked_scatter_", x, {&source},
                 [&](const Tensor& input, Out out) { return masked_scatter(input, mask, source, out); });
}

}  // namespace genesis::ops
