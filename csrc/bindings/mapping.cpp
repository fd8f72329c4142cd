// The levels of vmap that run in this thread, and the context manager that changes them. It is not written in Python
// because the exception of a signal handler (Ctrl-C) could leave its __enter__ or __exit__ in the middle.
#include <utility>

#include "bindings/args.h"
#include "bindings/block.h"
#include "bindings/dispatch.h"
#include "bindings/module.h"

namespace genesis::py {

namespace {

thread_local constinit PyObject* levels = nullptr;  // a tuple, owned; null if there are none

Object exchange(Object now) {
  PyObject* const before = std::exchange(levels, PyTuple_GET_SIZE(now.get()) ? now.release() : nullptr);
  set_dispatch_bit(kMapping, levels != nullptr);
  return Object(before ? before : PyTuple_New(0));
}

struct PyLevels {
  PyObject_HEAD PyObject* other;  // the levels of the block; inside it, those outside
};
PyLevels* get(PyObject* o) { return reinterpret_cast<PyLevels*>(o); }

PyObject* levels_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* tuple;
  if (!PyArg_ParseTuple(args, "O!:_Levels", &PyTuple_Type, &tuple)) return nullptr;
  PyObject* o = type->tp_alloc(type, 0);
  if (o) get(o)->other = Py_NewRef(tuple);
  return o;
}

void levels_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  Py_DECREF(get(o)->other);
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* leave(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    get(o)->other = exchange(Object(get(o)->other)).release();
    Py_RETURN_NONE;
  });
}
PyObject* enter(PyObject* o, PyObject*) {
  return guarded([&] {
    before_block();
    return leave(o, nullptr);  // the same exchange
  });
}

const Family family([] {
  static PyMethodDef methods[] = {
      {"__enter__", enter, METH_NOARGS, nullptr}, {"__exit__", leave, METH_VARARGS, nullptr}, {}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(levels_new)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(levels_dealloc)},
                                {Py_tp_methods, methods},
                                {0, nullptr}};
  static PyType_Spec spec{"genesis._C._Levels", sizeof(PyLevels), 0, Py_TPFLAGS_DEFAULT, slots};
  const Object type(PyType_FromSpec(&spec));
  PyModule_AddObjectRef(current_module(), "_Levels", type.get());
  def<"_levels() -> tuple", [](Args&) { return levels ? Py_NewRef(levels) : PyTuple_New(0); }>(
      kFunction | kTool, "The levels of vmap that run in this thread, the outermost first.");
});

}  // namespace

}  // namespace genesis::py
