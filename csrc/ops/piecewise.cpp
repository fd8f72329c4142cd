#include "ops/piecewise.h"

#include "autograd/record.h"
#include "kernels/elementwise/piecewise.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/pointwise.h"
#include "ops/select.h"
#include "ops/view.h"

namespace genesis::ops {

static Tensor result(const char* op, const Tensor& x, Out out) {
  require_floating(op, "input", x);
  return out ? destination(op, x.shape(), x.dtype(), out) : empty_like(x);
}

// The derivative of a piecewise linear function, a constant for the graph: `backward` applied to ones.
template <class Backward>
static Tensor slope_at(const Tensor& x, Backward backward) {
  const WithGradMode off(false);
  Tensor slope = empty_like(x);
  backward(slope.view(), Operand(1.0).view(), x.view());
  return slope;
}

template <class Backward>
static Tensor record_pieces(const char* op, Tensor y, const Tensor& x, Backward backward) {
  return record(op, y, inputs(x), save(x), [backward](const Tensor& dy, const Saved& saved) {
    if (grad_mode.enabled) return Grads{dy * slope_at(saved[0], backward)};
    Tensor dx = empty_like(dy);
    backward(dx.view(), dy.view(), saved[0].view());
    return Grads{dx};
  });
}

static bool holds_integers(const Tensor& x) { return is_integral(x.dtype()) && x.dtype() != DType::Bool; }

// A number as an integer of x's dtype: its fraction is truncated.
static Operand cut(const char* op, Scalar value, const Tensor& x) {
  require_representable(op, value, x.dtype());
  return x.dtype() == DType::UInt8 ? value.to_int() & 255 : value.to_int();  // a negative byte wraps around
}

Tensor hardtanh(const char* op, const Tensor& x, Scalar min_val, Scalar max_val, Out out) {
  const double low = min_val.to_double(), high = max_val.to_double();
  require(low <= high, op, ": min_val must not be greater than max_val, got ", low, " and ", high);
  require(x.dtype() != DType::UInt8 || low > -1, op, ": min_val ", low, " is negative, which uint8 cannot be; use ",
          "input.int()");
  if (holds_integers(x)) return clamp(x, cut(op, min_val, x), cut(op, max_val, x), out);
  Tensor y = result(op, x, out);
  kernels::hardtanh(y.view(), x.view(), low, high);
  return record_pieces(op, y, x, [=](View dx, View dy, View x) { kernels::hardtanh_backward(dx, dy, x, low, high); });
}

Tensor hardsigmoid(const Tensor& x, Out out) {
  Tensor y = result("hardsigmoid", x, out);
  kernels::hardsigmoid(y.view(), x.view());
  return record_pieces("hardsigmoid", y, x, [](View dx, View dy, View x) { kernels::hardsigmoid_backward(dx, dy, x); });
}

Tensor hardswish(const Tensor& x, Out out) {
  Tensor y = result("hardswish", x, out);
  kernels::hardswish(y.view(), x.view());
  return record("hardswish", y, inputs(x), save(x), [](const Tensor& dy, const Saved& saved) {
    const Tensor x = saved[0];
    if (!grad_mode.enabled) {
      Tensor dx = empty_like(dy);
      kernels::hardswish_backward(dx.view(), dy.view(), x.view());
      return Grads{dx};
    }
    const Tensor slope = slope_at(x, [](View dx, View dy, View x) { kernels::hardsigmoid_backward(dx, dy, x); });
    return Grads{dy * (hardsigmoid(x) + x * slope)};
  });
}

Tensor hardshrink(const Tensor& x, double lambda) {
  Tensor y = result("hardshrink", x, {});
  kernels::hardshrink(y.view(), x.view(), lambda);
  return record_pieces("hardshrink", y, x,
                       [=](View dx, View dy, View x) { kernels::shrink_backward(dx, dy, x, lambda); });
}

Tensor softshrink(const Tensor& x, double lambda) {
  require(lambda >= 0, "softshrink: lambd must not be negative, got ", lambda);
  Tensor y = result("softshrink", x, {});
  kernels::softshrink(y.view(), x.view(), lambda);
  return record_pieces("softshrink", y, x,
                       [=](View dx, View dy, View x) { kernels::shrink_backward(dx, dy, x, lambda); });
}

Tensor threshold(const Tensor& x, Scalar bound, Scalar fill, Out out) {
  if (holds_integers(x)) {
    const Operand value = cut("threshold", fill, x);
    return where(gt(x, cut("threshold", bound, x)), x, value, out);
  }
  require_fits("threshold", fill, x.dtype());
  const double threshold = bound.to_double(), value = fill.to_double();
  Tensor y = result("threshold", x, out);
  kernels::threshold(y.view(), x.view(), threshold, value);
  return record_pieces("threshold", y, x,
                       [=](View dx, View dy, View x) { kernels::threshold_backward(dx, dy, x, threshold); });
}

Tensor leaky(const char* op, const Tensor& x, const Tensor& slope, Out out) {
  require<DTypeError>(x.dtype() == slope.dtype(), op, ": the slope must have the input's dtype, ", x.dtype(), ", got ",
                      slope.dtype());
  Tensor y = result(op, x, out);
  const Tensor each = [&] {
    const WithGradMode off(false);
    return expand(slope, x.shape());
  }();
  kernels::prelu(y.view(), x.view(), each.view());
  return record(op, y, broadcast(x, slope), save(x, slope), [](const Tensor& dy, const Saved& saved) {
    const Tensor x = saved[0], slope = saved[1];
    if (grad_mode.enabled) {
      const Tensor above = slope_at(x, [](View dx, View dy, View x) { kernels::threshold_backward(dx, dy, x, 0.0); });
      const Tensor below = sub(1, above);
      return Grads{dy * (above + below * slope), dy * (x * below)};
    }
    Tensor dx, dslope;
    if (saved.needs(0)) {
      dx = empty_like(dy);
      kernels::prelu_backward(dx.view(), dy.view(), x.view(), expand(slope, x.shape()).view());
    }
    if (saved.needs(1)) {
      dslope = empty_like(dy);
      kernels::prelu_slope_backward(dslope.view(), dy.view(), x.view());
    }
    return Grads{dx, dslope};
  });
}

Tensor prelu(const Tensor& x, const Tensor& weight) {
  require(weight.dim() <= 1, "prelu: weight must be 0-d or 1-d, got shape ", weight.shape());
  if (weight.numel() == 1) return leaky("prelu", x, reshape(weight, {}));
  require(x.dim() > 0, "prelu: a 0-d input takes a weight of one element, got ", weight.numel());
  const int64_t channels = x.dim() > 1 ? x.size(1) : 1;
  require(weight.numel() == channels, "prelu: weight must have one element or one for each of the ", channels,
          " channels (dimension 1 of the input ", x.shape(), "), got ", weight.numel());
  Dims shape;
  for (int i = 0; i < x.dim(); ++i) shape.push_back(i == 1 ? channels : 1);
  return leaky("prelu", x, reshape(weight, shape));
}

}  // namespace genesis::ops
