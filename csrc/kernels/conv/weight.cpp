// The gradient of a convolution's weight: sums over all outputs of all images of x, shifted by each tap, times dy.
//
// In general it is a matrix product over the output positions (conv/weight_product.h). With few output channels per
// group, it is computed as sums along vectors of positions (conv/weight_dots.h). With one tap, on x itself, it is a
// plain matrix product for each image (gemm.h).
#include "core/parallel.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/weight_dots.h"
#include "kernels/conv/weight_product.h"
#include "kernels/gemm/gemm.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// dw = the sum over images of dy @ x^T, where output and input have the same positions.
template <class T>
void image_products(const ConvShape& s, const T* x, const T* dy, T* dw) {
  const int64_t size = s.in_size(), per_group = s.out_channels * s.in_channels, sums = s.groups * per_group;
  const int64_t chunks = std::clamp<int64_t>(std::min(s.batch, kSums / sums), 1, kChunks);
  T* partial = chunks > 1 ? partial_sums<T>.get(chunks * sums) : dw;
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t chunk = task / s.groups, g = task % s.groups, first = chunk * s.batch / chunks;
      for (int64_t n = first; n < (chunk + 1) * s.batch / chunks; ++n) {
        const GemmMatrix<T> a{dy + (n * s.groups + g) * s.out_channels * size, size, 1};
        const GemmMatrix<T> b{x + (n * s.groups + g) * s.in_channels * size, 1, size};
        T* c = partial + chunk * sums + g * per_group;
        const T beta = n > first ? 1 : 0;
        if constexpr (sizeof(T) == 4)
          sgemm(s.out_channels, s.in_channels, size, 1, a, b, beta, {}, c, s.in_channels, 1);
        else dgemm(s.out_channels, s.in_channels, size, 1, a, b, beta, {}, c, s.in_channels, 1);
      }
    }
  };
  // A few large products are parallelized by gemm itself.
  if (chunks * s.groups < 2 * get_num_threads()) run(0, chunks * s.groups);
  else
    parallel_for(chunks * s.groups, std::max<int64_t>(1, kTaskWork / (ceil_div(s.batch, chunks) * per_group * size)),
                 run);
  if (chunks == 1) return;
  parallel_for(sums, kTaskWork / 16, [&](int64_t begin, int64_t end) {
    std::copy(partial + begin, partial + end, dw + begin);
    for (int64_t chunk = 1; chunk < chunks; ++chunk) {
      const T* more = partial + chunk * sums;
#pragma GCC ivdep
      for (int64_t i = begin; i < end; ++i) dw[i] += more[i];
    }
  });
}

template <class T>
void weight(const ConvShape& s, const T* x, const T* dy, T* dw) {
  const int64_t count = s.groups * s.out_channels * s.in_channels * s.taps();
  if (count == 0) return;
  if (s.batch * s.out_size() == 0) {
    std::fill_n(dw, count, T(0));
  } else if (s.out_channels * 4 <= kLanes<T>) {
    dot_sums(s, x, dy, dw);
  } else if (s.on_input() && s.in_size() >= 32) {
    image_products(s, x, dy, dw);
  } else {
    ProductSums<T>{s, x, dy}.run(dw);
  }
}

}  // namespace

void conv_weight(DType dtype, const ConvShape& shape, const void* x, const void* dy, void* dw) {
  if (dtype == DType::Float32)
    weight<float>(shape, static_cast<const float*>(x), static_cast<const float*>(dy), static_cast<float*>(dw));
  else weight<double>(shape, static_cast<const double*>(x), static_cast<const double*>(dy), static_cast<double*>(dw));
}

GENESIS_KERNEL(conv_weight)

}  // namespace genesis::kernels::GENESIS_ISA
