// The Python object of a graph node, and the functions that it shares with the context of a Function.
#pragma once

#include "autograd/node.h"
#include "bindings/object.h"

namespace genesis::py {

struct PyNode {
  PyObject_HEAD Node* node;  // not counted: the Python object owns the node
  PyObject* weakrefs;
};
extern PyTypeObject* NodeType;

inline Node* node_of(PyObject* o) { return reinterpret_cast<PyNode*>(o)->node; }
inline bool is_node(PyObject* o) { return PyObject_TypeCheck(o, NodeType); }

int node_traverse(PyObject* o, visitproc visit, void* arg);
int node_clear(PyObject* o);
PyObject* node_metadata(Node* node);  // a new reference
bool is_function(const Node& node);   // of a user-defined class
// A subclass of base with the name of a node. PyTorch's nodes have such types, and programs that draw graphs read the
// name.
PyTypeObject* type_of_node(PyTypeObject* base, const std::string& name);

}  // namespace genesis::py
