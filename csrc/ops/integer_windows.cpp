#include "ops/integer_windows.h"

#include <algorithm>

#include "core/checked.h"
#include "ops/create.h"
#include "ops/matmul.h"
#include "ops/pad.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/rounding.h"
#include "ops/select.h"
#include "ops/shape.h"
#include "ops/view.h"

namespace genesis::ops {

namespace {

// For images in three dimensions; `before`: elements of padding before the first window.
struct Grid {
  int64_t before[3], kernel[3], stride[3], dilation[3], out[3];
};

// A view (a, b, *kernel, *out) of x (a, b, *in): the elements under each tap, zeros outside.
Tensor windows(const Tensor& x, const Grid& g) {
  Dims pad;
  for (int d = 2; d >= 0; --d) {
    const int64_t needed = (g.out[d] - 1) * g.stride[d] + (g.kernel[d] - 1) * g.dilation[d] + 1;
    pad.push_back(g.before[d]);
    pad.push_back(needed - g.before[d] - x.size(2 + d));
  }
  const Tensor padded = contiguous(constant_pad(x, pad, 0));
  Dims shape{x.size(0), x.size(1)}, strides{padded.stride(0), padded.stride(1)};
  for (int d = 0; d < 3; ++d) {
    shape.push_back(g.kernel[d]);
    strides.push_back(g.kernel[d] > 1 ? padded.stride(2 + d) * g.dilation[d] : 0);  // 2**62, say
  }
  for (int d = 0; d < 3; ++d) {
    shape.push_back(g.out[d]);
    strides.push_back(g.out[d] > 1 ? padded.stride(2 + d) * g.stride[d] : 0);
  }
  return as_strided(padded, shape, strides, 0);
}

// The correlation of x (batch, groups * c, *in) with w (groups * m, c, *kernel): (batch, groups, m, outputs).
Tensor correlate(const Tensor& x, const Tensor& w, int64_t groups, const Grid& g) {
  const int64_t rows = w.size(1) * g.kernel[0] * g.kernel[1] * g.kernel[2];
  const int64_t outputs = checked::mul("conv", checked::mul("conv", g.out[0], g.out[1]), g.out[2]);
  if (x.numel() == 0 || w.numel() == 0) return zeros({x.size(0), groups, w.size(0) / groups, outputs}, x.dtype());
  const Tensor columns = reshape(windows(x, g), {x.size(0), groups, rows, outputs});
  return matmul(reshape(w, {groups, w.size(0) / groups, rows}), columns);
}

Tensor with_bias(const Tensor& y, const Tensor& bias, const Dims& shape) {
  const Tensor flat = reshape(y, {shape[0], shape[1], numel(shape) / std::max<int64_t>(1, shape[0] * shape[1])});
  return reshape(bias.defined() ? flat + reshape(bias, {-1, 1}) : flat, shape);
}

Tensor with_sizes(const Tensor& x, const int64_t (&sizes)[3]) {
  return reshape(x, {x.size(0), x.size(1), sizes[0], sizes[1], sizes[2]});
}

}  // namespace

Tensor integer_conv(const Tensor& x, const Tensor& w, const Tensor& bias, const kernels::ConvShape& s,
                    const Dims& shape) {
  const WithGradMode off(false);
  Grid g;
  for (int d = 0; d < 3; ++d) {
    g.before[d] = s.padding[d];
    g.kernel[d] = s.kernel[d];
    g.stride[d] = s.stride[d];
    g.dilation[d] = s.dilation[d];
    g.out[d] = s.out[d];
  }
  return with_bias(correlate(with_sizes(x, s.in), with_sizes(w, s.kernel), s.groups, g), bias, shape);
}

Tensor integer_conv_transpose(const Tensor& y, const Tensor& w, const Tensor& bias, const kernels::ConvShape& s,
                              const Dims& shape) {
  const WithGradMode off(false);
  // The correlation of y, with its elements `stride` apart, with the taps in reverse order.
  Grid g;
  Dims spread{y.size(0), y.size(1)};
  for (int d = 0; d < 3; ++d) {
    g.before[d] = (s.kernel[d] - 1) * s.dilation[d] - s.padding[d];
    g.kernel[d] = s.kernel[d];
    g.stride[d] = 1;
    g.dilation[d] = s.dilation[d];
    g.out[d] = s.in[d];
    spread.push_back((s.out[d] - 1) * s.stride[d] + 1);
  }
  const Tensor apart = zeros(spread, y.dtype());
  Tensor places = apart;
  for (int d = 0; d < 3; ++d) places = slice(places, 2 + d, 0, spread[2 + d], s.stride[d]);
  copy_(places, with_sizes(y, s.out));
  const Tensor groups = reshape(w, {s.groups, s.out_channels, s.in_channels, s.kernel[0], s.kernel[1], s.kernel[2]});
  const Tensor flipped = flip(transpose(groups, 1, 2), {3, 4, 5});
  const Tensor taps =
      reshape(flipped, {s.groups * s.in_channels, s.out_channels, s.kernel[0], s.kernel[1], s.kernel[2]});
  return with_bias(correlate(apart, taps, s.groups, g), bias, shape);
}

Tensor integer_avg_pool(const Tensor& x, const kernels::PoolShape& s, const Dims& shape) {
  const WithGradMode off(false);
  if (x.numel() == 0) return zeros(shape, x.dtype());
  Grid g;
  for (int d = 0; d < 3; ++d) {
    g.before[d] = s.padding[d];
    g.kernel[d] = s.kernel[d];
    g.stride[d] = s.stride[d];
    g.dilation[d] = 1;
    g.out[d] = s.out[d];
  }
  const Tensor sums = sum(windows(reshape(x, {1, s.planes, s.in[0], s.in[1], s.in[2]}), g), {2, 3, 4}, false);
  Tensor counts = scalar_tensor(s.divisor, DType::Int64);
  if (s.divisor == 0) {
    counts = ones({1, 1, 1}, DType::Int64);
    for (int d = 0; d < 3; ++d) {
      const Tensor along = empty({s.out[d]}, DType::Int64);
      for (int64_t o = 0; !on_meta && o < s.out[d]; ++o) {
        const int64_t first = o * s.stride[d] - s.padding[d], last = first + s.kernel[d];
        const int64_t margin = s.count_padding ? s.padding[d] : 0;
        along.data<int64_t>()[o] = std::min(last, s.in[d] + margin) - std::max(first, -margin);
      }
      Dims one(3, 1);
      one[d] = s.out[d];
      counts = counts * reshape(along, one);
    }
    counts = maximum(counts, 1);
  }
  return reshape(div(sums, counts, Rounding::Trunc), shape);
}

}  // namespace genesis::ops
