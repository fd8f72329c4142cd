#include "bindings/memory_format.h"

#include "core/exact.h"

namespace genesis::py {

namespace {

struct PyMemoryFormat {
  PyObject_HEAD ops::MemoryFormat format;
};

constexpr const char* kNames[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
PyTypeObject* Type;

const char* name(PyObject* self) { return kNames[static_cast<int>(reinterpret_cast<PyMemoryFormat*>(self)->format)]; }
PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("%s.%s", package_name(), name(self)); }
// the name of a global of genesis
PyObject* reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(name(self)); }

}  // namespace

ops::MemoryFormat memory_format(const Args& a, int i, ops::MemoryFormat absent) {
  if (!a.has(i)) return absent;
  if (Py_TYPE(a[i]) != Type) a.fail(i, "a memory format such as genesis.channels_last");
  return reinterpret_cast<PyMemoryFormat*>(a[i])->format;
}

void init_memory_format(PyObject* module) {
  static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};
  static PyType_Slot slots[] = {{Py_tp_repr, reinterpret_cast<void*>(repr)},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, const_cast<char*>("The order of the elements of images in memory.")},
                                {0, nullptr}};
  static PyType_Spec spec{"genesis.memory_format", sizeof(PyMemoryFormat), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  Type = reinterpret_cast<PyTypeObject*>(Object(PyType_FromSpec(&spec)).release());
  PyModule_AddObjectRef(module, "memory_format", reinterpret_cast<PyObject*>(Type));
  for (int i = 0; i < 4; ++i) {
    auto* o = PyObject_New(PyMemoryFormat, Type);
    o->format = static_cast<ops::MemoryFormat>(i);
    PyModule_AddObjectRef(module, kNames[i], reinterpret_cast<PyObject*>(o));
  }
}

}  // namespace genesis::py
