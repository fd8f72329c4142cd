// Convolutions of images whose channels lie last.
//
// With one group they are matrix products (gemm.h). The row of an output holds all that it sees, (tap, channel), which is
// runs of neighbouring memory; a block of rows is gathered at a time, small enough for the cache, unless each output sees
// just the input at its own position. The gradient of the input goes the other way, from products to where they belong.
// Depthwise convolutions run vectors along the channels.
//
// Blocks and chunks follow from the shape alone; what they add to the same sums is added in order.
#include "kernels/conv_last.h"

#include <algorithm>
#include <vector>

#include "core/parallel.h"
#include "kernels/gemm.h"
#include "kernels/gemm_micro.h"
#include "kernels/scratch.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kBlockBytes = 512 << 10;       // of gathered rows, in L2
constexpr int64_t kLeastRows = 96;               // that repay packing the weights for a product
constexpr int64_t kChunks = 16;                  // of lines, with sums of their own
constexpr int64_t kTaskWork = int64_t{1} << 18;  // multiply-adds worth handing to a thread

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t grain_for(int64_t work, int64_t task = kTaskWork) { return ceil_div(task, std::max<int64_t>(1, work)); }

template <class T>
const Scratch<T> gathered_rows;
template <class T>
const Scratch<T> turned_weights;

// C (m x n, rows contiguous) = A @ B + beta * C.
template <class T>
void product(int64_t m, int64_t n, int64_t k, GemmMatrix<T> a, GemmMatrix<T> b, T beta, T* c) {
  if constexpr (sizeof(T) == 4) sgemm(m, n, k, 1, a, b, beta, c, n, 1);
  else dgemm(m, n, k, 1, a, b, beta, c, n, 1);
}

template <class T>
void add_bias(T* y, const T* bias, int64_t rows, int64_t channels) {
  if (!bias) return;
  for (int64_t i = 0; i < rows; ++i, y += channels)
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) y[c] += bias[c];
}

// ----- One group -----

struct Place {
  int64_t image, at[3];  // position in an image
  Place(const int64_t (&size)[3], int64_t flat) {
    at[2] = flat % size[2];
    at[1] = flat / size[2] % size[1];
    at[0] = flat / size[2] / size[1] % size[0];
    image = flat / size[2] / size[1] / size[0];
  }
};

template <class T>
void copy_run(T* dst, const T* src, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(dst + i, load(src + i));
  if (i < n) store(dst + i, load(src + i, Mask<T>(n - i)), Mask<T>(n - i));
}
template <class T>
void add_run(T* dst, const T* src, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(dst + i, load(dst + i) + load(src + i));
  if (const Mask<T> mask(n - i); i < n) store(dst + i, load(dst + i, mask) + load(src + i, mask), mask);
}

// The taps along the last dimension, [first, last), that see x from an output at `position`.
struct Taps {
  int64_t first, last;
  Taps(const ConvShape& s, int64_t position) {
    const int64_t low = position * s.stride[2] - s.padding[2], step = s.dilation[2];
    first = low >= 0 ? 0 : std::min(s.kernel[2], ceil_div(-low, step));
    last = low >= s.in[2] ? first : std::clamp(ceil_div(s.in[2] - low, step), first, s.kernel[2]);
  }
};

// Output `flat` of all images as a row of k.
template <class T>
void gather_row(const ConvShape& s, const T* x, int64_t flat, T* row) {
  const Place o(s.out, flat);
  const int64_t channels = s.in_channels, line = s.kernel[2] * channels;
  const Taps taps(s, o.at[2]);
  const int64_t low = o.at[2] * s.stride[2] - s.padding[2];
  for (int64_t a = 0; a < s.kernel[0]; ++a)
    for (int64_t b = 0; b < s.kernel[1]; ++b, row += line) {
      const int64_t i = o.at[0] * s.stride[0] - s.padding[0] + a * s.dilation[0];
      const int64_t j = o.at[1] * s.stride[1] - s.padding[1] + b * s.dilation[1];
      if (i < 0 || i >= s.in[0] || j < 0 || j >= s.in[1] || taps.first == taps.last) {
        std::fill_n(row, line, T(0));
        continue;
      }
      const T* from = x + (((o.image * s.in[0] + i) * s.in[1] + j) * s.in[2] + low) * channels;
      if (taps.first > 0) std::fill_n(row, taps.first * channels, T(0));
      if (s.dilation[2] == 1) {
        copy_run(row + taps.first * channels, from + taps.first * channels, (taps.last - taps.first) * channels);
      } else {
        for (int64_t t = taps.first; t < taps.last; ++t)
          copy_run(row + t * channels, from + t * s.dilation[2] * channels, channels);
      }
      if (taps.last < s.kernel[2]) std::fill_n(row + taps.last * channels, (s.kernel[2] - taps.last) * channels, T(0));
    }
}

// Outputs [begin, end) as rows: gathered, or x itself.
template <class T>
const T* rows_of(const ConvShape& s, const T* x, int64_t begin, int64_t end, T* memory) {
  const int64_t k = s.taps() * s.in_channels;
  if (s.on_input()) return x + begin * k;
  parallel_for(end - begin, grain_for(k, 1 << 14), [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) gather_row(s, x, begin + i, memory + i * k);
  });
  return memory;
}

// Outputs at a time.
template <class T>
int64_t block_rows(const ConvShape& s) {
  const int64_t total = s.batch * s.out_size(), k = s.taps() * s.in_channels;
  const int64_t most = s.on_input() ? 1024 : std::max(kLeastRows, kBlockBytes / std::max<int64_t>(1, k * int64_t{sizeof(T)}));
  return ceil_div(total, ceil_div(total, most));
}

template <class T>
void forward_rows(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  const int64_t total = s.batch * s.out_size(), k = s.taps() * s.in_channels, n = s.out_channels;
  const int64_t block = block_rows<T>(s), blocks = ceil_div(total, block);
  T* const turned = turned_weights<T>.get(k * n);  // (k, n): each block packs it again
  pack(w, k, 1, n, k, turned, n);
  auto run = [&](int64_t first, int64_t last) {
    T* memory = gathered_rows<T>.get(s.on_input() ? 1 : block * k);
    for (int64_t i = first; i < last; ++i) {
      const int64_t begin = i * block, end = std::min(total, begin + block);
      const T* rows = rows_of(s, x, begin, end, memory);
      product<T>(end - begin, n, k, {rows, k, 1}, {turned, n, 1}, 0, y + begin * n);
      add_bias(y + begin * n, bias, end - begin, n);
    }
  };
  if (blocks < 2 * get_num_threads()) run(0, blocks);
  else parallel_for(blocks, grain_for(block * k * n), run);
}

// Adds rows of outputs [begin, end) to the lines of x that they see; line by line, so that each is one thread's.
template <class T>
void scatter_rows(const ConvShape& s, const T* rows, int64_t begin, int64_t end, T* x) {
  const int64_t channels = s.in_channels, k = s.taps() * channels, lines = s.in[0] * s.in[1], out_lines = s.out[0] * s.out[1];
  const int64_t first_line = begin / s.out[2] / out_lines * lines, last_line = ((end - 1) / s.out[2] / out_lines + 1) * lines;
  parallel_for(last_line - first_line, grain_for(s.in[2] * channels, 1 << 14), [&](int64_t first, int64_t last) {
    for (int64_t l = first_line + first; l < first_line + last; ++l) {
      const int64_t image = l / lines, i = l % lines / s.in[1], j = l % s.in[1];
      T* line = x + l * s.in[2] * channels;
      for (int64_t a = 0; a < s.kernel[0]; ++a) {
        const int64_t u = i + s.padding[0] - a * s.dilation[0];
        if (u < 0 || u % s.stride[0] != 0 || u / s.stride[0] >= s.out[0]) continue;
        for (int64_t b = 0; b < s.kernel[1]; ++b) {
          const int64_t v = j + s.padding[1] - b * s.dilation[1];
          if (v < 0 || v % s.stride[1] != 0 || v / s.stride[1] >= s.out[1]) continue;
          const int64_t start = ((image * s.out[0] + u / s.stride[0]) * s.out[1] + v / s.stride[1]) * s.out[2];
          for (int64_t o = std::max(start, begin); o < std::min(start + s.out[2], end); ++o) {
            const T* from = rows + (o - begin) * k + (a * s.kernel[1] + b) * s.kernel[2] * channels;
            const Taps taps(s, o - start);
            T* to = line + ((o - start) * s.stride[2] - s.padding[2]) * channels;
            if (s.dilation[2] == 1) {
              add_run(to + taps.first * channels, from + taps.first * channels, (taps.last - taps.first) * channels);
            } else {
              for (int64_t t = taps.first; t < taps.last; ++t)
                add_run(to + t * s.dilation[2] * channels, from + t * channels, channels);
            }
          }
        }
      }
    }
  });
}

template <class T>
void input_rows(const ConvShape& s, const T* dy, const T* w, const T* bias, T* dx) {
  const int64_t total = s.batch * s.out_size(), k = s.taps() * s.in_channels, n = s.out_channels, in_size = s.in_size() * s.in_channels;
  if (s.on_input()) {
    const int64_t block = block_rows<T>(s);
    auto run = [&](int64_t first, int64_t last) {
      for (int64_t begin = first * block; begin < std::min(total, last * block); begin += block) {
        const int64_t rows = std::min(block, total - begin);
        product<T>(rows, k, n, {dy + begin * n, n, 1}, {w, k, 1}, 0, dx + begin * k);
        add_bias(dx + begin * k, bias, rows, k);
      }
    };
    const int64_t blocks = ceil_div(total, block);
    if (blocks < 2 * get_num_threads()) run(0, blocks);
    else parallel_for(blocks, grain_for(block * k * n), run);
    return;
  }
  if (total == 0) {
    std::fill_n(dx, s.batch * in_size, T(0));
    return add_bias(dx, bias, s.batch * s.in_size(), s.in_channels);
  }
  // By whole images, unless they are large. Then the blocks are done one after another and share their work out.
  const int64_t out_size = s.out_size(), per_block = std::max(kLeastRows, kBlockBytes / std::max<int64_t>(1, k * int64_t{sizeof(T)}));
  const int64_t images = std::clamp<int64_t>(per_block / out_size, 1, s.batch), piece = std::min(per_block, images * out_size);
  auto run = [&](int64_t first, int64_t last) {
    T* memory = gathered_rows<T>.get(piece * k);
    for (int64_t i = first; i < last; ++i) {
      const int64_t begin = i * images * out_size, end = std::min(total, begin + images * out_size);
      const int64_t count = (end - begin) / out_size * s.in_size();
      T* to = dx + i * images * in_size;
      for (int64_t p = 0; p < (bias ? count : 0); ++p) std::copy_n(bias, s.in_channels, to + p * s.in_channels);
      if (!bias) std::fill_n(to, count * s.in_channels, T(0));
      for (int64_t at = begin; at < end; at += piece) {
        const int64_t rows = std::min(piece, end - at);
        product<T>(rows, k, n, {dy + at * n, n, 1}, {w, k, 1}, 0, memory);
        scatter_rows(s, memory, at, at + rows, dx);
      }
    }
  };
  const int64_t blocks = ceil_div(s.batch, images);
  if (blocks < 2 * get_num_threads()) run(0, blocks);
  else parallel_for(blocks, grain_for(images * out_size * k * n), run);
}

template <class T>
void weight_rows(const ConvShape& s, const T* x, const T* dy, T* dw) {
  const int64_t total = s.batch * s.out_size(), k = s.taps() * s.in_channels, n = s.out_channels;
  const int64_t block = s.on_input() ? total : block_rows<T>(s);
  T* memory = gathered_rows<T>.get(s.on_input() ? 1 : block * k);
  for (int64_t begin = 0; begin < total; begin += block) {
    const int64_t end = std::min(total, begin + block);
    const T* rows = rows_of(s, x, begin, end, memory);
    product<T>(n, k, end - begin, {dy + begin * n, 1, n}, {rows, k, 1}, begin > 0 ? 1 : 0, dw);
  }
}

// ----- Depthwise -----

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

// One point: y[c] = bias[c] + sum of w[tap, c] * x[at, c] over the meetings of all three dimensions.
template <class T, int vectors>
void meet(const std::vector<std::pair<const T*, const T*>>& pairs, const T* bias, int64_t c, int64_t filled, T* y) {
  constexpr int lanes = kLanes<T>;
  Vec<T> sum[vectors];
  auto run = [&](auto fetch, auto keep) __attribute__((always_inline)) {
    for (int j = 0; j < vectors; ++j) sum[j] = bias ? fetch(bias + c + j * lanes) : Vec<T>{};
    for (const auto& [x, w] : pairs)
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) sum[j] = fma(fetch(x + c + j * lanes), fetch(w + c + j * lanes), sum[j]);
    for (int j = 0; j < vectors; ++j) keep(y + c + j * lanes, sum[j]);
  };
  if (filled == lanes) {
    run([](const T* p) { return load(p); }, [](T* p, Vec<T> v) { store(p, v); });
  } else {
    const Mask<T> mask(filled);
    run([&](const T* p) { return load(p, mask); }, [&](T* p, Vec<T> v) { store(p, v, mask); });
  }
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
  auto run = [&](auto fetch, auto keep) __attribute__((always_inline)) {
    Vec<T> sum[vectors];
    for (int j = 0; j < vectors; ++j) sum[j] = fetch(out + j * lanes);
    for (int64_t p = 0; p < count; ++p, x += x_step, dy += y_step)
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) sum[j] = fma(fetch(x + j * lanes), fetch(dy + j * lanes), sum[j]);
    for (int j = 0; j < vectors; ++j) keep(out + j * lanes, sum[j]);
  };
  if (filled == lanes) {
    run([](const T* p) { return load(p); }, [](T* p, Vec<T> v) { store(p, v); });
  } else {
    const Mask<T> mask(filled);
    run([&](const T* p) { return load(p, mask); }, [&](T* p, Vec<T> v) { store(p, v, mask); });
  }
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

// ----- The doors -----

template <class T>
void forward(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  if (s.batch * s.groups * s.out_channels * s.out_size() == 0) return;
  if (s.groups == 1) return forward_rows(s, x, w, bias, y);
  const Meetings meetings[] = {seen_by_outputs(s, 0), seen_by_outputs(s, 1), seen_by_outputs(s, 2)};
  depthwise(s, meetings, s.in, s.out, x, w, bias, y);
}

template <class T>
void input(const ConvShape& s, const T* dy, const T* w, const T* bias, T* dx) {
  if (s.batch * s.groups * s.in_channels * s.in_size() == 0) return;
  if (s.groups == 1) return input_rows(s, dy, w, bias, dx);
  const Meetings meetings[] = {reached_by_inputs(s, 0), reached_by_inputs(s, 1), reached_by_inputs(s, 2)};
  depthwise(s, meetings, s.out, s.in, dy, w, bias, dx);
}

template <class T>
void weight(const ConvShape& s, const T* x, const T* dy, T* dw) {
  const int64_t count = s.groups * s.out_channels * s.in_channels * s.taps();
  if (count == 0) return;
  if (s.batch * s.out_size() == 0) std::fill_n(dw, count, T(0));
  else if (s.groups == 1) weight_rows(s, x, dy, dw);
  else depthwise_weight(s, x, dy, dw);
}

// f(T()) for the type that `dtype` names.
template <class F>
void by_type(DType dtype, F f) {
  if (dtype == DType::Float32) f(float());
  else f(double());
}

}  // namespace

void conv_forward_last(DType dtype, const ConvShape& shape, const void* x, const void* w, const void* bias, void* y) {
  by_type(dtype, [&]<class T>(T) {
    forward(shape, static_cast<const T*>(x), static_cast<const T*>(w), static_cast<const T*>(bias), static_cast<T*>(y));
  });
}

void conv_input_last(DType dtype, const ConvShape& shape, const void* dy, const void* w, const void* bias, void* dx) {
  by_type(dtype, [&]<class T>(T) {
    input(shape, static_cast<const T*>(dy), static_cast<const T*>(w), static_cast<const T*>(bias), static_cast<T*>(dx));
  });
}

void conv_weight_last(DType dtype, const ConvShape& shape, const void* x, const void* dy, void* dw) {
  by_type(dtype, [&]<class T>(T) {
    weight(shape, static_cast<const T*>(x), static_cast<const T*>(dy), static_cast<T*>(dw));
  });
}

GENESIS_KERNEL(conv_forward_last)
GENESIS_KERNEL(conv_input_last)
GENESIS_KERNEL(conv_weight_last)

}  // namespace genesis::kernels::GENESIS_ISA
