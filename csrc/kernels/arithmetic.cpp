#include "kernels/arithmetic.h"

#include "kernels/loops.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {
// bool computes in uint8 and is stored as != 0, so + is `or` and * is `and`.
struct Add {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
    else return a + b;
  }
};
struct Sub {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(std::make_unsigned_t<T>(a) - std::make_unsigned_t<T>(b));
    else return a - b;
  }
};
struct Mul {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(std::make_unsigned_t<T>(a) * std::make_unsigned_t<T>(b));
    else return a * b;
  }
};
struct Div {
  template <class T>
  static T apply(T a, T b) {
    return a / b;
  }
};
}  // namespace

void add(View y, View a, View b) { zip<Add>(y, a, b); }
void sub(View y, View a, View b) { zip<Sub>(y, a, b); }
void mul(View y, View a, View b) { zip<Mul>(y, a, b); }
void div(View y, View a, View b) { zip_floating<Div>(y, a, b); }
GENESIS_KERNEL(add)
GENESIS_KERNEL(sub)
GENESIS_KERNEL(mul)
GENESIS_KERNEL(div)

}  // namespace genesis::kernels::GENESIS_ISA
