#include "kernels/rounding.h"

#include <atomic>
#include <cmath>

#include "kernels/loops.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

constexpr int64_t kGrain = 8192;  // of divisions, which cost more than sums

struct Floor { template <class T> static T apply(T x) { return std::floor(x); } };
struct Ceil { template <class T> static T apply(T x) { return std::ceil(x); } };
struct Trunc { template <class T> static T apply(T x) { return std::trunc(x); } };
struct Round { template <class T> static T apply(T x) { return std::nearbyint(x); } };  // the default mode: ties to even
struct Frac { template <class T> static T apply(T x) { return x - std::trunc(x); } };
struct RoundScaled {
  struct Params {
    double scale;
    bool up;  // scale * x is rounded, else x / scale
  };
  template <class T>
  static T apply(T x, const Params& p) {
    const T scale = static_cast<T>(p.scale);
    return p.up ? std::nearbyint(x * scale) / scale : std::nearbyint(x / scale) * scale;
  }
};

// Chunks on several threads may meet a zero.
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
  if (b == 0) {
    zero.met.store(true, std::memory_order_relaxed);
    return 0;
  }
  return b == T(-1) ? T(0) : static_cast<T>(a % b);
}

struct DivTrunc {
  using Params = Zero;
  template <class T>
  static T apply(T a, T b, const Zero& zero) {
    if constexpr (std::is_integral_v<T>) return quotient(a, b, zero);
    else return std::trunc(a / b);
  }
};
struct DivFloor {
  using Params = Zero;
  template <class T>
  static T apply(T a, T b, const Zero& zero) {
    if constexpr (std::is_integral_v<T>) {
      const T q = quotient(a, b, zero);
      const T r = rest(a, b, zero);
      return (r != 0) & ((r < 0) != (b < 0)) ? static_cast<T>(q - 1) : q;
    } else {
      // a / b may round up to a whole number that the quotient does not reach; a - fmod(a, b) is a multiple of b.
      if (b == T(0)) return a / b;
      const T r = std::fmod(a, b);
      T q = (a - r) / b;
      if (r != T(0) && (b < T(0)) != (r < T(0))) q -= T(1);
      if (q == T(0)) return std::copysign(T(0), a / b);
      const T whole = std::floor(q);
      return q - whole > T(0.5) ? whole + T(1) : whole;
    }
  }
};
struct Remainder {
  using Params = Zero;
  template <class T>
  static T apply(T a, T b, const Zero& zero) {
    T r;
    if constexpr (std::is_integral_v<T>) r = rest(a, b, zero);
    else r = std::fmod(a, b);
    return r != T(0) && (r < T(0)) != (b < T(0)) ? static_cast<T>(r + b) : r;
  }
};
struct Fmod {
  using Params = Zero;
  template <class T>
  static T apply(T a, T b, const Zero& zero) {
    if constexpr (std::is_integral_v<T>) return rest(a, b, zero);
    else return std::fmod(a, b);
  }
};

template <class Op>
bool divide(View y, View a, View b) {
  const Zero zero;
  zip<Op>(y, a, b, &zero, kGrain);
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
bool div_trunc(View y, View a, View b) { return divide<DivTrunc>(y, a, b); }
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
