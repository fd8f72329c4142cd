// x[...] and x[...] = y, and the comparison operators.
#pragma once

#include "bindings/object.h"

namespace genesis::py {

PyObject* tensor_subscript(PyObject* self, PyObject* key);
int tensor_ass_subscript(PyObject* self, PyObject* key, PyObject* value);
PyObject* tensor_item_at(PyObject* self, Py_ssize_t i);
PyObject* tensor_compare(PyObject* a, PyObject* b, int op);

}  // namespace genesis::py
