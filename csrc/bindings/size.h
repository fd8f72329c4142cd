// genesis.Size, the tuple that x.shape is, and the int that x.size is and that can be called.
#pragma once

#include "bindings/object.h"

namespace genesis::py {

PyObject* size_tuple(const Dims& shape);
PyObject* size_property(const Tensor& t);
void init_size(PyObject* module);

}  // namespace genesis::py
