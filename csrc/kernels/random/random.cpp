// Random words are generated for blocks of counters (words[j][k] is word j of counter k), the transform runs over each
// row, and the rows are interleaved into the output. All three loops vectorize.
#include "kernels/random/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/parallel.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/vecmath.h"
#include "kernels/elementwise/vectrig.h"
#include "kernels/random/words.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

constexpr int64_t kCounterGrain = 32 * kCounters;

// Fills y, where T is the computed type and `Per` the number of elements per counter. transform(words, rows) stores
// element Per * k + j of the block in rows[j][k]; `first` is the index of the block's first element.
template <class T, int Per, class F>
void fill_blocks(const View& y, Draw draw, F transform) {
  const int64_t n = y.numel(), item = itemsize(y.dtype), counters = ceil_div(n, Per);
  const bool direct = y.dtype == dtype_of<T>;
  parallel_for(counters, kCounterGrain, [&](int64_t begin, int64_t end) {
    Words words;
    alignas(64) T rows[Per][kCounters];
    alignas(64) T line[Per * kCounters];
    for (int64_t c = begin; c < end; c += kCounters) {
      generate(words, draw, static_cast<uint64_t>(c));
      const int64_t first = c * Per, m = std::min({Per * kCounters, n - first, (end - c) * Per});
      transform(words, rows, first, m);
      T* out = direct && m == Per * kCounters ? y.as<T>() + first : line;
#pragma GCC ivdep
      for (int64_t k = 0; k < kCounters; ++k)
        for (int j = 0; j < Per; ++j) out[Per * k + j] = rows[j][k];
      if (out == line) scatter(y.as<char>() + first * item, item, y.dtype, line, dtype_of<T>, m);
    }
  });
}

// Applies f to one word (float) or two (double) for each element.
template <class F>
void each_float(const View& y, Draw draw, F f) {
  fill_blocks<float, 4>(y, draw, [&](const Words& words, float (*rows)[kCounters], int64_t, int64_t) {
    for (int j = 0; j < 4; ++j)
      for (int64_t k = 0; k < kCounters; ++k) rows[j][k] = f(words.w[j][k]);
  });
}
template <class F>
void each_double(const View& y, Draw draw, F f) {
  fill_blocks<double, 2>(y, draw, [&](const Words& words, double (*rows)[kCounters], int64_t, int64_t) {
    for (int j = 0; j < 2; ++j)
      for (int64_t k = 0; k < kCounters; ++k) rows[j][k] = f(join_words(words.w[2 * j][k], words.w[2 * j + 1][k]));
  });
}

// cos and sin of 2 pi v, for v in [0, 1) a multiple of 2^-24: the quadrant is split off exactly.
struct Circle {
  float cos, sin;
};
[[gnu::always_inline]] inline Circle circle(float v) {
  const int32_t q = static_cast<int32_t>(v * 4.0f + 0.5f);
  const float t = (v - static_cast<float>(q) * 0.25f) * 6.283185307f, z = t * t;  // |t| <= pi / 4
  const float s = vec::sin_poly(t, z), c = vec::cos_poly(z);
  const float a = q & 1 ? s : c, b = q & 1 ? c : s;
  return {(q + 1) & 2 ? -a : a, q & 2 ? -b : b};
}

}  // namespace

void uniform(View y, Draw draw, double low, double high) {
  if (y.dtype == DType::Float64) {
    const double scale = high - low;
    each_double(y, draw, [=](uint64_t x) {
      const double v = low + uniform_double(x) * scale;
      return v < high ? v : low;  // rounding may yield the upper end, which is excluded
    });
    return;
  }
  const float a = static_cast<float>(low), b = static_cast<float>(high), scale = static_cast<float>(high - low);
  // Use no more bits than the dtype represents: rounding would yield 1.
  const int drop = y.dtype == DType::Float16 ? 21 : y.dtype == DType::BFloat16 ? 24 : 8;
  const float unit = std::ldexp(1.0f, drop - 32);
  each_float(y, draw, [=](uint32_t x) {
    const float v = a + static_cast<float>(static_cast<int32_t>(x >> drop)) * unit * scale;
    return v < b ? v : a;
  });
}
GENESIS_KERNEL(uniform)

namespace {

// Computes f(x) for normal numbers x, by the Box-Muller method.
template <class F>
void each_normal(const View& y, Draw draw, double mean, double std, F f) {
  if (y.dtype == DType::Float64) {
    fill_blocks<double, 2>(y, draw, [=](const Words& words, double (*rows)[kCounters], int64_t, int64_t) {
      for (int64_t k = 0; k < kCounters; ++k) {
        const uint64_t a = join_words(words.w[0][k], words.w[1][k]), b = join_words(words.w[2][k], words.w[3][k]);
        rows[0][k] = std * std::sqrt(-2.0 * vlog(uniform_open(a)));
        rows[1][k] = 6.283185307179586 * uniform_double(b);
      }
      for (int64_t k = 0; k < kCounters; ++k) {
        const double r = rows[0][k], t = rows[1][k];
        rows[0][k] = f(mean + r * std::cos(t));
        rows[1][k] = f(mean + r * std::sin(t));
      }
    });
    return;
  }
  const float m = static_cast<float>(mean), s = static_cast<float>(std);
  fill_blocks<float, 4>(y, draw, [=](const Words& words, float (*rows)[kCounters], int64_t, int64_t) {
    for (int j = 0; j < 4; j += 2)
      for (int64_t k = 0; k < kCounters; ++k) {
        const float r = s * std::sqrt(-2.0f * vlog(uniform_open(words.w[j][k])));
        const Circle c = circle(uniform_float(words.w[j + 1][k]));
        rows[j][k] = f(m + r * c.cos);
        rows[j + 1][k] = f(m + r * c.sin);
      }
  });
}

}  // namespace

void normal(View y, Draw draw, double mean, double std) {
  each_normal(y, draw, mean, std, [](auto x) { return x; });
}
GENESIS_KERNEL(normal)
void log_normal(View y, Draw draw, double mean, double std) {
  each_normal(y, draw, mean, std, [](auto x) { return vexp(x); });
}
GENESIS_KERNEL(log_normal)

// Never exactly 0, because samples are used as divisors (exponential races).
void exponential(View y, Draw draw, double rate) {
  if (y.dtype == DType::Float64) {
    each_double(y, draw, [=](uint64_t x) {
      const double e = -vlog(uniform_open(x));
      return (e > 0 ? e : 0x1p-54) / rate;
    });
    return;
  }
  const float scale = static_cast<float>(1 / rate);
  each_float(y, draw, [=](uint32_t x) {
    const float e = -vlog(uniform_open(x));
    return (e > 0 ? e : 0x1p-33f) * scale;
  });
}
GENESIS_KERNEL(exponential)

void cauchy(View y, Draw draw, double median, double scale) {
  each_double(y, draw,
              [=](uint64_t x) { return median + scale * std::tan(3.141592653589793 * (uniform_double(x) - 0.5)); });
}
GENESIS_KERNEL(cauchy)

void geometric(View y, Draw draw, double p) {
  const double scale = 1 / std::log1p(-p);  // p = 1 yields -0: the first trial succeeds
  each_double(y, draw, [=](uint64_t x) { return std::floor(vlog(uniform_open(x)) * scale) + 1; });
}
GENESIS_KERNEL(geometric)

void bernoulli(View y, Draw draw, double p) {
  const auto threshold = static_cast<uint32_t>(std::min(p * 0x1p32, 0x1p32 - 1));
  const int32_t always = p >= 1;  // 2^32 does not fit in a word
  each_float(y, draw, [=](uint32_t x) { return static_cast<float>(static_cast<int32_t>(x < threshold) | always); });
}
GENESIS_KERNEL(bernoulli)

void bernoulli_each(View y, View p, Draw draw) {
  fill_blocks<float, 4>(y, draw, [&](const Words& words, float (*rows)[kCounters], int64_t first, int64_t n) {
    const double* q = p.as<double>() + first;
    for (int64_t i = 0; i < n; ++i)
      rows[i % 4][i / 4] = static_cast<double>(words.w[i % 4][i / 4]) < q[i] * 0x1p32 ? 1.0f : 0.0f;
  });
}
GENESIS_KERNEL(bernoulli_each)

// x * range / 2^64, rounded down, for a 64-bit word x: uniform to within range / 2^64.
void integers(View y, Draw draw, int64_t low, uint64_t range) {
  fill_blocks<int64_t, 2>(y, draw, [=](const Words& words, int64_t (*rows)[kCounters], int64_t, int64_t) {
    for (int j = 0; j < 2; ++j) {
      const uint32_t *high_word = words.w[2 * j], *low_word = words.w[2 * j + 1];
      if (range != 0 && range <= UINT32_MAX) {
        const uint64_t r = range;
        for (int64_t k = 0; k < kCounters; ++k)
          rows[j][k] = low + static_cast<int64_t>((high_word[k] * r + (low_word[k] * r >> 32)) >> 32);
      } else {
        for (int64_t k = 0; k < kCounters; ++k) {
          const uint64_t x = join_words(high_word[k], low_word[k]);
          const uint64_t value =
              range == 0 ? x : static_cast<uint64_t>((static_cast<unsigned __int128>(x) * range) >> 64);
          rows[j][k] = static_cast<int64_t>(static_cast<uint64_t>(low) + value);
        }
      }
    }
  });
}
GENESIS_KERNEL(integers)

namespace {

template <class T>
T dropout_scale(double p) {
  return p < 1 ? static_cast<T>(1 / (1 - p)) : T(0);
}

// Elements [first, first + m) of x in T, and the destination of the results: in place, or in `line`, to be scattered.
template <class T>
struct Stretch {
  const View &y, &x;
  int64_t first, m;
  T* line;
  bool direct = y.dtype == dtype_of<T>;

  const T* in() const {
    if (direct) return x.as<T>() + first;
    const int64_t item = itemsize(x.dtype);
    gather(line, dtype_of<T>, x.as<char>() + first * item, item, x.dtype, m);
    return line;
  }
  T* out() const { return direct ? y.as<T>() + first : line; }
  void finish() const {
    const int64_t item = itemsize(y.dtype);
    if (!direct) scatter(y.as<char>() + first * item, item, y.dtype, line, dtype_of<T>, m);
  }
};

template <class T>
void dropout_as(const View& y, const View& x, uint32_t* kept, Draw draw, double p) {
  const int64_t n = y.numel(), counters = (n + 3) / 4;
  const auto threshold = static_cast<uint32_t>(std::min(p * 0x1p32, 0x1p32 - 1));
  const T scale = dropout_scale<T>(p);
  parallel_for(counters, kCounterGrain, [&](int64_t begin, int64_t end) {
    Words words;
    alignas(64) uint32_t words_in_order[4 * kCounters];
    alignas(64) T line[4 * kCounters];
    for (int64_t c = begin; c < end; c += kCounters) {
      generate(words, draw, static_cast<uint64_t>(c));
#pragma GCC ivdep
      for (int64_t k = 0; k < kCounters; ++k)
        for (int j = 0; j < 4; ++j) words_in_order[4 * k + j] = words.w[j][k];
      const Stretch<T> part{y, x, 4 * c, std::min({4 * kCounters, n - 4 * c, (end - c) * 4}), line};
      const T* in = part.in();
      T* out = part.out();
#pragma GCC ivdep
      for (int64_t i = 0; i < part.m; ++i) {
        const T value = in[i] * scale;
        out[i] = words_in_order[i] < threshold ? T(0) : value;
      }
      part.finish();
      if (kept) {
        for (int64_t i = 0; i < part.m; i += 32) {  // words beyond part.m are computed but not used
          uint32_t bits = 0;
          for (uint32_t j = 0; j < 32; ++j) bits |= static_cast<uint32_t>(words_in_order[i + j] >= threshold) << j;
          kept[(part.first + i) / 32] = bits;
        }
      }
    }
  });
}

template <class T>
void dropout_again_as(const View& y, const View& x, const uint32_t* kept, double p) {
  constexpr int64_t block = 1024;
  const T scale = dropout_scale<T>(p);
  const int64_t n = y.numel();
  parallel_for(ceil_div(n, block), 32, [&](int64_t begin, int64_t end) {
    alignas(64) T line[block];
    for (int64_t first = begin * block; first < std::min(n, end * block); first += block) {
      const Stretch<T> part{y, x, first, std::min(block, n - first), line};
      const T* in = part.in();
      T* out = part.out();
      auto some = [&](int64_t i, uint32_t count) __attribute__((always_inline)) {
        const uint32_t bits = kept[(first + i) / 32];
#pragma GCC ivdep
        for (uint32_t j = 0; j < count; ++j) {
          const T value = in[i + j] * scale;
          out[i + j] = bits >> j & 1 ? value : T(0);
        }
      };
      int64_t i = 0;
      for (; i + 32 <= part.m; i += 32) some(i, 32);
      if (i < part.m) some(i, static_cast<uint32_t>(part.m - i));
      part.finish();
    }
  });
}

}  // namespace

void dropout(View y, View x, uint32_t* kept, Draw draw, double p) {
  if (y.dtype == DType::Float64) dropout_as<double>(y, x, kept, draw, p);
  else dropout_as<float>(y, x, kept, draw, p);
}
void dropout_again(View y, View x, const uint32_t* kept, double p) {
  if (y.dtype == DType::Float64) dropout_again_as<double>(y, x, kept, p);
  else dropout_again_as<float>(y, x, kept, p);
}
GENESIS_KERNEL(dropout)
GENESIS_KERNEL(dropout_again)

}  // namespace genesis::kernels::GENESIS_ISA
