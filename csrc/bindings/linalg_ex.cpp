// The functions of genesis.linalg that report failure by a number, products of several tensors, and PyTorch's older
// names of decompositions.
#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/complex.h"
#include "ops/contract.h"
#include "ops/create.h"
#include "ops/linalg.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace genesis::py {

static Tensor transposed(const Tensor& x) { return ops::transpose(x, -2, -1); }

static void with_info() {
  def<"linalg_cholesky_ex(Tensor A, *, bool upper=False, bool check_errors=False, Tensor[]? out=None) -> (Tensor L, "
      "Tensor info)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("linalg_cholesky_ex", {"L", "info"});
        const ops::WithInfo y = ops::linalg_cholesky_ex("linalg.cholesky_ex", a.tensor(0), a.boolean(1), a.boolean(2));
        return named(type, {y.result, y.info});
      }>(kFunction,
         "linalg.cholesky() that does not raise: info is 0, or the order of the first leading minor that is not "
         "positive.");
  def<"linalg_inv_ex(Tensor A, *, bool check_errors=False, Tensor[]? out=None) -> (Tensor inverse, Tensor info)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("linalg_inv_ex", {"inverse", "info"});
        const ops::WithInfo y = ops::linalg_inv_ex("linalg.inv_ex", a.tensor(0), a.boolean(1));
        return named(type, {y.result, y.info});
      }>(kFunction,
         "linalg.inv() that does not raise: info is 0, or the place of a zero pivot, from 1, and the inverse is NaN.");
  def<"linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False, Tensor[]? out=None) -> (Tensor "
      "result, Tensor info)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("linalg_solve_ex", {"result", "info"});
        const ops::WithInfo y =
            ops::linalg_solve_ex("linalg.solve_ex", a.tensor(0), a.tensor(1), a.boolean(2), a.boolean(3));
        return named(type, {y.result, y.info});
      }>(kFunction, "linalg.solve() that does not raise: info is 0, or the place of a zero pivot, from 1.");
  def<"linalg_ldl_factor(Tensor A, *, bool hermitian=False, Tensor[]? out=None) -> (Tensor LD, Tensor pivots)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("linalg_ldl_factor", {"LD", "pivots"});
        const ops::FactoredLDL y = ops::linalg_ldl_factor("linalg.ldl_factor", a.tensor(0), a.boolean(1), true);
        return named(type, {y.ld, y.pivots});
      }>(kFunction,
         "A = L @ D @ L.T of a symmetric matrix, or L @ D @ L.mH of a Hermitian one, of which the lower triangle is "
         "read, for linalg.ldl_solve(). No "
         "gradient.");
  def<"linalg_ldl_factor_ex(Tensor A, *, bool hermitian=False, bool check_errors=False, Tensor[]? out=None) -> (Tensor "
      "LD, Tensor pivots, Tensor info)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("linalg_ldl_factor_ex", {"LD", "pivots", "info"});
        const ops::FactoredLDL y =
            ops::linalg_ldl_factor("linalg.ldl_factor_ex", a.tensor(0), a.boolean(1), a.boolean(2));
        return named(type, {y.ld, y.pivots, y.info});
      }>(kFunction,
         "linalg.ldl_factor() that does not raise: info is 0, or where the first zero of D's diagonal is, from 1.");
  def<"linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::linalg_ldl_solve(a.tensor(0), a.tensor(1), a.tensor(2), a.boolean(3)); }>(
      kFunction, "X with A @ X = B, from the factors of A that linalg.ldl_factor() returns. Only B has a gradient.");
}

static void products() {
  def<"linalg_cross(Tensor input, Tensor other, *, int dim=-1, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::cross(a.tensor(0), a.tensor(1), a.integer(2)); }>(
      kFunction, "The cross product of vectors of three elements along dim.",
      {.kind = Kind::Pointwise, .takes = Takes::Complex});
  def<"linalg_diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", [](Args& a) {
    return ops::diagonal(a.tensor(0), a.integer(1), a.integer(2), a.integer(3));
  }>(kFunction, "A view of the diagonals of matrices.", {.kind = Kind::View, .autocast = Cast::AsIs});
  def<"linalg_vecdot(Tensor x, Tensor y, *, int dim=-1, Tensor? out=None) -> Tensor",
      [](Args& a) {
        const Tensor &x = a.tensor(0), &y = a.tensor(1);
        require<DTypeError>(is_differentiable(x.dtype()), "linalg.vecdot: x must be floating or complex, got ",
                            x.dtype(), "; use x.float()");
        require<DTypeError>(x.dtype() == y.dtype(), "linalg.vecdot: x is ", x.dtype(), " but y is ", y.dtype(),
                            "; convert one of them");
        return ops::sum(ops::mul(ops::conj(x), y), {a.integer(2)}, false);
      }>(kFunction, "The dot products of vectors along dim, x conjugated; the other dimensions broadcast.",
         {.kind = Kind::Reduction, .takes = Takes::Complex});
  def<"linalg_multi_dot(Tensor[] tensors, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::multi_dot("linalg.multi_dot", a.tensors(0)); }>(
      kFunction,
      "The product of several matrices, in the order that costs least. The first and the last may be vectors.",
      {.kind = Kind::Matrix, .autocast = Cast::Low, .flops = Flops::Contraction});
  def<"chain_matmul(Tensor *matrices, Tensor? out=None) -> Tensor",
      [](Args& a) {
        const std::vector<Tensor> matrices = a.tensors(0);
        if (matrices.size() == 1) return ops::clone(matrices[0]);
        return ops::multi_dot("chain_matmul", matrices);
      }>(kFunction, "The same as linalg.multi_dot(), of one or more matrices given one by one.",
         {.kind = Kind::Matrix, .autocast = Cast::Low, .flops = Flops::Contraction});
  def<"linalg_tensorinv(Tensor A, int ind=2, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::linalg_tensorinv(a.tensor(0), a.integer(1));
  }>(kFunction, "The inverse of A as a linear map from its last dimensions to its first `ind` dimensions.");
  def<"linalg_tensorsolve(Tensor A, Tensor B, int[]? dims=None, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::linalg_tensorsolve(a.tensor(0), a.tensor(1), a.optional_dims(2));
  }>(kFunction, "X with tensordot(A, X, X.ndim) = B; `dims` of A are moved to the end first.");
}

static void older_names() {
  def<"cholesky(Tensor input, bool upper=False, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::linalg_cholesky_ex("cholesky", a.tensor(0), a.boolean(1), true).result;
  }>(kBoth, "The same as linalg.cholesky().");
  def<"cholesky_solve(Tensor B, Tensor L, bool upper=False, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::cholesky_solve(a.tensor(0), a.tensor(1), a.boolean(2));
  }>(kBoth, "X with A @ X = B, where L is the Cholesky factor of A.");
  def<"cholesky_inverse(Tensor L, bool upper=False, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::cholesky_inverse(a.tensor(0), a.boolean(1));
  }>(kBoth, "The inverse of A, where L is the Cholesky factor of A.");
  def<"qr(Tensor input, bool some=True, *, Tensor[]? out=None) -> (Tensor Q, Tensor R)", [](Args& a) {
    static PyTypeObject* const type = return_type("qr", {"Q", "R"});
    const ops::QR y = ops::linalg_qr(a.tensor(0), a.boolean(1) ? ops::QrMode::Reduced : ops::QrMode::Complete);
    return named(type, {y.q, y.r});
  }>(kBoth, "The same as linalg.qr(); some=False is its mode 'complete'.");
  def<"svd(Tensor input, bool some=True, bool compute_uv=True, *, Tensor[]? out=None) -> (Tensor U, Tensor S, Tensor "
      "V)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("svd", {"U", "S", "V"});
        const Tensor& x = a.tensor(0);
        if (a.boolean(2)) {
          const ops::SVD y = ops::linalg_svd(x, !a.boolean(1));
          return named(type, {y.u, y.s, ops::conj(transposed(y.vh))});
        }
        const Tensor s = ops::linalg_svdvals(x);
        const auto none = [&](int64_t n) {
          Dims shape(x.shape().begin(), x.shape().end() - 2);
          shape.push_back(n);
          shape.push_back(n);
          return ops::zeros(shape, x.dtype());
        };
        return named(type, {none(x.size(-2)), s, none(x.size(-1))});
      }>(kBoth, "linalg.svd() with V in place of its transpose; without compute_uv, U and V are zeros.");
  def<"triangular_solve(Tensor input, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False, *, "
      "Tensor[]? out=None) -> (Tensor solution, Tensor cloned_coefficient)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("triangular_solve", {"solution", "cloned_coefficient"});
        const Tensor& m = a.tensor(1);
        const bool transpose = a.boolean(3);
        const Tensor x = ops::linalg_solve_triangular(transpose ? transposed(m) : m, a.tensor(0),
                                                      a.boolean(2) != transpose, true, a.boolean(4));
        return named(type, {x, ops::clone(m)});
      }>(kBoth, "X with A @ X = input for a triangle of A, and a copy of A. See linalg.solve_triangular().");
  def<"lu_solve(Tensor input, Tensor LU_data, Tensor LU_pivots, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::linalg_lu_solve(a.tensor(1), a.tensor(2), a.tensor(0), true, false);
  }>(kBoth, "The same as linalg.lu_solve(), with the right-hand side first.");
  def<"lu(Tensor A, bool pivot=True, bool get_infos=False, *, Tensor[]? out=None) -> Tensor[]", [](Args& a) {
    const ops::FactoredLU y = ops::linalg_lu_factor("lu", a.tensor(0), a.boolean(1), !a.boolean(2));
    std::vector<Tensor> result{y.lu, y.pivots};
    if (a.boolean(2)) result.push_back(y.info);
    return result;
  }>(kBoth, "The same as linalg.lu_factor(), and with get_infos as linalg.lu_factor_ex().");
  def<"ormqr(Tensor input, Tensor tau, Tensor other, bool left=True, bool transpose=False, *, Tensor? out=None) -> "
      "Tensor",
      [](Args& a) { return ops::ormqr(a.tensor(0), a.tensor(1), a.tensor(2), a.boolean(3), a.boolean(4)); }>(
      kBoth, "The square Q of the reflections that geqrf() makes, times a matrix, from the left or the right.");
}

static const Family family({.kind = Kind::Linalg, .autocast = Cast::Wide, .takes = Takes::Complex, .page = "matrix"},
                           [] {
                             with_info();
                             products();
                             older_names();
                           });

}  // namespace genesis::py
