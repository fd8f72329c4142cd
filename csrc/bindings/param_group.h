// The arguments of an optimizer step: a group of parameters with its options, and the states of all parameters, as the
// Python optimizer stores them. Reading them in every step costs less than detecting changes.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "autograd/meta.h"
#include "bindings/args.h"
#include "bindings/observed.h"
#include "ops/complex.h"
#include "ops/create.h"
#include "ops/optimizer.h"

namespace genesis::py {

// An interned string, created once and never freed.
template <FixedString Text>
PyObject* key() {
  static PyObject* const text = PyUnicode_InternFromString(Text.text);
  return text;
}

// The shape of a state: that of its parameter (for `vector`, only if it is not a matrix), or of its rows or columns,
// with 1 for the other dimension; rows and columns only for a matrix or a stack of matrices.
enum class Part { whole, vector, rows, columns };

struct Slot {
  PyObject* key;
  double start = 0;  // initial value of a new state
  bool wanted = true;
  Part part = Part::whole;
  bool wanted_by(const Tensor& p) const {
    return wanted && (part == Part::whole || (part == Part::vector) == (p.dim() < 2));
  }
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
    const auto [first, second] = numbers<2>(key);
    return {first, second};
  }
  // `none` replaces None.
  template <size_t N>
  std::array<double, N> numbers(PyObject* key, std::optional<double> none = {}) const {
    const Object items(PySequence_Fast(option(key), "expected a sequence of numbers"));
    require(PySequence_Fast_GET_SIZE(items.get()) == Py_ssize_t{N}, name_, ": '", PyUnicode_AsUTF8(key), "' must be ",
            N, " numbers, got ", PySequence_Fast_GET_SIZE(items.get()));
    std::array<double, N> values;
    for (size_t i = 0; i < N; ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i));
      values[i] = none && item == Py_None ? *none : scalar(item, key);
    }
    return values;
  }
  bool is(PyObject* key, const char* text) const {
    PyObject* value = option(key);
    return PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, text) == 0;
  }

  // Every parameter that has a gradient, with its state, which is created if it is missing. The creation can be
  // interrupted; what follows, up to the end of this object, cannot.
  ops::TrainedList collect(std::initializer_list<Slot> numbers, std::initializer_list<Slot> arrays) const {
    try {
      ops::TrainedList list = find(numbers, arrays);
      completes_.begin();
      return list;
    } catch (...) {
      forget_made();
      throw;
    }
  }

 private:
  ops::TrainedList find(std::initializer_list<Slot> numbers, std::initializer_list<Slot> arrays) const {
    const Object params(PySequence_Fast(option(key<"params">()), "expected a list of parameters"));
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(params.get());
    ops::TrainedList list;
    list.reserve(static_cast<size_t>(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* p = PySequence_Fast_GET_ITEM(params.get(), i);
      if (!is_tensor(p)) throw_type_error(str(name_, ": parameters must be tensors, got ", Py_TYPE(p)->tp_name));
      const TensorMeta* m = meta_if_any(unwrap(p));
      if (!m || !m->grad.defined()) continue;
      if (unwrap(p).meta() != on_meta) fail_devices(name_);
      ops::Trained& t = list.emplace_back();
      t.value = unwrap(p);
      t.grad = m->grad;
      if (numbers.size() + arrays.size() == 0) {
        as_real(t, 0);
        continue;
      }
      PyObject* const known = PyDict_GetItemWithError(state_, p);
      if (!known && PyErr_Occurred()) throw_python();
      // The dict of states makes what it lacks.
      const Object values = known ? Object::borrow(known) : Object(PyObject_GetItem(state_, p));
      if (!PyDict_Check(values.get()))
        throw_type_error(str(name_, ": the state of a parameter must be a dict, got ", Py_TYPE(values.get())->tp_name));
      int k = 0;
      for (const Slot& slot : numbers) t.numbers[k++] = find_number(values.get(), slot);
      k = 0;
      for (const Slot& slot : arrays)
        if (slot.wanted_by(t.value)) t.state[k++] = find_array(values.get(), slot, t);
      as_real(t, k);
    }
    return list;
  }
  // Removes the states created so far: otherwise a later step would not be recognized as the first.
  void forget_made() const noexcept {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    for (const auto& [values, key] : made_)
      if (PyDict_DelItem(values.get(), key) < 0) PyErr_Clear();
    PyErr_Restore(type, value, trace);
  }
  // A complex parameter is updated as the real numbers of its parts.
  static void as_real(ops::Trained& t, int states) {
    if (!is_complex(t.value.dtype())) [[likely]]
      return;
    const WithGradMode off(false);
    t.value = ops::view_as_real(t.value);
    t.grad = ops::view_as_real(t.grad);
    for (int k = 0; k < states; ++k)
      if (is_complex(t.state[k].dtype())) t.state[k] = ops::view_as_real(t.state[k]);
  }
  PyObject* option(PyObject* key) const {
    PyObject* value = PyDict_GetItemWithError(group_, key);
    if (!value) {
      if (!PyErr_Occurred())
        PyErr_SetString(PyExc_KeyError,
                        str(name_, ": the parameter group lacks '", PyUnicode_AsUTF8(key), "'").c_str());
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
  Tensor store(PyObject* values, PyObject* key, Tensor t) const {
    const Object made(wrap(t));
    made_.emplace_back(Object::borrow(values), key);
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
      throw_type_error(
          str(name_, ": state '", PyUnicode_AsUTF8(slot.key), "' must be a Tensor, got ", Py_TYPE(value)->tp_name));
    t.first = true;
    return store(values, slot.key, first_state(t.value, slot));
  }
  static Tensor first_state(const Tensor& p, const Slot& slot) {
    const Scalar start = is_complex(p.dtype()) ? Scalar(std::complex<double>(slot.start, slot.start)) : slot.start;
    if (slot.part == Part::whole || slot.part == Part::vector) return ops::full_like(p, start, p.dtype());
    Dims shape = p.shape();
    shape[shape.size() - (slot.part == Part::rows ? 1 : 2)] = 1;
    return ops::full(shape, slot.start, p.dtype());
  }

  const char* name_;
  PyObject *group_, *state_;
  mutable std::vector<std::pair<Object, PyObject*>> made_;  // states, each by its dict and key
  mutable Completes completes_{false};                      // a step must complete
};

// A bound function that takes a step, reported to an observer if there is one.
template <auto F>
PyObject* step(Args& a) {
  if (!dispatch_bit(kObserve)) [[likely]] {
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

}  // namespace genesis::py
