// Pooling of channels-last images: vectors run along the channels, so windows of any size, stride and dilation are
// handled alike. In the backward pass, each input looks up the windows that contain it: threads divide the inputs, and
// no two threads write to the same memory.
#include <limits>

#include "core/parallel.h"
#include "kernels/gemm/micro.h"
#include "kernels/pool/pool.h"
#include "kernels/pool/windows.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

template <class T>
using IntVec = decltype(Vec<T>{} > Vec<T>{});
template <class T>
using Int = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

int64_t grain_for(int64_t work) { return (kLightGrain + work) / std::max<int64_t>(1, work); }

// The windows of all three dimensions.
struct AllWindows {
  Windows w[3];
  explicit AllWindows(const PoolShape& s) : w{Windows(s, 0), Windows(s, 1), Windows(s, 2)} {}
};

// Calls f(pointer, position in the plane) for the channels of each input of a window.
template <class F>
void each_seen(const PoolShape& s, const AllWindows& all, const int64_t (&o)[3], F f) {
  const auto& [w0, w1, w2] = all.w;
  for (int64_t i = w0.begin[o[0]]; i < w0.end[o[0]]; i += w0.step)
    for (int64_t j = w1.begin[o[1]]; j < w1.end[o[1]]; j += w1.step)
      for (int64_t k = w2.begin[o[2]]; k < w2.end[o[2]]; k += w2.step) f((i * s.in[1] + j) * s.in[2] + k);
}

// Calls f(flat position in all images, position in an image, its image) for each position of images of `size`.
template <class F>
void each_position(const PoolShape& s, const int64_t (&size)[3], int64_t work, F f) {
  const int64_t images = s.planes / s.channels, per_image = size[0] * size[1] * size[2];
  parallel_for(images * per_image, grain_for(work * s.channels), [&](int64_t begin, int64_t end) {
    F run = f;  // with its own state
    const int64_t first = begin % per_image;
    int64_t image = begin / per_image, at[3] = {first / size[2] / size[1], first / size[2] % size[1], first % size[2]};
    for (int64_t p = begin; p < end; ++p) {  // counted, because divisions take as long as several channels
      run(p, at, image);
      if (++at[2] < size[2]) continue;
      at[2] = 0;
      if (++at[1] < size[1]) continue;
      at[1] = 0;
      if (++at[0] < size[0]) continue;
      at[0] = 0;
      ++image;
    }
  });
}
using Position = const int64_t (&)[3];

int64_t window_size(const PoolShape& s) {
  return s.adaptive ? std::max<int64_t>(1, s.in_size() / s.out_size()) : s.kernel[0] * s.kernel[1] * s.kernel[2];
}

// The maximum of `seen` rows of x, for a few vectors of channels.
template <class T, class Index, int vectors>
void max_channels(const T* x, int64_t channels, const std::vector<Int<T>>& seen, Int<T> first, int64_t filled, T* y,
                  Index* index) {
  constexpr int lanes = kLanes<T>;
  Vec<T> best[vectors];
  IntVec<T> where[vectors];
  auto run = [&](auto fetch) __attribute__((always_inline)) {
    for (int j = 0; j < vectors; ++j)
      best[j] = broadcast(-std::numeric_limits<T>::infinity()), where[j] = first - IntVec<T>{};
    for (const Int<T> at : seen)
#pragma GCC unroll 4
      for (int j = 0; j < vectors; ++j) {
        const Vec<T> value = fetch(x + at * channels + j * lanes);
        const IntVec<T> take = (value > best[j]) | (value != value);
        best[j] = take ? value : best[j];
        where[j] = take ? at - IntVec<T>{} : where[j];
      }
  };
  if (filled == lanes) {
    run([](const T* p) { return load(p); });
    for (int j = 0; j < vectors; ++j) store(y + j * lanes, best[j]);
  } else {
    const Mask<T> mask(filled);
    run([&](const T* p) { return load(p, mask); });
    store(y, best[0], mask);
  }
  for (int j = 0; j < vectors; ++j)
    for (int64_t l = 0; l < filled; ++l) index[j * lanes + l] = static_cast<Index>(where[j][l]);
}

template <class T, class Index>
void max_all(const PoolShape& s, const T* x, T* y, Index* index) {
  constexpr int lanes = kLanes<T>;
  const AllWindows all(s);
  const int64_t channels = s.channels, in_size = s.in_size();
  each_position(s, s.out, window_size(s),
                [&, seen = std::vector<Int<T>>()](int64_t p, Position o, int64_t image) mutable {
                  seen.clear();
                  each_seen(s, all, o, [&](int64_t at) { seen.push_back(static_cast<Int<T>>(at)); });
                  int64_t first[3];
                  for (int d = 0; d < 3; ++d) first[d] = std::min(all.w[d].begin[o[d]], s.in[d] - 1);
                  const auto from = static_cast<Int<T>>((first[0] * s.in[1] + first[1]) * s.in[2] + first[2]);
                  const T* source = x + image * in_size * channels;
                  int64_t c = 0;
                  for (; c + 4 * lanes <= channels; c += 4 * lanes)
                    max_channels<T, Index, 4>(source + c, channels, seen, from, lanes, y + p * channels + c,
                                              index + p * channels + c);
                  for (; c < channels; c += lanes)
                    max_channels<T, Index, 1>(source + c, channels, seen, from, std::min<int64_t>(lanes, channels - c),
                                              y + p * channels + c, index + p * channels + c);
                });
}

// For each input of a dimension, the outputs whose windows contain it.
std::vector<std::vector<int64_t>> windows_of_inputs(const PoolShape& s, const Windows& w, int d) {
  std::vector<std::vector<int64_t>> list(static_cast<size_t>(s.in[d]));
  for (int64_t o = 0; o < s.out[d]; ++o)
    for (int64_t i = w.begin[o]; i < w.end[o]; i += w.step) list[static_cast<size_t>(i)].push_back(o);
  return list;
}

// dx[i] = the sum of term(output) over the windows that contain input i, where term(flat output in its image, position
// of i, row of the output in y, channel) is a number.
template <class T, class Term>
void gather_windows(const PoolShape& s, T* dx, Term term) {
  const AllWindows all(s);
  const std::vector<std::vector<int64_t>> in[] = {windows_of_inputs(s, all.w[0], 0), windows_of_inputs(s, all.w[1], 1),
                                                  windows_of_inputs(s, all.w[2], 2)};
  const int64_t channels = s.channels, out_size = s.out_size(), in_size = s.in_size();
  each_position(s, s.in, std::max<int64_t>(1, window_size(s) * out_size / in_size),
                [&](int64_t p, Position at, int64_t image) {
                  T* to = dx + p * channels;
                  std::fill_n(to, channels, T(0));
                  for (int64_t a : in[0][static_cast<size_t>(at[0])])
                    for (int64_t b : in[1][static_cast<size_t>(at[1])])
                      for (int64_t c : in[2][static_cast<size_t>(at[2])]) {
                        const int64_t o = (a * s.out[1] + b) * s.out[2] + c;
                        term(o, p - image * in_size, (image * out_size + o) * channels, to);
                      }
                });
}

// Clears dx and adds each gradient at its maximum. The number of steps is that of the outputs, without vectors, while
// gather_windows takes as many as there are pairs of inputs and windows. Threads divide the images and, if those are
// few, their channels.
template <class T, class Index>
void max_scatter(const PoolShape& s, const T* dy, const Index* index, T* dx) {
  constexpr int64_t line = 64 / sizeof(T);
  const AllWindows all(s);
  const int64_t channels = s.channels, images = s.planes / channels;
  const int64_t share = channels * images / get_num_threads();  // does not affect results
  const int64_t width = std::min(channels, ceil_div(share, line) * line);
  const int64_t blocks = ceil_div(channels, width);
  parallel_for(images * blocks, grain_for(s.in_size() * width), [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t image = unit / blocks, from = unit % blocks * width, n = std::min(width, channels - from);
      T* const x = dx + image * s.in_size() * channels + from;
      int64_t zeroed = 0;  // positions: lines are cleared shortly before they are added to, so that they are cached
      const auto zero_until = [&](int64_t position) {
        for (; zeroed < position; ++zeroed) std::fill_n(x + zeroed * channels, n, T(0));
      };
      int64_t row = image * s.out_size() * channels + from;
      for (int64_t i = 0; i < s.out[0]; ++i)
        for (int64_t j = 0; j < s.out[1]; ++j) {
          // One position beyond the window: the maximum of an empty window is there.
          const int64_t planes = std::min(all.w[0].end[i] + 1, s.in[0]), lines = std::min(all.w[1].end[j] + 1, s.in[1]);
          zero_until(((planes - 1) * s.in[1] + (planes == 1 ? lines : s.in[1])) * s.in[2]);
          for (int64_t k = 0; k < s.out[2]; ++k, row += channels)
            for (int64_t c = 0; c < n; ++c) x[index[row + c] * channels + c] += dy[row + c];
        }
      zero_until(s.in_size());
    }
  });
}

template <class T, class Index>
void max_backward(const PoolShape& s, const T* dy, const Index* index, T* dx) {
  if (window_size(s) > kLanes<T>) return max_scatter(s, dy, index, dx);
  const int64_t channels = s.channels;
  gather_windows(s, dx, [&](int64_t, int64_t place, int64_t row, T* to) {
    const T* from = dy + row;
    const Index* at = index + row;
    const Index here = static_cast<Index>(place);
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) to[c] += at[c] == here ? from[c] : T(0);
  });
}

// The factor by which the sum of each output is multiplied.
template <class T>
std::vector<T> all_factors(const PoolShape& s, const AllWindows& all) {
  std::vector<T> factor(static_cast<size_t>(s.out_size()));
  for (int64_t line = 0; line < s.out[0] * s.out[1]; ++line)
    factors(s, all.w[0], all.w[1], all.w[2], line / s.out[1], line % s.out[1], factor.data() + line * s.out[2]);
  return factor;
}

template <class T>
void avg_all(const PoolShape& s, const T* x, T* y) {
  const AllWindows all(s);
  const std::vector<T> factor = all_factors<T>(s, all);
  const int64_t channels = s.channels, in_size = s.in_size(), out_size = s.out_size();
  each_position(s, s.out, window_size(s), [&](int64_t p, Position o, int64_t image) {
    T* to = y + p * channels;
    std::fill_n(to, channels, T(0));
    each_seen(s, all, o, [&](int64_t at) {
      const T* from = x + (image * in_size + at) * channels;
#pragma GCC ivdep
      for (int64_t c = 0; c < channels; ++c) to[c] += from[c];
    });
    const T scale = factor[static_cast<size_t>(p % out_size)];
    for (int64_t c = 0; c < channels; ++c) to[c] *= scale;
  });
}

template <class T>
void avg_backward(const PoolShape& s, const T* dy, T* dx) {
  const std::vector<T> factor = all_factors<T>(s, AllWindows(s));
  const int64_t channels = s.channels;
  gather_windows(s, dx, [&](int64_t o, int64_t, int64_t row, T* to) {
    const T* from = dy + row;
    const T scale = factor[static_cast<size_t>(o)];
#pragma GCC ivdep
    for (int64_t c = 0; c < channels; ++c) to[c] += from[c] * scale;
  });
}

}  // namespace

void max_pool_last(DType dtype, const PoolShape& shape, const void* x, void* y, DType index_dtype, void* index) {
  by_types(dtype, index_dtype, [&]<class T, class Index>(T, Index) {
    max_all(shape, static_cast<const T*>(x), static_cast<T*>(y), static_cast<Index*>(index));
  });
}

void max_pool_backward_last(DType dtype, const PoolShape& shape, const void* dy, DType index_dtype, const void* index,
                            void* dx) {
  by_types(dtype, index_dtype, [&]<class T, class Index>(T, Index) {
    max_backward(shape, static_cast<const T*>(dy), static_cast<const Index*>(index), static_cast<T*>(dx));
  });
}

void avg_pool_last(DType dtype, const PoolShape& shape, const void* x, void* y) {
  if (dtype == DType::Float32) avg_all(shape, static_cast<const float*>(x), static_cast<float*>(y));
  else avg_all(shape, static_cast<const double*>(x), static_cast<double*>(y));
}

void avg_pool_backward_last(DType dtype, const PoolShape& shape, const void* dy, void* dx) {
  if (dtype == DType::Float32) avg_backward(shape, static_cast<const float*>(dy), static_cast<float*>(dx));
  else avg_backward(shape, static_cast<const double*>(dy), static_cast<double*>(dx));
}

GENESIS_KERNEL(max_pool_last)
GENESIS_KERNEL(max_pool_backward_last)
GENESIS_KERNEL(avg_pool_last)
GENESIS_KERNEL(avg_pool_backward_last)

}  // namespace genesis::kernels::GENESIS_ISA
