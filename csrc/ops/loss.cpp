#include "ops/loss.h"

#include <limits>
#include <optional>

#include "autograd/record.h"
#include "kernels/loss/loss.h"
#include "ops/activation.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/extreme.h"
#include "ops/gather.h"
#include "ops/indices.h"
#include "ops/operand.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/select.h"
#include "ops/softmax.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace genesis::ops {

using kernels::PointwiseLoss;

// ---- elementwise losses --------------------------------------------------------------------------------------------

// df/dx by differentiable operators.
static Tensor slope(PointwiseLoss loss, const Tensor& x, const Tensor& y, double parameter) {
  switch (loss) {
    case PointwiseLoss::Squared: return (x - y) * 2.0;
    case PointwiseLoss::Absolute: return sign(x - y);
    case PointwiseLoss::SmoothL1:
      return parameter == 0 ? sign(x - y) : clamp((x - y) / parameter, Operand(-1.0), Operand(1.0));
    case PointwiseLoss::Huber: return clamp(x - y, Operand(-parameter), Operand(parameter));
    case PointwiseLoss::BinaryEntropy: return (x - y) / clamp(x * sub(1, x), Operand(1e-12), {});
    default: return sigmoid(x) - y;
  }
}
// df/dy, where it is not -df/dx.
static Tensor target_slope(PointwiseLoss loss, const Tensor& x) {
  if (loss == PointwiseLoss::LogitEntropy) return -x;
  return clamp(log1p(-x), Operand(-100.0), {}) - clamp(log(x), Operand(-100.0), {});
}

static void require_same_shape(const char* op, const Tensor& x, const Tensor& y) {
  require(x.shape() == y.shape(), op, ": input is ", x.shape(), ", target is ", y.shape(),
          "; they must have the same shape", x.numel() == y.numel() ? ": use target.reshape(input.shape)" : "");
}

static Tensor pointwise_loss(const char* op, PointwiseLoss loss, const Tensor& x, const Tensor& y, double parameter,
                             LossReduction reduction) {
  require_same_shape(op, x, y);
  const DType dtype = x.dtype() == y.dtype() ? x.dtype() : result_type({x, y});
  require<DTypeError>(is_floating(dtype), op, ": input must be floating, got ", x.dtype(), "; use input.float()");
  const bool none = reduction == LossReduction::None;
  const double scale = reduction == LossReduction::Mean ? 1.0 / static_cast<double>(x.numel()) : 1.0;
  Tensor z;
  if (none) {
    z = empty_like(x, dtype);
    kernels::pointwise_loss(loss, z.view(), x.view(), y.view(), parameter);
  } else {
    const WithGradMode off(false);
    const Tensor a = contiguous(cast(x, dtype)), b = contiguous(cast(y, dtype));
    z = empty({}, dtype);
    kernels::pointwise_loss_sum(loss, z.view(), a.view(), b.view(), parameter, scale);
  }
  const bool keep = loss == PointwiseLoss::Absolute;
  return record(
      op, z, inputs(x, y), save(ToSave(x, false, keep, 0), ToSave(y, false, keep, 0)),
      [loss, parameter, scale](const Tensor& dz, const Saved& saved) {
        const auto number = [&](const Tensor& t) { return t.dtype() == DType::Bool ? cast(t, dz.dtype()) : t; };
        const Tensor x = number(saved[0]), y = number(saved[1]);
        const bool opposite = loss != PointwiseLoss::BinaryEntropy && loss != PointwiseLoss::LogitEntropy;
        Tensor dx, dy;
        if (saved.needs(0) || opposite) {
          if (grad_mode.enabled) {
            dx = slope(loss, x, y, parameter) * (dz * scale);
          } else {
            dx = empty_like(x, dz.dtype());
            kernels::pointwise_loss_backward(loss, dx.view(), dz.view(), x.view(), y.view(), parameter, scale);
          }
        }
        if (saved.needs(1)) dy = opposite ? -dx : target_slope(loss, x) * (dz * scale);
        return Grads{saved.needs(0) ? dx : Tensor(), dy};
      });
}

Tensor mse_loss(const Tensor& x, const Tensor& y, LossReduction reduction) {
  return pointwise_loss("mse_loss", PointwiseLoss::Squared, x, y, 0, reduction);
}
Tensor l1_loss(const Tensor& x, const Tensor& y, LossReduction reduction) {
  if (const DType dtype = result_type({x, y}); is_integral(dtype) && dtype != DType::Bool) {
    require_same_shape("l1_loss", x, y);
    require<DTypeError>(reduction != LossReduction::Mean, "l1_loss: integers (", dtype,
                        ") have no mean; use input.float(), or reduction='sum' or 'none'");
    const Tensor z = abs(x - y);
    return reduction == LossReduction::Sum ? sum(z, {}, false) : z;
  } else if (is_complex(dtype)) {
    require_same_shape("l1_loss", x, y);
    const Tensor z = abs(x - y);
    if (reduction == LossReduction::None) return z;
    return reduction == LossReduction::Sum ? sum(z, {}, false) : mean(z, {}, false);
  }
  return pointwise_loss("l1_loss", PointwiseLoss::Absolute, x, y, 0, reduction);
}
Tensor smooth_l1_loss(const Tensor& x, const Tensor& y, LossReduction reduction, double beta) {
  require(beta >= 0, "smooth_l1_loss: beta must not be negative, got ", beta);
  return pointwise_loss("smooth_l1_loss", beta == 0 ? PointwiseLoss::Absolute : PointwiseLoss::SmoothL1, x, y, beta,
                        reduction);
}
Tensor huber_loss(const Tensor& x, const Tensor& y, LossReduction reduction, double delta) {
  require(delta > 0, "huber_loss: delta must be positive, got ", delta);
  return pointwise_loss("huber_loss", PointwiseLoss::Huber, x, y, delta, reduction);
}
Tensor binary_cross_entropy(const Tensor& x, const Tensor& y, LossReduction reduction) {
  if (!on_meta) {
    const WithGradMode off(false);
    const Tensor outside = any(logical_or(lt(x, 0), gt(x, 1)), {}, false);
    if (*outside.data<bool>()) [[unlikely]]
      fail("binary_cross_entropy: input must be probabilities between 0 and 1, got values from ",
           *cast(amin(x, {}, false), DType::Float64).data<double>(), " to ",
           *cast(amax(x, {}, false), DType::Float64).data<double>(),
           "; apply sigmoid() first, or use binary_cross_entropy_with_logits");
  }
  return pointwise_loss("binary_cross_entropy", PointwiseLoss::BinaryEntropy, x, y, 0, reduction);
}
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& y, LossReduction reduction) {
  return pointwise_loss("binary_cross_entropy_with_logits", PointwiseLoss::LogitEntropy, x, y, 0, reduction);
}

// ---- classification losses -----------------------------------------------------------------------------------------

namespace {

// The arguments of cross_entropy and nll_loss, checked.
struct Classified {
  int dim;        // of the classes
  Dims shape;     // of the cases
  Tensor labels;  // contiguous int64
  kernels::CrossEntropy problem;
  double total = 0;  // the total weight of the cases that are not ignored
  bool any = false;  // whether there are such cases

  Classified(const char* op, const Tensor& x, const Tensor& y, const Tensor& weight, int64_t ignored,
             double smoothing) {
    require_floating(op, "input", x);
    require(x.dim() > 0, op, ": input must have a dimension of classes, got a number");
    dim = x.dim() == 1 ? 0 : 1;
    problem = {1, x.size(dim), 1, nullptr, nullptr, ignored, smoothing};
    for (int d = 0; d < x.dim(); ++d) {
      if (d == dim) continue;
      shape.push_back(x.size(d));
      (d < dim ? problem.outer : problem.inner) *= x.size(d);
    }
    require<DTypeError>(is_integral(y.dtype()) && y.dtype() != DType::Bool, op,
                        ": target must hold class numbers of an "
                        "integer dtype, got ",
                        y.dtype(), "; use target.long()");
    if (y.shape() != shape) [[unlikely]]
      fail_target(op, x, y);
    require(problem.classes > 0 || y.numel() == 0, op, ": there are no classes in input ", x.shape());
    labels = contiguous(cast(y, DType::Int64));
    problem.y = labels.address<int64_t>();
    const int64_t counted =
        on_meta ? labels.numel() : kernels::count_classes(problem.y, labels.numel(), problem.classes, ignored);
    require<IndexError>(counted >= 0, op, ": target ", counted < 0 ? problem.y[-1 - counted] : 0,
                        " is out of range for ", problem.classes, " classes; valid: 0..", problem.classes - 1,
                        ", or ignore_index ", ignored, "; count classes from 0, or give the last layer more outputs");
    weigh(op, x, weight, counted);
  }

 private:
  [[noreturn, gnu::cold]] void fail_target(const char* op, const Tensor& x, const Tensor& y) const {
    fail(op, ": input ", x.shape(), " has its ", x.size(dim), " classes in dimension ", dim, ", so target must be ",
         shape, ", got ", y.shape(),
         y.shape() == x.shape()
             ? str("; for one-hot rows use target.argmax(", dim, "), for probabilities target.float()")
         : y.numel() == numel(shape) ? str("; use target.reshape", shape)
                                     : "; input and target must come from one batch");
  }
  void weigh(const char* op, const Tensor& x, const Tensor& weight, int64_t counted) {
    const int64_t n = labels.numel();
    any = counted > 0;
    if (!weight.defined()) {
      total = static_cast<double>(counted);
      return;
    }
    require(weight.dim() == 1 && weight.size(0) == problem.classes, op,
            ": weight must have one number for each of the ", problem.classes, " classes, got shape ", weight.shape());
    weights_ = contiguous(cast(weight, x.dtype() == DType::Float64 ? DType::Float64 : DType::Float32));
    problem.weight = weights_->data;
    const auto add = [&]<class T>() {
      for (int64_t i = 0; i < n; ++i)
        if (problem.y[i] != problem.ignored) total += static_cast<double>(weights_.data<T>()[problem.y[i]]);
    };
    if (on_meta) return;
    if (weights_.dtype() == DType::Float64) add.template operator()<double>();
    else add.template operator()<float>();
  }
  Tensor weights_;
};

void require_constant(const char* op, const Tensor& weight) {
  require<GraphError>(!weight.defined() || !requires_grad(weight) || !grad_mode.enabled, op,
                      ": weight is a constant, but it requires grad; use weight.detach()");
}

// The factor of the sum of the losses.
double factor(LossReduction reduction, double total) { return reduction == LossReduction::Mean ? 1 / total : 1; }

Tensor cross_entropy_backward(const Tensor& dz, const Tensor& x, const Classified& c, const Tensor& log_sum,
                              double scale) {
  if (!grad_mode.enabled) {
    Tensor dx = empty(x.shape(), x.dtype());
    const Tensor g = contiguous(dz);
    kernels::cross_entropy_backward(dx.view(), g.view(), contiguous(x).view(), log_sum.view(), scale, c.problem);
    return dx;
  }
  const Tensor t = empty(x.shape(), x.dtype());
  kernels::cross_entropy_target(t.view(), c.problem);
  const Tensor g = dz.dim() == 0 ? dz : unsqueeze(dz, c.dim);
  return (softmax(x, c.dim) * sum(t, {c.dim}, true) - t) * (g * scale);
}

}  // namespace

Tensor cross_entropy(const Tensor& x, const Tensor& y, const Tensor& weight, int64_t ignored, LossReduction reduction,
                     double smoothing) {
  require(smoothing >= 0 && smoothing <= 1, "cross_entropy: label_smoothing must be between 0 and 1, got ", smoothing);
  require_constant("cross_entropy", weight);
  Tensor z, log_sum;
  double scale;
  {
    const WithGradMode off(false);
    const Classified c("cross_entropy", x, y, weight, ignored, smoothing);
    scale = factor(reduction, c.total);
    log_sum = empty({2, numel(c.shape)}, x.dtype() == DType::Float64 ? DType::Float64 : DType::Float32);
    const bool none = reduction == LossReduction::None;
    z = empty(none ? c.shape : Dims{}, x.dtype());
    const View nowhere{nullptr, x.dtype(), 0, nullptr, nullptr};
    kernels::cross_entropy(none ? z.view() : nowhere, log_sum.view(), none ? nowhere : z.view(), contiguous(x).view(),
                           scale, c.problem);
  }
  return record("cross_entropy", z, inputs(x), save(kept(x), y, weight, log_sum),
                [ignored, smoothing, scale](const Tensor& dz, const Saved& saved) {
                  const Tensor x = saved[0];
                  std::optional<Classified> c;
                  {
                    const WithGradMode off(false);
                    c.emplace("cross_entropy", x, saved[1], saved[2], ignored, smoothing);
                  }
                  // The mean of no cases is NaN, but its gradient is 0.
                  return Grads{cross_entropy_backward(dz, x, *c, saved[3], c->any ? scale : 0)};
                });
}

Tensor nll_loss(const Tensor& x, const Tensor& y, const Tensor& weight, int64_t ignored, LossReduction reduction) {
  require_constant("nll_loss", weight);
  Tensor index, factors;  // the index of each case's score, and its weight unless all are equal
  double scale;
  bool any;
  {
    const WithGradMode off(false);
    const Classified c("nll_loss", x, y, weight, ignored, 0);
    scale = factor(reduction, c.total);
    any = c.any;
    if (any && !weight.defined() && c.total == static_cast<double>(c.labels.numel())) {
      index = unsqueeze(c.labels, c.dim);
    } else {
      const Tensor counts = ne(c.labels, ignored);
      index = unsqueeze(where(counts, c.labels, 0), c.dim);
      factors = cast(counts, x.dtype());
      if (weight.defined() && weight.numel() > 0)
        factors = factors * cast(take(weight, squeeze(index, {c.dim})), x.dtype());
      factors = unsqueeze(-factors, c.dim);
    }
  }
  const int dim = x.dim() == 1 ? 0 : 1;
  Tensor picked = gather(x, dim, index);
  if (factors.defined()) picked = picked * factors;
  else scale = -scale;
  if (reduction == LossReduction::None) return squeeze(factors.defined() ? picked : neg(picked), {dim});
  const Tensor total = sum(picked, {}, false);
  if (!any && reduction == LossReduction::Mean) return total * 0 + std::numeric_limits<double>::quiet_NaN();
  return total * scale;
}

}  // namespace genesis::ops
