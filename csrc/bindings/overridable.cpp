// Wraps a function written in Python so that __torch_function__ can override it and errors name it. A wrapper in Python
// would cost a frame for every call; this one checks the types of the arguments and calls the function.
#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

namespace {

struct Overridable {
  PyObject_HEAD vectorcallfunc call;
  PyObject* function;
  PyObject* explain;  // explain(function, error, args, kwargs) returns the error to raise; may be null
  PyObject *dict, *weakrefs;
};
Overridable* get(PyObject* o) { return reinterpret_cast<Overridable*>(o); }

bool any_overrides(PyObject* o) {
  if (overrides(o)) return true;
  if (!PyList_CheckExact(o) && !PyTuple_CheckExact(o)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    if (overrides(PySequence_Fast_GET_ITEM(o, i))) return true;
  return false;
}

// The raised error, or the one that `explain` returns instead.
void explain_error(PyObject* self, const Invocation& call) {
  if (!get(self)->explain || !PyErr_ExceptionMatches(PyExc_Exception)) return;
  PyObject *kind, *error, *traceback;
  PyErr_Fetch(&kind, &error, &traceback);
  PyErr_NormalizeException(&kind, &error, &traceback);
  if (traceback) PyException_SetTraceback(error, traceback);
  PyObject* result = guarded([&] {
    const Object args = tuple_of(call), kwargs = dict_of(call);
    return PyObject_CallFunctionObjArgs(get(self)->explain, get(self)->function, error, args.get(), kwargs.get(),
                                        nullptr);
  });
  if (result == error || !result) {
    if (!result) PyErr_Clear();
    Py_XDECREF(result);
    PyErr_Restore(kind, error, traceback);
    return;
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(result)), result);
  Py_DECREF(result);
  Py_XDECREF(kind);
  Py_XDECREF(error);
  Py_XDECREF(traceback);
}

PyObject* call(PyObject* self, PyObject* const* args, size_t flagged, PyObject* kwnames) {
  const Py_ssize_t n = PyVectorcall_NARGS(flagged), all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  bool found = anything_on();
  for (Py_ssize_t i = 0; i < all && !found; ++i) found = any_overrides(args[i]);
  if (found) [[unlikely]] {
    PyObject* result = guarded([&] { return call_override(self, {nullptr, args, n, kwnames}, nullptr); });
    if (result || PyErr_Occurred()) return result;
  }
  PyObject* result = PyObject_Vectorcall(get(self)->function, args, flagged, kwnames);
  if (!result) [[unlikely]]
    explain_error(self, {nullptr, args, n, kwnames});
  return result;
}

int traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(get(o)->function);
  Py_VISIT(get(o)->explain);
  Py_VISIT(get(o)->dict);
  return 0;
}
int clear(PyObject* o) {
  Py_CLEAR(get(o)->function);
  Py_CLEAR(get(o)->explain);
  Py_CLEAR(get(o)->dict);
  return 0;
}
void dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  if (get(o)->weakrefs) PyObject_ClearWeakRefs(o);
  clear(o);
  type->tp_free(o);
  Py_DECREF(type);
}

// Other attributes are those of the function: its code, its defaults, its annotations.
PyObject* getattr(PyObject* o, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(o, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  return PyObject_GetAttr(get(o)->function, name);
}
PyObject* get_named(PyObject* o, void* name) {
  return PyObject_GetAttrString(get(o)->function, static_cast<const char*>(name));
}
int set_named(PyObject* o, PyObject* value, void* name) {
  return PyObject_SetAttrString(get(o)->function, static_cast<const char*>(name), value);
}
PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}
PyObject* repr(PyObject* o) { return PyObject_Repr(get(o)->function); }
PyObject* reduce(PyObject* o, PyObject*) { return PyObject_GetAttrString(get(o)->function, "__qualname__"); }

PyGetSetDef getset[] = {{"__name__", get_named, set_named, nullptr, const_cast<char*>("__name__")},
                        {"__qualname__", get_named, set_named, nullptr, const_cast<char*>("__qualname__")},
                        {"__module__", get_named, set_named, nullptr, const_cast<char*>("__module__")},
                        {"__doc__", get_named, set_named, nullptr, const_cast<char*>("__doc__")},
                        {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                        {}};
PyMemberDef members[] = {{"__wrapped__", T_OBJECT, offsetof(Overridable, function), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(Overridable, weakrefs), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(Overridable, dict), READONLY, nullptr},
                         {"__vectorcalloffset__", T_PYSSIZET, offsetof(Overridable, call), READONLY, nullptr},
                         {}};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};

template <class F>
void* slot(F* f) {
  return reinterpret_cast<void*>(f);
}

PyTypeObject* type = nullptr;

}  // namespace

static const Family family([] {
  static PyType_Slot slots[] = {{Py_tp_call, slot(PyVectorcall_Call)},
                                {Py_tp_traverse, slot(traverse)},
                                {Py_tp_clear, slot(clear)},
                                {Py_tp_dealloc, slot(dealloc)},
                                {Py_tp_getattro, slot(getattr)},
                                {Py_tp_descr_get, slot(bind)},
                                {Py_tp_repr, slot(repr)},
                                {Py_tp_getset, getset},
                                {Py_tp_members, members},
                                {Py_tp_methods, methods},
                                {0, nullptr}};
  static PyType_Spec spec{"genesis._C._Overridable", sizeof(Overridable), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  type = reinterpret_cast<PyTypeObject*>(Object(PyType_FromSpec(&spec)).release());
  PyModule_AddObjectRef(current_module(), "_Overridable", reinterpret_cast<PyObject*>(type));
  def<"_overridable(Any function, Any explain=None) -> Any",
      [](Args& a) {
        Object self(type->tp_alloc(type, 0));
        get(self.get())->call = call;
        get(self.get())->function = Py_NewRef(a[0]);
        get(self.get())->explain = a.has(1) ? Py_NewRef(a[1]) : nullptr;
        return self;
      }>(kFunction | kTool,
         "A function written in Python as one that __torch_function__ can override, with errors by `explain`.");
});

}  // namespace genesis::py
