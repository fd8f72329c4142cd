// The native part of genesis.autograd.graph: saved_tensors_hooks, user functions that pack and unpack saved tensors;
// and queries about the graph and the running pass.
#include "autograd/meta.h"
#include "bindings/args.h"
#include "bindings/module.h"
#include "bindings/node.h"
#include "engine/backward.h"

namespace genesis::py {

namespace {

class PyPacked final : public Packed {
 public:
  PyPacked(Object value, Object unpack) : value_(std::move(value)), unpack_(std::move(unpack)) {}
  Tensor unpack() override {
    const Object f = unpack_, value = value_;
    const Object result(in_python([&] { return PyObject_CallOneArg(f.get(), value.get()); }));
    if (!is_tensor(result.get()))
      throw_type_error(
          str("saved_tensors_hooks: the unpack hook must return a Tensor, got ", Py_TYPE(result.get())->tp_name));
    return unwrap(result.get());
  }
  int traverse(int (*visit)(void*, void*), void* arg) const override {
    if (int r = visit(value_.get(), arg)) return r;
    return visit(unpack_.get(), arg);
  }
  void destroy() noexcept override { delete this; }

 private:
  Object value_, unpack_;
};

// One level of the thread's stack. Only pop() frees it: a thread that ends inside a `with` does not hold the GIL.
class PySavedHooks final : public SavedHooks {
 public:
  PySavedHooks(PyObject* pack, PyObject* unpack)
      : outer(grad_mode.saved_hooks), pack_(Object::borrow(pack)), unpack_(Object::borrow(unpack)) {}
  Ref<Packed> pack(const Tensor& t) override {
    // The hook's own computations are not packed.
    struct Suspended {
      SavedHooks* before = std::exchange(grad_mode.saved_hooks, nullptr);
      ~Suspended() { grad_mode.saved_hooks = before; }
    } const suspended;
    const Object f = pack_, unpack = unpack_, argument(wrap(t));
    Object value(in_python([&] { return PyObject_CallOneArg(f.get(), argument.get()); }));
    return Ref<Packed>(new PyPacked(std::move(value), unpack));
  }

  SavedHooks* outer;

 private:
  Object pack_, unpack_;
};

// The message of the active disable_saved_tensors_hooks.
thread_local PyObject* refusal = nullptr;

const Family family([] {
  def<"_push_saved_hooks(Any pack_hook, Any unpack_hook) -> None", [](Args& a) -> PyObject* {
    if (refusal) {
      PyErr_SetObject(PyExc_RuntimeError, refusal);
      throw_python();
    }
    for (int i = 0; i < 2; ++i)
      if (!PyCallable_Check(a[i]))
        throw_type_error(str("saved_tensors_hooks: ", i ? "unpack_hook" : "pack_hook", " must be callable, got ",
                             Py_TYPE(a[i])->tp_name));
    grad_mode.saved_hooks = new PySavedHooks(a[0], a[1]);
    Py_RETURN_NONE;
  }>(kFunction | kTool);
  def<"_pop_saved_hooks() -> None", [](Args&) -> PyObject* {
    auto* top = static_cast<PySavedHooks*>(grad_mode.saved_hooks);
    require<GraphError>(top != nullptr, "saved_tensors_hooks: left without having been entered");
    grad_mode.saved_hooks = top->outer;
    delete top;
    Py_RETURN_NONE;
  }>(kFunction | kTool);
  // Sets the message, or None to allow hooks again; returns the previous one.
  def<"_refuse_saved_hooks(str? message) -> str?", [](Args& a) -> PyObject* {
    require<GraphError>(!a.has(0) || !grad_mode.saved_hooks,
                        "disable_saved_tensors_hooks: saved_tensors_hooks are active; leave them first");
    PyObject* before = std::exchange(refusal, a.has(0) ? Object::borrow(a[0]).release() : nullptr);
    if (before) return before;
    Py_RETURN_NONE;
  }>(kFunction | kTool);

  def<"_gradient_edge(Tensor tensor) -> (Node, int)", [](Args& a) -> PyObject* {
    const Tensor& t = a.tensor(0);
    require<GraphError>(requires_grad(t), "get_gradient_edge: a tensor of shape ", t.shape(),
                        " does not require grad, so it has no place in a graph");
    const Edge edge = gradient_edge(t);
    const Object node(node_object(edge.node.get()));
    return Py_BuildValue("(OI)", node.get(), edge.index);
  }>(kFunction | kTool);
  def<"_increment_version(Tensor tensor) -> None", [](Args& a) -> PyObject* {
    a.tensor(0)->storage->written("increment_version");
    Py_RETURN_NONE;
  }>(kFunction | kTool);
  def<"_current_pass() -> int", [](Args&) { return static_cast<int64_t>(engine::current_pass()); }>(kFunction | kTool);
  def<"_pass_runs(Node node) -> bool", [](Args& a) {
    if (!is_node(a[0])) throw_type_error(str("_pass_runs: expected a Node, got ", Py_TYPE(a[0])->tp_name));
    return engine::runs(node_of(a[0]));
  }>(kFunction | kTool);
});

}  // namespace

}  // namespace genesis::py
