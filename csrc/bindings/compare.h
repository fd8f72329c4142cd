// The comparison operators < <= == != > >=.
#pragma once

#include "bindings/object.h"

namespace genesis::py {

PyObject* tensor_compare(PyObject* a, PyObject* b, int op);

}  // namespace genesis::py
