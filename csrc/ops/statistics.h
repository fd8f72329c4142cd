// Differences, integrals, quantiles, covariance, distances: composed of other operators, which provide the gradients.
#pragma once

#include <optional>

#include "ops/operand.h"

namespace genesis::ops {

Tensor diff(const Tensor& x, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append);
// By the trapezoidal rule, at the points x, or with spacing dx if x is undefined.
Tensor trapezoid(const Tensor& y, const Tensor& x, double dx, int64_t dim);
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, double dx, int64_t dim);

enum class Interpolation { Linear, Lower, Higher, Midpoint, Nearest };
// A dimension for q comes first unless q is a scalar; without dim, over all elements. `skip_nan`: ignores NaN.
Tensor quantile(const char* op, const Tensor& x, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                Interpolation interpolation, bool skip_nan);

// Rows are variables, columns observations.
Tensor cov(const Tensor& x, int64_t correction, const Tensor& fweights, const Tensor& aweights);
Tensor corrcoef(const Tensor& x);

// Counts between edges, of which the last is included; undefined weights are ones.
Tensor histogram(const Tensor& x, const Tensor& edges, const Tensor& weight, bool density);

/// Slices along `dim` scaled down to a p-norm of `most` where theirs is larger.
Tensor renorm(const char* op, const Tensor& x, double p, int64_t dim, double most);
Tensor dist(const Tensor& x, const Tensor& y, double p);
// How Euclidean distances are computed: by differences, or by a matrix product, which is faster and less accurate.
enum class DistanceMode { ProductIfMany, Product, Differences };
// (..., n, k) and (..., m, k): (..., n, m)
Tensor cdist(const Tensor& x, const Tensor& y, double p, DistanceMode mode);
Tensor pdist(const Tensor& x, double p);  // of each row to each later one
// All combinations of r elements of x, in the order of x, as rows.
Tensor combinations(const Tensor& x, int64_t r, bool with_replacement);

}  // namespace genesis::ops
