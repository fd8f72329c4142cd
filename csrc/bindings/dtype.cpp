// genesis.dtype. A dtype equals its name and the NumPy dtype of that name.
#include "bindings/args.h"
#include "bindings/module.h"
#include "core/exact.h"
#include "core/promote.h"

namespace genesis::py {

namespace {

// A dtype of PyTorch without tensors here: code that compares dtypes can refer to it.
struct NameOnly {
  const char* name;
  int itemsize;
  bool floating, complex, is_signed;
};
constexpr NameOnly kNameOnly[] = {
    {"complex32", 4, false, true, true},        {"float8_e4m3fnuz", 1, true, false, true},
    {"float8_e5m2fnuz", 1, true, false, true},  {"float8_e8m0fnu", 1, true, false, true},
    {"float4_e2m1fn_x2", 1, true, false, true}, {"qint8", 1, false, false, true},
    {"quint8", 1, false, false, false},         {"qint32", 4, false, false, true},
    {"quint4x2", 1, false, false, false},       {"quint2x4", 1, false, false, false},
    {"bits8", 1, false, false, false},          {"int4", 1, false, false, true},
    {"uint4", 1, false, false, false},
};

struct PyDType {
  PyObject_HEAD DType dtype;
  const NameOnly* only;  // null for a dtype that tensors can have
};

PyTypeObject* DTypeType;
PyObject* objects[kNumDTypes];

DType get(PyObject* self) { return reinterpret_cast<PyDType*>(self)->dtype; }
const NameOnly* name_only(PyObject* self) { return reinterpret_cast<PyDType*>(self)->only; }
const char* name_of(PyObject* self) { return name_only(self) ? name_only(self)->name : name(get(self)); }

// The dtype with a given name; false if there is none.
bool by_name(const std::string& text, DType& out) {
  const std::string plain = text.starts_with("genesis.") ? text.substr(8)
                            : text.starts_with("torch.") ? text.substr(6)
                                                         : text;
  for (const DTypeInfo& t : dtype_table::kTable)
    if (plain == t.name || (t.alias && plain == t.alias)) {
      out = t.dtype;
      return true;
    }
  return false;
}

// numpy.dtype('float32'), numpy.float32 and ml_dtypes.bfloat16 all have a name that identifies it.
bool from_numpy_name(PyObject* o, DType& out) {
  for (const char* attribute : {"name", "__name__"}) {
    const Object text = Object::maybe(PyObject_GetAttrString(o, attribute));
    if (!text) {
      PyErr_Clear();
      continue;
    }
    if (!PyUnicode_Check(text.get())) continue;
    const char* utf8 = PyUnicode_AsUTF8(text.get());
    if (!utf8) throw_python();
    const std::string n = utf8;
    if (n == "bool_") {
      out = DType::Bool;
      return true;
    }
    if (n == "int" || n == "long" || n == "float" || n == "half" || n == "double" || n == "short") continue;
    if (by_name(n, out)) return true;
  }
  return false;
}

bool convert(PyObject* o, DType& out) {
  if (Py_TYPE(o) == DTypeType) {
    if (name_only(o)) return false;
    out = get(o);
    return true;
  }
  if (PyUnicode_Check(o)) {
    const char* utf8 = PyUnicode_AsUTF8(o);
    if (!utf8) throw_python();
    return by_name(utf8, out);
  }
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return out = default_dtype, true;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return out = DType::Int64, true;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return out = DType::Bool, true;
  if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) return out = complex_type(default_dtype), true;
  return from_numpy_name(o, out);
}

PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("%s.%s", package_name(), name_of(self)); }
Py_hash_t hash(PyObject* self) {
  const Object text = Object::maybe(PyUnicode_FromString(name_of(self)));
  return text ? PyObject_Hash(text.get()) : -1;
}
PyObject* compare(PyObject* self, PyObject* other, int op) {
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  if (name_only(self)) return PyBool_FromLong((self == other) == (op == Py_EQ));
  DType t;
  const bool is_type =
      other == reinterpret_cast<PyObject*>(&PyFloat_Type) || other == reinterpret_cast<PyObject*>(&PyLong_Type) ||
      other == reinterpret_cast<PyObject*>(&PyBool_Type) || other == reinterpret_cast<PyObject*>(&PyComplex_Type);
  const bool equal = other != Py_None && !is_type && convert(other, t) && t == get(self);
  return PyBool_FromLong(equal == (op == Py_EQ));
}
// the name of a global of genesis
PyObject* reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(name_of(self)); }

PyGetSetDef getset[] = {
    {"itemsize",
     [](PyObject* s, void*) { return PyLong_FromLongLong(name_only(s) ? name_only(s)->itemsize : itemsize(get(s))); },
     nullptr, "Bytes of one element.", nullptr},
    {"is_floating_point",
     [](PyObject* s, void*) { return PyBool_FromLong(name_only(s) ? name_only(s)->floating : is_floating(get(s))); },
     nullptr, "Whether it is floating.", nullptr},
    {"is_complex",
     [](PyObject* s, void*) { return PyBool_FromLong(name_only(s) ? name_only(s)->complex : is_complex(get(s))); },
     nullptr, "Whether it is complex.", nullptr},
    {"is_signed",
     [](PyObject* s, void*) {
       return PyBool_FromLong(name_only(s) ? name_only(s)->is_signed : info(get(s)).kind >= NumberKind::Signed);
     },
     nullptr, "Whether it can hold negative values.", nullptr},
    {"_safetensors",
     [](PyObject* s, void*) {
       const char* code = name_only(s) ? nullptr : info(get(s)).safetensors;
       return code ? PyUnicode_FromString(code) : Py_NewRef(Py_None);
     },
     nullptr, "Its name in safetensors files, or None.", nullptr},
    {"name", [](PyObject* s, void*) { return PyUnicode_FromString(name_of(s)); }, nullptr, "The name, e.g. 'float32'.",
     nullptr},
    {}};
// The real dtype of a complex one, and the complex dtype whose parts can hold a real one.
PyObject* to_real(PyObject* self, PyObject*) {
  if (name_only(self)) return Py_NewRef(self);
  return Py_NewRef(dtype_object(real_type(get(self))));
}
PyObject* to_complex(PyObject* self, PyObject*) {
  if (name_only(self)) return Py_NewRef(self);
  return Py_NewRef(dtype_object(complex_type(get(self))));
}
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                         {"to_real", to_real, METH_NOARGS, "The dtype of the parts of a complex dtype."},
                         {"to_complex", to_complex, METH_NOARGS, "The complex dtype with parts of this one."},
                         {}};

}  // namespace

PyObject* dtype_object(DType t) { return objects[static_cast<int>(t)]; }

DType to_dtype(PyObject* o) {
  DType t;
  if (convert(o, t)) return t;
  const Object text(PyObject_Repr(o));
  if (Py_TYPE(o) == DTypeType)
    throw_type_error(str(PyUnicode_AsUTF8(text.get()),
                         ": this dtype exists by name only and has no tensors; use a supported dtype such "
                         "as float32 or int64"));
  throw_type_error(
      str("not a dtype: ", PyUnicode_AsUTF8(text.get()), "; use e.g. genesis.float32, 'float32' or numpy.float32"));
}

bool names_dtype(PyObject* o) {
  DType t;
  return convert(o, t);
}

void init_dtype(PyObject* module) {
  static PyType_Slot slots[] = {{Py_tp_repr, reinterpret_cast<void*>(repr)},
                                {Py_tp_hash, reinterpret_cast<void*>(hash)},
                                {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                                {Py_tp_getset, getset},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, const_cast<char*>("The type of a tensor's elements.")},
                                {0, nullptr}};
  static PyType_Spec spec{"genesis.dtype", sizeof(PyDType), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                          slots};
  DTypeType = reinterpret_cast<PyTypeObject*>(Object(PyType_FromSpec(&spec)).release());
  PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(DTypeType));
  for (int i = 0; i < kNumDTypes; ++i) {
    auto* o = PyObject_New(PyDType, DTypeType);
    o->dtype = static_cast<DType>(i);
    o->only = nullptr;
    objects[i] = reinterpret_cast<PyObject*>(o);
    PyModule_AddObjectRef(module, name(o->dtype), objects[i]);
  }
  for (const NameOnly& only : kNameOnly) {
    auto* o = PyObject_New(PyDType, DTypeType);
    o->dtype = DType::UInt8;
    o->only = &only;
    PyModule_AddObjectRef(module, only.name, reinterpret_cast<PyObject*>(o));
    Py_DECREF(o);
  }
}

}  // namespace genesis::py
