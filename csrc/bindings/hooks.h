// Python callables as hooks of tensors and nodes.
#pragma once

#include "autograd/node.h"
#include "bindings/object.h"

namespace genesis::py {

// Each returns a handle with remove(), which is also a context manager.
PyObject* register_tensor_hook(const Tensor& t, PyObject* callable);
PyObject* register_post_accumulate_hook(const Tensor& t, PyObject* callable);
PyObject* register_node_hook(Node* node, PyObject* owner, PyObject* callable, bool before);
void init_hooks(PyObject* module);

}  // namespace genesis::py
