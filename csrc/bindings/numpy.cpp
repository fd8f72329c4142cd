// Memory shared with NumPy and with other objects that support Python's buffer protocol. NumPy is imported when an
// array is first passed or requested: importing genesis does not import it.
#include <cstring>
#include <utility>

#include "autograd/meta.h"
#include "autograd/mode.h"
#include "bindings/args.h"
#include "bindings/module.h"
#include "core/exact.h"
#include "engine/backward.h"
#include "ops/create.h"
#include "ops/view.h"

namespace genesis::py {

// ---- which objects are NumPy's --------------------------------------------------------------------------------------

// numpy.<name>, borrowed; null while NumPy has not been imported.
static PyTypeObject* numpy_type(const char* name, PyTypeObject*& cache) {
  if (!cache) {
    PyObject* numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
    PyObject* type = numpy ? PyObject_GetAttrString(numpy, name) : nullptr;
    if (!type) PyErr_Clear();  // missing, or partially imported
    cache = reinterpret_cast<PyTypeObject*>(type);
  }
  return cache;
}
bool is_ndarray(PyObject* o) {
  static PyTypeObject* type = nullptr;
  return numpy_type("ndarray", type) && PyObject_TypeCheck(o, type);
}
bool is_numpy_scalar(PyObject* o) {
  static PyTypeObject* type = nullptr;
  return numpy_type("generic", type) && PyObject_TypeCheck(o, type);
}

// ---- external memory as a tensor ------------------------------------------------------------------------------------

static bool dtype_of_format(const char* format, Py_ssize_t size, DType& out) {
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  const std::string_view code = format;
  // The width of C's integers depends on the platform.
  const bool is_signed = code == "l" || code == "n", is_unsigned = code == "L" || code == "N";
  for (const DTypeInfo& t : dtype_table::kTable) {
    const bool same = t.format && code == t.format && t.size == size;
    if (same || (t.size == size &&
                 ((is_signed && t.kind == NumberKind::Signed) || (is_unsigned && t.kind == NumberKind::Unsigned)))) {
      out = t.dtype;
      return true;
    }
  }
  return false;
}
static const char* format_of(DType t) { return info(t).format; }

static void release_buffer(void* owner) {
  auto* buffer = static_cast<Py_buffer*>(owner);
  PyBuffer_Release(buffer);
  delete buffer;
}

// Shares the memory of a buffer, or returns an undefined tensor and the reason.
static Tensor share_buffer(PyObject* exporter, std::string& why) {
  auto* buffer = new Py_buffer;
  if (PyObject_GetBuffer(exporter, buffer, PyBUF_RECORDS) < 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(exporter, buffer, PyBUF_RECORDS_RO) < 0) {
      delete buffer;
      PyErr_Clear();
      why = "it has no buffer";
      return Tensor();
    }
  }
  const std::string format = buffer->format ? buffer->format : "B";
  DType dtype = DType::UInt8;
  if (!dtype_of_format(format.c_str(), buffer->itemsize, dtype))
    why = "genesis has no dtype for its format '" + format + "'";
  Dims shape(buffer->shape, buffer->shape + buffer->ndim), strides;
  for (int d = 0; d < buffer->ndim; ++d) {
    const Py_ssize_t step = buffer->strides[d];
    if (buffer->shape[d] > 1 && step < 0) why = "it has negative strides";
    if (buffer->shape[d] > 1 && step % buffer->itemsize != 0) why = "its strides are not multiples of its elements";
    strides.push_back(buffer->shape[d] <= 1 ? 1 : step / buffer->itemsize);
  }
  if (reinterpret_cast<uintptr_t>(buffer->buf) % static_cast<size_t>(buffer->itemsize) != 0)
    why = "its memory is not aligned";
  if (!why.empty()) {
    release_buffer(buffer);
    return Tensor();
  }
  // The buffer may be a part of a larger array; the storage covers what this view can access.
  int64_t last = 0;
  for (int d = 0; d < shape.size(); ++d) last += (shape[d] - 1) * strides[d];
  const size_t bytes = numel(shape) == 0 ? 0 : static_cast<size_t>((last + 1) * itemsize(dtype));
  Storage* storage = Storage::borrow(buffer->buf, bytes, buffer, release_buffer);
  storage->writable = !buffer->readonly;
  Tensor t = Tensor::adopt(TensorImpl::create(storage, storage->data, dtype));
  t->shape = shape;
  t->strides = strides;
  t->geometry_changed();
  return t;
}

// The same memory with another dtype of the same width.
static Tensor reinterpret(const Tensor& t, DType dtype) {
  Tensor y = alias(t);
  y->dtype = dtype;
  return y;
}

static std::string attribute(PyObject* o, const char* name) {
  const Object value(PyObject_GetAttrString(o, name));
  const Object text(PyObject_Str(value.get()));
  return PyUnicode_AsUTF8(text.get());
}

Tensor from_ndarray(PyObject* array, bool may_copy, bool* copied) {
  std::string why;
  Tensor t = share_buffer(array, why);
  if (t.defined()) return t;
  if (!is_ndarray(array))
    throw_type_error(str("cannot make a tensor of the memory of ", Py_TYPE(array)->tp_name, ": ", why));
  const Object dtype(PyObject_GetAttrString(array, "dtype"));
  const std::string name = attribute(dtype.get(), "name"), kind = attribute(dtype.get(), "kind");
  for (const DTypeInfo& t : dtype_table::kTable)  // a dtype of ml_dtypes, which the buffer protocol does not know
    if (!t.format && name == t.name) {
      const Object bits(PyObject_CallMethod(array, "view", "s", t.size == 2 ? "int16" : "uint8"));
      return reinterpret(from_ndarray(bits.get(), may_copy, copied), t.dtype);
    }
  DType known;
  const bool native =
      PyUnicode_CompareWithASCIIString(Object(PyObject_GetAttrString(dtype.get(), "byteorder")).get(), ">") != 0;
  const std::string code = attribute(dtype.get(), "char");
  const bool same =
      dtype_of_format(code.c_str(), static_cast<Py_ssize_t>(std::stol(attribute(dtype.get(), "itemsize"))), known);
  const char* target = same ? genesis::name(known) : kind == "f" ? "float64" : kind == "c" ? "complex128" : nullptr;
  if (!target) throw_type_error(str("an array of dtype ", name, " has no counterpart; convert it with astype()"));
  if (!native) why = "its bytes are in the other order";
  require(may_copy, "from_numpy: the memory of this array of dtype ", name, " cannot be shared, since ", why,
          "; use genesis.tensor(array), which copies");
  if (copied) *copied = true;
  const Object copy(PyObject_CallMethod(array, "astype", "s", target));
  const Object plain(PyObject_CallMethod(copy.get(), "copy", nullptr));
  return from_ndarray(plain.get());
}

// ---- a tensor's memory for other libraries --------------------------------------------------------------------------

PyObject* to_ndarray(const Tensor& t) {
  capture::interrupt("a tensor becomes an array");
  if (t.meta())
    throw_type_error(
        "numpy: can't convert meta device type tensor to numpy: it has a shape but no values; use a tensor on the CPU");
  if (requires_grad(t) && exact_torch && !grad_mode.enabled) return to_ndarray(ops::detach(t));  // as in PyTorch
  if (requires_grad(t))
    fail<GraphError>("numpy: a tensor of shape ", t.shape(),
                     " that requires grad cannot become an array, which records no gradient; use "
                     "tensor.detach().numpy()");
  const Object numpy(PyImport_ImportModule("numpy"));
  if (t.dtype() == DType::BFloat16) {
    const Object types = Object::maybe(PyImport_ImportModule("ml_dtypes"));
    if (!types) {
      PyErr_Clear();
      static bool warned = false;
      if (!std::exchange(warned, true) &&
          PyErr_WarnEx(PyExc_UserWarning,
                       "numpy: NumPy has no bfloat16, so the array is a float32 copy; install ml_dtypes to share the "
                       "memory of bfloat16 tensors",
                       1) < 0)
        throw_python();
      return to_ndarray(ops::cast(t, DType::Float32));
    }
    const Object type(PyObject_GetAttrString(types.get(), "bfloat16"));
    const Object array(to_ndarray(reinterpret(t, DType::Int16)));
    return PyObject_CallMethod(array.get(), "view", "O", type.get());
  }
  if (!format_of(t.dtype())) {  // an 8-bit float
    const Object types = Object::maybe(PyImport_ImportModule("ml_dtypes"));
    if (!types) {
      PyErr_Clear();
      fail<DTypeError>("numpy: NumPy has no ", t.dtype(), "; install ml_dtypes, or use float().numpy()");
    }
    const Object type(PyObject_GetAttrString(types.get(), genesis::name(t.dtype())));
    const Object array(to_ndarray(reinterpret(t, DType::UInt8)));
    return PyObject_CallMethod(array.get(), "view", "O", type.get());
  }
  const Object self(wrap(t));
  const Object memory(PyMemoryView_FromObject(self.get()));
  return PyObject_CallMethod(numpy.get(), "asarray", "O", memory.get());
}

namespace {
// What a consumer of a buffer holds: also the storage, because x.data = y may replace that of x.
struct Export {
  Storage* storage;
  Py_ssize_t geometry[1];  // shape, then strides
};
[[noreturn]] void throw_buffer_error(const char* text) {
  PyErr_SetString(PyExc_BufferError, text);
  throw_python();
}
}  // namespace

int get_buffer(PyObject* o, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded_int([&] {
    const Tensor& t = unwrap(o);
    if (engine::special_gradients.is_one && engine::special_gradients.is_one(t))
      throw_buffer_error("a sparse tensor has no memory for every element; use to_dense()");
    if (is_batched(o)) throw_buffer_error("vmap maps over this tensor, which has no memory of its own");
    if (t.meta()) fail_no_data();
    require<GraphError>(!requires_grad(t),
                        "a tensor that requires grad cannot be read as a buffer; use tensor.detach()");
    if ((flags & PyBUF_WRITABLE) && !t->storage->writable) throw_buffer_error("the tensor's memory is read-only");
    if (!(flags & PyBUF_STRIDES) && !t.contiguous())
      throw_buffer_error("the tensor is not contiguous; use contiguous()");
    if ((flags & PyBUF_FORMAT) && !format_of(t.dtype()))
      throw_buffer_error(
          "the buffer protocol has no format for this dtype; use float(), or view() the bits as integers");
    const int n = t.dim();
    auto* held = static_cast<Export*>(::operator new(sizeof(Export) + sizeof(Py_ssize_t) * static_cast<size_t>(2 * n)));
    const int64_t item = itemsize(t.dtype());
    for (int d = 0; d < n; ++d) {
      held->geometry[d] = t.size(d);
      held->geometry[n + d] = t.stride(d) * item;
    }
    capture::interrupt("the memory of a tensor is exposed");
    view->buf = t->data;
    view->len = t.numel() * item;
    view->itemsize = item;
    view->readonly = !t->storage->writable;
    view->ndim = n;
    view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format_of(t.dtype())) : nullptr;
    view->shape = flags & PyBUF_ND ? held->geometry : nullptr;
    view->strides = flags & PyBUF_STRIDES ? held->geometry + n : nullptr;
    view->suboffsets = nullptr;
    view->internal = held;
    const bool c_only = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS,
               f_only = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS;
    const bool any = (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
    if ((c_only && !t.contiguous()) || (f_only && !PyBuffer_IsContiguous(view, 'F')) ||
        (any && !PyBuffer_IsContiguous(view, 'A'))) {
      ::operator delete(held);
      throw_buffer_error("the tensor does not have the requested order of elements; use contiguous()");
    }
    held->storage = t->storage;
    held->storage->retain();
    Py_INCREF(o);
    view->obj = o;
    return 0;
  });
}
void release_tensor_buffer(PyObject*, Py_buffer* view) {
  auto* held = static_cast<Export*>(view->internal);
  held->storage->release();
  ::operator delete(held);
}

// NumPy's protocol: copy is True, False (never) or None (if needed).
static PyObject* as_array(Args& a) {
  Object array(to_ndarray(a.tensor(0)));
  const bool must = a.has(2) && a.boolean(2), never = a.has(2) && !must;
  if (a.has(1)) {
    const Object type(PyObject_GetAttrString(array.get(), "dtype"));
    const int equal = PyObject_RichCompareBool(type.get(), a[1], Py_EQ);
    if (equal < 0) throw_python();
    if (!equal) {
      require(!never, "__array__: copy=False, but a tensor of dtype ", a.tensor(0).dtype(),
              " needs a copy to become another dtype");
      return PyObject_CallMethod(array.get(), "astype", "O", a[1]);
    }
  }
  return must ? PyObject_CallMethod(array.get(), "copy", nullptr) : array.release();
}

static Tensor from_numpy(Args& a) {
  // from_numpy(array, device, dtype, requires_grad); also from_numpy(array, requires_grad)
  const bool second_is_flag = a[1] && PyBool_Check(a[1]);
  if (!second_is_flag) a.device(1);
  Tensor t = is_ndarray(a[0]) ? from_ndarray(a[0], a.has(2)) : from_data(a[0], Py_None);
  if (a.has(2)) t = ops::cast(t, a.dtype(2));
  if (!a.boolean(3, second_is_flag && a[1] == Py_True)) return t;
  if (is_differentiable(t.dtype())) {
    set_requires_grad(t, true);
  } else if (PyErr_WarnEx(PyExc_UserWarning,
                          str("from_numpy: requires_grad=True has no effect on ", t.dtype(),
                              " data, which has no gradient; use dtype=genesis.float32")
                              .c_str(),
                          1) < 0) {
    throw_python();
  }
  return t;
}

static const Family family({.kind = Kind::Create, .page = "creation"}, [] {
  def<"numpy(Tensor input, *, bool force=False) -> ndarray", [](Args& a) {
    return to_ndarray(a.boolean(1) ? ops::detach(a.tensor(0)) : a.tensor(0));
  }>(kMethod | kTool, "A NumPy array that shares the tensor's memory; force=True detaches first.");
  def<"__array__(Tensor input, DType? dtype=None, bool? copy=None) -> ndarray", as_array>(kMethod);
  def<"from_numpy(Any array, Any device=None, DType? dtype=None, bool requires_grad=False) -> Tensor", from_numpy>(
      kFunction | kTool,
      "A tensor that shares the memory of a NumPy array, unless another dtype is requested. Lists and numbers are "
      "copied.");
  def<"frombuffer(Any buffer, *, DType dtype, int count=-1, int offset=0, bool requires_grad=False) -> Tensor",
      [](Args& a) {
        std::string why;
        const Object bytes(PyObject_CallMethod(Object(PyMemoryView_FromObject(a[0])).get(), "cast", "s", "B"));
        const Tensor memory = share_buffer(bytes.get(), why);
        require(memory.defined(), "frombuffer: the memory cannot be shared, since ", why);
        const DType dtype = a.dtype(1);
        const int64_t item = itemsize(dtype), count = a.integer(2), offset = a.integer(3),
                      room = memory.numel() - offset;
        require(offset >= 0 && room >= 0, "frombuffer: offset ", offset, " is outside a buffer of ", memory.numel(),
                " bytes");
        require(count >= -1 && (count >= 0 || room % item == 0), "frombuffer: ", room,
                " bytes are not a multiple of the size of ", dtype, " elements");
        const int64_t n = count >= 0 ? count : room / item;
        require(n <= room / item, "frombuffer: ", n, " elements of ", dtype, " need more than the ", room,
                " bytes of the buffer");
        require((reinterpret_cast<uintptr_t>(memory->data) + static_cast<uintptr_t>(offset)) %
                        static_cast<uintptr_t>(item) ==
                    0,
                "frombuffer: the memory at offset ", offset, " is not aligned for ", dtype);
        Tensor t = alias(memory, {n * item}, {1}, offset);
        t->dtype = dtype;
        t->shape = Dims{n};
        t->geometry_changed();
        if (a.boolean(4)) set_requires_grad(t, true);
        return t;
      }>(kFunction | kTool, "A tensor that shares the memory of a buffer.");
});

}  // namespace genesis::py
