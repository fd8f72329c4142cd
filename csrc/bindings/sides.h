// The two sides of a Python operator, of which one is a Tensor.
#pragma once

#include <optional>

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

// An int beyond int64. Beside a floating tensor it is a float.
inline bool is_huge(PyObject* o) {
  int overflow = 0;
  if (PyLong_Check(o)) PyLong_AsLongLongAndOverflow(o, &overflow);
  return overflow != 0;
}
inline bool is_floating_tensor(PyObject* o) { return is_tensor(o) && is_floating(unwrap(o).dtype()); }
inline double to_float(PyObject* o) {
  const double value = PyLong_AsDouble(o);
  if (value == -1 && PyErr_Occurred()) throw_python();
  return value;
}

struct Sides {
  Tensor converted;
  std::optional<Operand> x, y;

  // Both sides; false if one is neither tensor nor number: the operator is NotImplemented.
  bool take(PyObject* a, PyObject* b) { return take(a, x, b) && take(b, y, a); }
  bool take(PyObject* o, std::optional<Operand>& side, PyObject* other) {
    if (is_tensor(o)) side.emplace(unwrap(o));
    else if (PyFloat_Check(o)) side.emplace(PyFloat_AS_DOUBLE(o));
    else if (is_number(o)) side.emplace(is_huge(o) && is_floating_tensor(other) ? Scalar(to_float(o)) : to_scalar(o));
    else if (is_ndarray(o)) {
      converted = from_ndarray(o);
      side.emplace(converted);
    } else {
      return false;
    }
    return true;
  }
};

}  // namespace genesis::py
