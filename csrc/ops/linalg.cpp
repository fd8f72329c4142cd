// Solving with LU factors. A rule reuses the factors of the forward pass, so the backward pass of a solve needs no
// factorization.
#include "ops/linalg.h"

#include <cmath>
#include <limits>

#include "autograd/record.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/matmul.h"
#include "ops/matrix.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/select.h"

namespace genesis::ops {

// ---- matrix.h -------------------------------------------------------------------------------------------------------

void require_matrix(const char* op, const char* argument, const Tensor& a, bool square_work) {
  const DType part = real_type(a.dtype());
  require<DTypeError>(part == DType::Float32 || part == DType::Float64, op, ": ", argument,
                      " must be float32, float64 or complex, got ", a.dtype(), "; use ", argument, ".float()");
  require(a.dim() >= 2, op, ": ", argument, " must have at least 2 dimensions, got shape ", a.shape());
  kernels::require_lapack_size(op, a.size(-2), a.size(-1), square_work);
}

void require_square(const char* op, const char* argument, const Tensor& a, bool square_work) {
  require_matrix(op, argument, a, square_work);
  require(a.size(-1) == a.size(-2), op, ": ", argument, " must be square in its last two dimensions, got shape ",
          a.shape());
}

void fail_matrix(const char* op, const Dims& batch, int64_t matrix, const std::string& what) {
  if (batch.empty()) fail<LinAlgError>(op, ": the matrix ", what);
  Dims at(batch.size());
  for (int d = batch.size() - 1; d >= 0; --d) {
    at[d] = matrix % batch[d];
    matrix /= batch[d];
  }
  if (batch.size() == 1) fail<LinAlgError>(op, ": matrix ", at[0], " of the batch ", what);
  fail<LinAlgError>(op, ": matrix ", at, " of the batch ", what);
}

template <class T>
static void fill_triangle(const Tensor& t, double below, double on, double above) {
  T* to = on_meta ? nullptr : t.data<T>();
  for (int64_t i = 0; !on_meta && i < t.size(0); ++i)
    for (int64_t j = 0; j < t.size(1); ++j) *to++ = static_cast<T>(j < i ? below : j == i ? on : above);
}

Tensor triangle(int64_t rows, int64_t cols, double below, double on, double above, DType dtype) {
  if (is_complex(dtype)) return cast(triangle(rows, cols, below, on, above, real_type(dtype)), dtype);
  Tensor t = empty({rows, cols}, dtype);
  if (dtype == DType::Float32) fill_triangle<float>(t, below, on, above);
  else fill_triangle<double>(t, below, on, above);
  return t;
}

Tensor add_defined(const Tensor& x, const Tensor& y) {
  if (!x.defined()) return y;
  return y.defined() ? x + y : x;
}

// ---- LU -------------------------------------------------------------------------------------------------------------

namespace {

constexpr const char* kSingular = "is singular";

struct Factors {
  Tensor lu, pivots;
  kernels::LapackFailure zero_pivot;
};

Factors factorise(const Tensor& a, int* info = nullptr) {
  Factors f{empty(a.shape(), a.dtype()), empty(Dims(a.shape().begin(), a.shape().end() - 1), DType::Int32), {}};
  f.zero_pivot = kernels::lu_factor(a.view(), f.lu.view(), f.pivots.view(), info);
  return f;
}

// Expands both stacks to one batch shape, as views.
Tensor with_batch(const Tensor& x, const Dims& batch, int matrix_dims = 2) {
  Dims shape = batch;
  for (int d = x.dim() - matrix_dims; d < x.dim(); ++d) shape.push_back(x.size(d));
  return shape == x.shape() ? x : expand(x, shape);
}

// Solves a @ x = b, or a.H @ x = b, where lu and pivots are the factors of a.
Tensor solve_factored(const Tensor& a, const Tensor& lu, const Tensor& pivots, const Tensor& b, bool adjoint_a) {
  const Dims batch = broadcast_shapes("linalg.solve", batch_shape(a), batch_shape(b));
  Tensor x = empty(with_sizes(batch, {b.size(-2), b.size(-1)}), b.dtype());
  if (x.numel() > 0) {
    const WithGradMode off(false);
    kernels::lu_solve(with_batch(lu, batch).view(), with_batch(pivots, batch, 1).view(), with_batch(b, batch).view(),
                      x.view(), adjoint_a);
  }
  return record("linalg_solve", x, broadcast(a, b), save(a, lu, pivots, output(x)),
                [adjoint_a](const Tensor& dx, const Saved& saved) {
                  const Tensor db = solve_factored(saved[0], saved[1], saved[2], dx, !adjoint_a);
                  Tensor da;
                  if (saved.needs(0)) {
                    const Tensor x = saved[3];
                    da = -(adjoint_a ? matmul(x, adjoint(db)) : matmul(db, adjoint(x)));
                  }
                  return Grads{da, db};
                });
}

// Reshapes one number per matrix to broadcast with the matrices.
Tensor per_matrix(const Tensor& x) { return unsqueeze(unsqueeze(x, -1), -1); }

}  // namespace

Tensor linalg_solve(const Tensor& a, const Tensor& b, bool left) {
  return linalg_solve_ex("linalg.solve", a, b, left, true).result;
}

WithInfo linalg_solve_ex(const char* op, const Tensor& a, const Tensor& b, bool left, bool check) {
  require_square(op, "A", a);
  require<DTypeError>(a.dtype() == b.dtype(), op, ": A is ", a.dtype(), " but B is ", b.dtype(),
                      "; convert one of them");
  const Dims vector(a.shape().begin(), a.shape().end() - 1);
  const bool is_vector = b.dim() == 1 || (b.dim() == a.dim() - 1 && b.shape() == vector);
  require(left || !is_vector, op, ": a vector B of shape ", b.shape(),
          " needs left=True; use B.unsqueeze(-2) for a row");
  if (!left) {
    require(b.dim() >= 2, op, ": B must be a matrix or a vector, got shape ", b.shape());
    const WithInfo y = linalg_solve_ex(op, transposed(a), transposed(b), true, check);
    return {transposed(y.result), y.info};
  }
  const Tensor rhs = is_vector ? unsqueeze(b, -1) : b;
  require(rhs.dim() >= 2 && rhs.size(-2) == a.size(-1), op, ": A of shape ", a.shape(), " and B of shape ", b.shape(),
          " do not fit; expected A.shape[-1] == B.shape[-2]");
  kernels::require_lapack_size(op, rhs.size(-2), rhs.size(-1), false);
  broadcast_shapes(op, batch_shape(a), batch_shape(rhs));  // before the work, whether or not a is singular
  const Tensor info = empty(batch_shape(a), DType::Int32);
  const Factors f = factorise(a, info.address<int>());
  if (check && f.zero_pivot) fail_matrix(op, batch_shape(a), f.zero_pivot.matrix, kSingular);
  const Tensor x = solve_factored(a, f.lu, f.pivots, rhs, false);
  return {is_vector ? squeeze(x, {-1}) : x, untracked(info)};
}

Tensor linalg_inv(const char* op, const Tensor& a) { return linalg_inv_ex(op, a, true).result; }

WithInfo linalg_inv_ex(const char* op, const Tensor& a, bool check) {
  require_square(op, "A", a);
  Tensor y = empty(a.shape(), a.dtype());
  const Tensor info = empty(batch_shape(a), DType::Int32);
  const auto failure = kernels::inverse(a.view(), y.view(), info.address<int>());
  if (check && failure)
    fail_matrix(op, batch_shape(a), failure.matrix, str(kSingular, "; use linalg.pinv() for a pseudoinverse"));
  y = record("linalg_inv", y, inputs(a), save(output(y)), [](const Tensor& dy, const Saved& saved) {
    const Tensor yt = adjoint(saved[0]);
    return Grads{-matmul(yt, matmul(dy, yt))};
  });
  return {y, untracked(info)};
}

Tensor linalg_tensorinv(const Tensor& a, int64_t rows) {
  const char* op = "linalg.tensorinv";
  require(rows > 0, op, ": ind must be positive, got ", rows);
  Dims shape;
  for (int d = 0; d < a.dim(); ++d) shape.push_back(a.size(static_cast<int>((d + rows) % a.dim())));
  const int first = static_cast<int>(std::min<int64_t>(rows, a.dim()));
  const int64_t m = numel(Dims(a.shape().begin(), a.shape().begin() + first)),
                n = numel(Dims(a.shape().begin() + first, a.shape().end()));
  require(m == n, op, ": A of shape ", a.shape(), " is not square: the product of its first ", rows, " sizes is ", m,
          ", that of the others ", n);
  return reshape(linalg_inv(op, reshape(a, {m, n})), shape);
}

Tensor linalg_tensorsolve(const Tensor& a, const Tensor& b, const Dims& dims) {
  const char* op = "linalg.tensorsolve";
  Dims last;
  for (int i = 0; i < dims.size(); ++i) last.push_back(a.dim() - dims.size() + i);
  const Tensor moved = dims.empty() ? a : movedim(a, dims, last);
  require(moved.dim() >= b.dim(), op, ": A of shape ", a.shape(), " has fewer dimensions than B of shape ", b.shape());
  const Dims shape(moved.shape().begin() + b.dim(), moved.shape().end());
  require(numel(shape) == b.numel() && moved.numel() == b.numel() * b.numel(), op, ": A of shape ", a.shape(),
          " and B of shape ", b.shape(), " do not fit; expected prod(A.shape[B.ndim:]) == B.numel()");
  const Tensor x =
      linalg_solve_ex(op, reshape(moved, {b.numel(), b.numel()}), reshape(b, {b.numel()}), true, true).result;
  return reshape(x, shape);
}

// ---- determinants ---------------------------------------------------------------------------------------------------

namespace {

// The products of all but one of the singular values (..., k), and of all but two (..., k, k), zero on the diagonal.
template <class T>
void products_without(const Tensor& s, const Tensor& one, const Tensor& two) {
  const int64_t k = s.size(-1);
  for (int64_t b = 0; !on_meta && b < numel(Dims(s.shape().begin(), s.shape().end() - 1)); ++b) {
    const T* from = s.data<T>() + b * k;
    for (int64_t i = 0; i < k; ++i) {
      T rest = 1;
      for (int64_t l = 0; l < k; ++l) rest *= l == i ? T(1) : from[l];
      one.data<T>()[b * k + i] = rest;
      for (int64_t j = 0; two.defined() && j < k; ++j) {
        T both = i != j;
        for (int64_t l = 0; l < k && i != j; ++l) both *= l == i || l == j ? T(1) : from[l];
        two.data<T>()[(b * k + i) * k + j] = both;
      }
    }
  }
}

struct Products {
  Tensor one, two;
};
Products products_without(const Tensor& s, bool pairs) {
  Products p{empty(s.shape(), s.dtype()), pairs ? empty(with_sizes(s.shape(), {s.size(-1)}), s.dtype()) : Tensor()};
  if (s.dtype() == DType::Float32) products_without<float>(s, p.one, p.two);
  else products_without<double>(s, p.one, p.two);
  return p;
}

// The gradient of the determinant: conj(det(a)) * inv(a).H. It exists for singular matrices too, where that product
// does not: with a = u diag(s) vh it is u diag(products of the other s) vh, times the sign of u and vh.
Tensor cofactor(const Tensor& a_in) {
  if (is_complex(a_in.dtype()) && tracked(a_in))  // for invertible matrices only
    return conj(per_matrix(linalg_det("linalg.det", a_in)) * transposed(linalg_inv("linalg.det", a_in)));
  Tensor c;
  {
    const WithGradMode off(false);
    const Tensor finite = all(isfinite(a_in), {-2, -1}, true);
    const bool regular = on_meta || *all(finite, {}, false).data<bool>();
    const Tensor a = regular ? a_in : where(finite, a_in, identity(a_in.size(-1), a_in.dtype()));
    const Factors f = factorise(a);
    if (kernels::lu_pivot_ratio(f.lu.view()) > 1e-4) {
      const Tensor det = empty(batch_shape(a), a.dtype());
      kernels::lu_determinant(f.lu.view(), f.pivots.view(), det.view(), View{});
      c = solve_factored(a, f.lu, f.pivots, identity(a.size(-1), a.dtype()), true) * per_matrix(conj(det));
    } else {
      const SVD f = linalg_svd(a, false);
      const Tensor sign = conj(linalg_det("linalg.det", f.u) * linalg_det("linalg.det", f.vh));
      c = matmul(f.u, unsqueeze(products_without(f.s, false).one, -1) * f.vh) * per_matrix(sign);
    }
    if (!regular) c = where(finite, c, std::numeric_limits<double>::quiet_NaN());
  }
  return record("linalg_cofactor", c, inputs(a_in), save(a_in), [](const Tensor& dc, const Saved& saved) {
    const Tensor a = saved[0];
    if (grad_mode.enabled) {  // for third derivatives: differentiable, but for invertible matrices only
      const Tensor y = adjoint(linalg_inv("linalg.det", a)), det = per_matrix(linalg_det("linalg.det", a));
      return Grads{det * (sum(dc * y, {-2, -1}, true) * y - matmul(y, matmul(adjoint(dc), y)))};
    }
    if (!on_meta && !*all(isfinite(a), {}, false).data<bool>())
      return Grads{a * std::numeric_limits<double>::quiet_NaN()};
    // In the basis of the singular vectors, where a is diagonal.
    const SVD f = linalg_svd(a, false);
    const Tensor sign = linalg_det("linalg.det", f.u) * linalg_det("linalg.det", f.vh);
    const Tensor inner = matmul(adjoint(f.u), matmul(dc, adjoint(f.vh)));
    const Tensor pairs = products_without(f.s, true).two;
    const Tensor eye = identity(a.size(-1), a.dtype());
    const Tensor diagonal = matmul(pairs, sum(inner * eye, {-1}, true)) * eye;
    return Grads{matmul(f.u, matmul(diagonal - adjoint(pairs * inner), f.vh)) * per_matrix(sign)};
  });
}

}  // namespace

Tensor linalg_det(const char* op, const Tensor& a) {
  require_square(op, "A", a);
  const Factors f = factorise(a);
  Tensor det = empty(batch_shape(a), a.dtype());
  kernels::lu_determinant(f.lu.view(), f.pivots.view(), det.view(), View{});
  return record("linalg_det", det, inputs(a), save(a),
                [](const Tensor& d, const Saved& saved) { return Grads{per_matrix(d) * cofactor(saved[0])}; });
}

// The sign of a complex determinant changes with its phase.
static SignAndLog complex_slogdet(const char* op, const Tensor& a, const Factors& f, Tensor sign, Tensor log) {
  const Tensor outputs[] = {sign, log};
  record_outputs("linalg_slogdet", outputs, inputs(a), save(a, f.lu, f.pivots, output(sign, 0)),
                 [op, batch = batch_shape(a), singular = f.zero_pivot.matrix](const Grads& d, const Saved& saved) {
                   if (singular >= 0)
                     fail_matrix(op, batch, singular, "is singular: the logarithm of its determinant has no gradient");
                   const Tensor a = saved[0];
                   Tensor factor;
                   if (d[1].defined()) factor = cast(d[1], a.dtype());
                   if (d[0].defined())
                     factor = add_defined(factor, mul(imag(conj(d[0]) * saved[3]), std::complex<double>(0, -1)));
                   const Tensor eye = identity(a.size(-1), a.dtype());
                   return Grads{per_matrix(factor) * solve_factored(a, saved[1], saved[2], eye, true)};
                 });
  return {sign, log};
}

SignAndLog linalg_slogdet(const char* op, const Tensor& a) {
  require_square(op, "A", a);
  const Factors f = factorise(a);
  const Dims batch = batch_shape(a);
  Tensor sign = empty(batch, a.dtype()), log = empty(batch, real_type(a.dtype()));
  kernels::lu_determinant(f.lu.view(), f.pivots.view(), sign.view(), log.view());
  if (is_complex(a.dtype())) return complex_slogdet(op, a, f, sign, log);
  log = record(
      "linalg_slogdet", log, inputs(a), save(a, f.lu, f.pivots),
      [op, batch, singular = f.zero_pivot.matrix](const Tensor& d, const Saved& saved) {
        if (singular >= 0)
          fail_matrix(op, batch, singular, "is singular: the logarithm of its determinant has no gradient");
        const Tensor a = saved[0];
        return Grads{per_matrix(d) * solve_factored(a, saved[1], saved[2], identity(a.size(-1), a.dtype()), true)};
      });
  return {untracked(sign), log};
}

Tensor linalg_matrix_power(const char* op, const Tensor& a, int64_t n) {
  require_square(op, "A", a);
  if (n == 0) {
    const Tensor eye = identity(a.size(-1), a.dtype());
    return untracked(contiguous(expand(eye, a.shape())));
  }
  require(n > -(int64_t{1} << 62), op, ": n is out of range: ", n);
  Tensor square = n < 0 ? linalg_inv(op, a) : a, result;
  for (int64_t left = n < 0 ? -n : n;;) {
    if (left & 1) result = result.defined() ? matmul(result, square) : square;
    left >>= 1;
    if (left == 0) break;
    square = matmul(square, square);
  }
  return result.same(a) ? clone(a) : result;
}

// ---- triangles ------------------------------------------------------------------------------------------------------

// Solves a @ x = b for a triangle of a; stacks broadcast.
static Tensor solve_triangle(const Tensor& a, const Tensor& b, bool upper, bool unit) {
  const char* op = "linalg.solve_triangular";
  const Dims batch = broadcast_shapes(op, batch_shape(a), batch_shape(b));
  Tensor x = empty(with_sizes(batch, {b.size(-2), b.size(-1)}), b.dtype());
  if (x.numel() > 0) {
    const WithGradMode off(false);
    kernels::solve_triangular(with_batch(a, batch).view(), with_batch(b, batch).view(), x.view(), upper, unit);
  }
  return record("linalg_solve_triangular", x, broadcast(a, b), save(a, output(x)),
                [upper, unit](const Tensor& dx, const Saved& saved) {
                  const Tensor a = saved[0], db = solve_triangle(adjoint(a), dx, !upper, unit);
                  Tensor da;
                  if (saved.needs(0)) {
                    const double on = unit ? 0 : -1;
                    da = matmul(db, adjoint(saved[1])) *
                         triangle(a.size(-2), a.size(-1), upper ? 0 : -1, on, upper ? -1 : 0, a.dtype());
                  }
                  return Grads{da, db};
                });
}

Tensor linalg_solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left, bool unitriangular) {
  const char* op = "linalg.solve_triangular";
  require_square(op, "A", a);
  require_matrix(op, "B", b);
  require<DTypeError>(a.dtype() == b.dtype(), op, ": A is ", a.dtype(), " but B is ", b.dtype(),
                      "; convert one of them");
  require(b.size(left ? -2 : -1) == a.size(-1), op, ": A of shape ", a.shape(), " and B of shape ", b.shape(),
          " do not fit; expected A.shape[-1] == B.shape[", left ? -2 : -1, "]");
  if (left) return solve_triangle(a, b, upper, unitriangular);
  return transposed(solve_triangle(transposed(a), transposed(b), !upper, unitriangular));
}

static WithInfo cholesky_lower(const char* op, const Tensor& a, bool check) {
  Tensor l = empty(a.shape(), a.dtype());
  const Tensor info = empty(batch_shape(a), DType::Int32);
  const auto failure = kernels::cholesky(a.view(), l.view(), info.address<int>());
  if (check && failure)
    fail_matrix(op, batch_shape(a), failure.matrix,
                str("is not positive definite: its leading minor of order ", failure.info, " is not positive"));
  l = record("linalg_cholesky", l, inputs(a), save(output(l)), [](const Tensor& dl, const Saved& saved) {
    const Tensor l = saved[0], lt = adjoint(l);
    // The symmetric s whose triangle is half that of l.T @ dl; then inv(l).T @ s @ inv(l).
    const Tensor half = matmul(lt, dl) * triangle(l.size(-1), l.size(-1), 0.5, 0.25, 0, l.dtype());
    const Tensor s = half + adjoint(half);
    return Grads{solve_triangle(lt, adjoint(solve_triangle(lt, s, true, false)), true, false)};
  });
  return {l, untracked(info)};
}

WithInfo linalg_cholesky_ex(const char* op, const Tensor& a, bool upper, bool check) {
  require_square(op, "A", a);
  if (!upper) return cholesky_lower(op, a, check);
  const WithInfo y = cholesky_lower(op, adjoint(a), check);
  return {adjoint(y.result), y.info};
}

Tensor linalg_cholesky(const Tensor& a, bool upper) {
  return linalg_cholesky_ex("linalg.cholesky", a, upper, true).result;
}

Tensor cholesky_solve(const Tensor& b, const Tensor& factor, bool upper) {
  const char* op = "cholesky_solve";
  require_square(op, "L", factor);
  require_matrix(op, "B", b);
  require<DTypeError>(factor.dtype() == b.dtype(), op, ": L is ", factor.dtype(), " but B is ", b.dtype(),
                      "; convert one of them");
  require(b.size(-2) == factor.size(-1), op, ": L of shape ", factor.shape(), " and B of shape ", b.shape(),
          " do not fit; expected L.shape[-1] == B.shape[-2]");
  const Tensor l = upper ? adjoint(factor) : factor;
  return solve_triangle(adjoint(l), solve_triangle(l, b, false, false), true, false);
}

Tensor cholesky_inverse(const Tensor& factor, bool upper) {
  require_square("cholesky_inverse", "L", factor);
  return cholesky_solve(identity(factor.size(-1), factor.dtype()), factor, upper);
}

}  // namespace genesis::ops
