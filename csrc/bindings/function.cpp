// Function: operations whose forward and backward are written in Python.
//
// The context that forward and backward receive is the node's Python object: `y.grad_fn is ctx`. Attributes of the
// context are visible to the cycle collector, and each call creates one object. Start reading at apply(), then
// FunctionNode::apply, which runs backward. The type of contexts is in function_context.cpp.
#include "bindings/function.h"

#include <algorithm>

#include "bindings/autocast.h"
#include "bindings/observed.h"
#include "core/exact.h"
#include "ops/create.h"
#include "ops/inplace.h"
#include "ops/pointwise.h"

namespace genesis::py {

namespace {

PyTypeObject* FunctionType;
using Tensors = FunctionNode::Tensors;

PyObject* interned(const char* text) {
  PyObject* s = PyUnicode_InternFromString(text);
  if (!s) throw_python();
  return s;
}

// ---- backward -----------------------------------------------------------------------------------------------------

// The result of genesis.autograd.function.<question> for a method of the class, computed from its signature once and
// cached in the class as long as it has that method.
Object answer(PyObject* cls, PyObject* question, PyObject* method) {
  const Object known = Object::maybe(PyObject_GetAttr(cls, question));
  if (!known) PyErr_Clear();
  else if (PyTuple_Check(known.get()) && PyTuple_GET_ITEM(known.get(), 0) == method)
    return Object::borrow(PyTuple_GET_ITEM(known.get(), 1));
  const Object module(PyImport_ImportModule("genesis.autograd.function"));
  Object found(in_python([&] { return PyObject_CallMethodOneArg(module.get(), question, method); }));
  const Object entry(PyTuple_Pack(2, method, found.get()));
  if (PyObject_SetAttr(cls, question, entry.get()) < 0) throw_python();
  return found;
}

// Whether `backward` expects one call for each output, with its index.
bool one_call_per_output(PyObject* cls, PyObject* backward) {
  static PyObject* const question = interned("_takes_output_index");
  return answer(cls, question, backward).get() == Py_True;
}

// PyTorch accepts vjp as another name of backward.
Object find_backward(PyObject* cls) {
  static PyObject *const backward = interned("backward"), *const vjp = interned("vjp");
  static PyObject* const base = Object(PyObject_GetAttr(reinterpret_cast<PyObject*>(FunctionType), backward)).release();
  Object found(PyObject_GetAttr(cls, backward));
  if (found.get() == base)
    if (Object other = Object::maybe(PyObject_GetAttr(cls, vjp))) return other;
  PyErr_Clear();
  return found;
}

}  // namespace

Grads FunctionNode::apply(Grads&& dy) {
  capture::interrupt("a custom Function runs");
  std::optional<WithoutAutocast> off;
  if (autocast_by_flag()) [[unlikely]]
    off.emplace();  // as in its forward
  const Object backward = find_backward(cls.get());
  const bool each = one_call_per_output(cls.get(), backward.get());
  InlineVec<Object, 4> given;
  for (int i = 0; i < outputs.size(); ++i) {
    Tensor g = i < dy.size() ? std::move(dy[i]) : Tensor();
    if (!g.defined() && materialize && outputs[i].tensor && !each) g = ops::zeros(outputs[i].shape, outputs[i].dtype);
    given.push_back(Object(to_python(std::move(g))));
  }
  if (!each) return call(backward.get(), {given.data(), static_cast<size_t>(given.size())});
  Grads sum;
  for (int i = 0; i < given.size(); ++i) {
    if (given[i].get() == Py_None) continue;
    const Object pair[] = {given[i], Object(PyLong_FromLong(i))};
    Grads part = call(backward.get(), pair);
    if (sum.empty()) sum = std::move(part);
    else
      for (int k = 0; k < sum.size(); ++k)
        sum[k] = sum[k].defined() && part[k].defined() ? ops::add(sum[k], part[k])
                 : sum[k].defined()                    ? sum[k]
                                                       : part[k];
  }
  return sum;
}

Grads FunctionNode::call(PyObject* backward, std::span<const Object> gradients) {
  InlineVec<PyObject*, 8> argv;
  argv.push_back(static_cast<PyObject*>(foreign()));
  for (const Object& g : gradients) argv.push_back(g.get());
  struct Running {
    bool& flag;
    bool before = std::exchange(flag, true);
    ~Running() { flag = before; }
  } const here{in_backward};
  const Object result(
      in_python([&] { return PyObject_Vectorcall(backward, argv.data(), static_cast<size_t>(argv.size()), nullptr); }));
  Grads grads(static_cast<int>(num_edges_));
  collect(result.get(), grads);
  return grads;
}

bool is_list(PyObject* o) { return PyTuple_Check(o) || PyList_Check(o); }

// One gradient for each argument. Those of a list of tensors are a list in its place, or consecutive.
void FunctionNode::collect(PyObject* result, Grads& grads) {
  if (result == Py_None) return;
  const Object items = is_list(result) ? Object(PySequence_Tuple(result)) : Object(PyTuple_Pack(1, result));
  const int n = static_cast<int>(PyTuple_GET_SIZE(items.get()));
  const auto item = [&](int i) { return PyTuple_GET_ITEM(items.get(), i); };

  bool nested = n == arguments.size();
  for (int i = 0; i < std::min(n, arguments.size()); ++i) nested = nested || (arguments[i].list && is_list(item(i)));
  int expected = 0, needed = 0;  // trailing None may be omitted
  for (int i = 0; i < arguments.size(); ++i) {
    expected = nested ? i + 1 : static_cast<int>(arguments[i].first + arguments[i].count);
    if (arguments[i].tensor) needed = expected;
  }
  bool surplus = false;
  for (int i = expected; i < n; ++i) surplus = surplus || item(i) != Py_None;
  if (n < needed || surplus)
    fail(str("backward returned an incorrect number of gradients (expected ", expected, ", got ", n,
             "); return one for each argument of forward, None where there is none"));

  for (int i = 0; i < std::min(n, expected); ++i) {
    if (!nested) {
      take(item(i), static_cast<uint32_t>(i), i, grads);
      continue;
    }
    const Argument& a = arguments[i];
    if (!a.list || !is_list(item(i))) {
      if (a.list && a.count > 1 && item(i) != Py_None)
        fail(
            str("gradient ", i, " belongs to a list of ", a.count, " tensors and must be a list of gradients or None"));
      take(item(i), a.first, i, grads);
      continue;
    }
    const Object inner(PySequence_Tuple(item(i)));
    if (PyTuple_GET_SIZE(inner.get()) != static_cast<Py_ssize_t>(a.count))
      fail(str("gradient ", i, " belongs to a list of ", a.count, " tensors, got ", PyTuple_GET_SIZE(inner.get()),
               " gradients"));
    for (uint32_t k = 0; k < a.count; ++k) take(PyTuple_GET_ITEM(inner.get(), k), a.first + k, i, grads);
  }
}

void FunctionNode::take(PyObject* item, uint32_t number, int at, Grads& grads) {
  if (item == Py_None) return;
  if (!is_tensor(item))
    throw_type_error(str(op, "Backward: gradient ", at, " must be a Tensor or None, got ", Py_TYPE(item)->tp_name));
  const Edge& edge = edge_space_[static_cast<int>(number)];
  if (!edge.node) return;  // not needed
  const Tensor& g = unwrap(item);
  require<DTypeError>(is_differentiable(g.dtype()), op, "Backward: gradient ", at, " must be floating, got ",
                      g.dtype());
  const Dims& shape = *edge.shape;
  bool fits = g.dim() >= shape.size();  // the engine sums a broadcast gradient
  for (int d = 1; fits && d <= shape.size(); ++d) {
    const int64_t have = g.size(-d), want = shape[shape.size() - d];
    fits = have == want || want == 1;
  }
  require(fits, op, "Backward: gradient ", at, " has shape ", g.shape(), ", but the argument of forward has shape ",
          shape);
  grads[static_cast<int>(number)] = g;
}

namespace {

// ---- forward ------------------------------------------------------------------------------------------------------

PyObject* new_context(PyObject* cls) {
  PyTypeObject* const type =
      exact_torch ? type_of_node(ContextType, str(FunctionNode::name_of(cls), "Backward")) : ContextType;
  Object o(type->tp_alloc(type, 0));
  auto* node = new FunctionNode(cls);
  reinterpret_cast<PyNode*>(o.get())->node = node;
  node->hand_over(o.get());
  return o.release();
}

// A non-empty list of tensors, with None allowed beside them.
bool is_tensor_list(PyObject* o) {
  if (!is_list(o)) return false;
  bool any = false;
  PyObject** items = PySequence_Fast_ITEMS(o);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    if (items[i] == Py_None) continue;
    if (!is_tensor(items[i])) return false;
    any = true;
  }
  return any;
}

bool asks_for_gradient(PyObject* o) {
  if (is_tensor(o)) return needs_grad(unwrap(o));
  if (!is_tensor_list(o)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    if (PyObject* t = PySequence_Fast_ITEMS(o)[i]; t != Py_None && needs_grad(unwrap(t))) return true;
  return false;
}

// The arguments of one call, borrowed or, if keywords had to be bound to positions, owned.
struct Call {
  PyObject* const* args;
  Py_ssize_t nargs;
  PyObject* kwnames;
  Object owned;

  std::span<PyObject* const> positional() const { return {args, static_cast<size_t>(nargs)}; }

  void bind(PyObject* cls, bool defaults) {
    const Object positional(PyTuple_New(nargs)), keywords(PyDict_New());
    for (Py_ssize_t i = 0; i < nargs; ++i) {
      Py_INCREF(args[i]);
      PyTuple_SET_ITEM(positional.get(), i, args[i]);
    }
    if (kwnames)
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k)
        if (PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(kwnames, k), args[nargs + k]) < 0) throw_python();
    const Object module(PyImport_ImportModule("genesis.autograd.function"));
    const Object bound(in_python([&] {
      return PyObject_CallMethod(module.get(), "_bind", "OOOO", cls, positional.get(), keywords.get(),
                                 defaults ? Py_True : Py_False);
    }));
    // (values, number of positional ones, names of the others)
    owned = bound;
    PyObject* values = PyTuple_GET_ITEM(bound.get(), 0);
    args = PySequence_Fast_ITEMS(values);
    nargs = PyLong_AsSsize_t(PyTuple_GET_ITEM(bound.get(), 1));
    kwnames = PyTuple_GET_ITEM(bound.get(), 2);
    if (PyTuple_GET_SIZE(kwnames) == 0) kwnames = nullptr;
  }
};

// Describes the arguments in the node and, if one of them is tracked, creates its edges. Returns the input tensors.
Tensors take_arguments(FunctionNode& node, const Call& call, bool& tracked) {
  Tensors flat;
  tracked = false;
  for (PyObject* o : call.positional()) {
    FunctionNode::Argument a{.first = static_cast<uint32_t>(flat.size())};
    if (is_tensor(o)) {
      a.tensor = true;
      flat.push_back(unwrap(o));
    } else if (is_tensor_list(o)) {
      a.tensor = a.list = true;
      a.count = static_cast<uint32_t>(PySequence_Fast_GET_SIZE(o));
      for (uint32_t i = 0; i < a.count; ++i) {
        PyObject* item = PySequence_Fast_ITEMS(o)[i];
        flat.push_back(item == Py_None ? Tensor() : unwrap(item));
      }
    } else {
      flat.push_back(Tensor());
    }
    for (uint32_t i = 0; i < a.count; ++i)
      if (const Tensor& t = flat[static_cast<int>(a.first + i)]; t.defined() && needs_grad(t)) a.needs_grad = true;
    tracked = tracked || a.needs_grad;
    node.arguments.push_back(a);
  }
  tracked = tracked && grad_mode.enabled;
  if (tracked) node.draw_edges(flat);
  return flat;
}

bool among(const Tensor& t, const Tensors& list) {
  for (const Tensor& x : list)
    if (x.defined() && x.same(t)) return true;
  return false;
}
bool shares_memory(const Tensor& t, const Tensors& list) {
  for (const Tensor& x : list)
    if (x.defined() && x->storage == t->storage) return true;
  return false;
}

// A tensor that forward did not create, but only returned: its grad_fn must not change.
bool belongs_elsewhere(const Tensor& y, const FunctionNode& node) {
  if (y->grad_fn) return static_cast<Node*>(y->grad_fn.get())->sequence < node.sequence;
  const TensorMeta* m = meta_if_any(y);
  return y->parameter || (m && (m->accumulator || m->grad.defined() || !m->hooks.empty()));
}

// Output `index` of forward, connected to the graph.
Tensor place(FunctionNode& node, Tensor y, uint32_t index, const Tensors& inputs) {
  if (!is_differentiable(y.dtype()) || among(y, node.non_differentiable)) {
    if (!requires_grad(y)) return y;
    return alias(y);
  }
  if (among(y, node.dirty)) {
    Tensor result = alias(y);
    attach(result, &node, index);
    return ops::take_history(y, result);
  }
  const bool input = among(y, inputs);
  const bool twice = y->grad_fn.get() == &node;
  if (input || twice || belongs_elsewhere(y, node)) y = alias(y);
  if (TensorMeta* m = meta_if_any(y); m && m->base.defined()) m->base = Tensor();
  if (shares_memory(y, inputs)) meta(y).frozen = true;
  attach(y, &node, index);
  return y;
}

void check_dirty(FunctionNode& node, const Tensors& inputs, bool tracked) {
  for (const Tensor& t : node.dirty) {
    require<GraphError>(among(t, inputs), node.op, ": mark_dirty was given a tensor of shape ", t.shape(),
                        " that is not an argument of forward");
    t->storage->written(node.op);
    // A Parameter may be updated in place, but must not become the result of an operation.
    if (tracked && !ops::begin_inplace(node.op, t, {}))
      require<GraphError>(!requires_grad(t), node.op,
                          ": a leaf tensor that requires grad cannot be changed in place, since its "
                          "gradient would be lost");
  }
}

PyObject* finish(FunctionNode& node, PyObject* result, const Tensors& inputs, bool tracked) {
  if (PyDict_Check(result))
    throw_type_error(str(node.op,
                         ": forward must return a tensor or a tuple, got a dict; return its values and build the dict "
                         "around apply()"));
  check_dirty(node, inputs, tracked);
  if (!tracked) {
    Py_INCREF(result);
    return result;
  }
  const bool several = is_list(result);
  InlineVec<Object, 4> items;
  if (several)
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i)
      items.push_back(Object::borrow(PySequence_Fast_GET_ITEM(result, i)));
  else items.push_back(Object::borrow(result));
  node.num_outputs = static_cast<uint32_t>(items.size());
  node.outputs.resize(items.size());
  for (const Tensor& t : node.dirty) {
    const bool returned = std::any_of(items.begin(), items.end(),
                                      [&](const Object& o) { return is_tensor(o.get()) && unwrap(o.get()).same(t); });
    require<GraphError>(returned, node.op, ": an argument that was given to mark_dirty must be returned by forward");
  }
  bool replaced = false;
  for (int i = 0; i < items.size(); ++i) {
    if (!is_tensor(items[i].get())) continue;
    const Tensor y = unwrap(items[i].get());
    node.outputs[i] = {y.shape(), y.dtype(), true};
    Tensor placed = place(node, y, static_cast<uint32_t>(i), inputs);
    if (placed.same(y)) continue;
    replaced = true;
    items[i] = Object(wrap(std::move(placed)));
  }
  node.save();
  if (!replaced) return Object::borrow(result).release();  // preserves named tuples
  if (!several) return items[0].release();
  const bool list = PyList_Check(result);
  Object sequence(list ? PyList_New(items.size()) : PyTuple_New(items.size()));
  for (int i = 0; i < items.size(); ++i) {
    if (list) PyList_SET_ITEM(sequence.get(), i, items[i].release());
    else PyTuple_SET_ITEM(sequence.get(), i, items[i].release());
  }
  return sequence.release();
}

PyObject* run_forward(PyObject* cls, PyObject* context, const Call& call, bool separate) {
  static PyObject *const forward = interned("forward"), *const setup = interned("setup_context");
  const WithGradMode off(false);
  const Object f(PyObject_GetAttr(cls, forward));
  const Py_ssize_t keywords = call.kwnames ? PyTuple_GET_SIZE(call.kwnames) : 0;
  if (separate) {
    Object result(in_python(
        [&] { return PyObject_Vectorcall(f.get(), call.args, static_cast<size_t>(call.nargs), call.kwnames); }));
    const Object inputs(PyTuple_New(call.nargs));
    for (Py_ssize_t i = 0; i < call.nargs; ++i) {
      Py_INCREF(call.args[i]);
      PyTuple_SET_ITEM(inputs.get(), i, call.args[i]);
    }
    const Object g(PyObject_GetAttr(cls, setup));
    const Object none(
        in_python([&] { return PyObject_CallFunctionObjArgs(g.get(), context, inputs.get(), result.get(), nullptr); }));
    return result.release();
  }
  InlineVec<PyObject*, 8> argv;
  argv.push_back(context);
  for (Py_ssize_t i = 0; i < call.nargs + keywords; ++i) argv.push_back(call.args[i]);
  return Object(in_python([&] {
           return PyObject_Vectorcall(f.get(), argv.data(), static_cast<size_t>(call.nargs) + 1, call.kwnames);
         }))
      .release();
}

bool has_setup_context(PyObject* cls) {
  static PyObject* const setup = interned("setup_context");
  static PyObject* const base = Object(PyObject_GetAttr(reinterpret_cast<PyObject*>(FunctionType), setup)).release();
  return Object(PyObject_GetAttr(cls, setup)).get() != base;
}

Py_ssize_t num_positional(PyObject* cls) {
  static PyObject *const question = interned("_num_positional"), *const forward = interned("forward");
  const Object f(PyObject_GetAttr(cls, forward));
  return PyLong_AsSsize_t(answer(cls, question, f.get()).get());
}

PyObject* run(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    std::optional<WideArguments> wide;
    std::optional<WithoutAutocast> off;
    if (functions_are_wide()) [[unlikely]] {
      wide.emplace(args, nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
      off.emplace();
      args = wide->data();
    }
    Call call{args, nargs, kwnames, {}};
    const bool separate = has_setup_context(cls);
    bool bind = separate && (kwnames || nargs < num_positional(cls));  // setup_context also receives defaults
    if (kwnames)
      for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k) bind = bind || asks_for_gradient(args[nargs + k]);
    if (bind) call.bind(cls, separate);
    const Object context(new_context(cls));
    FunctionNode& node = node_of_context(context.get());
    bool tracked;
    const Tensors inputs = take_arguments(node, call, tracked);
    struct Done {
      FunctionNode& node;
      ~Done() {
        node.running = false;
        node.to_save = {};
        node.dirty = {};
        node.non_differentiable = {};
      }
    } const done{node};
    const Object result(run_forward(cls, context.get(), call, separate));
    return finish(node, result.get(), inputs, tracked);
  });
}
PyObject* apply(PyObject* cls, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const auto all = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  if (BatchedType && std::any_of(args, args + all, is_batched))
    return guarded([&] {
      const Object method(PyObject_GetAttrString(cls, "apply"));
      const Invocation call{nullptr, args, nargs, kwnames};
      return call_batched(method.get(), tuple_of(call).get(), dict_of(call).get());
    });
  capture::interrupt("a custom Function runs");
  if (!dispatch_bit(kObserve)) [[likely]]
    return run(cls, args, nargs, kwnames);
  return guarded([&]() -> PyObject* {
    const auto given = static_cast<size_t>(nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
    return observed_as(FunctionNode::name_of(cls), {args, given}, [&] { return run(cls, args, nargs, kwnames); });
  });
}

const Family family([] {
  static PyMethodDef function_methods[] = {
      {"apply", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(apply)),
       METH_CLASS | METH_FASTCALL | METH_KEYWORDS,
       "apply($type, /, *args, **kwargs)\n--\n\nRuns forward and records the call in the graph."},
      {}};
  static PyType_Slot function_slots[] = {{Py_tp_methods, function_methods}, {0, nullptr}};
  static PyType_Spec function_spec{"genesis._C._Function", sizeof(PyObject), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, function_slots};
  Object type(PyType_FromSpec(&function_spec));
  if (PyModule_AddObjectRef(current_module(), "_Function", type.get()) < 0) throw_python();
  FunctionType = reinterpret_cast<PyTypeObject*>(type.release());
  // genesis.autograd.Function, which provides the methods that a class does not define.
  def<"_set_function_base(Any function) -> None", [](Args& a) -> PyObject* {
    Py_INCREF(a[0]);
    FunctionType = reinterpret_cast<PyTypeObject*>(a[0]);
    Py_RETURN_NONE;
  }>(kFunction | kTool);
});

}  // namespace

bool is_function(const Node& node) { return dynamic_cast<const FunctionNode*>(&node) != nullptr; }

}  // namespace genesis::py
