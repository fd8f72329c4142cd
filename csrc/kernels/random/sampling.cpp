#include "kernels/random/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/parallel.h"
#include "kernels/elementwise/convert.h"
#include "kernels/random/words.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

void with_replacement(int64_t* out, int64_t n, const double* weights, int64_t k, Draw draw, std::vector<double>& sums) {
  sums.resize(static_cast<size_t>(k));
  std::partial_sum(weights, weights + k, sums.begin());
  const double total = sums.back();
  int64_t last = k - 1;  // that has a positive weight
  while (weights[last] == 0) --last;
  Stream stream(draw, n);
  Pace pace(int64_t{1} << 20);
  for (int64_t i = 0; i < n; ++i, pace.spend(1)) {
    const double target = uniform_double(stream.next()) * total;
    const auto at = std::upper_bound(sums.begin(), sums.end(), target) - sums.begin();
    out[i] = std::min<int64_t>(at, last);  // the product may round up to the total
  }
}

// An exponential race: category i arrives after an exponential time with rate weights[i]; the order of arrival is the
// sample.
void without_replacement(int64_t* out, int64_t n, const double* weights, int64_t k, Draw draw,
                         std::vector<std::pair<double, int64_t>>& arrivals) {
  arrivals.clear();
  Stream stream(draw, k);
  for (int64_t i = 0; i < k; ++i) {
    const double u = uniform_open(stream.next());
    if (weights[i] > 0) arrivals.push_back({-std::log(u) / weights[i], i});
  }
  std::partial_sort(arrivals.begin(), arrivals.begin() + n, arrivals.end());
  for (int64_t i = 0; i < n; ++i) out[i] = arrivals[static_cast<size_t>(i)].second;
}

// Words for one element of a draw by rejection: its own counter, with further counters in the upper half of the 128
// bits.
class ElementStream {
 public:
  ElementStream(Draw draw, uint64_t element) : seed_(draw.seed), counter_(draw.counter + element) {}
  double uniform() {  // (0, 1]
    if (left_ == 0) {
      words_ = philox4x32(static_cast<uint32_t>(counter_), static_cast<uint32_t>(counter_ >> 32), round_++, 0,
                          static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32));
      left_ = 4;
    }
    left_ -= 2;
    return uniform_open(join_words(words_[static_cast<size_t>(left_)], words_[static_cast<size_t>(left_ + 1)]));
  }

 private:
  uint64_t seed_, counter_;
  uint32_t round_ = 0;
  int left_ = 0;
  std::array<uint32_t, 4> words_{};
};

double poisson_one(double rate, ElementStream stream) {
  if (rate == 0) return 0;
  if (rate < 10) {  // the number of uniforms that can be multiplied before the product falls below exp(-rate)
    const double limit = std::exp(-rate);
    double product = stream.uniform();
    int64_t count = 0;
    while (product > limit) {
      product *= stream.uniform();
      ++count;
    }
    return static_cast<double>(count);
  }
  // Transformed rejection (Hormann, "The transformed rejection method for generating Poisson random variables", 1993).
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = stream.uniform() - 0.5, v = stream.uniform(), us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    int sign;
    const double log_factorial = ::lgamma_r(k + 1, &sign);
    if (std::log(v * inverse_alpha / (a / (us * us) + b)) <= k * std::log(rate) - rate - log_factorial) return k;
  }
}

double normal_one(ElementStream& stream) {  // Box-Muller
  const double radius = std::sqrt(-2 * std::log(stream.uniform()));
  return radius * std::cos(6.283185307179586 * stream.uniform());
}

// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000. A shape below 1 is increased by 1 first.
double log_gamma_one(double shape, ElementStream stream) {
  if (shape == 0) return -HUGE_VAL;
  const double raised = shape < 1 ? std::log(stream.uniform()) / shape : 0;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal_one(stream), root = 1 + c * x;
    if (root <= 0) continue;
    const double log_v = 3 * std::log(root);
    if (std::log(stream.uniform()) < x * x / 2 + d * (1 - std::exp(log_v) + log_v)) return std::log(d) + log_v + raised;
  }
}

double log_choose(double n, double k) {
  int sign;
  return ::lgamma_r(n + 1, &sign) - ::lgamma_r(k + 1, &sign) - ::lgamma_r(n - k + 1, &sign);
}

// For p at most 1/2.
double binomial_small(double n, double p, ElementStream& stream) {
  if (n * p < 10) {  // sums of geometric waiting times
    const double scale = std::log1p(-p);
    double count = 0, waited = 0;
    for (;;) {
      waited += std::ceil(std::log(stream.uniform()) / scale);
      if (waited > n) return count;
      ++count;
    }
  }
  // Transformed rejection (Hormann, "The generation of binomial random variates", 1993).
  const double deviation = std::sqrt(n * p * (1 - p)), b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double centre = n * p + 0.5, v_r = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((n + 1) * p), odds = std::log(p / (1 - p)), at_mode = log_choose(n, mode);
  for (;;) {
    const double u = stream.uniform() - 0.5, us = 0.5 - std::abs(u);
    double v = stream.uniform();
    const double k = std::floor((2 * a / us + b) * u + centre);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || k > n) continue;
    v = std::log(v * alpha / (a / (us * us) + b));
    if (v <= log_choose(n, k) - at_mode + (k - mode) * odds) return k;
  }
}

double binomial_one(double n, double p, ElementStream stream) {
  if (n == 0 || p == 0) return 0;
  if (p == 1) return n;
  return p <= 0.5 ? binomial_small(n, p, stream) : n - binomial_small(n, 1 - p, stream);
}

// y[i] = draw_one(i, the words of element i).
template <class F>
void draw_each(View y, Draw draw, F draw_one) {
  const int64_t item = itemsize(y.dtype);
  parallel_for(y.numel(), 2048, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double value = draw_one(i, ElementStream(draw, static_cast<uint64_t>(i)));
      scatter(y.as<char>() + i * item, item, y.dtype, &value, DType::Float64, 1);
    }
  });
}

}  // namespace

void permutation(View y, Draw draw) {
  int64_t* out = y.as<int64_t>();
  const int64_t n = y.numel();
  const Unlocked unlocked;
  Pace pace(int64_t{1} << 20);
  for (int64_t i = 0; i < n; ++i, pace.spend(1)) out[i] = i;
  Stream stream(draw, n);
  for (int64_t i = n - 1; i > 0; --i, pace.spend(1)) {
    const auto range = static_cast<uint64_t>(i) + 1;
    const auto j = static_cast<uint64_t>((static_cast<unsigned __int128>(stream.next()) * range) >> 64);
    std::swap(out[i], out[j]);
  }
}
GENESIS_KERNEL(permutation)

void multinomial(View y, View weights, Draw draw, bool replacement) {
  const int64_t rows = y.shape[0], n = y.shape[1], k = weights.shape[1];
  const uint64_t per_row = counters_for(replacement ? n : k, 2);
  parallel_for(rows, std::max<int64_t>(1, 4096 / (n + k)), [&](int64_t begin, int64_t end) {
    std::vector<double> sums;
    std::vector<std::pair<double, int64_t>> arrivals;
    for (int64_t r = begin; r < end; ++r) {
      const Draw own{draw.seed, draw.counter + static_cast<uint64_t>(r) * per_row};
      int64_t* out = y.as<int64_t>() + r * n;
      const double* w = weights.as<double>() + r * k;
      if (replacement) with_replacement(out, n, w, k, own, sums);
      else without_replacement(out, n, w, k, own, arrivals);
    }
  });
}
GENESIS_KERNEL(multinomial)

void poisson(View y, View rate, Draw draw) {
  draw_each(y, draw,
            [mean = rate.as<double>()](int64_t i, ElementStream words) { return poisson_one(mean[i], words); });
}
GENESIS_KERNEL(poisson)

void log_gamma_variate(View y, View shape, Draw draw) {
  draw_each(y, draw, [a = shape.as<double>()](int64_t i, ElementStream words) { return log_gamma_one(a[i], words); });
}
GENESIS_KERNEL(log_gamma_variate)

void binomial(View y, View count, View p, Draw draw) {
  draw_each(y, draw, [n = count.as<double>(), p = p.as<double>()](int64_t i, ElementStream words) {
    return binomial_one(n[i], p[i], words);
  });
}
GENESIS_KERNEL(binomial)

}  // namespace genesis::kernels::GENESIS_ISA
