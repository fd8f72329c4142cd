// The call of an nn.Module: calls forward directly if there are no hooks. In Python, this would cost a frame, a tuple
// and a dict for every layer.
#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

namespace {

bool observe_all = false;  // calls of all modules are observed
PyObject *name_hooked, *name_forward, *name_call_impl;

PyObject* call_named(PyObject* self, PyObject* name, PyObject* args, PyObject* kwargs) {
  const Object method = Object::maybe(PyObject_GetAttr(self, name));
  return method ? in_python([&] { return PyObject_Call(method.get(), args, kwargs); }) : nullptr;
}

PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  if (!observe_all) {
    const Object hooked = Object::maybe(PyObject_GetAttr(self, name_hooked));
    if (!hooked) PyErr_Clear();  // __init__ did not run: _call_impl raises
    if (hooked.get() == Py_False) {
      constexpr Py_ssize_t kFew = 6;
      const Py_ssize_t n = PyTuple_GET_SIZE(args);
      if (n > kFew || (kwargs && PyDict_GET_SIZE(kwargs) > 0)) return call_named(self, name_forward, args, kwargs);
      PyObject* stack[kFew + 2];  // the first is reserved for the callee
      stack[1] = self;
      for (Py_ssize_t i = 0; i < n; ++i) stack[i + 2] = PyTuple_GET_ITEM(args, i);
      const size_t count = static_cast<size_t>(n + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET;
      return in_python([&] { return PyObject_VectorcallMethod(name_forward, stack + 1, count, nullptr); });
    }
  }
  return call_named(self, name_call_impl, args, kwargs);
}

}  // namespace

static const Family family([] {
  name_hooked = PyUnicode_InternFromString("_hooked");
  name_forward = PyUnicode_InternFromString("forward");
  name_call_impl = PyUnicode_InternFromString("_call_impl");
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(call)},
                                {Py_tp_doc, const_cast<char*>("What nn.Module inherits its call from.")},
                                {0, nullptr}};
  static PyType_Spec spec{"genesis._C._ModuleBase", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                          slots};
  const Object type(PyType_FromSpec(&spec));
  PyModule_AddObjectRef(current_module(), "_ModuleBase", type.get());

  def<"_observe_modules(bool on) -> None", [](Args& a) -> PyObject* {
    observe_all = a.boolean(0);
    Py_RETURN_NONE;
  }>(kFunction | kTool, "Says whether calls of modules without hooks go through _call_impl.");
});

}  // namespace genesis::py
