#include "ops/complex.h"

#include <cstring>
#include <numbers>

#include "kernels/complex/complex.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/pointwise.h"
#include "ops/select.h"
#include "ops/shape.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace genesis::ops {

// ---- kernels by the name of the operator ------------------------------------------------------------------------

namespace {

template <class Kernel>
struct Named {
  const char* op;
  const Kernel* kernel;
};

constexpr Named<kernels::Unary> kUnary[] = {
    {"neg", &kernels::complex_neg},
    {"square", &kernels::complex_square},
    {"reciprocal", &kernels::complex_reciprocal},
    {"conj", &kernels::complex_conj},
    {"sgn", &kernels::complex_sgn},
    {"exp", &kernels::complex_exp},
    {"exp2", &kernels::complex_exp2},
    {"expm1", &kernels::complex_expm1},
    {"log", &kernels::complex_log},
    {"log2", &kernels::complex_log2},
    {"log10", &kernels::complex_log10},
    {"log1p", &kernels::complex_log1p},
    {"sqrt", &kernels::complex_sqrt},
    {"rsqrt", &kernels::complex_rsqrt},
    {"sigmoid", &kernels::complex_sigmoid},
    {"sin", &kernels::complex_sin},
    {"cos", &kernels::complex_cos},
    {"tan", &kernels::complex_tan},
    {"asin", &kernels::complex_asin},
    {"acos", &kernels::complex_acos},
    {"atan", &kernels::complex_atan},
    {"sinh", &kernels::complex_sinh},
    {"cosh", &kernels::complex_cosh},
    {"tanh", &kernels::complex_tanh},
    {"asinh", &kernels::complex_asinh},
    {"acosh", &kernels::complex_acosh},
    {"atanh", &kernels::complex_atanh},
};
constexpr Named<kernels::Binary> kBinary[] = {
    {"add", &kernels::complex_add}, {"sub", &kernels::complex_sub}, {"mul", &kernels::complex_mul},
    {"div", &kernels::complex_div}, {"pow", &kernels::complex_pow},
};

template <class Kernel, size_t N>
const Kernel& find(const Named<Kernel> (&table)[N], const char* op, DType dtype) {
  for (const Named<Kernel>& row : table)
    if (std::strcmp(row.op, op) == 0) return *row.kernel;
  refuse_complex(op, dtype);
}

}  // namespace

void complex_map(const char* op, View y, View x) { find(kUnary, op, y.dtype)(y, x); }
void complex_zip(const char* op, View z, View x, View y) { find(kBinary, op, z.dtype)(z, x, y); }
void refuse_complex(const char* op, DType dtype) {
  fail<DTypeError>(op, ": not defined for complex numbers, got ", dtype, "; apply it to x.real or x.imag");
}

// ---- parts ----------------------------------------------------------------------------------------------------------

// Reinterprets the memory of x with another dtype.
static Tensor reinterpret(const Tensor& x, DType dtype, const Dims& shape, const Dims& strides) {
  TensorImpl* impl = TensorImpl::create(x->storage, x->data, dtype);
  Tensor y = Tensor::adopt(impl);
  impl->shape = shape;
  impl->strides = strides;
  impl->geometry_changed();
  impl->inference = x->inference;
  return y;
}
Tensor view_as_real(const Tensor& x) {
  require<DTypeError>(is_complex(x.dtype()), "view_as_real: the tensor must be complex, got ", x.dtype());
  Dims shape = x.shape(), strides = x.strides();
  for (int d = 0; d < strides.size(); ++d) strides[d] *= 2;
  shape.push_back(2);
  strides.push_back(1);
  Tensor y = reinterpret(x, real_type(x.dtype()), shape, strides);
  link_view(y, x);
  return record("view_as_real", std::move(y), inputs(x), save(),
                [](const Tensor& dy, const Saved&) { return Grads{complex_of_pairs(contiguous(dy))}; });
}

// If nothing else refers to x, the result is a plain tensor, not a view.
static Tensor pairs_as_complex(const Tensor& x, bool view) {
  require<DTypeError>(x.dtype() == DType::Float32 || x.dtype() == DType::Float64,
                      "view_as_complex: the tensor must be float32 or float64, got ", x.dtype());
  require(x.dim() > 0 && x.size(-1) == 2, "view_as_complex: the last dimension must have size 2, got shape ",
          x.shape());
  bool even = x.stride(-1) == 1 && x.offset() % 2 == 0;
  Dims shape = x.shape(), strides = x.strides();
  shape.resize(x.dim() - 1);
  strides.resize(x.dim() - 1);
  for (int d = 0; d < shape.size(); ++d) {
    even = even && (strides[d] % 2 == 0 || shape[d] <= 1);
    strides[d] /= 2;
  }
  require(even || x.numel() == 0,
          "view_as_complex: pairs must be adjacent in memory, at even offsets, but the strides are ", x.strides(),
          " and the offset is ", x.offset(), "; use contiguous()");
  Tensor y = reinterpret(x, complex_type(x.dtype()), shape, strides);
  if (view) link_view(y, x);
  return record("view_as_complex", std::move(y), inputs(x), save(),
                [](const Tensor& dy, const Saved&) { return Grads{view_as_real(dy)}; });
}
Tensor complex_of_pairs(const Tensor& x) { return pairs_as_complex(x, false); }
Tensor view_as_complex(const Tensor& x) { return pairs_as_complex(x, true); }

Tensor part_of(const Tensor& base, const Geometry& whole, const Geometry& part, DType dtype) {
  if (is_complex(base.dtype()) == is_complex(dtype))
    return as_strided(base, part.shape, part.strides, part.offset - whole.offset);
  if (is_complex(base.dtype()))
    return as_strided(view_as_real(base), part.shape, part.strides, part.offset - 2 * whole.offset);
  Dims shape = part.shape, strides = part.strides;
  for (int d = 0; d < strides.size(); ++d) strides[d] *= 2;
  shape.push_back(2);
  strides.push_back(1);
  return view_as_complex(as_strided(base, shape, strides, 2 * part.offset - whole.offset));
}

Tensor real(const Tensor& x) { return is_complex(x.dtype()) ? select(view_as_real(x), -1, 0) : x; }
Tensor imag(const Tensor& x) {
  require<DTypeError>(is_complex(x.dtype()), "imag: only complex tensors have an imaginary part, got ", x.dtype());
  return select(view_as_real(x), -1, 1);
}

// ---- functions ------------------------------------------------------------------------------------------------------

Tensor conj_physical(const Tensor& x, Out out) {
  if (!is_complex(x.dtype())) return deliver("conj", x, out);
  Tensor y = map("conj", kernels::neg, x, x.dtype(), out);
  return record("conj", std::move(y), inputs(x), save(),
                [](const Tensor& dy, const Saved&) { return Grads{conj(dy)}; });
}

Tensor angle(const Tensor& x, Out out) {
  if (!is_complex(x.dtype())) {
    const DType dtype = floating_type(x.dtype());
    const Tensor number = cast(x, dtype);
    // number * 0 is NaN too, and its gradient is 0.
    const Tensor y = where(isnan(number), mul(number, 0), where(lt(number, 0), std::numbers::pi, zeros_like(number)));
    return deliver("angle", y, out);
  }
  const DType dtype = real_type(x.dtype());
  Tensor y = destination("angle", x.shape(), dtype, out);
  kernels::complex_angle(y.view(), Source(x, y));
  y = deliver("angle", std::move(y), out);
  return record("angle", std::move(y), inputs(x), save(x), [](const Tensor& dy, const Saved& saved) {
    const Tensor z = saved[0];
    const Tensor none = eq(z, 0), safe = where(none, 1.0, z);
    // i z / |z|^2 = i / conj(z), and 0 at the origin, where the angle has no derivative.
    return Grads{where(none, 0.0, mul(dy, std::complex<double>(0, 1)) / conj(safe))};
  });
}

Tensor sgn(const Tensor& x, Out out) {
  if (!is_complex(x.dtype())) return sign(x, out);
  Tensor y = map("sgn", kernels::sign, x, x.dtype(), out);
  return record("sgn", y, inputs(x), save(x, output(y)), [](const Tensor& dy, const Saved& saved) {
    const Tensor size = abs(saved[0]), y = saved[1];
    const Tensor none = eq(size, 0);
    // Only the component orthogonal to y changes it.
    const Tensor across = dy - y * real(conj(y) * dy);
    return Grads{where(none, 0.0, across / where(none, 1.0, size))};
  });
}

Tensor complex(const Tensor& re, const Tensor& im, Out out) {
  require<DTypeError>(re.dtype() == im.dtype() && (re.dtype() == DType::Float32 || re.dtype() == DType::Float64),
                      "complex: real and imag must both be float32 or both float64, got ", re.dtype(), " and ",
                      im.dtype());
  const Tensor parts[] = {re, im};
  const std::vector<Tensor> same = broadcast_tensors(parts);
  return deliver("complex", complex_of_pairs(stack(same, -1)), out);
}

Tensor polar(const Tensor& size, const Tensor& angle, Out out) {
  require<DTypeError>(
      size.dtype() == angle.dtype() && (size.dtype() == DType::Float32 || size.dtype() == DType::Float64),
      "polar: abs and angle must both be float32 or both float64, got ", size.dtype(), " and ", angle.dtype());
  return complex(size * cos(angle), size * sin(angle), out);
}

Tensor isreal(const Tensor& x) {
  if (is_complex(x.dtype())) return eq(imag(x), 0);
  return full(x.shape(), true, DType::Bool);
}

}  // namespace genesis::ops
