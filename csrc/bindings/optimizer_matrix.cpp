#include "ops/optimizer_matrix.h"

#include "bindings/module.h"
#include "bindings/param_group.h"

namespace genesis::py {

namespace {

void adafactor(Args& a) {
  const Group g(a);
  const auto [eps1, eps2] = g.numbers<2>(key<"eps">(), -1);
  ops::adafactor_step(g.collect({{key<"step">()}}, {{.key = key<"row_var">(), .part = Part::rows},
                                                    {.key = key<"col_var">(), .part = Part::columns},
                                                    {.key = key<"variance">(), .part = Part::vector}}),
                      {.lr = g.number(key<"lr">()),
                       .beta2_decay = g.number(key<"beta2_decay">()),
                       .eps1 = eps1 < 0 ? std::nullopt : std::optional(eps1),
                       .eps2 = eps2,
                       .d = g.number(key<"d">()),
                       .weight_decay = g.number(key<"weight_decay">()),
                       .maximize = g.flag(key<"maximize">())});
}

void muon(Args& a) {
  const Group g(a);
  ops::muon_step(g.collect({}, {{key<"momentum_buffer">()}}),
                 {.lr = g.number(key<"lr">()),
                  .weight_decay = g.number(key<"weight_decay">()),
                  .momentum = g.number(key<"momentum">()),
                  .nesterov = g.flag(key<"nesterov">()),
                  .match_rms_adamw = g.is(key<"adjust_lr_fn">(), "match_rms_adamw"),
                  .coefficients = g.numbers<3>(key<"ns_coefficients">()),
                  .eps = g.number(key<"eps">()),
                  .iterations = static_cast<int64_t>(g.number(key<"ns_steps">()))});
}

// The state of LBFGS, a dict in PyTorch's format.
class LbfgsState {
 public:
  explicit LbfgsState(PyObject* dict) : dict_(dict) {}

  Tensor tensor(PyObject* key) const { return tensor_of(value(key), key); }
  double number(PyObject* key) const { return number_of(value(key), key); }
  ops::LbfgsHistory history() const {
    ops::LbfgsHistory h;
    each(key<"old_dirs">(), [&](PyObject* o) { h.changes.push_back(tensor_of(o, key<"old_dirs">())); });
    each(key<"old_stps">(), [&](PyObject* o) { h.steps.push_back(tensor_of(o, key<"old_stps">())); });
    each(key<"ro">(), [&](PyObject* o) { h.ro.push_back(number_of(o, key<"ro">())); });
    h.diagonal = number(key<"H_diag">());
    return h;
  }
  void keep(const ops::LbfgsHistory& h) {
    set(key<"old_dirs">(), list(h.changes, [](const Tensor& t) { return wrap(t); }));
    set(key<"old_stps">(), list(h.steps, [](const Tensor& t) { return wrap(t); }));
    set(key<"ro">(), list(h.ro, PyFloat_FromDouble));
    set(key<"H_diag">(), Object(PyFloat_FromDouble(h.diagonal)));
  }

 private:
  PyObject* value(PyObject* key) const {
    PyObject* o = PyDict_GetItemWithError(dict_, key);
    if (!o) {
      if (!PyErr_Occurred())
        PyErr_SetString(PyExc_KeyError, str("LBFGS.step: the state lacks '", PyUnicode_AsUTF8(key), "'").c_str());
      throw_python();
    }
    return o;
  }
  static Tensor tensor_of(PyObject* o, PyObject* key) {
    if (!is_tensor(o))
      throw_type_error(
          str("LBFGS.step: state '", PyUnicode_AsUTF8(key), "' must be a Tensor, got ", Py_TYPE(o)->tp_name));
    return unwrap(o);
  }
  static double number_of(PyObject* o, PyObject* key) {
    if (!is_number(o) && !(is_tensor(o) && unwrap(o).numel() == 1))
      throw_type_error(
          str("LBFGS.step: state '", PyUnicode_AsUTF8(key), "' must be a number, got ", Py_TYPE(o)->tp_name));
    return to_scalar(o).to_double();
  }
  template <class F>
  void each(PyObject* key, F&& f) const {
    const Object items(PySequence_Fast(value(key), "LBFGS.step: expected a list in the state"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) f(PySequence_Fast_GET_ITEM(items.get(), i));
  }
  template <class T, class F>
  static Object list(const std::vector<T>& values, F&& made) {
    Object result(PyList_New(static_cast<Py_ssize_t>(values.size())));
    for (size_t i = 0; i < values.size(); ++i)
      PyList_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), Object(made(values[i])).release());
    return result;
  }
  void set(PyObject* key, const Object& o) {
    if (PyDict_SetItem(dict_, key, o.get()) < 0) throw_python();
  }

  PyObject* dict_;
};

Tensor direction(Args& a) {
  if (!PyDict_Check(a[1])) a.fail(1, "the state, a dict");
  LbfgsState state(a[1]);
  ops::LbfgsHistory history;
  if (state.number(key<"n_iter">()) > 1) {
    history = state.history();
    ops::lbfgs_remember(history, a.tensor(0), state.tensor(key<"prev_flat_grad">()), state.tensor(key<"d">()),
                        state.number(key<"t">()), a.integer(2));
  }
  state.keep(history);
  return ops::lbfgs_direction(history, a.tensor(0));
}

}  // namespace

static const Family family([] {
  def<"_adafactor_step(Any group, Any state) -> None", step<adafactor>>(kFunction | kTool);
  def<"_muon_step(Any group, Any state) -> None", step<muon>>(kFunction | kTool);
  def<"_lbfgs_direction(Tensor grad, Any state, int history_size) -> Tensor", direction>(
      kFunction | kTool, "Where L-BFGS goes next; takes the last step into the history that `state` holds.");
  def<"_lbfgs_move(Tensor[] params, Tensor direction, float t, Tensor[]? origin=None) -> None",
      [](Args& a) -> PyObject* {
        const std::vector<Tensor> params = a.tensors(0), origin = a.has(3) ? a.tensors(3) : std::vector<Tensor>();
        require(origin.empty() || origin.size() == params.size(), "LBFGS.step: ", params.size(),
                " parameters start from ", origin.size(), " values");
        ops::lbfgs_move(params, a.tensor(1), a.number(2), origin);
        Py_RETURN_NONE;
      }>(kFunction | kTool, "Moves all parameters by `t` along a direction, from `origin` if that is given.");
  def<"_flat_grad(Tensor[] params) -> Tensor", [](Args& a) { return ops::flat_grad(a.tensors(0)); }>(
      kFunction | kTool, "The gradients of all parameters as one vector; 0 where there is none.");
});

}  // namespace genesis::py
