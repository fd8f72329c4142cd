#include "ops/statistics.h"

#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/create.h"
#include "ops/extreme.h"

namespace genesis::py {

static ops::Interpolation interpolation(const Args& a, int i) {
  if (!a.has(i)) return ops::Interpolation::Linear;
  const std::string s = a.string(i);
  if (s == "linear") return ops::Interpolation::Linear;
  if (s == "lower") return ops::Interpolation::Lower;
  if (s == "higher") return ops::Interpolation::Higher;
  if (s == "midpoint") return ops::Interpolation::Midpoint;
  require(s == "nearest", a.name(), ": interpolation must be linear, lower, higher, midpoint or nearest, got '", s,
          "'");
  return ops::Interpolation::Nearest;
}

template <bool SkipNan>
static Tensor quantile(Args& a) {
  const Tensor& x = a.tensor(0);
  const Tensor q = is_number(a[1]) ? ops::scalar_tensor(a.scalar(1), x.dtype()) : a.tensor(1);
  return ops::quantile(a.name(), x, q, a.optional_integer(2), a.boolean(3), interpolation(a, 4), SkipNan);
}

static ops::DistanceMode distance_mode(const Args& a, int i) {
  if (!a.has(i)) return ops::DistanceMode::ProductIfMany;
  const std::string s = a.string(i);
  if (s == "use_mm_for_euclid_dist_if_necessary") return ops::DistanceMode::ProductIfMany;
  if (s == "use_mm_for_euclid_dist") return ops::DistanceMode::Product;
  require(s == "donot_use_mm_for_euclid_dist",
          "cdist: compute_mode must be use_mm_for_euclid_dist_if_necessary, use_mm_for_euclid_dist or ",
          "donot_use_mm_for_euclid_dist, got '", s, "'");
  return ops::DistanceMode::Differences;
}

static PyObject* histogram(Args& a) {
  const Tensor& x = a.tensor(0);
  require<DTypeError>(is_floating(x.dtype()), "histogram: input must be floating, got ", x.dtype(),
                      "; use input.float()");
  Tensor edges;
  if (!a.has(1) || PyLong_Check(a[1])) {
    const int64_t bins = a.integer(1);
    require(bins > 0, "histogram: bins must be positive, got ", bins);
    double low = 0, high = 1;
    if (a.has(2)) {
      PyObject* range = a[2];
      if (!PySequence_Check(range) || PySequence_Size(range) != 2) a.fail(2, "a pair of numbers");
      const Object first(PySequence_GetItem(range, 0)), second(PySequence_GetItem(range, 1));
      if (!is_number(first.get()) || !is_number(second.get())) a.fail(2, "a pair of numbers");
      low = to_scalar(first.get()).to_double();
      high = to_scalar(second.get()).to_double();
      require(low <= high, "histogram: range must not fall, got (", low, ", ", high, ")");
    } else if (x.numel() > 0) {
      const WithGradMode off(false);
      const auto number = [](const Tensor& t) { return *ops::cast(t, DType::Float64).data<double>(); };
      low = number(ops::amin(x, {}, false));
      high = number(ops::amax(x, {}, false));
      require(std::isfinite(low) && std::isfinite(high), "histogram: input is not finite; pass range");
    }
    if (low == high) {
      low -= 0.5;
      high += 0.5;
    }
    edges = ops::linspace(low, high, bins + 1, x.dtype());
  } else {
    edges = a.tensor(1);
    require(edges.dim() == 1 && edges.numel() >= 2,
            "histogram: bins as a tensor must be two or more edges in one dimension, got shape ", edges.shape());
    require<DTypeError>(edges.dtype() == x.dtype(), "histogram: bins must have the dtype of input, ", x.dtype(),
                        ", got ", edges.dtype());
    require(!a.has(2), "histogram: range has no meaning where bins are edges");
  }
  static PyTypeObject* const type = return_type("histogram", {"hist", "bin_edges"});
  return named(type, {ops::histogram(x, edges, a.optional_tensor(3), a.boolean(4)), edges});
}

static const Family family({.kind = Kind::Reduction, .page = "reduction"}, [] {
  def<"diff(Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None, *, Tensor? out=None) -> "
      "Tensor",
      [](Args& a) {
        return ops::diff(a.tensor(0), a.integer(1), a.integer(2), a.optional_tensor(3), a.optional_tensor(4));
      }>(kBoth, "The n-th differences of neighbours along dim.", {.kind = Kind::Pointwise});
  def<"trapezoid(Tensor y, Tensor? x=None, *, float dx=1.0, int dim=-1) -> Tensor", [](Args& a) {
    return ops::trapezoid(a.tensor(0), a.optional_tensor(1), a.number(2), a.integer(3));
  }>(kFunction, "The integral along dim by the trapezoidal rule.", {.autocast = Cast::Wide, .takes = Takes::Complex});
  def<"trapz(Tensor y, Tensor? x=None, *, float dx=1.0, int dim=-1) -> Tensor", [](Args& a) {
    return ops::trapezoid(a.tensor(0), a.optional_tensor(1), a.number(2), a.integer(3));
  }>(kFunction, "The same as trapezoid().", {.takes = Takes::Complex});
  def<"cumulative_trapezoid(Tensor y, Tensor? x=None, *, float dx=1.0, int dim=-1) -> Tensor",
      [](Args& a) { return ops::cumulative_trapezoid(a.tensor(0), a.optional_tensor(1), a.number(2), a.integer(3)); }>(
      kFunction, "The integral along dim up to each point, by the trapezoidal rule.",
      {.kind = Kind::Scan, .autocast = Cast::Wide, .takes = Takes::Complex});
  def<"quantile(Tensor input, Operand q, int? dim=None, bool keepdim=False, *, str interpolation='linear', Tensor? "
      "out=None) -> Tensor",
      quantile<false>>(kBoth, "The q-th quantile of all elements or along dim; NaN where one is among them.",
                       {.autocast = Cast::Wide});
  def<"nanquantile(Tensor input, Operand q, int? dim=None, bool keepdim=False, *, str interpolation='linear', "
      "Tensor? "
      "out=None) -> Tensor",
      quantile<true>>(kBoth, "The q-th quantile of what is not NaN.", {.autocast = Cast::Wide});
  def<"renorm(Tensor input, Scalar p, int dim, Scalar maxnorm, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::renorm("renorm", a.tensor(0), a.number(1), a.integer(2), a.number(3)); }>(
      kBoth, "Slices along dim scaled down to a p-norm of maxnorm where theirs is larger.",
      {.kind = Kind::Pointwise, .autocast = Cast::Wide});
  def<"renorm_(Tensor input, Scalar p, int dim, Scalar maxnorm) -> Self", [](Args& a) {
    return ops::inplace("renorm_", a.tensor(0), {}, [&](const Tensor& x, ops::Out out) {
      return ops::deliver("renorm_", ops::renorm("renorm_", x, a.number(1), a.integer(2), a.number(3)), out);
    });
  }>(kMethod, "In-place form.", {.kind = Kind::Pointwise});
  def<"cov(Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
      [](Args& a) { return ops::cov(a.tensor(0), a.integer(1), a.optional_tensor(2), a.optional_tensor(3)); }>(
      kBoth, "The covariance matrix of variables (rows) over observations (columns).",
      {.autocast = Cast::Wide, .takes = Takes::Complex});
  def<"corrcoef(Tensor input) -> Tensor", [](Args& a) { return ops::corrcoef(a.tensor(0)); }>(
      kBoth, "The correlation matrix of variables (rows) over observations (columns).",
      {.autocast = Cast::Wide, .takes = Takes::Complex});
  def<"histogram(Tensor input, Tensor|int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False, "
      "Tensor[]? out=None) -> (Tensor hist, Tensor bin_edges)",
      histogram>(kBoth,
                 "The number of elements in each bin, and the edges of the bins; bins is a number or the edges.");
  def<"dist(Tensor input, Tensor other, float p=2.0) -> Tensor", [](Args& a) {
    return ops::dist(a.tensor(0), a.tensor(1), a.number(2));
  }>(kBoth, "The p-norm of input - other.", {.autocast = Cast::Wide, .takes = Takes::Complex, .page = "matrix"});
  def<"cdist(Tensor x1, Tensor x2, float p=2.0, str compute_mode='use_mm_for_euclid_dist_if_necessary') -> Tensor",
      [](Args& a) { return ops::cdist(a.tensor(0), a.tensor(1), a.number(2), distance_mode(a, 3)); }>(
      kFunction,
      "The distance of each row of x1 to each row of x2, by the p-norm. Of more than 25 rows, Euclidean ones are "
      "computed "
      "by a product of matrices, as they always are with compute_mode='use_mm_for_euclid_dist' and never with "
      "'donot_use_mm_for_euclid_dist', which is exact.",
      {.kind = Kind::Matrix, .autocast = Cast::Wide, .takes = Takes::Real, .page = "matrix"});
  def<"combinations(Tensor input, int r=2, bool with_replacement=False) -> Tensor", [](Args& a) {
    return ops::combinations(a.tensor(0), a.integer(1), a.boolean(2));
  }>(kFunction, "Every choice of r elements of a vector, as rows.", {.kind = Kind::Create, .page = "creation"});
  def<"pdist(Tensor input, float p=2.0) -> Tensor", [](Args& a) { return ops::pdist(a.tensor(0), a.number(1)); }>(
      kFunction, "The distance of each row to each later row, by the p-norm.",
      {.kind = Kind::Matrix, .autocast = Cast::Wide, .takes = Takes::Real, .page = "neural"});
});

}  // namespace genesis::py
