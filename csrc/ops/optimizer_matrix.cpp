#include "ops/optimizer_matrix.h"

#include <algorithm>
#include <cmath>

#include "autograd/meta.h"
#include "ops/create.h"
#include "ops/inplace.h"
#include "ops/matmul.h"
#include "ops/operand.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/select.h"
#include "ops/shape.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace genesis::ops {

namespace {

// Called before anything is changed.
void check(const char* op, const Trained& t) {
  require_floating(op, "a parameter", t.value);
  require_writable(op, t.value);
  require(t.grad.shape() == t.value.shape(), op, ": a parameter of shape ", t.value.shape(),
          " has a gradient of shape ", t.grad.shape());
}
void check_state(const char* op, const Trained& t, const Tensor& state, const Dims& shape) {
  require(state.defined() && state.shape() == shape, op, ": the state of a parameter of shape ", t.value.shape(),
          " must have shape ", shape, state.defined() ? str(", got ", state.shape()) : std::string(),
          "; it belongs to another parameter");
  require_writable(op, state);
}

Tensor lerp_(const char* op, const Tensor& x, const Tensor& y, double weight) {
  return inplace(op, x, {&y}, [&](const Tensor& input, Out out) { return lerp(input, y, weight, out); });
}
double root_mean_square(const Tensor& x) {
  return number(norm(x, 2, {}, false)) / std::sqrt(static_cast<double>(x.numel()));
}
double epsilon(DType t) {
  if (t == DType::Float64) return 0x1p-52;
  return t == DType::Float32 ? 0x1p-23 : t == DType::Float16 ? 0x1p-10 : 0x1p-7;
}

// An approximation of U V' for the decomposition x = U S V', by Newton-Schulz iterations in bfloat16.
Tensor orthogonal(const Tensor& x, const MuonOptions& o) {
  const auto [a, b, c] = o.coefficients;
  const bool tall = x.size(0) > x.size(1);
  Tensor y = cast(x, DType::BFloat16);
  if (tall) y = transpose(y, 0, 1);
  y = y / clamp(norm(y, 2, {}, false), o.eps, std::nullopt);
  for (int64_t i = 0; i < o.iterations; ++i) {
    const Tensor gram = matmul(y, transpose(y, 0, 1));
    y = addmm(y, addmm(gram, gram, gram, b, c), y, a);
  }
  return tall ? transpose(y, 0, 1) : y;
}

}  // namespace

void adafactor_step(const TrainedList& list, const AdafactorOptions& o) {
  const char* op = "Adafactor.step";
  const WithGradMode off(false);
  for (const Trained& t : list) {
    check(op, t);
    Dims rows = t.value.shape(), columns = rows;
    if (rows.size() < 2) {
      check_state(op, t, t.state[0], rows);
      continue;
    }
    rows.back() = columns[columns.size() - 2] = 1;
    check_state(op, t, t.state[0], rows);
    check_state(op, t, t.state[1], columns);
  }
  for (const Trained& t : list) {
    const double step = advance(op, t.numbers[0]), fresh = std::pow(step, o.beta2_decay);
    if (t.value.numel() == 0) continue;
    const double eps1 = o.eps1.value_or(epsilon(t.value.dtype()));
    const double scale = std::max(o.eps2, root_mean_square(t.value)) * std::min(o.lr, 1 / std::sqrt(step));
    if (o.weight_decay != 0) mul_(t.value, 1 - o.lr * o.weight_decay);
    const Tensor squares = square(t.grad);
    Tensor variance;
    if (t.value.dim() > 1) {
      const Tensor row = lerp_(op, t.state[0], mean(squares, {-1}, true), fresh);
      const Tensor column = lerp_(op, t.state[1], mean(squares, {-2}, true), fresh);
      variance = row * column / clamp(mean(row, {-2}, true), eps1, std::nullopt);
    } else {
      variance = lerp_(op, t.state[0], squares, fresh);
    }
    const Tensor update = rsqrt(clamp(variance, eps1 * eps1, std::nullopt)) * t.grad;
    const double size = std::max(1.0, root_mean_square(update) / o.d);
    add_(t.value, update, (o.maximize ? scale : -scale) / size);
  }
}

void muon_step(const TrainedList& list, const MuonOptions& o) {
  const char* op = "Muon.step";
  const WithGradMode off(false);
  for (const Trained& t : list) {
    check(op, t);
    require(t.value.dim() == 2, op, ": optimizes matrices only, got a parameter of shape ", t.value.shape());
    check_state(op, t, t.state[0], t.value.shape());
  }
  for (const Trained& t : list) {
    if (t.value.numel() == 0) continue;
    const Tensor buffer = lerp_(op, t.state[0], t.grad, 1 - o.momentum);
    const Tensor update = orthogonal(o.nesterov ? lerp(t.grad, buffer, o.momentum) : buffer, o);
    const double rows = static_cast<double>(t.value.size(0)), columns = static_cast<double>(t.value.size(1));
    const double adjustment =
        o.match_rms_adamw ? 0.2 * std::sqrt(std::max(rows, columns)) : std::sqrt(std::max(1.0, rows / columns));
    mul_(t.value, 1 - o.lr * o.weight_decay);
    add_(t.value, update, -o.lr * adjustment);
  }
}

void lbfgs_remember(LbfgsHistory& h, const Tensor& grad, const Tensor& last_grad, const Tensor& direction, double t,
                    int64_t most) {
  const Completes completes;
  const WithGradMode off(false);
  const Tensor change = grad - last_grad, step = direction * t;
  const double curvature = number(dot(change, step));
  if (!(curvature > 1e-10)) return;
  if (static_cast<int64_t>(h.changes.size()) >= most && !h.changes.empty()) {
    h.changes.erase(h.changes.begin());
    h.steps.erase(h.steps.begin());
    h.ro.erase(h.ro.begin());
  }
  h.changes.push_back(change);
  h.steps.push_back(step);
  h.ro.push_back(1 / curvature);
  h.diagonal = curvature / number(dot(change, change));
}

Tensor lbfgs_direction(const LbfgsHistory& h, const Tensor& grad) {
  const WithGradMode off(false);
  const size_t n = h.changes.size();
  require(h.steps.size() == n && h.ro.size() == n, "LBFGS.step: the state holds ", n, " changes of the gradient, ",
          h.steps.size(), " steps and ", h.ro.size(), " factors; there must be equally many");
  const Tensor q = neg(grad);
  std::vector<double> weights(n);
  for (size_t i = n; i-- > 0;) {
    weights[i] = number(dot(h.steps[i], q)) * h.ro[i];
    add_(q, h.changes[i], -weights[i]);
  }
  mul_(q, h.diagonal);
  for (size_t i = 0; i < n; ++i) add_(q, h.steps[i], weights[i] - number(dot(h.changes[i], q)) * h.ro[i]);
  return q;
}

Tensor flat_grad(const std::vector<Tensor>& params) {
  const WithGradMode off(false);
  std::vector<Tensor> flat;
  flat.reserve(params.size());
  for (const Tensor& p : params) {
    const TensorMeta* m = meta_if_any(p);
    flat.push_back(m && m->grad.defined() ? reshape(m->grad, {p.numel()}) : zeros({p.numel()}, p.dtype()));
  }
  return cat(flat, 0);
}

void lbfgs_move(const std::vector<Tensor>& params, const Tensor& direction, double t,
                const std::vector<Tensor>& origin) {
  const Completes completes;
  const WithGradMode off(false);
  TrainedList list(params.size());
  int64_t at = 0;
  for (size_t i = 0; i < params.size(); ++i) {
    const Tensor& p = params[i];
    require(at + p.numel() <= direction.numel(), "LBFGS.step: the direction has ", direction.numel(),
            " elements, the parameters have more; the state belongs to others");
    if (!origin.empty()) copy_(p, origin[i]);
    list[i].value = p;
    list[i].grad = reshape(narrow(direction, 0, at, p.numel()), p.shape());
    at += p.numel();
  }
  follow(list, t);
}

}  // namespace genesis::ops
