#include "kernels/activation.h"

#include "kernels/loops.h"
#include "kernels/vecmath.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

constexpr int64_t kGrain = 16384;

struct Relu {
  template <class T>
  static T apply(T x) {
    return x <= T(0) ? T(0) : x;  // NaN passes
  }
};
struct ReluBackward {
  template <class T>
  static T apply(T dy, T y) {
    return y <= T(0) ? T(0) : dy;
  }
};
struct Silu {
  template <class T>
  static T apply(T x) {
    return vsilu(x);
  }
};
struct SiluBackward {
  template <class T>
  static T apply(T dy, T x) {
    const T s = vsigmoid(x);
    return dy * s * (T(1) + x * (T(1) - s));
  }
};
struct Gelu {
  template <class T>
  static T apply(T x) {
    return vgelu(x);
  }
};
struct GeluBackward {
  template <class T>
  static T apply(T dy, T x) {
    return dy * vgelu_grad(x);
  }
};
struct GeluTanh {
  template <class T>
  static T apply(T x) {
    return vgelu_tanh(x);
  }
};
struct GeluTanhBackward {
  template <class T>
  static T apply(T dy, T x) {
    return dy * vgelu_tanh_grad(x);
  }
};
struct LeakyRelu {
  struct Params {
    double slope;
  };
  template <class T>
  static T apply(T x, const Params& p) {
    return x > T(0) ? x : x * T(p.slope);
  }
};
struct Elu {
  struct Params {
    double alpha;
  };
  template <class T>
  static T apply(T x, const Params& p) {
    return x > T(0) ? x : T(p.alpha) * vexpm1(x);
  }
};
struct Softplus {
  struct Params {
    double beta, threshold;
  };
  template <class T>
  static T apply(T x, const Params& p) {
    const T z = x * T(p.beta);
    return z > T(p.threshold) ? x : vsoftplus(z) / T(p.beta);  // vsoftplus does not overflow: log1p(exp(z)) would
  }
};

}  // namespace

void relu(View y, View x) { map<Relu>(y, x); }
GENESIS_KERNEL(relu)
void relu_backward(View dx, View dy, View y) { zip_floating<ReluBackward>(dx, dy, y); }
GENESIS_KERNEL(relu_backward)
void silu(View y, View x) { map_floating<Silu>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(silu)
void silu_backward(View dx, View dy, View x) { zip_floating<SiluBackward>(dx, dy, x, nullptr, kGrain); }
GENESIS_KERNEL(silu_backward)

void gelu(View y, View x, bool tanh) {
  if (tanh) map_floating<GeluTanh>(y, x, nullptr, kGrain);
  else map_floating<Gelu>(y, x, nullptr, kGrain);
}
GENESIS_KERNEL(gelu)
void gelu_backward(View dx, View dy, View x, bool tanh) {
  if (tanh) zip_floating<GeluTanhBackward>(dx, dy, x, nullptr, kGrain);
  else zip_floating<GeluBackward>(dx, dy, x, nullptr, kGrain);
}
GENESIS_KERNEL(gelu_backward)

void leaky_relu(View y, View x, double slope) {
  const LeakyRelu::Params params{slope};
  map_floating<LeakyRelu>(y, x, &params);
}
GENESIS_KERNEL(leaky_relu)
void elu(View y, View x, double alpha) {
  const Elu::Params params{alpha};
  map_floating<Elu>(y, x, &params, kGrain);
}
GENESIS_KERNEL(elu)
void softplus(View y, View x, double beta, double threshold) {
  const Softplus::Params params{beta, threshold};
  map_floating<Softplus>(y, x, &params, kGrain);
}
GENESIS_KERNEL(softplus)

}  // namespace genesis::kernels::GENESIS_ISA
