#include "bindings/autocast.h"

#include <atomic>
#include <memory>
#include <unordered_map>
#include <utility>

#include "autograd/meta.h"
#include "bindings/module.h"
#include "ops/create.h"

namespace genesis::py {

namespace {

// A parameter is cast once per block, however often it is used.
struct CachedCast {
  Tensor source, cast;
  uint32_t version;
};

struct State {
  bool enabled = false;
  DType low = DType::BFloat16;
  bool caching = true;
  bool suspended = false;  // by a user's Function, in a block that is enabled
  bool own = false;        // `enabled` was set by a block or by set_autocast_enabled() and precedes the flag
  int depth = 0;           // blocks entered
};
thread_local State state;
struct Casts {
  std::unordered_map<TensorImpl*, CachedCast> of;
  Casts* next = nullptr;  // in the list of abandoned ones
};
// Tensors are freed with the GIL, which a thread cannot take when it ends, as the interpreter may be ending too. What
// is left of a thread that ends inside a block is freed at the end of a block of another thread.
std::atomic<Casts*> abandoned = nullptr;
struct Cache {
  Casts* casts = nullptr;  // on the heap: there is little room for thread-local variables
  Casts& get() { return casts ? *casts : *(casts = new Casts); }
  ~Cache() {
    if (!casts) return;
    casts->next = abandoned.load();
    while (!abandoned.compare_exchange_weak(casts->next, casts)) {
    }
  }
};
thread_local Cache cache;
bool flag = false;  // genesis.enable_autocast
DType low_by_default = DType::BFloat16;
bool caching_by_default = true;

bool on() { return state.own ? state.enabled : flag && !state.suspended; }
DType low() { return state.depth > 0 ? state.low : low_by_default; }

void set_flag(PyObject* value) {
  const int truth = value ? PyObject_IsTrue(value) : 0;
  if (truth < 0) PyErr_Clear();  // an object without a truth value does not switch it on
  flag = truth > 0;
  set_dispatch_bit_everywhere(kAutocastFlag, flag);
}
void set_enabled(bool enabled) {
  state.enabled = enabled;
  state.own = state.depth > 0 || enabled != flag;
  set_dispatch_bit(kAutocastBlock, state.own);
}
PyObject* flag_name() {
  static PyObject* const name = PyUnicode_InternFromString("enable_autocast");
  return name;
}

bool lasting(const Tensor& x) {
  const TensorMeta* m = meta_if_any(x);
  return x->requires_grad && !x->grad_fn && !(m && m->base.defined());
}

Tensor to_low(const Tensor& x) {
  const DType to = low();
  if (!is_floating(x.dtype()) || x.dtype() == DType::Float64 || x.dtype() == to) return x;
  const bool cached = state.caching && state.depth > 0 && !grad_mode.recorder && lasting(x);
  if (!cached) return ops::cast(x, to);
  CachedCast& entry = cache.get().of[x.impl()];
  const bool fresh = entry.cast.defined() && entry.cast.dtype() == to && entry.version == x->storage->version &&
                     entry.cast->requires_grad == grad_mode.enabled;
  if (!fresh) entry = {x, ops::cast(x, to), x->storage->version};
  return entry.cast;
}
Tensor to_wide(const Tensor& x) { return is_half(x.dtype()) ? ops::cast(x, DType::Float32) : x; }

// Destroying cached casts may run Python code, so the maps are taken out first.
void clear_cache() {
  const std::unique_ptr<Casts> own(std::exchange(cache.casts, nullptr));
  for (Casts* first = abandoned.exchange(nullptr); first;) {
    const std::unique_ptr<Casts> other(first);
    first = other->next;
  }
}

bool has_out(const Signature& sig, PyObject* const* slots) {
  return sig.out >= 0 && slots[sig.out] && slots[sig.out] != Py_None;
}

PyObject* describe() {
  return Py_BuildValue("(OOOO)", on() ? Py_True : Py_False, dtype_object(low()),
                       (state.depth > 0 ? state.caching : caching_by_default) ? Py_True : Py_False,
                       state.suspended ? Py_True : Py_False);
}

DType low_dtype(Args& a, int i) {
  const DType t = a.dtype(i);
  require<DTypeError>(is_half(t), "autocast: dtype must be bfloat16 or float16, got ", t);
  return t;
}

}  // namespace

bool autocast_on() { return dispatch_bit(kAutocast) && on(); }
bool autocast_by_flag() { return dispatch_bit(kAutocastFlag) && !state.own && on(); }

// genesis.enable_autocast is a variable of the module `package`; these report its assignments to set_flag().
#if PY_VERSION_HEX >= 0x030C0000
static void watch_flag(PyObject* package) {
  const int watcher = PyDict_AddWatcher([](PyDict_WatchEvent, PyObject*, PyObject* key, PyObject* value) {
    if (key && PyUnicode_Check(key) && PyUnicode_Compare(key, flag_name()) == 0) set_flag(value);
    return 0;
  });
  if (watcher < 0 || PyDict_Watch(watcher, PyModule_GetDict(package)) < 0) throw_python();
}
#else
// Before Python 3.12, dicts cannot be watched: the module gets a class of its own. The interpreter reads attributes of
// plain modules faster than those of a subclass, so the class looks into the dict first.
static PyObject* package_getattr(PyObject* package, PyObject* name) {
  PyObject* found = PyDict_GetItemWithError(PyModule_GetDict(package), name);
  if (found) return Py_NewRef(found);
  return PyErr_Occurred() ? nullptr : PyModule_Type.tp_getattro(package, name);
}
static int package_setattr(PyObject* package, PyObject* name, PyObject* value) {
  if (PyObject_GenericSetAttr(package, name, value) < 0) return -1;
  if (PyUnicode_Compare(name, flag_name()) == 0) set_flag(value);
  return 0;
}
// Pickled by name. Tools such as cloudpickle do the same for plain modules only.
static PyObject* package_reduce(PyObject* package, PyObject*) {
  return guarded([&] {
    const Object importlib(PyImport_ImportModule("importlib")), name(PyModule_GetNameObject(package));
    const Object import(PyObject_GetAttrString(importlib.get(), "import_module"));
    return Py_BuildValue("O(O)", import.get(), name.get());
  });
}
static void watch_flag(PyObject* package) {
  static PyMethodDef methods[] = {{"__reduce__", package_reduce, METH_NOARGS, nullptr}, {}};
  static PyType_Slot slots[] = {{Py_tp_getattro, reinterpret_cast<void*>(package_getattr)},
                                {Py_tp_setattro, reinterpret_cast<void*>(package_setattr)},
                                {Py_tp_methods, methods},
                                {0, nullptr}};
  static PyType_Spec spec{"genesis._C._Package", 0, 0, Py_TPFLAGS_DEFAULT, slots};
  const Object bases(PyTuple_Pack(1, &PyModule_Type));
  const Object type(PyType_FromSpecWithBases(&spec, bases.get()));
  if (PyObject_SetAttrString(package, "__class__", type.get()) < 0) throw_python();
}
#endif

void autocast_arguments(const Operator& op, PyObject** slots, std::vector<Tensor>& keep) {
  const Cast cast = op.traits.autocast;
  if (!on() || cast == Cast::AsIs || has_out(op.sig, slots)) return;
  keep.reserve(kMaxArgs);
  for (size_t i = 0; i < op.sig.params.size(); ++i) {
    if (!slots[i] || !is_tensor(slots[i])) continue;
    const Tensor& x = unwrap(slots[i]);
    Tensor y = cast == Cast::Low ? to_low(x) : to_wide(x);
    if (y.same(x)) continue;
    keep.push_back(y);
    slots[i] = Object(wrap(std::move(y))).get();  // `keep` holds the tensor, and with it its object
  }
}

void autocast_list(const Operator& op, std::vector<Tensor>& list) {
  const Cast cast = op.traits.autocast;
  if (!on() || cast == Cast::AsIs) return;
  for (Tensor& x : list) x = cast == Cast::Low ? to_low(x) : to_wide(x);
}

WideArguments::WideArguments(PyObject* const* args, Py_ssize_t n) {
  const auto wide = [](PyObject* o) { return is_tensor(o) ? Object(wrap(to_wide(unwrap(o)))) : Object::borrow(o); };
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (PyList_CheckExact(args[i]) || PyTuple_CheckExact(args[i])) {
      Object list(PySequence_List(args[i]));
      for (Py_ssize_t k = 0; k < PyList_GET_SIZE(list.get()); ++k)
        PyList_SetItem(list.get(), k, wide(PyList_GET_ITEM(list.get(), k)).release());
      owned_.push_back(PyTuple_CheckExact(args[i]) ? Object(PyList_AsTuple(list.get())) : std::move(list));
    } else {
      owned_.push_back(wide(args[i]));
    }
    pointers_.push_back(owned_.back().get());
  }
}

bool functions_are_wide() { return dispatch_bit(kAutocast) && (on() || flag); }

WithoutAutocast::WithoutAutocast() : enabled_(state.enabled), suspended_(state.suspended) {
  state.suspended = state.suspended || on();
  state.enabled = false;
}
WithoutAutocast::~WithoutAutocast() {
  state.enabled = enabled_;
  state.suspended = suspended_;
}

static const Family family([] {
  def<"_watch_autocast_flag(Any package) -> None", [](Args& a) -> PyObject* {
    if (!PyModule_Check(a[0])) a.fail(0, "a module");
    watch_flag(a[0]);
    Py_RETURN_NONE;
  }>(kFunction | kTool, "Makes assignments of `enable_autocast` in a module switch autocast on and off.");
  def<"_autocast_enter(bool enabled, DType? dtype=None, bool? cache_enabled=None) -> tuple", [](Args& a) -> PyObject* {
    const Object before(Py_BuildValue("(iiii)", state.enabled, static_cast<int>(state.low), state.caching, state.own));
    state = {a.boolean(0),
             a.has(1) ? low_dtype(a, 1) : low_by_default,
             a.boolean(2, state.depth > 0 ? state.caching : caching_by_default),
             state.suspended,
             true,
             state.depth + 1};
    set_dispatch_bit(kAutocastBlock, true);
    return Object(before).release();
  }>(kFunction | kTool, "Begins a block; returns the argument for _autocast_exit().");
  def<"_autocast_exit(Any before) -> None", [](Args& a) -> PyObject* {
    int enabled, low, caching, own;
    if (!PyArg_ParseTuple(a[0], "iiii", &enabled, &low, &caching, &own)) throw_python();
    state = {enabled != 0, static_cast<DType>(low), caching != 0, state.suspended, own != 0, state.depth - 1};
    if (state.depth == 0) clear_cache();
    set_dispatch_bit(kAutocastBlock, state.own);
    Py_RETURN_NONE;
  }>(kFunction | kTool, "Ends a block; what was set inside it is undone.");
  def<"_autocast_set(bool enabled) -> None", [](Args& a) -> PyObject* {
    set_enabled(a.boolean(0));
    Py_RETURN_NONE;
  }>(kFunction | kTool, "Turns casting on or off, up to the end of the block or, outside of blocks, for this thread.");
  def<"_autocast_state() -> (bool, dtype, bool, bool)", [](Args&) { return describe(); }>(
      kFunction | kTool, "(enabled, dtype, cache_enabled, suspended) of this thread.");
  def<"_set_autocast_defaults(DType? dtype=None, bool? cache_enabled=None) -> None", [](Args& a) -> PyObject* {
    if (a.has(0)) low_by_default = low_dtype(a, 0);
    if (a.has(1)) caching_by_default = a.boolean(1);
    Py_RETURN_NONE;
  }>(kFunction | kTool, "What blocks begin with that do not say.");
  def<"_clear_autocast_cache() -> None", [](Args&) -> PyObject* {
    clear_cache();
    Py_RETURN_NONE;
  }>(kFunction | kTool, "Forgets the casts of parameters in this block.");
});

}  // namespace genesis::py
