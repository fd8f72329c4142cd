#include "kernels/elementwise/power.h"

#include <cmath>
#include <limits>

#include "kernels/elementwise/half_loops.h"
#include "kernels/elementwise/vecmath.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

template <class T>
T integer_power(T base, int64_t n) {
  if (n < 0) {
    if (base == T(1)) return T(1);
    if (base == T(-1)) return n & 1 ? T(-1) : T(1);
    return T(0);
  }
  std::make_unsigned_t<T> result = 1, square = static_cast<std::make_unsigned_t<T>>(base);
  for (uint64_t rest = static_cast<uint64_t>(n); rest; rest >>= 1) {
    if (rest & 1) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

struct Pow {
  template <class T>
  static T apply(T x, T y) {
    if constexpr (std::is_integral_v<T>) return integer_power(x, static_cast<int64_t>(y));
    else return vpow(x, y);
  }
};
struct PowScalar {
  struct Params {
    double exponent;
  };
  template <class T>
  static T apply(T x, const Params& p) {
    return Pow::apply(x, static_cast<T>(p.exponent));
  }
};

// x^(Twice / 2) for a constant Twice.
template <int Twice>
struct Fixed {
  template <class T>
  static T apply(T x) {
    if constexpr (Twice == 0) return T(1);
    else if constexpr (Twice == 1) return std::is_floating_point_v<T> ? root(x) : x;
    else if constexpr (Twice == 2) return x;
    else if constexpr (Twice == 4) return x * x;
    else if constexpr (Twice == 6) return x * x * x;
    else if constexpr (Twice == 8) return (x * x) * (x * x);
    else return T(1) / Fixed<-Twice>::apply(x);
  }
  // Unlike the square root, pow(-0, 1/2) is +0 and pow(-inf, 1/2) is inf.
  template <class T>
  static T root(T x) {
    const T r = std::sqrt(x) + T(0);
    return x == -std::numeric_limits<T>::infinity() ? std::numeric_limits<T>::infinity() : r;
  }
};

// dy * c * Power(x)
template <int Twice>
struct FixedBackward {
  struct Params {
    double c;
  };
  template <class T>
  static T apply(T dy, T x, const Params& p) {
    return dy * (T(p.c) * Fixed<Twice>::apply(x));
  }
};
struct PowScalarBackward {
  struct Params {
    double c, exponent;
  };
  template <class T>
  static T apply(T dy, T x, const Params& p) {
    return dy * (T(p.c) * vpow(x, T(p.exponent)));
  }
};

struct XLogY {
  template <class T>
  static T apply(T a, T b) {
    const T product = a * vlog(b);
    return ((a == T(0)) & (b == b)) ? T(0) : product;
  }
};

// Calls f.template operator()<Twice>() if there is a Fixed<Twice> for `exponent`.
template <class F>
bool with_fixed(double exponent, F&& f) {
  const double twice = 2 * exponent;
  if (!(twice >= -8 && twice <= 8) || twice != static_cast<int>(twice)) return false;
  switch (static_cast<int>(twice)) {
    case -8: f.template operator()<-8>(); return true;
    case -6: f.template operator()<-6>(); return true;
    case -4: f.template operator()<-4>(); return true;
    case -2: f.template operator()<-2>(); return true;
    case -1: f.template operator()<-1>(); return true;
    case 0: f.template operator()<0>(); return true;
    case 1: f.template operator()<1>(); return true;
    case 2: f.template operator()<2>(); return true;
    case 4: f.template operator()<4>(); return true;
    case 6: f.template operator()<6>(); return true;
    case 8: f.template operator()<8>(); return true;
    default: return false;
  }
}

}  // namespace

void pow(View y, View a, View b) { zip<Pow>(y, a, b, nullptr, kHeavyGrain); }
GENESIS_KERNEL(pow)
void xlogy(View y, View a, View b) { zip_floating<XLogY>(y, a, b, nullptr, kHeavyGrain); }
GENESIS_KERNEL(xlogy)

void pow_scalar(View y, View x, double exponent) {
  if (exponent == 2 && on_halves<Fixed<4>>(y.dtype, y, nullptr, x)) return;
  if (is_floating(y.dtype) && with_fixed(exponent, [&]<int Twice>() { map_floating<Fixed<Twice>>(y, x); })) return;
  const PowScalar::Params params{exponent};
  map<PowScalar>(y, x, &params, kHeavyGrain);
}
GENESIS_KERNEL(pow_scalar)

void pow_scalar_backward(View dx, View dy, View x, double exponent) {
  const bool done = with_fixed(exponent - 1, [&]<int Twice>() {
    const typename FixedBackward<Twice>::Params params{exponent};
    zip_floating<FixedBackward<Twice>>(dx, dy, x, &params);
  });
  if (done) return;
  const PowScalarBackward::Params params{exponent, exponent - 1};
  zip_floating<PowScalarBackward>(dx, dy, x, &params, kHeavyGrain);
}
GENESIS_KERNEL(pow_scalar_backward)

}  // namespace genesis::kernels::GENESIS_ISA
