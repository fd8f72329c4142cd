// __torch_function__: classes that override functions of their objects, and modes that override all functions.
//
// The rules are those of PyTorch's "Extending PyTorch". __genesis_function__ is another name of the method, and is used
// if a class has both: every subclass of Tensor inherits __torch_function__, which preserves the subclass.
#include <algorithm>
#include <vector>

#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/view.h"

namespace genesis::py {

namespace {

struct State {
  bool classes_off = false, all_off = false;
  std::vector<PyObject*>* modes = nullptr;  // innermost last; never freed, since threads end without the GIL
};
thread_local constinit State state;

PyObject* disabled = nullptr;  // as __torch_function__ of a class: disables overrides
PyObject *torch_name, *genesis_name;

size_t num_modes() { return state.modes ? state.modes->size() : 0; }
void refresh() { set_dispatch_bit(kModes, num_modes() > 0 && !state.all_off); }

void push(PyObject* mode) {
  if (!state.modes) state.modes = new std::vector<PyObject*>;
  state.modes->push_back(Py_NewRef(mode));
  refresh();
}
Object pop() {
  require(num_modes() > 0, "no mode of overrides is entered in this thread");
  const Object mode(state.modes->back());
  state.modes->pop_back();
  refresh();
  return mode;
}

// The name of the overriding attribute, borrowed; null if there is none.
PyObject* name_of_override(PyTypeObject* type) {
  if (PyObject* f = _PyType_Lookup(type, genesis_name); f && f != disabled) return genesis_name;
  PyObject* f = _PyType_Lookup(type, torch_name);
  return f && f != disabled ? torch_name : nullptr;
}

// Objects of different classes that override, in the order in which they are called: from left to right, but a subclass
// before its superclasses.
class Overloaded {
 public:
  void add(PyObject* o) {
    if (!o || !overrides(o)) return;
    if (is_batched(o)) {
      batched_ = true;
      return;
    }
    if (!class_overrides_on()) return;
    PyTypeObject* type = Py_TYPE(o);
    auto place = list_.end();
    for (auto at = list_.begin(); at != list_.end(); ++at) {
      if (Py_TYPE(*at) == type) return;
      if (place == list_.end() && PyType_IsSubtype(type, Py_TYPE(*at))) place = at;
    }
    list_.insert(place, o);
  }
  // Includes the elements of lists and tuples, as for cat([x, y]).
  void add_all(PyObject* o) {
    if (!PyList_Check(o) && !PyTuple_Check(o)) return add(o);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) add(PySequence_Fast_GET_ITEM(o, i));
  }
  Object types() const {
    Object tuple(PyTuple_New(static_cast<Py_ssize_t>(list_.size())));
    for (size_t i = 0; i < list_.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Py_NewRef(Py_TYPE(list_[i])));
    return tuple;
  }
  const std::vector<PyObject*>& list() const { return list_; }
  bool batched() const { return batched_; }

 private:
  bool batched_ = false;
  std::vector<PyObject*> list_;
};

// The method of a mode is bound to the object, that of a class to the class; as in PyTorch, others cause a warning.
void warn_of_plain_method(PyObject* owner, PyObject* method) {
  if (!PyMethod_Check(method) || PyMethod_GET_SELF(method) != owner) return;
  const std::string text =
      str(Py_TYPE(owner)->tp_name, ".__torch_function__ is a plain method; define it as a classmethod");
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw_python();
}

PyObject* ask(PyObject* owner, PyObject* function, PyObject* types, PyObject* args, PyObject* kwargs,
              bool mode = false) {
  PyObject* name = name_of_override(Py_TYPE(owner));
  if (!name) throw_type_error(str(Py_TYPE(owner)->tp_name, " does not define __torch_function__"));
  const Object method(PyObject_GetAttr(owner, name));
  if (!mode) warn_of_plain_method(owner, method.get());
  return PyObject_CallFunctionObjArgs(method.get(), function, types, args, kwargs, nullptr);
}

[[noreturn]] void nobody(PyObject* function, PyObject* types) {
  const Object text = Object::maybe(PyObject_GetAttrString(function, "__name__"));
  if (!text) PyErr_Clear();
  const Object list(PySequence_List(types)), shown(PyObject_Repr(list.get()));
  throw_type_error(str("no implementation found for '", text ? PyUnicode_AsUTF8(text.get()) : "function",
                       "' on types that implement __torch_function__: ", PyUnicode_AsUTF8(shown.get()),
                       "; each returned NotImplemented"));
}

// The first result that is not NotImplemented; raises if there is none.
PyObject* ask_all(PyObject* function, const Overloaded& found, PyObject* args, PyObject* kwargs) {
  const Object types = found.types();
  if (num_modes() > 0 && !state.all_off) {
    struct Outside {  // a mode does not intercept its own calls
      Object mode = pop();
      ~Outside() { push(mode.get()); }
    } const outside;
    PyObject* result = ask(outside.mode.get(), function, types.get(), args, kwargs, true);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
  }
  if (class_overrides_on())
    for (PyObject* o : found.list()) {
      PyObject* result = ask(o, function, types.get(), args, kwargs);
      if (result != Py_NotImplemented) return result;
      Py_DECREF(result);
    }
  nobody(function, types.get());
}

// ---- what subclasses of Tensor inherit ------------------------------------------------------------------------------

Tensor same_data(const Tensor& x) { return ops::view(x, x.shape()); }

Object converted(PyObject* result, PyTypeObject* cls) {
  if (is_tensor(result)) {
    if (PyType_IsSubtype(Py_TYPE(result), cls)) return Object::borrow(result);
    return Object(wrap_as(cls, same_data(unwrap(result))));
  }
  const bool tuple = PyTuple_Check(result);
  if (!tuple && !PyList_Check(result)) return Object::borrow(result);
  const Object list(PyList_New(0));
  bool changed = false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(result, i);
    const Object made = converted(item, cls);
    changed = changed || made.get() != item;
    if (PyList_Append(list.get(), made.get()) < 0) throw_python();
  }
  if (!changed) return Object::borrow(result);
  return Object(PyObject_CallOneArg(reinterpret_cast<PyObject*>(Py_TYPE(result)), list.get()));
}

class WithoutClassOverrides {
 public:
  WithoutClassOverrides() : before_(state.classes_off) { state.classes_off = true; }
  ~WithoutClassOverrides() { state.classes_off = before_; }
  WithoutClassOverrides(const WithoutClassOverrides&) = delete;
  WithoutClassOverrides& operator=(const WithoutClassOverrides&) = delete;

 private:
  bool before_;
};

// x.grad and x._base are other tensors, which keep their class.
bool keeps_class(PyObject* function) {
  static PyObject* const getters = [] {
    const Object set(PyList_New(0));
    for (const char* name : {"grad", "_base"}) {
      const Object property = Object::borrow(PyDict_GetItemString(TensorType->tp_dict, name));
      if (PyList_Append(set.get(), Object(PyObject_GetAttrString(property.get(), "__get__")).get()) < 0) throw_python();
    }
    return PySequence_List(set.get());
  }();
  if (Py_TYPE(function) != Py_TYPE(PyList_GET_ITEM(getters, 0))) return false;
  const int found = PySequence_Contains(getters, function);
  if (found < 0) throw_python();
  return found != 0;
}

PyObject* keep_subclass(Args& a) {
  if (!PyType_Check(a[0])) a.fail(0, "a class");
  auto* cls = reinterpret_cast<PyTypeObject*>(a[0]);
  const Object types(PySequence_Fast(a[2], "types: expected a sequence of classes"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(types.get()); ++i) {
    const int derived = PyObject_IsSubclass(a[0], PySequence_Fast_GET_ITEM(types.get(), i));
    if (derived < 0) throw_python();
    if (!derived) Py_RETURN_NOTIMPLEMENTED;
  }
  const Object args = a.has(3) ? Object(PySequence_Tuple(a[3])) : Object(PyTuple_New(0));
  const WithoutClassOverrides plain;
  const Object result(PyObject_Call(a[1], args.get(), a.has(4) ? a[4] : nullptr));
  if (cls == TensorType || !PyType_IsSubtype(cls, TensorType) || keeps_class(a[1])) return Py_NewRef(result.get());
  return converted(result.get(), cls).release();
}

bool any_override(std::span<PyObject* const> objects) {
  if (dispatch_bit(kModes)) return true;
  if (!class_overrides_on()) return false;
  return std::any_of(objects.begin(), objects.end(), [](PyObject* o) { return overrides(o) && !is_batched(o); });
}

std::span<PyObject* const> elements(PyObject* sequence) {
  return {PySequence_Fast_ITEMS(sequence), static_cast<size_t>(PySequence_Fast_GET_SIZE(sequence))};
}

}  // namespace

bool class_overrides_on() { return !state.classes_off && !state.all_off; }

bool find_override(PyTypeObject* type) {
  if (type == BatchedType) return true;
  if (name_of_override(type)) return true;
  // The version changes with the attributes of the class and of its bases; 0 means that there is none.
  if (type->tp_version_tag || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE))
    plain_types[reinterpret_cast<uintptr_t>(type) / 32 % 64] = {type, type->tp_version_tag};
  return false;
}

Object tuple_of(const Invocation& call) {
  const Py_ssize_t first = call.self ? 1 : 0;
  Object args(PyTuple_New(call.n + first));
  if (call.self) PyTuple_SET_ITEM(args.get(), 0, Py_NewRef(call.self));
  for (Py_ssize_t i = 0; i < call.n; ++i) PyTuple_SET_ITEM(args.get(), first + i, Py_NewRef(call.args[i]));
  return args;
}
Object dict_of(const Invocation& call) {
  Object kwargs(PyDict_New());
  for (Py_ssize_t k = 0; call.kwnames && k < PyTuple_GET_SIZE(call.kwnames); ++k)
    if (PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(call.kwnames, k), call.args[call.n + k]) < 0) throw_python();
  return kwargs;
}

PyObject* call_override(PyObject* function, const Invocation& call, const char* name) {
  Overloaded found;
  if (call.self) found.add(call.self);
  const Py_ssize_t all = call.n + (call.kwnames ? PyTuple_GET_SIZE(call.kwnames) : 0);
  for (Py_ssize_t i = 0; i < all; ++i) found.add_all(call.args[i]);
  const bool others = !found.list().empty() || dispatch_bit(kModes);
  if (!others && (!found.batched() || !name || known_without_values(name))) return nullptr;
  if (others) capture::interrupt("a class or a mode overrides an operation");
  const Object args = tuple_of(call), kwargs = dict_of(call);
  PyObject* result =
      others ? ask_all(function, found, args.get(), kwargs.get()) : call_batched(function, args.get(), kwargs.get());
  if (!result) throw_python();
  return result;
}

PyObject* override_slot(const char* name, const char* part, std::span<PyObject* const> args) {
  const bool batched = std::any_of(args.begin(), args.end(), is_batched);
  if (!dispatch_bit(kModes) && !batched) {
    if (!class_overrides_on()) return nullptr;
    if (part && std::none_of(args.begin(), args.end(), overrides)) return nullptr;  // a property: no nested arguments
  }
  Object function(PyObject_GetAttrString(reinterpret_cast<PyObject*>(TensorType), name));
  if (part) function = Object(PyObject_GetAttrString(function.get(), part));
  return call_override(function.get(), {nullptr, args.data(), static_cast<Py_ssize_t>(args.size()), nullptr}, name);
}

static const Family family([] {
  torch_name = PyUnicode_InternFromString("__torch_function__");
  genesis_name = PyUnicode_InternFromString("__genesis_function__");
  def<"_disabled_torch_function_impl(Any func, Any types, Any args=(), Any? kwargs=None) -> Any", [](Args& a) {
    const WithoutClassOverrides plain;
    const Object args(PySequence_Tuple(a.has(2) ? a[2] : Object(PyTuple_New(0)).get()));
    return PyObject_Call(a[0], args.get(), a.has(3) ? a[3] : nullptr);
  }>(kFunction | kTool, "As __torch_function__ of a class: its objects are treated like plain tensors.");
  disabled = PyObject_GetAttrString(current_module(), "_disabled_torch_function_impl");
  def<"_keep_subclass(type cls, Any func, Any types, Any args=(), Any? kwargs=None) -> Any", keep_subclass>(
      kFunction | kTool, "What Tensor has for __torch_function__: func as of plain tensors, its results as `cls`.");
  def<"_has_override(Any objects) -> bool", [](Args& a) {
    const Object list(PySequence_Fast(a[0], "expected a sequence"));
    return any_override(elements(list.get()));
  }>(kFunction | kTool, "Whether a mode or the class of one of the objects overrides functions.");
  def<"_has_override_of(Any *objects) -> bool", [](Args& a) { return any_override(a.rest()); }>(
      kFunction | kTool, "_has_override() of its arguments.");
  def<"_ask_overrides(Any function, Any relevant, tuple args, dict kwargs) -> Any", [](Args& a) {
    Overloaded found;
    const Object list(PySequence_Fast(a[1], "expected a sequence"));
    if (class_overrides_on())
      for (PyObject* o : elements(list.get())) found.add(o);
    return ask_all(a[0], found, a[2], a[3]);
  }>(kFunction | kTool, "Passes a call of `function` to modes and to the classes of the relevant arguments.");
  def<"_overloaded(Any relevant) -> list", [](Args& a) {
    Overloaded found;
    const Object list(PySequence_Fast(a[0], "expected a sequence")), result(PyList_New(0));
    for (PyObject* o : elements(list.get())) found.add(o);
    for (PyObject* o : found.list())
      if (PyList_Append(result.get(), o) < 0) throw_python();
    return Object(result);
  }>(kFunction | kTool, "One object of each class that overrides, in the order in which they are called.");
  def<"_set_overrides_off(bool classes, bool all) -> (bool, bool)", [](Args& a) {
    PyObject* before = PyTuple_Pack(2, state.classes_off ? Py_True : Py_False, state.all_off ? Py_True : Py_False);
    state.classes_off = a.boolean(0);
    state.all_off = a.boolean(1);
    refresh();
    return before;
  }>(kFunction | kTool, "Says for this thread whether overrides by classes, or all of them, are ignored.");
  def<"_overrides_off() -> (bool, bool)", [](Args&) {
    return PyTuple_Pack(2, state.classes_off ? Py_True : Py_False, state.all_off ? Py_True : Py_False);
  }>(kFunction | kTool);
  def<"_push_mode(Any mode) -> None", [](Args& a) -> PyObject* {
    push(a[0]);
    Py_RETURN_NONE;
  }>(kFunction | kTool, "Enters a mode of overrides.");
  def<"_pop_mode() -> Any", [](Args&) { return pop(); }>(kFunction | kTool, "Leaves the innermost mode.");
  def<"_modes() -> list", [](Args&) {
    const Object list(PyList_New(0));
    for (size_t i = 0; i < num_modes(); ++i)
      if (PyList_Append(list.get(), (*state.modes)[i]) < 0) throw_python();
    return Object(list);
  }>(kFunction | kTool, "The modes of this thread, the innermost last.");
  def<"as_subclass(Tensor input, type cls) -> Tensor", [](Args& a) {
    if (!PyType_Check(a[1]) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(a[1]), TensorType))
      a.fail(1, "a subclass of Tensor");
    return wrap_as(reinterpret_cast<PyTypeObject*>(a[1]), same_data(a.tensor(0)));
  }>(kMethod | kTool, "The same data as an object of a subclass, within the graph.");
  operators().back()->overridable = false;  // as in PyTorch: it creates the objects whose classes override
});

}  // namespace genesis::py
