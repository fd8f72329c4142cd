#include "kernels/elementwise/piecewise.h"

#include "kernels/elementwise/loops.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

// Comparisons are written so that NaN propagates.
struct Hardtanh {
  struct Params {
    double low, high;
  };
  template <class T>
  static T apply(T x, const Params& p) {
    const T above = x < T(p.low) ? T(p.low) : x;
    return above > T(p.high) ? T(p.high) : above;
  }
};
struct HardtanhBackward {
  using Params = Hardtanh::Params;
  template <class T>
  static T apply(T dy, T x, const Params& p) {
    return ((x <= T(p.low)) | (x >= T(p.high))) ? T(0) : dy;
  }
};
struct Hardsigmoid {
  template <class T>
  static T apply(T x) {
    const T z = x + T(3), above = z < T(0) ? T(0) : z;
    return (above > T(6) ? T(6) : above) / T(6);
  }
};
struct HardsigmoidBackward {
  template <class T>
  static T apply(T dy, T x) {
    return ((x <= T(-3)) | (x >= T(3))) ? T(0) : dy / T(6);
  }
};
struct Hardswish {
  template <class T>
  static T apply(T x) {
    return x * Hardsigmoid::apply(x);
  }
};
struct HardswishBackward {
  template <class T>
  static T apply(T dy, T x) {
    const T inner = x < T(3) ? dy * (x / T(3) + T(0.5)) : dy;
    return x <= T(-3) ? T(0) : inner;
  }
};
struct Hardshrink {
  struct Params {
    double lambda;
  };
  template <class T>
  static T apply(T x, const Params& p) {
    return ((x >= T(-p.lambda)) & (x <= T(p.lambda))) ? T(0) : x;
  }
};
struct Softshrink {
  using Params = Hardshrink::Params;
  template <class T>
  static T apply(T x, const Params& p) {
    const T below = x < T(-p.lambda) ? x + T(p.lambda) : x * T(0);
    return x > T(p.lambda) ? x - T(p.lambda) : below;
  }
};
struct ShrinkBackward {
  using Params = Hardshrink::Params;
  template <class T>
  static T apply(T dy, T x, const Params& p) {
    return ((x >= T(-p.lambda)) & (x <= T(p.lambda))) ? T(0) : dy;
  }
};
struct Threshold {
  struct Params {
    double threshold, value;
  };
  template <class T>
  static T apply(T x, const Params& p) {
    return x <= T(p.threshold) ? T(p.value) : x;
  }
};
struct ThresholdBackward {
  struct Params {
    double threshold;
  };
  template <class T>
  static T apply(T dy, T x, const Params& p) {
    return x <= T(p.threshold) ? T(0) : dy;
  }
};
struct Prelu {
  template <class T>
  static T apply(T x, T slope) {
    return x > T(0) ? x : slope * x;
  }
};
struct PreluBackward {
  template <class T>
  static T apply(T dy, T x, T slope) {
    return x > T(0) ? dy : slope * dy;
  }
};
struct PreluSlopeBackward {
  template <class T>
  static T apply(T dy, T x) {
    return x > T(0) ? T(0) : x * dy;
  }
};

}  // namespace

void hardtanh(View y, View x, double low, double high) {
  const Hardtanh::Params params{low, high};
  map_floating<Hardtanh>(y, x, &params);
}
GENESIS_KERNEL(hardtanh)
void hardtanh_backward(View dx, View dy, View x, double low, double high) {
  const Hardtanh::Params params{low, high};
  zip_floating<HardtanhBackward>(dx, dy, x, &params);
}
GENESIS_KERNEL(hardtanh_backward)
void hardsigmoid(View y, View x) { map_floating<Hardsigmoid>(y, x); }
GENESIS_KERNEL(hardsigmoid)
void hardsigmoid_backward(View dx, View dy, View x) { zip_floating<HardsigmoidBackward>(dx, dy, x); }
GENESIS_KERNEL(hardsigmoid_backward)
void hardswish(View y, View x) { map_floating<Hardswish>(y, x); }
GENESIS_KERNEL(hardswish)
void hardswish_backward(View dx, View dy, View x) { zip_floating<HardswishBackward>(dx, dy, x); }
GENESIS_KERNEL(hardswish_backward)
void hardshrink(View y, View x, double lambda) {
  const Hardshrink::Params params{lambda};
  map_floating<Hardshrink>(y, x, &params);
}
GENESIS_KERNEL(hardshrink)
void softshrink(View y, View x, double lambda) {
  const Hardshrink::Params params{lambda};
  map_floating<Softshrink>(y, x, &params);
}
GENESIS_KERNEL(softshrink)
void shrink_backward(View dx, View dy, View x, double lambda) {
  const Hardshrink::Params params{lambda};
  zip_floating<ShrinkBackward>(dx, dy, x, &params);
}
GENESIS_KERNEL(shrink_backward)
void threshold(View y, View x, double threshold, double value) {
  const Threshold::Params params{threshold, value};
  map_floating<Threshold>(y, x, &params);
}
GENESIS_KERNEL(threshold)
void threshold_backward(View dx, View dy, View x, double threshold) {
  const ThresholdBackward::Params params{threshold};
  zip_floating<ThresholdBackward>(dx, dy, x, &params);
}
GENESIS_KERNEL(threshold_backward)

void prelu(View y, View x, View slope) { zip_floating<Prelu>(y, x, slope); }
GENESIS_KERNEL(prelu)
void prelu_backward(View dx, View dy, View x, View slope) { zip3_floating<PreluBackward>(dx, dy, x, slope); }
GENESIS_KERNEL(prelu_backward)
void prelu_slope_backward(View dslope, View dy, View x) { zip_floating<PreluSlopeBackward>(dslope, dy, x); }
GENESIS_KERNEL(prelu_slope_backward)

}  // namespace genesis::kernels::GENESIS_ISA
