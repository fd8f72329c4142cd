// LU decomposition with differentiable factors.
#include <algorithm>
#include <numeric>
#include <vector>

#include "autograd/record.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/gather.h"
#include "ops/linalg.h"
#include "ops/matmul.h"
#include "ops/matrix.h"
#include "ops/pointwise.h"
#include "ops/shape.h"

namespace genesis::ops {

namespace {

// Converts LAPACK's row swaps (counted from 1) to the source row of each row of P.T @ A, or to the inverse permutation.
Tensor row_order(const char* op, const Tensor& pivots, int64_t rows, bool inverse) {
  const WithGradMode off(false);
  const Tensor swaps = contiguous(pivots);
  const int64_t k = pivots.size(-1);
  Dims shape = pivots.shape();
  shape[shape.size() - 1] = rows;
  Tensor order = empty(shape, DType::Int64);
  const int64_t matrices = numel(Dims(shape.begin(), shape.end() - 1));
  std::vector<int64_t> from(static_cast<size_t>(rows));
  for (int64_t b = 0; !on_meta && b < matrices; ++b) {
    std::iota(from.begin(), from.end(), 0);
    for (int64_t i = 0; i < k; ++i) {
      const int64_t other = swaps.data<int32_t>()[b * k + i];
      require(other >= 1 && other <= rows, op, ": pivots must be in 1..", rows, ", got ", other,
              "; take those of linalg.lu_factor()");
      std::swap(from[static_cast<size_t>(i)], from[static_cast<size_t>(other - 1)]);
    }
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t at = from[static_cast<size_t>(i)];
      order.data<int64_t>()[b * rows + (inverse ? at : i)] = inverse ? i : at;
    }
  }
  return untracked(order);
}

// y[..., i, :] = x[..., order[..., i], :]; stacks broadcast.
Tensor take_rows(const Tensor& x, const Tensor& order) {
  const Dims batch =
      broadcast_shapes("linalg.lu", batch_shape(x), Dims(order.shape().begin(), order.shape().end() - 1));
  const Tensor wide = expand(x, with_sizes(batch, {x.size(-2), x.size(-1)}));
  return gather(wide, -2, expand(unsqueeze(order, -1), wide.shape()));
}

// P of P @ L @ U.
Tensor permutation(const char* op, const Tensor& pivots, int64_t n, DType dtype) {
  const WithGradMode off(false);
  return untracked(take_rows(identity(n, dtype), row_order(op, pivots, n, true)));
}

Tensor rows(const Tensor& x, int64_t first, int64_t last) { return slice(x, -2, first, last, 1); }
Tensor cols(const Tensor& x, int64_t first, int64_t last) { return slice(x, -1, first, last, 1); }

// x @ inv(u).T and inv(l).T @ x for triangular matrices.
Tensor over_upper(const Tensor& x, const Tensor& u) {
  return ops::adjoint(linalg_solve_triangular(u, ops::adjoint(x), true, true, false));
}
Tensor under_lower(const Tensor& l, const Tensor& x) {
  return linalg_solve_triangular(ops::adjoint(l), x, true, true, true);
}

// The gradient of P.T @ A from those of L and U. The part of a non-square matrix beyond its square part is determined
// by the other factor and contributes to its gradient.
Tensor lu_backward(const Tensor& l, const Tensor& u, const Tensor& dl, const Tensor& du) {
  const int64_t m = l.size(-2), n = u.size(-1), k = l.size(-1);
  const Tensor l1 = rows(l, 0, k), u1 = cols(u, 0, k);
  Tensor lower, upper, beside;
  if (dl.defined()) lower = matmul(ops::adjoint(l1), rows(dl, 0, k));
  if (du.defined()) upper = matmul(cols(du, 0, k), ops::adjoint(u1));
  if (n > k && du.defined()) {
    const Tensor du2 = cols(du, k, n);
    lower = add_defined(lower, -matmul(du2, ops::adjoint(cols(u, k, n))));
    beside = under_lower(l1, du2);
  }
  if (m > k && dl.defined()) {
    const Tensor dl2 = rows(dl, k, m);
    upper = add_defined(upper, -matmul(ops::adjoint(rows(l, k, m)), dl2));
    beside = over_upper(dl2, u1);
  }
  const Tensor inner =
      add_defined(lower.defined() ? tril(lower, -1) : Tensor(), upper.defined() ? triu(upper, 0) : Tensor());
  const Tensor square = over_upper(under_lower(l1, inner), u1);
  if (m == n) return square;
  if (!beside.defined()) {
    Dims shape = square.shape();
    shape[shape.size() - (m > k ? 2 : 1)] = (m > k ? m : n) - k;
    beside = zeros(shape, square.dtype());
  }
  const Tensor both[] = {square, beside};
  return cat(both, m > k ? -2 : -1);
}

}  // namespace

LU linalg_lu(const char* op, const Tensor& a, bool pivot) {
  require_matrix(op, "A", a);
  require(pivot, op, ": pivot must be True: LU without pivoting does not exist on a CPU");
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  const Dims batch = batch_shape(a);
  Tensor columns = empty(with_sizes(batch, {n, m}), a.dtype()), pivots = empty(with_sizes(batch, {k}), DType::Int32);
  kernels::lu_factor(a.view(), columns.view(), pivots.view());
  Tensor l, u;
  {
    const WithGradMode off(false);
    const Tensor factors = transposed(columns);
    l = tril(cols(factors, 0, k), -1) + triangle(m, k, 0, 1, 0, a.dtype());
    u = triu(rows(factors, 0, k), 0);
  }
  const Tensor outputs[] = {l, u};
  record_outputs("linalg_lu", outputs, inputs(a), save(output(l, 0), output(u, 1), pivots),
                 [m](const Grads& d, const Saved& saved) {
                   const Tensor inner = lu_backward(saved[0], saved[1], d[0], d[1]);
                   return Grads{take_rows(inner, row_order("linalg.lu", saved[2], m, true))};
                 });
  return {permutation(op, pivots, m, a.dtype()), l, u, untracked(pivots)};
}

FactoredLU linalg_lu_factor(const char* op, const Tensor& a, bool pivot, bool check) {
  const LU f = linalg_lu(op, a, pivot);
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  const Dims batch = batch_shape(a);
  const Tensor info = empty(batch, DType::Int32);
  {
    const WithGradMode off(false);
    const Tensor zero = contiguous(eq(diagonal(f.u, 0, -2, -1), 0));
    for (int64_t i = 0; !on_meta && i < info.numel(); ++i) {
      const bool *begin = zero.data<bool>() + i * k, *found = std::find(begin, begin + k, true);
      info.data<int32_t>()[i] = found == begin + k ? 0 : static_cast<int32_t>(found - begin + 1);
      if (check && found != begin + k)
        fail_matrix(op, batch, i,
                    str("is singular: U[", found - begin, ", ", found - begin,
                        "] is zero, and lu_solve would divide by it; for the factors use linalg.lu() or ",
                        "linalg.lu_factor_ex()"));
    }
  }
  Tensor both = tril(rows(f.l, 0, k), -1) + cols(f.u, 0, k);
  if (m > k) {
    const Tensor parts[] = {both, rows(f.l, k, m)};
    both = cat(parts, -2);
  } else if (n > k) {
    const Tensor parts[] = {both, cols(f.u, k, n)};
    both = cat(parts, -1);
  }
  return {both, f.pivots, untracked(info)};
}

static void require_pivots(const char* op, const Tensor& lu, const Tensor& pivots) {
  require<DTypeError>(pivots.dtype() == DType::Int32, op, ": pivots must be int32, got ", pivots.dtype(),
                      "; take those of linalg.lu_factor()");
  const Dims wanted = with_sizes(batch_shape(lu), {std::min(lu.size(-2), lu.size(-1))});
  require(pivots.shape() == wanted, op, ": pivots must have shape ", wanted, " for LU of shape ", lu.shape(), ", got ",
          pivots.shape());
}

Tensor linalg_lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left, bool adjoint) {
  const char* op = "linalg.lu_solve";
  require_square(op, "LU", lu);
  require_matrix(op, "B", b);
  require_pivots(op, lu, pivots);
  require<DTypeError>(lu.dtype() == b.dtype(), op, ": LU is ", lu.dtype(), " but B is ", b.dtype(),
                      "; convert one of them");
  require(b.size(left ? -2 : -1) == lu.size(-1), op, ": LU of shape ", lu.shape(), " and B of shape ", b.shape(),
          " do not fit; expected LU.shape[-1] == B.shape[", left ? -2 : -1, "]");
  if (!left) return ops::adjoint(linalg_lu_solve(lu, pivots, ops::adjoint(b), true, !adjoint));
  const auto solve = [&](const Tensor& a, const Tensor& right, bool upper, bool unit) {
    return linalg_solve_triangular(a, right, upper, true, unit);
  };
  const Tensor order = row_order(op, pivots, lu.size(-1), adjoint);
  if (!adjoint) return solve(lu, solve(lu, take_rows(b, order), false, true), true, false);
  const Tensor adjoint_lu = ops::adjoint(lu);
  return take_rows(solve(adjoint_lu, solve(adjoint_lu, b, false, false), true, true), order);
}

LU lu_unpack(const Tensor& lu, const Tensor& pivots, bool unpack_data, bool unpack_pivots) {
  const char* op = "lu_unpack";
  require_matrix(op, "LU_data", lu);
  const int64_t m = lu.size(-2), k = std::min(m, lu.size(-1));
  const Tensor none = untracked(empty({0}, lu.dtype()));
  LU y{none, none, none, Tensor()};
  if (unpack_pivots) {
    require_pivots(op, lu, pivots);
    y.p = permutation(op, pivots, m, lu.dtype());
  }
  if (unpack_data) {
    y.l = tril(cols(lu, 0, k), -1) + triangle(m, k, 0, 1, 0, lu.dtype());
    y.u = triu(rows(lu, 0, k), 0);
  }
  return y;
}

}  // namespace genesis::ops
