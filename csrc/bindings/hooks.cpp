#include "bindings/hooks.h"

#include "autograd/meta.h"
#include "bindings/args.h"

namespace genesis::py {

namespace {

Tensor tensor_or_none(PyObject* o, const char* what) {
  if (o == Py_None) return Tensor();
  if (!is_tensor(o)) throw_type_error(str(what, ": must return a Tensor or None, got ", Py_TYPE(o)->tp_name));
  return unwrap(o);
}

class PyHook final : public Hook {
 public:
  explicit PyHook(PyObject* callable) : callable_(callable) { Py_INCREF(callable); }
  Tensor call(const Tensor& grad) override {
    const Object argument(wrap(grad));
    const Object result(PyObject_CallOneArg(callable_, argument.get()));
    return tensor_or_none(result.get(), "register_hook: the hook");
  }
  void* object() const override { return callable_; }
  void destroy() noexcept override { delete this; }

 private:
  ~PyHook() override { Py_DECREF(callable_); }
  PyObject* callable_;
};

class PyNodeHook final : public NodeHook {
 public:
  PyNodeHook(PyObject* callable, bool before) : callable_(callable), before_(before) { Py_INCREF(callable); }
  void call(Grads& grads, const Grads& outputs) override {
    const Object first(tuple(grads));
    Object result;
    if (before_) {
      result = Object(PyObject_CallOneArg(callable_, first.get()));
    } else {
      const Object second(tuple(outputs));
      result = Object(PyObject_CallFunctionObjArgs(callable_, first.get(), second.get(), nullptr));
    }
    if (result.get() == Py_None) return;
    const bool single = is_tensor(result.get());
    const Py_ssize_t n = single ? 1 : PyTuple_Check(result.get()) ? PyTuple_GET_SIZE(result.get()) : -1;
    if (n != grads.size())
      throw_type_error(str("register_hook: the hook of a node must return None or ", grads.size(), " gradients, got ",
                           single ? "one tensor" : Py_TYPE(result.get())->tp_name));
    for (int i = 0; i < grads.size(); ++i)
      grads[i] = tensor_or_none(single ? result.get() : PyTuple_GET_ITEM(result.get(), i), "register_hook: the hook of a node");
  }
  void* object() const override { return callable_; }
  void destroy() noexcept override { delete this; }

 private:
  static PyObject* tuple(const Grads& grads) {
    Object t(PyTuple_New(grads.size()));
    for (int i = 0; i < grads.size(); ++i) PyTuple_SET_ITEM(t.get(), i, to_python(grads[i]));
    return t.release();
  }
  ~PyNodeHook() override { Py_DECREF(callable_); }
  PyObject* callable_;
  bool before_;
};

// ---- the handle ---------------------------------------------------------------------------------------------------

// Knows where the hook is kept through weak references only: it must not keep the graph alive.
struct PyHandle {
  PyObject_HEAD
  PyObject* owner;       // a weak reference to the Tensor or Node object
  const void* hook;      // compared, never followed
};
PyTypeObject* HandleType;

template <class List>
void erase_hook(List& list, const void* hook) {
  std::erase_if(list, [&](const auto& h) {
    if constexpr (requires { h.hook; }) return h.hook.get() == hook;
    else return h.get() == hook;
  });
}
void erase_from(Node* node, const void* hook) {
  if (!node || !node->extras_if_any()) return;
  NodeExtras& e = node->extras();
  erase_hook(e.output_hooks, hook);
  erase_hook(e.pre_hooks, hook);
  erase_hook(e.post_hooks, hook);
}

PyObject* remove(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    auto* self = reinterpret_cast<PyHandle*>(o);
    if (const void* hook = std::exchange(self->hook, nullptr)) {
      const Object owner = Object::borrow(PyWeakref_GetObject(self->owner));
      if (owner && owner.get() != Py_None) {
        if (is_tensor(owner.get())) {
          const Tensor& t = unwrap(owner.get());
          if (TensorMeta* m = meta_if_any(t)) {
            erase_hook(m->hooks, hook);
            erase_hook(m->post_accumulate_hooks, hook);
          }
          erase_from(genesis::node_of(t), hook);
        } else {
          erase_from(node_of(owner.get()), hook);
        }
      }
    }
    Py_RETURN_NONE;
  });
}
PyObject* enter(PyObject* o, PyObject*) {
  Py_INCREF(o);
  return o;
}
PyObject* leave(PyObject* o, PyObject*) { return remove(o, nullptr); }

void handle_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  Py_XDECREF(reinterpret_cast<PyHandle*>(o)->owner);
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* make_handle(PyObject* owner, const void* hook) {
  auto* handle = reinterpret_cast<PyHandle*>(HandleType->tp_alloc(HandleType, 0));
  if (!handle) throw_python();
  handle->hook = hook;
  handle->owner = PyWeakref_NewRef(owner, nullptr);
  if (!handle->owner) {
    Py_DECREF(handle);
    throw_python();
  }
  return reinterpret_cast<PyObject*>(handle);
}

void require_callable(PyObject* o) {
  if (!PyCallable_Check(o)) throw_type_error(str("register_hook: the hook must be callable, got ", Py_TYPE(o)->tp_name));
}

}  // namespace

PyObject* register_tensor_hook(const Tensor& t, PyObject* callable) {
  require_callable(callable);
  const Ref<Hook> hook = add_hook(t, Ref<Hook>(new PyHook(callable)));
  const Object owner(wrap(t));
  return make_handle(owner.get(), hook.get());
}

PyObject* register_post_accumulate_hook(const Tensor& t, PyObject* callable) {
  require_callable(callable);
  require<GraphError>(t->requires_grad && !grad_fn(t),
                      "register_post_accumulate_grad_hook: only leaf tensors that require grad accumulate gradients");
  Ref<Hook> hook(new PyHook(callable));
  meta(t).post_accumulate_hooks.push_back(hook);
  const Object owner(wrap(t));
  return make_handle(owner.get(), hook.get());
}

PyObject* register_node_hook(Node* node, PyObject* owner, PyObject* callable, bool before) {
  require_callable(callable);
  Ref<NodeHook> hook(new PyNodeHook(callable, before));
  (before ? node->extras().pre_hooks : node->extras().post_hooks).push_back(hook);
  return make_handle(owner, hook.get());
}

void init_hooks(PyObject* module) {
  static PyMethodDef methods[] = {{"remove", remove, METH_NOARGS, "remove($self)\n--\n\nTakes the hook off."},
                                  {"__enter__", enter, METH_NOARGS, nullptr},
                                  {"__exit__", leave, METH_VARARGS, nullptr},
                                  {}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(handle_dealloc)},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, const_cast<char*>("What register_hook returns: remove() takes the hook off.")},
                                {0, nullptr}};
  static PyType_Spec spec{"genesis.autograd.RemovableHandle", sizeof(PyHandle), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  HandleType = reinterpret_cast<PyTypeObject*>(Object(PyType_FromSpec(&spec)).release());
  PyModule_AddObjectRef(module, "RemovableHandle", reinterpret_cast<PyObject*>(HandleType));
}

}  // namespace genesis::py
