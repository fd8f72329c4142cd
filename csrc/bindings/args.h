// Binding operators: a signature as a string, and a function of the parsed arguments.
//
//   def<"softplus(input, beta=1.0)", [](Args& a) { return ops::softplus(a.tensor(0), a.number(1, 1.0)); }>(kBoth);
//
// makes the function genesis.softplus(x, beta) and the method x.softplus(beta). Parameters after a lone * are given by
// keyword only; a parameter written *name collects positional integers, so that x.reshape(2, 3) and x.reshape((2, 3))
// are the same. `axis` is accepted for `dim`, `keepdims` for `keepdim`. Defaults in the text are for the reader and
// for the stubs; the function itself says what it does when an argument is missing. `out=None` as the last parameter
// makes results go to the tensors given there: the function may write to them itself (Args::out), and if it does not,
// what it returns is copied (out.cpp).
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograd/observe.h"
#include "bindings/object.h"
#include "core/scalar.h"
#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::py {

struct Signature {
  struct Param {
    std::string name;
    PyObject* key = nullptr;  // interned
    bool required = false;
  };
  std::string text;  // "softplus(input, beta=1.0)"
  std::string name;  // "softplus"
  std::vector<Param> params;
  int positional = 0;  // how many may be given by position
  int variadic = -1;   // the one that collects integers
  int out = -1;        // the parameter `out`
  int dtype = -1;      // where the dtype of `out` is meant when none is given: the dtype of a function that creates
  bool tool = false;   // kTool: nothing that an observer looks at
  explicit Signature(const char* text);
};

inline constexpr int kMaxArgs = 12;

class Args {
 public:
  Args(const Signature& sig, PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

  const char* name() const { return sig_.name.c_str(); }
  PyObject* operator[](int i) const { return slot_[i]; }
  // Given, and not None.
  bool has(int i) const { return slot_[i] && slot_[i] != Py_None; }
  // Given by another keyword than its own: axis for dim.
  bool aliased(int i) const { return aliased_ >> i & 1; }

  // Each raises a TypeError that names the function and the argument if the value is of another kind.
  const Tensor& tensor(int i);         // a tensor, or an ndarray, which is converted
  Tensor optional_tensor(int i);       // undefined if absent
  Operand operand(int i);              // a tensor, an ndarray or a number
  std::vector<Tensor> tensors(int i);  // a sequence of tensors
  Scalar scalar(int i) const;
  Scalar scalar(int i, Scalar absent) const { return has(i) ? scalar(i) : absent; }
  double number(int i) const { return scalar(i).to_double(); }
  double number(int i, double absent) const { return has(i) ? number(i) : absent; }
  int64_t integer(int i) const;
  int64_t integer(int i, int64_t absent) const { return has(i) ? integer(i) : absent; }
  std::optional<int64_t> optional_integer(int i) const;
  bool boolean(int i, bool absent) const;
  std::string string(int i) const;
  Dims dims(int i) const;  // an int, a sequence of ints, or the collected positionals
  Dims optional_dims(int i) const { return has(i) ? dims(i) : Dims(); }
  std::span<PyObject* const> rest() const {  // the collected positionals as they came
    return {rest_, static_cast<size_t>(num_rest_)};
  }
  DType dtype(int i) const;
  std::optional<DType> optional_dtype(int i) const;
  void device(int i) const;  // checks that it is one we have
  // The tensor that the function is to write to; none if it is empty, and so will get its memory from the result.
  ops::Out out(int i);
  // The result brought to `out`, and `out` in its place; the result itself where no `out` was given.
  PyObject* delivered(PyObject* result) { return out_given_ ? deliver(result) : result; }

  [[noreturn]] void fail(int i, const char* expected) const;

 private:
  void begin_out();
  PyObject* deliver(PyObject* result);

  const Signature& sig_;
  PyObject* slot_[kMaxArgs] = {};
  unsigned aliased_ = 0;
  bool out_given_ = false;
  PyObject* const* rest_ = nullptr;  // collected by the variadic parameter
  Py_ssize_t num_rest_ = 0;
  std::vector<Tensor> converted_;  // ndarrays that became tensors
};

// What a bound function may return.
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

// A named tuple of tensors, as x.max(dim=0) returns: return_type("max", {"values", "indices"}), made once.
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

// kTool marks what is not an operator (threads, hooks, conversion to Python): it needs no row in the table of tests.
enum Where { kFunction = 1, kMethod = 2, kBoth = 3, kStatic = 4, kTool = 8 };
// Adds a callable to the module and/or to the type.
void publish(Signature& sig, PyMethodDef* entry, int where);

// A call from Python, of a method or of a function, which CPython gives no self.
using Call = PyObject*(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames);
// The call under the eyes of the observer (observe.cpp).
PyObject* observed(const Signature& sig, Call* call, PyObject* self, PyObject* const* args, Py_ssize_t n,
                   PyObject* kwnames);

template <FixedString Text, auto F>
struct Binding {
  static Signature& signature() {
    static Signature s(Text.text);
    return s;
  }
  [[gnu::always_inline]] static PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    return guarded([&]() -> PyObject* {
      Args a(signature(), self, args, n, kwnames);
      return a.delivered(to_python(F(a)));
    });
  }
  static PyObject* entry(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
    if (observer) [[unlikely]]
      return observed(signature(), call, self, args, n, kwnames);
    return call(self, args, n, kwnames);
  }
};

template <FixedString Text, auto F>
void def(int where = kBoth, const char* doc = nullptr) {
  using B = Binding<Text, F>;
  Signature& sig = B::signature();
  static const std::string text = doc ? sig.text + "\n--\n\n" + doc : sig.text + "\n--\n\n";
  static const auto cast = [](auto* f) { return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)); };
  static PyMethodDef entry{sig.name.c_str(), cast(&B::entry), METH_FASTCALL | METH_KEYWORDS, text.c_str()};
  publish(sig, &entry, where);
}

// Shared conversions.
bool is_number(PyObject* o);    // int, float, bool, or a NumPy scalar
Scalar to_scalar(PyObject* o);  // is_number(o)
bool is_ndarray(PyObject* o);
DType to_dtype(PyObject* o);      // a dtype, its name, a NumPy dtype, or float/int/bool
PyObject* dtype_object(DType t);  // borrowed
int64_t to_index(PyObject* o, const char* what);

}  // namespace genesis::py
