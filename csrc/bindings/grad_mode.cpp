// no_grad, enable_grad, set_grad_enabled, inference_mode: context managers that are also decorators.
//
// Entering and leaving must be fast, because models and optimizers do it often. Decorators are written in Python
// (genesis/autograd/_decorate.py).
#include <string>

#include "autograd/mode.h"
#include "bindings/args.h"
#include "bindings/block.h"
#include "bindings/module.h"

namespace genesis::py {

namespace {

enum class Wanted { NoGrad, EnableGrad, SetGradEnabled, Inference };

struct Mode {
  bool enabled, inference;
};

Mode current() { return {grad_mode.enabled, grad_mode.inference}; }
void apply(Mode m) {
  grad_mode.enabled = m.enabled;
  grad_mode.inference = m.inference;
}
char pack(Mode m) { return static_cast<char>(m.enabled | m.inference << 1); }
Mode unpack(char c) { return {(c & 1) != 0, (c & 2) != 0}; }

struct PyMode {
  PyObject_HEAD Wanted kind;
  bool value;
  bool fresh;         // set_grad_enabled: active since its creation, not entered yet
  std::string saved;  // the states to restore, one for each time it was entered
};

PyMode* get(PyObject* o) { return reinterpret_cast<PyMode*>(o); }

Mode wanted(const PyMode& m) {
  switch (m.kind) {
    case Wanted::NoGrad: return {false, grad_mode.inference};
    case Wanted::EnableGrad: return {true, grad_mode.inference};
    case Wanted::SetGradEnabled: return {m.value, grad_mode.inference};
    default: return {!m.value, m.value};
  }
}

PyObject* decorate(PyObject* type, PyObject* args, PyObject* function) {
  const Object module(PyImport_ImportModule("genesis.autograd._decorate"));
  return PyObject_CallMethod(module.get(), "decorate", "OOO", type, args, function);
}

template <Wanted kind>
PyObject* mode_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* argument = nullptr;
  if (kind == Wanted::SetGradEnabled && kwargs && PyTuple_GET_SIZE(args) == 0 && PyDict_GET_SIZE(kwargs) == 1 &&
      (argument = PyDict_GetItemString(kwargs, "enabled"))) {
    // a name used by older programs
  } else if (kind == Wanted::SetGradEnabled || kind == Wanted::Inference) {
    static const char* names[] = {"mode", nullptr};
    const char* format = kind == Wanted::SetGradEnabled ? "O:set_grad_enabled" : "|O:inference_mode";
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, format, const_cast<char**>(names), &argument)) return nullptr;
  } else if (PyTuple_GET_SIZE(args) > 0 || kwargs) {
    static const char* names[] = {"function", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O", const_cast<char**>(names), &argument)) return nullptr;
  }
  return guarded([&]() -> PyObject* {
    bool value = true;
    if (argument && kind != Wanted::SetGradEnabled && PyCallable_Check(argument)) {  // @no_grad without parentheses
      const Object none(PyTuple_New(0));
      return decorate(reinterpret_cast<PyObject*>(type), none.get(), argument);
    }
    if (argument) {
      if (kind == Wanted::NoGrad || kind == Wanted::EnableGrad)
        throw_type_error(
            str(type->tp_name, ": takes no argument but a function to decorate, got ", Py_TYPE(argument)->tp_name));
      if (!PyBool_Check(argument))
        throw_type_error(str(type->tp_name, ": mode must be a bool, got ", Py_TYPE(argument)->tp_name));
      value = argument == Py_True;
    }
    PyObject* o = type->tp_alloc(type, 0);
    if (!o) throw_python();
    PyMode* self = get(o);
    self->kind = kind;
    self->value = value;
    self->fresh = kind == Wanted::SetGradEnabled;
    new (&self->saved) std::string;
    if (self->fresh) {
      self->saved.push_back(pack(current()));
      apply(wanted(*self));
    }
    return o;
  });
}

void mode_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  get(o)->saved.~basic_string();
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* enter(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    before_block();
    PyMode* self = get(o);
    if (self->fresh) self->fresh = false;
    else self->saved.push_back(pack(current()));
    apply(wanted(*self));
    Py_RETURN_NONE;
  });
}

PyObject* leave(PyObject* o, PyObject* const*, Py_ssize_t) {
  PyMode* self = get(o);
  if (self->saved.empty()) return PyErr_Format(PyExc_RuntimeError, "grad mode: left without having been entered");
  apply(unpack(self->saved.back()));
  self->saved.pop_back();
  Py_RETURN_NONE;
}

PyObject* mode_call(PyObject* o, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    PyMode* self = get(o);
    if (PyTuple_GET_SIZE(args) != 1 || kwargs) throw_type_error("grad mode: as a decorator, it takes one function");
    if (self->fresh) {  // @set_grad_enabled(False) applies to the function, not to the following code
      self->fresh = false;
      apply(unpack(self->saved.back()));
      self->saved.pop_back();
    }
    const bool has_mode = self->kind == Wanted::SetGradEnabled || self->kind == Wanted::Inference;
    const Object mode_args(has_mode ? Py_BuildValue("(O)", self->value ? Py_True : Py_False) : PyTuple_New(0));
    return decorate(reinterpret_cast<PyObject*>(Py_TYPE(o)), mode_args.get(), PyTuple_GET_ITEM(args, 0));
  });
}

template <Wanted kind>
void add_type(const char* name, const char* doc) {
  static PyMethodDef methods[] = {
      {"__enter__", enter, METH_NOARGS, nullptr},
      {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(leave)), METH_FASTCALL, nullptr},
      {}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(mode_new<kind>)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(mode_dealloc)},
                                {Py_tp_call, reinterpret_cast<void*>(mode_call)},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, const_cast<char*>(doc)},
                                {0, nullptr}};
  static const std::string full = std::string("genesis.") + name;
  static PyType_Spec spec{full.c_str(), sizeof(PyMode), 0, Py_TPFLAGS_DEFAULT, slots};
  const Object type(PyType_FromSpec(&spec));
  PyModule_AddObjectRef(current_module(), name, type.get());
}

const Family family({.kind = Kind::Tool, .page = "settings"}, [] {
  add_type<Wanted::NoGrad>("no_grad",
                           "no_grad()\n--\n\nRecord nothing, in a with block or in the function that it decorates.");
  add_type<Wanted::EnableGrad>("enable_grad", "enable_grad()\n--\n\nRecord again, inside no_grad.");
  add_type<Wanted::SetGradEnabled>(
      "set_grad_enabled",
      "set_grad_enabled(mode)\n--\n\nTurn recording on or off: at once, or for a with block or a function.");
  add_type<Wanted::Inference>("inference_mode",
                              "inference_mode(mode=True)\n--\n\nLike no_grad; the results can never enter a graph, "
                              "which saves bookkeeping.");
  def<"is_grad_enabled() -> bool", [](Args&) { return grad_mode.enabled; }>(kFunction | kTool,
                                                                            "Whether operations are being recorded.");
  def<"is_inference_mode_enabled() -> bool", [](Args&) { return grad_mode.inference; }>(
      kFunction | kTool, "Whether inference_mode is on.");
});

}  // namespace

}  // namespace genesis::py
