// x[...] and x[...] = y.
#pragma once

#include "bindings/object.h"

namespace genesis::py {

PyObject* tensor_subscript(PyObject* self, PyObject* key);
int tensor_ass_subscript(PyObject* self, PyObject* key, PyObject* value);
PyObject* tensor_iter(PyObject* self);
int tensor_contains(PyObject* self, PyObject* value);
PyObject* tensor_item_at(PyObject* self, Py_ssize_t i);

}  // namespace genesis::py
