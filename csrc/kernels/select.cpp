#include "kernels/select.h"

#include "kernels/loops.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

struct Where {
  template <class T>
  static T apply(uint8_t c, T a, T b) {
    return c ? a : b;
  }
};
// x != x is never true of integers; the compiler drops it there.
struct Maximum {
  template <class T>
  static T apply(T a, T b) {
    return (a > b) | (a != a) ? a : b;
  }
};
struct Minimum {
  template <class T>
  static T apply(T a, T b) {
    return (a < b) | (a != a) ? a : b;
  }
};
struct Clamp {
  template <class T>
  static T apply(T x, T lo, T hi) {
    return Minimum::apply(Maximum::apply(x, lo), hi);
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
    return (x >= T(p.lo)) & (x <= T(p.hi)) ? dy : T(0);
  }
};

}  // namespace

// Only the width of an element matters: values are moved, not computed with.
void where(View y, View c, View a, View b) {
  Inner inner = nullptr;
  switch (itemsize(y.dtype)) {
    case 1: inner = ternary_loop<Where, uint8_t, uint8_t, uint8_t, uint8_t>; break;
    case 2: inner = ternary_loop<Where, uint8_t, uint16_t, uint16_t, uint16_t>; break;
    case 4: inner = ternary_loop<Where, uint8_t, uint32_t, uint32_t, uint32_t>; break;
    default: inner = ternary_loop<Where, uint8_t, uint64_t, uint64_t, uint64_t>; break;
  }
  elementwise({{y, y.dtype}, {c, DType::Bool}, {a, y.dtype}, {b, y.dtype}}, inner);
}
void maximum(View y, View a, View b) { zip<Maximum>(y, a, b); }
void minimum(View y, View a, View b) { zip<Minimum>(y, a, b); }
void clamp(View y, View x, View lo, View hi) { zip3<Clamp>(y, x, lo, hi); }
void share(View da, View dy, View a, View b) { zip3_floating<Share>(da, dy, a, b); }
void within(View dx, View dy, View x, double lo, double hi) {
  const Within::Params params{lo, hi};
  zip_floating<Within>(dx, dy, x, &params);
}
GENESIS_KERNEL(where)
GENESIS_KERNEL(maximum)
GENESIS_KERNEL(minimum)
GENESIS_KERNEL(clamp)
GENESIS_KERNEL(share)
GENESIS_KERNEL(within)

}  // namespace genesis::kernels::GENESIS_ISA
