// The two sides of a Python operator, of which one is a Tensor.
#pragma once

#include <optional>

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

struct Sides {
  Tensor converted;
  std::optional<Operand> x, y;

  // False if `o` is neither tensor nor number: the operator is NotImplemented.
  bool take(PyObject* o, std::optional<Operand>& side) {
    if (is_tensor(o)) side.emplace(unwrap(o));
    else if (PyFloat_Check(o)) side.emplace(PyFloat_AS_DOUBLE(o));
    else if (is_number(o)) side.emplace(to_scalar(o));
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
