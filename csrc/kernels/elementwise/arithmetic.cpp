#include "kernels/elementwise/arithmetic.h"

#include <cmath>

#include "kernels/elementwise/half_loops.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

// Integers are computed as unsigned, for which overflow is defined to wrap around.
template <class T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

struct Add {
  template <class T>
  static T apply(T a, T b) {
    using U = Wrapping<T>;
    return static_cast<T>(U(a) + U(b));
  }
};
struct Sub {
  template <class T>
  static T apply(T a, T b) {
    using U = Wrapping<T>;
    return static_cast<T>(U(a) - U(b));
  }
};
struct Mul {
  template <class T>
  static T apply(T a, T b) {
    using U = Wrapping<T>;
    return static_cast<T>(U(a) * U(b));
  }
};
struct Div {
  template <class T>
  static T apply(T a, T b) {
    return a / b;
  }
};
struct AddScaled {
  using Params = Factor;
  template <class T>
  static T apply(T a, T b, const Factor& alpha) {
    using U = Wrapping<T>;
    if constexpr (std::is_integral_v<T>) return static_cast<T>(U(a) + U(alpha.whole) * U(b));
    else return a + T(alpha.real) * b;
  }
};
struct Neg {
  template <class T>
  static T apply(T x) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(Wrapping<T>(0) - Wrapping<T>(x));
    else return -x;
  }
};
struct Abs {
  template <class T>
  static T apply(T x) {
    if constexpr (std::is_floating_point_v<T>) return std::abs(x);
    else return x < T(0) ? Neg::apply(x) : x;
  }
};
// For half precision, the sign is one bit, so no conversion is needed.
struct FlipSign {
  template <class T>
  static T apply(T x) {
    return static_cast<T>(x ^ T(INT16_MIN));
  }
};
struct ClearSign {
  template <class T>
  static T apply(T x) {
    return static_cast<T>(x & T(INT16_MAX));
  }
};
template <class Op>
bool map_bits(View y, View x) {
  if (y.dtype != x.dtype || (y.dtype != DType::Float16 && y.dtype != DType::BFloat16)) return false;
  y.dtype = x.dtype = DType::Int16;
  elementwise({{y, DType::Int16}, {x, DType::Int16}}, unary_loop<Op, int16_t, int16_t>);
  return true;
}
struct Sign {
  template <class T>
  static T apply(T x) {
    return static_cast<T>(T(x > T(0)) - T(x < T(0)));
  }
};
struct Square {
  template <class T>
  static T apply(T x) {
    return Mul::apply(x, x);
  }
};
struct Reciprocal {
  template <class T>
  static T apply(T x) {
    return T(1) / x;
  }
};

}  // namespace

void add(View y, View a, View b) {
  if (!on_halves<Add>(y.dtype, y, nullptr, a, b)) zip_own<Add>(y, a, b);
}
void sub(View y, View a, View b) {
  if (!on_halves<Sub>(y.dtype, y, nullptr, a, b)) zip_own<Sub>(y, a, b);
}
void mul(View y, View a, View b) {
  if (!on_halves<Mul>(y.dtype, y, nullptr, a, b)) zip_own<Mul>(y, a, b);
}
void div(View y, View a, View b) {
  if (!on_halves<Div>(y.dtype, y, nullptr, a, b)) zip_floating<Div>(y, a, b);
}
void add_scaled(View y, View a, View b, Factor alpha) { zip<AddScaled>(y, a, b, &alpha); }
void neg(View y, View x) {
  if (!map_bits<FlipSign>(y, x)) map_own<Neg>(y, x);
}
void abs(View y, View x) {
  if (!map_bits<ClearSign>(y, x)) map_own<Abs>(y, x);
}
void sign(View y, View x) { map_own<Sign>(y, x); }
void square(View y, View x) {
  if (!on_halves<Mul>(y.dtype, y, nullptr, x, x)) map<Square>(y, x);
}
void reciprocal(View y, View x) { map_floating<Reciprocal>(y, x); }
GENESIS_KERNEL(add)
GENESIS_KERNEL(sub)
GENESIS_KERNEL(mul)
GENESIS_KERNEL(div)
GENESIS_KERNEL(add_scaled)
GENESIS_KERNEL(neg)
GENESIS_KERNEL(abs)
GENESIS_KERNEL(sign)
GENESIS_KERNEL(square)
GENESIS_KERNEL(reciprocal)

}  // namespace genesis::kernels::GENESIS_ISA
