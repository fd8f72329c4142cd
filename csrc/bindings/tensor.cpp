// The type Tensor: its slots and properties. The files of each family add methods (def<...>(kMethod)).
#include "autograd/meta.h"
#include "bindings/args.h"
#include "bindings/module.h"
#include "bindings/observed.h"
#include "bindings/size.h"
#include "bindings/subscript.h"
#include "core/exact.h"
#include "ops/complex.h"
#include "ops/create.h"
#include "ops/view.h"

namespace genesis::py {

int get_buffer(PyObject* o, Py_buffer* view, int flags);
void release_tensor_buffer(PyObject*, Py_buffer* view);

namespace {

// ---- numbers ------------------------------------------------------------------------------------------------------
//
// A Python operator is a call of the operator's method: it is parsed and dispatched in the same way.

// The types that an operator accepts on either side. For others, NotImplemented lets Python try their operator.
bool takes(PyObject* o) {
  return Py_TYPE(o) == TensorType || PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o) || is_tensor(o) ||
         is_numpy_scalar(o) || is_ndarray(o) || overrides(o);
}

// `reflected` is the method that the user called if the first argument is not a tensor; null if the operator commutes.
PyObject* intercept(const Operator& op, Args& a, PyObject* x, PyObject* y, const char* reflected) {
  PyObject* args[] = {x, y};
  if (y && !is_tensor(x) && is_tensor(y)) std::swap(args[0], args[1]);
  const bool swapped = args[0] != x;
  const Object function = swapped && reflected
                              ? Object(PyObject_GetAttrString(reinterpret_cast<PyObject*>(TensorType), reflected))
                              : Object::borrow(op.method);
  return dispatch(op, a, {nullptr, args, y ? 2 : 1, nullptr}, function.get());
}

template <FixedString Name>
inline constinit const Operator* named_operator = nullptr;
template <FixedString Name>
const Operator& operator_of() {
  if (!named_operator<Name>) [[unlikely]]
    named_operator<Name> = &operator_named(Name.text);
  return *named_operator<Name>;
}

[[gnu::always_inline]] inline PyObject* call_operator(const Operator& op, PyObject* x, PyObject* y, bool overridden,
                                                      const char* reflected) {
  return guarded_as(op.sig.name.c_str(), [&]() -> PyObject* {
    Args a(op, x, y, overridden);
    if (a.intercepted()) [[unlikely]]
      return intercept(op, a, x, y, reflected);
    return op.body(a);
  });
}
// Two operands, one of which may have any type.
PyObject* call_mixed(const Operator& op, PyObject* x, PyObject* y, const char* reflected) {
  if (!takes(x) || !takes(y)) Py_RETURN_NOTIMPLEMENTED;
  return call_operator(op, x, y, overrides(x) || overrides(y), reflected);
}
bool plain(PyObject* o) { return Py_TYPE(o) == TensorType || PyFloat_CheckExact(o); }
[[gnu::always_inline]] inline PyObject* call_binary(const Operator& op, PyObject* x, PyObject* y,
                                                    const char* reflected) {
  if (plain(x) && plain(y)) [[likely]]
    return call_operator(op, x, y, false, reflected);
  return call_mixed(op, x, y, reflected);
}

template <FixedString Name, FixedString Reflected>
PyObject* binary(PyObject* x, PyObject* y) {
  return call_binary(operator_of<Name>(), x, y, Reflected.text[0] ? Reflected.text : nullptr);
}
template <FixedString Name>
PyObject* inplace(PyObject* x, PyObject* y) {
  return call_binary(operator_of<Name>(), x, y, nullptr);
}
template <FixedString Name>
PyObject* unary(PyObject* x) {
  return call_operator(operator_of<Name>(), x, nullptr, overrides(x), nullptr);
}

PyObject* matmul_slot(PyObject* x, PyObject* y) {
  const auto number = [](PyObject* o) { return !is_tensor(o) && is_number(o); };
  if (number(x) || number(y))
    return raise(PyExc_TypeError, "matmul: both operands must be tensors, got a number; use * for numbers");
  return binary<"matmul", "__rmatmul__">(x, y);
}

// The third argument belongs to pow(x, y, modulus), which tensors do not support.
PyObject* power_slot(PyObject* x, PyObject* y, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<"pow", "__rpow__">(x, y);
}
PyObject* inplace_power_slot(PyObject* x, PyObject* y, PyObject*) { return inplace<"pow_">(x, y); }

// Also for bools.
PyObject* positive_slot(PyObject* x) { return Py_NewRef(x); }

PyObject* divmod_slot(PyObject* x, PyObject* y) {
  const Object quotient = Object::maybe(binary<"floor_divide", "__rfloordiv__">(x, y));
  if (!quotient || quotient.get() == Py_NotImplemented) return Object(quotient).release();
  const Object rest = Object::maybe(binary<"remainder", "__rmod__">(x, y));
  return rest ? PyTuple_Pack(2, quotient.get(), rest.get()) : nullptr;
}

PyObject* compare_slot(PyObject* x, PyObject* y, int op) {
  // Objects that are neither tensors nor numbers are not comparable: x == None is False, x < None a TypeError.
  const Operator& wanted = op == Py_EQ   ? operator_of<"eq">()
                           : op == Py_NE ? operator_of<"ne">()
                           : op == Py_LT ? operator_of<"lt">()
                           : op == Py_LE ? operator_of<"le">()
                           : op == Py_GT ? operator_of<"gt">()
                                         : operator_of<"ge">();
  return call_binary(wanted, x, y, nullptr);
}

// ---- slots that are not operators -----------------------------------------------------------------------------------

// f(), which is Tensor.name(*args), unless it is overridden; observers see it as `op`, or not at all if that is null.
template <class F>
PyObject* slot_call(const char* name, const char* op, std::initializer_list<PyObject*> args, F&& f) {
  if (!slot_overridden(*args.begin()) && !(args.size() > 1 && overrides(args.begin()[args.size() - 1]))) [[likely]]
    return f();
  return guarded([&]() -> PyObject* {
    if (PyObject* result = override_slot(name, nullptr, {args.begin(), args.size()})) return result;
    if (op && !unwrap(*args.begin()).meta() && any_on_meta({args.begin() + 1, 1})) fail_devices(op);
    const OnDevice device(any_on_meta({args.begin(), args.size()}));
    return op && dispatch_bit(kObserve) ? observed_as(op, args, f) : f();
  });
}
// The same for slots that return an int: 0 and 1 are the truth value of the object.
template <class F>
int slot_int(const char* name, std::initializer_list<PyObject*> args, F&& f) {
  if (!slot_overridden(*args.begin())) [[likely]]
    return f();
  return guarded_int([&]() -> int {
    const Object result = Object::maybe(override_slot(name, nullptr, {args.begin(), args.size()}));
    const OnDevice device(any_on_meta({args.begin(), args.size()}));
    return result ? PyObject_IsTrue(result.get()) : f();
  });
}

PyObject* subscript_slot(PyObject* self, PyObject* key) {
  if (Py_TYPE(self) == TensorType && PyLong_CheckExact(key) && !anything_on()) [[likely]]
    return tensor_subscript(self, key);
  return slot_call("__getitem__", "index", {self, key}, [&] { return tensor_subscript(self, key); });
}
int assign_slot(PyObject* self, PyObject* key, PyObject* value) {
  const auto assign = [&]() -> PyObject* {
    if (tensor_ass_subscript(self, key, value) < 0) return nullptr;
    return Py_NewRef(self);
  };
  PyObject* done = value ? slot_call("__setitem__", "index_put_", {self, key, value}, assign) : assign();
  Py_XDECREF(done);
  return done ? 0 : -1;
}
int contains_slot(PyObject* self, PyObject* value) {
  return slot_int("__contains__", {self, value}, [&] { return tensor_contains(self, value); });
}
PyObject* iter_slot(PyObject* self) {
  return slot_call("__iter__", nullptr, {self}, [&] { return tensor_iter(self); });
}

int truth(PyObject* a) {
  return slot_int("__bool__", {a}, [&] {
    return guarded_int([&] {
      const Tensor& t = unwrap(a);
      require(t.numel() == 1, "the truth value of a tensor of shape ", t.shape(), " with ", t.numel(),
              " elements is ambiguous; use any(), all() or item()");
      return static_cast<int>(tensor_item(t).to_bool());
    });
  });
}
// The one number of a tensor; as in PyTorch, a complex one without an imaginary part counts as real.
Scalar real_item(PyObject* a) {
  const Scalar s = tensor_item(unwrap(a));
  return s.is_complex() && s.imaginary == 0 ? Scalar(s.f) : s;
}
PyObject* as_float(PyObject* a) {
  return slot_call("__float__", nullptr, {a},
                   [&] { return guarded([&] { return PyFloat_FromDouble(real_item(a).to_double()); }); });
}
PyObject* as_int(PyObject* a) {
  return slot_call("__int__", nullptr, {a}, [&] {
    return guarded([&]() -> PyObject* {
      const Scalar s = real_item(a);
      return s.is_inexact() ? PyLong_FromDouble(s.to_double()) : PyLong_FromLongLong(s.i);
    });
  });
}
PyObject* as_index(PyObject* a) {
  return slot_call("__index__", nullptr, {a}, [&] {
    return guarded([&]() -> PyObject* {
      const Tensor& t = unwrap(a);
      if (t.numel() != 1 || !is_integral(t.dtype()))
        throw_type_error(str("only an integer tensor with one element can be used as an index, got ", t.dtype(),
                             " of shape ", t.shape()));
      return PyLong_FromLongLong(tensor_item(t).to_int());
    });
  });
}

// ---- sequence -----------------------------------------------------------------------------------------------------

Py_ssize_t length(PyObject* a) {
  if (slot_overridden(a)) [[unlikely]] {
    const Object n = Object::maybe(guarded([&] { return override_slot("__len__", nullptr, {&a, 1}); }));
    if (n) return PyLong_AsSsize_t(n.get());
    if (PyErr_Occurred()) return -1;
  }
  const Tensor& t = unwrap(a);
  if (t.dim() == 0) {
    PyErr_SetString(PyExc_TypeError,
                    "len() of a 0-d tensor, which has no dimension; use x.item() for its number, x.numel() for 1");
    return -1;
  }
  return t.size(0);
}

// ---- properties ---------------------------------------------------------------------------------------------------

const Tensor& self_of(PyObject* o) { return unwrap(o); }

PyObject* get_grad(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    TensorMeta* m = meta_if_any(self_of(o));
    if (m && m->grad.defined()) return wrap(m->grad);
    Node* node = requires_grad(self_of(o)) ? grad_fn(self_of(o)) : nullptr;
    if (node && !(m && m->retains_grad) &&
        PyErr_WarnFormat(PyExc_UserWarning, 1,
                         "grad: a tensor made by %s is no leaf, and backward() keeps the gradients of leaves "
                         "only; call retain_grad() on it before backward(), or read .grad of what it was made from",
                         node->name().c_str()) < 0)
      return nullptr;
    Py_RETURN_NONE;
  });
}
PyObject* get_writer(PyObject* o, void*) {
  const char* writer = self_of(o)->storage->writer;
  if (!writer) Py_RETURN_NONE;
  return PyUnicode_FromString(writer);
}
int set_grad(PyObject* o, PyObject* value, void*) {
  return guarded_int([&] {
    const Tensor& t = self_of(o);
    if (!value || value == Py_None) {
      if (TensorMeta* m = meta_if_any(t)) m->grad = Tensor();
      return 0;
    }
    if (!is_tensor(value)) throw_type_error(str("grad: must be a Tensor or None, got ", Py_TYPE(value)->tp_name));
    const Tensor& g = unwrap(value);
    require(g.shape() == t.shape(), "grad: shape ", g.shape(), " does not fit the tensor's shape ", t.shape());
    require<DTypeError>(g.dtype() == t.dtype(), "grad: dtype ", g.dtype(), " does not fit the tensor's dtype ",
                        t.dtype());
    require(!g.same(t), "grad: a tensor cannot be its own gradient");
    meta(t).grad = g;
    return 0;
  });
}
int set_requires(PyObject* o, PyObject* value, void*) {
  return guarded_int([&] {
    const int on = value ? PyObject_IsTrue(value) : -1;
    if (on < 0) throw_type_error("requires_grad: must be a bool");
    set_requires_grad(self_of(o), on != 0);
    return 0;
  });
}
int set_data(PyObject* o, PyObject* value, void*) {
  return guarded_int([&] {
    if (!value || !is_tensor(value)) throw_type_error("data: must be a Tensor");
    TensorImpl* to = self_of(o).impl();
    TensorImpl* from = unwrap(value).impl();
    require<GraphError>(
        !(meta_if_any(self_of(o)) && meta_if_any(self_of(o))->base.defined()) || !requires_grad(self_of(o)),
        "data: cannot be set on a view that requires grad");
    to->take_contents(*from);
    return 0;
  });
}
// x.real = value and x.imag = value, also in a graph.
int set_part(PyObject* o, PyObject* value, bool imaginary) {
  return guarded_int([&] {
    const char* name = imaginary ? "imag" : "real";
    const Tensor& x = self_of(o);
    if (!value) throw_type_error(str(name, ": cannot be deleted"));
    if (!is_tensor(value) && !is_number(value))
      throw_type_error(str(name, ": must be a Tensor or a number, got ", Py_TYPE(value)->tp_name));
    const Tensor given = is_tensor(value) ? unwrap(value) : ops::scalar_tensor(to_scalar(value), real_type(x.dtype()));
    if (!is_complex(x.dtype())) {
      ops::real(x);
      if (imaginary) ops::imag(x);  // raises
      ops::copy_(x, given);
    } else if (!tracked(x) && !tracked(given)) {
      ops::copy_(imaginary ? ops::imag(x) : ops::real(x), given);
    } else {
      const Tensor part = ops::cast(given, real_type(x.dtype()));
      ops::copy_(x, imaginary ? ops::complex(ops::real(x), part) : ops::complex(part, ops::imag(x)));
    }
    return 0;
  });
}
int set_real(PyObject* o, PyObject* value, void*) { return set_part(o, value, false); }
int set_imag(PyObject* o, PyObject* value, void*) { return set_part(o, value, true); }
PyObject* get_hooks(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    const Tensor& t = self_of(o);
    Object list(PyList_New(0));
    const auto add = [&](const Ref<Hook>& h) {
      if (h->object()) PyList_Append(list.get(), static_cast<PyObject*>(h->object()));
    };
    if (Node* node = grad_fn(t)) {
      if (NodeExtras* extras = node->extras_if_any())
        for (const auto& h : extras->output_hooks)
          if (h.index == t->output_index) add(h.hook);
    } else if (TensorMeta* m = meta_if_any(t)) {
      for (const auto& h : m->hooks) add(h);
    }
    return list.release();
  });
}
PyObject* get_base(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    TensorMeta* m = meta_if_any(self_of(o));
    if (!m || !m->base.defined()) Py_RETURN_NONE;
    return wrap(m->base);
  });
}
Tensor transposed(const Tensor& t) {
  Dims dims;
  for (int d = t.dim() - 1; d >= 0; --d) dims.push_back(d);
  return ops::permute(t, dims);
}
Tensor matrix_transposed(const char* name, const Tensor& t) {
  require(t.dim() >= 2, name, ": needs a tensor of at least 2 dimensions, got shape ", t.shape());
  return ops::transpose(t, -2, -1);
}
Tensor adjoint(const Tensor& t) {
  require(t.dim() == 2 || t.dim() == 0, "H: needs a matrix, got shape ", t.shape(), "; use mT");
  return transposed(t);
}
// The getter and the setter of a property, whose name is the closure, unless they are overridden.
template <auto Get>
PyObject* getter(PyObject* o, void* name) {
  if (slot_overridden(o)) [[unlikely]] {
    PyObject* result = guarded([&] { return override_slot(static_cast<const char*>(name), "__get__", {&o, 1}); });
    if (result || PyErr_Occurred()) return result;
  }
  return Get(o, nullptr);
}
template <auto Set>
int setter(PyObject* o, PyObject* value, void* name) {
  if (value && slot_overridden(o)) [[unlikely]] {
    PyObject* args[] = {o, value};
    const Object done =
        Object::maybe(guarded([&] { return override_slot(static_cast<const char*>(name), "__set__", args); }));
    if (done) return 0;
    if (PyErr_Occurred()) return -1;
  }
  return Set(o, value, nullptr);
}
template <auto F>
PyObject* computed(PyObject* o, void*) {
  return guarded([&] { return to_python(F(self_of(o))); });
}
template <auto F>
PyObject* prop(PyObject* o, void* name) {
  return getter<computed<F>>(o, name);
}
PyObject* incref(PyObject* o) {
  Py_INCREF(o);
  return o;
}

// x.data. As in PyTorch, writes through it have a separate version counter: the check for modified saved tensors does
// not detect them.
Tensor data_of(const Tensor& t) {
  Tensor y = ops::detach(t);
  if (!exact_torch) return y;
  Storage* memory = y->storage;
  memory->retain();
  Storage* apart = Storage::borrow(memory->data, memory->nbytes, memory,
                                   [](void* owner) { static_cast<Storage*>(owner)->release(); });
  apart->writable = memory->writable;
  apart->meta = memory->meta;
  TensorImpl* impl = TensorImpl::create(apart, y->data, y.dtype());
  impl->shape = y->shape;
  impl->strides = y->strides;
  impl->geometry_changed();
  impl->inference = y->inference;
  return Tensor::adopt(impl);
}

PyGetSetDef getset[] = {
    {"shape", prop<[](const Tensor& t) { return size_tuple(t.shape()); }>, nullptr, "The sizes of the dimensions.",
     nullptr},
    {"size", prop<[](const Tensor& t) { return size_property(t); }>, nullptr,
     "The number of elements; called, size() is the shape and size(dim) one size.", nullptr},
    {"stride", prop<[](const Tensor& t) { return stride_property(t); }>, nullptr,
     "The steps between elements, in elements; stride() is the same tuple, stride(dim) one of them.", nullptr},
    {"ndim", prop<[](const Tensor& t) { return static_cast<int64_t>(t.dim()); }>, nullptr, "The number of dimensions.",
     nullptr},
    {"dtype", prop<[](const Tensor& t) { return incref(dtype_object(t.dtype())); }>, nullptr,
     "The type of the elements.", nullptr},
    {"device", prop<[](const Tensor& t) { return incref(device_object(t.meta())); }>, nullptr,
     "Where the tensor lives.", nullptr},
    {"itemsize", prop<[](const Tensor& t) { return itemsize(t.dtype()); }>, nullptr, "Bytes of one element.", nullptr},
    {"nbytes", prop<[](const Tensor& t) {
       int64_t bytes;
       require(!__builtin_mul_overflow(t.numel(), itemsize(t.dtype()), &bytes), "nbytes: the elements of shape ",
               t.shape(), " have more bytes than can be counted");
       return bytes;
     }>,
     nullptr, "Bytes of all elements.", nullptr},
    {"requires_grad", prop<[](const Tensor& t) { return requires_grad(t); }>, setter<set_requires>,
     "Whether gradients are computed for it.", nullptr},
    {"is_leaf", prop<[](const Tensor& t) { return !requires_grad(t) || grad_fn(t) == nullptr; }>, nullptr,
     "Whether it was made by the user rather than by a recorded operation.", nullptr},
    {"retains_grad", prop<[](const Tensor& t) { return meta_if_any(t) && meta_if_any(t)->retains_grad; }>, nullptr,
     "Whether retain_grad() was called.", nullptr},
    {"grad", getter<get_grad>, setter<set_grad>, "The gradient, or None.", nullptr},
    {"grad_fn", prop<[](const Tensor& t) { return node_object(grad_fn(t)); }>, nullptr, "The node that made it.",
     nullptr},
    {"creator", prop<[](const Tensor& t) { return node_object(grad_fn(t)); }>, nullptr, "The node that made it.",
     nullptr},
    {"inputs", prop<[](const Tensor& t) { return node_inputs(grad_fn(t)); }>, nullptr,
     "The inputs of the node that made it: tensors where the graph keeps them, else None.", nullptr},
    {"data", prop<data_of>, setter<set_data>, "The same memory outside the graph.", nullptr},
    {"hooks", get_hooks, nullptr, "The hooks registered on it.", nullptr},
    {"_base", getter<get_base>, nullptr, "The tensor that this one is a view of, or None.", nullptr},
    {"_version", prop<[](const Tensor& t) { return static_cast<int64_t>(t->storage->version); }>, nullptr,
     "How often its memory was written in place.", nullptr},
    {"_writer", get_writer, nullptr, "The operation that wrote to its memory last, or None.", nullptr},
    {"T", prop<[](const Tensor& t) { return transposed(t); }>, nullptr, "The dimensions in reverse order.", nullptr},
    {"mT", prop<[](const Tensor& t) { return matrix_transposed("mT", t); }>, nullptr,
     "The last two dimensions swapped.", nullptr},
    {"mH", prop<[](const Tensor& t) { return ops::conj(matrix_transposed("mH", t)); }>, nullptr,
     "The last two dimensions swapped, conjugated.", nullptr},
    {"real", prop<[](const Tensor& t) { return ops::real(t); }>, setter<set_real>,
     "The real part, a view; a real tensor itself.", nullptr},
    {"imag", prop<[](const Tensor& t) { return ops::imag(t); }>, setter<set_imag>,
     "The imaginary part of a complex tensor, a view.", nullptr},
    {"is_cpu", prop<[](const Tensor& t) { return !t.meta(); }>, nullptr, "Whether the tensor lives on a CPU.", nullptr},
    {"is_cuda", prop<[](const Tensor&) { return false; }>, nullptr, "Whether the tensor lives on a GPU.", nullptr},
    {"is_meta", prop<[](const Tensor& t) { return t.meta(); }>, nullptr, "Whether the tensor has no memory.", nullptr},
    {"__cuda_array_interface__",
     [](PyObject*, void*) -> PyObject* {
       return raise(PyExc_AttributeError,
                    "__cuda_array_interface__: the tensor is in the memory of the CPU; use numpy()");
     },
     nullptr, nullptr, nullptr},
    {"output_nr", prop<[](const Tensor& t) { return static_cast<int64_t>(t->output_index); }>, nullptr,
     "Which output of its grad_fn it is.", nullptr},
    {"H", prop<[](const Tensor& t) { return ops::conj(adjoint(t)); }>, nullptr, "The conjugate transpose of a matrix.",
     nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weakrefs), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, dict), READONLY, nullptr},
                         {}};

// Tensor(array, device=None, dtype=None, requires_grad=False); also Tensor(2, 3), uninitialized as in PyTorch.
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const Operator constructor{
        Signature("Tensor(Any array=(), Device? device=None, DType? dtype=None, bool requires_grad=False, *, int[]? "
                  "shape=None, int[]? stride=None, int offset=0, Any? tensor_id=None) -> Tensor"),
        nullptr,
        nullptr,
        kFunction,
        nullptr,
        {},
        false};
    Object kwnames, values(PyList_New(0));
    std::vector<PyObject*> all;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) all.push_back(PyTuple_GET_ITEM(args, i));
    const auto positional = static_cast<Py_ssize_t>(all.size());
    if (kwargs && PyDict_GET_SIZE(kwargs) > 0) {
      Object keys(PyList_New(0));
      PyObject *key, *value;
      Py_ssize_t at = 0;
      while (PyDict_Next(kwargs, &at, &key, &value)) {
        PyList_Append(keys.get(), key);
        all.push_back(value);
      }
      kwnames = Object(PyList_AsTuple(keys.get()));
    }
    bool sizes = positional > 1 || (exact_torch && positional == 1);
    if (exact_torch && positional == 1 && is_size(all[0]) && !kwnames) {  // Tensor(x.shape) is Tensor(*x.shape)
      PyObject* size = all[0];
      all.assign(PySequence_Fast_ITEMS(size), PySequence_Fast_ITEMS(size) + PyTuple_GET_SIZE(size));
    }
    for (size_t i = 0; i < all.size() && sizes; ++i) sizes = PyLong_Check(all[i]) && !PyBool_Check(all[i]);
    if (sizes && !kwnames) {
      Dims shape;
      for (PyObject* o : all) shape.push_back(to_index(o, "Tensor"));
      if (meta_by_default()) note_meta_tensors();
      const OnDevice device(meta_by_default());
      return wrap_as(type, empty(shape, default_dtype));
    }
    Args a(constructor, nullptr, all.data(), positional, kwnames.get());
    a.device(1);
    require(!a.has(7),
            "Tensor: tensor_id is the number of a tensor on a server, but tensors are in this process; pass "
            "the values, or a shape");
    const OnDevice device(a.on_meta_device());
    const Dims shape = a.has(4) ? a.dims(4) : Dims{0};
    // PyTorch's constructor only creates tensors of the default dtype.
    PyObject* dtype = exact_torch && a[0] && !a[2] && !is_tensor(a[0]) ? dtype_object(default_dtype) : a[2];
    Tensor t = a[0] ? from_data(a[0], dtype) : empty(shape, a.has(2) ? a.dtype(2) : default_dtype);
    if (a[0] && (a.has(4) || a.has(5) || a.has(6))) {
      const Dims sizes = a.has(4) ? shape : t.shape();
      t = ops::as_strided(t, sizes, a.has(5) ? a.dims(5) : contiguous_strides(sizes), a.integer(6));
    }
    if (a.boolean(3)) set_requires_grad(t, true);
    return wrap_as(type, std::move(t));
  });
}

Py_hash_t hash(PyObject* o) { return _Py_HashPointer(o); }

PyObject* repr(PyObject* o) {
  if (slot_overridden(o)) [[unlikely]] {
    PyObject* text = guarded([&] { return override_slot("__repr__", nullptr, {&o, 1}); });
    if (text || PyErr_Occurred()) return text;
  }
  const Object printing = Object::maybe(PyImport_ImportModule("genesis._printing"));
  if (!printing) return nullptr;
  return PyObject_CallMethod(printing.get(), "tensor_str", "O", o);
}

template <class F>
void* slot(F* f) {
  return reinterpret_cast<void*>(f);
}

}  // namespace

void init_tensor_type(PyObject* module) {
  for (PyGetSetDef* g = getset; g->name; ++g) g->closure = const_cast<char*>(g->name);
  foreign_retain = [](void* o) { Py_INCREF(static_cast<PyObject*>(o)); };
  foreign_release = [](void* o) { Py_DECREF(static_cast<PyObject*>(o)); };
  static PyType_Slot slots[] = {
      {Py_tp_new, slot(tensor_new)},
      {Py_tp_dealloc, slot(tensor_dealloc)},
      {Py_tp_traverse, slot(tensor_traverse)},
      {Py_tp_clear, slot(tensor_clear)},
      {Py_tp_repr, slot(repr)},
      {Py_tp_hash, slot(hash)},
      {Py_tp_richcompare, slot(compare_slot)},
      {Py_tp_getset, getset},
      {Py_tp_members, members},
      {Py_bf_getbuffer, slot(get_buffer)},
      {Py_bf_releasebuffer, slot(release_tensor_buffer)},
      {Py_mp_length, slot(length)},
      {Py_sq_length, slot(length)},
      {Py_mp_subscript, slot(subscript_slot)},
      {Py_mp_ass_subscript, slot(assign_slot)},
      {Py_sq_item, slot(tensor_item_at)},
      {Py_tp_iter, slot(iter_slot)},
      {Py_sq_contains, slot(contains_slot)},
      {Py_nb_add, slot(binary<"add", "">)},
      {Py_nb_subtract, slot(binary<"sub", "__rsub__">)},
      {Py_nb_multiply, slot(binary<"mul", "">)},
      {Py_nb_true_divide, slot(binary<"div", "__rtruediv__">)},
      {Py_nb_floor_divide, slot(binary<"floor_divide", "__rfloordiv__">)},
      {Py_nb_remainder, slot(binary<"remainder", "__rmod__">)},
      {Py_nb_divmod, slot(divmod_slot)},
      {Py_nb_and, slot(binary<"bitwise_and", "">)},
      {Py_nb_or, slot(binary<"bitwise_or", "">)},
      {Py_nb_xor, slot(binary<"bitwise_xor", "">)},
      {Py_nb_lshift, slot(binary<"bitwise_left_shift", "__rlshift__">)},
      {Py_nb_rshift, slot(binary<"bitwise_right_shift", "__rrshift__">)},
      {Py_nb_invert, slot(unary<"bitwise_not">)},
      {Py_nb_inplace_floor_divide, slot(inplace<"floor_divide_">)},
      {Py_nb_inplace_remainder, slot(inplace<"remainder_">)},
      {Py_nb_inplace_and, slot(inplace<"bitwise_and_">)},
      {Py_nb_inplace_or, slot(inplace<"bitwise_or_">)},
      {Py_nb_inplace_xor, slot(inplace<"bitwise_xor_">)},
      {Py_nb_inplace_lshift, slot(inplace<"bitwise_left_shift_">)},
      {Py_nb_inplace_rshift, slot(inplace<"bitwise_right_shift_">)},
      {Py_nb_matrix_multiply, slot(matmul_slot)},
      {Py_nb_power, slot(power_slot)},
      {Py_nb_inplace_power, slot(inplace_power_slot)},
      {Py_nb_absolute, slot(unary<"abs">)},
      {Py_nb_negative, slot(unary<"neg">)},
      {Py_nb_positive, slot(positive_slot)},
      {Py_nb_inplace_add, slot(inplace<"add_">)},
      {Py_nb_inplace_subtract, slot(inplace<"sub_">)},
      {Py_nb_inplace_multiply, slot(inplace<"mul_">)},
      {Py_nb_inplace_true_divide, slot(inplace<"div_">)},
      {Py_nb_bool, slot(truth)},
      {Py_nb_float, slot(as_float)},
      {Py_nb_int, slot(as_int)},
      {Py_nb_index, slot(as_index)},
      {Py_tp_doc, const_cast<char*>("Tensor(array, device=None, dtype=None, requires_grad=False)\n--\n\n"
                                    "An n-dimensional array that can record how it was computed.")},
      {0, nullptr}};
  static PyType_Spec spec{"genesis.Tensor", sizeof(PyTensor), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  TensorType = reinterpret_cast<PyTypeObject*>(Object(PyType_FromSpec(&spec)).release());
  PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(TensorType));
}

}  // namespace genesis::py
