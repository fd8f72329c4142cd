#include "ops/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "autograd/record.h"
#include "core/checked.h"
#include "core/parallel.h"
#include "ops/compare.h"
#include "ops/complex.h"
#include "ops/create.h"
#include "ops/extreme.h"
#include "ops/gather.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/rounding.h"
#include "ops/scan.h"
#include "ops/search.h"
#include "ops/select.h"
#include "ops/shape.h"
#include "ops/sort.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace genesis::ops {

// All but the first, all but the last element along a dimension.
static Tensor later(const Tensor& x, int dim) {
  const int64_t n = x.size(dim);
  return narrow(x, dim, std::min<int64_t>(1, n), std::max<int64_t>(0, n - 1));
}
static Tensor earlier(const Tensor& x, int dim) { return narrow(x, dim, 0, std::max<int64_t>(0, x.size(dim) - 1)); }

Tensor diff(const Tensor& x, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) {
  require(x.dim() > 0, "diff: input must have at least one dimension, got a 0-d tensor; use x.reshape(1)");
  require(n >= 0, "diff: n must not be negative, got ", n);
  const int d = wrap_dim("diff", dim, x.dim());
  if (n == 0) return clone(x);
  std::vector<Tensor> parts;
  for (const Tensor* part : {&prepend, &x, &append})
    if (part->defined()) parts.push_back(*part);
  Tensor y = parts.size() == 1 ? x : cat(parts, d);
  for (; n > 0 && y.size(d) > 0; --n)
    y = y.dtype() == DType::Bool ? logical_xor(later(y, d), earlier(y, d)) : sub(later(y, d), earlier(y, d));
  return y;
}

// The area between each pair of adjacent points.
static Tensor trapezoids(const char* op, const Tensor& y, const Tensor& x, double dx, int d) {
  const Tensor sums = add(later(y, d), earlier(y, d));
  if (!x.defined()) return mul(sums, dx / 2);
  require(x.size(-1) == y.size(d) || x.dim() == y.dim(), op, ": x of shape ", x.shape(),
          " does not give a point for each of the ", y.size(d), " values along dimension ", d);
  Tensor points = x;
  if (x.dim() == 1) {
    Dims shape(y.dim(), 1);
    shape[d] = x.size(0);
    points = reshape(x, shape);
  }
  return mul(sums, later(points, d) - earlier(points, d)) / 2;
}

Tensor trapezoid(const Tensor& y, const Tensor& x, double dx, int64_t dim) {
  const int d = wrap_dim("trapezoid", dim, y.dim());
  if (y.dim() > 0 && y.size(d) == 0) {  // as in PyTorch, outside the graph
    Dims shape = y.shape();
    shape.erase(d);
    return zeros(shape, y.dtype());
  }
  return sum(trapezoids("trapezoid", y, x, dx, d), {d}, false);
}

Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, double dx, int64_t dim) {
  const int d = wrap_dim("cumulative_trapezoid", dim, y.dim());
  return cumsum(trapezoids("cumulative_trapezoid", y, x, dx, d), d);
}

Tensor quantile(const char* op, const Tensor& x, const Tensor& probability, std::optional<int64_t> dim, bool keepdim,
                Interpolation interpolation, bool skip_nan) {
  require_floating(op, "input", x);
  const Tensor q = cast(probability, x.dtype());
  require(q.dim() <= 1, op, ": q must be a number or have one dimension, got shape ", q.shape());
  require(x.numel() > 0, op, ": input of shape ", x.shape(), " is empty");
  if (!on_meta) {
    const WithGradMode off(false);
    const Tensor inside = all(logical_and(ge(q, 0), le(q, 1)), {}, false);
    require(*inside.data<bool>(), op, ": every q must be in [0, 1]");
  }
  const int d = dim ? wrap_dim(op, *dim, x.dim()) : 0;
  const Tensor lines = dim ? movedim(x, {d}, {-1}) : reshape(x, {-1});
  const Tensor sorted = sort(lines.dim() == 0 ? reshape(lines, {1}) : lines, -1, false).values;  // NaN comes last
  const int64_t n = sorted.size(-1);

  Tensor rank;  // (..., number of q)
  {
    const Tensor nan = isnan(sorted);
    if (skip_nan) {
      const Tensor present = sum(logical_not(nan), {-1}, true);
      rank = mul(cast(clamp(sub(present, 1), Operand(0), std::nullopt), x.dtype()), reshape(q, {-1}));
    } else {
      rank = where(any(nan, {-1}, true), double(n - 1), mul(reshape(q, {-1}), n - 1));
    }
  }
  const auto at = [&](const Tensor& r) {
    Dims shape = sorted.shape();
    shape[shape.size() - 1] = r.size(-1);
    return gather(sorted, -1, expand(cast(detach(r), DType::Int64), shape));
  };
  Tensor y;
  switch (interpolation) {
    case Interpolation::Lower: y = at(floor(rank)); break;
    case Interpolation::Higher: y = at(ceil(rank)); break;
    case Interpolation::Nearest: y = at(round(rank)); break;
    case Interpolation::Midpoint: y = (at(floor(rank)) + at(ceil(rank))) / 2; break;
    case Interpolation::Linear: y = lerp(at(floor(rank)), at(ceil(rank)), rank - floor(rank)); break;
  }
  y = movedim(y, {-1}, {0});
  if (keepdim) {
    if (dim && x.dim() > 0) y = unsqueeze(y, d + 1);
    else
      for (int i = 0; i < x.dim(); ++i) y = unsqueeze(y, -1);
  }
  return q.dim() == 0 ? select(y, 0, 0) : y;
}

Tensor cov(const Tensor& x, int64_t correction, const Tensor& fweights, const Tensor& aweights) {
  require(x.dim() <= 2, "cov: input must have at most two dimensions (variables, observations), got shape ", x.shape());
  const Tensor rows = reshape(x, {x.dim() < 2 ? 1 : x.size(0), -1});
  const DType dtype = floating_type(x.dtype());
  const int64_t n = rows.size(1);
  const auto check = [&](const char* name, const Tensor& weights) {
    require(weights.dim() == 1 && weights.size(0) == n, "cov: ", name, " must have one weight for each of the ", n,
            " observations, got shape ", weights.shape());
  };
  Tensor weights = full({n}, 1.0, real_type(dtype));
  if (fweights.defined()) {
    check("fweights", fweights);
    require<DTypeError>(!is_floating(fweights.dtype()), "cov: fweights must be integers, got ", fweights.dtype(),
                        "; for others use aweights");
    weights = mul(weights, fweights);
  }
  if (aweights.defined()) {
    check("aweights", aweights);
    weights = mul(weights, aweights);
  }
  const Tensor total = sum(weights, {}, false);
  const Tensor centred = rows - sum(mul(rows, weights), {1}, true) / total;
  // The effective number of observations: n - correction, less for unequal weights.
  const Tensor left = aweights.defined() ? total - sum(weights * aweights, {}, false) / total * Scalar(correction)
                                         : sub(total, correction);
  const Tensor c = matmul(centred * weights, conj(transpose(centred, 0, 1))) / clamp(left, Operand(0), std::nullopt);
  return rows.size(0) == 1 ? reshape(c, Dims{}) : c;  // the variance of one variable is a number
}

Tensor corrcoef(const Tensor& x) {
  const Tensor c = cov(x, 1, Tensor(), Tensor());
  if (c.dim() == 0) return c / c;
  const Tensor deviation = sqrt(real(diagonal(c)));
  const Tensor y = c / unsqueeze(deviation, 1) / unsqueeze(deviation, 0);
  const auto bounded = [](const Tensor& part) { return clamp(part, Operand(-1), Operand(1)); };
  return is_complex(y.dtype()) ? complex(bounded(real(y)), bounded(imag(y))) : bounded(y);
}

Tensor histogram(const Tensor& x, const Tensor& edges, const Tensor& weight, bool density) {
  const WithGradMode off(false);
  if (is_half(x.dtype())) {
    const DType wide = DType::Float32;
    const Tensor weights = weight.defined() ? cast(weight, wide) : weight;
    return untracked(cast(histogram(cast(x, wide), cast(edges, wide), weights, density), x.dtype()));
  }
  const int64_t bins = edges.numel() - 1;
  const Tensor values = reshape(x, {-1});
  const Tensor last = select(edges, 0, bins);
  const Tensor inside = logical_and(ge(values, select(edges, 0, 0)), le(values, last));
  // Bin b is between edges b and b + 1; values outside go to a bin that is dropped.
  Tensor bin = sub(searchsorted(edges, values, true, Tensor(), DType::Int64), 1);
  bin = where(inside, minimum(bin, bins - 1), bins);
  const Tensor weights = weight.defined() ? reshape(weight, {-1}) : full({values.numel()}, 1.0, x.dtype());
  require(weights.numel() == values.numel(), "histogram: weight must have the shape of input, ", x.shape(), ", got ",
          weight.defined() ? weight.shape() : x.shape());
  Tensor counts = cast(narrow(bincount(bin, weights, bins + 1), 0, 0, bins), x.dtype());
  if (density) counts = counts / sum(counts, {}, false) / (later(edges, 0) - earlier(edges, 0));
  return untracked(counts);
}

Tensor renorm(const char* op, const Tensor& x, double p, int64_t dim, double most) {
  if (!is_complex(x.dtype())) require_floating(op, "input", x);
  require(x.dim() >= 2, op, ": input must have at least 2 dimensions, got shape ", x.shape());
  require(p > 0, op, ": p must be positive, got ", p);
  require(most >= 0, op, ": maxnorm must not be negative, got ", most);
  const int along = wrap_dim(op, dim, x.dim());
  Dims others;
  for (int d = 0; d < x.dim(); ++d)
    if (d != along) others.push_back(d);
  const Tensor size = norm(x, p, others, true);
  return x * where(gt(size, most), div(most, size + 1e-7), 1.0);
}

Tensor dist(const Tensor& x, const Tensor& y, double p) { return norm(x - y, p, {}, false); }

// |x - y|^2 = |x|^2 - 2 x y + |y|^2: one matrix product instead of all differences.
static Tensor euclidean(const Tensor& x, const Tensor& y) {
  Tensor z;
  {
    const WithGradMode off(false);
    const Tensor columns = transpose(y, -2, -1);
    const Tensor squares = sum(square(x), {-1}, true) + sum(square(columns), {-2}, true);
    z = sqrt(clamp(squares - matmul(x, columns) * 2, Operand(0), std::nullopt));
  }
  return record("cdist", z, inputs(x, y), save(x, y, output(z)), [](const Tensor& dz, const Saved& saved) {
    const Tensor x = saved[0], y = saved[1], z = saved[2], zero = eq(z, 0);
    const Tensor ratio = where(zero, 0, dz / where(zero, 1, z));  // distance of a point to itself: no gradient
    const auto part = [](const Tensor& weights, const Tensor& a, const Tensor& b) {
      return sum(weights, {-1}, true) * a - matmul(weights, b);
    };
    const Tensor dx = saved.needs(0) ? part(ratio, x, y) : Tensor();
    return Grads{dx, saved.needs(1) ? part(transpose(ratio, -2, -1), y, x) : Tensor()};
  });
}

Tensor cdist(const Tensor& x, const Tensor& y, double p, DistanceMode mode) {
  require(x.dim() >= 2 && y.dim() >= 2, "cdist: x1 and x2 must have at least two dimensions, got shapes ", x.shape(),
          " and ", y.shape());
  require(x.size(-1) == y.size(-1), "cdist: points of x1 have ", x.size(-1), " coordinates, those of x2 ", y.size(-1));
  require(p >= 0, "cdist: p must not be negative, got ", p);
  const bool many = x.size(-2) > 25 || y.size(-2) > 25;
  if (p == 2 && is_floating(x.dtype()) && x.dtype() == y.dtype() &&
      (mode == DistanceMode::Product || (mode == DistanceMode::ProductIfMany && many))) {
    const auto batch = [](const Tensor& t) { return Dims(t.shape().begin(), t.shape().end() - 2); };
    const Dims shape = broadcast_shapes("cdist", batch(x), batch(y));
    const auto stacked = [&](const Tensor& t) {
      Dims wanted = shape;
      wanted.push_back(t.size(-2));
      wanted.push_back(t.size(-1));
      return expand(t, wanted);
    };
    return euclidean(stacked(x), stacked(y));
  }
  return norm(unsqueeze(x, -2) - unsqueeze(y, -3), p, {-1}, false);
}

// n over k.
static int64_t count_combinations(int64_t n, int64_t k) {
  if (k > n) return 0;
  k = std::min(k, n - k);
  __int128 count = 1;
  for (int64_t i = 1; i <= k && count <= checked::kMaxSize; ++i) count = count * (n - k + i) / i;
  return checked::size("combinations",
                       count <= checked::kMaxSize ? static_cast<int64_t>(count) : checked::kMaxSize + 1);
}

Tensor combinations(const Tensor& x, int64_t r, bool with_replacement) {
  require(x.dim() == 1, "combinations: input must have one dimension, got shape ", x.shape());
  require(r >= 0, "combinations: r must not be negative, got ", r);
  if (r == 0) return untracked(empty({0}, x.dtype()));
  const int64_t n = x.size(0), step = with_replacement ? 0 : 1;
  const int64_t rows = count_combinations(with_replacement && n > 0 ? checked::add("combinations", n, r - 1) : n, r);
  empty({rows, r}, x.dtype());  // raises if there is no memory for the result, before any work
  const Tensor index = empty({rows * r}, DType::Int64);
  int64_t* out = on_meta ? nullptr : index.data<int64_t>();
  // Advances the last position that can advance, and resets those after it.
  for (int64_t row = 0; !on_meta && row < rows; ++row, out += r) {
    if (row == 0) {
      for (int64_t i = 0; i < r; ++i) out[i] = i * step;
      continue;
    }
    const int64_t* last = out - r;
    int64_t i = r - 1;
    while (last[i] >= n - 1 - (r - 1 - i) * step) --i;
    for (int64_t j = 0; j < r; ++j) out[j] = j < i ? last[j] : j == i ? last[i] + 1 : out[j - 1] + step;
    if (row % 4096 == 0) check_interrupt();
  }
  return reshape(index_select(x, 0, index), {rows, r});
}

Tensor pdist(const Tensor& x, double p) {
  require(x.dim() == 2, "pdist: input must be a matrix (points, coordinates), got shape ", x.shape());
  require(p >= 0, "pdist: p must not be negative, got ", p);
  const Tensor pairs = triangle_indices(x.size(0), x.size(0), 1, true, DType::Int64);
  return norm(index_select(x, 0, select(pairs, 0, 0)) - index_select(x, 0, select(pairs, 0, 1)), p, {1}, false);
}

}  // namespace genesis::ops
