#include "kernels/elementwise/activation.h"

#include "kernels/elementwise/half_loops.h"
#include "kernels/elementwise/vecmath.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

struct Relu {
  template <class T>
  static T apply(T x) {
    constexpr Element<T> zero = 0;
    return x <= zero ? zero : x;  // propagates NaN
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
struct LeakyReluBackward {
  using Params = LeakyRelu::Params;
  template <class T>
  static T apply(T dy, T x, const Params& p) {
    return x > T(0) ? dy : dy * T(p.slope);
  }
};
struct Elu {
  struct Params {
    double alpha, scale, input_scale;
  };
  template <class T>
  static T apply(T x, const Params& p) {
    return x > T(0) ? x * T(p.scale) : T(p.alpha * p.scale) * vexpm1(x * T(p.input_scale));
  }
};
struct EluBackward {
  using Params = Elu::Params;
  template <class T>
  static T apply(T dy, T x, const Params& p) {
    const T curve = T(p.alpha * p.scale * p.input_scale) * vexp(x > T(0) ? T(0) : x * T(p.input_scale));
    return dy * (x > T(0) ? T(p.scale) : curve);
  }
};
// With e = exp(x) and n = e (e + 2), tanh(softplus(x)) = n / (n + 2), which needs one exponential. Above 20 (40 in
// float64) the result rounds to 1; the branch also avoids overflow of the square.
template <class T>
inline T mish_exp(T x) {
  constexpr T most = sizeof(T) == 4 ? T(20) : T(40);
  return vexp(x > most ? most : x);
}
struct Mish {
  template <class T>
  static T apply(T x) {
    const T e = mish_exp(x), n = e * (e + T(2));
    return x * (n / (n + T(2)));
  }
};
struct MishBackward {
  template <class T>
  static T apply(T dy, T x) {
    const T e = mish_exp(x), n = e * (e + T(2)), d = T(1) / (n + T(2));
    return dy * (n * d + x * (T(4) * e * d) * ((T(1) + e) * d));
  }
};
struct Glu {
  template <class T>
  static T apply(T a, T b) {
    return a * vsigmoid(b);
  }
};
struct GluGateBackward {
  template <class T>
  static T apply(T dy, T a, T b) {
    const T s = vsigmoid(b);
    return dy * a * s * (T(1) - s);
  }
};
struct LogSigmoid {
  template <class T>
  static T apply(T x) {
    return vlogsigmoid(x);
  }
};
struct LogSigmoidBackward {
  template <class T>
  static T apply(T dy, T x) {
    return dy * vsigmoid(-x);
  }
};
struct Softsign {
  template <class T>
  static T apply(T x) {
    return x / (T(1) + vec::abs(x));
  }
};
struct SoftsignBackward {
  template <class T>
  static T apply(T dy, T x) {
    const T d = T(1) + vec::abs(x);
    return dy / (d * d);
  }
};
struct Softplus {
  struct Params {
    double beta, threshold;
  };
  template <class T>
  static T apply(T x, const Params& p) {
    const T z = x * T(p.beta);
    return z > T(p.threshold) ? x : vsoftplus(z) / T(p.beta);  // unlike log1p(exp(z)), vsoftplus does not overflow
  }
};
struct SoftplusBackward {
  using Params = Softplus::Params;
  template <class T>
  static T apply(T dy, T x, const Params& p) {
    const T z = x * T(p.beta), s = vsigmoid(z);
    return z > T(p.threshold) ? dy : dy * s;
  }
};

}  // namespace

void relu(View y, View x) {
  if (!on_halves<Relu>(y.dtype, y, nullptr, x)) map<Relu>(y, x);
}
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
void leaky_relu_backward(View dx, View dy, View x, double slope) {
  const LeakyRelu::Params params{slope};
  zip_floating<LeakyReluBackward>(dx, dy, x, &params);
}
GENESIS_KERNEL(leaky_relu_backward)
void elu(View y, View x, double alpha, double scale, double input_scale) {
  const Elu::Params params{alpha, scale, input_scale};
  map_floating<Elu>(y, x, &params, kGrain);
}
GENESIS_KERNEL(elu)
void elu_backward(View dx, View dy, View x, double alpha, double scale, double input_scale) {
  const Elu::Params params{alpha, scale, input_scale};
  zip_floating<EluBackward>(dx, dy, x, &params, kGrain);
}
GENESIS_KERNEL(elu_backward)
void mish(View y, View x) { map_floating<Mish>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(mish)
void mish_backward(View dx, View dy, View x) { zip_floating<MishBackward>(dx, dy, x, nullptr, kGrain); }
GENESIS_KERNEL(mish_backward)
void logsigmoid(View y, View x) { map_floating<LogSigmoid>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(logsigmoid)
void logsigmoid_backward(View dx, View dy, View x) { zip_floating<LogSigmoidBackward>(dx, dy, x, nullptr, kGrain); }
GENESIS_KERNEL(logsigmoid_backward)
void softsign(View y, View x) { map_floating<Softsign>(y, x); }
GENESIS_KERNEL(softsign)
void softsign_backward(View dx, View dy, View x) { zip_floating<SoftsignBackward>(dx, dy, x); }
GENESIS_KERNEL(softsign_backward)
void glu(View y, View a, View b) { zip_floating<Glu>(y, a, b, nullptr, kGrain); }
GENESIS_KERNEL(glu)
void glu_gate_backward(View db, View dy, View a, View b) {
  zip3_floating<GluGateBackward>(db, dy, a, b, nullptr, kGrain);
}
GENESIS_KERNEL(glu_gate_backward)
void softplus_backward(View dx, View dy, View x, double beta, double threshold) {
  const Softplus::Params params{beta, threshold};
  zip_floating<SoftplusBackward>(dx, dy, x, &params, kGrain);
}
GENESIS_KERNEL(softplus_backward)
void softplus(View y, View x, double beta, double threshold) {
  const Softplus::Params params{beta, threshold};
  map_floating<Softplus>(y, x, &params, kGrain);
}
GENESIS_KERNEL(softplus)

}  // namespace genesis::kernels::GENESIS_ISA
