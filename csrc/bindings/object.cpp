#include "bindings/object.h"

#include <new>
#include <unordered_map>
#include <vector>

#include "autograd/meta.h"
#include "bindings/module.h"
#include "core/allocator.h"

namespace genesis::py {

PyTypeObject* TensorType = nullptr;

// Freed objects of the exact type are cached for reuse: allocation through the collector costs more than the rest of a
// small operation.
static constexpr int kFree = 256;
static PyTensor* free_objects[kFree];
static int num_free = 0;

static PyTensor* new_object(PyTypeObject* type) {
  if (type == TensorType && num_free > 0) {
    PyTensor* self = free_objects[--num_free];
    Py_INCREF(type);
    _Py_NewReference(reinterpret_cast<PyObject*>(self));
    PyObject_GC_Track(self);
    return self;
  }
  auto* self = reinterpret_cast<PyTensor*>(type->tp_alloc(type, 0));
  if (!self) throw_python();
  return self;
}

PyObject* wrap_as(PyTypeObject* type, Tensor t) {
  PyTensor* self = new_object(type);
  TensorImpl* impl = t.detach_impl();  // this reference is returned
  new (&self->tensor) Tensor(Tensor::adopt(impl));
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(self), impl->hand_over(self));
  return reinterpret_cast<PyObject*>(self);
}

PyObject* wrap(Tensor t) {
  if (void* object = t->foreign()) {
    t.detach_impl();
    return static_cast<PyObject*>(object);
  }
  if (t->extras) [[unlikely]]
    forget_hidden_base(t);
  return wrap_as(TensorType, std::move(t));
}

void tensor_dealloc(PyObject* o) {
  auto* self = reinterpret_cast<PyTensor*>(o);
  PyTypeObject* type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  if (self->weakrefs) PyObject_ClearWeakRefs(o);
  Py_CLEAR(self->dict);
  if (TensorImpl* impl = self->tensor.detach_impl()) impl->destroy();
  if (type == TensorType && num_free < kFree) free_objects[num_free++] = self;
  else type->tp_free(o);
  Py_DECREF(type);
}

// ---- cycle collection -----------------------------------------------------------------------------------------------
//
// A Python object owns a tensor, which owns nodes, which own tensors ... Each reference to a Python object is visited
// exactly once, by the Python object that owns the path to it. A C++ object on the way belongs to the path if all its
// references come from it: immediately with one reference, otherwise when it has been reached as many times. An object
// that several Python objects share belongs to none of them; before a full collection it gets its own Python object
// (expose_shared), so that cycles through it are found too.
namespace {

// Memory for a traversal, which must not fail: the collector would free what was not visited. If the system has no
// more, a reserve is used. It serves one traversal at a time, since the GIL is held.
struct Reserve {
  ~Reserve() { used = 0; }
  alignas(64) static inline char memory[1 << 20];
  static inline size_t used = 0;
};

template <class T>
struct ReserveAllocator {
  using value_type = T;
  ReserveAllocator() = default;
  template <class U>
  ReserveAllocator(const ReserveAllocator<U>&) {}
  T* allocate(size_t n) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    if (void* p = ::operator new(n * sizeof(T), std::nothrow)) return static_cast<T*>(p);
    empty_cache();
    if (void* p = ::operator new(n * sizeof(T), std::nothrow)) return static_cast<T*>(p);
    const size_t begin = (Reserve::used + alignof(T) - 1) / alignof(T) * alignof(T);
    if (n > (sizeof Reserve::memory - begin) / sizeof(T)) std::terminate();
    Reserve::used = begin + n * sizeof(T);
    return reinterpret_cast<T*>(Reserve::memory + begin);
  }
  void deallocate(T* p, size_t) {
    const auto* at = reinterpret_cast<const char*>(p);
    if (at < Reserve::memory || at >= Reserve::memory + sizeof Reserve::memory) ::operator delete(p);
  }
  bool operator==(const ReserveAllocator&) const { return true; }
};

class Traversal {
 public:
  Traversal(visitproc visit, void* arg) : visit_(visit), arg_(arg) {}

  int tensor(TensorImpl* impl) {
    if (auto* m = static_cast<TensorMeta*>(impl->extras.get())) {
      if (int r = hooks(m->hooks)) return r;
      if (int r = hooks(m->post_accumulate_hooks)) return r;
      if (int r = meet(m->grad.impl())) return r;
      if (int r = meet(m->base.impl())) return r;
    }
    return meet(static_cast<Node*>(impl->grad_fn.get()));
  }

  int node(Node* n) {
    if (NodeExtras* extras = n->extras_if_any()) {
      for (const auto& h : extras->output_hooks)
        if (int r = hook(h.hook)) return r;
      for (const auto& h : extras->pre_hooks)
        if (int r = hook(h)) return r;
      for (const auto& h : extras->post_hooks)
        if (int r = hook(h)) return r;
      for (const auto& p : extras->packed) {
        if (int r = p.what->count() == 1 ? show(*p.what) : 0) return r;
        if (int r = meet(p.edge.node.get())) return r;
        if (int r = meet(p.unpacked.impl())) return r;
      }
      if (extras->metadata)
        if (int r = visit_(static_cast<PyObject*>(extras->metadata), arg_)) return r;
    }
    if (int r = show(*n)) return r;
    for (const SavedTensor& s : n->saved())
      if (int r = meet(s.tensor.impl())) return r;
    for (const Edge& e : n->edges())
      if (int r = meet(e.node.get())) return r;
    if (n->is_leaf()) return meet(static_cast<AccumulateGrad*>(n)->leaf.impl());
    return 0;
  }

  int drain() {
    while (!owned_.empty()) {
      auto [object, is_node] = owned_.back();
      owned_.pop_back();
      if (int r = is_node ? node(static_cast<Node*>(object)) : tensor(static_cast<TensorImpl*>(object))) return r;
    }
    return 0;
  }

 private:
  int meet(TensorImpl* impl) { return impl ? meet_counted(impl, false) : 0; }
  int meet(Node* node) { return node ? meet_counted(node, true) : 0; }
  int meet_counted(Counted* object, bool is_node) {
    if (object->foreign()) return visit_(static_cast<PyObject*>(object->foreign()), arg_);
    if (object->count() == 1 || ++met_[object] == object->count()) owned_.push_back({object, is_node});
    return 0;
  }
  // The Python objects that a node or a packed tensor holds directly.
  template <class T>
  int show(const T& owner) {
    return owner.traverse(
        [](void* object, void* self) {
          auto* t = static_cast<Traversal*>(self);
          return t->visit_(static_cast<PyObject*>(object), t->arg_);
        },
        this);
  }
  template <class H>
  int hook(const Ref<H>& h) {
    return h->count() == 1 && h->object() ? visit_(static_cast<PyObject*>(h->object()), arg_) : 0;
  }
  int hooks(const std::vector<Ref<Hook>>& list) {
    for (const auto& h : list)
      if (int r = hook(h)) return r;
    return 0;
  }

  visitproc visit_;
  void* arg_;
  Reserve reserve_;
  std::unordered_map<Counted*, intptr_t, std::hash<Counted*>, std::equal_to<>,
                     ReserveAllocator<std::pair<Counted* const, intptr_t>>>
      met_;
  std::vector<std::pair<Counted*, bool>, ReserveAllocator<std::pair<Counted*, bool>>> owned_;
};

}  // namespace

static PyObject* expose_shared(PyObject*, PyObject* args) {
  const char* phase;
  PyObject* info;
  if (!PyArg_ParseTuple(args, "sO", &phase, &info)) return nullptr;
  PyObject* generation = PyDict_GetItemString(info, "generation");
  if (*phase != 's' || !generation || PyLong_AsLong(generation) < 2) Py_RETURN_NONE;
  return guarded([]() -> PyObject* {
    for (Node* node = Node::newest(); node; node = node->next()) {
      for (const SavedTensor& s : node->saved())
        if (s.tensor.defined() && !s.tensor->foreign() && s.tensor->count() > 1) Py_DECREF(wrap(s.tensor));
      if (!node->foreign() && node->count() > 1) Py_DECREF(node_object(node));
    }
    Py_RETURN_NONE;
  });
}

void init_collector() {
  static PyMethodDef callback{"expose_shared", expose_shared, METH_VARARGS, nullptr};
  const Object gc(PyImport_ImportModule("gc"));
  const Object callbacks(PyObject_GetAttrString(gc.get(), "callbacks"));
  const Object function(PyCFunction_New(&callback, nullptr));
  if (PyList_Append(callbacks.get(), function.get()) < 0) throw_python();
}

int traverse_tensor(TensorImpl* impl, visitproc visit, void* arg) {
  if (!impl->grad_fn && !impl->extras) return 0;
  Traversal t(visit, arg);
  if (int r = t.tensor(impl)) return r;
  return t.drain();
}

int traverse_node(Node* node, visitproc visit, void* arg) {
  Traversal t(visit, arg);
  if (int r = t.node(node)) return r;
  return t.drain();
}

int tensor_traverse(PyObject* o, visitproc visit, void* arg) {
  auto* self = reinterpret_cast<PyTensor*>(o);
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(self->dict);
  return self->tensor.defined() ? traverse_tensor(self->tensor.impl(), visit, arg) : 0;
}

int tensor_clear(PyObject* o) {
  auto* self = reinterpret_cast<PyTensor*>(o);
  Py_CLEAR(self->dict);
  if (!self->tensor.defined()) return 0;
  TensorImpl* impl = self->tensor.impl();
  // Moved out first: destructors may access this tensor again.
  const Ref<Counted> grad_fn = std::move(impl->grad_fn);
  if (auto* m = static_cast<TensorMeta*>(impl->extras.get())) {
    const auto hooks = std::move(m->hooks);
    const auto post = std::move(m->post_accumulate_hooks);
    const Tensor grad = std::move(m->grad), base = std::move(m->base);
    m->retains_grad = false;
  }
  return 0;
}

}  // namespace genesis::py
