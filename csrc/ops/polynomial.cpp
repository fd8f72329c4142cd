// Orthogonal polynomials of x with a degree n for each element: Chebyshev, Hermite, Laguerre and Legendre.
#include <atomic>
#include <cmath>
#include <vector>

#include "ops/special.h"
#include "ops/special_map.h"

namespace genesis::ops {

namespace {

// All follow p_(k+1) = (a x + b) p_k - c p_(k-1) with p_0 = 1 and p_1 = first x + constant.
struct Step {
  double a, b, c;
};
Step step(Polynomial family, double k) {
  switch (family) {
    case Polynomial::HermiteH: return {2, 0, 2 * k};
    case Polynomial::HermiteHe: return {1, 0, k};
    case Polynomial::Laguerre: return {-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)};
    case Polynomial::Legendre: return {(2 * k + 1) / (k + 1), 0, k / (k + 1)};
    default: return {2, 0, 1};
  }
}
Step first(Polynomial family) {
  switch (family) {
    case Polynomial::ChebyshevT: return {1, 0, 0};
    case Polynomial::ChebyshevV: return {2, -1, 0};
    case Polynomial::ChebyshevW: return {2, 1, 0};
    default: return step(family, 0);
  }
}

// The polynomial, its order-th derivative by x, shifted or not.
struct Which {
  Polynomial family;
  bool shifted;
  int order;
};

// Computed from the angle, in constant time for any degree. |x| < 1.
double chebyshev(Polynomial family, double x, double n) {
  const double angle = std::acos(x);
  switch (family) {
    case Polynomial::ChebyshevT: return std::cos(n * angle);
    case Polynomial::ChebyshevU: return std::sin((n + 1) * angle) / std::sin(angle);
    case Polynomial::ChebyshevV: return std::cos((n + 0.5) * angle) / std::cos(angle / 2);
    default: return std::sin((n + 0.5) * angle) / std::sin(angle / 2);
  }
}
bool is_chebyshev(Polynomial family) {
  return family == Polynomial::ChebyshevT || family == Polynomial::ChebyshevU || family == Polynomial::ChebyshevV ||
         family == Polynomial::ChebyshevW;
}

constexpr double kMaxDegree = 1 << 20;

// The derivatives satisfy the same recurrence: (x p)^(m) = x p^(m) + m p^(m-1).
double value(const Which& which, double x, double degree, std::atomic<bool>& too_high) {
  if (std::isnan(x) || std::isnan(degree)) return std::numeric_limits<double>::quiet_NaN();
  if (degree < 0) return 0;
  const double at = which.shifted ? 2 * x - 1 : x, n = std::trunc(degree);
  if (n > kMaxDegree) {  // one step per degree would take too long
    too_high.store(true, std::memory_order_relaxed);
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (is_chebyshev(which.family) && which.order == 0 && n > 64 && std::abs(at) < 1)
    return chebyshev(which.family, at, n);
  const auto count = static_cast<size_t>(which.order) + 1;
  std::vector<double> before(count, 0), last(count, 0), next(count, 0);
  last[0] = 1;
  for (double k = 0; k < n; k += 1) {
    const Step s = k == 0 ? first(which.family) : step(which.family, k);
    bool finite = false;
    for (size_t m = 0; m < count; ++m) {
      next[m] = (s.a * at + s.b) * last[m] - s.c * before[m];
      if (m > 0) next[m] += static_cast<double>(m) * s.a * last[m - 1];
      finite |= std::isfinite(next[m]);
    }
    before.swap(last);
    last.swap(next);
    if (!finite) break;  // it remains so
  }
  return last.back() * (which.shifted ? std::ldexp(1, which.order) : 1);
}

Tensor polynomial(const char* op, const Which& which, const Tensor& x, const Tensor& n) {
  Tensor y = empty(broadcast_shapes(op, x.shape(), n.shape()), x.dtype());
  std::atomic<bool> too_high = false;
  struct Params {
    Which which;
    std::atomic<bool>& too_high;
  } params{which, too_high};
  const kernels::Inner inner = [](char* const* data, unsigned scalars, int64_t count, const void* params) {
    const double *x = reinterpret_cast<const double*>(data[1]), *n = reinterpret_cast<const double*>(data[2]);
    const auto& [which, too_high] = *static_cast<const Params*>(params);
    for (int64_t i = 0; i < count; ++i)
      reinterpret_cast<double*>(data[0])[i] = value(which, x[scalars & 2 ? 0 : i], n[scalars & 4 ? 0 : i], too_high);
  };
  const DType wide = DType::Float64;
  kernels::elementwise({{y.view(), wide}, {x.view(), wide}, {n.view(), wide}}, inner, &params, special::kGrain);
  require(!too_high, op, ": n must be at most ", static_cast<int64_t>(kMaxDegree),
          ", since the time grows with the degree");
  return record(op, y, broadcast(x, n), save(x, n), [op, which](const Tensor& dy, const Saved& saved) {
    require<GraphError>(!saved.needs(1), op, ": has no derivative by the degree n; detach() it");
    const Which slope{which.family, which.shifted, which.order + 1};
    return Grads{dy * polynomial(op, slope, saved[0], saved[1]), Tensor()};
  });
}

}  // namespace

Tensor polynomial(const char* op, Polynomial family, bool shifted, const Operand& x, const Operand& n) {
  const special::Pair p(x, n);
  return polynomial(op, Which{family, shifted, 0}, p.x, p.y);
}

}  // namespace genesis::ops
