#include "kernels/pool/resample.h"

#include <algorithm>
#include <vector>

#include "core/parallel.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

template <class T>
void add_scaled(T* y, const T* x, T factor, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

template <class T, bool transposed>
void resample_lines(const ResampleTable& t, const T* src, T* dst) {
  const std::vector<T> weight(t.weight, t.weight + t.out * t.taps);
  const int64_t from = (transposed ? t.out : t.in) * t.inner, to = (transposed ? t.in : t.out) * t.inner;
  parallel_for(t.outer, ceil_div(kGrain, (t.in + t.out * t.taps) * t.inner + 1), [&](int64_t begin, int64_t end) {
    for (int64_t a = begin; a < end; ++a) {
      const T* x = src + a * from;
      T* y = dst + a * to;
      if (transposed || t.inner > 1) std::fill_n(y, to, T(0));
      for (int64_t o = 0; o < t.out; ++o) {
        const int64_t* index = t.index + o * t.taps;
        const T* w = weight.data() + o * t.taps;
        if (!transposed && t.inner == 1) {
          T sum = 0;
          for (int64_t k = 0; k < t.taps; ++k) sum += w[k] * x[index[k]];
          y[o] = sum;
          continue;
        }
        for (int64_t k = 0; k < t.taps; ++k) {
          if (w[k] == 0) continue;
          if (transposed) add_scaled(y + index[k] * t.inner, x + o * t.inner, w[k], t.inner);
          else add_scaled(y + o * t.inner, x + index[k] * t.inner, w[k], t.inner);
        }
      }
    }
  });
}

// Calls f(plane offset, column offset, count) for each run of `count` consecutive windows whose tap is inside the
// plane; a run advances by the stride in the plane. Calls `outside` for the runs of columns whose tap is in the
// padding.
template <class F, class G>
void runs(const UnfoldShape& s, F f, G outside) {
  int64_t column = 0;
  for (int64_t k = 0; k < s.kernel[0]; ++k)
    for (int64_t l = 0; l < s.kernel[1]; ++l) {
      const int64_t shift = l * s.dilation[1] - s.padding[1], n = s.out[1];
      const int64_t first = shift >= 0 ? 0 : std::min(n, ceil_div(-shift, s.stride[1]));
      const int64_t last = std::clamp<int64_t>(s.in[1] <= shift ? 0 : ceil_div(s.in[1] - shift, s.stride[1]), first, n);
      for (int64_t o = 0; o < s.out[0]; ++o, column += n) {
        const int64_t i = o * s.stride[0] - s.padding[0] + k * s.dilation[0];
        if (i < 0 || i >= s.in[0]) {
          outside(column, n);
          continue;
        }
        outside(column, first);
        f(i * s.in[1] + first * s.stride[1] + shift, column + first, last - first);
        outside(column + last, n - last);
      }
    }
}

template <class T>
void unfold_planes(const UnfoldShape& s, const T* x, T* columns) {
  const int64_t plane = s.in[0] * s.in[1], rows = s.kernel[0] * s.kernel[1] * s.out[0] * s.out[1], step = s.stride[1];
  parallel_for(s.planes, ceil_div(kGrain, rows + 1), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      runs(
          s,
          [&](int64_t at, int64_t column, int64_t n) {
            const T* from = x + p * plane + at;
            T* to = columns + p * rows + column;
            if (step == 1) std::copy_n(from, n, to);
            else
              for (int64_t i = 0; i < n; ++i) to[i] = from[i * step];
          },
          [&](int64_t column, int64_t n) { std::fill_n(columns + p * rows + column, n, T(0)); });
  });
}

template <class T>
void fold_planes(const UnfoldShape& s, const T* columns, T* x) {
  const int64_t plane = s.in[0] * s.in[1], rows = s.kernel[0] * s.kernel[1] * s.out[0] * s.out[1], step = s.stride[1];
  parallel_for(s.planes, ceil_div(kGrain, rows + plane + 1), [&](int64_t begin, int64_t end) {
    std::fill_n(x + begin * plane, (end - begin) * plane, T(0));
    for (int64_t p = begin; p < end; ++p)
      runs(
          s,
          [&](int64_t at, int64_t column, int64_t n) {
            const T* from = columns + p * rows + column;
            T* to = x + p * plane + at;
            if (step == 1) add_scaled(to, from, T(1), n);
            else
              for (int64_t i = 0; i < n; ++i) to[i * step] += from[i];
          },
          [](int64_t, int64_t) {});
  });
}

}  // namespace

void resample(DType dtype, const ResampleTable& table, const void* x, void* y) {
  if (dtype == DType::Float32)
    resample_lines<float, false>(table, static_cast<const float*>(x), static_cast<float*>(y));
  else resample_lines<double, false>(table, static_cast<const double*>(x), static_cast<double*>(y));
}
void resample_transposed(DType dtype, const ResampleTable& table, const void* y, void* x) {
  if (dtype == DType::Float32) resample_lines<float, true>(table, static_cast<const float*>(y), static_cast<float*>(x));
  else resample_lines<double, true>(table, static_cast<const double*>(y), static_cast<double*>(x));
}
void resample_bytes(const ByteTable& t, const uint8_t* src, uint8_t* dst) {
  parallel_for(t.outer, ceil_div(kGrain, t.out * t.taps * t.inner + 1), [&](int64_t begin, int64_t end) {
    std::vector<int32_t> sums(t.inner);
    for (int64_t a = begin; a < end; ++a) {
      const uint8_t* x = src + a * t.in * t.inner;
      uint8_t* y = dst + a * t.out * t.inner;
      for (int64_t o = 0; o < t.out; ++o, y += t.inner) {
        std::fill(sums.begin(), sums.end(), 1 << (t.shift - 1));
        for (int64_t k = o * t.taps; k < (o + 1) * t.taps; ++k) {
          const int32_t w = t.weight[k];
          const uint8_t* from = x + t.index[k] * t.inner;
          for (int64_t i = 0; w != 0 && i < t.inner; ++i) sums[i] += w * from[i];
        }
        for (int64_t i = 0; i < t.inner; ++i) y[i] = static_cast<uint8_t>(std::clamp(sums[i] >> t.shift, 0, 255));
      }
    }
  });
}
void unfold(DType dtype, const UnfoldShape& shape, const void* x, void* columns) {
  if (dtype == DType::Float32) unfold_planes(shape, static_cast<const float*>(x), static_cast<float*>(columns));
  else unfold_planes(shape, static_cast<const double*>(x), static_cast<double*>(columns));
}
void fold(DType dtype, const UnfoldShape& shape, const void* columns, void* x) {
  if (dtype == DType::Float32) fold_planes(shape, static_cast<const float*>(columns), static_cast<float*>(x));
  else fold_planes(shape, static_cast<const double*>(columns), static_cast<double*>(x));
}

GENESIS_KERNEL(resample)
GENESIS_KERNEL(resample_transposed)
GENESIS_KERNEL(resample_bytes)
GENESIS_KERNEL(unfold)
GENESIS_KERNEL(fold)

}  // namespace genesis::kernels::GENESIS_ISA
