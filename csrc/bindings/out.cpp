// out=: results that are written to existing tensors.
#include "autograd/meta.h"
#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static bool is_list(PyObject* o) { return PyTuple_Check(o) || PyList_Check(o); }

// Calls f for every tensor among the arguments, including those in lists.
template <class F>
static void each_tensor(std::span<PyObject* const> slots, F&& f) {
  for (PyObject* o : slots) {
    if (!o) continue;
    if (is_tensor(o)) f(unwrap(o));
    if (!is_list(o)) continue;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k)
      if (PyObject* item = PySequence_Fast_GET_ITEM(o, k); is_tensor(item)) f(unwrap(item));
  }
}

void Args::begin_out() {
  PyObject* o = slot_[sig_.out];
  const bool list = is_list(o);
  if (!list && !is_tensor(o)) fail(sig_.out, "a Tensor");
  if (list)
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k)
      if (!is_tensor(PySequence_Fast_GET_ITEM(o, k))) fail(sig_.out, "a Tensor, or a tuple of them");
  out_given_ = true;
  completes_.begin();
  if (grad_mode.enabled)
    each_tensor(slot_, [&](const Tensor& t) {
      require<GraphError>(!tracked(t), sig_.name,
                          ": out= leaves no trace in the graph, but a tensor here requires grad; ",
                          "compute without out=, or under no_grad()");
    });
  if (sig_.dtype >= 0 && !has(sig_.dtype) && !list) slot_[sig_.dtype] = dtype_object(unwrap(o).dtype());
}

ops::Out Args::given_out(int i) {
  if (!has(i)) return {};
  if (!is_tensor(slot_[i])) fail(i, "a Tensor");
  const Tensor& t = unwrap(slot_[i]);
  if (t.numel() == 0) return {};
  // An input that overlaps the memory of the result would be overwritten before it is read.
  bool clear = true;
  each_tensor(slot_, [&](const Tensor& x) {
    const bool elsewhere = x->storage != t->storage || x.same(t);
    clear = clear && (elsewhere || (x->data == t->data && x.shape() == t.shape() && x.strides() == t.strides()));
  });
  return clear ? ops::Out{&t} : ops::Out{};
}

// Gives an empty tensor of another shape memory for the result, as in genesis.add(x, y, out=genesis.empty(0)).
static void make_room(const Tensor& out, const Dims& shape) {
  const Tensor memory = empty(shape, out.dtype());
  out->take_contents(*memory.impl());
}
static bool needs_room(const Tensor& out, const Tensor& result) {
  const bool view = meta_if_any(out) && meta_if_any(out)->base.defined();
  return out.numel() == 0 && out.shape() != result.shape() && !view;
}

// Raises unless the result can be stored, before any of several results is.
static void check(const Signature& sig, PyObject* out, PyObject* result) {
  if (out == result) return;
  const Tensor &to = unwrap(out), &from = unwrap(result);
  ops::destination(sig.name.c_str(), needs_room(to, from) ? to.shape() : from.shape(), from.dtype(), {&to});
}

static void store(const Signature& sig, PyObject* out, PyObject* result) {
  if (out == result) return;
  const Tensor &to = unwrap(out), &from = unwrap(result);
  if (needs_room(to, from)) make_room(to, from.shape());
  ops::deliver(sig.name.c_str(), from, {&to});
}

PyObject* Args::deliver(PyObject* computed) {
  if (!computed) return nullptr;
  const Object result(computed);
  PyObject* out = slot_[sig_.out];
  const auto written = [&](PyObject* o) { unwrap(o)->storage->written(sig_.name.c_str()); };
  if (is_tensor(computed)) {
    if (!is_tensor(out)) fail(sig_.out, "a Tensor, since there is one result");
    check(sig_, out, computed);
    store(sig_, out, computed);
    written(out);
    return Py_NewRef(out);
  }
  const Py_ssize_t n = PyTuple_Check(computed) ? PyTuple_GET_SIZE(computed) : 0;
  if (n == 0)
    throw_type_error(str(sig_.name, "(): out= requires results that are tensors, got ", Py_TYPE(computed)->tp_name));
  if (!is_list(out) || PySequence_Fast_GET_SIZE(out) != n) fail(sig_.out, str("a tuple of ", n, " tensors").c_str());
  const bool plain = PyTuple_CheckExact(computed);
  for (Py_ssize_t k = 0; k < n; ++k) check(sig_, PySequence_Fast_GET_ITEM(out, k), PyTuple_GET_ITEM(computed, k));
  Object tuple(plain ? PyTuple_New(n) : PyStructSequence_New(Py_TYPE(computed)));
  for (Py_ssize_t k = 0; k < n; ++k) {
    PyObject* to = PySequence_Fast_GET_ITEM(out, k);
    store(sig_, to, PyTuple_GET_ITEM(computed, k));
    written(to);
    PyTuple_SET_ITEM(tuple.get(), k, Py_NewRef(to));
  }
  return tuple.release();
}

}  // namespace genesis::py
