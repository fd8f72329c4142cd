#include "ops/compare.h"

#include <cstring>

#include "kernels/elementwise/compare.h"
#include "ops/complex.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/pointwise.h"

namespace genesis::ops {

// A number is compared after conversion to the common dtype: half(0.1) == 0.1. Integers are compared without wrapping,
// in int64 if the number does not fit: x < 2**40 is true for every int32.
static Scalar as_compared(Scalar s, DType& dtype) {
  if (dtype == DType::Float16) return static_cast<double>(to_float(to_half(static_cast<float>(s.to_double()))));
  if (dtype == DType::BFloat16) return static_cast<double>(to_float(to_bfloat16(static_cast<float>(s.to_double()))));
  if (is_integral(dtype) && dtype != DType::Int64)
    dtype = s.i == static_cast<int32_t>(s.i) ? DType::Int32 : DType::Int64;
  return s;
}

static Tensor compare(const char* op, const kernels::Compare& kernel, const Operand& x, const Operand& y, Out out) {
  DType dtype = common_type(x, y);
  if (is_complex(dtype)) refuse_complex(op, dtype);  // they have no order
  const Operand a = x.is_scalar() ? Operand(as_compared(x.scalar, dtype)) : x;
  const Operand b = y.is_scalar() ? Operand(as_compared(y.scalar, dtype)) : y;
  return untracked(zip(op, [&](View z, View a, View b) { kernel(z, a, b, dtype); }, a, b, DType::Bool, out));
}

// The real or imaginary part of an operand in the complex type `dtype`.
static Tensor part(const Operand& x, DType dtype, bool imaginary) {
  if (!x.tensor) {
    const std::complex<double> z = x.scalar.to_complex();
    return scalar_tensor(imaginary ? z.imag() : z.real(), real_type(dtype));
  }
  const Tensor t = cast(*x.tensor, dtype);
  return imaginary ? imag(t) : real(t);
}
static bool complex_operands(const Operand& x, const Operand& y) { return is_complex(common_type(x, y)); }

Tensor eq(const Operand& x, const Operand& y, Out out) {
  if (complex_operands(x, y)) {
    const WithGradMode off(false);
    const DType t = common_type(x, y);
    return logical_and(eq(part(x, t, false), part(y, t, false)), eq(part(x, t, true), part(y, t, true)), out);
  }
  return compare("eq", kernels::eq, x, y, out);
}
Tensor ne(const Operand& x, const Operand& y, Out out) {
  if (complex_operands(x, y)) return logical_not(eq(x, y), out);
  return compare("ne", kernels::ne, x, y, out);
}
Tensor lt(const Operand& x, const Operand& y, Out out) { return compare("lt", kernels::lt, x, y, out); }
Tensor le(const Operand& x, const Operand& y, Out out) { return compare("le", kernels::le, x, y, out); }
Tensor gt(const Operand& x, const Operand& y, Out out) { return compare("gt", kernels::gt, x, y, out); }
Tensor ge(const Operand& x, const Operand& y, Out out) { return compare("ge", kernels::ge, x, y, out); }

Tensor logical_and(const Operand& x, const Operand& y, Out out) {
  return untracked(zip("logical_and", kernels::logical_and, x, y, DType::Bool, out));
}
Tensor logical_or(const Operand& x, const Operand& y, Out out) {
  return untracked(zip("logical_or", kernels::logical_or, x, y, DType::Bool, out));
}
Tensor logical_xor(const Operand& x, const Operand& y, Out out) {
  return untracked(zip("logical_xor", kernels::logical_xor, x, y, DType::Bool, out));
}
Tensor logical_not(const Tensor& x, Out out) {
  if (is_complex(x.dtype())) return eq(x, 0, out);
  return untracked(map("logical_not", kernels::logical_not, x, DType::Bool, out));
}

Tensor isnan(const Tensor& x) {
  if (is_complex(x.dtype())) return logical_or(isnan(real(x)), isnan(imag(x)));
  return untracked(map("isnan", kernels::isnan, x, DType::Bool, {}));
}
Tensor isinf(const Tensor& x) {
  if (is_complex(x.dtype())) return logical_or(isinf(real(x)), isinf(imag(x)));
  return untracked(map("isinf", kernels::isinf, x, DType::Bool, {}));
}
Tensor isfinite(const Tensor& x) {
  if (is_complex(x.dtype())) return logical_and(isfinite(real(x)), isfinite(imag(x)));
  return untracked(map("isfinite", kernels::isfinite, x, DType::Bool, {}));
}

Tensor isposinf(const Tensor& x, Out out) { return untracked(map("isposinf", kernels::isposinf, x, DType::Bool, out)); }
Tensor isneginf(const Tensor& x, Out out) { return untracked(map("isneginf", kernels::isneginf, x, DType::Bool, out)); }
Tensor signbit(const Tensor& x, Out out) { return untracked(map("signbit", kernels::signbit, x, DType::Bool, out)); }

Tensor isclose(const Tensor& x, const Tensor& y, double rtol, double atol, bool equal_nan) {
  require(rtol >= 0 && atol >= 0, "isclose: rtol and atol must not be negative, got ", rtol, " and ", atol);
  const DType common = common_type(x, y);
  if (is_complex(common)) {  // by the distance relative to the magnitude of y
    const WithGradMode off(false);
    const Tensor a = cast(x, common), b = cast(y, common);
    Tensor close = logical_or(eq(a, b), logical_and(isfinite(b), le(abs(a - b), add(mul(abs(b), rtol), atol))));
    return equal_nan ? logical_or(close, logical_and(isnan(a), isnan(b))) : close;
  }
  const DType in = is_floating(common) ? common : DType::Float64;
  const auto kernel = [&](View z, View a, View b) { kernels::isclose(z, a, b, in, rtol, atol, equal_nan); };
  return untracked(zip("isclose", kernel, x, y, DType::Bool, {}));
}

// Whether a contiguous bool tensor of our own contains no false.
static bool all_true(const Tensor& x) {
  return std::memchr(x.data<char>(), 0, static_cast<size_t>(x.numel())) == nullptr;
}

bool allclose(const Tensor& x, const Tensor& y, double rtol, double atol, bool equal_nan) {
  return all_true(isclose(x, y, rtol, atol, equal_nan));
}

bool equal(const Tensor& x, const Tensor& y) { return x.shape() == y.shape() && all_true(eq(x, y)); }

}  // namespace genesis::ops
