// Binding operators: a typed signature (signature.h), and a function of the parsed arguments.
//
//   def<"softplus(Tensor input, float beta=1.0, float threshold=20.0) -> Tensor",
//       [](Args& a) { return ops::softplus(a.tensor(0), a.number(1), a.number(2)); }>(kBoth);
//
// defines the function genesis.softplus(x, beta) and the method x.softplus(beta). An argument that is missing, or None,
// has the default of the signature. `axis` is accepted for `dim`, `keepdims` for `keepdim`. With `Tensor? out=None` as
// the last parameter, results are written to the given tensors: the function may write to them itself (Args::out);
// otherwise its result is copied (out.cpp).
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bindings/dispatch.h"
#include "bindings/object.h"
#include "bindings/signature.h"
#include "bindings/traits.h"
#include "core/parallel.h"
#include "core/scalar.h"
#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::py {

inline constexpr int kMaxArgs = 12;

// device.cpp
bool is_meta_device(PyObject* o);  // the meta device, or its name

struct Operator;

class Args {
 public:
  Args(const Operator& op, PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
  // The arguments of a Python operator: one or two, all of them required.
  inline Args(const Operator& op, PyObject* x, PyObject* y, bool overridden);

  const char* name() const { return sig_.name.c_str(); }
  PyObject* operator[](int i) const { return slot_[i]; }
  // Given, and not None.
  bool has(int i) const { return slot_[i] && slot_[i] != Py_None; }
  // Given by an alternative keyword: axis for dim.
  bool aliased(int i) const { return aliased_ >> i & 1; }

  // Whether the class of an argument overrides functions.
  bool overridden() const { return overridden_; }
  // Whether the call needs dispatch().
  bool intercepted() const { return overridden_ || meta_given_ || anything_on(); }
  // Whether the operator runs on the meta device: determined by its argument `device`, otherwise by its tensors,
  // otherwise by the default. Raises if tensors are on different devices.
  bool on_meta_device() const;
  // Casts tensors for autocast.
  void autocast();

  // Each raises a TypeError that names the function and the argument if the value has another type.
  const Tensor& tensor(int i) {  // a tensor, or an ndarray, which is converted
    PyObject* o = slot_[i];
    const Tensor& t = o && Py_TYPE(o) == TensorType ? unwrap(o) : other_tensor(i);
    if (!is_common(t.dtype())) [[unlikely]]
      check_dtype(i, t.dtype());
    return t;
  }
  Tensor optional_tensor(int i);  // undefined if absent
  Operand operand(int i) {        // a tensor, an ndarray or a number
    PyObject* o = slot_[i];
    if (o && Py_TYPE(o) == TensorType && is_common(unwrap(o).dtype())) return Operand(unwrap(o));
    if (o && PyFloat_CheckExact(o)) return Operand(PyFloat_AS_DOUBLE(o));
    return other_operand(i);
  }
  std::vector<Tensor> tensors(int i);  // a sequence of tensors
  // The second parameter replaces None if the default depends on other arguments.
  Scalar scalar(int i) const {
    if (!slot_[i] && sig_.param(i).numeric) return sig_.param(i).value;
    return given_scalar(i);
  }
  double number(int i) const {
    const Scalar s = scalar(i);
    if (s.is_complex()) [[unlikely]]
      fail(i, "a real number");
    return s.to_double();
  }
  double number(int i, double absent) const { return has(i) ? number(i) : absent; }
  int64_t integer(int i) const;
  int64_t integer(int i, int64_t absent) const { return has(i) ? integer(i) : absent; }
  std::optional<int64_t> optional_integer(int i) const;
  bool boolean(int i) const {
    if (!slot_[i] && sig_.param(i).numeric) return sig_.param(i).value.i != 0;
    return given_boolean(i);
  }
  bool boolean(int i, bool absent) const { return has(i) ? boolean(i) : absent; }
  std::string_view text(int i) const;  // valid as long as the argument
  std::string string(int i) const { return std::string(text(i)); }
  Dims dims(int i) const;  // an int, a sequence of ints, or the collected positionals
  Dims optional_dims(int i) const { return has(i) ? dims(i) : Dims(); }
  std::span<PyObject* const> rest() const {  // the collected positional arguments
    return {rest_, static_cast<size_t>(num_rest_)};
  }
  DType dtype(int i) const;
  std::optional<DType> optional_dtype(int i) const;
  void device(int i) const;  // raises unless it is supported
  // The tensor that the function writes to; none if it is empty and takes over the memory of the result.
  ops::Out out(int i) { return slot_[i] ? given_out(i) : ops::Out{}; }
  // Checks `out`. Called before the operator runs.
  void begin() {
    if (sig_.out >= 0 && has(sig_.out)) [[unlikely]]
      begin_out();
  }
  // Stores the result in `out` and returns `out`; returns the result if no `out` was given.
  PyObject* delivered(PyObject* result) { return out_given_ ? deliver(result) : result; }

  [[noreturn]] void fail(int i, const char* expected) const;

 private:
  // Stages of the constructor.
  void take_rest(PyObject* self, PyObject* const* args, Py_ssize_t nargs, Py_ssize_t i);
  void take_keywords(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
  void check_all();
  const Tensor& other_tensor(int i);
  // Raises unless the operator accepts this uncommon dtype.
  void check_dtype(int i, DType dtype) const;
  Scalar given_scalar(int i) const;
  bool given_boolean(int i) const;
  ops::Out given_out(int i);
  Operand other_operand(int i);
  void begin_out();
  PyObject* deliver(PyObject* result);
  const Tensor& converted(PyObject* array);
  void look_for_overrides(const Param& param, PyObject* o) {
    if (type_overrides(Py_TYPE(o)) && param.overridable) overridden_ = true;
    if (param.device && is_meta_device(o)) [[unlikely]]
      meta_given_ = true;
  }

  const Operator& op_;
  const Signature& sig_;
  PyObject* slot_[kMaxArgs] = {};
  unsigned aliased_ = 0;
  bool overridden_ = false, meta_given_ = false, out_given_ = false;
  Completes completes_{false};       // once `out` is given: it may be written at any time
  PyObject* const* rest_ = nullptr;  // collected by the variadic parameter
  Py_ssize_t num_rest_ = 0;
  std::vector<Tensor> converted_;  // ndarrays converted to tensors
};

// The types that a bound function may return.
inline PyObject* to_python(Tensor t) {
  if (!t.defined()) Py_RETURN_NONE;
  return wrap(std::move(t));
}
inline PyObject* to_python(PyObject* o) { return o; }
inline PyObject* to_python(Object o) { return o.release(); }
inline PyObject* to_python(bool b) { return PyBool_FromLong(b); }
inline PyObject* to_python(int64_t i) { return PyLong_FromLongLong(i); }
inline PyObject* to_python(double f) { return PyFloat_FromDouble(f); }
PyObject* to_python(const Dims& shape);                // a tuple
PyObject* to_python(const std::vector<Tensor>& list);  // a tuple

// A named tuple of tensors, as x.max(dim=0) returns: return_type("max", {"values", "indices"}), created once.
PyTypeObject* return_type(const char* name, std::initializer_list<const char*> fields);
PyObject* named(PyTypeObject* type, std::initializer_list<Tensor> values);

template <size_t N>
struct FixedString {
  char text[N];
  constexpr FixedString(const char (&s)[N]) { std::copy_n(s, N, text); }
};

// Joins two names at compile time.
template <FixedString A, FixedString B>
constexpr auto join() {
  char text[sizeof(A.text) + sizeof(B.text) - 1];
  std::copy_n(A.text, sizeof(A.text) - 1, text);
  std::copy_n(B.text, sizeof(B.text), text + sizeof(A.text) - 1);
  return FixedString<sizeof(text)>(text);
}

// kTool marks functions that are not operators (threads, hooks, conversion to Python): they need no row in the table of
// tests.
enum Where { kFunction = 1, kMethod = 2, kBoth = 3, kTool = 8 };

// A call from Python, of a method or of a function; CPython passes no self to functions.
using Call = PyObject*(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames);

// A bound function and its properties: an entry of op_info().
struct Operator {
  Signature sig;
  Call* entry;
  PyObject* (*body)(Args&);  // called with the parsed arguments; throws
  int where;
  const char* doc;  // may be null
  Traits traits;
  bool overridable;                                 // by __torch_function__
  std::string text = {};                            // the text from which CPython reads the signature and the docstring
  PyMethodDef definition = {};                      // points into the others
  PyObject *function = nullptr, *method = nullptr;  // the callables
  bool tool() const { return where & kTool; }
};
Args::Args(const Operator& op, PyObject* x, PyObject* y, bool overridden) : op_(op), sig_(op.sig) {
  slot_[0] = x;
  slot_[1] = y;
  overridden_ = overridden;
}

// Adds a callable to the module and/or to the type; raises if the name exists. The operator is never destroyed.
Operator* publish(std::string_view typed, Call* entry, PyObject* (*body)(Args&), int where, const char* doc,
                  Traits traits);
// All operators in the order of their definition.
const std::vector<Operator*>& operators();
// The operator that has a method of this name.
const Operator& operator_named(const char* name);

// Applies overrides, autocast and observers, then calls the operator. `function` is the callable that the user called
// if it is neither the function nor the method; it may be null.
PyObject* dispatch(const Operator& op, Args& a, const Invocation& call, PyObject* function = nullptr);

template <FixedString Text, auto F>
struct Binding {
  static inline constinit const Operator* op = nullptr;
  [[gnu::always_inline]] static PyObject* run(Args& a) {
    a.begin();
    return a.delivered(to_python(F(a)));
  }
  static PyObject* body(Args& a) { return run(a); }
  static PyObject* entry(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    return guarded_as(op->sig.name.c_str(), [&]() -> PyObject* {
      Args a(*op, self, args, n, kwnames);
      if (a.intercepted()) [[unlikely]]
        return dispatch(*op, a, {self, args, n, kwnames});
      return run(a);
    });
  }
};

template <FixedString Text, auto F>
void def(int where = kBoth, const char* doc = nullptr, Traits traits = {}) {
  using B = Binding<Text, F>;
  B::op = publish(Text.text, &B::entry, &B::body, where, doc, traits);
}

// Shared conversions.
bool is_huge(PyObject* o);      // an int beyond int64, which is a float next to a floating tensor
bool is_number(PyObject* o);    // int, float, bool, complex, or a NumPy scalar
Scalar to_scalar(PyObject* o);  // is_number(o)
bool is_ndarray(PyObject* o);
DType to_dtype(PyObject* o);      // a dtype, its name, a NumPy dtype, or float/int/bool/complex
PyObject* dtype_object(DType t);  // borrowed
int64_t to_index(PyObject* o, const char* what);

}  // namespace genesis::py
