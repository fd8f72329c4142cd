#include "ops/softmax.h"

#include "autograd/record.h"
#include "kernels/norm/softmax.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/operand.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/unary.h"

namespace genesis::ops {

static DType softmax_type(const char* op, const Tensor& x, std::optional<DType> dtype) {
  const DType type = dtype.value_or(x.dtype());
  if (is_complex(type)) refuse_complex(op, type);
  require<DTypeError>(is_floating(type), op, ": ", dtype ? "dtype" : "input", " must be floating, got ", type,
                      dtype ? "" : "; use x.float(), or pass dtype=genesis.float32");
  return type;
}

// The backward of softmax, which is its own transpose: y * (dy - sum(y * dy)).
static Tensor softmax_backward(const Tensor& dy, const Tensor& y, int d) {
  Tensor dx = empty_like(y);
  if (y.numel() > 0) kernels::softmax_backward(dx.view(), dy.view(), y.view(), d);
  return record("softmax_backward", std::move(dx), inputs(dy, y), save(dy, y),
                [d](const Tensor& g, const Saved& saved) {
                  const Tensor dy = saved[0], y = saved[1];
                  Tensor gy;
                  if (saved.needs(1)) gy = g * (dy - sum(y * dy, {d}, true)) - dy * sum(g * y, {d}, true);
                  return Grads{softmax_backward(g, y, d), gy};
                });
}

Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  if (is_complex(x.dtype())) return softmax(cast(x, softmax_type("softmax", x, dtype)), dim);
  const int d = wrap_dim("softmax", dim, x.dim());
  Tensor y = empty_like(x, softmax_type("softmax", x, dtype));
  if (x.numel() > 0) kernels::softmax(y.view(), x.view(), d);
  return record("softmax", y, inputs(x), save(output(y)),
                [d](const Tensor& dy, const Saved& saved) { return Grads{softmax_backward(dy, saved[0], d)}; });
}

// dy - exp(y) sum(dy)
static Tensor log_softmax_backward(const Tensor& dy, const Tensor& y, int d) {
  Tensor dx = empty_like(y);
  if (y.numel() > 0) kernels::log_softmax_backward(dx.view(), dy.view(), y.view(), d);
  return record("log_softmax_backward", std::move(dx), inputs(dy, y), save(dy, y),
                [d](const Tensor& g, const Saved& saved) {
                  const Tensor e = exp(saved[1]);
                  const Tensor projected = g * e;
                  Tensor gy;
                  if (saved.needs(1)) gy = -(projected * sum(saved[0], {d}, true));
                  return Grads{g - sum(projected, {d}, true), gy};
                });
}

Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  if (is_complex(x.dtype())) return log_softmax(cast(x, softmax_type("log_softmax", x, dtype)), dim);
  const int d = wrap_dim("log_softmax", dim, x.dim());
  Tensor y = empty_like(x, softmax_type("log_softmax", x, dtype));
  if (x.numel() > 0) kernels::log_softmax(y.view(), x.view(), d);
  return record("log_softmax", y, inputs(x), save(output(y)),
                [d](const Tensor& dy, const Saved& saved) { return Grads{log_softmax_backward(dy, saved[0], d)}; });
}

Tensor softmin(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  return softmax(-cast(x, softmax_type("softmin", x, dtype)), dim);
}

}  // namespace genesis::ops
