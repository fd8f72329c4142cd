#include "kernels/elementwise/rounding.h"

#include <atomic>
#include <cmath>
#include <limits>

#include "kernels/elementwise/loops.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

// clang-format off
struct Floor { template <class T> static T apply(T x) { return std::floor(x); } };
struct Ceil { template <class T> static T apply(T x) { return std::ceil(x); } };
struct Trunc { template <class T> static T apply(T x) { return std::trunc(x); } };
// clang-format on
struct Round {
  template <class T> static T apply(T x) { return std::nearbyint(x); }
};  // the default mode: ties to even
struct Frac {
  template <class T> static T apply(T x) { return x - std::trunc(x); }
};
struct RoundScaled {
  struct Params {
    double scale;
    bool up;  // round scale * x, otherwise x / scale
  };
  template <class T>
  static T apply(T x, const Params& p) {
    const T scale = static_cast<T>(p.scale);
    return p.up ? std::nearbyint(x * scale) / scale : std::nearbyint(x / scale) * scale;
  }
};

// Set if any thread encounters a zero divisor.
struct Zero {
  mutable std::atomic<bool> met = false;
};

// Integer division that never traps: b = 0 is reported, and a / -1 wraps around.
template <class T>
T quotient(T a, T b, const Zero& zero) {
  if (b == 0) {
    zero.met.store(true, std::memory_order_relaxed);
    return 0;
  }
  if (b == T(-1)) return static_cast<T>(std::make_unsigned_t<T>(0) - std::make_unsigned_t<T>(a));
  return static_cast<T>(a / b);
}
template <class T>
T rest(T a, T b, const Zero& zero) {
  using U = std::make_unsigned_t<T>;
  return static_cast<T>(U(a) - U(quotient(a, b, zero)) * U(b));
}

// Floating-point division is difficult if the quotient is huge or an operand is not finite. Otherwise the integer
// quotient and the remainder are exact without a branch: for float32 in float64, which represents their product; for
// float64 with a fused multiply-add, after which the quotient may be off by one.
template <class T>
struct Whole {
  T quotient, rest;
};
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
constexpr bool kFused = true;
#else
constexpr bool kFused = false;
#endif
template <class T>
inline constexpr bool has_easy_division = std::is_same_v<T, float> || kFused;

template <class T>
[[gnu::always_inline]] inline bool easy(T a, T b) {
  constexpr T limit = std::is_same_v<T, float> ? T(0x1p27) : T(0x1p51);
  const bool exact = std::abs(a / b) < limit, finite = std::abs(b) <= std::numeric_limits<T>::max();
  return exact & finite;  // without a branch
}
template <bool Floor, class T>
[[gnu::always_inline]] inline Whole<T> divide_easily(T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    const double x = a, y = b;
    const double q = Floor ? std::floor(x / y) : std::trunc(x / y);
    return {static_cast<float>(q), static_cast<float>(x - q * y)};
  } else {
    T q = Floor ? std::floor(a / b) : std::trunc(a / b);
    T r = std::fma(-q, b, a);
    // Correct the quotient: the remainder must have the sign of b (of a, if not Floor) and be smaller than b in
    // magnitude.
    const T one = Floor ? T(1) : std::copysign(T(1), a) * std::copysign(T(1), b);
    const T step = one * b;
    const bool below = r * step < T(0), above = std::abs(r) >= std::abs(b);
    q = below ? q - one : above ? q + one : q;
    r = below ? r + step : above ? r - step : r;
    return {q, r};
  }
}

// Each functor has two versions for floats, `easily` and `carefully`, and one for integers.
struct DivFloor {
  template <class T>
  static T whole(T a, T b, const Zero& zero) {
    const T q = quotient(a, b, zero);
    using U = std::make_unsigned_t<T>;
    const T r = static_cast<T>(U(a) - U(q) * U(b));
    return ((r != 0) & ((r < 0) != (b < 0))) ? static_cast<T>(q - 1) : q;
  }
  template <class T>
  static T easily(T a, T b) {
    return divide_easily<true>(a, b).quotient;
  }
  // a / b may round up to an integer above the quotient; a - fmod(a, b) is a multiple of b.
  template <class T>
  static T carefully(T a, T b) {
    if (b == T(0)) return a / b;
    const T r = std::fmod(a, b);
    T q = (a - r) / b;
    if (r != T(0) && (b < T(0)) != (r < T(0))) q -= T(1);
    if (q == T(0)) return std::copysign(T(0), a / b);
    const T whole = std::floor(q);
    return q - whole > T(0.5) ? whole + T(1) : whole;
  }
};
struct Remainder {
  template <class T>
  static T whole(T a, T b, const Zero& zero) {
    const T r = rest(a, b, zero);
    return ((r != 0) & ((r < 0) != (b < 0))) ? static_cast<T>(r + b) : r;
  }
  template <class T>
  static T easily(T a, T b) {
    return std::copysign(divide_easily<true>(a, b).rest, b);
  }
  template <class T>
  static T carefully(T a, T b) {
    const T r = std::fmod(a, b);
    if (r == T(0)) return std::copysign(r, b);
    return (r < T(0)) != (b < T(0)) ? r + b : r;
  }
};
struct Fmod {
  template <class T>
  static T whole(T a, T b, const Zero& zero) {
    return rest(a, b, zero);
  }
  template <class T>
  static T easily(T a, T b) {
    return std::copysign(divide_easily<false>(a, b).rest, a);
  }
  template <class T>
  static T carefully(T a, T b) {
    return std::fmod(a, b);
  }
};
struct DivTrunc {
  template <class T>
  static T whole(T a, T b, const Zero& zero) {
    return quotient(a, b, zero);
  }
  template <class T>
  static T apply(T a, T b) {
    return std::trunc(a / b);
  }
};

template <class Op>
struct OnIntegers {
  using Params = Zero;
  template <class T>
  static T apply(T a, T b, const Zero& zero) {
    return Op::whole(a, b, zero);
  }
};

// Blocks without difficult divisions take the fast path; the others are few.
template <class Op, class T>
void division_loop(char* const* data, unsigned scalars, int64_t n, const void*) {
  constexpr int64_t kBlock = 128;
  T* y = reinterpret_cast<T*>(data[0]);
  const T* a = reinterpret_cast<const T*>(data[1]);
  const T* b = reinterpret_cast<const T*>(data[2]);
  T spread_a[kBlock], spread_b[kBlock];
  if (scalars & 2) std::fill_n(spread_a, kBlock, *a);
  if (scalars & 4) std::fill_n(spread_b, kBlock, *b);
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t m = std::min(kBlock, n - begin);
    const T* u = scalars & 2 ? spread_a : a + begin;
    const T* v = scalars & 4 ? spread_b : b + begin;
    T* out = y + begin;
    int hard = !has_easy_division<T>;
    if constexpr (has_easy_division<T>)
      for (int64_t i = 0; i < m; ++i) hard |= !easy(u[i], v[i]);
    if (hard) {
      for (int64_t i = 0; i < m; ++i) out[i] = Op::carefully(u[i], v[i]);
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < m; ++i) out[i] = Op::easily(u[i], v[i]);
    }
  }
}

template <class Op>
bool divide(View y, View a, View b) {
  const Zero zero;
  const DType t = compute_type(y.dtype);
  Inner inner;
  switch (t) {
    case DType::Float64: inner = division_loop<Op, double>; break;
    case DType::Float32: inner = division_loop<Op, float>; break;
    case DType::Int64: inner = binary_loop<OnIntegers<Op>, int64_t, int64_t>; break;
    case DType::UInt8:
    case DType::Int32: inner = binary_loop<OnIntegers<Op>, int32_t, int32_t>; break;
    default: unsupported(y.dtype);
  }
  elementwise({{y, t}, {a, t}, {b, t}}, inner, &zero, kHeavyGrain);
  return zero.met;
}

}  // namespace

void floor(View y, View x) { map_floating<Floor>(y, x); }
void ceil(View y, View x) { map_floating<Ceil>(y, x); }
void trunc(View y, View x) { map_floating<Trunc>(y, x); }
void round(View y, View x) { map_floating<Round>(y, x); }
void frac(View y, View x) { map_floating<Frac>(y, x); }
void round_decimals(View y, View x, int64_t decimals) {
  const RoundScaled::Params params{std::pow(10.0, static_cast<double>(std::abs(decimals))), decimals > 0};
  map_floating<RoundScaled>(y, x, &params);
}
bool div_floor(View y, View a, View b) { return divide<DivFloor>(y, a, b); }
bool div_trunc(View y, View a, View b) {
  if (is_floating(y.dtype)) {
    zip_floating<DivTrunc>(y, a, b);
    return false;
  }
  if (!is_integral(y.dtype)) unsupported(y.dtype);
  const Zero zero;
  const DType t = compute_type(y.dtype);
  elementwise({{y, t}, {a, t}, {b, t}},
              t == DType::Int64 ? binary_loop<OnIntegers<DivTrunc>, int64_t, int64_t>
                                : binary_loop<OnIntegers<DivTrunc>, int32_t, int32_t>,
              &zero, kHeavyGrain);
  return zero.met;
}
bool remainder(View y, View a, View b) { return divide<Remainder>(y, a, b); }
bool fmod(View y, View a, View b) { return divide<Fmod>(y, a, b); }
GENESIS_KERNEL(floor)
GENESIS_KERNEL(ceil)
GENESIS_KERNEL(trunc)
GENESIS_KERNEL(round)
GENESIS_KERNEL(frac)
GENESIS_KERNEL(round_decimals)
GENESIS_KERNEL(div_floor)
GENESIS_KERNEL(div_trunc)
GENESIS_KERNEL(remainder)
GENESIS_KERNEL(fmod)

}  // namespace genesis::kernels::GENESIS_ISA
