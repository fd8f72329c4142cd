#include "kernels/elementwise/unary.h"

#include <cmath>

#include "kernels/elementwise/loops.h"
#include "kernels/elementwise/special.h"
#include "kernels/elementwise/vecmath.h"
#include "kernels/elementwise/vectrig.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

struct Exp {
  template <class T>
  static T apply(T x) {
    return vexp(x);
  }
};
struct Exp2 {
  template <class T>
  static T apply(T x) {
    return vexp2(x);
  }
};
struct Expm1 {
  template <class T>
  static T apply(T x) {
    return vexpm1(x);
  }
};
struct Log {
  template <class T>
  static T apply(T x) {
    return vlog(x);
  }
};
struct Log2 {
  template <class T>
  static T apply(T x) {
    return vlog2(x);
  }
};
struct Log10 {
  template <class T>
  static T apply(T x) {
    return vlog10(x);
  }
};
struct Log1p {
  template <class T>
  static T apply(T x) {
    return vlog1p(x);
  }
};
struct Asin {
  template <class T>
  static T apply(T x) {
    return vasin(x);
  }
};
struct Acos {
  template <class T>
  static T apply(T x) {
    return vacos(x);
  }
};
struct Atan {
  template <class T>
  static T apply(T x) {
    return vatan(x);
  }
};
struct Sinh {
  template <class T>
  static T apply(T x) {
    return vsinh(x);
  }
};
struct Cosh {
  template <class T>
  static T apply(T x) {
    return vcosh(x);
  }
};
struct Tanh {
  template <class T>
  static T apply(T x) {
    return vtanh(x);
  }
};
struct Asinh {
  template <class T>
  static T apply(T x) {
    return vasinh(x);
  }
};
struct Acosh {
  template <class T>
  static T apply(T x) {
    return vacosh(x);
  }
};
struct Atanh {
  template <class T>
  static T apply(T x) {
    return vatanh(x);
  }
};
struct Erf {
  template <class T>
  static T apply(T x) {
    return verf(x);
  }
};
struct Erfc {
  template <class T>
  static T apply(T x) {
    return verfc(x);
  }
};
struct Sigmoid {
  template <class T>
  static T apply(T x) {
    return vsigmoid(x);
  }
};
struct Sqrt {
  template <class T>
  static T apply(T x) {
    return std::sqrt(x);
  }
};
struct Rsqrt {
  template <class T>
  static T apply(T x) {
    return T(1) / std::sqrt(x);
  }
};

// float32 sine and cosine handle large arguments in a second pass over the tile (vectrig.h).
template <auto Tile, auto Scalar>
void trigonometric(View y, View x) {
  const DType t = compute_type(y.dtype);
  const Inner inner = t == DType::Float64 ? Inner([](char* const* data, unsigned scalars, int64_t n, const void*) {
    double* out = reinterpret_cast<double*>(data[0]);
    const double* in = reinterpret_cast<const double*>(data[1]);
    for (int64_t i = 0; i < n; ++i) out[i] = Scalar(in[scalars ? 0 : i]);
  })
                                          : Inner([](char* const* data, unsigned scalars, int64_t n, const void*) {
                                              float* out = reinterpret_cast<float*>(data[0]);
                                              const float* in = reinterpret_cast<const float*>(data[1]);
                                              Tile(out, in, scalars ? 1 : n);
                                              if (scalars)
                                                for (int64_t i = 1; i < n; ++i) out[i] = out[0];
                                            });
  elementwise({{y, t}, {x, t}}, inner, nullptr, kGrain);
}

struct Erfinv {
  template <class T>
  static T apply(T x) {
    return verfinv(x);
  }
};
struct Lgamma {
  template <class T>
  static T apply(T x) {
    return vlgamma(x);
  }
};
struct Digamma {
  template <class T>
  static T apply(T x) {
    return vdigamma(x);
  }
};

// The n-th derivative of digamma: (-1)^(n+1) n! times the Hurwitz zeta function at n + 1, which is summed directly up
// to x + 12 and by the Euler-Maclaurin formula from there.
struct Polygamma {
  struct Params {
    int64_t order;
  };
  static double apply(double x, const Params& p) {
    const double s = static_cast<double>(p.order) + 1;
    if (x <= 0 && x == std::floor(x)) return __builtin_inf();
    double sum = 0;
    while (x < 12) {
      sum += std::pow(x, -s);
      x += 1;
    }
    const double power = std::pow(x, -s);
    sum += power * x / (s - 1) + 0.5 * power;
    constexpr double bernoulli[] = {1.0 / 12,         -1.0 / 720,     1.0 / 30240,
                                    -1.0 / 1209600,   1.0 / 47900160, -691.0 / 1307674368000,
                                    1.0 / 74724249600};  // B(2k) / (2k)!
    double factor = s * power / x;
    for (int k = 0; k < 7; ++k) {
      sum += bernoulli[k] * factor;
      factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (x * x);
    }
    return (p.order % 2 ? 1 : -1) * std::tgamma(s) * sum;
  }
  static float apply(float x, const Params& p) { return static_cast<float>(apply(static_cast<double>(x), p)); }
};

struct TanhBackward {
  template <class T>
  static T apply(T dy, T y) {
    return dy * (T(1) - y * y);
  }
};
struct SigmoidBackward {
  template <class T>
  static T apply(T dy, T y) {
    return dy * y * (T(1) - y);
  }
};

}  // namespace

void exp(View y, View x) { map_floating<Exp>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(exp)
void exp2(View y, View x) { map_floating<Exp2>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(exp2)
void expm1(View y, View x) { map_floating<Expm1>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(expm1)
void log(View y, View x) { map_floating<Log>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(log)
void log2(View y, View x) { map_floating<Log2>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(log2)
void log10(View y, View x) { map_floating<Log10>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(log10)
void log1p(View y, View x) { map_floating<Log1p>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(log1p)
void asin(View y, View x) { map_floating<Asin>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(asin)
void acos(View y, View x) { map_floating<Acos>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(acos)
void atan(View y, View x) { map_floating<Atan>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(atan)
void sinh(View y, View x) { map_floating<Sinh>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(sinh)
void cosh(View y, View x) { map_floating<Cosh>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(cosh)
void tanh(View y, View x) { map_floating<Tanh>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(tanh)
void asinh(View y, View x) { map_floating<Asinh>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(asinh)
void acosh(View y, View x) { map_floating<Acosh>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(acosh)
void atanh(View y, View x) { map_floating<Atanh>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(atanh)
void erf(View y, View x) { map_floating<Erf>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(erf)
void erfc(View y, View x) { map_floating<Erfc>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(erfc)
void sigmoid(View y, View x) { map_floating<Sigmoid>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(sigmoid)
void sqrt(View y, View x) { map_floating<Sqrt>(y, x); }
GENESIS_KERNEL(sqrt)
void rsqrt(View y, View x) { map_floating<Rsqrt>(y, x); }
GENESIS_KERNEL(rsqrt)
void sin(View y, View x) {
  trigonometric<[](float* o, const float* i, int64_t n) { vsin_tile(o, i, n); }, [](double v) { return std::sin(v); }>(
      y, x);
}
GENESIS_KERNEL(sin)
void cos(View y, View x) {
  trigonometric<[](float* o, const float* i, int64_t n) { vcos_tile(o, i, n); }, [](double v) { return std::cos(v); }>(
      y, x);
}
GENESIS_KERNEL(cos)
void tan(View y, View x) {
  trigonometric<[](float* o, const float* i, int64_t n) { vtan_tile(o, i, n); }, [](double v) { return std::tan(v); }>(
      y, x);
}
GENESIS_KERNEL(tan)
void erfinv(View y, View x) { map_floating<Erfinv>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(erfinv)
void lgamma(View y, View x) { map_floating<Lgamma>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(lgamma)
void digamma(View y, View x) { map_floating<Digamma>(y, x, nullptr, kGrain); }
GENESIS_KERNEL(digamma)
void polygamma(View y, View x, int64_t order) {
  const Polygamma::Params params{order};
  map_floating<Polygamma>(y, x, &params, 1024);
}
GENESIS_KERNEL(polygamma)

void tanh_backward(View dx, View dy, View y) { zip_floating<TanhBackward>(dx, dy, y); }
GENESIS_KERNEL(tanh_backward)
void sigmoid_backward(View dx, View dy, View y) { zip_floating<SigmoidBackward>(dx, dy, y); }
GENESIS_KERNEL(sigmoid_backward)

}  // namespace genesis::kernels::GENESIS_ISA
