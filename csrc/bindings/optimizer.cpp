// Steps of optimizers: each function gets a group of parameters with its options, and the states of all parameters, as
// the Python optimizer keeps them. Reading them anew in every step costs less than noticing when they were changed.
#include "ops/optimizer.h"

#include "autograd/meta.h"
#include "bindings/args.h"
#include "bindings/module.h"
#include "bindings/watched.h"
#include "ops/create.h"

namespace genesis::py {

namespace {

// A string that lives as long as the process, made once.
template <FixedString Text>
PyObject* key() {
  static PyObject* const text = PyUnicode_InternFromString(Text.text);
  return text;
}

struct Slot {
  PyObject* key;
  double start = 0;    // of a state that is not there yet
  bool wanted = true;
};

class Group {
 public:
  explicit Group(Args& a) : name_(a.name()), group_(a[0]), state_(a[1]) {
    if (!PyDict_Check(group_)) a.fail(0, "a parameter group, a dict");
    if (!PyDict_Check(state_)) a.fail(1, "a dict of states");
  }

  double number(PyObject* key) const { return scalar(option(key), key); }
  bool flag(PyObject* key) const {
    const int truth = PyObject_IsTrue(option(key));
    if (truth < 0) throw_python();
    return truth != 0;
  }
  ops::Betas pair(PyObject* key) const {
    const Object items(PySequence_Fast(option(key), "expected a pair of numbers"));
    require(PySequence_Fast_GET_SIZE(items.get()) == 2, name_, ": '", PyUnicode_AsUTF8(key), "' must be a pair, got ",
            PySequence_Fast_GET_SIZE(items.get()), " values");
    return {scalar(PySequence_Fast_GET_ITEM(items.get(), 0), key), scalar(PySequence_Fast_GET_ITEM(items.get(), 1), key)};
  }

  // Every parameter that has a gradient, with its state, which is made where it is missing.
  ops::TrainedList collect(std::initializer_list<Slot> numbers, std::initializer_list<Slot> arrays) const {
    const Object params(PySequence_Fast(option(key<"params">()), "expected a list of parameters"));
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(params.get());
    ops::TrainedList list;
    list.reserve(static_cast<size_t>(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* p = PySequence_Fast_GET_ITEM(params.get(), i);
      if (!is_tensor(p)) throw_type_error(str(name_, ": parameters must be tensors, got ", Py_TYPE(p)->tp_name));
      const TensorMeta* m = meta_if_any(unwrap(p));
      if (!m || !m->grad.defined()) continue;
      ops::Trained& t = list.emplace_back();
      t.value = unwrap(p);
      t.grad = m->grad;
      if (numbers.size() + arrays.size() == 0) continue;
      const Object values(PyObject_GetItem(state_, p));  // the dict of states makes what it lacks
      if (!PyDict_Check(values.get()))
        throw_type_error(str(name_, ": the state of a parameter must be a dict, got ", Py_TYPE(values.get())->tp_name));
      int k = 0;
      for (const Slot& slot : numbers) t.numbers[k++] = find_number(values.get(), slot);
      k = 0;
      for (const Slot& slot : arrays)
        if (slot.wanted) t.state[k++] = find_array(values.get(), slot, t);
    }
    return list;
  }

 private:
  PyObject* option(PyObject* key) const {
    PyObject* value = PyDict_GetItemWithError(group_, key);
    if (!value) {
      if (!PyErr_Occurred())
        PyErr_SetString(PyExc_KeyError, str(name_, ": the parameter group lacks '", PyUnicode_AsUTF8(key), "'").c_str());
      throw_python();
    }
    return value;
  }
  double scalar(PyObject* o, PyObject* key) const {
    if (PyFloat_Check(o)) return PyFloat_AS_DOUBLE(o);
    if (!is_number(o) && !(is_tensor(o) && unwrap(o).numel() == 1))
      throw_type_error(str(name_, ": '", PyUnicode_AsUTF8(key), "' must be a number, got ", Py_TYPE(o)->tp_name));
    return to_scalar(o).to_double();
  }

  static PyObject* lookup(PyObject* values, PyObject* key) {
    PyObject* value = PyDict_GetItemWithError(values, key);
    if (!value && PyErr_Occurred()) throw_python();
    return value == Py_None ? nullptr : value;
  }
  static Tensor store(PyObject* values, PyObject* key, Tensor t) {
    const Object made(wrap(t));
    if (PyDict_SetItem(values, key, made.get()) < 0) throw_python();
    return t;
  }
  Tensor find_number(PyObject* values, const Slot& slot) const {
    PyObject* value = lookup(values, slot.key);
    if (value && is_tensor(value)) {
      require(unwrap(value).numel() == 1, name_, ": state '", PyUnicode_AsUTF8(slot.key),
              "' must be one number, got a tensor of shape ", unwrap(value).shape());
      return unwrap(value);
    }
    const DType dtype = default_dtype == DType::Float64 ? DType::Float64 : DType::Float32;
    return store(values, slot.key, ops::scalar_tensor(value ? scalar(value, slot.key) : slot.start, dtype));
  }
  Tensor find_array(PyObject* values, const Slot& slot, ops::Trained& t) const {
    PyObject* value = lookup(values, slot.key);
    if (value && is_tensor(value)) return unwrap(value);
    if (value)
      throw_type_error(str(name_, ": state '", PyUnicode_AsUTF8(slot.key), "' must be a Tensor, got ", Py_TYPE(value)->tp_name));
    t.first = true;
    return store(values, slot.key, ops::full_like(t.value, slot.start, t.value.dtype()));
  }

  const char* name_;
  PyObject *group_, *state_;
};

void sgd(Args& a) {
  const Group g(a);
  const double momentum = g.number(key<"momentum">());
  const Slot buffer{.key = key<"momentum_buffer">()};
  ops::sgd_step(momentum == 0 ? g.collect({}, {}) : g.collect({}, {buffer}),
                {g.number(key<"lr">()), momentum, g.number(key<"dampening">()), g.number(key<"weight_decay">()),
                 g.flag(key<"nesterov">()), g.flag(key<"maximize">())});
}

void adam(Args& a) {
  const Group g(a);
  const bool amsgrad = g.flag(key<"amsgrad">());
  ops::adam_step(g.collect({{key<"step">()}}, {{key<"exp_avg">()}, {key<"exp_avg_sq">()},
                                               {key<"max_exp_avg_sq">(), 0, amsgrad}}),
                 {g.number(key<"lr">()), g.pair(key<"betas">()), g.number(key<"eps">()), g.number(key<"weight_decay">()),
                  amsgrad, g.flag(key<"maximize">()), g.flag(key<"decoupled_weight_decay">())});
}

void nadam(Args& a) {
  const Group g(a);
  ops::nadam_step(g.collect({{key<"step">()}, {key<"mu_product">(), 1}}, {{key<"exp_avg">()}, {key<"exp_avg_sq">()}}),
                  {g.number(key<"lr">()), g.pair(key<"betas">()), g.number(key<"eps">()), g.number(key<"weight_decay">()),
                   g.number(key<"momentum_decay">()), g.flag(key<"maximize">()), g.flag(key<"decoupled_weight_decay">())});
}

void radam(Args& a) {
  const Group g(a);
  ops::radam_step(g.collect({{key<"step">()}}, {{key<"exp_avg">()}, {key<"exp_avg_sq">()}}),
                  {g.number(key<"lr">()), g.pair(key<"betas">()), g.number(key<"eps">()), g.number(key<"weight_decay">()),
                   g.flag(key<"maximize">()), g.flag(key<"decoupled_weight_decay">())});
}

void adamax(Args& a) {
  const Group g(a);
  ops::adamax_step(g.collect({{key<"step">()}}, {{key<"exp_avg">()}, {key<"exp_inf">()}}),
                   {g.number(key<"lr">()), g.pair(key<"betas">()), g.number(key<"eps">()),
                    g.number(key<"weight_decay">()), g.flag(key<"maximize">())});
}

void adagrad(Args& a) {
  const Group g(a);
  ops::adagrad_step(g.collect({{key<"step">()}}, {{key<"sum">(), g.number(key<"initial_accumulator_value">())}}),
                    {g.number(key<"lr">()), g.number(key<"lr_decay">()), g.number(key<"eps">()),
                     g.number(key<"weight_decay">()), g.flag(key<"maximize">())});
}

void adadelta(Args& a) {
  const Group g(a);
  ops::adadelta_step(g.collect({{key<"step">()}}, {{key<"square_avg">()}, {key<"acc_delta">()}}),
                     {g.number(key<"lr">()), g.number(key<"rho">()), g.number(key<"eps">()),
                      g.number(key<"weight_decay">()), g.flag(key<"maximize">())});
}

void rmsprop(Args& a) {
  const Group g(a);
  const double momentum = g.number(key<"momentum">());
  const bool centered = g.flag(key<"centered">());
  ops::rmsprop_step(g.collect({{key<"step">()}}, {{key<"square_avg">()}, {key<"momentum_buffer">(), 0, momentum != 0},
                                                  {key<"grad_avg">(), 0, centered}}),
                    {g.number(key<"lr">()), g.number(key<"alpha">()), g.number(key<"eps">()),
                     g.number(key<"weight_decay">()), momentum, centered, g.flag(key<"maximize">())});
}

void rprop(Args& a) {
  const Group g(a);
  ops::rprop_step(g.collect({{key<"step">()}}, {{key<"prev">()}, {key<"step_size">(), g.number(key<"lr">())}}),
                  {g.pair(key<"etas">()), g.pair(key<"step_sizes">()), g.flag(key<"maximize">())});
}

void asgd(Args& a) {
  const Group g(a);
  const double lr = g.number(key<"lr">());
  ops::asgd_step(g.collect({{key<"step">()}, {key<"eta">(), lr}, {key<"mu">(), 1}}, {{key<"ax">()}}),
                 {lr, g.number(key<"lambd">()), g.number(key<"alpha">()), g.number(key<"t0">()),
                  g.number(key<"weight_decay">()), g.flag(key<"maximize">())});
}

void lion(Args& a) {
  const Group g(a);
  ops::lion_step(g.collect({}, {{key<"exp_avg">()}}),
                 {g.number(key<"lr">()), g.pair(key<"betas">()), g.number(key<"weight_decay">()),
                  g.flag(key<"maximize">())});
}

template <auto F>
PyObject* step(Args& a) {
  if (!observer) [[likely]] {
    F(a);
    Py_RETURN_NONE;
  }
  PyObject* params = PyDict_Check(a[0]) ? PyDict_GetItem(a[0], key<"params">()) : nullptr;
  PyObject* done = observed_as(a.name() + 1, {params}, [&] {  // the name without its underscore
    return guarded([&]() -> PyObject* {
      F(a);
      Py_RETURN_NONE;
    });
  });
  if (!done) throw_python();
  return done;
}

}  // namespace

static const Family family([] {
  def<"_sgd_step(group, state)", step<sgd>>(kFunction | kTool);
  def<"_adam_step(group, state)", step<adam>>(kFunction | kTool);
  def<"_nadam_step(group, state)", step<nadam>>(kFunction | kTool);
  def<"_radam_step(group, state)", step<radam>>(kFunction | kTool);
  def<"_adamax_step(group, state)", step<adamax>>(kFunction | kTool);
  def<"_adagrad_step(group, state)", step<adagrad>>(kFunction | kTool);
  def<"_adadelta_step(group, state)", step<adadelta>>(kFunction | kTool);
  def<"_rmsprop_step(group, state)", step<rmsprop>>(kFunction | kTool);
  def<"_rprop_step(group, state)", step<rprop>>(kFunction | kTool);
  def<"_asgd_step(group, state)", step<asgd>>(kFunction | kTool);
  def<"_lion_step(group, state)", step<lion>>(kFunction | kTool);
  def<"_average_lists(averaged, current, factor)", [](Args& a) -> PyObject* {
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
  def<"_unscale_grads(grads, factor)", [](Args& a) { return ops::unscale(a.tensors(0), a.number(1)); }>(
      kFunction | kTool, "Multiplies gradients in place; whether all products are finite.");
  def<"_zero_grads(params, set_to_none=True)", [](Args& a) -> PyObject* {
    const bool drop = a.boolean(1, true);
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
      if (m->grad->requires_grad) detach_inplace(m->grad);
      const WithGradMode off(false);
      ops::zero_(m->grad);
    }
    Py_RETURN_NONE;
  }>(kFunction | kTool, "Drops the gradients of parameters, or fills them with zeros.");
});

}  // namespace genesis::py
