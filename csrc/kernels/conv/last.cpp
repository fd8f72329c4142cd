// Convolutions of channels-last images.
//
// A convolution with one tap, on x itself, is one matrix product (gemm.h). Others are sums of products, one for each
// run of taps (conv/last_sums.h, conv/last_weight.h). Depthwise convolutions are sums along vectors of channels
// (conv/last_depthwise.h).
//
// Blocks and chunks depend on the shape only. Contributions to the same sum are added in a fixed order.
#include "kernels/conv/last.h"

#include "kernels/conv/last_depthwise.h"
#include "kernels/conv/last_sums.h"
#include "kernels/conv/last_weight.h"
#include "kernels/gemm/gemm.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// C (m x n, contiguous rows) = A @ B.
template <class T>
void product(int64_t m, int64_t n, int64_t k, GemmMatrix<T> a, GemmMatrix<T> b, T* c) {
  if constexpr (sizeof(T) == 4) sgemm(m, n, k, 1, a, b, 0, {}, c, n, 1);
  else dgemm(m, n, k, 1, a, b, 0, {}, c, n, 1);
}

// y (pixels x n) = x (pixels x k) @ w + bias.
template <class T>
void multiply_pixels(const ConvShape& s, const T* x, GemmMatrix<T> w, const T* bias, int64_t k, int64_t n, T* y) {
  constexpr int64_t most = 1024;
  const int64_t total = s.batch * s.out_size(), block = ceil_div(total, ceil_div(total, most));
  const int64_t blocks = ceil_div(total, block);
  auto run = [&](int64_t first, int64_t last) {
    for (int64_t begin = first * block; begin < std::min(total, last * block); begin += block) {
      const int64_t rows = std::min(block, total - begin);
      T* out = y + begin * n;
      product<T>(rows, n, k, {x + begin * k, k, 1}, w, out);
      for (int64_t i = 0; i < (bias ? rows : 0); ++i)
#pragma GCC ivdep
        for (int64_t c = 0; c < n; ++c) out[i * n + c] += bias[c];
    }
  };
  // With few blocks, the matrix product itself is parallelized.
  if (blocks < 2 * get_num_threads()) run(0, blocks);
  else parallel_for(blocks, grain_for(block * k * n), run);
}

template <class T>
void sum_forward(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  const int64_t k = s.taps() * s.in_channels;
  make_sums<T>({s.batch,
                s.groups,
                s.in_channels,
                s.out_channels,
                {forward_axis(s, 0), forward_axis(s, 1), forward_axis(s, 2)},
                x,
                w,
                s.out_channels * k,
                k,
                s.in_channels,
                1,
                {s.kernel[0], s.kernel[1], s.kernel[2]},
                bias,
                y,
                {s.out[0], s.out[1], s.out[2]},
                {0, 0, 0},
                {1, 1, 1}});
}

// Computes one sum for each residue of the position modulo the stride.
template <class T>
void sum_input(const ConvShape& s, const T* dy, const T* w, const T* bias, T* dx) {
  const int64_t k = s.taps() * s.in_channels;
  const std::vector<int64_t> met[] = {met_residues(s, 0), met_residues(s, 1), met_residues(s, 2)};
  if (!all_met(s, met)) {  // inputs without a tap are the bias
    const int64_t channels = s.groups * s.in_channels;
    for (int64_t pixel = 0; pixel < s.batch * s.in_size(); ++pixel)
      for (int64_t c = 0; c < channels; ++c) dx[pixel * channels + c] = bias ? bias[c] : T(0);
  }
  for (const int64_t r0 : met[0])
    for (const int64_t r1 : met[1])
      for (const int64_t r2 : met[2]) {
        const Residue a = residue_axis(s, 0, r0), b = residue_axis(s, 1, r1), c = residue_axis(s, 2, r2);
        make_sums<T>({s.batch,
                      s.groups,
                      s.out_channels,
                      s.in_channels,
                      {a.axis, b.axis, c.axis},
                      dy,
                      w,
                      s.out_channels * k,
                      1,
                      s.in_channels,
                      k,
                      {s.kernel[0], s.kernel[1], s.kernel[2]},
                      bias,
                      dx,
                      {s.in[0], s.in[1], s.in[2]},
                      {a.first, b.first, c.first},
                      {s.stride[0], s.stride[1], s.stride[2]}});
      }
}

template <class T>
void forward(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  if (s.batch * s.groups * s.out_channels * s.out_size() == 0) return;
  if (s.groups == 1 && s.on_input())
    return multiply_pixels<T>(s, x, {w, 1, s.in_channels}, bias, s.in_channels, s.out_channels, y);
  if (s.in_channels > 1 || s.out_channels > 1) return sum_forward(s, x, w, bias, y);
  const Meetings meetings[] = {meetings_of(End::output, s, 0), meetings_of(End::output, s, 1),
                               meetings_of(End::output, s, 2)};
  depthwise(s, meetings, s.in, s.out, 1, s.stride[2], x, w, bias, y);
}

template <class T>
void input(const ConvShape& s, const T* dy, const T* w, const T* bias, T* dx) {
  if (s.batch * s.groups * s.in_channels * s.in_size() == 0) return;
  if (s.groups == 1 && s.on_input())
    return multiply_pixels<T>(s, dy, {w, s.in_channels, 1}, bias, s.out_channels, s.in_channels, dx);
  if (s.in_channels > 1 || s.out_channels > 1) return sum_input(s, dy, w, bias, dx);
  const Meetings meetings[] = {meetings_of(End::input, s, 0), meetings_of(End::input, s, 1),
                               meetings_of(End::input, s, 2)};
  depthwise(s, meetings, s.out, s.in, s.stride[2], 1, dy, w, bias, dx);
}

template <class T>
void weight(const ConvShape& s, const T* x, const T* dy, T* dw) {
  const int64_t count = s.groups * s.out_channels * s.in_channels * s.taps();
  if (count == 0) return;
  const int64_t pixels = s.batch * s.out_size(), m = s.out_channels, n = s.in_channels;
  if (pixels == 0) std::fill_n(dw, count, T(0));
  else if (s.groups == 1 && s.on_input()) product<T>(m, n, pixels, {dy, 1, m}, {x, n, 1}, dw);
  else if (m > 1 || n > 1) WeightSums<T>(s, x, dy).run(dw);
  else depthwise_weight(s, x, dy, dw);
}

// Calls f(T()) for the type of `dtype`.
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
  by_type(dtype,
          [&]<class T>(T) { weight(shape, static_cast<const T*>(x), static_cast<const T*>(dy), static_cast<T*>(dw)); });
}

GENESIS_KERNEL(conv_forward_last)
GENESIS_KERNEL(conv_input_last)
GENESIS_KERNEL(conv_weight_last)

}  // namespace genesis::kernels::GENESIS_ISA
