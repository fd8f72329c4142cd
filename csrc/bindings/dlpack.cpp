// DLPack: memory shared with other array libraries, through a capsule that holds a C struct and its release function.
//
// Both forms are supported: that of DLPack 1.x ("dltensor_versioned"), and the older one without version and flags
// ("dltensor"), which cannot say that memory is read-only. The structs follow the published ABI
// (https://dmlc.github.io/dlpack/latest/c_api.html).
#include <cstring>
#include <memory>

#include "autograd/meta.h"
#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/create.h"

namespace genesis::py {

namespace {

struct DLDevice {
  int32_t type, id;
};
constexpr int32_t kCpu = 1;

struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: contiguous
  uint64_t byte_offset;
};

struct Legacy {
  static constexpr const char *name = "dltensor", *used = "used_dltensor";
  DLTensor tensor;
  void* context;
  void (*deleter)(Legacy*);
};

struct Versioned {
  static constexpr const char *name = "dltensor_versioned", *used = "used_dltensor_versioned";
  static constexpr uint64_t kReadOnly = 1, kCopied = 2;
  uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  uint64_t flags;
  DLTensor tensor;
};

[[noreturn]] void throw_buffer_error(const std::string& text) {
  PyErr_SetString(PyExc_BufferError, text.c_str());
  throw_python();
}

DLDataType dl_type(DType t) { return {info(t).dlpack, static_cast<uint8_t>(8 * itemsize(t)), 1}; }
DType from_dl_type(DLDataType t) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DLDataType own = dl_type(static_cast<DType>(i));
    if (own.code == t.code && own.bits == t.bits && t.lanes == 1) return static_cast<DType>(i);
  }
  throw_type_error(str("from_dlpack: genesis has no dtype for DLPack code ", int{t.code}, " of ", int{t.bits},
                       " bits and ", t.lanes, " lanes"));
}

// ---- exporting ------------------------------------------------------------------------------------------------------

// What the consumer holds: the storage, and the arrays that the struct refers to.
template <class Managed>
struct Loan {
  Managed managed;
  Storage* storage;
  Dims shape, strides;
};

// The consumer may release it on any thread, with or without the GIL.
template <class Managed>
void give_back(Managed* managed) {
  auto* loan = static_cast<Loan<Managed>*>(managed->context);
  if (!Py_IsInitialized()) return;  // the process is exiting
  const PyGILState_STATE state = PyGILState_Ensure();
  loan->storage->release();
  delete loan;
  PyGILState_Release(state);
}

template <class Managed>
PyObject* make_capsule(const Tensor& t, bool copied) {
  if (t.meta()) fail_no_data();
  auto loan = std::make_unique<Loan<Managed>>();
  loan->shape = t.shape();
  loan->strides = t.strides();
  loan->storage = t->storage;
  Managed& m = loan->managed;
  std::memset(static_cast<void*>(&m), 0, sizeof(m));
  capture::interrupt("the memory of a tensor is exposed");
  m.tensor = {t->data, {kCpu, 0}, t.dim(), dl_type(t.dtype()), loan->shape.data(), loan->strides.data(), 0};
  m.context = loan.get();
  m.deleter = give_back<Managed>;
  if constexpr (std::is_same_v<Managed, Versioned>) {
    m.major = 1;
    m.minor = 0;
    m.flags = (t->storage->writable ? 0 : Versioned::kReadOnly) | (copied ? Versioned::kCopied : 0);
  }
  const Object capsule(PyCapsule_New(&m, Managed::name, [](PyObject* c) {
    // The capsule was not consumed: it still has its original name.
    if (auto* unused = static_cast<Managed*>(
            PyCapsule_IsValid(c, Managed::name) ? PyCapsule_GetPointer(c, Managed::name) : nullptr))
      unused->deleter(unused);
  }));
  t->storage->retain();
  loan.release();
  return Object(capsule).release();
}

PyObject* to_dlpack(Args& a) {
  // __dlpack__(input, stream, max_version, dl_device, copy)
  Tensor t = a.tensor(0);
  if (requires_grad(t))
    throw_buffer_error("__dlpack__: a tensor that requires grad cannot be exported; use tensor.detach()");
  if (a.has(1)) throw_buffer_error("__dlpack__: a CPU has no streams; stream must be None");
  if (a.has(3)) {
    int type, id;
    if (!PyArg_ParseTuple(a[3], "ii", &type, &id)) throw_python();
    if (type != kCpu)
      throw_buffer_error(str("__dlpack__: device type ", type, " is not available; the tensor is on the CPU"));
  }
  const bool copy = a.boolean(4, false);
  if (copy) t = ops::clone(t);
  int major = 0, minor = 0;
  if (a.has(2) && !PyArg_ParseTuple(a[2], "ii", &major, &minor)) throw_python();
  if (major >= 1) return make_capsule<Versioned>(t, copy);
  if (!t->storage->writable)
    throw_buffer_error(
        "__dlpack__: the memory is read-only, which the consumer's version of DLPack cannot express; clone() the "
        "tensor");
  return make_capsule<Legacy>(t, copy);
}

// ---- importing ------------------------------------------------------------------------------------------------------

template <class Managed>
Tensor adopt(PyObject* capsule, bool writable) {
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::name));
  if (!m) throw_python();
  const DLTensor& dl = m->tensor;
  if (dl.device.type != kCpu)
    throw_buffer_error(
        str("from_dlpack: the memory is on device type ", dl.device.type, "; genesis computes on the CPU"));
  const DType dtype = from_dl_type(dl.dtype);
  const Dims shape(dl.shape, dl.shape + dl.ndim);
  Dims strides = dl.strides ? Dims(dl.strides, dl.strides + dl.ndim) : contiguous_strides(shape);
  int64_t last = 0;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] <= 1) strides[d] = 1;
    require(strides[d] >= 0, "from_dlpack: negative strides ", strides,
            " cannot be shared; make the array contiguous first");
    last += (shape[d] - 1) * strides[d];
  }
  const size_t bytes = numel(shape) == 0 ? 0 : static_cast<size_t>((last + 1) * itemsize(dtype));
  char* data = static_cast<char*>(dl.data) + dl.byte_offset;
  require(bytes == 0 || reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(itemsize(dtype)) == 0,
          "from_dlpack: the memory is not aligned for ", dtype, "; copy the array first");
  // From here on we must release the memory.
  PyCapsule_SetName(capsule, Managed::used);
  Storage* storage = Storage::borrow(data, bytes, m, [](void* managed) {
    auto* taken = static_cast<Managed*>(managed);
    if (taken->deleter) taken->deleter(taken);
  });
  storage->writable = writable;
  TensorImpl* impl = TensorImpl::create(storage, storage->data, dtype);
  const Tensor t = Tensor::adopt(impl);
  impl->shape = shape;
  impl->strides = strides;
  impl->geometry_changed();
  return t;
}

Object ask_for_capsule(PyObject* o) {
  const Object method = Object::maybe(PyObject_GetAttrString(o, "__dlpack__"));
  if (!method) {
    PyErr_Clear();
    throw_type_error(
        str("from_dlpack: expected an object with __dlpack__ or a DLPack capsule, got ", Py_TYPE(o)->tp_name));
  }
  const Object none(PyTuple_New(0)), named(Py_BuildValue("{s(ii)}", "max_version", 1, 0));
  Object capsule = Object::maybe(PyObject_Call(method.get(), none.get(), named.get()));
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {  // a producer that does not know versions
    PyErr_Clear();
    capsule = Object::maybe(PyObject_CallNoArgs(method.get()));
  }
  if (!capsule) throw_python();
  return capsule;
}

Tensor from_dlpack(Args& a) {
  a.device(1);
  const Object capsule = PyCapsule_CheckExact(a[0]) ? Object::borrow(a[0]) : ask_for_capsule(a[0]);
  Tensor t;
  if (PyCapsule_IsValid(capsule.get(), Versioned::name)) {
    const auto* m = static_cast<Versioned*>(PyCapsule_GetPointer(capsule.get(), Versioned::name));
    if (m->major > 1)
      throw_buffer_error(
          str("from_dlpack: the producer uses DLPack ", m->major, ".", m->minor, "; genesis understands 1.x"));
    t = adopt<Versioned>(capsule.get(), !(m->flags & Versioned::kReadOnly));
  } else if (PyCapsule_IsValid(capsule.get(), Legacy::name)) {
    t = adopt<Legacy>(capsule.get(), true);
  } else {
    const char* name = PyCapsule_CheckExact(capsule.get()) ? PyCapsule_GetName(capsule.get()) : nullptr;
    PyErr_Clear();
    fail("from_dlpack: ", name && std::strncmp(name, "used", 4) == 0
                              ? "this capsule has been used already; request a new one"
                              : "not a DLPack capsule");
  }
  return a.boolean(2, false) ? ops::clone(t) : t;
}

const Family family({.kind = Kind::Create, .page = "creation"}, [] {
  def<"__dlpack__(Tensor input, *, Any? stream=None, Any? max_version=None, Any? dl_device=None, bool? copy=None) "
      "-> "
      "object",
      to_dlpack>(kMethod);
  def<"__dlpack_device__(Tensor input) -> (int, int)", [](Args&) { return Py_BuildValue("(ii)", kCpu, 0); }>(kMethod);
  def<"from_dlpack(Any ext_tensor, *, Device? device=None, bool? copy=None) -> Tensor", from_dlpack>(
      kFunction | kTool, "A tensor on the memory of another library's array; copy=True copies it.");
});

}  // namespace

}  // namespace genesis::py
