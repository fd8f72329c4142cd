// Each operator has a kernel for its gradient. If the gradient itself must be differentiated, differentiable operations
// are used instead: normalized_gradient().
#include "ops/norm.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "autograd/record.h"
#include "kernels/norm/norm.h"
#include "ops/create.h"
#include "ops/memory_format.h"
#include "ops/operand.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace genesis::ops {

namespace {

DType wide_type(DType t) { return is_half(t) ? DType::Float32 : t; }
Tensor wide(const Tensor& x) { return cast(x, wide_type(x.dtype())); }

// A contiguous tensor for a kernel: in another shape, or absent.
struct Shaped {
  Dims shape, strides;
  View view;
  Shaped(const Tensor& x, const Dims& dims)
      : shape(dims),
        strides(contiguous_strides(dims)),
        view{x.defined() ? x->data : nullptr, x.defined() ? x.dtype() : DType::Float32, shape.size(), shape.data(),
             strides.data()} {}
  operator View() const { return view; }
};
View flat(const Tensor& x) { return x.defined() ? x.view() : View{nullptr, DType::Float32, 0, nullptr, nullptr}; }

Tensor contiguous_if_any(const Tensor& x) {
  const WithGradMode off(false);
  return x.defined() ? contiguous(x) : x;
}

void require_parameter(const char* op, const char* argument, const Tensor& p, const Dims& shape, const Tensor& x) {
  if (!p.defined()) return;
  require(p.shape() == shape, op, ": ", argument, " must have shape ", shape, ", got ", p.shape(),
          ", for input of shape ", x.shape(), "; make the layer with that size");
  require<DTypeError>(p.dtype() == x.dtype() || p.dtype() == wide_type(x.dtype()), op, ": ", argument, " is ",
                      p.dtype(), " but input is ", x.dtype(), "; use ", argument, ".to(input.dtype)");
}

// Gradients of y = xhat weight + bias, where xhat is x with mean 0 (if centered) and variance 1 over `dims`. weight
// broadcasts with x, or is undefined. Differentiable with respect to all operands.
struct NormalizedGradient {
  Tensor dx, xhat;
  NormalizedGradient(const Tensor& dy, const Tensor& x, const Tensor& weight, const Dims& dims, double eps,
                     bool centered) {
    Tensor middle = x;
    if (centered) {
      middle = x - mean(x, dims, true);
      middle = middle - mean(middle, dims, true);  // removes the rounding error of a large mean
    }
    const Tensor rstd = rsqrt(mean(middle * middle, dims, true) + eps);
    const Tensor g = weight.defined() ? dy * weight : dy;
    xhat = middle * rstd;
    dx = g - xhat * mean(g * xhat, dims, true);
    if (centered) dx = dx - mean(g, dims, true);
    dx = dx * rstd;
  }
};

// Whether float32 statistics are too inaccurate: the mean is so much larger than the deviation that its rounding error
// is significant, or squares exceed the range. The operator is then repeated with x in float64; the dtype of the saved
// statistics tells its gradient.
bool doubtful(const Tensor& x, const Tensor& mean, const Tensor& rstd) {
  if (x.dtype() != DType::Float32 || on_meta) return false;
  return kernels::doubtful(mean.defined() ? mean.address<float>() : nullptr, rstd.address<float>(), rstd.numel());
}
// x in the dtype of its statistics.
Tensor as_computed(const Tensor& x, const Tensor& rstd) {
  const WithGradMode off(false);
  return rstd.dtype() == DType::Float64 ? cast(x, DType::Float64) : x;
}

// ---- layer norm and RMS norm ---------------------------------------------------------------------------------------

struct Rows {
  int64_t n = 1, rows;
  Rows(const char* op, const Tensor& x, const Dims& normalized) {
    const int lead = x.dim() - normalized.size();
    require(normalized.size() >= 1, op, ": normalized_shape must have at least one dimension");
    bool fits = lead >= 0;
    for (int d = 0; fits && d < normalized.size(); ++d) fits = x.size(lead + d) == normalized[d];
    require(fits, op, ": input of shape ", x.shape(), " does not end in normalized_shape ", normalized,
            "; give the layer the size of the last dimensions");
    n = numel(normalized);
    rows = numel(Dims(x.shape().begin(), x.shape().begin() + lead));
  }
};

Tensor normalize_rows(const char* op, const Tensor& x, const Dims& normalized, const Tensor& weight, const Tensor& bias,
                      double eps, bool centered) {
  require_floating(op, "input", x);
  const Rows shape(op, x, normalized);
  require_parameter(op, "weight", weight, normalized, x);
  require_parameter(op, "bias", bias, normalized, x);
  Tensor y = empty(x.shape(), x.dtype()), mean, rstd;
  if (x.numel() > 0) {
    const Dims matrix{shape.rows, shape.n};
    const Tensor w = contiguous_if_any(weight), b = contiguous_if_any(bias);
    const auto run = [&](const Tensor& from) {
      if (centered) mean = empty({shape.rows}, wide_type(from.dtype()));
      rstd = empty({shape.rows}, wide_type(from.dtype()));
      kernels::layer_norm(Shaped(y, matrix), flat(mean), flat(rstd), Shaped(from, matrix), flat(w), flat(b), eps,
                          centered);
    };
    const Tensor from = contiguous_if_any(x);
    run(from);
    if (doubtful(x, mean, rstd)) run(cast(alias(from), DType::Float64));
  }
  return record(
      op, std::move(y), inputs(x, weight, bias),
      save(ToSave(x, false, !centered, 0), ToSave(weight, false, !centered, 0), mean, rstd),
      [shape, eps, centered, has_bias = bias.defined(), bias_type = bias.defined() ? bias.dtype() : x.dtype(),
       weight_type = weight.defined() ? weight.dtype() : x.dtype(), normalized](const Tensor& dy, const Saved& saved) {
        const Tensor x = saved[0], weight = saved.needs(0) ? saved[1] : Tensor();
        Grads grads(3);
        if (grad_mode.enabled || x.numel() == 0) {
          Dims dims;
          for (int d = x.dim() - normalized.size(); d < x.dim(); ++d) dims.push_back(d);
          const Tensor g = wide(dy), w = weight.defined() ? wide(weight) : weight;
          const NormalizedGradient gradient(g, wide(x), w, dims, eps, centered);
          if (saved.needs(0)) grads[0] = gradient.dx;
          if (saved.needs(1)) grads[1] = sum_to(g * gradient.xhat, normalized);
          if (saved.needs(2)) grads[2] = sum_to(g, normalized);
          return grads;
        }
        const Dims matrix{shape.rows, shape.n};
        if (saved.needs(0)) grads[0] = empty(x.shape(), x.dtype());
        if (saved.needs(1)) grads[1] = empty(normalized, weight_type);
        if (has_bias && saved.needs(2)) grads[2] = empty(normalized, bias_type);
        const Tensor mean = saved[2], rstd = saved[3];
        kernels::layer_norm_backward(Shaped(grads[0], matrix), flat(grads[1]), flat(grads[2]),
                                     Shaped(contiguous(dy), matrix), Shaped(as_computed(contiguous(x), rstd), matrix),
                                     flat(mean), flat(rstd), flat(contiguous_if_any(weight)));
        return grads;
      });
}

// ---- channels ------------------------------------------------------------------------------------------------------

// x as (samples, channels, inner elements). If the channels are innermost in memory, as in a matrix, it is (all others,
// channels, 1), without a copy.
struct Channels {
  int64_t samples, channels, inner;
  bool last = false;
  Channels(const char* op, const Tensor& x, int least) {
    require_floating(op, "input", x);
    require(x.dim() >= least, op, ": input must have at least ", least,
            " dimensions (samples, channels, ...), got shape ", x.shape());
    samples = x.size(0);
    channels = x.size(1);
    inner = numel(Dims(x.shape().begin() + 2, x.shape().end()));
  }
  // Whether x is dense with its channels innermost.
  void prefer_last(const Tensor& x) {
    int64_t step = x.size(1);
    last = !x.contiguous() && x.numel() > 0 && x.stride(1) == 1;
    for (int d = x.dim() - 1; d >= 0 && last; --d) {
      if (d == 1) continue;
      last = x.size(d) == 1 || x.stride(d) == step;
      step *= x.size(d);
    }
  }
  Dims dims() const { return last ? Dims{samples * inner, channels, 1} : Dims{samples, channels, inner}; }
  // x, or a gradient of its shape, in the layout of dims().
  Tensor arranged(const Tensor& x, const Tensor& like) const {
    const WithGradMode off(false);
    if (!last) return contiguous(x);
    if (x.strides() == like.strides()) return x;
    Tensor copy = empty_like(like, x.dtype());
    copy_(copy, x);
    return copy;
  }
};

// A value for each channel, in a shape that broadcasts with x.
Tensor for_channels(const Tensor& p, int ndim) {
  if (!p.defined()) return p;
  Dims shape(ndim, 1);
  shape[1] = p.size(0);
  return reshape(p, shape);
}
// The sum over all dimensions but the channels.
Tensor channel_sum(const Tensor& x) {
  Dims dims{0};
  for (int d = 2; d < x.dim(); ++d) dims.push_back(d);
  return sum(x, dims, false);
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Dims& normalized_shape, const Tensor& weight, const Tensor& bias, double eps) {
  return normalize_rows("layer_norm", x, normalized_shape, weight, bias, eps, true);
}

static double epsilon(DType t) {
  return wide_type(t) == DType::Float64 ? std::numeric_limits<double>::epsilon()
                                        : static_cast<double>(std::numeric_limits<float>::epsilon());
}

Tensor rms_norm(const Tensor& x, const Dims& normalized_shape, const Tensor& weight, std::optional<double> eps) {
  const double added = eps.value_or(epsilon(real_type(x.dtype())));
  if (!is_complex(x.dtype())) return normalize_rows("rms_norm", x, normalized_shape, weight, Tensor(), added, false);
  // As in PyTorch, by the mean of the squares, not of their absolute values.
  [[maybe_unused]] const Rows checked("rms_norm", x, normalized_shape);
  require_parameter("rms_norm", "weight", weight, normalized_shape, x);
  Dims last;
  for (int d = 1; d <= normalized_shape.size(); ++d) last.push_back(-d);
  const Tensor y = x * rsqrt(mean(square(x), last, true) + added);
  return weight.defined() ? y * weight : y;
}

static Tensor in_format(const Tensor& y, MemoryFormat format) {
  const WithGradMode off(false);
  return to_suggested_format("group_norm", y, format);
}

Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias, double eps) {
  const Channels shape("group_norm", x, 2);
  require(groups > 0 && shape.channels % groups == 0,
          "group_norm: num_groups must divide the channels: ", shape.channels, " channels of input of shape ",
          x.shape(), ", num_groups ", groups);
  require_parameter("group_norm", "weight", weight, {shape.channels}, x);
  require_parameter("group_norm", "bias", bias, {shape.channels}, x);
  Tensor y = empty(x.shape(), x.dtype());
  Tensor mean, rstd;
  const Tensor w = contiguous_if_any(weight), b = contiguous_if_any(bias);
  const auto run = [&](const Tensor& from) {
    mean = empty({shape.samples, groups}, wide_type(from.dtype()));
    rstd = empty({shape.samples, groups}, wide_type(from.dtype()));
    if (x.numel() > 0)
      kernels::group_norm(Shaped(y, shape.dims()), mean.view(), rstd.view(), Shaped(from, shape.dims()), flat(w),
                          flat(b), eps);
  };
  const Tensor from = contiguous_if_any(x);
  run(from);
  if (x.numel() > 0 && doubtful(x, mean, rstd)) run(cast(alias(from), DType::Float64));
  const MemoryFormat format = suggested_format(x);
  return record("group_norm", in_format(y, format), inputs(x, weight, bias), save(x, kept(weight), mean, rstd),
                [shape, groups, eps, format, weight_type = weight.defined() ? weight.dtype() : x.dtype(),
                 bias_type = bias.defined() ? bias.dtype() : x.dtype()](const Tensor& dy, const Saved& saved) {
                  const Tensor x = saved[0], weight = saved.needs(0) ? saved[1] : Tensor();
                  Grads grads(3);
                  if (grad_mode.enabled || x.numel() == 0) {
                    const Dims split{shape.samples, groups, shape.channels / groups, shape.inner};
                    const Tensor w = weight.defined() ? reshape(wide(weight), {1, groups, split[2], 1}) : weight;
                    const Tensor g = reshape(wide(dy), split);
                    const NormalizedGradient gradient(g, reshape(wide(x), split), w, {2, 3}, eps, true);
                    if (saved.needs(0)) grads[0] = reshape(gradient.dx, x.shape());
                    if (saved.needs(1)) grads[1] = reshape(sum(g * gradient.xhat, {0, 3}, false), {shape.channels});
                    if (saved.needs(2)) grads[2] = reshape(sum(g, {0, 3}, false), {shape.channels});
                    return grads;
                  }
                  if (saved.needs(0)) grads[0] = empty(x.shape(), x.dtype());
                  if (saved.needs(1)) grads[1] = empty({shape.channels}, weight_type);
                  if (saved.needs(2)) grads[2] = empty({shape.channels}, bias_type);
                  const Tensor mean = saved[2], rstd = saved[3];
                  kernels::group_norm_backward(Shaped(grads[0], shape.dims()), flat(grads[1]), flat(grads[2]),
                                               Shaped(contiguous(dy), shape.dims()),
                                               Shaped(as_computed(contiguous(x), rstd), shape.dims()), mean.view(),
                                               rstd.view(), flat(contiguous_if_any(weight)));
                  if (grads[0].defined()) grads[0] = in_format(grads[0], format);
                  return grads;
                });
}

static void require_running(const char* argument, const Tensor& running, int64_t channels) {
  if (!running.defined()) return;
  require_floating("batch_norm", argument, running);
  require(running.shape() == Dims{channels} && running.contiguous(), "batch_norm: ", argument,
          " must be contiguous and have shape ", Dims{channels}, ", got ", running.shape());
}

// The result for no samples and no channels, in one dimension.
static Tensor batch_norm_of_nothing(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                                    const Tensor& weight, const Tensor& bias) {
  require_parameter("batch_norm", "weight", weight, {0}, x);
  require_parameter("batch_norm", "bias", bias, {0}, x);
  require_running("running_mean", running_mean, 0);
  require_running("running_var", running_var, 0);
  return clone(x);
}

static void check_batch_norm(const Tensor& x, const Channels& shape, const Tensor& running_mean,
                             const Tensor& running_var, const Tensor& weight, const Tensor& bias, bool training) {
  require_parameter("batch_norm", "weight", weight, {shape.channels}, x);
  require_parameter("batch_norm", "bias", bias, {shape.channels}, x);
  require_running("running_mean", running_mean, shape.channels);
  require_running("running_var", running_var, shape.channels);
  require(training || (running_mean.defined() && running_var.defined()),
          "batch_norm: without training, running_mean and running_var are needed");
  require(!training || shape.samples * shape.inner != 1,
          "batch_norm: training needs more than one value per channel, "
          "got input of shape ",
          x.shape(), "; use eval(), or a larger batch");
}

namespace {

struct Statistics {
  Tensor mean, rstd;
};

// The running statistics of a batch norm, which training updates.
class Running {
 public:
  Running(const Tensor& mean, const Tensor& var, bool keep) : mean(mean), var(var) {
    for (const Tensor* t : {&mean, &var})
      if (t->defined() && keep) before_.insert(before_.end(), (*t)->data, (*t)->data + bytes_of(*t));
  }
  bool any() const { return mean.defined() || var.defined(); }
  // Restores the previous values, to repeat the operator.
  void restore() const {
    capture::interrupt("batch_norm repeats its work in float64");
    const char* from = before_.data();
    for (const Tensor* t : {&mean, &var})
      if (t->defined()) {
        std::memcpy((*t)->data, from, bytes_of(*t));
        from += bytes_of(*t);
      }
  }
  void written() const {
    if (mean.defined()) mean->storage->written("batch_norm");
    if (var.defined()) var->storage->written("batch_norm");
  }
  const Tensor &mean, &var;

 private:
  static size_t bytes_of(const Tensor& t) { return static_cast<size_t>(t.numel() * itemsize(t.dtype())); }
  std::vector<char> before_;
};

// Normalizes a batch with its own statistics, in float64 if float32 loses too many digits.
Statistics normalize_batch(const Tensor& y, const Tensor& x, const Channels& shape, const Tensor& weight,
                           const Tensor& bias, const Running& running, double momentum, double eps) {
  const auto run = [&](const Tensor& from) {
    const Statistics found{empty({shape.channels}, wide_type(from.dtype())),
                           empty({shape.channels}, wide_type(from.dtype()))};
    if (x.numel() > 0)
      kernels::batch_norm(Shaped(y, shape.dims()), found.mean.view(), found.rstd.view(), Shaped(from, shape.dims()),
                          flat(weight), flat(bias), eps, {flat(running.mean), flat(running.var), momentum});
    return found;
  };
  const Tensor from = shape.arranged(x, x);
  const Completes completes(running.any());
  Statistics found = run(from);
  if (x.numel() == 0) return found;
  if (doubtful(x, found.mean, found.rstd)) {
    running.restore();
    found = run(cast(from, DType::Float64));
  }
  running.written();
  return found;
}

// The gradients of batch norm, written in differentiable operators.
Grads batch_norm_gradients(const Tensor& dy, const Tensor& x, const Tensor& weight, const Statistics& statistics,
                           double eps, bool training, const Saved& saved) {
  const Tensor g = wide(dy), w = for_channels(weight.defined() ? wide(weight) : weight, x.dim());
  Grads grads(3);
  Tensor xhat;
  if (training) {
    Dims dims{0};
    for (int d = 2; d < x.dim(); ++d) dims.push_back(d);
    const NormalizedGradient gradient(g, wide(x), w, dims, eps, true);
    grads[0] = gradient.dx;
    xhat = gradient.xhat;
  } else {
    const Tensor r = for_channels(statistics.rstd, x.dim());
    grads[0] = (w.defined() ? g * w : g) * r;
    xhat = (wide(x) - for_channels(statistics.mean, x.dim())) * r;
  }
  if (saved.needs(1)) grads[1] = channel_sum(g * xhat);
  if (saved.needs(2)) grads[2] = channel_sum(g);
  return grads;
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, bool training, double momentum, double eps) {
  if (x.dim() == 1 && x.numel() == 0) return batch_norm_of_nothing(x, running_mean, running_var, weight, bias);
  Channels shape("batch_norm", x, 2);
  shape.prefer_last(x);
  check_batch_norm(x, shape, running_mean, running_var, weight, bias, training);
  const Tensor w = contiguous_if_any(weight), b = contiguous_if_any(bias);
  Tensor y = shape.last ? empty_like(x) : empty(x.shape(), x.dtype());
  Statistics statistics;
  {
    const WithGradMode off(false);
    if (training) {
      const Running running(running_mean, running_var, x.dtype() == DType::Float32 && !on_meta);
      statistics = normalize_batch(y, x, shape, w, b, running, momentum, eps);
    } else {
      const DType type = wide_type(x.dtype());
      statistics = {clone(cast(running_mean, type)), rsqrt(cast(running_var, type) + eps)};
      if (x.numel() > 0)
        kernels::batch_norm_apply(Shaped(y, shape.dims()), Shaped(shape.arranged(x, x), shape.dims()),
                                  statistics.mean.view(), statistics.rstd.view(), flat(w), flat(b));
    }
  }
  return record("batch_norm", std::move(y), inputs(x, weight, bias), save(x, weight, statistics.mean, statistics.rstd),
                [shape, eps, training, weight_type = weight.defined() ? weight.dtype() : x.dtype(),
                 bias_type = bias.defined() ? bias.dtype() : x.dtype()](const Tensor& dy, const Saved& saved) {
                  const Tensor x = saved[0], weight = saved.needs(0) ? saved[1] : Tensor();
                  const Statistics statistics{saved[2], saved[3]};
                  if (grad_mode.enabled || x.numel() == 0)
                    return batch_norm_gradients(dy, x, weight, statistics, eps, training, saved);
                  const Tensor &mean = statistics.mean, &rstd = statistics.rstd;
                  Grads grads(3);
                  if (saved.needs(0)) grads[0] = shape.last ? empty_like(x) : empty(x.shape(), x.dtype());
                  if (saved.needs(1)) grads[1] = empty({shape.channels}, weight_type);
                  if (saved.needs(2)) grads[2] = empty({shape.channels}, bias_type);
                  kernels::batch_norm_backward(Shaped(grads[0], shape.dims()), flat(grads[1]), flat(grads[2]),
                                               Shaped(shape.arranged(dy, x), shape.dims()),
                                               Shaped(as_computed(shape.arranged(x, x), rstd), shape.dims()),
                                               mean.view(), rstd.view(), flat(contiguous_if_any(weight)), training);
                  return grads;
                });
}

}  // namespace genesis::ops
