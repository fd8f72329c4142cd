#include "ops/optimizer.h"

#include <cmath>

#include "kernels/elementwise/convert.h"
#include "kernels/optimizer/optimizer.h"
#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::ops {

double number(const Tensor& t) {
  if (on_meta) return 0;
  if (t.dtype() == DType::Float32) return *t.data<float>();
  if (t.dtype() == DType::Float64) return *t.data<double>();
  double value;
  const View from = t.view();
  kernels::copy(View{&value, DType::Float64, from.ndim, from.shape, from.strides}, from);
  return value;
}

namespace {

void set_number(const char* op, const Tensor& t, double value) {
  if (on_meta) return;
  const View to = t.view();
  if (t.dtype() == DType::Float32) *t.data<float>() = static_cast<float>(value);
  else if (t.dtype() == DType::Float64) *t.data<double>() = value;
  else kernels::copy(to, View{&value, DType::Float64, to.ndim, to.shape, to.strides});
  t->storage->written(op);
}

// The updates of a list for a kernel. Tensors with another element order than the parameter, or another dtype, are
// copied and written back at the end.
template <class Algorithm>
class Batch {
 public:
  // Checks everything before anything is changed.
  Batch(const char* op, const TrainedList& list) : op_(op), list_(list) {
    updates_.reserve(list.size());
    for (const Trained& t : list) {
      require_floating(op, "a parameter", t.value);
      require_writable(op, t.value);
      require(t.grad.shape() == t.value.shape(), op, ": a parameter of shape ", t.value.shape(),
              " has a gradient of shape ", t.grad.shape());
      for (const Tensor& s : t.state) {
        if (!s.defined()) continue;
        require(s.shape() == t.value.shape(), op, ": the state of a parameter of shape ", t.value.shape(),
                " has shape ", s.shape(), "; it belongs to another parameter");
        require_writable(op, s);
      }
    }
  }

  // Passes the state to the kernel in this order, without undefined tensors.
  void add(const Trained& t, const Algorithm& algorithm) {
    kernels::Update<Algorithm> u{{}, t.value.numel(), t.value.dtype(), algorithm};
    int k = 0;
    const Tensor copy = dense(t.value) ? Tensor() : copied(t.value, t.value, true);
    const Tensor& value = copy.defined() ? copy : t.value;
    u.arrays[k++] = value->data;
    u.arrays[k++] = in_order(t.grad, value, false);
    for (const Tensor& s : t.state)
      if (s.defined()) u.arrays[k++] = in_order(s, value, true);
    if (u.count > 0) updates_.push_back(u);
  }
  template <class Kernel>
  void run(const Kernel& kernel) {
    kernel(updates_);
    for (const auto& [to, from] : back_) kernels::copy(to.view(), from.view());
    for (const Trained& t : list_) {
      t.value->storage->written(op_);
      for (const Tensor& s : t.state)
        if (s.defined()) s->storage->written(op_);
    }
  }

 private:
  char* in_order(const Tensor& x, const Tensor& like, bool written) {
    if (x.dtype() == like.dtype() && ((x.contiguous() && like.contiguous()) || x.strides() == like.strides()))
      return x->data;
    return copied(x, like, written)->data;
  }
  Tensor copied(const Tensor& x, const Tensor& like, bool written) {
    Tensor copy = empty_like(like);
    kernels::copy(copy.view(), x.view());
    if (written) back_.emplace_back(x, copy);
    else kept_.push_back(copy);
    return copy;
  }
  static bool dense(const Tensor& x) { return x.contiguous() || empty_like(x).strides() == x.strides(); }

  const char* op_;
  const TrainedList& list_;
  std::vector<kernels::Update<Algorithm>> updates_;
  std::vector<std::pair<Tensor, Tensor>> back_;
  std::vector<Tensor> kept_;
};

double sign(bool maximize) { return maximize ? -1.0 : 1.0; }

// Weight decay that is added to the gradient, or that shrinks the value.
struct Decay {
  double added, shrink;
  template <class Options>
  explicit Decay(const Options& o)
      : added(o.decoupled ? 0 : o.weight_decay), shrink(o.decoupled ? 1 - o.lr * o.weight_decay : 1) {}
};

}  // namespace

double advance(const char* op, const Tensor& step) {
  const double now = number(step) + 1;
  set_number(op, step, now);
  return now;
}

void sgd_step(const TrainedList& list, const SgdOptions& o) {
  Batch<kernels::Sgd> batch("SGD.step", list);
  for (const Trained& t : list)
    batch.add(t, {.sign = sign(o.maximize),
                  .decay = o.weight_decay,
                  .lr = o.lr,
                  .momentum = o.momentum,
                  .dampening = o.dampening,
                  .nesterov = o.nesterov,
                  .first = t.first});
  batch.run(kernels::sgd);
}

void adam_step(const TrainedList& list, const AdamOptions& o) {
  const char* op = o.decoupled ? "AdamW.step" : "Adam.step";
  Batch<kernels::Adam> batch(op, list);
  const Decay decay(o);
  double last = 0, correction1 = 0, correction2 = 0;  // parameters nearly always have made the same number of steps
  for (const Trained& t : list) {
    const double step = advance(op, t.numbers[0]);
    if (step != last) {
      correction1 = 1 - std::pow(o.betas.first, step);
      correction2 = 1 - std::pow(o.betas.second, step);
      last = step;
    }
    batch.add(t, {.sign = sign(o.maximize),
                  .decay = decay.added,
                  .shrink = decay.shrink,
                  .beta1 = o.betas.first,
                  .beta2 = o.betas.second,
                  .eps = o.eps,
                  .step_size = o.lr / correction1,
                  .root_correction = std::sqrt(correction2),
                  .amsgrad = o.amsgrad});
  }
  batch.run(kernels::adam);
}

void nadam_step(const TrainedList& list, const NAdamOptions& o) {
  const char* op = "NAdam.step";
  Batch<kernels::NAdam> batch(op, list);
  const Decay decay(o);
  const auto momentum = [&](double step) {
    return o.betas.first * (1 - 0.5 * std::pow(0.96, step * o.momentum_decay));
  };
  for (const Trained& t : list) {
    const double step = advance(op, t.numbers[0]);
    const double mu = momentum(step), next = momentum(step + 1);
    set_number(op, t.numbers[1], number(t.numbers[1]) * mu);
    const double product = number(t.numbers[1]);
    batch.add(t, {.sign = sign(o.maximize),
                  .decay = decay.added,
                  .shrink = decay.shrink,
                  .beta1 = o.betas.first,
                  .beta2 = o.betas.second,
                  .eps = o.eps,
                  .correction = 1 - std::pow(o.betas.second, step),
                  .grad_step = o.lr * (1 - mu) / (1 - product),
                  .average_step = o.lr * next / (1 - product * next)});
  }
  batch.run(kernels::nadam);
}

void radam_step(const TrainedList& list, const RAdamOptions& o) {
  const char* op = "RAdam.step";
  Batch<kernels::RAdam> batch(op, list);
  const Decay decay(o);
  const double beta2 = o.betas.second, longest = 2 / (1 - beta2) - 1;
  for (const Trained& t : list) {
    const double step = advance(op, t.numbers[0]);
    const double correction2 = 1 - std::pow(beta2, step);
    // The length of a simple moving average with the same variance.
    const double length = longest - 2 * step * std::pow(beta2, step) / correction2;
    const bool rectified = length > 5;
    const double rectification =
        rectified ? std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) : 1;
    batch.add(t, {.sign = sign(o.maximize),
                  .decay = decay.added,
                  .shrink = decay.shrink,
                  .beta1 = o.betas.first,
                  .beta2 = beta2,
                  .eps = o.eps,
                  .lr = o.lr,
                  .correction = 1 - std::pow(o.betas.first, step),
                  .root_correction = std::sqrt(correction2),
                  .rectification = rectification,
                  .rectified = rectified});
  }
  batch.run(kernels::radam);
}

void adamax_step(const TrainedList& list, const AdamaxOptions& o) {
  const char* op = "Adamax.step";
  Batch<kernels::Adamax> batch(op, list);
  for (const Trained& t : list) {
    const double step = advance(op, t.numbers[0]);
    batch.add(t, {.sign = sign(o.maximize),
                  .decay = o.weight_decay,
                  .beta1 = o.betas.first,
                  .beta2 = o.betas.second,
                  .eps = o.eps,
                  .step_size = o.lr / (1 - std::pow(o.betas.first, step))});
  }
  batch.run(kernels::adamax);
}

void adagrad_step(const TrainedList& list, const AdagradOptions& o) {
  const char* op = "Adagrad.step";
  Batch<kernels::Adagrad> batch(op, list);
  for (const Trained& t : list) {
    const double step = advance(op, t.numbers[0]);
    batch.add(t, {.sign = sign(o.maximize),
                  .decay = o.weight_decay,
                  .eps = o.eps,
                  .step_size = o.lr / (1 + (step - 1) * o.lr_decay)});
  }
  batch.run(kernels::adagrad);
}

void adadelta_step(const TrainedList& list, const AdadeltaOptions& o) {
  const char* op = "Adadelta.step";
  Batch<kernels::Adadelta> batch(op, list);
  for (const Trained& t : list) {
    advance(op, t.numbers[0]);
    batch.add(t, {.sign = sign(o.maximize), .decay = o.weight_decay, .lr = o.lr, .rho = o.rho, .eps = o.eps});
  }
  batch.run(kernels::adadelta);
}

void rmsprop_step(const TrainedList& list, const RMSpropOptions& o) {
  const char* op = "RMSprop.step";
  Batch<kernels::RMSprop> batch(op, list);
  for (const Trained& t : list) {
    advance(op, t.numbers[0]);
    batch.add(t, {.sign = sign(o.maximize),
                  .decay = o.weight_decay,
                  .lr = o.lr,
                  .alpha = o.alpha,
                  .eps = o.eps,
                  .momentum = o.momentum,
                  .centered = o.centered});
  }
  batch.run(kernels::rmsprop);
}

void rprop_step(const TrainedList& list, const RpropOptions& o) {
  const char* op = "Rprop.step";
  Batch<kernels::Rprop> batch(op, list);
  for (const Trained& t : list) {
    advance(op, t.numbers[0]);
    batch.add(t, {.sign = sign(o.maximize),
                  .eta_minus = o.etas.first,
                  .eta_plus = o.etas.second,
                  .smallest = o.step_sizes.first,
                  .largest = o.step_sizes.second});
  }
  batch.run(kernels::rprop);
}

void asgd_step(const TrainedList& list, const AsgdOptions& o) {
  const char* op = "ASGD.step";
  Batch<kernels::Asgd> batch(op, list);
  for (const Trained& t : list) {
    const double step = advance(op, t.numbers[0]), eta = number(t.numbers[1]);
    batch.add(
        t,
        {.sign = sign(o.maximize), .decay = o.weight_decay, .lambd = o.lambd, .eta = eta, .mu = number(t.numbers[2])});
    set_number(op, t.numbers[1], o.lr / std::pow(1 + o.lambd * o.lr * step, o.alpha));
    set_number(op, t.numbers[2], 1 / std::max(1.0, step - o.t0));
  }
  batch.run(kernels::asgd);
}

void lion_step(const TrainedList& list, const LionOptions& o) {
  Batch<kernels::Lion> batch("Lion.step", list);
  for (const Trained& t : list)
    batch.add(t, {.sign = sign(o.maximize),
                  .shrink = 1 - o.lr * o.weight_decay,
                  .lr = o.lr,
                  .beta1 = o.betas.first,
                  .beta2 = o.betas.second});
  batch.run(kernels::lion);
}

void follow(const TrainedList& list, double t) {
  Batch<kernels::Sgd> batch("LBFGS.step", list);
  for (const Trained& one : list)
    batch.add(one, {.sign = 1, .decay = 0, .lr = -t, .momentum = 0, .dampening = 0, .nesterov = false, .first = false});
  batch.run(kernels::sgd);
}

void average(const TrainedList& list, double weight) {
  Batch<kernels::Average> batch("lerp_", list);
  for (const Trained& t : list) batch.add(t, {weight});
  batch.run(kernels::average);
}

bool unscale(const std::vector<Tensor>& grads, double factor) {
  const Completes completes;
  const char* op = "GradScaler.unscale_";
  for (const Tensor& g : grads) {
    require_floating(op, "a gradient", g);
    require_writable(op, g);
  }
  std::vector<kernels::Update<kernels::Unscale>> updates;
  std::vector<std::pair<Tensor, Tensor>> back;
  for (const Tensor& g : grads) {
    Tensor memory = g;
    if (!g.contiguous()) {
      memory = empty(g.shape(), g.dtype());
      kernels::copy(memory.view(), g.view());
      back.emplace_back(g, memory);
    }
    if (g.numel() > 0) updates.push_back({{memory->data}, g.numel(), g.dtype(), {factor}});
  }
  const bool finite = kernels::unscale(updates);
  for (const auto& [to, from] : back) kernels::copy(to.view(), from.view());
  for (const Tensor& g : grads) g->storage->written(op);
  return finite;
}

}  // namespace genesis::ops
