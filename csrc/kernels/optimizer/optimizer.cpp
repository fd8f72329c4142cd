// Optimizer steps. An algorithm is a struct with its numbers in the compute dtype and a call operator for one element.
// run() splits the elements of all parameters, concatenated, into chunks, so that many small parameters cost no more
// than one large one. Half precision goes through buffers of float32.
#include "kernels/optimizer/optimizer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/parallel.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

// a + w (b - a), in the form that is exact at the nearer end.
template <class T>
[[gnu::always_inline]] inline T lerp(T a, T b, T w) {
  return w < T(0.5) ? a + w * (b - a) : b - (b - a) * (T(1) - w);
}

// a * b + c with one rounding if the CPU supports it, so that the last elements of an array, which do not fill a
// vector, are bitwise equal to the others. Otherwise the compiler might fuse different products in the two loops.
template <class T>
[[gnu::always_inline]] inline T multiply_add(T a, T b, T c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

// Calls step(value, gradient, state...) on each element.
template <int N, class T, class Step>
[[gnu::always_inline]] inline void loop(const Step step, T* const* a, int64_t n) {
  T *p = a[0], *s0 = N > 2 ? a[2] : nullptr, *s1 = N > 3 ? a[3] : nullptr, *s2 = N > 4 ? a[4] : nullptr;
  const T* g = a[1];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (N == 2) step(p[i], g[i]);
    else if constexpr (N == 3) step(p[i], g[i], s0[i]);
    else if constexpr (N == 4) step(p[i], g[i], s0[i], s1[i]);
    else step(p[i], g[i], s0[i], s1[i], s2[i]);
  }
}

template <int N, template <class> class Step, class Algorithm>
void piece(const Update<Algorithm>& u, int64_t begin, int64_t n) {
  const int64_t item = itemsize(u.dtype);
  const auto at = [&](int k, int64_t i) { return static_cast<char*>(u.arrays[k]) + i * item; };
  const auto direct = [&]<class T>() {
    T* a[N];
    for (int k = 0; k < N; ++k) a[k] = reinterpret_cast<T*>(at(k, begin));
    loop<N>(Step<T>(u.algorithm), a, n);
  };
  if (u.dtype == DType::Float32) return direct.template operator()<float>();
  if (u.dtype == DType::Float64) return direct.template operator()<double>();
  alignas(64) float buffer[N][kTile];
  float* a[N];
  for (int k = 0; k < N; ++k) a[k] = buffer[k];
  for (int64_t end = begin + n; begin < end; begin += kTile) {
    const int64_t m = std::min(kTile, end - begin);
    for (int k = 0; k < N; ++k) gather(a[k], DType::Float32, at(k, begin), item, u.dtype, m);
    loop<N>(Step<float>(u.algorithm), a, m);
    for (int k = 0; k < N; ++k)
      if (k != 1) scatter(at(k, begin), item, u.dtype, a[k], DType::Float32, m);
  }
}

// Runs f(update, begin, n) over all elements of all updates.
template <class Algorithm, class F>
void run(Updates<Algorithm> updates, const F& f) {
  std::vector<int64_t> ends;
  ends.reserve(updates.size());
  int64_t total = 0;
  for (const auto& u : updates) ends.push_back(total += u.count);
  parallel_for(total, kGrain, [&](int64_t begin, int64_t end) {
    auto at = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
    for (; begin < end; ++at) {
      const int64_t stop = std::min(end, ends[at]);
      if (stop > begin) f(updates[at], begin - (ends[at] - updates[at].count), stop - begin);
      begin = stop;
    }
  });
}
template <int N, template <class> class Step, class Algorithm>
void run(Updates<Algorithm> updates) {
  run(updates, piece<N, Step, Algorithm>);
}

// Shared by the algorithms: the sign of the gradient, and weight decay.
template <class T>
struct Gradient {
  T sign, decay;
  bool decays;
  template <class Algorithm>
  explicit Gradient(const Algorithm& a) : sign(T(a.sign)), decay(T(a.decay)), decays(a.decay != 0) {}
  [[gnu::always_inline]] T operator()(T g, T p) const {
    g *= sign;
    return decays ? g + decay * p : g;
  }
};

template <class T>
struct PlainSgd {
  Gradient<T> gradient;
  T lr;
  explicit PlainSgd(const Sgd& a) : gradient(a), lr(T(a.lr)) {}
  [[gnu::always_inline]] void operator()(T& p, T g) const { p -= lr * gradient(g, p); }
};
template <class T>
struct MomentumSgd {
  Gradient<T> gradient;
  T lr, momentum, fresh;
  bool nesterov, first;
  explicit MomentumSgd(const Sgd& a)
      : gradient(a),
        lr(T(a.lr)),
        momentum(T(a.momentum)),
        fresh(T(1 - a.dampening)),
        nesterov(a.nesterov),
        first(a.first) {}
  [[gnu::always_inline]] void operator()(T& p, T g, T& buffer) const {
    const T d = gradient(g, p);
    const T b = first ? d : buffer * momentum + fresh * d;
    buffer = b;
    p -= lr * (nesterov ? d + momentum * b : b);
  }
};

// The two averages of Adam and its variants.
template <class T>
struct Moments {
  Gradient<T> gradient;
  T shrink, fresh1, beta2, fresh2;
  template <class Algorithm>
  explicit Moments(const Algorithm& a)
      : gradient(a), shrink(T(a.shrink)), fresh1(T(1 - a.beta1)), beta2(T(a.beta2)), fresh2(T(1 - a.beta2)) {}
  [[gnu::always_inline]] T operator()(T& p, T g, T& m, T& v) const {
    p *= shrink;
    g = gradient(g, p);
    m = lerp(m, g, fresh1);
    v = v * beta2 + fresh2 * (g * g);
    return g;
  }
};

template <class T>
struct AdamStep {
  Moments<T> moments;
  T eps, step_size, root_factor;  // a product: divisions take most of the time
  explicit AdamStep(const Adam& a)
      : moments(a), eps(T(a.eps)), step_size(T(a.step_size)), root_factor(T(1 / a.root_correction)) {}
  [[gnu::always_inline]] void operator()(T& p, T g, T& m, T& v) const {
    moments(p, g, m, v);
    p -= step_size * (m / (std::sqrt(v) * root_factor + eps));
  }
  [[gnu::always_inline]] void operator()(T& p, T g, T& m, T& v, T& largest) const {
    moments(p, g, m, v);
    largest = v > largest || v != v ? v : largest;
    p -= step_size * (m / (std::sqrt(largest) * root_factor + eps));
  }
};

template <class T>
struct NAdamStep {
  Moments<T> moments;
  T eps, correction, grad_step, average_step;
  explicit NAdamStep(const NAdam& a)
      : moments(a),
        eps(T(a.eps)),
        correction(T(a.correction)),
        grad_step(T(a.grad_step)),
        average_step(T(a.average_step)) {}
  [[gnu::always_inline]] void operator()(T& p, T g, T& m, T& v) const {
    g = moments(p, g, m, v);
    const T denominator = std::sqrt(v / correction) + eps;
    p -= grad_step * (g / denominator);
    p -= average_step * (m / denominator);
  }
};

template <class T>
struct RAdamStep {
  Moments<T> moments;
  T eps, lr, correction, root_correction, rectification;
  bool rectified;
  explicit RAdamStep(const RAdam& a)
      : moments(a),
        eps(T(a.eps)),
        lr(T(a.lr)),
        correction(T(a.correction)),
        root_correction(T(a.root_correction)),
        rectification(T(a.rectification)),
        rectified(a.rectified) {}
  [[gnu::always_inline]] void operator()(T& p, T g, T& m, T& v) const {
    moments(p, g, m, v);
    const T step = m / correction * lr;
    p -= rectified ? step * (root_correction / (std::sqrt(v) + eps)) * rectification : step;
  }
};

template <class T>
struct AdamaxStep {
  Gradient<T> gradient;
  T fresh1, beta2, eps, step_size;
  explicit AdamaxStep(const Adamax& a)
      : gradient(a), fresh1(T(1 - a.beta1)), beta2(T(a.beta2)), eps(T(a.eps)), step_size(T(a.step_size)) {}
  [[gnu::always_inline]] void operator()(T& p, T g, T& m, T& u) const {
    g = gradient(g, p);
    m = lerp(m, g, fresh1);
    const T old = u * beta2, now = std::abs(g) + eps;
    u = now > old || now != now ? now : old;
    p -= step_size * (m / u);
  }
};

template <class T>
struct AdagradStep {
  Gradient<T> gradient;
  T eps, step_size;
  explicit AdagradStep(const Adagrad& a) : gradient(a), eps(T(a.eps)), step_size(T(a.step_size)) {}
  [[gnu::always_inline]] void operator()(T& p, T g, T& sum) const {
    g = gradient(g, p);
    sum += g * g;
    p -= step_size * (g / (std::sqrt(sum) + eps));
  }
};

template <class T>
struct AdadeltaStep {
  Gradient<T> gradient;
  T lr, rho, fresh, eps;
  explicit AdadeltaStep(const Adadelta& a)
      : gradient(a), lr(T(a.lr)), rho(T(a.rho)), fresh(T(1 - a.rho)), eps(T(a.eps)) {}
  [[gnu::always_inline]] void operator()(T& p, T g, T& square, T& delta) const {
    g = gradient(g, p);
    square = square * rho + fresh * (g * g);
    const T d = std::sqrt(delta + eps) / std::sqrt(square + eps) * g;
    delta = delta * rho + fresh * (d * d);
    p -= lr * d;
  }
};

template <class T, bool Centered>
struct RMSpropBase {
  Gradient<T> gradient;
  T lr, alpha, fresh, eps, momentum;
  explicit RMSpropBase(const RMSprop& a)
      : gradient(a), lr(T(a.lr)), alpha(T(a.alpha)), fresh(T(1 - a.alpha)), eps(T(a.eps)), momentum(T(a.momentum)) {}
  [[gnu::always_inline]] T scaled(T& g, T p, T& square, T* average) const {
    g = gradient(g, p);
    square = square * alpha + fresh * (g * g);
    T variance = square;
    if constexpr (Centered) {
      *average = lerp(*average, g, fresh);
      variance = square - *average * *average;
    }
    return g / (std::sqrt(variance) + eps);
  }
};
template <class T>
struct RMSpropStep : RMSpropBase<T, false> {
  using RMSpropBase<T, false>::RMSpropBase;
  [[gnu::always_inline]] void operator()(T& p, T g, T& square) const {
    p -= this->lr * this->scaled(g, p, square, nullptr);
  }
  [[gnu::always_inline]] void operator()(T& p, T g, T& square, T& buffer) const {
    buffer = buffer * this->momentum + this->scaled(g, p, square, nullptr);
    p -= this->lr * buffer;
  }
};
template <class T>
struct CenteredRMSpropStep : RMSpropBase<T, true> {
  using RMSpropBase<T, true>::RMSpropBase;
  [[gnu::always_inline]] void operator()(T& p, T g, T& square, T& average) const {
    p -= this->lr * this->scaled(g, p, square, &average);
  }
  [[gnu::always_inline]] void operator()(T& p, T g, T& square, T& buffer, T& average) const {
    buffer = buffer * this->momentum + this->scaled(g, p, square, &average);
    p -= this->lr * buffer;
  }
};

template <class T>
struct RpropStep {
  T sign, minus, plus, smallest, largest;
  explicit RpropStep(const Rprop& a)
      : sign(T(a.sign)), minus(T(a.eta_minus)), plus(T(a.eta_plus)), smallest(T(a.smallest)), largest(T(a.largest)) {}
  [[gnu::always_inline]] void operator()(T& p, T g, T& before, T& size) const {
    g *= sign;
    const T agreement = g * before;
    const T grown = size * (agreement > 0 ? plus : agreement < 0 ? minus : T(1));
    const T capped = grown > largest ? largest : grown;
    size = capped < smallest ? smallest : capped;
    g = agreement < 0 ? T(0) : g;
    p -= g > 0 ? size : g < 0 ? -size : T(0);
    before = g;
  }
};

template <class T>
struct AsgdStep {
  Gradient<T> gradient;
  T lambd, eta, mu;
  explicit AsgdStep(const Asgd& a) : gradient(a), lambd(T(a.lambd)), eta(T(a.eta)), mu(T(a.mu)) {}
  [[gnu::always_inline]] void operator()(T& p, T g, T& average) const {
    g = gradient(g, p);
    p -= eta * (g + lambd * p);  // one product at a time: compilers fuse it the same way in every loop
    average = mu == T(1) ? p : average + (p - average) * mu;
  }
};

template <class T>
struct LionStep {
  T sign, shrink, lr, beta1, fresh1, beta2, fresh2;
  explicit LionStep(const Lion& a)
      : sign(T(a.sign)),
        shrink(T(a.shrink)),
        lr(T(a.lr)),
        beta1(T(a.beta1)),
        fresh1(T(1 - a.beta1)),
        beta2(T(a.beta2)),
        fresh2(T(1 - a.beta2)) {}
  [[gnu::always_inline]] void operator()(T& p, T g, T& average) const {
    g *= sign;
    const T direction = average * beta1 + g * fresh1;
    p = multiply_add(p, shrink, direction > 0 ? -lr : direction < 0 ? lr : T(0));
    average = multiply_add(average, beta2, g * fresh2);
  }
};

template <class T>
struct AverageStep {
  T weight;
  explicit AverageStep(const Average& a) : weight(T(a.weight)) {}
  [[gnu::always_inline]] void operator()(T& p, T x) const { p = lerp(p, x, weight); }
};

// Infinities and NaN have the largest exponent. Searching for it is an integer reduction, which vectorizes.
template <class T, class Bits, Bits kExponent>
bool multiply(T* g, T factor, int64_t n) {
  Bits bad = 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T y = g[i] * factor;
    Bits bits;
    std::memcpy(&bits, &y, sizeof bits);
    bad |= (bits & kExponent) == kExponent;
    g[i] = y;
  }
  return bad == 0;
}
bool multiply(float* g, double factor, int64_t n) {
  return multiply<float, uint32_t, 0x7f800000>(g, static_cast<float>(factor), n);
}
bool multiply(double* g, double factor, int64_t n) {
  return multiply<double, uint64_t, 0x7ff0000000000000>(g, factor, n);
}

bool unscale_piece(const Update<Unscale>& u, int64_t begin, int64_t n) {
  const double factor = u.algorithm.factor;
  if (u.dtype == DType::Float32) return multiply(static_cast<float*>(u.arrays[0]) + begin, factor, n);
  if (u.dtype == DType::Float64) return multiply(static_cast<double*>(u.arrays[0]) + begin, factor, n);
  alignas(64) float buffer[kTile];
  const int64_t item = itemsize(u.dtype);
  bool finite = true;
  for (int64_t end = begin + n; begin < end; begin += kTile) {
    const int64_t m = std::min(kTile, end - begin);
    char* at = static_cast<char*>(u.arrays[0]) + begin * item;
    gather(buffer, DType::Float32, at, item, u.dtype, m);
    finite &= multiply(buffer, factor, m);
    scatter(at, item, u.dtype, buffer, DType::Float32, m);
  }
  return finite;
}

}  // namespace

bool unscale(Updates<Unscale> updates) {
  std::atomic<bool> finite{true};
  run(updates, [&](const Update<Unscale>& u, int64_t begin, int64_t n) {
    if (!unscale_piece(u, begin, n)) finite.store(false, std::memory_order_relaxed);
  });
  return finite.load();
}
void sgd(Updates<Sgd> updates) {
  run(updates, [](const Update<Sgd>& u, int64_t begin, int64_t n) {
    return u.algorithm.momentum == 0 ? piece<2, PlainSgd>(u, begin, n) : piece<3, MomentumSgd>(u, begin, n);
  });
}
void adam(Updates<Adam> updates) {
  run(updates, [](const Update<Adam>& u, int64_t begin, int64_t n) {
    return u.algorithm.amsgrad ? piece<5, AdamStep>(u, begin, n) : piece<4, AdamStep>(u, begin, n);
  });
}
void rmsprop(Updates<RMSprop> updates) {
  run(updates, [](const Update<RMSprop>& u, int64_t begin, int64_t n) {
    const bool momentum = u.algorithm.momentum != 0;
    if (u.algorithm.centered)
      return momentum ? piece<5, CenteredRMSpropStep>(u, begin, n) : piece<4, CenteredRMSpropStep>(u, begin, n);
    return momentum ? piece<4, RMSpropStep>(u, begin, n) : piece<3, RMSpropStep>(u, begin, n);
  });
}
void nadam(Updates<NAdam> updates) { run<4, NAdamStep>(updates); }
void radam(Updates<RAdam> updates) { run<4, RAdamStep>(updates); }
void adamax(Updates<Adamax> updates) { run<4, AdamaxStep>(updates); }
void adagrad(Updates<Adagrad> updates) { run<3, AdagradStep>(updates); }
void adadelta(Updates<Adadelta> updates) { run<4, AdadeltaStep>(updates); }
void rprop(Updates<Rprop> updates) { run<4, RpropStep>(updates); }
void asgd(Updates<Asgd> updates) { run<3, AsgdStep>(updates); }
void lion(Updates<Lion> updates) { run<3, LionStep>(updates); }
void average(Updates<Average> updates) { run<2, AverageStep>(updates); }
GENESIS_KERNEL(sgd)
GENESIS_KERNEL(adam)
GENESIS_KERNEL(rmsprop)
GENESIS_KERNEL(nadam)
GENESIS_KERNEL(radam)
GENESIS_KERNEL(adamax)
GENESIS_KERNEL(adagrad)
GENESIS_KERNEL(adadelta)
GENESIS_KERNEL(rprop)
GENESIS_KERNEL(asgd)
GENESIS_KERNEL(lion)
GENESIS_KERNEL(average)
GENESIS_KERNEL(unscale)

}  // namespace genesis::kernels::GENESIS_ISA
