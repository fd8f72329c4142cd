#include "kernels/elementwise/bitwise.h"

#include "kernels/elementwise/loops.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

// clang-format off
struct And { template <class T> static T apply(T a, T b) { return static_cast<T>(a & b); } };
struct Or { template <class T> static T apply(T a, T b) { return static_cast<T>(a | b); } };
struct Xor { template <class T> static T apply(T a, T b) { return static_cast<T>(a ^ b); } };
struct Not { template <class T> static T apply(T x) { return static_cast<T>(~x); } };
// clang-format on
struct LeftShift {
  template <class T>
  static T apply(T a, T b) {
    const bool out = (b < 0) | (b >= T(8 * sizeof(T)));
    const T by = out ? T(0) : b;
    return out ? T(0) : static_cast<T>(std::make_unsigned_t<T>(a) << by);
  }
};
struct RightShift {
  template <class T>
  static T apply(T a, T b) {
    constexpr T last = 8 * sizeof(T) - 1;
    return static_cast<T>(a >> (((b < 0) | (b > last)) ? last : b));
  }
};
template <class T>
std::make_unsigned_t<T> magnitude(T x) {
  const std::make_unsigned_t<T> u = static_cast<std::make_unsigned_t<T>>(x);
  return x < 0 ? 0 - u : u;
}
struct Gcd {
  template <class T>
  static T apply(T a, T b) {
    auto u = magnitude(a), v = magnitude(b);
    while (v != 0) {
      const auto r = u % v;
      u = v;
      v = r;
    }
    return static_cast<T>(u);
  }
};
struct Lcm {
  template <class T>
  static T apply(T a, T b) {
    const T g = Gcd::apply(a, b);
    // The product wraps around on overflow; magnitude() removes the sign again.
    return g == 0 ? T(0) : static_cast<T>(magnitude(static_cast<T>(magnitude(a) / magnitude(g) * magnitude(b))));
  }
};

template <class F>
Inner with_bits(DType t, F&& f) {
  switch (t) {
    case DType::Bool: return f.template operator()<uint8_t>();
    case DType::UInt8: return f.template operator()<uint8_t>();
    case DType::Int8: return f.template operator()<int8_t>();
    case DType::Int16: return f.template operator()<int16_t>();
    case DType::Int32: return f.template operator()<int32_t>();
    case DType::Int64: return f.template operator()<int64_t>();
    default: unsupported(t);
  }
}
template <class F>
Inner with_integer(DType t, F&& f) {
  if (!is_integral(t)) unsupported(t);
  return compute_type(t) == DType::Int64 ? f.template operator()<int64_t>() : f.template operator()<int32_t>();
}
template <class Op>
void zip_integer(View y, View a, View b) {
  const DType t = compute_type(y.dtype);
  elementwise({{y, t}, {a, t}, {b, t}},
              with_integer(y.dtype, []<class T>() -> Inner { return binary_loop<Op, T, T>; }));
}
// A bool is a byte of 0 or 1, which &, | and ^ preserve, so no conversion is needed.
template <class Op>
void zip_bits(View y, View a, View b) {
  const DType t = y.dtype == DType::Bool ? DType::Bool : own_type(y.dtype);
  elementwise({{y, t}, {a, t}, {b, t}}, with_bits(y.dtype, []<class T>() -> Inner { return binary_loop<Op, T, T>; }));
}

}  // namespace

void bitwise_and(View y, View a, View b) { zip_bits<And>(y, a, b); }
void bitwise_or(View y, View a, View b) { zip_bits<Or>(y, a, b); }
void bitwise_xor(View y, View a, View b) { zip_bits<Xor>(y, a, b); }
void bitwise_not(View y, View x) {
  const DType t = own_type(y.dtype);
  elementwise({{y, t}, {x, t}}, with_bits(y.dtype, []<class T>() -> Inner { return unary_loop<Not, T, T>; }));
}
void left_shift(View y, View a, View b) { zip_integer<LeftShift>(y, a, b); }
void right_shift(View y, View a, View b) { zip_integer<RightShift>(y, a, b); }
void gcd(View y, View a, View b) { zip_integer<Gcd>(y, a, b); }
void lcm(View y, View a, View b) { zip_integer<Lcm>(y, a, b); }
GENESIS_KERNEL(bitwise_and)
GENESIS_KERNEL(bitwise_or)
GENESIS_KERNEL(bitwise_xor)
GENESIS_KERNEL(bitwise_not)
GENESIS_KERNEL(left_shift)
GENESIS_KERNEL(right_shift)
GENESIS_KERNEL(gcd)
GENESIS_KERNEL(lcm)

}  // namespace genesis::kernels::GENESIS_ISA
