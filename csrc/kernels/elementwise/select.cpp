#include "kernels/elementwise/select.h"

#include <limits>

#include "kernels/elementwise/half_loops.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

struct Where {
  template <class T>
  static T apply(uint8_t c, T a, T b) {
    return c ? a : b;
  }
};
// x != x is always false for integers, so the compiler removes it.
struct Maximum {
  template <class T>
  static T apply(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
  }
};
struct Minimum {
  template <class T>
  static T apply(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
  }
};
// Returns the second operand unless it is NaN or loses; ties return the first.
struct Fmax {
  template <class T>
  static T apply(T a, T b) {
    return ((a >= b) | (b != b)) ? a : b;
  }
};
struct Fmin {
  template <class T>
  static T apply(T a, T b) {
    return ((a <= b) | (b != b)) ? a : b;
  }
};
struct Heaviside {
  template <class T>
  static T apply(T a, T b) {
    return a == T(0) ? b : T(a > T(0));
  }
};
struct NanToNum {
  struct Params {
    double nan, posinf, neginf;
  };
  template <class T>
  static T apply(T x, const Params& p) {
    constexpr T inf = std::numeric_limits<T>::infinity();
    T y = x == inf ? T(p.posinf) : x;
    y = x == -inf ? T(p.neginf) : y;
    return x != x ? T(p.nan) : y;
  }
};
struct Clamp {
  template <class T>
  static T apply(T x, T lo, T hi) {
    T y = x < lo ? lo : x;
    y = y > hi ? hi : y;
    y = lo != lo ? lo : y;
    return hi != hi ? hi : y;
  }
};
struct ClampNumbers {
  using Params = Bounds;
  template <class T>
  static T apply(T x, const Bounds& p) {
    using E = Element<T>;
    E lo, hi;
    if constexpr (std::is_integral_v<T>) lo = static_cast<E>(p.whole_lo), hi = static_cast<E>(p.whole_hi);
    else lo = static_cast<E>(p.lo), hi = static_cast<E>(p.hi);
    const T y = x < lo ? lo : x;
    return y > hi ? hi : y;
  }
};
struct Share {
  template <class T>
  static T apply(T dy, T a, T b) {
    const T part = a == b ? dy * T(0.5) : dy;
    return a < b ? T(0) : part;
  }
};
struct Within {
  struct Params {
    double lo, hi;
  };
  template <class T>
  static T apply(T dy, T x, const Params& p) {
    return ((x >= T(p.lo)) & (x <= T(p.hi))) ? dy : T(0);
  }
};

}  // namespace

using Wide = std::complex<double>;

// Only the element size matters: values are copied.
void where(View y, View c, View a, View b) {
  Inner inner = nullptr;
  switch (itemsize(y.dtype)) {
    case 1: inner = ternary_loop<Where, uint8_t, uint8_t, uint8_t, uint8_t>; break;
    case 2: inner = ternary_loop<Where, uint8_t, uint16_t, uint16_t, uint16_t>; break;
    case 4: inner = ternary_loop<Where, uint8_t, uint32_t, uint32_t, uint32_t>; break;
    case 8: inner = ternary_loop<Where, uint8_t, uint64_t, uint64_t, uint64_t>; break;
    default: inner = ternary_loop<Where, uint8_t, Wide, Wide, Wide>; break;
  }
  elementwise({{y, y.dtype}, {c, DType::Bool}, {a, y.dtype}, {b, y.dtype}}, inner);
}
void maximum(View y, View a, View b) {
  if (!on_halves<Maximum>(y.dtype, y, nullptr, a, b)) zip_own<Maximum>(y, a, b);
}
void minimum(View y, View a, View b) {
  if (!on_halves<Minimum>(y.dtype, y, nullptr, a, b)) zip_own<Minimum>(y, a, b);
}
void fmax(View y, View a, View b) { zip_own<Fmax>(y, a, b); }
void fmin(View y, View a, View b) { zip_own<Fmin>(y, a, b); }
void heaviside(View y, View a, View b) { zip<Heaviside>(y, a, b); }
void nan_to_num(View y, View x, double nan, double posinf, double neginf) {
  const NanToNum::Params params{nan, posinf, neginf};
  map_floating<NanToNum>(y, x, &params);
}
void clamp(View y, View x, View lo, View hi) { zip3<Clamp>(y, x, lo, hi); }
void clamp_numbers(View y, View x, Bounds bounds) {
  if (!on_halves<ClampNumbers>(y.dtype, y, &bounds, x)) map<ClampNumbers>(y, x, &bounds);
}
void share(View da, View dy, View a, View b) { zip3_floating<Share>(da, dy, a, b); }
void within(View dx, View dy, View x, double lo, double hi) {
  const Within::Params params{lo, hi};
  zip_floating<Within>(dx, dy, x, &params);
}
GENESIS_KERNEL(where)
GENESIS_KERNEL(maximum)
GENESIS_KERNEL(minimum)
GENESIS_KERNEL(fmax)
GENESIS_KERNEL(fmin)
GENESIS_KERNEL(heaviside)
GENESIS_KERNEL(nan_to_num)
GENESIS_KERNEL(clamp)
GENESIS_KERNEL(clamp_numbers)
GENESIS_KERNEL(share)
GENESIS_KERNEL(within)

}  // namespace genesis::kernels::GENESIS_ISA
