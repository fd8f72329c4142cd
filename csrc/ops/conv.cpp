// Three maps, each linear in both of its arguments: y from (x, w), x from (y, w), w from (x, y). Each is a transpose of
// the others, so their rules use each other, and gradients of any order follow. If x or w is channels-last, so are all
// results, including those of the rules.
#include "ops/conv.h"

#include "autograd/record.h"
#include "core/checked.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/last.h"
#include "ops/complex.h"
#include "ops/create.h"
#include "ops/integer_windows.h"
#include "ops/memory_format.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace genesis::ops {

namespace {

using kernels::ConvShape;

struct Problem : ConvShape {
  int spatial;
  MemoryFormat format;

  Problem(const ConvShape& shape, int spatial, MemoryFormat format)
      : ConvShape(shape), spatial(spatial), format(format) {}
  bool last() const { return format != MemoryFormat::Contiguous; }
  // The memory format in which the kernels compute, if they `run_last`.
  MemoryFormat computed(bool run_last) const {
    if (!run_last || spatial == 1) return MemoryFormat::Contiguous;
    return spatial == 2 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
  }
};

Tensor output_from(const Tensor& x, const Tensor& w, const Tensor& bias, const Problem& s);
Tensor input_from(const Tensor& y, const Tensor& w, const Tensor& bias, const Problem& s);
Tensor weight_from(const Tensor& x, const Tensor& y, const Problem& s);

Dims with_spatial(int64_t a, int64_t b, const int64_t (&sizes)[3], int spatial) {
  Dims shape{a, b};
  for (int d = 3 - spatial; d < 3; ++d) shape.push_back(sizes[d]);
  return shape;
}
Dims input_shape(const Problem& s) { return with_spatial(s.batch, s.groups * s.in_channels, s.in, s.spatial); }
Dims output_shape(const Problem& s) { return with_spatial(s.batch, s.groups * s.out_channels, s.out, s.spatial); }
Dims weight_shape(const Problem& s) {
  return with_spatial(s.groups * s.out_channels, s.in_channels, s.kernel, s.spatial);
}

// An operand for the kernels: dense in a memory format, with half precision widened.
struct Dense {
  Tensor tensor;
  Dense(const Tensor& x, MemoryFormat format) {
    if (!x.defined()) return;
    const WithGradMode off(false);
    tensor = to_format("convolution", is_half(x.dtype()) ? cast(x, DType::Float32) : x, format);
  }
  const void* data() const { return tensor.defined() ? tensor->data : nullptr; }
};

// Computes a result with compute(dtype, format, memory): in float32 for half precision, and channels-last if the
// kernels `run_last`.
template <class F>
Tensor result(const Dims& shape, DType dtype, const Problem& s, bool run_last, F compute) {
  const DType wide = is_half(dtype) ? DType::Float32 : dtype;
  const MemoryFormat computed = s.computed(run_last);
  Tensor y = empty_in_format("convolution", shape, wide, computed);
  compute(wide, computed, y->data);
  if (wide == dtype && computed == s.format) return y;
  const WithGradMode off(false);
  Tensor delivered = empty_in_format("convolution", shape, dtype, s.format);
  copy_(delivered, y);
  return delivered;
}

Tensor channel_sum(const Tensor& dy) {
  Dims dims{0};
  for (int d = 2; d < dy.dim(); ++d) dims.push_back(d);
  return sum(dy, dims, false);
}

Tensor output_from(const Tensor& x, const Tensor& w, const Tensor& bias, const Problem& s) {
  Tensor y = result(output_shape(s), x.dtype(), s, kernels::forward_runs_last(s, s.last()),
                    [&](DType dtype, MemoryFormat format, void* out) {
                      const auto& run =
                          format == MemoryFormat::Contiguous ? kernels::conv_forward : kernels::conv_forward_last;
                      run(dtype, s, Dense(x, format).data(), Dense(w, format).data(),
                          Dense(bias, MemoryFormat::Contiguous).data(), out);
                    });
  return record("convolution", std::move(y), inputs(x, w, bias), save(x, w), [s](const Tensor& dy, const Saved& saved) {
    Grads grads(3);
    if (saved.needs(0)) grads[0] = input_from(dy, saved[1], Tensor(), s);
    if (saved.needs(1)) grads[1] = weight_from(saved[0], dy, s);
    if (saved.needs(2)) grads[2] = channel_sum(dy);
    return grads;
  });
}

Tensor input_from(const Tensor& y, const Tensor& w, const Tensor& bias, const Problem& s) {
  Tensor x = result(input_shape(s), y.dtype(), s, kernels::input_runs_last(s, s.last()),
                    [&](DType dtype, MemoryFormat format, void* out) {
                      const auto& run =
                          format == MemoryFormat::Contiguous ? kernels::conv_input : kernels::conv_input_last;
                      run(dtype, s, Dense(y, format).data(), Dense(w, format).data(),
                          Dense(bias, MemoryFormat::Contiguous).data(), out);
                    });
  return record("convolution_transposed", std::move(x), inputs(y, w, bias), save(y, w),
                [s](const Tensor& dx, const Saved& saved) {
                  Grads grads(3);
                  if (saved.needs(0)) grads[0] = output_from(dx, saved[1], Tensor(), s);
                  if (saved.needs(1)) grads[1] = weight_from(dx, saved[0], s);
                  if (saved.needs(2)) grads[2] = channel_sum(dx);
                  return grads;
                });
}

Tensor weight_from(const Tensor& x, const Tensor& y, const Problem& s) {
  Tensor w = result(weight_shape(s), x.dtype(), s, kernels::weight_runs_last(s, s.last()),
                    [&](DType dtype, MemoryFormat format, void* out) {
                      const auto& run =
                          format == MemoryFormat::Contiguous ? kernels::conv_weight : kernels::conv_weight_last;
                      run(dtype, s, Dense(x, format).data(), Dense(y, format).data(), out);
                    });
  return record("convolution_weight", std::move(w), inputs(x, y), save(x, y),
                [s](const Tensor& dw, const Saved& saved) {
                  Grads grads(2);
                  if (saved.needs(0)) grads[0] = input_from(saved[1], dw, Tensor(), s);
                  if (saved.needs(1)) grads[1] = output_from(saved[0], dw, Tensor(), s);
                  return grads;
                });
}

// ---- arguments ------------------------------------------------------------------------------------------------------

// The sizes of one argument, right-aligned in three dimensions, each at least `least`.
void spread(const char* op, const char* argument, const Dims& given, int spatial, int64_t least, int64_t absent,
            int64_t (&out)[3]) {
  require(given.size() == 1 || given.size() == spatial, op, ": ", argument, " must be one number or ", spatial,
          ", got ", given);
  for (int d = 0; d < 3 - spatial; ++d) out[d] = absent;
  for (int d = 0; d < spatial; ++d) {
    const int64_t value = given[given.size() == 1 ? 0 : d];
    require(value >= least, op, ": ", argument, " must be at least ", least, ", got ", given);
    out[3 - spatial + d] = value;
  }
}

// Limits strides beyond the last position of the kernel, which are equivalent, because kernels allocate tables of that
// size.
void cut_strides(ConvShape& s) {
  for (int d = 0; d < 3; ++d) {
    const int64_t span = (s.kernel[d] - 1) * s.dilation[d] + 1;
    s.stride[d] = std::min(s.stride[d], std::max<int64_t>(1, s.in[d] + 2 * s.padding[d] - span + 1));
    if (s.kernel[d] == 1) s.dilation[d] = 1;
  }
}

void require_operands(const char* op, int spatial, const Tensor& x, const Tensor& w, const Tensor& bias,
                      int64_t groups) {
  require<DTypeError>(x.dtype() != DType::Bool, op, ": input must hold numbers, got bool; use input.float()");
  require<DTypeError>(is_floating(x.dtype()) || !is_floating(w.dtype()), op,
                      ": input must be floating as weight is, got ", x.dtype(), "; use input.float()");
  require<DTypeError>(w.dtype() == x.dtype(), op, ": input is ", x.dtype(), " but weight is ", w.dtype(),
                      "; convert one of them, e.g. input.to(weight.dtype)");
  require(w.dim() == spatial + 2, op, ": weight must have ", spatial + 2, " dimensions, got shape ", w.shape());
  require(x.dim() == spatial + 1 || x.dim() == spatial + 2, op, ": input must be (batch, channels, ",
          spatial == 1   ? "length"
          : spatial == 2 ? "height, width"
                         : "depth, height, width",
          "), or the same without batch; got shape ", x.shape(),
          x.dim() == spatial ? "; add the channels: input.unsqueeze(0)" : "; reshape it");
  require(groups > 0, op, ": groups must be positive, got ", groups);
  if (bias.defined())
    require<DTypeError>(bias.dtype() == x.dtype(), op, ": input is ", x.dtype(), " but bias is ", bias.dtype());
}

void require_bias(const char* op, const Tensor& bias, int64_t channels) {
  if (bias.defined())
    require(bias.dim() == 1 && bias.size(0) == channels, op, ": bias must have one number for each of the ", channels,
            " output channels, got shape ", bias.shape());
}

[[noreturn, gnu::cold]] void fail_channels(const char* op, int spatial, const Tensor& x, const Tensor& w,
                                           int64_t groups) {
  const int at = x.dim() - spatial - 1;
  const int64_t channels = x.size(at), taken = w.size(1) * groups;
  std::string way = str("make the layer with in_channels=", channels);
  if (x.size(-1) == taken) way = str("channels come before the picture: input.movedim(-1, ", at, ")");
  else if (x.dim() == spatial + 1 && taken == 1)
    way = str("add the channels: input.unsqueeze(1) for a batch of ", channels);
  fail(op, ": input of shape ", x.shape(), " has ", channels, " channels in dimension ", at, ", but weight of shape ",
       w.shape(), " with groups=", groups, " takes ", taken, "; ", way);
}

// Calls run(x, format of the results), with a batch of one if x has no batch dimension.
template <class F>
Tensor batched(const Tensor& x, const Tensor& w, int spatial, F run) {
  if (x.dim() < spatial + 2) return squeeze(batched(unsqueeze(x, 0), w, spatial, run), {0});
  const MemoryFormat format = suggested_format(x);
  return run(x, format == MemoryFormat::Contiguous ? suggested_format(w) : format);
}

// A complex convolution as four real ones: run(x, w, bias) convolves the parts.
template <class F>
Tensor complex_conv(const Tensor& x, const Tensor& w, const Tensor& bias, F run) {
  const Tensor x_re = contiguous(real(x)), x_im = contiguous(imag(x)), w_re = contiguous(real(w)),
               w_im = contiguous(imag(w));
  const Tensor b_re = bias.defined() ? contiguous(real(bias)) : Tensor(),
               b_im = bias.defined() ? contiguous(imag(bias)) : Tensor();
  return complex(run(x_re, w_re, b_re) - run(x_im, w_im, Tensor()), run(x_re, w_im, b_im) + run(x_im, w_re, Tensor()));
}

}  // namespace

Tensor conv(const char* op, int spatial, const Tensor& x, const Tensor& w, const Tensor& bias,
            const ConvOptions& options) {
  const int64_t groups = options.groups;
  require_operands(op, spatial, x, w, bias, groups);
  if (is_complex(x.dtype()))
    return complex_conv(x, w, bias, [&](const Tensor& x, const Tensor& w, const Tensor& b) {
      return conv(op, spatial, x, w, b, options);
    });
  const int64_t channels = x.size(x.dim() - spatial - 1);
  if (channels != w.size(1) * groups) [[unlikely]]
    fail_channels(op, spatial, x, w, groups);
  require(w.size(0) % groups == 0, op, ": weight of shape ", w.shape(), " makes ", w.size(0),
          " channels, which groups=", groups, " does not divide");
  require_bias(op, bias, w.size(0));
  ConvShape s{.batch = 1, .groups = groups, .in_channels = w.size(1), .out_channels = w.size(0) / groups};
  spread(op, "stride", options.stride, spatial, 1, 1, s.stride);
  spread(op, "dilation", options.dilation, spatial, 1, 1, s.dilation);
  if (!options.same) spread(op, "padding", options.padding, spatial, 0, 0, s.padding);
  for (int d = 0; d < 3; ++d) {
    const int at = d - 3 + spatial;  // among the spatial dimensions
    s.in[d] = at < 0 ? 1 : x.size(x.dim() - spatial + at);
    s.kernel[d] = at < 0 ? 1 : w.size(2 + at);
    const int64_t span = checked::span(op, s.kernel[d], s.dilation[d]);
    if (options.same) {
      require(s.stride[d] == 1, op, ": padding='same' needs stride 1, got stride ", options.stride);
      s.padding[d] = (span - 1) / 2;
      s.out[d] = s.in[d];
      continue;
    }
    require(s.kernel[d] > 0, op, ": weight of shape ", w.shape(), " has an empty kernel");
    const int64_t padded = checked::padded(op, s.in[d], s.padding[d]);
    require(padded >= span, op, ": the kernel spans ", span, " elements in spatial dimension ", at, " (size ",
            s.kernel[d], ", dilation ", s.dilation[d], "), but input of shape ", x.shape(), " has ", padded,
            " there with its padding; pad more, or take a smaller kernel");
    s.out[d] = (padded - span) / s.stride[d] + 1;
  }
  if (!options.same) cut_strides(s);
  return batched(x, w, spatial, [&](const Tensor& stack, MemoryFormat format) {
    s.batch = stack.size(0);
    const Problem problem{s, spatial, format};
    if (is_integral(x.dtype())) return integer_conv(stack, w, bias, s, output_shape(problem));
    return output_from(stack, w, bias, problem);
  });
}

Tensor conv_transpose(const char* op, int spatial, const Tensor& x, const Tensor& w, const Tensor& bias,
                      const ConvOptions& options, const Dims& output_padding) {
  const int64_t groups = options.groups;
  require_operands(op, spatial, x, w, bias, groups);
  if (is_complex(x.dtype()))
    return complex_conv(x, w, bias, [&](const Tensor& x, const Tensor& w, const Tensor& b) {
      return conv_transpose(op, spatial, x, w, b, options, output_padding);
    });
  const int64_t channels = x.size(x.dim() - spatial - 1);
  require(channels == w.size(0), op, ": input of shape ", x.shape(), " has ", channels,
          " channels, but weight of shape ", w.shape(), " takes ", w.size(0),
          "; a transposed convolution's weight is (channels in, channels out / groups, ...)");
  require(w.size(0) % groups == 0, op, ": weight of shape ", w.shape(), " takes ", w.size(0),
          " channels, which groups=", groups, " does not divide");
  require_bias(op, bias, w.size(1) * groups);
  ConvShape s{.batch = 1, .groups = groups, .in_channels = w.size(1), .out_channels = w.size(0) / groups};
  int64_t extra[3];
  spread(op, "stride", options.stride, spatial, 1, 1, s.stride);
  spread(op, "dilation", options.dilation, spatial, 1, 1, s.dilation);
  spread(op, "padding", options.padding, spatial, 0, 0, s.padding);
  spread(op, "output_padding", output_padding, spatial, 0, 0, extra);
  for (int d = 0; d < 3; ++d) {
    const int at = d - 3 + spatial;
    s.out[d] = at < 0 ? 1 : x.size(x.dim() - spatial + at);
    s.kernel[d] = at < 0 ? 1 : w.size(2 + at);
    require(s.kernel[d] > 0, op, ": weight of shape ", w.shape(), " has an empty kernel");
    require(extra[d] < std::max(s.stride[d], s.dilation[d]) || extra[d] == 0, op,
            ": output_padding must be smaller than stride or dilation, got ", output_padding, " with stride ",
            options.stride, " and dilation ", options.dilation);
    const int64_t span = checked::span(op, s.kernel[d], s.dilation[d]),
                  apart = checked::mul(op, s.out[d] - 1, s.stride[d]);
    const int64_t whole = checked::add(op, checked::add(op, apart, span), extra[d]);
    s.in[d] = checked::size(op, checked::add(op, whole, -checked::padded(op, 0, s.padding[d])));
    require(s.in[d] > 0, op, ": input of shape ", x.shape(), " would give size ", s.in[d], " in spatial dimension ", at,
            "; take less padding");
  }
  cut_strides(s);
  return batched(x, w, spatial, [&](const Tensor& stack, MemoryFormat format) {
    s.batch = stack.size(0);
    const Problem problem{s, spatial, format};
    if (is_integral(x.dtype())) return integer_conv_transpose(stack, w, bias, s, input_shape(problem));
    return input_from(stack, w, bias, problem);
  });
}

}  // namespace genesis::ops
