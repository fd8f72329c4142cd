// Factors of symmetric and Hermitian matrices that need not be definite.
#include <cmath>

#include "autograd/record.h"
#include "ops/create.h"
#include "ops/linalg.h"
#include "ops/matrix.h"

namespace genesis::ops {

FactoredLDL linalg_ldl_factor(const char* op, const Tensor& a, bool hermitian, bool check) {
  require_square(op, "A", a);
  const Dims batch = batch_shape(a);
  const int64_t n = a.size(-1);
  const Tensor columns = empty(a.shape(), a.dtype()), info = empty(batch, DType::Int32);
  const Tensor pivots = empty(with_sizes(batch, {n}), DType::Int32);
  const auto failure = kernels::ldl_factor(a.view(), columns.view(), pivots.view(), hermitian, info.address<int>());
  if (check && failure)
    fail_matrix(op, batch, failure.matrix,
                str("is singular: D[", failure.info - 1, ", ", failure.info - 1,
                    "] is zero, and ldl_solve would divide by it; for the factors use linalg.ldl_factor_ex()"));
  Tensor ld;
  {
    const WithGradMode off(false);
    ld = transposed(columns);
  }
  ld = record("linalg_ldl_factor", ld, inputs(a), save(), [](const Tensor&, const Saved&) -> Grads {
    fail<GraphError>("linalg.ldl_factor: has no gradient; use linalg.solve() or linalg.eigh()");
  });
  return {ld, untracked(pivots), untracked(info)};
}

Tensor linalg_ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian) {
  const char* op = "linalg.ldl_solve";
  require_square(op, "LD", ld);
  require_matrix(op, "B", b);
  require<DTypeError>(ld.dtype() == b.dtype(), op, ": LD is ", ld.dtype(), " but B is ", b.dtype(),
                      "; convert one of them");
  require<DTypeError>(pivots.dtype() == DType::Int32, op, ": pivots must be int32, got ", pivots.dtype(),
                      "; take those of linalg.ldl_factor()");
  const int64_t n = ld.size(-1);
  require(b.size(-2) == n, op, ": LD of shape ", ld.shape(), " and B of shape ", b.shape(),
          " do not fit; expected LD.shape[-1] == B.shape[-2]");
  const Dims own = batch_shape(ld), wanted = with_sizes(own, {n});
  require(pivots.shape() == wanted, op, ": pivots must have shape ", wanted, " for LD of shape ", ld.shape(), ", got ",
          pivots.shape());
  const Dims batch = broadcast_shapes(op, own, batch_shape(b));
  Tensor x = empty(with_sizes(batch, {n, b.size(-1)}), b.dtype());
  {
    const WithGradMode off(false);
    const Tensor swaps = expand(pivots, with_sizes(batch, {n}));
    // A pivot is the index of a row, counted from 1, and negative for a block of two rows.
    const Tensor own_swaps = contiguous(pivots);
    for (int64_t i = 0; !on_meta && i < own_swaps.numel(); ++i) {
      const int64_t row = std::abs(int64_t{own_swaps.data<int32_t>()[i]});
      require(row >= 1 && row <= n, op, ": pivots must be in 1..", n, " or -", n, "..-1, got ",
              own_swaps.data<int32_t>()[i], "; take those of linalg.ldl_factor()");
    }
    kernels::ldl_solve(expand(ld, with_sizes(batch, {n, n})).view(), swaps.view(),
                       expand(b, with_sizes(batch, {n, b.size(-1)})).view(), x.view(), hermitian);
  }
  return record(op, x, broadcast(ld, b), save(ld, pivots), [hermitian](const Tensor& dx, const Saved& saved) {
    require<GraphError>(!saved.needs(0), "linalg.ldl_solve: has no gradient for LD; detach() it");
    if (hermitian) return Grads{Tensor(), linalg_ldl_solve(saved[0], saved[1], dx, true)};
    return Grads{Tensor(), conj(linalg_ldl_solve(saved[0], saved[1], conj(dx), false))};
  });
}

}  // namespace genesis::ops
