#include "kernels/elementwise/binary.h"

#include <cmath>
#include <limits>

#include "kernels/elementwise/half_loops.h"
#include "kernels/elementwise/vecmath.h"
#include "kernels/elementwise/vectrig.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

// clang-format off
struct Atan2 { template <class T> static T apply(T y, T x) { return vatan2(y, x); } };
struct Hypot { template <class T> static T apply(T a, T b) { return vhypot(a, b); } };
struct CopySign { template <class T> static T apply(T a, T b) { return std::copysign(a, b); } };
// clang-format on

// max + log(1 + exp(-|a - b|)). Equal infinities are handled separately because inf - inf is NaN.
struct LogAddExp {
  template <class T>
  static T apply(T a, T b) {
    const T larger = a > b ? a : b, distance = std::abs(a - b);
    const T sum = larger + vlog1p(vexp(-distance));
    return a == b ? a + T(0.69314718055994530942) : sum;
  }
};
struct LogAddExp2 {
  template <class T>
  static T apply(T a, T b) {
    const T larger = a > b ? a : b, distance = std::abs(a - b);
    const T sum = larger + T(1.44269504088896340736) * vlog1p(vexp2(-distance));
    return a == b ? a + T(1) : sum;
  }
};

// Starts from the nearer end, so that weight 1 returns exactly b.
struct Lerp {
  template <class T>
  static T apply(T a, T b, T weight) {
    constexpr Element<T> one = 1, half = 0.5;
    const T d = b - a;
    const T from_a = a + weight * d, from_b = b - d * (one - weight);
    return ((weight > -half) & (weight < half)) ? from_a : from_b;
  }
};
struct AddCMul {
  struct Params {
    double value;
  };
  template <class T>
  static T apply(T x, T a, T b, const Params& p) {
    return x + Element<T>(p.value) * a * b;
  }
};
struct AddCDiv {
  using Params = AddCMul::Params;
  template <class T>
  static T apply(T x, T a, T b, const Params& p) {
    return x + Element<T>(p.value) * a / b;
  }
};
struct AddCMulInteger {
  struct Params {
    int64_t value;
  };
  template <class T>
  static T apply(T x, T a, T b, const Params& p) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(U(x) + U(p.value) * U(a) * U(b));
  }
};

}  // namespace

void atan2(View y, View a, View b) { zip_floating<Atan2>(y, a, b, nullptr, kHeavyGrain); }
void hypot(View y, View a, View b) { zip_floating<Hypot>(y, a, b, nullptr, kHeavyGrain); }
void copysign(View y, View a, View b) { zip_floating<CopySign>(y, a, b); }
void logaddexp(View y, View a, View b) { zip_floating<LogAddExp>(y, a, b, nullptr, kHeavyGrain); }
void logaddexp2(View y, View a, View b) { zip_floating<LogAddExp2>(y, a, b, nullptr, kHeavyGrain); }
void lerp(View y, View a, View b, View weight) {
  if (!on_halves<Lerp>(y.dtype, y, nullptr, a, b, weight)) zip3_floating<Lerp>(y, a, b, weight);
}
void addcmul(View y, View x, View a, View b, double value) {
  const AddCMul::Params params{value};
  if (!on_halves<AddCMul>(y.dtype, y, &params, x, a, b)) zip3_floating<AddCMul>(y, x, a, b, &params);
}
void addcdiv(View y, View x, View a, View b, double value) {
  const AddCDiv::Params params{value};
  if (!on_halves<AddCDiv>(y.dtype, y, &params, x, a, b)) zip3_floating<AddCDiv>(y, x, a, b, &params);
}
void addcmul_integer(View y, View x, View a, View b, int64_t value) {
  const AddCMulInteger::Params params{value};
  const DType t = compute_type(y.dtype);
  elementwise({{y, t}, {x, t}, {a, t}, {b, t}},
              t == DType::Int64 ? ternary_loop<AddCMulInteger, int64_t, int64_t, int64_t, int64_t>
                                : ternary_loop<AddCMulInteger, int32_t, int32_t, int32_t, int32_t>,
              &params);
}
GENESIS_KERNEL(atan2)
GENESIS_KERNEL(hypot)
GENESIS_KERNEL(copysign)
GENESIS_KERNEL(logaddexp)
GENESIS_KERNEL(logaddexp2)
GENESIS_KERNEL(lerp)
GENESIS_KERNEL(addcmul)
GENESIS_KERNEL(addcdiv)
GENESIS_KERNEL(addcmul_integer)

}  // namespace genesis::kernels::GENESIS_ISA
