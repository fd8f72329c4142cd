#include "kernels/elementwise/compare.h"

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/elementwise/half_loops.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

// Bitwise & and | instead of && and || avoid branches, so the loops vectorize.
// clang-format off
struct Eq { template <class T> static auto apply(T a, T b) { return a == b; } };
struct Ne { template <class T> static auto apply(T a, T b) { return a != b; } };
struct Lt { template <class T> static auto apply(T a, T b) { return a < b; } };
struct Le { template <class T> static auto apply(T a, T b) { return a <= b; } };
struct And { template <class T> static bool apply(T a, T b) { return (a != 0) & (b != 0); } };
struct Or { template <class T> static bool apply(T a, T b) { return (a != 0) | (b != 0); } };
struct Xor { template <class T> static bool apply(T a, T b) { return (a != 0) ^ (b != 0); } };
struct Not { template <class T> static bool apply(T x) { return x == T(0); } };
struct IsNan { template <class T> static bool apply(T x) { return x != x; } };
// clang-format on
struct IsInf {
  template <class T>
  static bool apply(T x) {
    if constexpr (std::is_floating_point_v<T>) return std::abs(x) == std::numeric_limits<T>::infinity();
    else return false;
  }
};
template <int Sign>
struct IsSignedInf {
  template <class T>
  static bool apply(T x) {
    if constexpr (std::is_floating_point_v<T>) return x == Sign * std::numeric_limits<T>::infinity();
    else return false;
  }
};
struct SignBit {
  template <class T>
  static bool apply(T x) {
    if constexpr (std::is_same_v<T, float>) return std::bit_cast<int32_t>(x) < 0;
    else if constexpr (std::is_same_v<T, double>) return std::bit_cast<int64_t>(x) < 0;
    else return x < T(0);
  }
};
struct IsFinite {
  template <class T>
  static bool apply(T x) {
    if constexpr (std::is_floating_point_v<T>) return std::abs(x) <= std::numeric_limits<T>::max();
    else return true;
  }
};

struct IsClose {
  struct Params {
    double rtol, atol;
    bool equal_nan;
  };
  template <class T>
  static bool apply(T a, T b, const Params& p) {
    const T distance = std::abs(a - b), allowed = T(p.atol) + T(p.rtol) * std::abs(b);
    const bool near = (distance <= allowed) & (distance <= std::numeric_limits<T>::max());
    return near | (a == b) | (p.equal_nan & (a != a) & (b != b));
  }
};

template <class Op>
void relate(View y, View a, View b, DType in) {
  if (!on_halves<Op>(in, y, nullptr, a, b)) compare<Op>(y, a, b, in);
}

// Logical operations only need to know whether an operand is zero, which the conversion to bool computes.
template <class Op>
void logic(View y, View a, View b) {
  elementwise({{y, DType::Bool}, {a, DType::Bool}, {b, DType::Bool}}, binary_loop<Op, uint8_t, bool>);
}

}  // namespace

void eq(View y, View a, View b, DType in) { relate<Eq>(y, a, b, in); }
void ne(View y, View a, View b, DType in) { relate<Ne>(y, a, b, in); }
void lt(View y, View a, View b, DType in) { relate<Lt>(y, a, b, in); }
void le(View y, View a, View b, DType in) { relate<Le>(y, a, b, in); }
void gt(View y, View a, View b, DType in) { relate<Lt>(y, b, a, in); }
void ge(View y, View a, View b, DType in) { relate<Le>(y, b, a, in); }
void logical_and(View y, View a, View b) { logic<And>(y, a, b); }
void logical_or(View y, View a, View b) { logic<Or>(y, a, b); }
void logical_xor(View y, View a, View b) { logic<Xor>(y, a, b); }
void logical_not(View y, View x) { test<Not>(y, x); }
void isnan(View y, View x) { test<IsNan>(y, x); }
void isinf(View y, View x) { test<IsInf>(y, x); }
void isposinf(View y, View x) { test<IsSignedInf<1>>(y, x); }
void isneginf(View y, View x) { test<IsSignedInf<-1>>(y, x); }
void signbit(View y, View x) { test<SignBit>(y, x); }
void isclose(View y, View a, View b, DType in, double rtol, double atol, bool equal_nan) {
  const IsClose::Params params{rtol, atol, equal_nan};
  const DType t = compute_type(in);
  const Inner inner = with_floating_compute_type(in, []<class T>() -> Inner { return binary_loop<IsClose, T, bool>; });
  elementwise({{y, DType::Bool}, {a, t}, {b, t}}, inner, &params);
}
void isfinite(View y, View x) { test<IsFinite>(y, x); }
GENESIS_KERNEL(eq)
GENESIS_KERNEL(ne)
GENESIS_KERNEL(lt)
GENESIS_KERNEL(le)
GENESIS_KERNEL(gt)
GENESIS_KERNEL(ge)
GENESIS_KERNEL(logical_and)
GENESIS_KERNEL(logical_or)
GENESIS_KERNEL(logical_xor)
GENESIS_KERNEL(logical_not)
GENESIS_KERNEL(isnan)
GENESIS_KERNEL(isinf)
GENESIS_KERNEL(isposinf)
GENESIS_KERNEL(isneginf)
GENESIS_KERNEL(signbit)
GENESIS_KERNEL(isclose)
GENESIS_KERNEL(isfinite)

}  // namespace genesis::kernels::GENESIS_ISA
