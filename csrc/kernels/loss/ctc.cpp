// The forward-backward algorithm in log space. It is generic in the number type: with dual numbers (value and
// derivative along a direction), the same code computes the derivative of the gradient.
#include "kernels/loss/ctc.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/parallel.h"
#include "kernels/elementwise/loops.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

template <class T>
struct Dual {
  T value, slope;
  Dual(T value = 0, T slope = 0) : value(value), slope(slope) {}
  Dual operator+(Dual o) const { return {value + o.value, slope + o.slope}; }
  Dual operator-(Dual o) const { return {value - o.value, slope - o.slope}; }
  Dual& operator+=(Dual o) { return *this = *this + o; }
};
template <class T>
Dual<T> exp(Dual<T> x) {
  const T e = std::exp(x.value);
  return {e, e * x.slope};
}
template <class T>
Dual<T> log(Dual<T> x) {
  return {std::log(x.value), x.slope / x.value};
}
template <class T>
T plain(T x) {
  return x;
}
template <class T>
T plain(Dual<T> x) {
  return x.value;
}

template <class N>
N log_add(N a, N b, N c) {
  using std::exp, std::log;
  const N largest = plain(a) >= plain(b) && plain(a) >= plain(c) ? a : plain(b) >= plain(c) ? b : c;
  if (std::isinf(plain(largest))) return largest;
  return largest + log(exp(a - largest) + exp(b - largest) + exp(c - largest));
}

// One sequence. T is the storage type, N the type of the numbers.
template <class T, class N>
class Sequence {
 public:
  // read(t, c) returns the log-probability of class c in frame t.
  template <class Read>
  Sequence(const Ctc& p, int64_t n, const Read& read)
      : frames_(p.input_lengths[n]), states_(2 * p.target_lengths[n] + 1), classes_(states_) {
    const int64_t* labels = p.labels + p.label_offsets[n];
    for (int64_t s = 0; s < states_; ++s) classes_[static_cast<size_t>(s)] = s % 2 ? labels[s / 2] : p.blank;
    scores_.resize(static_cast<size_t>(frames_ * states_));
    for (int64_t t = 0; t < frames_; ++t)
      for (int64_t s = 0; s < states_; ++s) scores_[at(t, s)] = read(t, label(s));
  }

  // Returns the negative log-probability of the sequence and fills alpha.
  N loss() {
    if (frames_ == 0) return states_ == 1 ? N(0) : N(-kNone);
    alpha_.assign(static_cast<size_t>(frames_ * states_), N(kNone));
    for (int64_t s = 0; s < std::min<int64_t>(2, states_); ++s) alpha_[at(0, s)] = scores_[at(0, s)];
    for (int64_t t = 1; t < frames_; ++t)
      for (int64_t s = 0; s < states_; ++s) {
        const N stay = alpha_[at(t - 1, s)], step = s > 0 ? alpha_[at(t - 1, s - 1)] : N(kNone);
        const N skip = skips(s) ? alpha_[at(t - 1, s - 2)] : N(kNone);
        alpha_[at(t, s)] = log_add(stay, step, skip) + scores_[at(t, s)];
      }
    const N last = alpha_[at(frames_ - 1, states_ - 1)];
    const N before = states_ > 1 ? alpha_[at(frames_ - 1, states_ - 2)] : N(kNone);
    return N(0) - log_add(last, before, N(kNone));
  }

  // After loss(): calls add(t, c, d) for each frame and each state of class c, where d is the derivative of the loss.
  template <class Add>
  void slopes(N loss, const Add& add) const {
    using std::exp;
    if (frames_ == 0 || std::isinf(plain(loss))) return;
    // beta of a state: the log-probability of the remaining frames, excluding this one.
    std::vector<N> beta(static_cast<size_t>(states_), N(kNone)), later(beta);
    for (int64_t t = frames_ - 1; t >= 0; --t) {
      for (int64_t s = 0; s < states_; ++s) {
        if (t == frames_ - 1) {
          beta[static_cast<size_t>(s)] = s >= states_ - 2 ? N(0) : N(kNone);
          continue;
        }
        const auto next = [&](int64_t to) { return later[static_cast<size_t>(to)] + scores_[at(t + 1, to)]; };
        beta[static_cast<size_t>(s)] = log_add(next(s), s + 1 < states_ ? next(s + 1) : N(kNone),
                                               s + 2 < states_ && skips(s + 2) ? next(s + 2) : N(kNone));
      }
      for (int64_t s = 0; s < states_; ++s) {
        const N path = alpha_[at(t, s)] + beta[static_cast<size_t>(s)];
        if (!std::isinf(plain(path))) add(t, label(s), N(0) - exp(path + loss));
      }
      std::swap(beta, later);
    }
  }

 private:
  static constexpr T kNone = -std::numeric_limits<T>::infinity();
  size_t at(int64_t t, int64_t s) const { return static_cast<size_t>(t * states_ + s); }
  int64_t label(int64_t s) const { return classes_[static_cast<size_t>(s)]; }
  // Whether a path may go from s - 2 to s: not between blanks, nor between equal labels.
  bool skips(int64_t s) const { return s > 1 && s % 2 && label(s) != label(s - 2); }

  int64_t frames_, states_;
  std::vector<int64_t> classes_;
  std::vector<N> scores_, alpha_;
};

template <class T>
void first(View loss, View slopes, View log_probs, const Ctc& p) {
  const T* x = log_probs.as<T>();
  T* g = slopes.as<T>();
  const int64_t frame = p.batch * p.classes;
  if (g) std::fill_n(g, p.frames * frame, T(0));
  parallel_for(p.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const int64_t base = n * p.classes;
      Sequence<T, T> sequence(p, n, [&](int64_t t, int64_t c) { return x[t * frame + base + c]; });
      const T value = sequence.loss();
      loss.as<T>()[n] = value;
      if (g) sequence.slopes(value, [&](int64_t t, int64_t c, T d) { g[t * frame + base + c] += d; });
    }
  });
}

template <class T>
void second(View product, View log_probs, View direction, const Ctc& p) {
  const T *x = log_probs.as<T>(), *v = direction.as<T>();
  T* out = product.as<T>();
  const int64_t frame = p.batch * p.classes;
  std::fill_n(out, p.frames * frame, T(0));
  parallel_for(p.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n) {
      const int64_t base = n * p.classes;
      Sequence<T, Dual<T>> sequence(p, n, [&](int64_t t, int64_t c) {
        const int64_t i = t * frame + base + c;
        return Dual<T>(x[i], v[i]);
      });
      const Dual<T> value = sequence.loss();
      sequence.slopes(value, [&](int64_t t, int64_t c, Dual<T> d) { out[t * frame + base + c] += d.slope; });
    }
  });
}

}  // namespace

void ctc(View loss, View slopes, View log_probs, const Ctc& problem) {
  with_floating_compute_type(log_probs.dtype, [&]<class T>() { first<T>(loss, slopes, log_probs, problem); });
}
void ctc_second(View product, View log_probs, View direction, const Ctc& problem) {
  with_floating_compute_type(log_probs.dtype, [&]<class T>() { second<T>(product, log_probs, direction, problem); });
}
GENESIS_KERNEL(ctc)
GENESIS_KERNEL(ctc_second)

}  // namespace genesis::kernels::GENESIS_ISA
