// Functions named linalg_x are genesis.linalg.x (python/genesis/linalg.py).
#include "ops/linalg.h"

#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/compare.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/select.h"
#include "ops/unary.h"

namespace genesis::py {

// UPLO: which triangle of a symmetric matrix is read.
static bool upper(Args& a, int i) {
  if (!a.has(i)) return false;
  const std::string text = a.string(i);
  require(text == "L" || text == "U" || text == "l" || text == "u", a.name(), ": UPLO must be 'L' or 'U', got '", text,
          "'");
  return text == "U" || text == "u";
}

static ops::QrMode qr_mode(Args& a, int i) {
  if (!a.has(i)) return ops::QrMode::Reduced;
  const std::string text = a.string(i);
  if (text == "reduced") return ops::QrMode::Reduced;
  if (text == "complete") return ops::QrMode::Complete;
  require(text == "r", a.name(), ": mode must be 'reduced', 'complete' or 'r', got '", text, "'");
  return ops::QrMode::ROnly;
}

static std::optional<Operand> optional_operand(Args& a, int i) {
  return a.has(i) ? std::optional<Operand>(a.operand(i)) : std::nullopt;
}

// (A, rcond or tol, hermitian, atol, rtol): the second is `rtol` of pinv and `atol` of matrix_rank.
static ops::Tolerance tolerance(Args& a, bool relative) {
  if (!a.has(1)) return {optional_operand(a, 3), optional_operand(a, 4)};
  const Operand given = a.operand(1), none(0.0);
  require(!a.has(3) && !a.has(4), a.name(), ": pass ", relative ? "rcond" : "tol", ", or atol and rtol, not both");
  return relative ? ops::Tolerance{none, given} : ops::Tolerance{given, none};
}

static ops::LeastSquaresDriver driver(Args& a, int i) {
  if (!a.has(i)) return ops::LeastSquaresDriver::Gelsy;
  const std::string text = a.string(i);
  if (text == "gels") return ops::LeastSquaresDriver::Gels;
  if (text == "gelsd") return ops::LeastSquaresDriver::Gelsd;
  if (text == "gelss") return ops::LeastSquaresDriver::Gelss;
  require(text == "gelsy", a.name(), ": driver must be 'gels', 'gelsy', 'gelsd' or 'gelss', got '", text, "'");
  return ops::LeastSquaresDriver::Gelsy;
}

static void solving() {
  def<"linalg_solve(Tensor A, Tensor B, *, bool left=True, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::linalg_solve(a.tensor(0), a.tensor(1), a.boolean(2));
  }>(kFunction, "X with A @ X = B (X @ A = B if not left); B may be a vector.");
  def<"linalg_solve_triangular(Tensor A, Tensor B, *, bool upper, bool left=True, bool unitriangular=False, Tensor? "
      "out=None) -> Tensor",
      [](Args& a) {
        return ops::linalg_solve_triangular(a.tensor(0), a.tensor(1), a.boolean(2), a.boolean(3), a.boolean(4));
      }>(
      kFunction,
      "X with A @ X = B for the upper or lower triangle of A; the other is not read. A zero pivot gives inf or nan.");
  def<"linalg_inv(Tensor A, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::linalg_inv("linalg.inv", a.tensor(0));
  }>(kFunction, "The inverse of a square matrix. Prefer solve(A, B) to inv(A) @ B.");
  def<"inverse(Tensor input, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::linalg_inv("inverse", a.tensor(0)); }>(kBoth, "The same as linalg.inv().");
  def<"linalg_det(Tensor A, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::linalg_det("linalg.det", a.tensor(0));
  }>(kFunction, "The determinant. See slogdet() for large matrices.");
  def<"det(Tensor input) -> Tensor", [](Args& a) { return ops::linalg_det("det", a.tensor(0)); }>(
      kBoth, "The same as linalg.det().");
  def<"linalg_slogdet(Tensor A, *, Tensor[]? out=None) -> (Tensor sign, Tensor logabsdet)", [](Args& a) {
    static PyTypeObject* const type = return_type("linalg_slogdet", {"sign", "logabsdet"});
    const ops::SignAndLog y = ops::linalg_slogdet("linalg.slogdet", a.tensor(0));
    return named(type, {y.sign, y.logabsdet});
  }>(kFunction, "The sign of the determinant and the logarithm of its absolute value.");
  def<"logdet(Tensor input) -> Tensor", [](Args& a) {
    const ops::SignAndLog y = ops::linalg_slogdet("logdet", a.tensor(0));
    if (is_complex(y.sign.dtype())) return ops::add(ops::log(y.sign), y.logabsdet);
    return ops::where(ops::lt(y.sign, 0), std::numeric_limits<double>::quiet_NaN(), y.logabsdet);
  }>(kBoth, "The logarithm of the determinant; NaN where that is negative.");
  def<"slogdet(Tensor input, *, Tensor[]? out=None) -> (Tensor sign, Tensor logabsdet)", [](Args& a) {
    static PyTypeObject* const type = return_type("slogdet", {"sign", "logabsdet"});
    const ops::SignAndLog y = ops::linalg_slogdet("slogdet", a.tensor(0));
    return named(type, {y.sign, y.logabsdet});
  }>(kBoth, "The same as linalg.slogdet().");
  def<"linalg_matrix_power(Tensor A, int n, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::linalg_matrix_power("linalg.matrix_power", a.tensor(0), a.integer(1));
  }>(kFunction, "A @ A @ ... @ A, n times; the inverse's power for a negative n.");
  def<"matrix_power(Tensor input, int n, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::linalg_matrix_power("matrix_power", a.tensor(0), a.integer(1));
  }>(kBoth, "The same as linalg.matrix_power().");
  def<"linalg_matrix_exp(Tensor A) -> Tensor", [](Args& a) {
    return ops::linalg_matrix_exp("linalg.matrix_exp", a.tensor(0));
  }>(kFunction, "The exponential of a square matrix, I + A + A @ A / 2 + ...", {.autocast = Cast::AsIs});
  def<"matrix_exp(Tensor input) -> Tensor", [](Args& a) { return ops::linalg_matrix_exp("matrix_exp", a.tensor(0)); }>(
      kBoth, "The same as linalg.matrix_exp().", {.autocast = Cast::AsIs});
}

static void decomposing() {
  def<"linalg_cholesky(Tensor A, *, bool upper=False, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::linalg_cholesky(a.tensor(0), a.boolean(1));
  }>(kFunction, "The lower triangular L with A = L @ L.T for a positive definite A, or its transpose.");
  def<"linalg_qr(Tensor A, str mode='reduced', *, Tensor[]? out=None) -> (Tensor Q, Tensor R)", [](Args& a) {
    static PyTypeObject* const type = return_type("linalg_qr", {"Q", "R"});
    const ops::QR y = ops::linalg_qr(a.tensor(0), qr_mode(a, 1));
    return named(type, {y.q, y.r});
  }>(kFunction, "A = Q @ R with orthonormal columns of Q and an upper triangular R.");
  def<"geqrf(Tensor input, *, Tensor[]? out=None) -> (Tensor a, Tensor tau)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("geqrf", {"a", "tau"});
        const ops::Reflections y = ops::geqrf(a.tensor(0));
        return named(type, {y.a, y.tau});
      }>(kBoth,
         "The reflections that make Q of linalg.qr(), for linalg.householder_product(); R in the upper triangle.",
         {.autocast = Cast::AsIs});
  def<"linalg_householder_product(Tensor A, Tensor tau, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::linalg_householder_product("linalg.householder_product", a.tensor(0), a.tensor(1)); }>(
      kFunction,
      "The first columns of a product of reflections I - tau v v.T, whose vectors are below the diagonal of A.",
      {.autocast = Cast::AsIs});
  def<"orgqr(Tensor input, Tensor input2, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::linalg_householder_product("orgqr", a.tensor(0), a.tensor(1));
  }>(kBoth, "The same as linalg.householder_product().", {.autocast = Cast::AsIs});
  def<"linalg_eig(Tensor A, *, Tensor[]? out=None) -> (Tensor eigenvalues, Tensor eigenvectors)", [](Args& a) {
    static PyTypeObject* const type = return_type("linalg_eig", {"eigenvalues", "eigenvectors"});
    const ops::Eigen y = ops::linalg_eig(a.tensor(0));
    return named(type, {y.values, y.vectors});
  }>(kFunction, "Eigenvalues and eigenvectors of square matrices, both complex, in no particular order.");
  def<"linalg_eigvals(Tensor A, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::linalg_eigvals(a.tensor(0));
  }>(kFunction, "The eigenvalues of square matrices, which are complex.");
  def<"linalg_eigh(Tensor A, str UPLO='L', *, Tensor[]? out=None) -> (Tensor eigenvalues, Tensor eigenvectors)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("linalg_eigh", {"eigenvalues", "eigenvectors"});
        const ops::Eigen y = ops::linalg_eigh(a.tensor(0), upper(a, 1));
        return named(type, {y.values, y.vectors});
      }>(kFunction,
         "Eigenvalues, ascending, and eigenvectors (columns) of a symmetric matrix, of which one triangle is read.");
  def<"linalg_eigvalsh(Tensor A, str UPLO='L', *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::linalg_eigvalsh(a.tensor(0), upper(a, 1));
  }>(kFunction, "Eigenvalues of a symmetric matrix, ascending.");
  def<"linalg_svd(Tensor A, bool full_matrices=True, *, Tensor[]? out=None) -> (Tensor U, Tensor S, Tensor Vh)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("linalg_svd", {"U", "S", "Vh"});
        const ops::SVD y = ops::linalg_svd(a.tensor(0), a.boolean(1));
        return named(type, {y.u, y.s, y.vh});
      }>(kFunction,
         "A = U @ diag(S) @ Vh, S descending. Vectors past the first min(m, n) count as constants in backward.");
  def<"linalg_svdvals(Tensor A, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::linalg_svdvals(a.tensor(0)); }>(kFunction, "The singular values, descending.");
}

static ops::MatrixOrder matrix_order(Args& a, int i) {
  if (a.has(i) && !PyUnicode_Check(a[i])) return {ops::MatrixOrder::Operator, a.number(i)};
  const std::string text = a.string(i);
  if (text == "fro") return {ops::MatrixOrder::Frobenius};
  require(text == "nuc", a.name(), ": ord must be 'fro', 'nuc' or a number, got '", text, "'");
  return {ops::MatrixOrder::Nuclear};
}

static void factoring() {
  def<"linalg_lu(Tensor A, *, bool pivot=True, Tensor[]? out=None) -> (Tensor P, Tensor L, Tensor U)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("linalg_lu", {"P", "L", "U"});
        const ops::LU y = ops::linalg_lu("linalg.lu", a.tensor(0), a.boolean(1));
        return named(type, {y.p, y.l, y.u});
      }>(kFunction, "A = P @ L @ U: a permutation, a lower triangle with ones on its diagonal, an upper triangle.",
         {.autocast = Cast::AsIs});
  def<"linalg_lu_factor(Tensor A, *, bool pivot=True, Tensor[]? out=None) -> (Tensor LU, Tensor pivots)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("linalg_lu_factor", {"LU", "pivots"});
        const ops::FactoredLU y = ops::linalg_lu_factor("linalg.lu_factor", a.tensor(0), a.boolean(1), true);
        return named(type, {y.lu, y.pivots});
      }>(kFunction, "Both triangles of linalg.lu() in one matrix, and the swaps of rows, for linalg.lu_solve().",
         {.autocast = Cast::AsIs});
  def<"linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False, Tensor[]? out=None) -> (Tensor LU, "
      "Tensor pivots, Tensor info)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("linalg_lu_factor_ex", {"LU", "pivots", "info"});
        const ops::FactoredLU y = ops::linalg_lu_factor("linalg.lu_factor_ex", a.tensor(0), a.boolean(1), a.boolean(2));
        return named(type, {y.lu, y.pivots, y.info});
      }>(kFunction,
         "linalg.lu_factor() that does not raise: info is 0, or where the first zero of U's diagonal is, from 1.",
         {.autocast = Cast::AsIs});
  def<"linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False, Tensor? out=None) -> "
      "Tensor",
      [](Args& a) { return ops::linalg_lu_solve(a.tensor(0), a.tensor(1), a.tensor(2), a.boolean(3), a.boolean(4)); }>(
      kFunction,
      "X with A @ X = B (X @ A = B if not left; A.T instead of A if adjoint), from the result of lu_factor() for A.",
      {.autocast = Cast::AsIs});
  def<"lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True, *, Tensor[]? "
      "out=None) -> (Tensor P, Tensor L, Tensor U)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("lu_unpack", {"P", "L", "U"});
        const ops::LU y = ops::lu_unpack(a.tensor(0), a.tensor(1), a.boolean(2), a.boolean(3));
        return named(type, {y.p, y.l, y.u});
      }>(kFunction, "P, L and U from the result of linalg.lu_factor(); empty if not requested.",
         {.autocast = Cast::AsIs});
}

static void ranks() {
  def<"linalg_pinv(Tensor A, Operand? rcond=None, bool hermitian=False, *, Scalar? atol=None, Scalar? rtol=None, "
      "Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::linalg_pinv("linalg.pinv", a.tensor(0), tolerance(a, true), a.boolean(2)); }>(
      kFunction,
      "The pseudoinverse. Singular values up to max(atol, rtol * the largest) count as zero. Of a symmetric "
      "(hermitian) A "
      "one triangle is read.");
  def<"pinverse(Tensor input, float rcond=1e-15) -> Tensor", [](Args& a) {
    return ops::linalg_pinv("pinverse", a.tensor(0), {Operand(0.0), Operand(a.number(1))}, false);
  }>(kBoth, "The same as linalg.pinv().", {.autocast = Cast::AsIs});
  def<"linalg_matrix_rank(Tensor A, Operand? tol=None, bool hermitian=False, *, Scalar? atol=None, Scalar? rtol=None, "
      "Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::linalg_matrix_rank(a.tensor(0), tolerance(a, false), a.boolean(2)); }>(
      kFunction, "How many singular values are larger than max(atol, rtol * the largest).", {.autocast = Cast::AsIs});
  def<"linalg_lstsq(Tensor A, Tensor B, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, "
      "Tensor rank, Tensor singular_values)",
      [](Args& a) {
        static PyTypeObject* const type =
            return_type("linalg_lstsq", {"solution", "residuals", "rank", "singular_values"});
        const std::optional<double> rcond = a.has(2) ? std::optional(a.number(2)) : std::nullopt;
        const ops::LeastSquares y = ops::linalg_lstsq(a.tensor(0), a.tensor(1), rcond, driver(a, 3));
        return named(type, {y.solution, y.residuals, y.rank, y.singular_values});
      }>(
      kFunction,
      "X with the least sum of squares of A @ X - B, by the pseudoinverse. The driver says what comes with it: 'gels' "
      "residuals, 'gelsy' the rank, 'gelsd' and 'gelss' all.",
      {.autocast = Cast::AsIs});
  def<"linalg_cond(Tensor A, Scalar|str? p=None, *, Tensor? out=None) -> Tensor",
      [](Args& a) {
        return ops::linalg_cond(a.tensor(0),
                                a.has(1) ? matrix_order(a, 1) : ops::MatrixOrder{ops::MatrixOrder::Operator});
      }>(kFunction, "norm(A, p) * norm(inv(A), p): how much a relative error may grow in solve(A, B).",
         {.autocast = Cast::AsIs});
}

static Tensor vector_norm(Args& a) {
  return ops::norm(a.tensor(0), a.number(1, 2.0), a.optional_dims(2), a.boolean(3), a.optional_dtype(4));
}
static Tensor matrix_norm(Args& a, const Dims& dim) {
  return ops::linalg_matrix_norm(a.tensor(0), matrix_order(a, 1), dim, a.boolean(3), a.optional_dtype(4));
}

static void norms() {
  def<"linalg_vector_norm(Tensor x, float ord=2, int[]? dim=None, bool keepdim=False, *, DType? dtype=None, Tensor? "
      "out=None) -> Tensor",
      vector_norm>(
      kFunction, "(sum |x|^ord)^(1/ord) over some or all dimensions; the largest or smallest |x| for ord=inf or -inf.",
      {.kind = Kind::Reduction, .flops = Flops::FiveInput});
  def<"linalg_matrix_norm(Tensor A, Scalar|str ord='fro', int[] dim=(-2, -1), bool keepdim=False, *, DType? "
      "dtype=None, Tensor? out=None) -> Tensor",
      [](Args& a) { return matrix_norm(a, a.dims(2)); }>(
      kFunction, "A norm of matrices: 'fro', 'nuc', or the operator norm for ord 1, 2, inf and their negatives.",
      {.kind = Kind::Reduction, .flops = Flops::FiveInput});
  def<"linalg_norm(Tensor A, Scalar|str? ord=None, int[]? dim=None, bool keepdim=False, *, DType? dtype=None, Tensor? "
      "out=None) -> Tensor",
      [](Args& a) {
        if (!a.has(1)) return vector_norm(a);  // over all elements
        const Dims dim = a.optional_dims(2);
        const int given = a.has(2) ? dim.size() : a.tensor(0).dim();
        require(given == 1 || given == 2,
                "linalg.norm: ord needs dim to be one or two dimensions, or A to have as many, got ", given);
        if (given == 2) return matrix_norm(a, a.has(2) ? dim : Dims{0, 1});
        if (PyUnicode_Check(a[1])) fail("linalg.norm: ord of a vector must be a number, got '", a.string(1), "'");
        return vector_norm(a);
      }>(kFunction, "The vector norm, or the matrix norm if ord is given and there are two dimensions.",
         {.kind = Kind::Reduction, .flops = Flops::FiveInput});
}

static const Family family({.kind = Kind::Linalg, .autocast = Cast::Wide, .takes = Takes::Complex, .page = "matrix"},
                           [] {
                             solving();
                             decomposing();
                             factoring();
                             ranks();
                             norms();
                           });

}  // namespace genesis::py
