#include "ops/special.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "autograd/record.h"
#include "ops/bessel.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/incomplete_gamma.h"
#include "ops/pointwise.h"
#include "ops/power.h"
#include "ops/select.h"
#include "ops/special_map.h"
#include "ops/unary.h"

namespace genesis::ops {

// ---- functions of one number ----------------------------------------------------------------------------------------

namespace {

using bessel::kTiny;
using std::numbers::inv_sqrtpi, std::numbers::pi, std::numbers::sqrt2;
constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kHalfSqrt2 = sqrt2 / 2;
const double kSqrt2OverPi = std::sqrt(2 / pi);

// The rounded square, and its rounding error, which exp() would amplify.
double exp_square(double x) {
  const double square = x * x;
  return std::isfinite(square) ? std::exp(square) * (1 + std::fma(x, x, -square)) : square;
}

double erfcx(double x) {
  if (x < 0) return x < -27 ? kInfinity : 2 * exp_square(x) - erfcx(-x);
  if (x < 10 || std::isnan(x)) return exp_square(x) * std::erfc(x);
  double term = 1, sum = 1;
  for (int k = 1; k < 30 && std::abs(term) > kTiny; ++k) {
    term *= -(2 * k - 1) / (2 * x * x);
    sum += term;
  }
  return sum * inv_sqrtpi / x;
}

double log_ndtr(double x) {
  const double z = x * kHalfSqrt2;
  return x < -1 ? std::log(erfcx(-z) / 2) - x * x / 2 : std::log1p(-std::erfc(z) / 2);
}

// Halley steps starting from the tangent at 0; in the tails, Newton steps on the logarithm, which is nearly a parabola
// there.
double ndtri(double p) {
  if (!(p > 0 && p < 1)) return p == 0 ? -kInfinity : p == 1 ? kInfinity : kNaN;
  if (p > 0.9) return -ndtri(1 - p);
  if (p >= 0.1) {
    const double wanted = 2 * p - 1;
    double x = wanted / kSqrt2OverPi;
    for (int step = 0; step < 6; ++step) {
      const double u = (std::erf(x * kHalfSqrt2) - wanted) / (kSqrt2OverPi * std::exp(-x * x / 2));
      x -= u / (1 + x * u / 2);
    }
    return x;
  }
  const double wanted = std::log(p);
  double x = -std::sqrt(-2 * std::log(2 * p));
  for (int step = 0; step < 8; ++step) x -= (log_ndtr(x) - wanted) * erfcx(-x * kHalfSqrt2) / kSqrt2OverPi;
  return x;
}

double entr(double x) { return x > 0 ? -x * std::log(x) : x == 0 ? 0 : x < 0 ? -kInfinity : x; }

// The first terms, then the Euler-Maclaurin formula for the remainder.
double zeta(double s, double x) {
  if (std::isnan(s) || std::isnan(x)) return kNaN;
  if (s <= 1) return s == 1 ? kInfinity : kNaN;
  if (x <= 0) {
    if (x == std::floor(x)) return kInfinity;
    if (s != std::floor(s)) return kNaN;  // a root of a negative number
  }
  double sum = 0;
  for (int k = 0; k < 10 || x < 10; ++k, x += 1) {
    const double term = std::pow(x, -s);
    sum += term;
    if (x > 0 && term < kTiny * sum) return sum;
  }
  // B_2k / (2k)!
  constexpr double weights[] = {8.333333333333333e-2,   -1.388888888888889e-3,   3.306878306878307e-5,
                                -8.267195767195767e-7,  2.0876756987868098e-8,   -5.284190138687493e-10,
                                1.3382536530684679e-11, -3.3896802963225827e-13, 8.586062056277845e-15,
                                -2.174868698558062e-16};
  const double power = std::pow(x, -s);
  sum += power * x / (s - 1) + power / 2;
  double factor = power * s / x;
  for (int k = 0; k < 10; ++k) {
    sum += weights[k] * factor;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (x * x);
  }
  return sum;
}

}  // namespace

// ---- operators ------------------------------------------------------------------------------------------------------

Tensor special_erfcx(const Tensor& x) {
  return special::with_rule("special_erfcx", special::map<erfcx>("special.erfcx", x), x,
                            [](const Tensor& x, const Tensor& y) { return x * y * 2 - 2 * inv_sqrtpi; });
}
Tensor special_ndtr(const Tensor& x) { return erfc(mul(x, -kHalfSqrt2)) * 0.5; }
Tensor special_log_ndtr(const Tensor& x) {
  return special::with_rule("special_log_ndtr", special::map<log_ndtr>("special.log_ndtr", x), x,
                            [](const Tensor& x) { return div(kSqrt2OverPi, special_erfcx(x * -kHalfSqrt2)); });
}
Tensor special_ndtri(const Tensor& x) {
  Tensor y = special::map<ndtri>("special.ndtri", x);
  return record("special_ndtri", y, inputs(x), save(output(y)), [](const Tensor& dy, const Saved& saved) {
    return Grads{dy * exp(square(saved[0]) * 0.5) * std::sqrt(2 * pi)};
  });
}
Tensor special_entr(const Tensor& x) {
  return special::with_rule("special_entr", special::map<entr>("special.entr", x), x,
                            [](const Tensor& x) { return -(log(x) + 1); });
}

Tensor special_xlog1py(const Operand& a, const Operand& b) {
  const special::Pair p(a, b);
  broadcast_shapes("special.xlog1py", p.x.shape(), p.y.shape());
  Tensor z;
  {
    const WithGradMode off(false);
    z = where(logical_and(eq(p.x, 0), logical_not(isnan(p.y))), 0, p.x * log1p(p.y));
  }
  return record("special_xlog1py", z, broadcast(p.x, p.y), save(p.x, p.y), [](const Tensor& dz, const Saved& saved) {
    const Tensor x = saved[0], y = saved[1];
    const Tensor undefined = logical_and(eq(x, 0), le(y, -1));
    return Grads{saved.needs(0) ? dz * where(undefined, 0, log1p(where(undefined, 0, y))) : Tensor(),
                 saved.needs(1) ? dz * (x / (y + 1)) : Tensor()};
  });
}

Tensor special_zeta(const Operand& exponent, const Operand& a) {
  const special::Pair p(exponent, a);
  Tensor z = special::map_pair<zeta>("special.zeta", p);
  return record("special_zeta", z, broadcast(p.x, p.y), save(p.x, p.y), [](const Tensor& dz, const Saved& saved) {
    require<GraphError>(!saved.needs(0), "special.zeta: has no derivative by its first argument; detach() that");
    const Tensor s = saved[0];
    return Grads{Tensor(), -(dz * s * special_zeta(s + 1, saved[1]))};
  });
}

// The derivative of igamma by x, x^(a-1) exp(-x) / Gamma(a), times `sign`.
static Tensor incomplete_gamma(const char* op, Tensor z, const special::Pair& p, double sign) {
  return record(op, z, broadcast(p.x, p.y), save(p.x, p.y), [op, sign](const Tensor& dz, const Saved& saved) {
    require<GraphError>(!saved.needs(0), op, ": has no derivative by its first argument, the shape; detach() that");
    const Tensor a = saved[0], x = saved[1];
    return Grads{Tensor(), dz * exp(xlogy(a - 1, x) - x - lgamma(a)) * sign};
  });
}
Tensor igamma(const Operand& a, const Operand& x) {
  const special::Pair p(a, x);
  return incomplete_gamma("igamma", special::map_pair<gamma::lower>("igamma", p), p, 1);
}
Tensor igammac(const Operand& a, const Operand& x) {
  const special::Pair p(a, x);
  return incomplete_gamma("igammac", special::map_pair<gamma::upper>("igammac", p), p, -1);
}

Tensor log_gamma_slope(const Tensor& a, const Tensor& log_variate) {
  const WithGradMode off(false);
  return special::map_pair<gamma::log_variate_slope>("_log_gamma_slope", special::Pair(a, log_variate));
}

}  // namespace genesis::ops
