// Resampling and windows are linear maps, recorded with their transposes.
#include "ops/resample.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "autograd/record.h"
#include "core/checked.h"
#include "kernels/pool/resample.h"
#include "ops/complex.h"
#include "ops/create.h"
#include "ops/dense.h"
#include "ops/view.h"

namespace genesis::ops {

namespace {

// ---- resampling -----------------------------------------------------------------------------------------------------

// The inputs of each output along one dimension, and their weights. Positions are computed in the dtype of the data, as
// in PyTorch, so that nearest pixels agree.
struct Weights {
  int64_t taps = 1;
  std::vector<int64_t> index;
  std::vector<double> weight;

  void add(int64_t at, double value) {
    index.push_back(at);
    weight.push_back(value);
  }
};

double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

template <class Real>
Weights make_weights(int64_t in, int64_t out, int spatial, const ResampleOptions& options, double given_scale) {
  Weights table;
  const bool nearest = options.mode == "nearest" || options.mode == "nearest-exact", smooth = options.mode == "cubic";
  const Real scale = options.align_corners
                         ? (out > 1 ? static_cast<Real>(in - 1) / static_cast<Real>(out - 1) : Real(0))
                     : given_scale > 0 ? static_cast<Real>(1.0 / given_scale)
                                       : static_cast<Real>(in) / static_cast<Real>(out);
  if (nearest) {
    // As in PyTorch, a given scale is ignored if images (not lines or volumes) keep their size or double it.
    const bool same = options.mode == "nearest" && spatial == 2 && out == in;
    const bool twice = options.mode == "nearest" && spatial == 2 && out == 2 * in;
    const Real half = options.mode == "nearest-exact" ? Real(0.5) : Real(0);
    for (int64_t o = 0; o < out; ++o) {
      const Real at = std::floor((static_cast<Real>(o) + half) * scale);
      table.add(same ? o : twice ? o / 2 : std::clamp<int64_t>(static_cast<int64_t>(at), 0, in - 1), 1);
    }
    return table;
  }
  if (options.antialias) {
    const double step = scale, stretch = std::max(step, 1.0), support = (smooth ? 2 : 1) * stretch;
    table.taps = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
    for (int64_t o = 0; o < out; ++o) {
      const double centre = step * (static_cast<double>(o) + 0.5);
      const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(centre - support + 0.5));
      const int64_t last = std::min<int64_t>(in, static_cast<int64_t>(centre + support + 0.5));
      double total = 0;
      for (int64_t k = 0; k < table.taps; ++k) {
        const double x = (static_cast<double>(first + k) - centre + 0.5) / stretch;
        const double w = first + k >= last ? 0 : smooth ? cubic(x, -0.5) : std::max(0.0, 1 - std::abs(x));
        table.add(std::min(first + k, in - 1), w);
        total += w;
      }
      for (int64_t k = 0; k < table.taps; ++k) table.weight[static_cast<size_t>(o * table.taps + k)] /= total;
    }
    return table;
  }
  table.taps = smooth ? 4 : 2;
  for (int64_t o = 0; o < out; ++o) {
    Real at =
        options.align_corners ? scale * static_cast<Real>(o) : scale * (static_cast<Real>(o) + Real(0.5)) - Real(0.5);
    if (!smooth)
      at = in == out ? static_cast<Real>(o) : std::max(at, Real(0));  // nor if the size is unchanged, as in PyTorch
    const int64_t floor = static_cast<int64_t>(std::floor(at));
    const double t = static_cast<double>(at - static_cast<Real>(floor));
    const auto clipped = [&](int64_t i) { return std::clamp<int64_t>(i, 0, in - 1); };
    if (smooth) {
      for (int64_t k = -1; k <= 2; ++k) table.add(clipped(floor + k), cubic(static_cast<double>(k) - t, -0.75));
    } else {
      table.add(clipped(floor), 1 - t);
      table.add(clipped(floor + 1), t);
    }
  }
  return table;
}

// The number of elements before and after a dimension.
struct Lines {
  int64_t outer = 1, inner = 1;
  Lines(const Dims& shape, int at) {
    for (int k = 0; k < at; ++k) outer *= shape[k];
    for (int k = at + 1; k < shape.size(); ++k) inner *= shape[k];
  }
};

// Processes the spatial dimensions from last to first: the last is contiguous in memory, and is cheaper when short.
Tensor run(const Tensor& x, const Dims& from, const Dims& to, const ResampleOptions& options, bool transposed) {
  const int spatial = to.size();
  Tensor y = dense(x);
  for (int i = 0; i < spatial; ++i) {
    const int d = transposed ? i : spatial - 1 - i, at = x.dim() - spatial + d;
    const double scale = d < options.scales.size() ? options.scales[d] : 0;
    Dims shape = y.shape();
    shape[at] = transposed ? from[d] : to[d];
    Tensor next = empty(shape, y.dtype());
    const Weights table = y.dtype() == DType::Float32 ? make_weights<float>(from[d], to[d], spatial, options, scale)
                                                      : make_weights<double>(from[d], to[d], spatial, options, scale);
    const Lines lines(shape, at);
    const kernels::ResampleTable kernel{lines.outer,        from[d], to[d], lines.inner, table.taps, table.index.data(),
                                        table.weight.data()};
    if (next.numel() > 0)
      (transposed ? kernels::resample_transposed : kernels::resample)(y.dtype(), kernel, y->data, next->data);
    y = next;
  }
  return narrowed(y, x.dtype());
}

// Weights as 16-bit fixed-point numbers with as many fractional bits as the largest weight allows. Taps that coincide
// at the border are merged, so that they are rounded once.
std::vector<int16_t> whole_weights(Weights& table, int& shift) {
  for (size_t first = 0; first < table.index.size(); first += static_cast<size_t>(table.taps))
    for (size_t k = first + 1; k < first + static_cast<size_t>(table.taps); ++k)
      for (size_t earlier = first; earlier < k; ++earlier)
        if (table.index[earlier] == table.index[k]) {
          table.weight[earlier] += std::exchange(table.weight[k], 0.0);
          break;
        }
  const double largest = *std::max_element(table.weight.begin(), table.weight.end());
  shift = 0;
  while (shift < 22 && std::ldexp(largest, shift + 1) + 0.5 < 1 << 15) ++shift;
  std::vector<int16_t> whole;
  for (double w : table.weight) whole.push_back(static_cast<int16_t>(std::round(std::ldexp(w, shift))));
  return whole;
}

// Images of bytes, in integer arithmetic as in PyTorch, so that results agree.
Tensor run_bytes(const Tensor& x, const Dims& from, const Dims& to, const ResampleOptions& options) {
  Tensor y = contiguous(x);
  for (int d = 1; d >= 0; --d) {
    if (from[d] == to[d]) continue;
    const double scale = d < options.scales.size() ? options.scales[d] : 0;
    Dims shape = y.shape();
    shape[2 + d] = to[d];
    const Lines lines(shape, 2 + d);
    Tensor next = empty(shape, DType::UInt8);
    Weights table = make_weights<double>(from[d], to[d], 2, options, scale);
    int shift;
    const std::vector<int16_t> weight = whole_weights(table, shift);
    if (next.numel() > 0)
      kernels::resample_bytes(
          {lines.outer, from[d], to[d], lines.inner, table.taps, table.index.data(), weight.data(), shift},
          y.address<uint8_t>(), next.address<uint8_t>());
    y = next;
  }
  return y.same(x) ? clone(x) : y;
}

Tensor resample_with(const Tensor& x, const Dims& from, const Dims& to, const ResampleOptions& options,
                     bool transposed) {
  return record(transposed ? "resample_backward" : "resample", run(x, from, to, options, transposed), inputs(x), save(),
                [from, to, options, transposed](const Tensor& dy, const Saved&) {
                  return Grads{resample_with(dy, from, to, options, !transposed)};
                });
}

}  // namespace

Tensor resample(const Tensor& x, const Dims& size, const ResampleOptions& options) {
  const int spatial = size.size();
  const bool nearest = options.mode == "nearest" || options.mode == "nearest-exact";
  const bool bytes = x.dtype() == DType::UInt8 && (nearest || spatial == 2);
  require<DTypeError>(is_floating(x.dtype()) || bytes, "interpolate: input must be floating",
                      nearest || spatial == 2 ? " or uint8" : "", ", got ", x.dtype(), "; use input.float()");
  require(x.dim() == spatial + 2, "interpolate: size ", size, " is for ", spatial,
          " spatial dimensions, but input of shape ", x.shape(), " has ", x.dim() - 2, " after batch and channels");
  const Dims from(x.shape().end() - spatial, x.shape().end());
  for (int d = 0; d < spatial; ++d)
    require(from[d] > 0 && size[d] > 0, "interpolate: sizes must be positive, got input of shape ", x.shape(),
            " and size ", size);
  Dims whole{x.size(0), x.size(1)};
  for (int64_t n : size) whole.push_back(n);
  empty(whole, x.dtype());  // raises if there is no memory for the result, before tables of its size are made
  if (bytes && nearest) return untracked(cast(run(cast(x, DType::Float32), from, size, options, false), DType::UInt8));
  return bytes ? untracked(run_bytes(x, from, size, options)) : resample_with(x, from, size, options, false);
}

// ---- windows --------------------------------------------------------------------------------------------------------

namespace {

using kernels::UnfoldShape;

Tensor columns_of(const Tensor& x, const UnfoldShape& s);

Tensor image_of(const Tensor& columns, const UnfoldShape& s) {
  const Tensor from = dense(columns);
  const int64_t taps = s.kernel[0] * s.kernel[1];
  Tensor x = empty({columns.size(0), columns.size(1) / taps, s.in[0], s.in[1]}, from.dtype());
  if (x.numel() > 0) kernels::fold(from.dtype(), s, from->data, x->data);
  return record("fold", narrowed(x, columns.dtype()), inputs(columns), save(),
                [s](const Tensor& dx, const Saved&) { return Grads{columns_of(dx, s)}; });
}

Tensor columns_of(const Tensor& x, const UnfoldShape& s) {
  const Tensor from = dense(x);
  const int64_t taps = s.kernel[0] * s.kernel[1];
  Tensor columns = empty({x.size(0), x.size(1) * taps, s.out[0] * s.out[1]}, from.dtype());
  if (columns.numel() > 0) kernels::unfold(from.dtype(), s, from->data, columns->data);
  return record("unfold", narrowed(columns, x.dtype()), inputs(x), save(),
                [s](const Tensor& dy, const Saved&) { return Grads{image_of(dy, s)}; });
}

UnfoldShape window_shape(const char* op, int64_t height, int64_t width, const UnfoldOptions& options) {
  UnfoldShape s{
      .planes = 0, .in = {height, width}, .out = {}, .kernel = {}, .stride = {}, .padding = {}, .dilation = {}};
  const auto take = [&](const char* argument, const Dims& given, int64_t least, int64_t (&out)[2]) {
    require(given.size() == 1 || given.size() == 2, op, ": ", argument, " must be one number or two, got ", given);
    for (int d = 0; d < 2; ++d) {
      out[d] = given[given.size() == 1 ? 0 : d];
      require(out[d] >= least, op, ": ", argument, " must be at least ", least, ", got ", given);
    }
  };
  take("kernel_size", options.kernel, 1, s.kernel);
  take("dilation", options.dilation, 1, s.dilation);
  take("padding", options.padding, 0, s.padding);
  take("stride", options.stride, 1, s.stride);
  for (int d = 0; d < 2; ++d) {
    const int64_t span = checked::span(op, s.kernel[d], s.dilation[d]),
                  padded = checked::padded(op, s.in[d], s.padding[d]);
    require(padded >= span, op, ": the kernel spans ", span, " elements but an image of size (", height, ", ", width,
            ") has ", padded, " there with its padding; pad more, or take a smaller kernel");
    s.out[d] = (padded - span) / s.stride[d] + 1;
    s.stride[d] = std::min(s.stride[d], padded - span + 1);  // a longer stride leads to the same windows
    if (s.kernel[d] == 1) s.dilation[d] = 1;
  }
  checked::mul(op, s.kernel[0], s.kernel[1]);
  checked::mul(op, s.out[0], s.out[1]);
  return s;
}

}  // namespace

Tensor unfold_windows(const Tensor& x, const UnfoldOptions& options) {
  if (is_complex(x.dtype())) return complex(unfold_windows(real(x), options), unfold_windows(imag(x), options));
  if (x.dtype() == DType::Bool) return cast(unfold_windows(cast(x, DType::Float32), options), DType::Bool);
  require<DTypeError>(is_floating(x.dtype()), "unfold: input must be floating, got ", x.dtype(), "; use input.float()");
  require(x.dim() == 3 || x.dim() == 4,
          "unfold: input must be (batch, channels, height, width), or the same without batch; got shape ", x.shape());
  UnfoldShape s = window_shape("unfold", x.size(-2), x.size(-1), options);
  checked::mul("unfold", x.size(-3), s.kernel[0] * s.kernel[1]);
  s.planes = x.numel() / std::max<int64_t>(1, x.size(-2) * x.size(-1));
  return x.dim() == 4 ? columns_of(x, s) : squeeze(columns_of(unsqueeze(x, 0), s), {0});
}

Tensor fold_windows(const Tensor& columns, const Dims& size, const UnfoldOptions& options) {
  if (is_complex(columns.dtype()))
    return complex(fold_windows(real(columns), size, options), fold_windows(imag(columns), size, options));
  if (columns.dtype() == DType::Bool)  // true if any of the windows is
    return cast(fold_windows(cast(columns, DType::Float32), size, options), DType::Bool);
  require<DTypeError>(is_floating(columns.dtype()), "fold: input must be floating, got ", columns.dtype(),
                      "; use input.float()");
  require(columns.dim() == 2 || columns.dim() == 3,
          "fold: input must be (batch, channels * kernel elements, windows), or the same without batch; got shape ",
          columns.shape());
  require(size.size() == 1 || size.size() == 2, "fold: output_size must be one number or two, got ", size);
  for (int64_t n : size) require(n >= 0, "fold: output_size must not be negative, got ", size);
  UnfoldShape s = window_shape("fold", size[0], size.back(), options);
  const int64_t taps = s.kernel[0] * s.kernel[1], windows = s.out[0] * s.out[1];
  require(columns.size(-2) % taps == 0, "fold: input of shape ", columns.shape(), " must have a multiple of ", taps,
          " (the elements of kernel_size ", options.kernel, ") in dimension ", columns.dim() - 2);
  require(columns.size(-1) == windows, "fold: output_size ", size, " has ", windows, " windows, but input of shape ",
          columns.shape(), " has ", columns.size(-1));
  s.planes = (columns.dim() == 3 ? columns.size(0) : 1) * (columns.size(-2) / taps);
  return columns.dim() == 3 ? image_of(columns, s) : squeeze(image_of(unsqueeze(columns, 0), s), {0});
}

}  // namespace genesis::ops
