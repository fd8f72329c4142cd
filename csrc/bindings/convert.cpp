// Conversion between tensors and Python data: numbers, nested lists, bytes.
#include <cstring>

#include "autograd/record.h"
#include "bindings/args.h"
#include "bindings/module.h"
#include "core/exact.h"
#include "core/parallel.h"
#include "ops/create.h"
#include "ops/literal.h"
#include "ops/view.h"

namespace genesis::py {

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
    case DType::Float64: return *reinterpret_cast<const double*>(p);
    case DType::Complex64: return std::complex<double>(*reinterpret_cast<const std::complex<float>*>(p));
    case DType::Complex128: return *reinterpret_cast<const std::complex<double>*>(p);
    case DType::UInt16: return *reinterpret_cast<const uint16_t*>(p);
    case DType::UInt32: return *reinterpret_cast<const uint32_t*>(p);
    case DType::UInt64: {
      const uint64_t value = *reinterpret_cast<const uint64_t*>(p);
      return value <= INT64_MAX ? Scalar(static_cast<int64_t>(value)) : Scalar(static_cast<double>(value));
    }
    case DType::Float8E4M3: return to_float(*reinterpret_cast<const Float8E4M3*>(p));
    case DType::Float8E5M2: return to_float(*reinterpret_cast<const Float8E5M2*>(p));
  }
  return 0;
}

// Checks that there is one value, and that it can be read.
static void require_item(const Tensor& t) {
  require<ShapeError>(t.numel() == 1, "item: a tensor of shape ", t.shape(), " holds ", t.numel(),
                      " values; only one can be converted to a Python number. Use tolist(), or index it first");
  require_values(t, "item");
  capture::interrupt("the value of a tensor is read");
  if (t.meta()) fail_no_data();
}

Scalar tensor_item(const Tensor& t) {
  require_item(t);
  return read(t->data, t.dtype());
}

PyObject* scalar_to_python(Scalar s) {
  if (s.kind == Scalar::Bool) return PyBool_FromLong(s.i != 0);
  if (s.is_complex()) return PyComplex_FromDoubles(s.f, s.imaginary);
  return s.kind == Scalar::Int ? PyLong_FromLongLong(s.i) : PyFloat_FromDouble(s.f);
}

// A uint64 may be too large for a Scalar.
static PyObject* element(const char* p, DType t) {
  if (t == DType::UInt64) return PyLong_FromUnsignedLongLong(*reinterpret_cast<const uint64_t*>(p));
  return scalar_to_python(read(p, t));
}
constexpr int64_t kPace = int64_t{1} << 20;  // Python objects between checks for Ctrl-C

static PyObject* list_of(const Tensor& t, int d, const char* p) {
  if (d == t.dim()) return element(p, t.dtype());
  const int64_t n = t.size(d), step = t.stride(d) * itemsize(t.dtype());
  Object list(PyList_New(n));
  Pace pace(kPace);
  for (int64_t i = 0; i < n; ++i, pace.spend(1)) PyList_SET_ITEM(list.get(), i, list_of(t, d + 1, p + i * step));
  return list.release();
}

namespace {

// Nested lists: first the shape and the kind, then the values.
struct Nested {
  Dims shape;
  int kind = -1;               // the highest of Scalar::Kind seen
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
      for (Py_ssize_t i = 0; i < n; ++i, pace_.spend(1)) measure(PySequence_Fast_GET_ITEM(o, i), depth + 1);
      return;
    }
    leaf(depth);
    if (PyBool_Check(o)) kind = std::max(kind, 0);
    else if (PyLong_Check(o)) kind = std::max(kind, 1);
    else if (PyFloat_Check(o) && !(exact_torch && is_numpy_scalar(o))) kind = std::max(kind, 2);  // numpy.float64 too
    else if (PyComplex_Check(o) && !(exact_torch && is_numpy_scalar(o))) kind = 3;
    else if (is_numpy_scalar(o)) {
      const Object type(PyObject_GetAttrString(o, "dtype"));
      const DType t = to_dtype(type.get());
      // like an array of one element; float64 is Python's own precision and determines nothing
      if (t == DType::Float64 && !exact_torch) kind = std::max(kind, 2);
      else dtype = dtype ? promote(*dtype, t) : t;
    } else {
      throw_type_error(str("tensor: cannot make a number of ", Py_TYPE(o)->tp_name,
                           "; expected numbers, nested lists of numbers, "
                           "arrays or tensors"));
    }
  }
  void extend(int depth, int64_t n) {
    if (depth_known_ >= 0)
      require(depth < depth_known_, "tensor: the nested lists do not have the same depth everywhere");
    if (depth == shape.size()) shape.push_back(n);
    else
      require(shape[depth] == n, "tensor: the nested lists are ragged: expected length ", shape[depth], " at depth ",
              depth, ", got ", n, "; pad the short ones, or keep a list of tensors");
  }
  void leaf(int depth) {
    if (depth_known_ < 0) depth_known_ = depth;
    require(depth == depth_known_, "tensor: the nested lists do not have the same depth everywhere");
  }

 private:
  int depth_known_ = -1;
  Pace pace_{kPace};
};

template <class T>
T number(const Scalar& s) {
  if constexpr (std::is_same_v<T, std::complex<double>>) return s.to_complex();
  else if constexpr (std::is_same_v<T, double>) return s.to_double();
  else return s.to_int();
}

// The values in order. Raises for integers that the dtype cannot represent: they would wrap around.
template <class T>
void fill(PyObject* o, T*& out, DType dtype) {
  if (is_tensor(o) || is_ndarray(o)) {
    const Tensor t = ops::contiguous(is_tensor(o) ? unwrap(o) : from_ndarray(o));
    if (is_batched(o)) require_values(unwrap(o), "tensor");
    for (int64_t i = 0; i < t.numel(); ++i) {
      const Scalar s = read(t.data<char>() + i * itemsize(t.dtype()), t.dtype());
      *out++ = number<T>(s);
    }
  } else if (PyList_Check(o) || PyTuple_Check(o)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    Pace pace(kPace);
    for (Py_ssize_t i = 0; i < n; ++i, pace.spend(1)) fill(PySequence_Fast_GET_ITEM(o, i), out, dtype);
  } else if (std::is_same_v<T, double> && PyFloat_CheckExact(o) && is_floating(dtype)) {
    *out++ = T(PyFloat_AS_DOUBLE(o));
  } else {
    const Scalar s = to_scalar(o);
    if (is_integral(dtype) && dtype != DType::UInt64) ops::require_representable("tensor", s, dtype);
    *out++ = number<T>(s);
  }
}

bool is_sequence(PyObject* o) { return PyList_Check(o) || PyTuple_Check(o); }

std::optional<DType> given_dtype(PyObject* dtype) {
  return dtype && dtype != Py_None ? std::optional(to_dtype(dtype)) : std::nullopt;
}

Tensor from_array(const Tensor& t, std::optional<DType> dtype) {
  const DType inferred = t.dtype() == DType::Float64 && !exact_torch      ? default_dtype
                         : t.dtype() == DType::Complex128 && !exact_torch ? complex_type(default_dtype)
                                                                          : t.dtype();
  const DType type = dtype.value_or(inferred);
  return untracked(ops::contiguous(t.dtype() == type ? ops::clone(t) : ops::cast(t, type)));
}

// The dtype of nested lists: that of their arrays and tensors, promoted with that of their numbers.
DType inferred_type(const Nested& nested) {
  const DType type = nested.kind == 0   ? DType::Bool
                     : nested.kind == 1 ? DType::Int64
                     : nested.kind == 3 ? complex_type(default_dtype)
                                        : default_dtype;
  if (!nested.dtype) return type;
  return nested.kind < 0 ? *nested.dtype : promote(*nested.dtype, type);
}

// The values, read as T, then converted to `type`. A capture takes numbers of Python for constants of the program,
// which guards.py watches; those of arrays and tensors are not (`constant`).
template <class T>
Tensor from_values(PyObject* data, const Dims& shape, DType type, bool constant) {
  constexpr int64_t kMost = 1 << 16;
  if (capture::observer && constant && numel(shape) <= kMost) {
    std::vector<T> numbers(static_cast<size_t>(numel(shape)));
    T* p = numbers.data();
    fill(data, p, type);
    return untracked(ops::cast(ops::literal(numbers.data(), shape, dtype_of<T>), type));
  }
  Tensor values = empty(shape, dtype_of<T>);
  T* p = values.data<T>();
  fill(data, p, type);
  return untracked(ops::cast(values, type));
}

// A number, or nested lists of numbers, arrays and tensors.
Tensor from_nested(PyObject* data, std::optional<DType> dtype) {
  Nested nested;
  nested.measure(data, 0);
  const DType type = dtype.value_or(inferred_type(nested));
  if (nested.kind == 3 || (nested.dtype && is_complex(*nested.dtype))) {
    require<DTypeError>(is_complex(type), "tensor: complex numbers cannot be stored in a ", type,
                        " tensor; use dtype=genesis.complex64");
    return from_values<std::complex<double>>(data, nested.shape, type, !nested.dtype);
  }
  const bool floating =
      nested.kind == 2 || (nested.dtype && is_floating(*nested.dtype)) || (nested.kind < 0 && !nested.dtype);
  return floating ? from_values<double>(data, nested.shape, type, !nested.dtype)
                  : from_values<int64_t>(data, nested.shape, type, !nested.dtype);
}

}  // namespace

// A copy of `data` as a tensor of `dtype`, or of the inferred dtype: floats are float32 (also from NumPy's float64),
// integers keep their width, Python's are int64.
Tensor from_data(PyObject* data, PyObject* dtype) {
  const std::optional<DType> given = given_dtype(dtype);
  if (on_meta) {
    Tensor t;
    {
      const OnDevice cpu(false);
      t = is_tensor(data) ? unwrap(data) : from_data(data, dtype);
    }
    return untracked(empty(t.shape(), given.value_or(t.dtype())));
  }
  const WithGradMode off(false);
  if (is_tensor(data)) {
    const Tensor& t = unwrap(data);
    require_values(t, "tensor");
    return untracked(given && *given != t.dtype() ? ops::cast(t, *given) : ops::clone(t));
  }
  if (is_ndarray(data)) return from_array(from_ndarray(data), given);
  if (is_sequence(data) || is_number(data) || PyUnicode_Check(data)) return from_nested(data, given);
  if (PyObject_HasAttrString(data, "__array__") || PyObject_HasAttrString(data, "__array_interface__")) {
    const Object numpy(PyImport_ImportModule("numpy"));
    const Object array(PyObject_CallMethod(numpy.get(), "asarray", "O", data));
    return from_data(array.get(), dtype);
  }
  if (PyObject_CheckBuffer(data)) {  // bytes, memoryview, array.array
    const Tensor t = from_ndarray(data);
    return untracked(given ? ops::cast(ops::clone(t), *given) : ops::clone(t));
  }
  if (PySequence_Check(data)) {
    const Object list(PySequence_List(data));
    return from_data(list.get(), dtype);
  }
  return from_nested(data, given);  // raises
}

// `data` itself if it is a tensor, a tensor that shares its memory if it is an array, otherwise a copy. `shared` says
// which.
static Tensor view_of(PyObject* data, PyObject* dtype, bool& shared) {
  const bool given = dtype && dtype != Py_None;
  shared = true;
  Tensor t;
  if (on_meta && !(is_tensor(data) && unwrap(data).meta())) {
    shared = false;
    return from_data(data, dtype);
  }
  if (is_tensor(data)) {
    t = unwrap(data);
  } else if (is_ndarray(data) || (PyObject_CheckBuffer(data) && !is_number(data))) {
    bool copied = false;
    t = from_ndarray(data, true, &copied);
    shared = !copied;
  } else {
    shared = false;
    return from_data(data, dtype);
  }
  if (given && to_dtype(dtype) != t.dtype()) {
    shared = false;
    t = ops::cast(t, to_dtype(dtype));
  }
  return t;
}

static Tensor asarray(Args& a) {
  // asarray(obj, dtype, device, copy, requires_grad)
  a.device(2);
  const bool must = a.has(3) && a.boolean(3), never = a.has(3) && !must;
  bool shared;
  Tensor t = view_of(a[0], a[1], shared);
  require(shared || !never,
          "asarray: copy=False, but this object cannot be shared as a tensor of that dtype; use copy=None");
  const bool grad = a.boolean(4);
  if (shared && must) t = ops::clone(t);
  if (requires_grad(t) && !grad) t = ops::detach(t);
  if (grad && !requires_grad(t)) {
    if (shared && !must) t = ops::detach(t);  // the original object keeps its own flag
    set_requires_grad(t, true);
  }
  return t;
}

// Classes whose elements are not in the memory of the object (sparse tensors) have a method that copies them; null if
// the class of `data` has none.
static Object copy_of_subclass(PyObject* data, PyObject* dtype) {
  if (!is_tensor(data) || !overrides(data)) return {};
  static PyObject* const name = PyUnicode_InternFromString("_copied");
  const Object method = Object::maybe(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(data)), name));
  if (!method) {
    PyErr_Clear();
    return {};
  }
  return Object(PyObject_CallFunctionObjArgs(method.get(), data, dtype ? dtype : Py_None, nullptr));
}

static const Family family({.kind = Kind::Create, .page = "creation"}, [] {
  def<"is_nonzero(Tensor input) -> bool", [](Args& a) { return tensor_item(a.tensor(0)).to_bool(); }>(
      kBoth | kTool, "Whether the single element of a tensor is not zero.");
  def<"item(Tensor input) -> Scalar", [](Args& a) {
    const Tensor& t = a.tensor(0);
    require_item(t);
    return element(t->data, t.dtype());
  }>(kMethod | kTool, "The value of a tensor of one element, as a Python number.");
  def<"tolist(Tensor input) -> Any", [](Args& a) { return list_of(a.tensor(0), 0, a.tensor(0).data<char>()); }>(
      kMethod | kTool, "The values as nested lists; of a 0-d tensor, its number.");
  def<"tensor(Any data, *, DType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor", [](Args& a) {
    a.device(2);
    const Object copied = copy_of_subclass(a[0], a[1]);
    Tensor t = copied ? unwrap(copied.get()) : from_data(a[0], a[1]);
    if (a.boolean(3)) set_requires_grad(t, true);
    return t;
  }>(kFunction, "A tensor that holds a copy of `data`: numbers, nested lists, arrays or tensors.");
  def<"as_tensor(Any data, DType? dtype=None, Device? device=None) -> Tensor", [](Args& a) {
    a.device(2);
    bool shared;
    return view_of(a[0], a[1], shared);
  }>(kFunction, "`data` as a tensor: itself, or on the same memory where that is possible, else a copy.");
  def<"asarray(Any obj, *, DType? dtype=None, Device? device=None, bool? copy=None, bool requires_grad=False) -> "
      "Tensor",
      asarray>(kFunction, "`obj` as a tensor; copy=True always copies, copy=False never, None where needed.");

  // For nn.Parameter, copy and pickle.
  def<"_make_subclass(Any cls, Tensor data, bool requires_grad=False, bool parameter=False) -> Tensor", [](Args& a) {
    if (!PyType_Check(a[0]) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(a[0]), TensorType))
      a.fail(0, "a subclass of Tensor");
    Tensor t = alias(a.tensor(1));
    if (a.boolean(2)) set_requires_grad(t, true);
    t->parameter = a.boolean(3);
    return wrap_as(reinterpret_cast<PyTypeObject*>(a[0]), std::move(t));
  }>(kFunction | kTool);
  def<"_is_parameter(Tensor input) -> bool", [](Args& a) { return static_cast<bool>(a.tensor(0)->parameter); }>(
      kMethod | kTool);
  def<"_to_bytes(Tensor input) -> bytes", [](Args& a) {
    const WithGradMode off(false);
    const Tensor t = ops::contiguous(a.tensor(0));
    return PyBytes_FromStringAndSize(t.data<char>(), t.numel() * itemsize(t.dtype()));
  }>(kFunction | kTool);
  def<"_from_bytes(Any data, DType dtype, int[] shape) -> Tensor", [](Args& a) {
    if (!PyBytes_Check(a[0])) a.fail(0, "bytes");
    Tensor t = empty(a.dims(2), a.dtype(1));
    require(PyBytes_GET_SIZE(a[0]) == t.numel() * itemsize(t.dtype()), "unpickling: ", PyBytes_GET_SIZE(a[0]),
            " bytes do not make a ", t.dtype(), " tensor of shape ", t.shape());
    std::memcpy(t.data<char>(), PyBytes_AS_STRING(a[0]), static_cast<size_t>(PyBytes_GET_SIZE(a[0])));
    return t;
  }>(kFunction | kTool);
});

}  // namespace genesis::py
