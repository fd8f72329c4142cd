// Maxima store their positions; gather_planes and scatter_planes, each the transpose of the other, use them.
#include "ops/pool.h"

#include <limits>

#include "autograd/record.h"
#include "core/checked.h"
#include "kernels/pool/pool.h"
#include "ops/create.h"
#include "ops/dense.h"
#include "ops/integer_windows.h"
#include "ops/memory_format.h"

namespace genesis::ops {

namespace {

using kernels::PoolShape;

Dims with_planes(const Tensor& x, int spatial, const Dims& size) {
  Dims shape(x.shape().begin(), x.shape().end() - spatial);
  for (int64_t n : size) shape.push_back(n);
  return shape;
}
Dims spatial_size(const Tensor& x, int spatial) { return Dims(x.shape().end() - spatial, x.shape().end()); }
int64_t num_planes(const Tensor& x, int spatial) { return numel(Dims(x.shape().begin(), x.shape().end() - spatial)); }

// The layout of x and of the results: channels last if x has a batch and this layout. The kernels run vectors along the
// channels, so a few channels are computed as planes.
struct Layout {
  static constexpr int64_t kFewChannels = 8;
  MemoryFormat format = MemoryFormat::Contiguous, computed = MemoryFormat::Contiguous;

  Layout() = default;
  Layout(const Tensor& x, int spatial) {
    if (x.dim() != spatial + 2) return;
    format = suggested_format(x);
    if (x.size(1) >= kFewChannels && is_floating(x.dtype())) computed = format;
  }
  bool last() const { return computed != MemoryFormat::Contiguous; }
  Tensor dense(const Tensor& x) const {
    const WithGradMode off(false);
    return to_format("pooling", is_half(x.dtype()) ? cast(x, DType::Float32) : x, computed);
  }
  Tensor empty(const Dims& shape, DType dtype) const { return empty_in_format("pooling", shape, dtype, computed); }
  // Converts a result to its layout.
  Tensor arrange(const Tensor& y) const {
    const WithGradMode off(false);
    return to_suggested_format("pooling", y, format);
  }
};

Tensor scatter_planes(const Tensor& y, const Tensor& index, const Dims& size, bool sum, const Layout& layout = {});

Tensor gather_planes(const Tensor& x, const Tensor& index, const Dims& size, const Layout& layout) {
  const int spatial = size.size();
  const Tensor from = dense(x), at = dense(index);
  Tensor y = empty(with_planes(x, spatial, spatial_size(index, spatial)), from.dtype());
  if (y.numel() > 0) {
    const int64_t planes = num_planes(x, spatial);
    kernels::plane_gather(from.dtype(), planes, y.numel() / planes, numel(size), from->data, at.dtype(), at->data,
                          y->data);
  }
  return record("gather_planes", layout.arrange(narrowed(y, x.dtype())), inputs(x), save(index),
                [size, layout](const Tensor& dy, const Saved& saved) {
                  return Grads{scatter_planes(dy, saved[0], size, true, layout)};
                });
}

// sum: contributions to the same element are added; otherwise the last one wins.
Tensor scatter_planes(const Tensor& y, const Tensor& index, const Dims& size, bool sum, const Layout& layout) {
  const int spatial = size.size();
  const Tensor from = dense(y), at = dense(index);
  Tensor x = empty(with_planes(y, spatial, size), from.dtype());
  if (x.numel() > 0) {
    const int64_t planes = num_planes(y, spatial);
    kernels::plane_scatter(from.dtype(), planes, y.numel() / planes, numel(size), from->data, at.dtype(), at->data,
                           x->data, sum);
  }
  return record("scatter_planes", layout.arrange(narrowed(x, y.dtype())), inputs(y), save(index),
                [size, layout](const Tensor& dx, const Saved& saved) {
                  return Grads{gather_planes(dx, saved[0], size, layout)};
                });
}

// The gradient of a maximum in channels-last layout: scatter_planes that uses the windows of each input.
Tensor max_backward_last(const Tensor& dy, const Tensor& index, const PoolShape& s, const Dims& size,
                         const Layout& layout) {
  const Tensor from = layout.dense(dy), at = layout.dense(index);
  const Dims shape = with_planes(dy, size.size(), size);
  Tensor dx = dy.numel() > 0 ? layout.empty(shape, from.dtype()) : zeros(shape, from.dtype());
  if (dy.numel() > 0) kernels::max_pool_backward_last(from.dtype(), s, from->data, at.dtype(), at->data, dx->data);
  return record(
      "max_pool_backward", narrowed(dx, dy.dtype()), inputs(dy), save(index),
      [size, layout](const Tensor& g, const Saved& saved) { return Grads{gather_planes(g, saved[0], size, layout)}; });
}

Tensor run_max(const char* op, int spatial, const Tensor& x, const PoolShape& s, const Dims& out, Tensor* indices) {
  const bool few = s.in_size() <= std::numeric_limits<int32_t>::max();
  const Layout layout = few ? Layout(x, spatial) : Layout();
  const Tensor from = layout.dense(is_integral(x.dtype()) ? narrowed(x, DType::Int64) : x);
  const bool narrow = !indices && few && from.dtype() == DType::Float32;
  Tensor y = layout.empty(with_planes(x, spatial, out), from.dtype());
  const Tensor index = layout.empty(y.shape(), narrow ? DType::Int32 : DType::Int64);
  const auto& run = layout.last() ? kernels::max_pool_last : kernels::max_pool;
  if (y.numel() > 0) run(from.dtype(), s, from->data, y->data, index.dtype(), index->data);
  if (indices) *indices = untracked(layout.arrange(index));
  return record(op, layout.arrange(narrowed(y, x.dtype())), inputs(x), save(index),
                [s, layout, size = spatial_size(x, spatial)](const Tensor& dy, const Saved& saved) {
                  return Grads{layout.last() ? max_backward_last(dy, saved[0], s, size, layout)
                                             : scatter_planes(dy, saved[0], size, true, layout)};
                });
}

Tensor run_avg(const char* op, const Tensor& x, const PoolShape& s, const Dims& out, const Layout& layout);

Tensor run_avg_backward(const char* op, const Tensor& dy, const PoolShape& s, const Dims& in, const Layout& layout) {
  const Tensor from = layout.dense(dy);
  const Dims shape = with_planes(dy, in.size(), in);
  Tensor dx = dy.numel() > 0 ? layout.empty(shape, from.dtype()) : zeros(shape, from.dtype());
  const auto& run = layout.last() ? kernels::avg_pool_backward_last : kernels::avg_pool_backward;
  if (dy.numel() > 0) run(from.dtype(), s, from->data, dx->data);
  return record("avg_pool_backward", layout.arrange(narrowed(dx, dy.dtype())), inputs(dy), save(),
                [op, s, layout, out = spatial_size(dy, in.size())](const Tensor& g, const Saved&) {
                  return Grads{run_avg(op, g, s, out, layout)};
                });
}

Tensor run_avg(const char* op, const Tensor& x, const PoolShape& s, const Dims& out, const Layout& layout) {
  const int spatial = out.size();
  const Tensor from = layout.dense(x);
  Tensor y = layout.empty(with_planes(x, spatial, out), from.dtype());
  const auto& run = layout.last() ? kernels::avg_pool_last : kernels::avg_pool;
  if (y.numel() > 0) run(from.dtype(), s, from->data, y->data);
  return record(op, layout.arrange(narrowed(y, x.dtype())), inputs(x), save(),
                [op, s, layout, in = spatial_size(x, spatial)](const Tensor& dy, const Saved&) {
                  return Grads{run_avg_backward(op, dy, s, in, layout)};
                });
}

// ---- arguments ------------------------------------------------------------------------------------------------------

// The integer dtypes that a pooling accepts, besides floating point.
enum class Integers { None, Int64, All };

void require_input(const char* op, int spatial, const Tensor& x, Integers integers) {
  const bool taken = is_floating(x.dtype()) || (integers == Integers::All && x.dtype() != DType::Bool) ||
                     (integers == Integers::Int64 && x.dtype() == DType::Int64);
  require<DTypeError>(taken, op, ": input must be floating", integers == Integers::Int64 ? " or int64" : "", ", got ",
                      x.dtype(), "; use input.float()");
  require(x.dim() == spatial + 1 || x.dim() == spatial + 2, op, ": input must be (batch, channels, ",
          spatial == 1   ? "length"
          : spatial == 2 ? "height, width"
                         : "depth, height, width",
          "), or the same without batch; got shape ", x.shape(),
          x.dim() == spatial ? "; add the channels: input.unsqueeze(0)" : "; reshape it");
  for (int d = x.dim() - spatial; d < x.dim(); ++d)
    require(x.size(d) > 0, op, ": input of shape ", x.shape(), " has no elements in dimension ", d);
}

int64_t number_at(const char* op, const char* argument, const Dims& given, int spatial, int d, int64_t least) {
  require(given.size() == 1 || given.size() == spatial, op, ": ", argument, " must be one number or ", spatial,
          ", got ", given);
  const int64_t value = given[given.size() == 1 ? 0 : d];
  require(value >= least, op, ": ", argument, " must be at least ", least, ", got ", given);
  return value;
}

PoolShape plain_shape(const Tensor& x, int spatial) {
  PoolShape s{.planes = num_planes(x, spatial),
              .channels = x.size(x.dim() - spatial - 1),
              .in = {1, 1, 1},
              .out = {1, 1, 1},
              .kernel = {1, 1, 1},
              .stride = {1, 1, 1},
              .padding = {0, 0, 0},
              .dilation = {1, 1, 1}};
  for (int d = 0; d < spatial; ++d) s.in[3 - spatial + d] = x.size(x.dim() - spatial + d);
  return s;
}

PoolShape window_shape(const char* op, int spatial, const Tensor& x, const PoolOptions& options, Dims& out,
                       Integers integers) {
  require_input(op, spatial, x, integers);
  PoolShape s = plain_shape(x, spatial);
  for (int d = 0; d < spatial; ++d) {
    const int at = 3 - spatial + d;
    const int64_t kernel = s.kernel[at] = number_at(op, "kernel_size", options.kernel, spatial, d, 1);
    const int64_t given_stride =
        options.stride.empty() ? kernel : number_at(op, "stride", options.stride, spatial, d, 1);
    const int64_t padding = s.padding[at] = number_at(op, "padding", options.padding, spatial, d, 0);
    const int64_t dilation = number_at(op, "dilation", options.dilation, spatial, d, 1);
    const int64_t span = checked::span(op, kernel, dilation), in = s.in[at];
    require(padding <= span / 2, op, ": padding ", padding, " is more than half of the window, which spans ", span,
            " elements; some windows would see nothing but padding");
    const int64_t room = checked::padded(op, in, padding) - span;
    // Strides beyond the last window are equivalent to the smallest of them.
    const int64_t stride = s.stride[at] = std::min(given_stride, std::abs(room) + in + padding + 1);
    int64_t count = room < 0 ? (options.ceil_mode && room + stride > 0 ? 1 : 0) : room / stride + 1;
    if (options.ceil_mode && room >= 0 && room % stride != 0) ++count;
    if (options.ceil_mode && (count - 1) * stride >= in + padding) --count;  // it would contain only padding
    require(count > 0, op, ": a window of ", span, " elements does not fit in the ", in + 2 * padding,
            " of input of shape ", x.shape(), " with its padding; take a smaller kernel_size or more padding");
    s.dilation[at] = kernel == 1 ? 1 : dilation;
    s.out[at] = count;
    out.push_back(count);
  }
  checked::mul(op, checked::mul(op, s.kernel[0], s.kernel[1]), s.kernel[2]);  // used as a divisor
  return s;
}

// Removes the taps that only read padding for every output, which do not affect a maximum.
PoolShape without_idle_taps(PoolShape s) {
  for (int d = 0; d < 3; ++d) {
    const int64_t unused = s.padding[d] - (s.out[d] - 1) * s.stride[d];
    const int64_t first = std::max<int64_t>(0, unused / s.dilation[d]);
    s.kernel[d] = std::min(s.kernel[d], (s.in[d] - 1 + s.padding[d]) / s.dilation[d] + 1) - first;
    s.padding[d] -= first * s.dilation[d];
  }
  return s;
}

PoolShape adaptive_shape(const char* op, int spatial, const Tensor& x, const Dims& size, Dims& out) {
  require_input(op, spatial, x, Integers::None);
  PoolShape s = plain_shape(x, spatial);
  s.adaptive = false;
  for (int d = 0; d < spatial; ++d) {
    const int at = 3 - spatial + d;
    s.out[at] = checked::size(op, number_at(op, "output_size", size, spatial, d, 0));
    checked::mul(op, s.in[at], s.out[at] + 1);  // where windows start and end
    out.push_back(s.out[at]);
    if (s.out[at] == 0 || s.in[at] % s.out[at] != 0) s.adaptive = true;
    else s.kernel[at] = s.stride[at] = s.in[at] / s.out[at];
  }
  return s;
}

}  // namespace

Tensor max_pool(const char* op, int spatial, const Tensor& x, const PoolOptions& options, Tensor* indices) {
  Dims out;
  const PoolShape s = without_idle_taps(window_shape(op, spatial, x, options, out, Integers::All));
  return run_max(op, spatial, x, s, out, indices);
}

Tensor avg_pool(const char* op, int spatial, const Tensor& x, const PoolOptions& options, bool count_padding,
                int64_t divisor) {
  Dims out;
  PoolShape s = window_shape(op, spatial, x, options, out, Integers::Int64);
  s.count_padding = count_padding;
  s.divisor = divisor;
  if (x.dtype() == DType::Int64)
    return Layout(x, spatial).arrange(integer_avg_pool(x, s, with_planes(x, spatial, out)));
  return run_avg(op, x, s, out, Layout(x, spatial));
}

Tensor adaptive_max_pool(const char* op, int spatial, const Tensor& x, const Dims& size, Tensor* indices) {
  Dims out;
  const PoolShape s = adaptive_shape(op, spatial, x, size, out);
  return run_max(op, spatial, x, s, out, indices);
}

Tensor adaptive_avg_pool(const char* op, int spatial, const Tensor& x, const Dims& size) {
  Dims out;
  const PoolShape s = adaptive_shape(op, spatial, x, size, out);
  return run_avg(op, x, s, out, Layout(x, spatial));
}

Tensor max_unpool(const char* op, const Tensor& x, const Tensor& indices, const Dims& size) {
  const int spatial = size.size();
  require_input(op, spatial, x, Integers::None);
  require<DTypeError>(indices.dtype() == DType::Int64, op, ": indices must be int64, got ", indices.dtype(),
                      "; take those of max pooling with return_indices=True");
  require(indices.shape() == x.shape(), op, ": indices must have the shape of input, ", x.shape(), ", got ",
          indices.shape());
  for (int64_t n : size) require(n >= 0, op, ": output_size must not be negative, got ", size);
  const Tensor at = dense(indices);
  const int64_t room = numel(size);
  for (int64_t i = 0; !on_meta && i < at.numel(); ++i) {
    const int64_t value = at.data<int64_t>()[i];
    require<IndexError>(value >= 0 && value < room, op, ": index ", value, " is outside a plane of size ", size,
                        " (0..", room - 1, "); pass the output_size that the indices were made with");
  }
  return scatter_planes(x, indices, size, false);
}

}  // namespace genesis::ops
