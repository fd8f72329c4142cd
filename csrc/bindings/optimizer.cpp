// Steps of elementwise optimizers.
#include "ops/optimizer.h"

#include "bindings/module.h"
#include "bindings/param_group.h"
#include "engine/backward.h"

namespace genesis::py {

namespace {

void sgd(Args& a) {
  const Group g(a);
  const double momentum = g.number(key<"momentum">());
  const Slot buffer{.key = key<"momentum_buffer">()};
  ops::sgd_step(momentum == 0 ? g.collect({}, {}) : g.collect({}, {buffer}),
                {.lr = g.number(key<"lr">()),
                 .momentum = momentum,
                 .dampening = g.number(key<"dampening">()),
                 .weight_decay = g.number(key<"weight_decay">()),
                 .nesterov = g.flag(key<"nesterov">()),
                 .maximize = g.flag(key<"maximize">())});
}

void adam(Args& a) {
  const Group g(a);
  const bool amsgrad = g.flag(key<"amsgrad">());
  ops::adam_step(
      g.collect({{key<"step">()}}, {{key<"exp_avg">()}, {key<"exp_avg_sq">()}, {key<"max_exp_avg_sq">(), 0, amsgrad}}),
      {.lr = g.number(key<"lr">()),
       .betas = g.pair(key<"betas">()),
       .eps = g.number(key<"eps">()),
       .weight_decay = g.number(key<"weight_decay">()),
       .amsgrad = amsgrad,
       .maximize = g.flag(key<"maximize">()),
       .decoupled = g.flag(key<"decoupled_weight_decay">())});
}

void nadam(Args& a) {
  const Group g(a);
  ops::nadam_step(g.collect({{key<"step">()}, {key<"mu_product">(), 1}}, {{key<"exp_avg">()}, {key<"exp_avg_sq">()}}),
                  {.lr = g.number(key<"lr">()),
                   .betas = g.pair(key<"betas">()),
                   .eps = g.number(key<"eps">()),
                   .weight_decay = g.number(key<"weight_decay">()),
                   .momentum_decay = g.number(key<"momentum_decay">()),
                   .maximize = g.flag(key<"maximize">()),
                   .decoupled = g.flag(key<"decoupled_weight_decay">())});
}

void radam(Args& a) {
  const Group g(a);
  ops::radam_step(g.collect({{key<"step">()}}, {{key<"exp_avg">()}, {key<"exp_avg_sq">()}}),
                  {.lr = g.number(key<"lr">()),
                   .betas = g.pair(key<"betas">()),
                   .eps = g.number(key<"eps">()),
                   .weight_decay = g.number(key<"weight_decay">()),
                   .maximize = g.flag(key<"maximize">()),
                   .decoupled = g.flag(key<"decoupled_weight_decay">())});
}

void adamax(Args& a) {
  const Group g(a);
  ops::adamax_step(g.collect({{key<"step">()}}, {{key<"exp_avg">()}, {key<"exp_inf">()}}),
                   {.lr = g.number(key<"lr">()),
                    .betas = g.pair(key<"betas">()),
                    .eps = g.number(key<"eps">()),
                    .weight_decay = g.number(key<"weight_decay">()),
                    .maximize = g.flag(key<"maximize">())});
}

void adagrad(Args& a) {
  const Group g(a);
  ops::adagrad_step(g.collect({{key<"step">()}}, {{key<"sum">(), g.number(key<"initial_accumulator_value">())}}),
                    {.lr = g.number(key<"lr">()),
                     .lr_decay = g.number(key<"lr_decay">()),
                     .eps = g.number(key<"eps">()),
                     .weight_decay = g.number(key<"weight_decay">()),
                     .maximize = g.flag(key<"maximize">())});
}

void adadelta(Args& a) {
  const Group g(a);
  ops::adadelta_step(g.collect({{key<"step">()}}, {{key<"square_avg">()}, {key<"acc_delta">()}}),
                     {.lr = g.number(key<"lr">()),
                      .rho = g.number(key<"rho">()),
                      .eps = g.number(key<"eps">()),
                      .weight_decay = g.number(key<"weight_decay">()),
                      .maximize = g.flag(key<"maximize">())});
}

void rmsprop(Args& a) {
  const Group g(a);
  const double momentum = g.number(key<"momentum">());
  const bool centered = g.flag(key<"centered">());
  ops::rmsprop_step(g.collect({{key<"step">()}}, {{key<"square_avg">()},
                                                  {key<"momentum_buffer">(), 0, momentum != 0},
                                                  {key<"grad_avg">(), 0, centered}}),
                    {.lr = g.number(key<"lr">()),
                     .alpha = g.number(key<"alpha">()),
                     .eps = g.number(key<"eps">()),
                     .weight_decay = g.number(key<"weight_decay">()),
                     .momentum = momentum,
                     .centered = centered,
                     .maximize = g.flag(key<"maximize">())});
}

void rprop(Args& a) {
  const Group g(a);
  ops::rprop_step(g.collect({{key<"step">()}}, {{key<"prev">()}, {key<"step_size">(), g.number(key<"lr">())}}),
                  {.etas = g.pair(key<"etas">()),
                   .step_sizes = g.pair(key<"step_sizes">()),
                   .maximize = g.flag(key<"maximize">())});
}

void asgd(Args& a) {
  const Group g(a);
  const double lr = g.number(key<"lr">());
  ops::asgd_step(g.collect({{key<"step">()}, {key<"eta">(), lr}, {key<"mu">(), 1}}, {{key<"ax">()}}),
                 {.lr = lr,
                  .lambd = g.number(key<"lambd">()),
                  .alpha = g.number(key<"alpha">()),
                  .t0 = g.number(key<"t0">()),
                  .weight_decay = g.number(key<"weight_decay">()),
                  .maximize = g.flag(key<"maximize">())});
}

void lion(Args& a) {
  const Group g(a);
  ops::lion_step(g.collect({}, {{key<"exp_avg">()}}), {.lr = g.number(key<"lr">()),
                                                       .betas = g.pair(key<"betas">()),
                                                       .weight_decay = g.number(key<"weight_decay">()),
                                                       .maximize = g.flag(key<"maximize">())});
}

}  // namespace

static const Family family([] {
  def<"_sgd_step(Any group, Any state) -> None", step<sgd>>(kFunction | kTool);
  def<"_adam_step(Any group, Any state) -> None", step<adam>>(kFunction | kTool);
  def<"_nadam_step(Any group, Any state) -> None", step<nadam>>(kFunction | kTool);
  def<"_radam_step(Any group, Any state) -> None", step<radam>>(kFunction | kTool);
  def<"_adamax_step(Any group, Any state) -> None", step<adamax>>(kFunction | kTool);
  def<"_adagrad_step(Any group, Any state) -> None", step<adagrad>>(kFunction | kTool);
  def<"_adadelta_step(Any group, Any state) -> None", step<adadelta>>(kFunction | kTool);
  def<"_rmsprop_step(Any group, Any state) -> None", step<rmsprop>>(kFunction | kTool);
  def<"_rprop_step(Any group, Any state) -> None", step<rprop>>(kFunction | kTool);
  def<"_asgd_step(Any group, Any state) -> None", step<asgd>>(kFunction | kTool);
  def<"_lion_step(Any group, Any state) -> None", step<lion>>(kFunction | kTool);
  def<"_average_lists(Tensor[] averaged, Tensor[] current, float factor) -> None", [](Args& a) -> PyObject* {
    const std::vector<Tensor> averaged = a.tensors(0), current = a.tensors(1);
    require(averaged.size() == current.size(), "average: there are ", averaged.size(), " tensors to update, and ",
            current.size(), " to update them by");
    ops::TrainedList list(averaged.size());
    for (size_t i = 0; i < list.size(); ++i) {
      list[i].value = averaged[i];
      list[i].grad = current[i];
    }
    ops::average(list, a.number(2));
    Py_RETURN_NONE;
  }>(kFunction | kTool, "Moves each tensor towards another by `factor` of the difference, in place.");
  def<"_unscale_grads(Tensor[] grads, float factor) -> bool", [](Args& a) {
    return ops::unscale(a.tensors(0), a.number(1));
  }>(kFunction | kTool, "Multiplies gradients in place; whether all products are finite.");
  def<"_zero_grads(Any params, bool set_to_none=True) -> None", [](Args& a) -> PyObject* {
    const bool drop = a.boolean(1);
    const Object params(PySequence_Fast(a[0], "expected a list of parameters"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(params.get()); ++i) {
      PyObject* p = PySequence_Fast_GET_ITEM(params.get(), i);
      if (!is_tensor(p)) a.fail(0, "tensors");
      TensorMeta* m = meta_if_any(unwrap(p));
      if (!m || !m->grad.defined()) continue;
      if (drop) {
        m->grad = Tensor();
        continue;
      }
      if (engine::special_gradients.is_one && engine::special_gradients.is_one(m->grad)) {
        const Object grad(wrap(m->grad)), empty(PyObject_CallMethod(grad.get(), "zero_", nullptr));
        continue;
      }
      if (m->grad->requires_grad) detach_inplace(m->grad);
      const WithGradMode off(false);
      ops::zero_(m->grad);
    }
    Py_RETURN_NONE;
  }>(kFunction | kTool, "Drops the gradients of parameters, or fills them with zeros.");
});

}  // namespace genesis::py
