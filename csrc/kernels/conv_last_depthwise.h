// Depthwise convolutions of images whose channels lie last: vectors run along the channels.
#pragma once

#include <utility>

#include "kernels/conv_last_sums.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kChunks = 16;  // of lines, with sums of their own

// Along one dimension: which taps meet at each position of one side, and where they lie on the other.
struct Meeting {
  int64_t tap, at;
};
using Meetings = std::vector<std::vector<Meeting>>;
Meetings seen_by_outputs(const ConvShape& s, int d) {
  Meetings list(static_cast<size_t>(s.out[d]));
  for (int64_t o = 0; o < s.out[d]; ++o)
    for (int64_t t = 0; t < s.kernel[d]; ++t)
      if (const int64_t at = o * s.stride[d] - s.padding[d] + t * s.dilation[d]; at >= 0 && at < s.in[d])
        list[static_cast<size_t>(o)].push_back({t, at});
  return list;
}
Meetings reached_by_inputs(const ConvShape& s, int d) {
  Meetings list(static_cast<size_t>(s.in[d]));
  for (int64_t o = 0; o < s.out[d]; ++o)
    for (int64_t t = 0; t < s.kernel[d]; ++t)
      if (const int64_t at = o * s.stride[d] - s.padding[d] + t * s.dilation[d]; at >= 0 && at < s.in[d])
        list[static_cast<size_t>(at)].push_back({t, o});
  return list;
}

// (channels, taps) as (taps, channels).
template <class T>
std::vector<T> by_tap(const T* w, int64_t channels, int64_t taps) {
  std::vector<T> list(static_cast<size_t>(channels * taps));
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t c = 0; c < channels; ++c) list[static_cast<size_t>(t * channels + c)] = w[c * taps + t];
  return list;
}

// run(fetch, keep) on vectors of memory of which the first `filled` lanes exist.
template <class T, class F>
[[gnu::always_inline]] inline void with_lanes(int64_t filled, F run) {
  if (filled == kLanes<T>) {
    run([](const T* p) { return load(p); }, [](T* p, Vec<T> v) { store(p, v); });
  } else {
    const Mask<T> mask(filled);
    run([&](const T* p) { return load(p, mask); }, [&](T* p, Vec<T> v) { store(p, v, mask); });
  }
}

// One point: y[c] = bias[c] + sum of w[tap, c] * x[at, c] over the meetings of all three dimensions.
template <class T, int vectors>
void meet(const std::vector<std::pair<const T*, const T*>>& pairs, const T* bias, int64_t c, int64_t filled, T* y) {
  constexpr int lanes = kLanes<T>;
  with_lanes<T>(filled, [&](auto fetch, auto keep) __attribute__((always_inline)) {
    Vec<T> sum[vectors];
    for (int j = 0; j < vectors; ++j) sum[j] = bias ? fetch(bias + c + j * lanes) : Vec<T>{};
    for (const auto& [x, w] : pairs)
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) sum[j] = fma(fetch(x + c + j * lanes), fetch(w + c + j * lanes), sum[j]);
    for (int j = 0; j < vectors; ++j) keep(y + c + j * lanes, sum[j]);
  });
}

template <class T>
void depthwise(const ConvShape& s, const Meetings (&meetings)[3], const int64_t (&from)[3], const int64_t (&to)[3], const T* x,
               const T* weights, const T* bias, T* y) {
  constexpr int lanes = kLanes<T>;
  const int64_t channels = s.groups, lines = s.batch * to[0] * to[1];
  const std::vector<T> w = by_tap(weights, channels, s.taps());
  parallel_for(lines, grain_for(to[2] * channels * s.taps(), kTaskWork / 8), [&](int64_t first, int64_t last) {
    std::vector<std::pair<const T*, const T*>> pairs;
    for (int64_t l = first; l < last; ++l) {
      const int64_t image = l / to[1] / to[0], i = l / to[1] % to[0], j = l % to[1];
      for (int64_t p = 0; p < to[2]; ++p) {
        pairs.clear();
        for (const Meeting& a : meetings[0][static_cast<size_t>(i)])
          for (const Meeting& b : meetings[1][static_cast<size_t>(j)])
            for (const Meeting& c : meetings[2][static_cast<size_t>(p)])
              pairs.push_back({x + (((image * from[0] + a.at) * from[1] + b.at) * from[2] + c.at) * channels,
                               w.data() + ((a.tap * s.kernel[1] + b.tap) * s.kernel[2] + c.tap) * channels});
        T* out = y + (l * to[2] + p) * channels;
        int64_t c = 0;
        for (; c + 4 * lanes <= channels; c += 4 * lanes) meet<T, 4>(pairs, bias, c, lanes, out);
        for (; c + lanes <= channels; c += lanes) meet<T, 1>(pairs, bias, c, lanes, out);
        if (c < channels) meet<T, 1>(pairs, bias, c, channels - c, out);
      }
    }
  });
}

// sum[c] += x[c] * dy[c] over `count` points, that lie x_step and y_step apart.
template <class T, int vectors>
void add_products(const T* x, int64_t x_step, const T* dy, int64_t y_step, int64_t count, int64_t filled, T* out) {
  constexpr int lanes = kLanes<T>;
  with_lanes<T>(filled, [&](auto fetch, auto keep) __attribute__((always_inline)) {
    Vec<T> sum[vectors];
    for (int j = 0; j < vectors; ++j) sum[j] = fetch(out + j * lanes);
    for (int64_t p = 0; p < count; ++p, x += x_step, dy += y_step)
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) sum[j] = fma(fetch(x + j * lanes), fetch(dy + j * lanes), sum[j]);
    for (int j = 0; j < vectors; ++j) keep(out + j * lanes, sum[j]);
  });
}

template <class T>
void depthwise_weight(const ConvShape& s, const T* x, const T* dy, T* dw) {
  constexpr int lanes = kLanes<T>;
  const int64_t channels = s.groups, taps = s.taps(), sums = channels * taps, lines = s.batch * s.out[0] * s.out[1];
  const Meetings rows[] = {seen_by_outputs(s, 0), seen_by_outputs(s, 1)};
  const int64_t chunks = std::min(lines, kChunks), stride = s.stride[2];
  std::vector<T> partial(static_cast<size_t>(chunks * sums));
  parallel_for(chunks, grain_for(ceil_div(lines, chunks) * s.out[2] * sums, kTaskWork / 8), [&](int64_t first, int64_t last) {
    for (int64_t chunk = first; chunk < last; ++chunk) {
      T* sum = partial.data() + chunk * sums;
      for (int64_t l = chunk * lines / chunks; l < (chunk + 1) * lines / chunks; ++l) {
        const int64_t image = l / s.out[1] / s.out[0], i = l / s.out[1] % s.out[0], j = l % s.out[1];
        for (const Meeting& a : rows[0][static_cast<size_t>(i)])
          for (const Meeting& b : rows[1][static_cast<size_t>(j)])
            for (int64_t t = 0; t < s.kernel[2]; ++t) {
              const int64_t offset = t * s.dilation[2] - s.padding[2];
              const int64_t begin = offset >= 0 ? 0 : std::min(s.out[2], ceil_div(-offset, stride));
              const int64_t end = offset >= s.in[2] ? begin : std::clamp(ceil_div(s.in[2] - offset, stride), begin, s.out[2]);
              const T* from = x + (((image * s.in[0] + a.at) * s.in[1] + b.at) * s.in[2] + begin * stride + offset) * channels;
              const T* with = dy + (l * s.out[2] + begin) * channels;
              T* to = sum + ((a.tap * s.kernel[1] + b.tap) * s.kernel[2] + t) * channels;
              int64_t c = 0;
              for (; c + 4 * lanes <= channels; c += 4 * lanes)
                add_products<T, 4>(from + c, stride * channels, with + c, channels, end - begin, lanes, to + c);
              for (; c < channels; c += lanes)
                add_products<T, 1>(from + c, stride * channels, with + c, channels, end - begin, std::min<int64_t>(lanes, channels - c),
                                   to + c);
            }
      }
    }
  });
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t c = 0; c < channels; ++c) {
      T total = 0;
      for (int64_t chunk = 0; chunk < chunks; ++chunk) total += partial[static_cast<size_t>(chunk * sums + t * channels + c)];
      dw[c * taps + t] = total;
    }
}

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
