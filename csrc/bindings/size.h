// genesis.Size, the type of x.shape; and the types of x.size, an int, and x.stride, a tuple, both of which can be
// called.
#pragma once

#include "bindings/object.h"

namespace genesis::py {

PyObject* size_tuple(const Dims& shape);
bool is_size(PyObject* o);  // a genesis.Size
PyObject* size_property(const Tensor& t);
PyObject* stride_property(const Tensor& t);
void init_size(PyObject* module);

}  // namespace genesis::py
