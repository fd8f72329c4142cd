// Between tensors and Python's and NumPy's data.
#include <cstring>

#include "autograd/meta.h"
#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/create.h"
#include "ops/view.h"

namespace genesis::py {

// ---- NumPy, without compiling against it ------------------------------------------------------------------------

static PyObject* ndarray_type() {  // borrowed; null while NumPy has not been imported
  static PyObject* type = nullptr;
  if (!type) {
    PyObject* modules = PyImport_GetModuleDict();
    PyObject* numpy = PyDict_GetItemString(modules, "numpy");
    if (numpy) type = PyObject_GetAttrString(numpy, "ndarray");
    if (!type) PyErr_Clear();
  }
  return type;
}
static PyObject* generic_type() {
  static PyObject* type = nullptr;
  if (!type) {
    PyObject* numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
    if (numpy) type = PyObject_GetAttrString(numpy, "generic");
    if (!type) PyErr_Clear();
  }
  return type;
}
bool is_ndarray(PyObject* o) {
  PyObject* type = ndarray_type();
  return type && PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(type));
}
bool is_numpy_scalar(PyObject* o) {
  PyObject* type = generic_type();
  return type && PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(type));
}

static bool dtype_of_format(const char* format, Py_ssize_t size, DType& out) {
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (!format[0] || format[1]) return false;
  switch (*format) {
    case '?': out = DType::Bool; return true;
    case 'B': out = DType::UInt8; return true;
    case 'b': out = DType::Int8; return true;
    case 'e': out = DType::Float16; return true;
    case 'f': out = DType::Float32; return true;
    case 'd': out = DType::Float64; return true;
    case 'h': case 'i': case 'l': case 'q':
      out = size == 2 ? DType::Int16 : size == 4 ? DType::Int32 : DType::Int64;
      return true;
    default: return false;
  }
}
static const char* format_of(DType t) {
  constexpr const char* formats[kNumDTypes] = {"?", "B", "b", "h", "i", "q", "e", nullptr, "f", "d"};
  return formats[static_cast<int>(t)];
}

static void release_buffer(void* owner) {
  auto* buffer = static_cast<Py_buffer*>(owner);
  PyBuffer_Release(buffer);
  delete buffer;
}

Tensor from_ndarray(PyObject* array) {
  auto* buffer = new Py_buffer;
  if (PyObject_GetBuffer(array, buffer, PyBUF_RECORDS) < 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(array, buffer, PyBUF_RECORDS_RO) < 0) {
      delete buffer;
      throw_python();
    }
  }
  DType dtype;
  bool fits = dtype_of_format(buffer->format ? buffer->format : "B", buffer->itemsize, dtype);
  Dims shape(buffer->shape, buffer->shape + buffer->ndim), strides;
  for (int d = 0; d < buffer->ndim && fits; ++d) {
    if (buffer->strides[d] % buffer->itemsize != 0 || buffer->strides[d] < 0) fits = buffer->shape[d] <= 1;
    strides.push_back(buffer->shape[d] <= 1 ? 1 : buffer->strides[d] / buffer->itemsize);
  }
  if (!fits || reinterpret_cast<uintptr_t>(buffer->buf) % static_cast<size_t>(buffer->itemsize) != 0) {
    const std::string format = buffer->format ? buffer->format : "";
    release_buffer(buffer);
    // Another type that NumPy can convert, negative strides, or unaligned memory: through a plain copy.
    const Object kind(PyObject_GetAttrString(Object(PyObject_GetAttrString(array, "dtype")).get(), "kind"));
    const std::string k = PyUnicode_AsUTF8(kind.get());
    const char* target = k == "u" || k == "i" ? "int64" : k == "f" ? "float64" : k == "b" ? "bool" : nullptr;
    if (!target) throw_type_error(str("from_numpy: an array of dtype '", format, "' has no counterpart; convert it with astype()"));
    const bool known = dtype_of_format(format.c_str(), 8, dtype) && format.size() <= 2;
    const Object copy(known ? PyObject_CallMethod(array, "copy", nullptr) : PyObject_CallMethod(array, "astype", "s", target));
    return from_ndarray(copy.get());
  }
  // The buffer may be any part of a larger array; the storage is what this view can reach.
  int64_t last = 0;
  for (int d = 0; d < shape.size(); ++d) last += (shape[d] - 1) * strides[d];
  const size_t bytes = numel(shape) == 0 ? 0 : static_cast<size_t>((last + 1) * itemsize(dtype));
  Storage* storage = Storage::borrow(buffer->buf, bytes, buffer, release_buffer);
  storage->writable = !buffer->readonly;
  TensorImpl* impl = TensorImpl::create(storage, storage->data, dtype);
  impl->shape = shape;
  impl->strides = strides;
  impl->geometry_changed();
  return Tensor::adopt(impl);
}

PyObject* to_ndarray(const Tensor& t) {
  if (t->requires_grad)
    fail<GraphError>("numpy: a tensor that requires grad cannot become an array; use tensor.detach().numpy()");
  const Object numpy(PyImport_ImportModule("numpy"));
  const Object self(wrap(t));
  if (t.dtype() == DType::BFloat16) {
    const Object types = Object::maybe(PyImport_ImportModule("ml_dtypes"));
    if (!types) {
      PyErr_Clear();
      fail<DTypeError>("numpy: NumPy has no bfloat16; use tensor.float().numpy(), or install ml_dtypes");
    }
    const Object type(PyObject_GetAttrString(types.get(), "bfloat16"));
    const Object bits(wrap(t));
    const Object array(PyObject_CallMethod(numpy.get(), "asarray", "N", PyMemoryView_FromObject(bits.get())));
    return PyObject_CallMethod(array.get(), "view", "O", type.get());
  }
  const Object memory(PyMemoryView_FromObject(self.get()));
  return PyObject_CallMethod(numpy.get(), "asarray", "O", memory.get());
}

// The buffer protocol of Tensor.
int get_buffer(PyObject* o, Py_buffer* view, int flags) {
  return guarded_int([&] {
    const Tensor& t = unwrap(o);
    require<GraphError>(!t->requires_grad, "a tensor that requires grad cannot be read as a buffer; use tensor.detach()");
    if ((flags & PyBUF_WRITABLE) && !t->storage->writable) {
      PyErr_SetString(PyExc_BufferError, "the tensor's memory is read-only");
      throw_python();
    }
    if (!(flags & PyBUF_STRIDES) && !t.contiguous()) {
      PyErr_SetString(PyExc_BufferError, "the tensor is not contiguous; use contiguous()");
      throw_python();
    }
    const int n = t.dim();
    auto* geometry = new Py_ssize_t[static_cast<size_t>(2 * n + 1)];
    const int64_t item = itemsize(t.dtype());
    for (int d = 0; d < n; ++d) {
      geometry[d] = t.size(d);
      geometry[n + d] = t.stride(d) * item;
    }
    view->buf = t->data;
    view->obj = o;
    Py_INCREF(o);
    view->len = t.numel() * item;
    view->itemsize = item;
    view->readonly = !t->storage->writable;
    view->ndim = n;
    const char* format = t.dtype() == DType::BFloat16 ? "H" : format_of(t.dtype());
    view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
    view->shape = geometry;
    view->strides = flags & PyBUF_STRIDES ? geometry + n : nullptr;
    view->suboffsets = nullptr;
    view->internal = geometry;
    return 0;
  });
}
void release_tensor_buffer(PyObject*, Py_buffer* view) { delete[] static_cast<Py_ssize_t*>(view->internal); }

// ---- numbers and lists --------------------------------------------------------------------------------------------

static Scalar read(const char* p, DType t) {
  switch (t) {
    case DType::Bool: return *reinterpret_cast<const bool*>(p);
    case DType::UInt8: return *reinterpret_cast<const uint8_t*>(p);
    case DType::Int8: return *reinterpret_cast<const int8_t*>(p);
    case DType::Int16: return *reinterpret_cast<const int16_t*>(p);
    case DType::Int32: return *reinterpret_cast<const int32_t*>(p);
    case DType::Int64: return *reinterpret_cast<const int64_t*>(p);
    case DType::Float16: return to_float(*reinterpret_cast<const Half*>(p));
    case DType::BFloat16: return to_float(*reinterpret_cast<const BFloat16*>(p));
    case DType::Float32: return *reinterpret_cast<const float*>(p);
    default: return *reinterpret_cast<const double*>(p);
  }
}

Scalar tensor_item(const Tensor& t) {
  require<ShapeError>(t.numel() == 1, "item: a tensor of shape ", t.shape(), " holds ", t.numel(),
                      " values; only one can be converted to a Python number. Use tolist(), or index it first");
  return read(t->data, t.dtype());
}

PyObject* scalar_to_python(Scalar s) {
  if (s.kind == Scalar::Bool) return PyBool_FromLong(s.i != 0);
  return s.kind == Scalar::Int ? PyLong_FromLongLong(s.i) : PyFloat_FromDouble(s.f);
}

static PyObject* list_of(const Tensor& t, int d, const char* p) {
  if (d == t.dim()) return scalar_to_python(read(p, t.dtype()));
  const int64_t n = t.size(d), step = t.stride(d) * itemsize(t.dtype());
  Object list(PyList_New(n));
  for (int64_t i = 0; i < n; ++i) PyList_SET_ITEM(list.get(), i, list_of(t, d + 1, p + i * step));
  return list.release();
}

namespace {

// Nested lists: first the shape and the kind, then the values.
struct Nested {
  Dims shape;
  int kind = -1;  // the highest of Scalar::Kind seen
  std::optional<DType> dtype;  // of tensors and arrays inside

  void measure(PyObject* o, int depth) {
    if (is_tensor(o) || is_ndarray(o)) {
      const Tensor t = is_tensor(o) ? unwrap(o) : from_ndarray(o);
      dtype = dtype ? promote(*dtype, t.dtype()) : t.dtype();
      for (int d = 0; d < t.dim(); ++d) extend(depth + d, t.size(d));
      leaf(depth + t.dim());
      return;
    }
    if (PyList_Check(o) || PyTuple_Check(o)) {
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
      extend(depth, n);
      if (n == 0) leaf(depth + 1);
      for (Py_ssize_t i = 0; i < n; ++i) measure(PySequence_Fast_GET_ITEM(o, i), depth + 1);
      return;
    }
    leaf(depth);
    if (PyBool_Check(o)) kind = std::max(kind, 0);
    else if (PyLong_Check(o)) kind = std::max(kind, 1);
    else if (PyFloat_Check(o)) kind = 2;
    else if (is_numpy_scalar(o)) {
      const Object type(PyObject_GetAttrString(o, "dtype"));
      const DType t = to_dtype(type.get());
      kind = std::max(kind, t == DType::Bool ? 0 : is_floating(t) ? 2 : 1);
    } else {
      throw_type_error(str("tensor: cannot make a number of ", Py_TYPE(o)->tp_name, "; expected numbers, nested lists of numbers, "
                           "arrays or tensors"));
    }
  }
  void extend(int depth, int64_t n) {
    if (depth_known_ >= 0) require(depth < depth_known_, "tensor: the nested lists do not have the same depth everywhere");
    if (depth == shape.size()) shape.push_back(n);
    else require(shape[depth] == n, "tensor: the nested lists are ragged: expected ", shape[depth], " elements at depth ", depth,
                 ", got ", n);
  }
  void leaf(int depth) {
    if (depth_known_ < 0) depth_known_ = depth;
    require(depth == depth_known_, "tensor: the nested lists do not have the same depth everywhere");
  }

 private:
  int depth_known_ = -1;
};

template <class T>
void fill(PyObject* o, T*& out) {
  if (is_tensor(o) || is_ndarray(o)) {
    const Tensor t = ops::contiguous(is_tensor(o) ? unwrap(o) : from_ndarray(o));
    for (int64_t i = 0; i < t.numel(); ++i) {
      const Scalar s = read(t->data + i * itemsize(t.dtype()), t.dtype());
      *out++ = std::is_same_v<T, double> ? static_cast<T>(s.to_double()) : static_cast<T>(s.to_int());
    }
  } else if (PyList_Check(o) || PyTuple_Check(o)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    for (Py_ssize_t i = 0; i < n; ++i) fill(PySequence_Fast_GET_ITEM(o, i), out);
  } else {
    const Scalar s = to_scalar(o);
    *out++ = std::is_same_v<T, double> ? static_cast<T>(s.to_double()) : static_cast<T>(s.to_int());
  }
}

}  // namespace

// A copy of `data` as a tensor of `dtype`, or of the type inferred: floats are float32 (also from NumPy's float64),
// integers keep their width, Python's are int64.
Tensor from_data(PyObject* data, PyObject* dtype) {
  const bool given = dtype && dtype != Py_None;
  const WithGradMode off(false);
  if (is_tensor(data)) {
    const Tensor& t = unwrap(data);
    return given && to_dtype(dtype) != t.dtype() ? ops::cast(t, to_dtype(dtype)) : alias(ops::clone(t));
  }
  if (is_ndarray(data)) {
    const Tensor t = from_ndarray(data);
    const DType type = given ? to_dtype(dtype) : t.dtype() == DType::Float64 ? default_dtype : t.dtype();
    Tensor y = empty(t.shape(), type);
    return ops::copy_(y, t);
  }
  if (!PyList_Check(data) && !PyTuple_Check(data) && !is_number(data)) {
    // Anything else that NumPy understands: buffers, __array__, ranges.
    if (PyObject_CheckBuffer(data) || PyObject_HasAttrString(data, "__array__") || PyObject_HasAttrString(data, "__array_interface__")) {
      const Object numpy(PyImport_ImportModule("numpy"));
      const Object array(PyObject_CallMethod(numpy.get(), "asarray", "O", data));
      return from_data(array.get(), dtype);
    }
    if (PySequence_Check(data) && !PyUnicode_Check(data)) {
      const Object list(PySequence_List(data));
      return from_data(list.get(), dtype);
    }
  }
  Nested nested;
  nested.measure(data, 0);
  DType type = nested.kind == 0 ? DType::Bool : nested.kind == 1 ? DType::Int64 : default_dtype;
  if (nested.dtype) type = nested.kind < 0 ? *nested.dtype : promote(*nested.dtype, type);
  if (given) type = to_dtype(dtype);
  const bool as_double = nested.kind == 2 || (nested.dtype && is_floating(*nested.dtype)) || nested.kind < 0;
  Tensor values = empty(nested.shape, as_double ? DType::Float64 : DType::Int64);
  if (as_double) {
    double* p = values.data<double>();
    fill(data, p);
  } else {
    int64_t* p = values.data<int64_t>();
    fill(data, p);
  }
  return ops::cast(values, type);
}

static const Family family([] {
  def<"item(input)", [](Args& a) { return scalar_to_python(tensor_item(a.tensor(0))); }>(kMethod);
  def<"tolist(input)", [](Args& a) { return list_of(a.tensor(0), 0, a.tensor(0)->data); }>(kMethod);
  def<"numpy(input, *, force=False)", [](Args& a) {
    return to_ndarray(a.boolean(1, false) ? ops::detach(a.tensor(0)) : a.tensor(0));
  }>(kMethod);
  def<"tensor(data, *, dtype=None, device=None, requires_grad=False)", [](Args& a) {
    a.device(2);
    Tensor t = from_data(a[0], a[1]);
    if (a.boolean(3, false)) set_requires_grad(t, true);
    return t;
  }>(kFunction, "A tensor that holds a copy of `data`: numbers, nested lists, arrays or tensors.");
  def<"from_numpy(array, *, dtype=None, requires_grad=False)", [](Args& a) {
    if (!is_ndarray(a[0])) a.fail(0, "a numpy.ndarray");
    Tensor t = from_ndarray(a[0]);
    if (a.has(1)) t = ops::cast(t, a.dtype(1));
    if (a.boolean(2, false)) set_requires_grad(t, true);
    return t;
  }>(kFunction, "A tensor that shares the memory of a NumPy array.");
});

}  // namespace genesis::py
