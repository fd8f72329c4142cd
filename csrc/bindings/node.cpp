// The Python type of graph nodes (x.grad_fn).
#include "bindings/node.h"

#include <map>

#include "autograd/meta.h"
#include "bindings/args.h"
#include "bindings/hooks.h"
#include "bindings/module.h"
#include "core/exact.h"

namespace genesis::py {

PyTypeObject* NodeType;

int node_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  return node_of(o) ? traverse_node(node_of(o), visit, arg) : 0;
}
int node_clear(PyObject* o) {
  if (Node* node = node_of(o)) {
    node->release_saved();
    if (NodeExtras* extras = node->extras_if_any()) {
      const auto output = std::move(extras->output_hooks);
      const auto pre = std::move(extras->pre_hooks), post = std::move(extras->post_hooks);
    }
    for (Edge& edge : node->edges()) const Ref<Node> dropped = std::move(edge.node);
  }
  return 0;
}
PyObject* node_metadata(Node* node) {
  NodeExtras& extras = node->extras();
  if (!extras.metadata) {
    extras.metadata = Object(PyDict_New()).release();
    extras.free_metadata = [](void* dict) { Py_DECREF(static_cast<PyObject*>(dict)); };
  }
  auto* dict = static_cast<PyObject*>(extras.metadata);
  Py_INCREF(dict);
  return dict;
}

namespace {

Node* get(PyObject* o) { return node_of(o); }

PyObject* refuse(PyTypeObject* type, PyObject*, PyObject*) {
  PyErr_Format(PyExc_TypeError, "%s: nodes are made by recorded operations", type->tp_name);
  return nullptr;
}
void dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  auto* self = reinterpret_cast<PyNode*>(o);
  PyTypeObject* type = Py_TYPE(o);
  if (self->weakrefs) PyObject_ClearWeakRefs(o);
  if (self->node) self->node->destroy();
  type->tp_free(o);
  Py_DECREF(type);
}
// PyTorch appends a number to the nodes of its own operators: AddBackward0.
std::string shown_name(const Node& node) {
  const std::string name = node.name();
  return exact_torch && name.ends_with("Backward") && !is_function(node) ? name + "0" : name;
}
PyObject* repr(PyObject* o) {
  const std::string name = shown_name(*get(o));
  if (!exact_torch) return PyUnicode_FromFormat("<%s>", name.c_str());
  const char* const place = is_function(*get(o)) ? "torch.autograd.function." : "";
  return PyUnicode_FromFormat("<%s%s object at %p>", place, name.c_str(), o);
}
PyObject* name_of(PyObject* o, PyObject*) { return PyUnicode_FromString(shown_name(*get(o)).c_str()); }

PyObject* next_functions(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    const auto edges = get(o)->edges();
    Object tuple(PyTuple_New(static_cast<Py_ssize_t>(edges.size())));
    for (size_t i = 0; i < edges.size(); ++i) {
      const Object node(node_object(edges[i].node.get()));
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_BuildValue("(OI)", node.get(), edges[i].index));
    }
    return tuple.release();
  });
}
PyObject* variable(PyObject* o, void*) {
  if (!get(o)->is_leaf()) {
    PyErr_SetString(PyExc_AttributeError, "variable: only AccumulateGrad nodes have a variable");
    return nullptr;
  }
  return guarded([&] { return wrap(static_cast<AccumulateGrad*>(get(o))->leaf); });
}
PyObject* sequence_number(PyObject* o, PyObject*) { return PyLong_FromUnsignedLongLong(get(o)->sequence); }
PyObject* register_hook(PyObject* o, PyObject* callable) {
  return guarded([&] { return register_node_hook(get(o), o, callable, false); });
}
PyObject* register_prehook(PyObject* o, PyObject* callable) {
  return guarded([&] { return register_node_hook(get(o), o, callable, true); });
}

}  // namespace

PyTypeObject* type_of_node(PyTypeObject* base, const std::string& name) {
  static std::map<std::string, PyTypeObject*> made;
  PyTypeObject*& type = made[name];
  if (type) return type;
  auto* full = new std::string("torch.autograd.function." + name);  // the type keeps a pointer to it
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(base->tp_dealloc)},
                         {Py_tp_traverse, reinterpret_cast<void*>(base->tp_traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(base->tp_clear)},
                         {0, nullptr}};
  PyType_Spec spec{full->c_str(), static_cast<int>(base->tp_basicsize), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                   slots};
  type = reinterpret_cast<PyTypeObject*>(
      Object(PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(base))).release());
  return type;
}

PyObject* node_object(Node* node) {
  if (!node) Py_RETURN_NONE;
  if (void* object = node->foreign()) {
    Py_INCREF(static_cast<PyObject*>(object));
    return static_cast<PyObject*>(object);
  }
  node->retain();  // the reference that is returned
  PyTypeObject* const type = exact_torch ? type_of_node(NodeType, shown_name(*node)) : NodeType;
  auto* self = reinterpret_cast<PyNode*>(type->tp_alloc(type, 0));
  if (!self) throw_python();
  self->node = node;
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(self), node->hand_over(self));
  return reinterpret_cast<PyObject*>(self);
}
// A node knows the destinations of gradients, not its input tensors. Those that are leaves, or that the rule saved, can
// be shown; the others are None, so that the list corresponds to next_functions.
PyObject* node_inputs(Node* node) {
  Object list(PyList_New(0));
  if (!node) return list.release();
  for (const Edge& edge : node->edges()) {
    Tensor found;
    if (edge.node && edge.node->is_leaf()) found = static_cast<AccumulateGrad*>(edge.node.get())->leaf;
    for (const SavedTensor& s : node->saved())
      if (!found.defined() && s.tensor.defined() && !s.own_output && edge.node &&
          genesis::node_of(s.tensor) == edge.node.get() && s.tensor->output_index == edge.index)
        found = s.tensor;
    const Object item(to_python(found));
    if (PyList_Append(list.get(), item.get()) < 0) throw_python();
  }
  return list.release();
}

void init_node_type(PyObject* module) {
  static PyGetSetDef getset[] = {
      {"next_functions", next_functions, nullptr, "The nodes that made the inputs, each with an output number.",
       nullptr},
      {"inputs", [](PyObject* o, void*) { return guarded([&] { return node_inputs(get(o)); }); }, nullptr,
       "The input tensors where the graph keeps them, else None.", nullptr},
      {"metadata", [](PyObject* o, void*) { return guarded([&] { return node_metadata(get(o)); }); }, nullptr,
       "A dict for the user's notes.", nullptr},
      {"variable", variable, nullptr, "The leaf of an AccumulateGrad node.", nullptr},
      {}};
  static PyMethodDef methods[] = {
      {"name", name_of, METH_NOARGS, "name($self)\n--\n\nThe name, e.g. 'AddBackward'."},
      {"_sequence_nr", sequence_number, METH_NOARGS, "_sequence_nr($self)\n--\n\nThe place in the order of recording."},
      {"register_hook", register_hook, METH_O,
       "register_hook($self, hook)\n--\n\nCalls hook(grad_inputs, grad_outputs) after this node's backward."},
      {"register_prehook", register_prehook, METH_O,
       "register_prehook($self, hook)\n--\n\nCalls hook(grad_outputs) before this node's backward."},
      {}};
  static PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyNode, weakrefs), READONLY, nullptr},
                                  {}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(refuse)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                                {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(node_clear)},
                                {Py_tp_repr, reinterpret_cast<void*>(repr)},
                                {Py_tp_getset, getset},
                                {Py_tp_methods, methods},
                                {Py_tp_members, members},
                                {Py_tp_doc, const_cast<char*>("A recorded operation.")},
                                {0, nullptr}};
  static PyType_Spec spec{"genesis.autograd.Node", sizeof(PyNode), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, slots};
  NodeType = reinterpret_cast<PyTypeObject*>(Object(PyType_FromSpec(&spec)).release());
  PyModule_AddObjectRef(module, "Node", reinterpret_cast<PyObject*>(NodeType));
}

}  // namespace genesis::py
