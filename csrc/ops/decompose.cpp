// QR, eigenvalues of symmetric matrices, singular values. The rules are valid for functions that do not depend on the
// ambiguities of a decomposition (signs of vectors, bases of eigenspaces).
#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/record.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/extreme.h"
#include "ops/linalg.h"
#include "ops/matmul.h"
#include "ops/matrix.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/select.h"
#include "ops/shape.h"

namespace genesis::ops {

namespace {

void check(const char* op, const Tensor& a, const kernels::LapackFailure& failure) {
  if (!failure) return;
  fail_matrix(op, batch_shape(a), failure.matrix,
              failure.info == kernels::LapackFailure::kNotFinite ? "has inf or nan"
                                                                 : str("did not converge (info ", failure.info, ")"));
}

// Multiplies m by diag(x) from the left or right.
Tensor scale_rows(const Tensor& x, const Tensor& m) { return unsqueeze(x, -1) * m; }
Tensor scale_cols(const Tensor& m, const Tensor& x) { return m * unsqueeze(x, -2); }

Tensor first_cols(const Tensor& x, int64_t n) { return slice(x, -1, 0, n, 1); }
Tensor first_rows(const Tensor& x, int64_t n) { return slice(x, -2, 0, n, 1); }

// The gradient of the first k columns of a full basis. The others are arbitrary vectors that complete it: a function
// that depends on them has no gradient.
Tensor of_first_cols(const char* op, const char* way_out, const Tensor& d, int64_t k) {
  if (!d.defined() || d.size(-1) == k) return d;
  bool unused;
  {
    const WithGradMode off(false);
    unused = on_meta || !*any(slice(d, -1, k, d.size(-1), 1), {}, false).data<bool>();
  }
  require<GraphError>(unused, op, ": vectors past the first ", k, " are arbitrary and have no gradient; use ", way_out);
  return first_cols(d, k);
}

}  // namespace

// ---- QR -------------------------------------------------------------------------------------------------------------

// The gradient of a (m, n), m >= n, from those of its q and r.
static Tensor qr_backward(const Tensor& q, const Tensor& r, const Tensor& dq, const Tensor& dr) {
  Tensor m;
  if (dr.defined()) m = matmul(r, adjoint(dr));
  if (dq.defined()) m = m.defined() ? m - matmul(adjoint(dq), q) : -matmul(adjoint(dq), q);
  // The symmetric matrix with m's lower triangle.
  const Tensor half = m * triangle(m.size(-1), m.size(-1), 1, 0.5, 0, m.dtype());
  const Tensor x = add_defined(matmul(q, half + adjoint(half)), dq);
  return adjoint(linalg_solve_triangular(r, adjoint(x), true, true, false));  // x @ inv(r).T
}

QR linalg_qr(const Tensor& a, QrMode mode) {
  require_matrix("linalg.qr", "A", a);
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n), inner = mode == QrMode::Complete ? m : k;
  const Dims batch = batch_shape(a);
  Tensor q = empty(with_sizes(batch, {m, inner}), a.dtype()), r = empty(with_sizes(batch, {inner, n}), a.dtype());
  kernels::qr(a.view(), q.view(), r.view());
  const Tensor outputs[] = {q, r};
  record_outputs(
      "linalg_qr", outputs, inputs(a), save(a, output(q, 0), output(r, 1)), [k](const Grads& d, const Saved& saved) {
        const Tensor a = saved[0], q = first_cols(saved[1], k), r = first_rows(saved[2], k);
        const Tensor dq = of_first_cols("linalg.qr", "mode='reduced'", d[0], k);
        const Tensor dr = d[1].defined() ? first_rows(d[1], k) : Tensor();  // rows past k are always zeros
        const int64_t m = a.size(-2), n = a.size(-1);
        if (m >= n) return Grads{qr_backward(q, r, dq, dr)};
        // The columns past the square part are q @ r's, with r = q.T @ a there: they contribute to the gradient of q.
        const Tensor rest = slice(a, -1, m, n, 1), dr_rest = dr.defined() ? slice(dr, -1, m, n, 1) : Tensor();
        const Tensor dq_all = dr.defined() ? add_defined(matmul(rest, adjoint(dr_rest)), dq) : dq;
        const Tensor left = qr_backward(q, first_cols(r, m), dq_all, dr.defined() ? first_cols(dr, m) : Tensor());
        const Tensor right = dr.defined() ? matmul(q, dr_rest) : zeros(rest.shape(), rest.dtype());
        const Tensor both[] = {left, right};
        return Grads{cat(both, -1)};
      });
  if (mode == QrMode::ROnly) q = untracked(empty({0}, a.dtype()));
  return {q, r};
}

Reflections geqrf(const Tensor& a) {
  require_matrix("geqrf", "input", a);
  const int64_t m = a.size(-2), n = a.size(-1);
  Tensor factors = empty(a.shape(), a.dtype()), tau = empty(with_sizes(batch_shape(a), {std::min(m, n)}), a.dtype());
  kernels::reflections(a.view(), factors.view(), tau.view());
  return {untracked(factors), untracked(tau)};
}

// H_1 ... H_k = I - V T V^T with an upper triangular T, inv(T) = inv(diag(tau)) + the part of V^T V above its diagonal.
Tensor linalg_householder_product(const char* op, const Tensor& a, const Tensor& tau) {
  require_matrix(op, "A", a);
  const int64_t m = a.size(-2), n = a.size(-1);
  require(m >= n, op, ": A must have at least as many rows as columns, got shape ", a.shape());
  require<DTypeError>(tau.dtype() == a.dtype(), op, ": A is ", a.dtype(), " but tau is ", tau.dtype(),
                      "; convert one of them");
  require(tau.dim() == a.dim() - 1 && Dims(tau.shape().begin(), tau.shape().end() - 1) == batch_shape(a) &&
              tau.size(-1) <= n,
          op, ": tau must have the batch dimensions of A, of shape ", a.shape(), ", and at most ", n,
          " elements, got shape ", tau.shape());
  const int64_t k = tau.size(-1);
  const Tensor eye = triangle(m, n, 0, 1, 0, a.dtype());
  const Tensor v = tril(first_cols(a, k), -1) + triangle(m, k, 0, 1, 0, a.dtype()), factors = unsqueeze(tau, -1);
  const Tensor above = factors * triu(matmul(adjoint(v), v), 1);
  const Tensor inner = linalg_solve_triangular(above, factors * adjoint(first_rows(v, n)), true, true, true);
  return eye - matmul(v, inner);
}

Tensor ormqr(const Tensor& a, const Tensor& tau, const Tensor& c, bool left, bool transpose) {
  const char* op = "ormqr";
  require_matrix(op, "input", a);
  require_matrix(op, "other", c);
  require<DTypeError>(tau.dtype() == a.dtype() && c.dtype() == a.dtype(), op, ": input is ", a.dtype(), ", tau ",
                      tau.dtype(), " and other ", c.dtype(), "; convert them to one dtype");
  const int64_t m = a.size(-2);
  require(tau.dim() == a.dim() - 1 && Dims(tau.shape().begin(), tau.shape().end() - 1) == batch_shape(a) &&
              tau.size(-1) <= std::min(m, a.size(-1)),
          op, ": tau must have the batch dimensions of input, of shape ", a.shape(), ", and at most ",
          std::min(m, a.size(-1)), " elements, got shape ", tau.shape());
  require(c.size(left ? -2 : -1) == m, op, ": input of shape ", a.shape(), " and other of shape ", c.shape(),
          " do not fit; expected other.shape[", left ? -2 : -1, "] == input.shape[-2]");
  if (!left) return adjoint(ormqr(a, tau, adjoint(c), true, !transpose));
  const int64_t k = tau.size(-1);
  const Tensor v = tril(first_cols(a, k), -1) + triangle(m, k, 0, 1, 0, a.dtype()), vt = adjoint(v);
  const Tensor factors = unsqueeze(tau, -1), above = factors * triu(matmul(vt, v), 1), inner = matmul(vt, c);
  // T as in linalg_householder_product: inv(I + above) @ diag(tau).
  if (!transpose) return c - matmul(v, linalg_solve_triangular(above, factors * inner, true, true, true));
  return c - matmul(v, conj(factors) * linalg_solve_triangular(adjoint(above), inner, false, true, true));
}

// ---- eigenvalues ----------------------------------------------------------------------------------------------------

Eigen linalg_eigh(const Tensor& a, bool upper) {
  require_square("linalg.eigh", "A", a, true);
  Tensor w = empty(Dims(a.shape().begin(), a.shape().end() - 1), real_type(a.dtype())), v = empty(a.shape(), a.dtype());
  check("linalg.eigh", a, kernels::eigh(a.view(), w.view(), v.view(), upper));
  const Tensor outputs[] = {w, v};
  record_outputs("linalg_eigh", outputs, inputs(a), save(output(w, 0), output(v, 1)),
                 [](const Grads& d, const Saved& saved) {
                   const Tensor w = saved[0], v = saved[1], dw = d[0], dv = d[1], vt = adjoint(v);
                   if (!dv.defined()) return Grads{matmul(scale_cols(v, dw), vt)};
                   const Tensor eye = identity(w.size(-1), w.dtype());
                   // 1 / (w_j - w_i): infinite where eigenvalues coincide and their vectors are arbitrary.
                   const Tensor gaps = unsqueeze(w, -2) - unsqueeze(w, -1) + eye;
                   const Tensor rotation = matmul(vt, dv);
                   Tensor inner = (rotation - adjoint(rotation)) * off_diagonal(w.size(-1), w.dtype()) / gaps * 0.5;
                   if (dw.defined()) inner = inner + scale_rows(dw, eye);
                   return Grads{matmul(v, matmul(inner, vt))};
                 });
  return {w, v};
}

Tensor linalg_eigvalsh(const Tensor& a, bool upper) {
  if (inputs(a).tracked()) return linalg_eigh(a, upper).values;  // the rule needs the vectors
  require_square("linalg.eigvalsh", "A", a, true);
  Tensor w = empty(Dims(a.shape().begin(), a.shape().end() - 1), real_type(a.dtype()));
  check("linalg.eigvalsh", a, kernels::eigh(a.view(), w.view(), View{}, upper));
  return untracked(w);
}

Eigen linalg_eig(const Tensor& a) {
  require_square("linalg.eig", "A", a, true);
  const DType dtype = complex_type(a.dtype());
  Tensor w = empty(Dims(a.shape().begin(), a.shape().end() - 1), dtype), v = empty(a.shape(), dtype);
  check("linalg.eig", a, kernels::eig(a.view(), w.view(), v.view()));
  const Tensor outputs[] = {w, v};
  record_outputs("linalg_eig", outputs, inputs(a), save(output(w, 0), output(v, 1)),
                 [](const Grads& d, const Saved& saved) {
                   const Tensor w = saved[0], v = saved[1], dw = d[0], dv = d[1], vh = adjoint(v);
                   const Tensor eye = identity(w.size(-1), w.dtype());
                   Tensor inner = dw.defined() ? scale_rows(dw, eye) : Tensor();
                   if (dv.defined()) {
                     // Vectors have length 1: changes of the length are ignored.
                     const Tensor rotation = matmul(vh, dv);
                     const Tensor lengths = real(diagonal(rotation, 0, -2, -1));
                     const Tensor gaps = conj(unsqueeze(w, -2) - unsqueeze(w, -1)) + eye;
                     const Tensor across = (rotation - scale_cols(matmul(vh, v), lengths)) / gaps;
                     inner = add_defined(inner, across * off_diagonal(w.size(-1), w.dtype()));
                   }
                   return Grads{linalg_solve(vh, matmul(inner, vh), true)};
                 });
  return {w, v};
}

Tensor linalg_eigvals(const Tensor& a) {
  if (inputs(a).tracked()) return linalg_eig(a).values;  // the rule needs the vectors
  require_square("linalg.eigvals", "A", a, true);
  Tensor w = empty(Dims(a.shape().begin(), a.shape().end() - 1), complex_type(a.dtype()));
  check("linalg.eigvals", a, kernels::eig(a.view(), w.view(), View{}));
  return untracked(w);
}

// ---- singular values ------------------------------------------------------------------------------------------------

static Tensor svd_backward(const Tensor& u, const Tensor& s, const Tensor& vh, const Tensor& du, const Tensor& ds,
                           const Tensor& dvh) {
  if (!du.defined() && !dvh.defined()) return matmul(u, scale_rows(ds, vh));
  const int64_t k = s.size(-1);
  const Tensor eye = identity(k, s.dtype()), ut = adjoint(u), v = adjoint(vh);
  const Tensor s2 = s * s, gaps = unsqueeze(s2, -2) - unsqueeze(s2, -1) + eye;
  const Tensor apart = off_diagonal(k, s.dtype());
  const auto rotation = [&](const Tensor& x) { return (x - adjoint(x)) * apart / gaps; };
  Tensor inner = ds.defined() ? scale_rows(ds, eye) : Tensor();
  if (du.defined()) inner = add_defined(inner, scale_cols(rotation(matmul(ut, du)), s));
  if (dvh.defined()) inner = add_defined(inner, scale_rows(s, rotation(matmul(vh, adjoint(dvh)))));
  if (is_complex(u.dtype())) {  // the phases of a pair of vectors relative to each other
    const Tensor inside = du.defined() ? matmul(ut, du) : matmul(vh, adjoint(dvh));
    const Tensor angles = imag(diagonal(inside, 0, -2, -1)) / s;
    inner = inner + scale_rows(mul(angles, std::complex<double>(0, du.defined() ? 1 : -1)), eye);
  }
  Tensor da = matmul(u, matmul(inner, vh));
  // The part outside the span of the given vectors.
  if (du.defined() && u.size(-2) > k) {
    const Tensor out = scale_cols(du, div(1.0, s));
    da = da + matmul(out - matmul(u, matmul(ut, out)), vh);
  }
  if (dvh.defined() && vh.size(-1) > k) {
    const Tensor out = scale_rows(div(1.0, s), dvh);
    da = da + matmul(u, out - matmul(matmul(out, v), vh));
  }
  return da;
}

SVD linalg_svd(const Tensor& a, bool full_matrices) {
  require_matrix("linalg.svd", "A", a, true);
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  if (full_matrices) {  // all vectors must fit, too
    kernels::require_lapack_size("linalg.svd", m, m, true);
    kernels::require_lapack_size("linalg.svd", n, n, true);
  }
  const Dims batch = batch_shape(a);
  Tensor s = empty(with_sizes(batch, {k}), real_type(a.dtype()));
  Tensor u = empty(with_sizes(batch, {m, full_matrices ? m : k}), a.dtype());
  Tensor vh = empty(with_sizes(batch, {full_matrices ? n : k, n}), a.dtype());
  check("linalg.svd", a, kernels::svd(a.view(), s.view(), u.view(), vh.view()));
  const Tensor outputs[] = {u, s, vh};
  record_outputs("linalg_svd", outputs, inputs(a), save(output(u, 0), output(s, 1), output(vh, 2)),
                 [k](const Grads& d, const Saved& saved) {
                   const Tensor u = saved[0], s = saved[1], vh = saved[2];
                   const Tensor du = d[0].defined() ? first_cols(d[0], k) : Tensor();
                   const Tensor dvh = d[2].defined() ? first_rows(d[2], k) : Tensor();
                   return Grads{svd_backward(first_cols(u, k), s, first_rows(vh, k), du, d[1], dvh)};
                 });
  return {u, s, vh};
}

Tensor linalg_svdvals(const Tensor& a) {
  if (inputs(a).tracked()) return linalg_svd(a, false).s;  // the rule needs the vectors
  require_matrix("linalg.svdvals", "A", a, true);
  Tensor s = empty(with_sizes(batch_shape(a), {std::min(a.size(-2), a.size(-1))}), real_type(a.dtype()));
  check("linalg.svdvals", a, kernels::svd(a.view(), s.view(), View{}, View{}));
  return untracked(s);
}

// ---- ranks ----------------------------------------------------------------------------------------------------------

// Which of the nonnegative values (..., k) of a's stack are considered nonzero.
static Tensor counted(const char* op, const Tensor& a, const Tensor& values, const Tolerance& t) {
  for (const std::optional<Operand>* bound : {&t.atol, &t.rtol})
    require(!*bound || !(*bound)->is_scalar() || (*bound)->scalar.to_double() >= 0, op,
            ": atol and rtol must not be negative");
  if (values.size(-1) == 0) return empty(values.shape(), DType::Bool);
  const DType dtype = values.dtype();
  const double eps =
      dtype == DType::Float32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  const double precision = static_cast<double>(std::max(a.size(-2), a.size(-1))) * eps;
  const auto bound = [&](const std::optional<Operand>& given, double absent) {
    if (!given) return full({1}, absent, dtype);
    return given->is_scalar() ? full({1}, given->scalar, dtype) : cast(unsqueeze(*given->tensor, -1), dtype);
  };
  const Tensor atol = bound(t.atol, 0);
  const Tensor rtol = t.rtol ? bound(t.rtol, 0) : where(gt(atol, 0), 0, full({1}, precision, dtype));
  return gt(values, maximum(atol, rtol * amax(values, {-1}, true)));
}

static Tensor pseudoinverse(const char* op, const Tensor& a, const Tolerance& tolerance, bool hermitian,
                            Tensor* singular_values) {
  Tensor p;
  {
    const WithGradMode off(false);
    const auto inverted = [&](const Tensor& values, const Tensor& sizes) {
      return where(counted(op, a, sizes, tolerance), div(1.0, values), 0);
    };
    if (hermitian) {
      const Eigen f = linalg_eigh(a, false);
      p = matmul(scale_cols(f.vectors, inverted(f.values, abs(f.values))), adjoint(f.vectors));
    } else {
      const SVD f = linalg_svd(a, false);
      p = matmul(adjoint(f.vh), scale_rows(inverted(f.s, f.s), adjoint(f.u)));
      if (singular_values) *singular_values = f.s;
    }
  }
  // For constant rank: dp = -p da p + p p.T da.T (1 - a p) + (1 - p a) da.T p.T p
  return record("linalg_pinv", p, inputs(a), save(a, output(p)), [](const Tensor& dp, const Saved& saved) {
    const Tensor a = saved[0], p = saved[1], pt = adjoint(p), dpt = adjoint(dp);
    const Tensor in_rows = matmul(dpt, matmul(p, pt)), in_cols = matmul(matmul(pt, p), dpt);
    return Grads{in_rows - matmul(a, matmul(p, in_rows)) + in_cols - matmul(matmul(in_cols, p), a) -
                 matmul(pt, matmul(dp, pt))};
  });
}

Tensor linalg_pinv(const char* op, const Tensor& a, const Tolerance& tolerance, bool hermitian) {
  hermitian ? require_square(op, "A", a, true) : require_matrix(op, "A", a, true);
  // Bounds may have more dimensions than the stack of matrices.
  Dims stack = batch_shape(a);
  for (const std::optional<Operand>* bound : {&tolerance.atol, &tolerance.rtol})
    if (*bound) stack = broadcast_shapes(op, stack, (*bound)->shape());
  const Tensor all = stack == batch_shape(a) ? a : expand(a, with_sizes(stack, {a.size(-2), a.size(-1)}));
  return pseudoinverse(op, all, tolerance, hermitian, nullptr);
}

Tensor linalg_matrix_rank(const Tensor& a, const Tolerance& tolerance, bool hermitian) {
  const char* op = "linalg.matrix_rank";
  hermitian ? require_square(op, "A", a, true) : require_matrix(op, "A", a, true);
  const WithGradMode off(false);
  const Tensor values = hermitian ? abs(linalg_eigvalsh(a, false)) : linalg_svdvals(a);
  return untracked(sum(counted(op, a, values, tolerance), {-1}, false));
}

LeastSquares linalg_lstsq(const Tensor& a, const Tensor& b, std::optional<double> rcond, LeastSquaresDriver driver) {
  const char* op = "linalg.lstsq";
  require_matrix(op, "A", a, true);
  require<DTypeError>(a.dtype() == b.dtype(), op, ": A is ", a.dtype(), " but B is ", b.dtype(),
                      "; convert one of them");
  const int64_t m = a.size(-2), n = a.size(-1);
  const bool is_vector = b.dim() == 1 || (b.dim() == a.dim() - 1 && b.shape() == with_sizes(batch_shape(a), {m}));
  const Tensor right = is_vector ? unsqueeze(b, -1) : b;
  require(right.dim() >= 2 && right.size(-2) == m, op, ": A of shape ", a.shape(), " and B of shape ", b.shape(),
          " do not fit; expected A.shape[-2] == B.shape[-2], or B.shape == A.shape[:-1]");
  broadcast_shapes(op, batch_shape(a), batch_shape(right));
  const Tolerance tolerance{Operand(0.0), rcond ? std::optional<Operand>(std::max(*rcond, 0.0)) : std::nullopt};
  Tensor s;
  const Tensor solution = matmul(pseudoinverse(op, a, tolerance, false, &s), right);
  const Dims nothing{0};
  LeastSquares y{is_vector ? squeeze(solution, {-1}) : solution, untracked(empty(nothing, real_type(a.dtype()))),
                 untracked(empty(nothing, DType::Int64)), untracked(empty(nothing, real_type(a.dtype())))};
  bool full_rank = driver == LeastSquaresDriver::Gels;
  if (!full_rank) {
    const WithGradMode off(false);
    y.rank = untracked(sum(counted(op, a, s, tolerance), {-1}, false));
    const int64_t* ranks = on_meta ? nullptr : y.rank.data<int64_t>();
    full_rank = driver != LeastSquaresDriver::Gelsy &&
                (on_meta || std::all_of(ranks, ranks + y.rank.numel(), [n](int64_t rank) { return rank == n; }));
    if (driver != LeastSquaresDriver::Gelsy) y.singular_values = untracked(s);
  }
  if (full_rank && m > n) y.residuals = sum(square(abs(matmul(a, solution) - right)), {-2}, false);
  return y;
}

Tensor linalg_cond(const Tensor& a, MatrixOrder order) {
  const char* op = "linalg.cond";
  require_matrix(op, "A", a, true);
  const int64_t k = std::min(a.size(-2), a.size(-1));
  const bool euclidean = order.kind == MatrixOrder::Operator && std::abs(order.p) == 2;
  require(euclidean || a.size(-2) == a.size(-1), op, ": A must be square, but for p=2, -2 or None; got shape ",
          a.shape());
  if (k == 0) return untracked(zeros(batch_shape(a), real_type(a.dtype())));
  if (euclidean) {
    const Tensor s = linalg_svdvals(a), largest = select(s, -1, 0), smallest = select(s, -1, k - 1);
    return order.p > 0 ? largest / smallest : smallest / largest;
  }
  if (order.kind == MatrixOrder::Nuclear) {
    const Tensor s = linalg_svdvals(a);
    return sum(s, {-1}, false) * sum(div(1.0, s), {-1}, false);
  }
  require(order.kind == MatrixOrder::Frobenius || std::abs(order.p) == 1 || std::isinf(order.p), op,
          ": p must be None, 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got ", order.p);
  Tensor singular;
  {
    const WithGradMode off(false);
    singular = any(eq(diagonal(linalg_lu(op, a, true).u, 0, -2, -1), 0), {-1}, false);
  }
  const Tensor regular = where(unsqueeze(unsqueeze(singular, -1), -1), identity(k, a.dtype()), a);
  const auto size = [&](const Tensor& x) { return linalg_matrix_norm(x, order, {-2, -1}, false, {}); };
  return where(singular, std::numeric_limits<double>::infinity(), size(a) * size(linalg_inv(op, regular)));
}

// ---- norms of matrices ----------------------------------------------------------------------------------------------

Tensor linalg_matrix_norm(const Tensor& input, MatrixOrder order, const Dims& dim, bool keepdim,
                          std::optional<DType> dtype) {
  const char* op = "linalg.matrix_norm";
  require<DTypeError>(is_differentiable(input.dtype()), op, ": A must be floating or complex, got ", input.dtype(),
                      "; use A.float()");
  require<DTypeError>(!dtype || (is_differentiable(*dtype) && is_complex(*dtype) == is_complex(input.dtype())), op,
                      ": dtype must be ", is_complex(input.dtype()) ? "complex" : "floating", ", got ",
                      dtype.value_or(DType::Float32));
  require(input.dim() >= 2, op, ": A must have at least 2 dimensions, got shape ", input.shape());
  require(dim.size() == 2, op, ": dim must be two dimensions, got ", dim);
  const int64_t rows = wrap_dim(op, dim[0], input.dim()), cols = wrap_dim(op, dim[1], input.dim());
  require(rows != cols, op, ": dim must be two different dimensions, got ", dim);
  const Tensor a = cast(input, dtype.value_or(input.dtype()));
  if (order.kind == MatrixOrder::Frobenius) return norm(a, 2, {rows, cols}, keepdim);
  const double p = std::abs(order.p);
  const auto extreme = [&](const Tensor& x, int64_t d, bool keep) {
    return order.p > 0 ? amax(x, {d}, keep) : amin(x, {d}, keep);
  };
  if (order.kind == MatrixOrder::Nuclear || p == 2) {
    const Tensor s = linalg_svdvals(movedim(a, {rows, cols}, {-2, -1}));
    Tensor y = order.kind == MatrixOrder::Nuclear ? sum(s, {-1}, false) : extreme(s, -1, false);
    return keepdim ? unsqueeze(unsqueeze(y, std::min(rows, cols)), std::max(rows, cols)) : y;
  }
  require(p == 1 || std::isinf(p), op, ": ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got ", order.p);
  const int64_t summed = p == 1 ? rows : cols;
  const Tensor y = extreme(sum(abs(a), {summed}, true), p == 1 ? cols : rows, true);
  return keepdim ? y : squeeze(y, {rows, cols});
}

}  // namespace genesis::ops
