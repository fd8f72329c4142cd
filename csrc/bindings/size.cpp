#include "bindings/size.h"

#include "bindings/args.h"
#include "core/exact.h"

namespace genesis::py {

static PyTypeObject *SizeType, *CountType, *StrideType;

bool is_size(PyObject* o) { return PyObject_TypeCheck(o, SizeType); }

PyObject* size_tuple(const Dims& shape) {
  Object tuple(SizeType->tp_alloc(SizeType, shape.size()));
  for (int i = 0; i < shape.size(); ++i) PyTuple_SET_ITEM(tuple.get(), i, PyLong_FromLongLong(shape[i]));
  return tuple.release();
}

static PyObject* size_numel(PyObject* self, PyObject*) {
  int64_t n = 1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) n *= PyLong_AsLongLong(PyTuple_GET_ITEM(self, i));
  return PyErr_Occurred() ? nullptr : PyLong_FromLongLong(n);
}

static PyObject* size_repr(PyObject* self) {
  const Object list = Object::maybe(PySequence_List(self));
  return list ? PyUnicode_FromFormat("%s.Size(%R)", package_name(), list.get()) : nullptr;
}

// Slices, sums and repetitions of sizes are sizes.
static PyObject* as_size(PyObject* tuple) {
  if (!tuple) return nullptr;
  if (!PyTuple_Check(tuple)) return tuple;  // one item
  const Object given = Object::maybe(tuple);
  const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  PyObject* size = SizeType->tp_alloc(SizeType, n);
  for (Py_ssize_t i = 0; size && i < n; ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    Py_INCREF(item);
    PyTuple_SET_ITEM(size, i, item);
  }
  return size;
}
static PyObject* size_subscript(PyObject* self, PyObject* key) {
  return as_size(PyTuple_Type.tp_as_mapping->mp_subscript(self, key));
}
static PyObject* size_repeat(PyObject* self, Py_ssize_t times) {
  return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(self, times));
}
// Also handles (1,) + size, which the sequence slot does not.
static PyObject* size_add(PyObject* left, PyObject* right) {
  if (!PyTuple_Check(left) || !PyTuple_Check(right)) Py_RETURN_NOTIMPLEMENTED;
  return as_size(PyTuple_Type.tp_as_sequence->sq_concat(left, right));
}

// Size(sizes): every item must be an int.
static PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  const Object made = Object::maybe(PyTuple_Type.tp_new(type, args, kwargs));
  if (!made) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(made.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(made.get(), i);
    if (PyLong_Check(item)) continue;
    PyObject* number = PyNumber_Index(item);
    if (!number) {
      PyErr_Format(PyExc_TypeError, "Size() takes an iterable of 'int' (item %zd is '%s')", i, Py_TYPE(item)->tp_name);
      return nullptr;
    }
    PyTuple_SET_ITEM(made.get(), i, number);
    Py_DECREF(item);
  }
  return Object::borrow(made.get()).release();
}

static PyObject* shape_key() {
  static PyObject* const key = PyUnicode_InternFromString("shape");
  return key;
}

// x.size: the number of elements, an int, with the shape in its dict so that calling it behaves as in PyTorch. Creating
// one takes a microsecond, so those of recent shapes are cached.
PyObject* size_property(const Tensor& t) {
  struct Recent {
    Dims shape;
    PyObject* size = nullptr;
  };
  static Recent recent[64];
  uint64_t hash = static_cast<uint64_t>(t.dim());
  for (int64_t n : t.shape()) hash = (hash ^ static_cast<uint64_t>(n)) * 0x9E3779B97F4A7C15;
  Recent& slot = recent[hash >> 58];
  if (slot.size && slot.shape == t.shape()) {
    Py_INCREF(slot.size);
    return slot.size;
  }
  const Object count(PyLong_FromLongLong(t.numel()));
  Object self(PyObject_CallOneArg(reinterpret_cast<PyObject*>(CountType), count.get()));
  const Object shape(size_tuple(t.shape()));
  if (PyObject_SetAttr(self.get(), shape_key(), shape.get()) < 0) throw_python();
  const Object dropped = Object::maybe(std::exchange(slot.size, Object::borrow(self.get()).release()));
  slot.shape = t.shape();
  return self.release();
}

// One element of a tuple of sizes or strides.
static PyObject* at_dim(const char* what, PyObject* tuple, PyObject* dim) {
  const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
  const int d = wrap_dim(what, to_index(dim, what), static_cast<int>(n));
  require<IndexError>(n > 0, what, ": a 0-d tensor has no dimensions");
  PyObject* item = PyTuple_GET_ITEM(tuple, d);
  Py_INCREF(item);
  return item;
}

PyObject* stride_property(const Tensor& t) {
  Object tuple(StrideType->tp_alloc(StrideType, t.dim()));
  for (int i = 0; i < t.dim(); ++i) PyTuple_SET_ITEM(tuple.get(), i, PyLong_FromLongLong(t.stride(i)));
  return tuple.release();
}

static PyObject* stride_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"dim", nullptr};
  PyObject* dim = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:stride", const_cast<char**>(names), &dim)) return nullptr;
  return guarded([&]() -> PyObject* { return dim == Py_None ? PySequence_Tuple(self) : at_dim("stride", self, dim); });
}

static PyObject* count_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* dim = Py_None;
  if (!kwargs && PyTuple_GET_SIZE(args) == 1) {
    dim = PyTuple_GET_ITEM(args, 0);
  } else {
    static const char* names[] = {"dim", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:size", const_cast<char**>(names), &dim)) return nullptr;
  }
  return guarded([&]() -> PyObject* {
    Object shape(PyObject_GetAttr(self, shape_key()));
    if (dim == Py_None) return shape.release();
    return at_dim("size", shape.get(), dim);
  });
}

void init_size(PyObject* module) {
  static PyMethodDef methods[] = {{"numel", size_numel, METH_NOARGS, "numel($self)\n--\n\nThe product of the sizes."},
                                  {}};
  static PyType_Slot slots[] = {{Py_tp_base, &PyTuple_Type},
                                {Py_tp_new, reinterpret_cast<void*>(size_new)},
                                {Py_tp_repr, reinterpret_cast<void*>(size_repr)},
                                {Py_mp_subscript, reinterpret_cast<void*>(size_subscript)},
                                {Py_sq_repeat, reinterpret_cast<void*>(size_repeat)},
                                {Py_nb_add, reinterpret_cast<void*>(size_add)},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, const_cast<char*>("The shape of a tensor: a tuple of ints.")},
                                {0, nullptr}};
  static PyType_Spec spec{"genesis.Size", 0, 0, Py_TPFLAGS_DEFAULT, slots};
  SizeType = reinterpret_cast<PyTypeObject*>(Object(PyType_FromSpec(&spec)).release());
  PyModule_AddObjectRef(module, "Size", reinterpret_cast<PyObject*>(SizeType));
  static PyType_Slot stride_slots[] = {
      {Py_tp_base, &PyTuple_Type},
      {Py_tp_call, reinterpret_cast<void*>(stride_call)},
      {Py_tp_doc, const_cast<char*>("The strides of a tensor: a tuple that can be called.")},
      {0, nullptr}};
  static PyType_Spec stride_spec{"genesis._C.Strides", 0, 0, Py_TPFLAGS_DEFAULT, stride_slots};
  StrideType = reinterpret_cast<PyTypeObject*>(Object(PyType_FromSpec(&stride_spec)).release());
  // A class with a __dict__, which a subclass of int only gets from a call of type().
  static PyMethodDef call{"__call__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(count_call)),
                          METH_VARARGS | METH_KEYWORDS, "The shape, or the size of one dimension."};
  CountType = reinterpret_cast<PyTypeObject*>(
      Object(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(O){ss}", "_Count", &PyLong_Type,
                                   "__module__", "genesis"))
          .release());
  const Object method(PyDescr_NewMethod(CountType, &call));
  if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(CountType), "__call__", method.get()) < 0) throw_python();
  CountType->tp_call = count_call;  // avoids the lookup of __call__
}

}  // namespace genesis::py
