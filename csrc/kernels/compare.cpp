#include "kernels/compare.h"

#include <cmath>
#include <limits>

#include "kernels/loops.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

// Bitwise & and | in place of && and ||: no branches, so the loops vectorise.
struct Eq { template <class T> static bool apply(T a, T b) { return a == b; } };
struct Ne { template <class T> static bool apply(T a, T b) { return a != b; } };
struct Lt { template <class T> static bool apply(T a, T b) { return a < b; } };
struct Le { template <class T> static bool apply(T a, T b) { return a <= b; } };
struct And { template <class T> static bool apply(T a, T b) { return (a != 0) & (b != 0); } };
struct Or { template <class T> static bool apply(T a, T b) { return (a != 0) | (b != 0); } };
struct Xor { template <class T> static bool apply(T a, T b) { return (a != 0) ^ (b != 0); } };
struct Not { template <class T> static bool apply(T x) { return x == T(0); } };
struct IsNan { template <class T> static bool apply(T x) { return x != x; } };
struct IsInf {
  template <class T>
  static bool apply(T x) {
    if constexpr (std::is_floating_point_v<T>) return std::abs(x) == std::numeric_limits<T>::infinity();
    else return false;
  }
};
struct IsFinite {
  template <class T>
  static bool apply(T x) {
    if constexpr (std::is_floating_point_v<T>) return std::abs(x) <= std::numeric_limits<T>::max();
    else return true;
  }
};

// Logic asks each operand only whether it is zero, which the conversion to bool does.
template <class Op>
void logic(View y, View a, View b) {
  elementwise({{y, DType::Bool}, {a, DType::Bool}, {b, DType::Bool}}, binary_loop<Op, uint8_t, bool>);
}

}  // namespace

void eq(View y, View a, View b, DType in) { compare<Eq>(y, a, b, in); }
void ne(View y, View a, View b, DType in) { compare<Ne>(y, a, b, in); }
void lt(View y, View a, View b, DType in) { compare<Lt>(y, a, b, in); }
void le(View y, View a, View b, DType in) { compare<Le>(y, a, b, in); }
void gt(View y, View a, View b, DType in) { compare<Lt>(y, b, a, in); }
void ge(View y, View a, View b, DType in) { compare<Le>(y, b, a, in); }
void logical_and(View y, View a, View b) { logic<And>(y, a, b); }
void logical_or(View y, View a, View b) { logic<Or>(y, a, b); }
void logical_xor(View y, View a, View b) { logic<Xor>(y, a, b); }
void logical_not(View y, View x) { test<Not>(y, x); }
void isnan(View y, View x) { test<IsNan>(y, x); }
void isinf(View y, View x) { test<IsInf>(y, x); }
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
GENESIS_KERNEL(isfinite)

}  // namespace genesis::kernels::GENESIS_ISA
