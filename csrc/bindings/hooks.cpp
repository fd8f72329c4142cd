#include "bindings/hooks.h"

#include <memory>

#include "autograd/meta.h"
#include "bindings/args.h"
#include "bindings/node.h"
#include "core/exact.h"

namespace genesis::py {

namespace {

Tensor tensor_or_none(PyObject* o, const char* what) {
  if (o == Py_None) return Tensor();
  if (!is_tensor(o)) throw_type_error(str(what, ": must return a Tensor or None, got ", Py_TYPE(o)->tp_name));
  return unwrap(o);
}

// A callable, and the link from its handle. The handle must keep neither the hook nor its graph alive, and must find it
// after an in-place operation has given the tensor another node.
class Callable;
using Link = std::shared_ptr<Callable*>;

class Callable {
 public:
  explicit Callable(PyObject* f) : f_(Object::borrow(f)), link_(std::make_shared<Callable*>(this)) {}
  ~Callable() { *link_ = nullptr; }
  const Link& link() const { return link_; }
  Object get() const { return f_; }  // counted: the hook may remove itself while it runs
  PyObject* object() const { return f_.get(); }
  void remove() { const Object dropped = std::exchange(f_, Object()); }

 private:
  Object f_;
  Link link_;
};

// A hook of a tensor: for its gradient, or for a leaf after its gradient was accumulated.
class PyHook final : public Hook {
 public:
  PyHook(PyObject* f, bool of_gradient) : callable(f), of_gradient_(of_gradient) {}
  Tensor call(const Tensor& t) override {
    const Object f = callable.get(), argument(wrap(t));
    const Object result(in_python([&] { return PyObject_CallOneArg(f.get(), argument.get()); }));
    if (of_gradient_) return tensor_or_none(result.get(), "register_hook: the hook");
    require<GraphError>(result.get() == Py_None || !exact_torch,
                        "register_post_accumulate_grad_hook: the hook must return None, got ",
                        Py_TYPE(result.get())->tp_name, "; change the gradient in place, or assign to .grad");
    return Tensor();
  }
  void* object() const override { return callable.object(); }
  void destroy() noexcept override { delete this; }

  Callable callable;

 private:
  bool of_gradient_;
};

class PyNodeHook final : public NodeHook {
 public:
  PyNodeHook(PyObject* f, bool before) : callable(f), before_(before) {}
  void call(Grads& grads, const Grads& outputs) override {
    const char* what = before_ ? "register_prehook: the hook" : "register_hook: the hook of a node";
    const Object f = callable.get(), first(tuple(grads));
    Object result;
    if (before_) {
      result = Object(in_python([&] { return PyObject_CallOneArg(f.get(), first.get()); }));
    } else {
      const Object second(tuple(outputs));
      result =
          Object(in_python([&] { return PyObject_CallFunctionObjArgs(f.get(), first.get(), second.get(), nullptr); }));
    }
    if (result.get() == Py_None) return;
    const bool single = is_tensor(result.get());
    const Py_ssize_t n = single ? 1 : PyTuple_Check(result.get()) ? PyTuple_GET_SIZE(result.get()) : -1;
    if (n != grads.size())
      throw_type_error(str(what, " must return None or a tuple of ", grads.size(), " gradients, got ",
                           single   ? "one tensor"
                           : n >= 0 ? str(n)
                                    : Py_TYPE(result.get())->tp_name));
    Grads replaced(grads.size());
    for (int i = 0; i < grads.size(); ++i) {
      replaced[i] = tensor_or_none(single ? result.get() : PyTuple_GET_ITEM(result.get(), i), what);
      if (replaced[i].defined() && grads[i].defined())
        require(replaced[i].shape() == grads[i].shape(), what, " returned a gradient of shape ", replaced[i].shape(),
                " in place of one of shape ", grads[i].shape());
    }
    grads = std::move(replaced);
  }
  void* object() const override { return callable.object(); }
  void destroy() noexcept override { delete this; }

  Callable callable;

 private:
  static PyObject* tuple(const Grads& grads) {
    Object t(PyTuple_New(grads.size()));
    for (int i = 0; i < grads.size(); ++i) PyTuple_SET_ITEM(t.get(), i, to_python(grads[i]));
    return t.release();
  }
  bool before_;
};

// ---- the handle ---------------------------------------------------------------------------------------------------

struct PyHandle {
  PyObject_HEAD PyObject* owner;  // a weak reference to the Tensor or Node object
  union {
    Link link;
  };
  const void* hook;  // compared, never dereferenced
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
    if (!*self->link) Py_RETURN_NONE;
    (*self->link)->remove();  // inactive from now on, wherever it is
    const Object owner = Object::borrow(PyWeakref_GetObject(self->owner));
    if (owner.get() == Py_None) Py_RETURN_NONE;
    if (is_tensor(owner.get())) {
      const Tensor& t = unwrap(owner.get());
      if (TensorMeta* m = meta_if_any(t)) {
        erase_hook(m->hooks, self->hook);
        erase_hook(m->post_accumulate_hooks, self->hook);
      }
      erase_from(genesis::node_of(t), self->hook);
    } else {
      erase_from(node_of(owner.get()), self->hook);
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
  auto* self = reinterpret_cast<PyHandle*>(o);
  self->link.~Link();
  Py_XDECREF(self->owner);
  type->tp_free(o);
  Py_DECREF(type);
}

template <class H>
PyObject* make_handle(PyObject* owner, const Ref<H>& hook) {
  const Object weak(PyWeakref_NewRef(owner, nullptr));
  auto* handle = reinterpret_cast<PyHandle*>(HandleType->tp_alloc(HandleType, 0));
  if (!handle) throw_python();
  new (&handle->link) Link(hook->callable.link());
  handle->hook = hook.get();
  handle->owner = Object(weak).release();
  return reinterpret_cast<PyObject*>(handle);
}

void require_callable(const char* name, PyObject* o) {
  if (!PyCallable_Check(o)) throw_type_error(str(name, ": the hook must be callable, got ", Py_TYPE(o)->tp_name));
}

}  // namespace

PyObject* register_tensor_hook(const Tensor& t, PyObject* callable) {
  require_callable("register_hook", callable);
  const Ref<PyHook> hook(new PyHook(callable, true));
  add_hook(t, hook);
  const Object owner(wrap(t));
  return make_handle(owner.get(), hook);
}

PyObject* register_post_accumulate_hook(const Tensor& t, PyObject* callable) {
  require_callable("register_post_accumulate_grad_hook", callable);
  require<GraphError>(t->requires_grad && !grad_fn(t),
                      "register_post_accumulate_grad_hook: only leaf tensors that require grad accumulate gradients");
  const Ref<PyHook> hook(new PyHook(callable, false));
  meta(t).post_accumulate_hooks.push_back(hook);
  const Object owner(wrap(t));
  return make_handle(owner.get(), hook);
}

PyObject* register_node_hook(Node* node, PyObject* owner, PyObject* callable, bool before) {
  require_callable(before ? "register_prehook" : "register_hook", callable);
  const Ref<PyNodeHook> hook(new PyNodeHook(callable, before));
  (before ? node->extras().pre_hooks : node->extras().post_hooks).push_back(hook);
  return make_handle(owner, hook);
}

void init_hooks(PyObject* module) {
  static PyMethodDef methods[] = {{"remove", remove, METH_NOARGS, "remove($self)\n--\n\nTakes the hook off."},
                                  {"__enter__", enter, METH_NOARGS, nullptr},
                                  {"__exit__", leave, METH_VARARGS, nullptr},
                                  {}};
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(handle_dealloc)},
      {Py_tp_methods, methods},
      {Py_tp_doc, const_cast<char*>("What register_hook returns: remove() takes the hook off.")},
      {0, nullptr}};
  static PyType_Spec spec{"genesis.autograd.RemovableHandle", sizeof(PyHandle), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  HandleType = reinterpret_cast<PyTypeObject*>(Object(PyType_FromSpec(&spec)).release());
  PyModule_AddObjectRef(module, "RemovableHandle", reinterpret_cast<PyObject*>(HandleType));
}

}  // namespace genesis::py
