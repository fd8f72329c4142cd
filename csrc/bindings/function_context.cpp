// The context of a Function: what forward stores for backward, as attributes and methods of the graph node.
#include "bindings/function.h"

namespace genesis::py {

namespace {

using Tensors = FunctionNode::Tensors;

void context_dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  auto* self = reinterpret_cast<PyContext*>(o);
  PyTypeObject* type = Py_TYPE(o);
  if (self->base.weakrefs) PyObject_ClearWeakRefs(o);
  if (self->base.node) {
    node_of_context(o).attributes = Object::maybe(std::exchange(self->dict, nullptr));
    self->base.node->destroy();
  }
  type->tp_free(o);
  Py_DECREF(type);
}
int context_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PyContext*>(o)->dict);
  return node_traverse(o, visit, arg);
}
int context_clear(PyObject* o) {
  Py_CLEAR(reinterpret_cast<PyContext*>(o)->dict);
  return node_clear(o);
}

void take_tensors(const char* method, FunctionNode& node, PyObject* args, Tensors& list, bool optional) {
  if (!node.running) node.fail(str(method, " must be called in forward or setup_context"));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    PyObject* o = PyTuple_GET_ITEM(args, i);
    if (optional && o == Py_None) list.push_back(Tensor());
    else if (is_tensor(o)) list.push_back(unwrap(o));
    else
      throw_type_error(str(node.op, ": ", method, " takes tensors", optional ? " or None" : "", ", argument ", i,
                           " is ", Py_TYPE(o)->tp_name, optional ? "; keep other values as attributes of ctx" : ""));
  }
}
template <FixedString Name, auto List, bool Optional>
PyObject* mark(PyObject* o, PyObject* args) {
  return guarded([&]() -> PyObject* {
    FunctionNode& node = node_of_context(o);
    take_tensors(Name.text, node, args, node.*List, Optional);
    Py_RETURN_NONE;
  });
}

PyObject* saved_tensors(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    FunctionNode& node = node_of_context(o);
    if (node.running) return to_python(std::vector<Tensor>(node.to_save.begin(), node.to_save.end()));
    struct Forget {
      FunctionNode& node;
      ~Forget() { node.forget_unpacked(); }
    } const forget{node};
    const WithGradMode on(true);  // a saved output keeps its place in the graph, even without create_graph
    const Saved saved(node);
    std::vector<Tensor> list;
    for (size_t i = 0; i < node.saved().size(); ++i) list.push_back(saved[static_cast<int>(i)]);
    return to_python(list);
  });
}
PyObject* needs_input_grad(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    const FunctionNode& node = node_of_context(o);
    const auto& arguments = node.arguments;
    const Saved saved(node);
    Object tuple(PyTuple_New(static_cast<Py_ssize_t>(arguments.size())));
    for (int i = 0; i < arguments.size(); ++i) {
      bool needed = arguments[i].needs_grad;
      if (needed && node.in_backward) {
        needed = false;
        for (uint32_t k = 0; k < arguments[i].count; ++k)
          needed = needed || saved.needs(static_cast<int>(arguments[i].first + k));
      }
      PyTuple_SET_ITEM(tuple.get(), i, PyBool_FromLong(needed));
    }
    return tuple.release();
  });
}
PyObject* set_materialize_grads(PyObject* o, PyObject* value) {
  const int on = PyObject_IsTrue(value);
  if (on < 0) return nullptr;
  node_of_context(o).materialize = on != 0;
  Py_RETURN_NONE;
}
int set_materialize(PyObject* o, PyObject* value, void*) {
  const int on = value ? PyObject_IsTrue(value) : -1;
  if (on < 0) return -1;
  node_of_context(o).materialize = on != 0;
  return 0;
}

// Attributes of a node that users may also set on a context: the user's value takes precedence.
template <FixedString Name>
PyObject* free_name(PyObject* o, void*) {
  PyObject* dict = reinterpret_cast<PyContext*>(o)->dict;
  if (PyObject* value = dict ? PyDict_GetItemString(dict, Name.text) : nullptr) {
    Py_INCREF(value);
    return value;
  }
  return guarded([&]() -> PyObject* {
    if (Name.text[0] == 'i') return node_inputs(node_of(o));
    if (Name.text[0] == 'm') return node_metadata(node_of(o));
    PyErr_Format(PyExc_AttributeError, "%s: no attribute '%s'", node_of(o)->op, Name.text);
    return nullptr;
  });
}
template <FixedString Name>
int set_free_name(PyObject* o, PyObject* value, void*) {
  PyObject*& dict = reinterpret_cast<PyContext*>(o)->dict;
  if (!dict && !(dict = PyDict_New())) return -1;
  return value ? PyDict_SetItemString(dict, Name.text, value) : PyDict_DelItemString(dict, Name.text);
}
template <FixedString Name>
constexpr PyGetSetDef free_property() {
  return {Name.text, free_name<Name>, set_free_name<Name>, nullptr, nullptr};
}

PyGetSetDef getset[] = {
    {"saved_tensors", saved_tensors, nullptr, "What save_for_backward kept, checked for changes in place.", nullptr},
    {"needs_input_grad", needs_input_grad, nullptr, "For each argument of forward, whether its gradient is needed.",
     nullptr},
    {"materialize_grads", [](PyObject* o, void*) { return PyBool_FromLong(node_of_context(o).materialize); },
     set_materialize, "Whether gradients that did not arrive are zeros rather than None.", nullptr},
    {"_forward_cls", [](PyObject* o, void*) { return Object(node_of_context(o).cls).release(); }, nullptr,
     "The Function whose call this is.", nullptr},
    free_property<"inputs">(),
    free_property<"metadata">(),
    free_property<"variable">(),
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};

PyMethodDef methods[] = {
    {"save_for_backward", mark<"save_for_backward", &FunctionNode::to_save, true>, METH_VARARGS,
     "save_for_backward($self, *tensors)\n--\n\nKeeps tensors for backward; a second call adds to them."},
    {"mark_dirty", mark<"mark_dirty", &FunctionNode::dirty, false>, METH_VARARGS,
     "mark_dirty($self, *tensors)\n--\n\nSays that forward changed these arguments in place; it must return them."},
    {"mark_non_differentiable", mark<"mark_non_differentiable", &FunctionNode::non_differentiable, false>, METH_VARARGS,
     "mark_non_differentiable($self, *tensors)\n--\n\nSays that these outputs have no gradient."},
    {"set_materialize_grads", set_materialize_grads, METH_O,
     "set_materialize_grads($self, value)\n--\n\nWhether backward gets zeros (the default) or None where no gradient "
     "arrived."},
    {}};

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyNode, weakrefs), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(PyContext, dict), READONLY, nullptr},
                         {}};

const Family family([] {
  static PyType_Slot context_slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(context_dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(context_traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(context_clear)},
      {Py_tp_getset, getset},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      {Py_tp_doc, const_cast<char*>("Passes data from forward to backward; the graph node of one call of a Function.")},
      {0, nullptr}};
  static PyType_Spec context_spec{"genesis.autograd.Context", sizeof(PyContext), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, context_slots};
  Object type(PyType_FromSpecWithBases(&context_spec, reinterpret_cast<PyObject*>(NodeType)));
  if (PyModule_AddObjectRef(current_module(), "Context", type.get()) < 0) throw_python();
  ContextType = reinterpret_cast<PyTypeObject*>(type.release());
});

}  // namespace

}  // namespace genesis::py
