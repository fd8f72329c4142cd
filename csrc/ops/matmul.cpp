// All functions use product(), which multiplies two stacks of matrices, and the rule of matmul_nd.
#include "ops/matmul.h"

#include "autograd/record.h"
#include "kernels/elementwise/arithmetic.h"
#include "kernels/elementwise/convert.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/integer.h"
#include "ops/complex.h"
#include "ops/create.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace genesis::ops {

namespace {

Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }

void require_same_dtype(const char* op, const Tensor& x, const Tensor& y) {
  require<DTypeError>(x.dtype() == y.dtype(), op, ": operands have dtypes ", x.dtype(), " and ", y.dtype(),
                      "; convert one of them, e.g. y.to(x.dtype)");
  require<DTypeError>(x.dtype() != DType::Bool, op, ": bool has no products; use .int() or .float()");
}

// One dimension of a stack of matrices, with the stride of each operand.
struct Batch {
  int64_t size, x, y, z;
};

// The dimensions before the last two, merged where all three operands allow it.
InlineVec<Batch, 4> batches(const Dims& z_shape, const Tensor& x, const Tensor& y, const Tensor& z) {
  InlineVec<Batch, 4> list;
  const int n = z_shape.size() - 2;
  const auto step = [](const Tensor& t, int d, int lead) {
    const int at = d - lead;
    return at < 0 || t.size(at) == 1 ? int64_t{0} : t.stride(at);
  };
  for (int d = 0; d < n; ++d) {
    if (z_shape[d] == 1) continue;
    const Batch b{z_shape[d], step(x, d, z_shape.size() - x.dim()), step(y, d, z_shape.size() - y.dim()), z.stride(d)};
    if (!list.empty()) {
      Batch& last = list.back();
      if (last.x == b.x * b.size && last.y == b.y * b.size && last.z == b.z * b.size) {
        last = {last.size * b.size, b.x, b.y, b.z};
        continue;
      }
    }
    list.push_back(b);
  }
  return list;
}

// T is the storage type, C the type of alpha and beta.
template <class T, class C = T, class Gemm>
void run(const Gemm& gemm, const Tensor& x, const Tensor& y, const Tensor& z, double alpha, double beta) {
  const InlineVec<Batch, 4> list = batches(z.shape(), x, y, z);
  Batch last = list.empty() ? Batch{1, 0, 0, 0} : list.back();
  int64_t rows = z.size(-2), x_row = x.stride(-2), z_row = z.stride(-2);
  // If all matrices of x are multiplied by the same y (as when y is expanded), their rows form one matrix.
  if (last.size > 1 && last.y == 0 && (rows == 1 || (last.x == rows * x_row && last.z == rows * z_row))) {
    if (rows == 1) x_row = last.x, z_row = last.z;
    rows *= last.size;
    last = {1, 0, 0, 0};
  }
  int64_t outer = 1;
  for (int i = 0; i + 1 < list.size(); ++i) outer *= list[i].size;
  for (int64_t o = 0; o < outer; ++o) {
    const T* a = x.address<T>();
    const T* b = y.address<T>();
    T* c = z.address<T>();
    int64_t rest = o;
    for (int i = list.size() - 2; i >= 0; --i) {
      const int64_t at = rest % list[i].size;
      rest /= list[i].size;
      a += at * list[i].x;
      b += at * list[i].y;
      c += at * list[i].z;
    }
    gemm(last.size, rows, z.size(-1), x.size(-1), static_cast<C>(alpha), kernels::GemmMatrix<T>{a, x_row, x.stride(-1)},
         last.x, kernels::GemmMatrix<T>{b, y.stride(-2), y.stride(-1)}, last.y, static_cast<C>(beta), c, z_row,
         z.stride(-1), last.z);
  }
}

// The same for one matrix each: z = alpha * x @ y + beta * addend, where the addend defaults to z.
template <class T, class Gemm>
void one(Gemm& gemm, const Tensor& x, const Tensor& y, const Tensor& z, double alpha, double beta,
         kernels::GemmMatrix<T> addend = {}) {
  gemm(z.size(0), z.size(1), x.size(1), static_cast<T>(alpha), {x.address<T>(), x.stride(0), x.stride(1)},
       {y.address<T>(), y.stride(0), y.stride(1)}, static_cast<T>(beta), addend, z.address<T>(), z.stride(0),
       z.stride(1));
}

void product_into(const Tensor& z, const Tensor& x, const Tensor& y, double alpha = 1, double beta = 0);

// (..., k, n) complex as (..., 2 k, 2 n) real: each row of y is followed by that row times i. A row of complex numbers,
// viewed as twice as many real ones, times this matrix is the complex product.
Tensor with_turned_rows(const Tensor& y) {
  Dims shape = y.shape();
  shape.insert(shape.size() - 1, 2);
  const Tensor both = empty(shape, y.dtype()), rotated = select(both, -2, 1);
  kernels::copy(select(both, -2, 0).view(), y.view());
  kernels::neg(real(rotated).view(), imag(y).view());
  kernels::copy(imag(rotated).view(), real(y).view());
  shape = y.shape();
  shape[shape.size() - 2] *= 2;
  return view_dtype(alias(both, shape, contiguous_strides(shape)), real_type(y.dtype()));
}

// One real product of twice the size if there are enough rows to amortize the copy of y, otherwise four products of the
// parts.
void complex_product_into(const Tensor& z, const Tensor& x, const Tensor& y, double alpha, double beta) {
  constexpr int64_t kManyRows = 16;
  const DType part = real_type(z.dtype());
  const auto in_rows = [](const Tensor& t) { return t.stride(-1) == 1 || t.size(-1) == 1; };
  if (z.size(-2) >= kManyRows && in_rows(z)) {
    const Tensor left = in_rows(x) ? x : contiguous(x);
    return product_into(view_dtype(z, part), view_dtype(left, part), with_turned_rows(y), alpha, beta);
  }
  const Tensor re = real(z), im = imag(z), x_re = real(x), x_im = imag(x), y_re = real(y), y_im = imag(y);
  product_into(re, x_re, y_re, alpha, beta);
  product_into(re, x_im, y_im, -alpha, 1);
  product_into(im, x_re, y_im, alpha, beta);
  product_into(im, x_im, y_re, alpha, 1);
}

// z = alpha * x @ y + beta * z over broadcast stacks, outside any graph. Operands have at least 2 dimensions and
// matching sizes.
void product_into(const Tensor& z, const Tensor& x, const Tensor& y, double alpha, double beta) {
  if (z.numel() == 0) return;
  const WithGradMode off(false);
  switch (z.dtype()) {
    case DType::Float32:
      if (z.dim() == 2) return one<float>(kernels::sgemm, x, y, z, alpha, beta);
      return run<float>(kernels::sgemm_batched, x, y, z, alpha, beta);
    case DType::Float64:
      if (z.dim() == 2) return one<double>(kernels::dgemm, x, y, z, alpha, beta);
      return run<double>(kernels::dgemm_batched, x, y, z, alpha, beta);
    case DType::Float16:
    case DType::BFloat16: {
      const auto gemm = [dtype = z.dtype()](auto... arguments) { kernels::hgemm_batched(dtype, arguments...); };
      return run<uint16_t, float>(gemm, x, y, z, alpha, beta);
    }
    case DType::Complex64:
    case DType::Complex128: return complex_product_into(z, x, y, alpha, beta);
    default: break;
  }
  // Integers, one matrix after another.
  Dims lead(z.shape().begin(), z.shape().end() - 2);
  const auto with_lead = [&](const Tensor& t) {
    Dims shape = lead;
    shape.push_back(t.size(-2));
    shape.push_back(t.size(-1));
    return expand(t, shape);
  };
  const Tensor xs = with_lead(x), ys = with_lead(y);
  for (int64_t i = 0; i < numel(lead); ++i) {
    Tensor a = xs, b = ys, c = alias(z);
    int64_t rest = i;
    Dims at(lead.size());
    for (int d = lead.size() - 1; d >= 0; --d) {
      at[d] = rest % lead[d];
      rest /= lead[d];
    }
    for (int64_t index : at) {
      a = select(a, 0, index);
      b = select(b, 0, index);
      c = select(c, 0, index);
    }
    kernels::integer_gemm(c.view(), a.view(), b.view());
  }
}

// z = alpha * x @ y + beta * input, broadcast to z's shape, outside any graph; z is contiguous.
void product_onto(const Tensor& z, const Tensor& input, const Tensor& x, const Tensor& y, double alpha, double beta) {
  if (z.numel() == 0) return;
  const bool floating = z.dtype() == DType::Float32 || z.dtype() == DType::Float64;
  if (floating && z.dim() == 2 && beta != 0 && input.dim() > 0 && input.size(-1) == z.size(1) &&
      input.stride(-1) == 1) {
    // A vector, or contiguous rows: added by the register tiles.
    const int64_t row = input.dim() == 2 && input.size(0) == z.size(0) ? input.stride(0) : 0;
    if (z.dtype() == DType::Float32) one<float>(kernels::sgemm, x, y, z, alpha, beta, {input.address<float>(), row, 1});
    else one<double>(kernels::dgemm, x, y, z, alpha, beta, {input.address<double>(), row, 1});
    return;
  }
  if (beta != 0) kernels::copy(z.view(), input.view());
  product_into(z, x, y, alpha, beta);
}

// Suggests a transpose if it makes the shapes match, which is the most frequent mistake.
[[noreturn, gnu::cold]] void fail_product(const char* op, const Tensor& x, const Tensor& y) {
  const int inner = y.dim() == 1 ? 0 : y.dim() - 2;
  const bool right = y.dim() > 1 && x.size(-1) == y.size(-1), left = x.dim() > 1 && x.size(-2) == y.size(inner);
  fail(op, ": inner dimensions differ: x is ", x.shape(), ", y is ", y.shape(), "; expected x.shape[-1] == y.shape[",
       y.dim() == 1 ? -1 : -2, "], got ", x.size(-1), " and ", y.size(inner),
       right  ? "; transpose y: x @ y.mT"
       : left ? "; transpose x: x.mT @ y"
              : "; transpose or reshape one of them");
}

Dims product_shape(const char* op, const Tensor& x, const Tensor& y) {
  if (x.size(-1) != y.size(-2)) [[unlikely]]
    fail_product(op, x, y);
  const Dims x_lead(x.shape().begin(), x.shape().end() - 2), y_lead(y.shape().begin(), y.shape().end() - 2);
  Dims shape = broadcast_shapes(op, x_lead, y_lead);
  shape.push_back(x.size(-2));
  shape.push_back(y.size(-1));
  return shape;
}

// x (..., m, k) as one matrix of all its rows.
Tensor rows(const Tensor& x) {
  return x.dim() == 2 ? x : reshape(x, {numel(Dims(x.shape().begin(), x.shape().end() - 1)), x.size(-1)});
}

// Whether the matrices of a stack are stored transposed.
bool is_transposed(const Tensor& x) {
  return x.stride(-2) == 1 && x.stride(-1) >= x.size(-2) && x.size(-1) > 1 && x.size(-2) > 1;
}

Tensor matmul_nd(const Tensor& x, const Tensor& y);
Tensor product_like(bool is_transposed, const Tensor& x, const Tensor& y) {
  return is_transposed ? transposed(matmul_nd(transposed(y), transposed(x))) : matmul_nd(x, y);
}

// For operands with at least 2 dimensions.
Tensor matmul_nd(const Tensor& x, const Tensor& y) {
  if (y.dim() == 2 && x.dim() > 2 && x.size(-1) == y.size(0)) {
    Dims shape = x.shape();
    shape.back() = y.size(1);
    return reshape(matmul_nd(rows(x), y), shape);
  }
  Tensor z = empty(product_shape("matmul", x, y), x.dtype());
  product_into(z, x, y);
  // A gradient gets the layout of its operand, so that the gradient of a transposed matrix is contiguous in the
  // original.
  const auto rule = [tx = is_transposed(x), ty = is_transposed(y)](const Tensor& dz, const Saved& saved) {
    return Grads{saved.needs(0) ? product_like(tx, dz, transposed(conj(saved[1]))) : Tensor(),
                 saved.needs(1) ? product_like(ty, transposed(conj(saved[0])), dz) : Tensor()};
  };
  if (z.dim() == 2) return record("matmul", std::move(z), inputs(x, y), save(x, y), rule);
  return record("matmul", std::move(z), broadcast(x, y), save(x, y), rule);
}

}  // namespace

Tensor matmul(const Tensor& x, const Tensor& y) {
  require(x.dim() > 0 && y.dim() > 0, "matmul: both operands need at least one dimension, got shapes ", x.shape(),
          " and ", y.shape(), "; use * for 0-d tensors");
  require_same_dtype("matmul", x, y);
  if (x.dim() >= 2 && y.dim() >= 2) return matmul_nd(x, y);
  if (x.dim() == 1 && y.dim() == 1) return dot(x, y);
  if (x.size(-1) != y.size(y.dim() == 1 ? 0 : -2)) [[unlikely]]
    fail_product("matmul", x, y);
  if (x.dim() == 1) return squeeze(matmul_nd(unsqueeze(x, 0), y), {-2});
  return squeeze(matmul_nd(x, unsqueeze(y, 1)), {-1});
}

static void require_dims(const char* op, const char* argument, const Tensor& x, int dims) {
  require(x.dim() == dims, op, ": ", argument, " must have ", dims, " dimension", dims == 1 ? "" : "s", ", got shape ",
          x.shape(), "; matmul() takes any");
}

Tensor mm(const Tensor& x, const Tensor& y) {
  require_dims("mm", "input", x, 2);
  require_dims("mm", "mat2", y, 2);
  return matmul(x, y);
}

Tensor bmm(const Tensor& x, const Tensor& y) {
  require_dims("bmm", "input", x, 3);
  require_dims("bmm", "mat2", y, 3);
  require(x.size(0) == y.size(0), "bmm: batch sizes differ: input is ", x.shape(), ", mat2 is ", y.shape());
  return matmul(x, y);
}

Tensor mv(const Tensor& x, const Tensor& v) {
  require_dims("mv", "input", x, 2);
  require_dims("mv", "vec", v, 1);
  return matmul(x, v);
}

Tensor dot(const Tensor& x, const Tensor& y) {
  require_dims("dot", "input", x, 1);
  require_dims("dot", "tensor", y, 1);
  require_same_dtype("dot", x, y);
  require(x.size(0) == y.size(0), "dot: lengths differ: ", x.size(0), " and ", y.size(0));
  Tensor z = empty({1, 1}, x.dtype());
  {
    const WithGradMode off(false);
    product_into(z, unsqueeze(x, 0), unsqueeze(y, 1));
  }
  return record("dot", alias(z, {}, {}), inputs(x, y), save(x, y), [](const Tensor& dz, const Saved& saved) {
    return Grads{saved.needs(0) ? dz * conj(saved[1]) : Tensor(), saved.needs(1) ? dz * conj(saved[0]) : Tensor()};
  });
}

Tensor outer(const Tensor& x, const Tensor& y) {
  require_dims("outer", "input", x, 1);
  require_dims("outer", "vec2", y, 1);
  return mul(unsqueeze(x, 1), unsqueeze(y, 0));
}

Tensor inner(const Tensor& x, const Tensor& y) {
  if (x.dim() == 0 || y.dim() == 0) return mul(x, y);
  require(x.size(-1) == y.size(-1), "inner: last dimensions differ: input is ", x.shape(), ", other is ", y.shape());
  Dims shape(x.shape().begin(), x.shape().end() - 1);
  for (int d = 0; d + 1 < y.dim(); ++d) shape.push_back(y.size(d));
  const auto flat = [](const Tensor& t) { return rows(t.dim() == 1 ? unsqueeze(t, 0) : t); };
  return reshape(matmul(flat(x), transposed(flat(y))), shape);
}

// ---- with an addend -----------------------------------------------------------------------------------------------

static void require_whole(const char* op, DType dtype, Scalar beta, Scalar alpha) {
  require<DTypeError>(is_differentiable(dtype) || (!beta.is_inexact() && !alpha.is_inexact()), op,
                      ": beta and alpha must be integers for ", dtype, " tensors, got ", beta, " and ", alpha,
                      "; convert the tensors with float() first");
}

// beta * input + alpha * x @ y for stacks (or single) matrices.
static Tensor add_product(const char* op, const Tensor& input, const Tensor& x, const Tensor& y, Scalar beta,
                          Scalar alpha) {
  require_same_dtype(op, x, y);
  require<DTypeError>(input.dtype() == x.dtype(), op, ": input is ", input.dtype(), " but the matrices are ", x.dtype(),
                      "; convert it with input.to(", x.dtype(), ")");
  if (!is_floating(x.dtype())) {
    require_whole(op, x.dtype(), beta, alpha);
    return add(mul(input, beta), mul(matmul_nd(x, y), alpha));
  }
  const Dims shape = product_shape(op, x, y);
  require(broadcast_shapes(op, input.shape(), shape) == shape, op, ": input of shape ", input.shape(),
          " does not broadcast to the product's shape ", shape);
  Tensor z = empty(shape, x.dtype());
  const double a = alpha.to_double(), b = beta.to_double();
  product_onto(z, input, x, y, a, b);
  return record(op, std::move(z), broadcast(input, x, y), save(x, y), [a, b](const Tensor& dz, const Saved& saved) {
    return Grads{saved.needs(0) ? mul(dz, b) : Tensor(),
                 saved.needs(1) ? mul(matmul_nd(dz, transposed(saved[1])), a) : Tensor(),
                 saved.needs(2) ? mul(matmul_nd(transposed(saved[0]), dz), a) : Tensor()};
  });
}

Tensor addmm(const Tensor& input, const Tensor& x, const Tensor& y, Scalar beta, Scalar alpha) {
  require_dims("addmm", "mat1", x, 2);
  require_dims("addmm", "mat2", y, 2);
  return add_product("addmm", input, x, y, beta, alpha);
}

Tensor addmv(const Tensor& input, const Tensor& x, const Tensor& v, Scalar beta, Scalar alpha) {
  require_dims("addmv", "mat", x, 2);
  require_dims("addmv", "vec", v, 1);
  const Tensor column = input.dim() == 0 ? input : unsqueeze(input, -1);
  return squeeze(add_product("addmv", column, x, unsqueeze(v, 1), beta, alpha), {-1});
}

Tensor addr(const Tensor& input, const Tensor& x, const Tensor& y, Scalar beta, Scalar alpha) {
  require_dims("addr", "vec1", x, 1);
  require_dims("addr", "vec2", y, 1);
  const DType dtype = result_type({input, x, y});
  require_whole("addr", dtype, beta, alpha);
  // NaN and infinity of an ignored input do not propagate, but its shape is broadcast.
  const Tensor addend = beta.to_bool() ? mul(input, beta) : zeros(input.shape(), dtype);
  return cast(add(addend, mul(outer(x, y), alpha)), dtype);
}

Tensor baddbmm(const Tensor& input, const Tensor& x, const Tensor& y, Scalar beta, Scalar alpha) {
  require_dims("baddbmm", "batch1", x, 3);
  require_dims("baddbmm", "batch2", y, 3);
  require(x.size(0) == y.size(0), "baddbmm: batch sizes differ: batch1 is ", x.shape(), ", batch2 is ", y.shape());
  return add_product("baddbmm", input, x, y, beta, alpha);
}

Tensor addbmm(const Tensor& input, const Tensor& x, const Tensor& y, Scalar beta, Scalar alpha) {
  require_dims("addbmm", "batch1", x, 3);
  require_dims("addbmm", "batch2", y, 3);
  require(x.size(0) == y.size(0), "addbmm: batch sizes differ: batch1 is ", x.shape(), ", batch2 is ", y.shape());
  // The sum over the batch is one longer product.
  const Tensor wide = reshape(permute(x, {1, 0, 2}), {x.size(1), x.size(0) * x.size(2)});
  return add_product("addbmm", input, wide, reshape(y, {y.size(0) * y.size(1), y.size(2)}), beta, alpha);
}

[[noreturn, gnu::cold]] static void fail_features(const Tensor& x, const Tensor& weight) {
  const int64_t features = weight.size(-1);
  int64_t last = 1;
  int from = x.dim();
  while (from > 0 && last < features) last *= x.size(--from);
  const std::string way =
      last == features && from < x.dim() - 1 ? str("flatten it first: input.flatten(", from, "), or nn.Flatten(",
                                                   from == 1 ? "" : str(from), ") before the layer")
      : weight.dim() == 2 && x.size(-1) == weight.size(0)
          ? str("weight is (out_features, in_features): pass weight.t(), or make the layer with in_features=",
                x.size(-1))
          : str("make the layer with in_features=", x.size(-1), ", or reshape the input to (..., ", features, ")");
  fail("linear: weight of shape ", weight.shape(), " takes ", features, " features, but input of shape ", x.shape(),
       " has ", x.size(-1), " in its last dimension; ", way);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require(x.dim() >= 1, "linear: input needs at least one dimension");
  require(weight.dim() == 2 || weight.dim() == 1, "linear: weight must have shape (out_features, in_features), got ",
          weight.shape());
  if (x.size(-1) != weight.size(-1)) [[unlikely]]
    fail_features(x, weight);
  require<DTypeError>(x.dtype() == weight.dtype(), "linear: operands have dtypes ", x.dtype(), " (input) and ",
                      weight.dtype(),
                      " (weight); convert the input: input.to(weight.dtype), or array.astype('float32') "
                      "before it becomes a tensor");
  require_same_dtype("linear", x, weight);
  if (weight.dim() == 1 || !is_floating(x.dtype())) {  // there is no fused product for integers and complex numbers
    Tensor y = matmul(x, weight.dim() == 1 ? weight : transposed(weight));
    return bias.defined() ? add(y, bias) : y;
  }
  Dims shape = x.shape();
  shape.back() = weight.size(0);
  if (bias.defined()) {
    require_same_dtype("linear", x, bias);
    require(bias.dim() <= 1 && (bias.dim() == 0 || bias.size(0) == weight.size(0)), "linear: bias must have shape (",
            weight.size(0), ",), got ", bias.shape());
  }
  Tensor flat;
  {
    const WithGradMode off(false);
    flat = rows(x);
  }
  Tensor z = empty(shape, x.dtype());
  const Tensor out = z.dim() == 2 ? z : alias(z, {flat.size(0), shape.back()}, {shape.back(), 1});
  {
    const WithGradMode off(false);
    if (bias.defined()) product_onto(out, bias, flat, transposed(weight), 1, 1);
    else product_into(out, flat, transposed(weight));
  }
  return record("linear", std::move(z), inputs(x, weight, bias), save(x, weight),
                [bias_dims = bias.defined() ? bias.dim() : 0](const Tensor& dz, const Saved& saved) {
                  Grads grads(3);
                  const Tensor dy = rows(dz);
                  if (saved.needs(0)) {
                    const Tensor weight = saved[1];
                    Dims shape = dz.shape();
                    shape.back() = weight.size(1);
                    grads[0] = reshape(matmul_nd(dy, weight), shape);
                  }
                  if (saved.needs(1)) grads[1] = matmul_nd(transposed(dy), rows(saved[0]));
                  if (saved.needs(2)) grads[2] = bias_dims == 0 ? sum(dy, {}, false) : sum(dy, {0}, false);
                  return grads;
                });
}

}  // namespace genesis::ops
