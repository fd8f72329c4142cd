#include "ops/create.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "autograd/record.h"
#include "kernels/elementwise/convert.h"
#include "kernels/index/sequence.h"
#include "ops/inplace.h"
#include "ops/operand.h"
#include "ops/view.h"

namespace genesis::ops {

void require_representable(const char* op, Scalar value, DType dtype) {
  if (dtype == DType::Bool || is_complex(dtype)) return;
  require<DTypeError>(!value.is_complex() || value.imaginary == 0, op, ": the complex number ", value,
                      " does not fit into ", dtype, "; use dtype=genesis.complex64");
  if (value.is_complex()) value = value.f;
  if (is_floating(dtype)) {
    require<RangeError>(dtype != DType::Float32 || !std::isfinite(value.to_double()) ||
                            std::abs(value.to_double()) <= std::numeric_limits<float>::max(),
                        op, ": ", value.to_double(), " does not fit into float32; use dtype=genesis.float64");
    return;
  }
  const int bits = static_cast<int>(8 * itemsize(dtype));
  if (value.is_float()) {
    // The bounds are those of the dtype: a fraction beyond the last number does not fit.
    const double limit = std::ldexp(1.0, is_unsigned(dtype) ? bits : bits - 1);
    const double lowest = is_unsigned(dtype) ? 0 : -limit, highest = bits == 64 ? limit : limit - 1;
    require<RangeError>(value.f >= lowest && (bits == 64 ? value.f < highest : value.f <= highest), op, ": ", value.f,
                        " does not fit into ", dtype);
  } else if (bits < 64) {
    // A small negative number is converted to its unsigned counterpart, as in PyTorch.
    const int64_t limit = int64_t{1} << (is_unsigned(dtype) ? bits : bits - 1);
    require<RangeError>(value.i < limit && value.i >= (is_unsigned(dtype) ? 1 - limit : -limit), op, ": ", value.i,
                        " does not fit into ", dtype);
  }
}

void require_fits(const char* op, const Operand& value, DType dtype) {
  Scalar number = value.scalar;
  if (value.tensor) {
    if (value.tensor->dtype() == dtype || on_meta) return;
    const WithGradMode off(false);
    if (is_complex(value.tensor->dtype()))
      number = *cast(*value.tensor, DType::Complex128).data<std::complex<double>>();
    else if (is_floating(value.tensor->dtype())) number = *cast(*value.tensor, DType::Float64).data<double>();
    else number = *cast(*value.tensor, DType::Int64).data<int64_t>();
  }
  require_representable(op, number, dtype);
  if (is_complex(dtype)) return;
  const double size = std::abs(number.to_double());
  const double largest = dtype == DType::Float16 ? 65504.0 : 0x1.fep127;
  require(!is_half(dtype) || !std::isfinite(size) || size <= largest, op, ": ", number.to_double(),
          " does not fit into ", dtype);
}

Tensor full(const Dims& shape, Scalar value, DType dtype) {
  require_representable("full", value, dtype);
  Tensor y = empty(shape, dtype);
  kernels::copy(y.view(), Operand(value).view());
  return untracked(std::move(y));
}

Tensor zeros(const Dims& shape, DType dtype) {
  Tensor y = empty(shape, dtype);
  const size_t bytes = static_cast<size_t>(y.numel() * itemsize(dtype));
  if (bytes <= 65536 && !on_meta && !capture::observer) std::memset(y->data, 0, bytes);
  else kernels::copy(y.view(), Operand(0).view());
  return untracked(std::move(y));
}

Tensor ones(const Dims& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor scalar_tensor(Scalar value, DType dtype) { return full({}, value, dtype); }

Tensor empty_strided(const Dims& shape, const Dims& strides, DType dtype) {
  require(shape.size() == strides.size(), "empty_strided: ", shape.size(), " sizes but ", strides.size(), " strides");
  int64_t last = 0;
  for (int d = 0; d < shape.size(); ++d) {
    require(shape[d] >= 0 && strides[d] >= 0, "empty_strided: sizes and strides must not be negative, got ", shape,
            " and ", strides);
    int64_t extent;
    require(!__builtin_mul_overflow(std::max<int64_t>(shape[d] - 1, 0), strides[d], &extent) &&
                !__builtin_add_overflow(last, extent, &last),
            "empty_strided: sizes ", shape, " with strides ", strides, " are too large");
  }
  return untracked(alias(empty({numel(shape, "empty_strided") == 0 ? 0 : last + 1}, dtype), shape, strides));
}

Tensor full_like(const Tensor& x, Scalar value, DType dtype) {
  require_representable("full_like", value, dtype);
  Tensor y = empty_like(x, dtype);
  kernels::copy(y.view(), Operand(value).view());
  return untracked(std::move(y));
}

// The number of values from start to end.
static int64_t count_steps(Scalar start, Scalar end, Scalar step) {
  if (!start.is_float() && !end.is_float() && !step.is_float()) {
    int64_t span;
    require(!__builtin_sub_overflow(end.i, start.i, &span), "arange: the range is too large");
    return span / step.i + (span % step.i != 0);
  }
  const double count = std::ceil((end.to_double() - start.to_double()) / step.to_double());
  require(count < 0x1p62, "arange: the range is too large");
  return static_cast<int64_t>(count);
}

Tensor arange(Scalar start, Scalar end, Scalar step, DType dtype) {
  require<DTypeError>(dtype != DType::Bool, "arange: dtype must not be bool");
  if (!is_common(dtype))
    return cast(arange(start, end, step, is_integral(dtype) ? DType::Int64 : DType::Float64), dtype);
  const double from = start.to_double(), to = end.to_double(), by = step.to_double();
  require(by != 0, "arange: step must not be zero");
  require(std::isfinite(from) && std::isfinite(to) && std::isfinite(by),
          "arange: start, end and step must be finite, got ", from, ", ", to, ", ", by);
  require(by > 0 ? from <= to : from >= to, "arange: step ", by, " does not lead from ", from, " to ", to);
  if (!is_integral(dtype)) {
    Tensor y = empty({count_steps(start, end, step)}, dtype);
    const bool whole = !start.is_float() && !end.is_float() && !step.is_float();
    if (whole) kernels::arange_integer(y.view(), start.i, step.i);
    else kernels::arange(y.view(), from, by);
    return untracked(std::move(y));
  }
  // As in PyTorch, integers are counted in integers. Truncated fractions affect the length, except for int64.
  const auto integer = [&](Scalar s) {
    if (!s.is_float()) return s.i;
    require(std::abs(s.to_double()) < 0x1p63, "arange: start, end and step must fit ", dtype, ", got ", s.to_double());
    return static_cast<int64_t>(s.to_double());
  };
  const int64_t first = integer(start), increment = integer(step);
  require(increment != 0, "arange: step must not be zero, and as ", dtype, " ", by, " is zero");
  const bool int64 = dtype == DType::Int64;
  const int64_t n = int64 ? count_steps(first, integer(end), increment) : count_steps(start, end, step);
  Tensor y = empty({n}, dtype);
  kernels::arange_integer(y.view(), first, increment);
  return untracked(std::move(y));
}

static Tensor spaced(const char* op, double start, double end, int64_t steps, double base, DType dtype) {
  require(steps >= 0, op, ": steps must not be negative, got ", steps);
  if (dtype == DType::Bool) {
    require<DTypeError>(steps <= 1, op, ": dtype must not be bool for more than one step");
    return full({steps}, (base == 0 ? start : std::pow(base, start)) != 0, dtype);
  }
  if (!is_common(dtype)) return cast(spaced(op, start, end, steps, base, DType::Float64), dtype);
  Tensor y = empty({steps}, dtype);
  if (is_integral(dtype))
    start = std::trunc(start), end = std::trunc(end);  // as PyTorch: the values are between integers
  kernels::linspace(y.view(), start, end, base);
  return untracked(std::move(y));
}
Tensor linspace(double start, double end, int64_t steps, DType dtype) {
  return spaced("linspace", start, end, steps, 0, dtype);
}
Tensor logspace(double start, double end, int64_t steps, double base, DType dtype) {
  require(base != 0, "logspace: base must not be zero");
  return spaced("logspace", start, end, steps, base, dtype);
}

Tensor eye(int64_t n, int64_t m, DType dtype) {
  require(n >= 0 && m >= 0, "eye: n and m must not be negative, got ", n, " and ", m);
  Tensor y = zeros({n, m}, dtype);
  const int64_t k = std::min(n, m);
  if (k > 0) kernels::copy(alias(y, {k}, {m + 1}).view(), Operand(1).view());
  return y;
}

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
  if (!is_differentiable(dtype)) return untracked(std::move(y));
  return record("to", y, inputs(x), save(), [](const Tensor& dy, const Saved&) { return Grads{dy}; });
}

Tensor to_meta(const Tensor& x, DType dtype) {
  Tensor y = empty_like(x, dtype);
  if (!is_floating(dtype)) return untracked(std::move(y));
  return record("to", y, inputs(x), save(), [](const Tensor&, const Saved&) -> Grads { fail_no_data(); });
}

Tensor copy_(const Tensor& x, const Tensor& source) {
  if (source.same(x) && !tracked(x)) return x;
  require<NoDataError>(x.meta() || !source.meta(),
                       "copy_: Cannot copy out of meta tensor; no data! The source has a "
                       "shape but no values; use load_state_dict(assign=True), or copy from a tensor on the CPU");
  const Dims shape = broadcast_shapes("copy_", x.shape(), source.shape());
  require(shape == x.shape(), "copy_: a tensor of shape ", source.shape(), " cannot be copied into one of shape ",
          x.shape());
  const auto write = [&] {
    const WithGradMode off(false);
    // Overlapping memory (x[1:].copy_(x[:-1])) must read everything before it writes.
    const Tensor from = source->storage == x->storage && !source.same(x) ? clone(source) : source;
    kernels::copy(x.view(), from.view());
  };
  return overwrite("copy_", x, {&source}, write, [&](const Tensor& input, const Tensor& y) {
    return record("copy", y, broadcast(replaced(x, input), source), save(), [](const Tensor& dy, const Saved& saved) {
      return Grads{saved.needs(0) ? zeros(dy.shape(), dy.dtype()) : Tensor(), dy};
    });
  });
}

Tensor fill_(const Tensor& x, Scalar value) {
  require_representable("fill_", value, x.dtype());
  return overwrite(
      "fill_", x, {}, [&] { kernels::copy(x.view(), Operand(value).view()); },
      [&](const Tensor& input, const Tensor& y) {
        return record("fill", y, inputs(replaced(x, input)), save(),
                      [](const Tensor& dy, const Saved&) { return Grads{zeros(dy.shape(), dy.dtype())}; });
      },
      Overlap::Filled);
}

Tensor fill_(const Tensor& x, const Tensor& value) {
  require(value.dim() == 0, "fill_: value must be a number or a 0-d tensor, got shape ", value.shape(),
          "; use copy_()");
  return copy_(x, value);
}

Tensor zero_(const Tensor& x) { return fill_(x, 0); }

}  // namespace genesis::ops
