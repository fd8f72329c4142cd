#include "ops/create.h"

#include <cstring>

#include "autograd/record.h"
#include "kernels/convert.h"
#include "ops/inplace.h"
#include "ops/operand.h"
#include "ops/view.h"

namespace genesis::ops {

Tensor full(const Dims& shape, Scalar value, DType dtype) {
  Tensor y = empty(shape, dtype);
  kernels::copy(y.view(), Operand(value).view());
  return untracked(std::move(y));
}

Tensor zeros(const Dims& shape, DType dtype) {
  Tensor y = empty(shape, dtype);
  const size_t bytes = static_cast<size_t>(y.numel() * itemsize(dtype));
  if (bytes <= 65536) std::memset(y->data, 0, bytes);
  else kernels::copy(y.view(), Operand(0).view());
  return untracked(std::move(y));
}

Tensor ones(const Dims& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor scalar_tensor(Scalar value, DType dtype) { return full({}, value, dtype); }

Tensor clone(const Tensor& x) {
  Tensor y = empty_like(x);
  kernels::copy(y.view(), x.view());
  return record("clone", y, inputs(x), save(), [](const Tensor& dy, const Saved&) { return Grads{dy}; });
}

Tensor contiguous(const Tensor& x) {
  if (x.contiguous()) return x;
  Tensor y = empty(x.shape(), x.dtype());
  kernels::copy(y.view(), x.view());
  return record("contiguous", y, inputs(x), save(), [](const Tensor& dy, const Saved&) { return Grads{dy}; });
}

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor y = empty_like(x, dtype);
  kernels::copy(y.view(), x.view());
  if (!is_floating(dtype)) return untracked(std::move(y));
  return record("to", y, inputs(x), save(), [](const Tensor& dy, const Saved&) { return Grads{dy}; });
}

Tensor copy_(const Tensor& x, const Tensor& source) {
  const Dims shape = broadcast_shapes("copy_", x.shape(), source.shape());
  require(shape == x.shape(), "copy_: a tensor of shape ", source.shape(), " cannot be copied into one of shape ", x.shape());
  return inplace("copy_", x, {&source}, [&](const Tensor& input, Out out) {
    // Overlapping memory (x[1:].copy_(x[:-1])) must read everything before it writes.
    const Tensor from = out && source->storage == x->storage && !source.same(x) ? clone(source) : source;
    Tensor y = out ? *out.tensor : empty_like(x);
    kernels::copy(y.view(), from.view());
    return record("copy", y, broadcast(input, source), save(),
                  [](const Tensor& dy, const Saved&) { return Grads{Tensor(), dy}; });
  });
}

Tensor fill_(const Tensor& x, Scalar value) {
  return inplace("fill_", x, {}, [&](const Tensor& input, Out out) {
    Tensor y = out ? *out.tensor : empty_like(x);
    kernels::copy(y.view(), Operand(value).view());
    return record("fill", y, inputs(input), save(), [](const Tensor&, const Saved&) { return Grads{Tensor()}; });
  });
}

Tensor zero_(const Tensor& x) { return fill_(x, 0); }

}  // namespace genesis::ops
