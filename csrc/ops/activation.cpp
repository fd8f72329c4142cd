#include "ops/activation.h"

#include <cmath>
#include <numbers>

#include "autograd/record.h"
#include "kernels/elementwise/activation.h"
#include "ops/create.h"
#include "ops/pointwise.h"
#include "ops/shape.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace genesis::ops {

static Tensor result(const char* op, const Tensor& x, Out out) {
  return out ? destination(op, x.shape(), x.dtype(), out) : empty_like(x);
}

// 1 where x > 0, otherwise 0, in x's dtype: a constant for the graph.
static Tensor positive(const Tensor& x) {
  const WithGradMode off(false);
  Tensor step = empty_like(x);
  kernels::relu_backward(step.view(), Operand(1.0).view(), x.view());
  return step;
}

Tensor relu(const Tensor& x, Out out) {
  require<DTypeError>(x.dtype() != DType::Bool, "relu: x must be a number, got bool; use x.float()");
  Tensor y = result("relu", x, out);
  kernels::relu(y.view(), x.view());
  return record("relu", y, inputs(x), save(output(y)), [](const Tensor& dy, const Saved& saved) {
    if (grad_mode.enabled) return Grads{dy * positive(saved[0])};
    Tensor dx = empty_like(dy);
    kernels::relu_backward(dx.view(), dy.view(), saved[0].view());
    return Grads{dx};
  });
}

Tensor leaky_relu(const Tensor& x, double slope, Out out) {
  require_floating("leaky_relu", "input", x);
  Tensor y = result("leaky_relu", x, out);
  kernels::leaky_relu(y.view(), x.view(), slope);
  return record("leaky_relu", y, inputs(x), save(x), [slope](const Tensor& dy, const Saved& saved) {
    if (grad_mode.enabled) return Grads{dy * (positive(saved[0]) * (1 - slope) + slope)};
    Tensor dx = empty_like(dy);
    kernels::leaky_relu_backward(dx.view(), dy.view(), saved[0].view(), slope);
    return Grads{dx};
  });
}

Tensor elu(const char* op, const Tensor& x, double alpha, double scale, double input_scale, Out out) {
  require_floating(op, "input", x);
  Tensor y = result(op, x, out);
  kernels::elu(y.view(), x.view(), alpha, scale, input_scale);
  return record(op, y, inputs(x), save(x), [=](const Tensor& dy, const Saved& saved) {
    const Tensor x = saved[0];
    if (!grad_mode.enabled) {
      Tensor dx = empty_like(dy);
      kernels::elu_backward(dx.view(), dy.view(), x.view(), alpha, scale, input_scale);
      return Grads{dx};
    }
    const Tensor step = positive(x), below = sub(1, step);
    const Tensor curve = exp(x * below * input_scale) * (alpha * scale * input_scale);  // exp of 0 above: no overflow
    return Grads{dy * (step * scale + below * curve)};
  });
}

Tensor mish(const Tensor& x, Out out) {
  require_floating("mish", "input", x);
  Tensor y = result("mish", x, out);
  kernels::mish(y.view(), x.view());
  return record("mish", y, inputs(x), save(x), [](const Tensor& dy, const Saved& saved) {
    const Tensor x = saved[0];
    if (!grad_mode.enabled) {
      Tensor dx = empty_like(dy);
      kernels::mish_backward(dx.view(), dy.view(), x.view());
      return Grads{dx};
    }
    const Tensor t = ops::tanh(neg(logsigmoid(neg(x))));
    return Grads{dy * (t + x * sub(1, t * t) * sigmoid(x))};
  });
}

Tensor logsigmoid(const Tensor& x) {
  require_floating("logsigmoid", "input", x);
  Tensor y = empty_like(x);
  kernels::logsigmoid(y.view(), x.view());
  return record("logsigmoid", y, inputs(x), save(x), [](const Tensor& dy, const Saved& saved) {
    if (grad_mode.enabled) return Grads{dy * sigmoid(neg(saved[0]))};
    Tensor dx = empty_like(dy);
    kernels::logsigmoid_backward(dx.view(), dy.view(), saved[0].view());
    return Grads{dx};
  });
}

Tensor softsign(const Tensor& x) {
  if (is_complex(x.dtype())) return x / (abs(x) + 1);
  require_floating("softsign", "input", x);
  Tensor y = empty_like(x);
  kernels::softsign(y.view(), x.view());
  return record("softsign", y, inputs(x), save(x), [](const Tensor& dy, const Saved& saved) {
    if (grad_mode.enabled) return Grads{dy / square(abs(saved[0]) + 1)};
    Tensor dx = empty_like(dy);
    kernels::softsign_backward(dx.view(), dy.view(), saved[0].view());
    return Grads{dx};
  });
}

Tensor gelu(const Tensor& x, bool tanh) {
  require_floating("gelu", "input", x);
  Tensor y = empty_like(x);
  kernels::gelu(y.view(), x.view(), tanh);
  return record("gelu", y, inputs(x), save(x), [tanh](const Tensor& dy, const Saved& saved) {
    const Tensor x = saved[0];
    if (!grad_mode.enabled) {
      Tensor dx = empty_like(dy);
      kernels::gelu_backward(dx.view(), dy.view(), x.view(), tanh);
      return Grads{dx};
    }
    if (!tanh) {
      const Tensor cdf = (erf(x * std::numbers::sqrt2 * 0.5) + 1) * 0.5;
      const Tensor pdf = exp(x * x * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
      return Grads{dy * (cdf + x * pdf)};
    }
    constexpr double c = 0.044715, k = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    const Tensor t = ops::tanh((x + x * x * x * c) * k);
    return Grads{dy * ((t + 1) * 0.5 + x * sub(1, t * t) * (x * x * (3 * c) + 1) * (0.5 * k))};
  });
}

Tensor silu(const Tensor& x, Out out) {
  if (is_complex(x.dtype())) return deliver("silu", x * sigmoid(x), out);
  require_floating("silu", "input", x);
  Tensor y = result("silu", x, out);
  kernels::silu(y.view(), x.view());
  return record("silu", y, inputs(x), save(x), [](const Tensor& dy, const Saved& saved) {
    const Tensor x = saved[0];
    if (!grad_mode.enabled) {
      Tensor dx = empty_like(dy);
      kernels::silu_backward(dx.view(), dy.view(), x.view());
      return Grads{dx};
    }
    const Tensor s = sigmoid(x);
    return Grads{dy * s * (x * sub(1, s) + 1)};
  });
}

Tensor glu(const Tensor& x, int64_t dim) {
  require_floating("glu", "input", x);
  require(x.dim() > 0, "glu: a 0-d tensor has no halves");
  const int d = wrap_dim("glu", dim, x.dim());
  require(x.size(d) % 2 == 0, "glu: dimension ", d, " must have an even size to be halved, got shape ", x.shape());
  const int64_t half = x.size(d) / 2;
  Dims shape = x.shape();
  shape[d] = half;
  const auto part = [d, half, shape](const Tensor& whole, int64_t i) {
    return alias(whole, shape, whole.strides(), half > 0 ? i * half * whole.stride(d) : 0);
  };
  Tensor y = empty(shape, x.dtype());
  kernels::glu(y.view(), part(x, 0).view(), part(x, 1).view());
  return record("glu", y, inputs(x), save(x), [d, half, part](const Tensor& dy, const Saved& saved) {
    const Tensor x = saved[0];
    if (!grad_mode.enabled) {
      Tensor dx = empty(x.shape(), x.dtype());
      kernels::glu(part(dx, 0).view(), dy.view(), part(x, 1).view());
      kernels::glu_gate_backward(part(dx, 1).view(), dy.view(), part(x, 0).view(), part(x, 1).view());
      return Grads{dx};
    }
    const Tensor a = narrow(x, d, 0, half), s = sigmoid(narrow(x, d, half, half));
    const Tensor halves[] = {dy * s, dy * a * s * sub(1, s)};
    return Grads{cat(halves, d)};
  });
}

Tensor softplus(const Tensor& x, double beta, double threshold) {
  require_floating("softplus", "input", x);
  require(beta > 0, "softplus: beta must be positive, got ", beta);
  Tensor y = empty_like(x);
  kernels::softplus(y.view(), x.view(), beta, threshold);
  return record("softplus", y, inputs(x), save(x), [beta, threshold](const Tensor& dy, const Saved& saved) {
    const Tensor x = saved[0];
    if (!grad_mode.enabled) {
      Tensor dx = empty_like(dy);
      kernels::softplus_backward(dx.view(), dy.view(), x.view(), beta, threshold);
      return Grads{dx};
    }
    const Tensor z = x * beta, linear = positive(z - threshold);
    return Grads{dy * (linear + sub(1, linear) * sigmoid(z))};
  });
}

}  // namespace genesis::ops
