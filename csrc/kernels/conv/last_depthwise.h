// Depthwise convolutions of channels-last images: vectors run along the channels.
#pragma once

#include <utility>

#include "kernels/conv/last_sums.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kChunks = 16;  // chunks of lines with separate sums

// One pair of tap and position, along one dimension: for each position on one side, the taps that use it and their
// positions on the other side.
struct Meeting {
  int64_t tap, at;
};
using Meetings = std::vector<std::vector<Meeting>>;
enum class End { output, input };
Meetings meetings_of(End end, const ConvShape& s, int d) {
  Meetings list(static_cast<size_t>(end == End::output ? s.out[d] : s.in[d]));
  for (int64_t o = 0; o < s.out[d]; ++o)
    for (int64_t t = 0; t < s.kernel[d]; ++t) {
      const int64_t i = s.input_along(d, o, t);
      if (i >= 0 && end == End::output) list[static_cast<size_t>(o)].push_back({t, i});
      if (i >= 0 && end == End::input) list[static_cast<size_t>(i)].push_back({t, o});
    }
  return list;
}

// Reorders (channels, taps) to (taps, channels).
template <class T>
std::vector<T> by_tap(const T* w, int64_t channels, int64_t taps) {
  std::vector<T> list(static_cast<size_t>(channels * taps));
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t c = 0; c < channels; ++c) list[static_cast<size_t>(t * channels + c)] = w[c * taps + t];
  return list;
}

// Calls run(fetch, keep) for vectors of which the first `filled` lanes exist in memory. With several vectors, all lanes
// exist.
template <class T, int vectors, class F>
[[gnu::always_inline]] inline void with_lanes(int64_t filled, F run) {
  if (vectors > 1 || filled == kLanes<T>) {
    run([](const T* p) { return load(p); }, [](T* p, Vec<T> v) { store(p, v); });
  } else {
    const Mask<T> mask(filled);
    run([&](const T* p) { return load(p, mask); }, [&](T* p, Vec<T> v) { store(p, v, mask); });
  }
}

// Points of a line, `every` apart, that use the same taps. Their positions advance by `shift` from one point to the
// next.
struct Series {
  int64_t first, count;
  std::vector<Meeting> taps;  // of the first
};
std::vector<Series> all_series(const Meetings& meetings, int64_t every, int64_t shift) {
  std::vector<Series> list;
  for (int64_t residue = 0; residue < every; ++residue) {
    auto goes_on = [&](const std::vector<Meeting>& now) {
      if (list.empty() || list.back().first % every != residue || list.back().taps.size() != now.size()) return false;
      for (size_t i = 0; i < now.size(); ++i) {
        const Meeting& then = list.back().taps[i];
        if (now[i].tap != then.tap || now[i].at != then.at + list.back().count * shift) return false;
      }
      return true;
    };
    for (int64_t p = residue; p < static_cast<int64_t>(meetings.size()); p += every) {
      const std::vector<Meeting>& now = meetings[static_cast<size_t>(p)];
      if (goes_on(now)) ++list.back().count;
      else list.push_back({p, 1, now});
    }
  }
  return list;
}

// y[point, c] = bias[c] + sum of w[tap, c] * x[at, c] over the pairs of all three dimensions.
template <class T>
struct Meet {
  std::vector<std::pair<const T*, const T*>> pairs;  // x at point 0, and w
  int64_t x_step, y_step;
  const T* bias;
  T* y;

  template <int points, int vectors>
  void run(int64_t point, int64_t c, int64_t filled) const {
    constexpr int lanes = kLanes<T>;
    with_lanes<T, vectors>(filled, [&](auto fetch, auto keep) __attribute__((always_inline)) {
      Vec<T> sum[points][vectors];
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) {
        const Vec<T> begin = bias ? fetch(bias + c + j * lanes) : Vec<T>{};
#pragma GCC unroll 4
        for (int i = 0; i < points; ++i) sum[i][j] = begin;
      }
      const int64_t offset = point * x_step + c;
      for (const auto& [x, w] : pairs)
#pragma GCC unroll 4
        for (int j = 0; j < vectors; ++j) {
          const Vec<T> factor = fetch(w + c + j * lanes);
#pragma GCC unroll 4
          for (int i = 0; i < points; ++i)
            sum[i][j] = fma(fetch(x + offset + i * x_step + j * lanes), factor, sum[i][j]);
        }
#pragma GCC unroll 4
      for (int i = 0; i < points; ++i)
#pragma GCC unroll 4
        for (int j = 0; j < vectors; ++j) keep(y + (point + i) * y_step + c + j * lanes, sum[i][j]);
    });
  }
  // Computes all points of a series for channels [begin, end).
  void series(int64_t count, int64_t begin, int64_t end) const {
    int64_t p = 0;
    for (; p + 4 <= count; p += 4) channels<4>(p, begin, end);
    for (; p < count; ++p) channels<1>(p, begin, end);
  }
  template <int points>
  void channels(int64_t point, int64_t begin, int64_t end) const {
    constexpr int lanes = kLanes<T>;
    int64_t c = begin;
    for (; c + 2 * lanes <= end; c += 2 * lanes) run<points, 2>(point, c, lanes);
    for (; c < end; c += lanes) run<points, 1>(point, c, std::min<int64_t>(lanes, end - c));
  }
};

// `meetings` lists the taps that connect the points `to` with the positions `from`. Along a line, points that are
// `every` apart use the same taps, with positions that are `shift` apart.
template <class T>
void depthwise(const ConvShape& s, const Meetings (&meetings)[3], const int64_t (&from)[3], const int64_t (&to)[3],
               int64_t every, int64_t shift, const T* x, const T* weights, const T* bias, T* y) {
  const int64_t channels = s.groups, lines = s.batch * to[0] * to[1];
  const std::vector<T> w = by_tap(weights, channels, s.taps());
  const std::vector<Series> series = all_series(meetings[2], every, shift);
  // Process as many channels at a time as stay in L1: the weights and the inputs of a few consecutive points.
  constexpr int64_t unit = 2 * kLanes<T>, kept = 24 << 10;
  const int64_t bytes = unit * int64_t{sizeof(T)} * (2 * s.taps() + 3 * s.kernel[0] * s.kernel[1]);
  const int64_t block = unit * std::max<int64_t>(1, kept / bytes);
  parallel_for(lines, grain_for(to[2] * channels * s.taps(), kTaskWork / 8), [&](int64_t first, int64_t last) {
    Meet<T> meet{{}, shift * channels, every * channels, bias, nullptr};
    for (int64_t l = first; l < last; ++l) {
      const int64_t image = l / to[1] / to[0], i = l / to[1] % to[0], j = l % to[1];
      for (const Series& points : series) {
        meet.pairs.clear();
        for (const Meeting& a : meetings[0][static_cast<size_t>(i)])
          for (const Meeting& b : meetings[1][static_cast<size_t>(j)])
            for (const Meeting& c : points.taps)
              meet.pairs.push_back({x + (((image * from[0] + a.at) * from[1] + b.at) * from[2] + c.at) * channels,
                                    w.data() + ((a.tap * s.kernel[1] + b.tap) * s.kernel[2] + c.tap) * channels});
        meet.y = y + (l * to[2] + points.first) * channels;
        for (int64_t c = 0; c < channels; c += block) meet.series(points.count, c, std::min(channels, c + block));
      }
    }
  });
}

// sum[c] += x[c] * dy[c] over `count` points, with strides x_step and y_step.
template <class T, int vectors>
void add_products(const T* x, int64_t x_step, const T* dy, int64_t y_step, int64_t count, int64_t filled, T* out) {
  constexpr int lanes = kLanes<T>, points = 4;  // at a time, with separate sums, because of the latency of additions
  with_lanes<T, vectors>(filled, [&](auto fetch, auto keep) __attribute__((always_inline)) {
    Vec<T> sum[points][vectors] = {};
    auto step = [&](int i) __attribute__((always_inline)) {
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) sum[i][j] = fma(fetch(x + j * lanes), fetch(dy + j * lanes), sum[i][j]);
      x += x_step, dy += y_step;
    };
    int64_t p = 0;
    for (; p + points <= count; p += points)
#pragma GCC unroll 4
      for (int i = 0; i < points; ++i) step(i);
    for (; p < count; ++p) step(0);
#pragma GCC unroll 4
    for (int j = 0; j < vectors; ++j)
      keep(out + j * lanes, fetch(out + j * lanes) + ((sum[0][j] + sum[1][j]) + (sum[2][j] + sum[3][j])));
  });
}

template <class T>
void depthwise_weight(const ConvShape& s, const T* x, const T* dy, T* dw) {
  constexpr int lanes = kLanes<T>;
  const int64_t channels = s.groups, taps = s.taps(), sums = channels * taps, lines = s.batch * s.out[0] * s.out[1];
  const Meetings rows[] = {meetings_of(End::output, s, 0), meetings_of(End::output, s, 1)};
  const int64_t chunks = std::min(lines, kChunks), stride = s.stride[2];
  std::vector<T> partial(static_cast<size_t>(chunks * sums));
  const int64_t work = ceil_div(lines, chunks) * s.out[2] * sums;
  parallel_for(chunks, grain_for(work, kTaskWork / 8), [&](int64_t first, int64_t last) {
    for (int64_t chunk = first; chunk < last; ++chunk) {
      T* sum = partial.data() + chunk * sums;
      for (int64_t l = chunk * lines / chunks; l < (chunk + 1) * lines / chunks; ++l) {
        const int64_t image = l / s.out[1] / s.out[0], i = l / s.out[1] % s.out[0], j = l % s.out[1];
        for (const Meeting& a : rows[0][static_cast<size_t>(i)])
          for (const Meeting& b : rows[1][static_cast<size_t>(j)])
            for (int64_t t = 0; t < s.kernel[2]; ++t) {
              const int64_t offset = t * s.dilation[2] - s.padding[2];
              const Stretch seen(s.out[2], s.in[2], offset, stride);
              const int64_t begin = seen.first, end = seen.last;
              const int64_t line = ((image * s.in[0] + a.at) * s.in[1] + b.at) * s.in[2];
              const T* from = x + (line + begin * stride + offset) * channels;
              const T* with = dy + (l * s.out[2] + begin) * channels;
              T* to = sum + ((a.tap * s.kernel[1] + b.tap) * s.kernel[2] + t) * channels;
              int64_t c = 0;
              for (; c + 2 * lanes <= channels; c += 2 * lanes)
                add_products<T, 2>(from + c, stride * channels, with + c, channels, end - begin, lanes, to + c);
              for (; c < channels; c += lanes)
                add_products<T, 1>(from + c, stride * channels, with + c, channels, end - begin,
                                   std::min<int64_t>(lanes, channels - c), to + c);
            }
      }
    }
  });
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t c = 0; c < channels; ++c) {
      T total = 0;
      for (int64_t chunk = 0; chunk < chunks; ++chunk)
        total += partial[static_cast<size_t>(chunk * sums + t * channels + c)];
      dw[c * taps + t] = total;
    }
}

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
