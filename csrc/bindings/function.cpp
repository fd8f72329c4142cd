// Function: operations whose forward and backward are Python.
//
// The context that forward and backward receive is the node's Python object: `y.grad_fn is ctx`, so what a user puts
// on it is seen by the cycle collector, and one object is made for each call. Read apply() first, then
// FunctionNode::apply, which is the way back.
#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "autograd/record.h"
#include "bindings/args.h"
#include "bindings/autocast.h"
#include "bindings/module.h"
#include "bindings/node.h"
#include "bindings/observed.h"
#include "ops/create.h"
#include "ops/inplace.h"
#include "ops/pointwise.h"

namespace genesis::py {

namespace {

PyTypeObject* ContextType;
PyTypeObject* FunctionType;

PyObject* interned(const char* text) {
  PyObject* s = PyUnicode_InternFromString(text);
  if (!s) throw_python();
  return s;
}

// An argument of forward: one edge, or one for each tensor of a list.
struct Argument {
  uint32_t first = 0, count = 1;
  bool list = false;
  bool tensor = false;
  bool needs_grad = false;
};

struct Output {
  Dims shape;
  DType dtype = DType::Float32;
  bool tensor = false;
};

using Tensors = InlineVec<Tensor, 4>;

class FunctionNode final : public Node {
 public:
  explicit FunctionNode(PyObject* cls) : Node(name_of(cls)), cls(Object::borrow(cls)) {}
  Grads apply(Grads&& dy) override;
  std::string name() const override { return std::string(op) + "Backward"; }
  int traverse(int (*visit)(void*, void*), void* arg) const override { return visit(cls.get(), arg); }

  void draw_edges(const Tensors& inputs) {
    edge_space_.reserve(inputs.size());
    for (const Tensor& x : inputs) {
      Edge edge;
      if (x.defined()) fill(edge, x, nullptr);
      if (edge.node) edge.shape = std::make_unique<Dims>(x.shape());
      edge_space_.push_back(std::move(edge));
    }
    edges_ = edge_space_.data();
    num_edges_ = static_cast<uint32_t>(edge_space_.size());
  }
  void save() {
    saved_space_.resize(to_save.size());
    saved_ = saved_space_.data();
    num_saved_ = static_cast<uint32_t>(saved_space_.size());
    for (int i = 0; i < to_save.size(); ++i) {
      const Tensor& t = to_save[i];
      const bool own = t.defined() && t->grad_fn.get() == this;
      fill(*this, static_cast<size_t>(i), ToSave(t, own, false, own ? t->output_index : 0));
    }
  }
  // Kept for good: a tape shows the names of operations whose class is gone.
  static const char* name_of(PyObject* cls) {
    struct Hash : std::hash<std::string_view> {
      using is_transparent = void;
    };
    static std::unordered_set<std::string, Hash, std::equal_to<>> names;
    const std::string_view name = reinterpret_cast<PyTypeObject*>(cls)->tp_name;
    const auto it = names.find(name);
    return it != names.end() ? it->c_str() : names.emplace(name).first->c_str();
  }
  [[noreturn]] void fail(const std::string& text) const { genesis::fail<GraphError>(op, "Backward: ", text); }

  Object cls;
  Object attributes;  // the context's, on their way out: a chain of contexts must not be destroyed recursively
  InlineVec<Argument, 4> arguments;
  InlineVec<Output, 1> outputs;
  bool materialize = true;
  // What forward asked for, until apply() has dealt with it.
  bool running = true;
  bool in_backward = false;
  Tensors to_save, dirty, non_differentiable;

 private:
  void free() noexcept override { delete this; }
  Grads call(PyObject* backward, std::span<const Object> gradients);
  void collect(PyObject* result, Grads& grads);
  void take(PyObject* item, uint32_t edge, int at, Grads& grads);

  InlineVec<Edge, 4> edge_space_;
  InlineVec<SavedTensor, 4> saved_space_;
};

struct PyContext {
  PyNode base;
  PyObject* dict;
};

FunctionNode& node_of_context(PyObject* o) { return static_cast<FunctionNode&>(*node_of(o)); }

// ---- backward -----------------------------------------------------------------------------------------------------

// What genesis.autograd.function.<question> says of a method of the class, found by signature once and remembered in
// the class for as long as it has that method.
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

// Whether `backward` wants one call for each output, with its number.
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

// One gradient for each argument. Those of a list of tensors come as a list in its place, or one after another.
void FunctionNode::collect(PyObject* result, Grads& grads) {
  if (result == Py_None) return;
  const Object items = is_list(result) ? Object(PySequence_Tuple(result)) : Object(PyTuple_Pack(1, result));
  const int n = static_cast<int>(PyTuple_GET_SIZE(items.get()));
  const auto item = [&](int i) { return PyTuple_GET_ITEM(items.get(), i); };

  bool nested = n == arguments.size();
  for (int i = 0; i < std::min(n, arguments.size()); ++i) nested = nested || (arguments[i].list && is_list(item(i)));
  int expected = 0, needed = 0;  // None may be left out after the last tensor
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
  if (!edge.node) return;  // nobody wants it
  const Tensor& g = unwrap(item);
  require<DTypeError>(is_differentiable(g.dtype()), op, "Backward: gradient ", at, " must be floating, got ",
                      g.dtype());
  const Dims& shape = *edge.shape;
  bool fits = g.dim() >= shape.size();  // the engine sums a broadcast gradient down
  for (int d = 1; fits && d <= shape.size(); ++d) {
    const int64_t have = g.size(-d), want = shape[shape.size() - d];
    fits = have == want || want == 1;
  }
  require(fits, op, "Backward: gradient ", at, " has shape ", g.shape(), ", but the argument of forward has shape ",
          shape);
  grads[static_cast<int>(number)] = g;
}

// ---- forward ------------------------------------------------------------------------------------------------------

PyObject* new_context(PyObject* cls) {
  Object o(ContextType->tp_alloc(ContextType, 0));
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
  if (is_tensor(o)) return watched(unwrap(o));
  if (!is_tensor_list(o)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    if (PyObject* t = PySequence_Fast_ITEMS(o)[i]; t != Py_None && watched(unwrap(t))) return true;
  return false;
}

// The arguments of one call, borrowed or, where keywords had to be put in their places, owned.
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

// Describes the arguments in the node and, if one of them is tracked, draws its edges. Returns the input tensors.
Tensors take_arguments(FunctionNode& node, const Call& call, bool& tracked) {
  Tensors flat;
  tracked = false;
  for (PyObject* o : call.positional()) {
    Argument a{.first = static_cast<uint32_t>(flat.size())};
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
      if (const Tensor& t = flat[static_cast<int>(a.first + i)]; t.defined() && watched(t)) a.needs_grad = true;
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

// Somebody else's tensor, which forward only found and returned: its place in the graph must stay as it is.
bool belongs_elsewhere(const Tensor& y, const FunctionNode& node) {
  if (y->grad_fn) return static_cast<Node*>(y->grad_fn.get())->sequence < node.sequence;
  const TensorMeta* m = meta_if_any(y);
  return y->parameter || (m && (m->accumulator || m->grad.defined() || !m->hooks.empty()));
}

// Output `index` of forward, given its place in the graph.
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
    // A Parameter may be updated in place, but not become the result of an operation.
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
  if (!replaced) return Object::borrow(result).release();  // a named tuple stays one
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
    bool bind = separate && (kwnames || nargs < num_positional(cls));  // setup_context sees defaults too
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

// ---- the context --------------------------------------------------------------------------------------------------

void context_dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  auto* self = reinterpret_cast<PyContext*>(o);
  PyTypeObject* type = Py_TYPE(o);
  if (self->base.weakrefs) PyObject_ClearWeakRefs(o);
  if (self->base.node) {
    node_of_context(o).attributes = Object::maybe(std::exchange(self->dict, nullptr));
    self->base.node->destroy();
  }
  type->tp_free(o);
  Py_DECREF(type);
}
int context_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PyContext*>(o)->dict);
  return node_traverse(o, visit, arg);
}
int context_clear(PyObject* o) {
  Py_CLEAR(reinterpret_cast<PyContext*>(o)->dict);
  return node_clear(o);
}

void take_tensors(const char* method, FunctionNode& node, PyObject* args, Tensors& list, bool optional) {
  if (!node.running) node.fail(str(method, " must be called in forward or setup_context"));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    PyObject* o = PyTuple_GET_ITEM(args, i);
    if (optional && o == Py_None) list.push_back(Tensor());
    else if (is_tensor(o)) list.push_back(unwrap(o));
    else
      throw_type_error(str(node.op, ": ", method, " takes tensors", optional ? " or None" : "", ", argument ", i,
                           " is ", Py_TYPE(o)->tp_name, optional ? "; keep other values as attributes of ctx" : ""));
  }
}
template <FixedString Name, auto List, bool Optional>
PyObject* mark(PyObject* o, PyObject* args) {
  return guarded([&]() -> PyObject* {
    FunctionNode& node = node_of_context(o);
    take_tensors(Name.text, node, args, node.*List, Optional);
    Py_RETURN_NONE;
  });
}

PyObject* saved_tensors(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    FunctionNode& node = node_of_context(o);
    if (node.running) return to_python(std::vector<Tensor>(node.to_save.begin(), node.to_save.end()));
    struct Forget {
      FunctionNode& node;
      ~Forget() { node.forget_unpacked(); }
    } const forget{node};
    const WithGradMode on(true);  // a saved output is seen as the output that it is, also without create_graph
    const Saved saved(node);
    std::vector<Tensor> list;
    for (size_t i = 0; i < node.saved().size(); ++i) list.push_back(saved[static_cast<int>(i)]);
    return to_python(list);
  });
}
PyObject* needs_input_grad(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    const FunctionNode& node = node_of_context(o);
    const auto& arguments = node.arguments;
    const Saved saved(node);
    Object tuple(PyTuple_New(static_cast<Py_ssize_t>(arguments.size())));
    for (int i = 0; i < arguments.size(); ++i) {
      bool needed = arguments[i].needs_grad;
      if (needed && node.in_backward) {
        needed = false;
        for (uint32_t k = 0; k < arguments[i].count; ++k)
          needed = needed || saved.needs(static_cast<int>(arguments[i].first + k));
      }
      PyTuple_SET_ITEM(tuple.get(), i, PyBool_FromLong(needed));
    }
    return tuple.release();
  });
}
PyObject* set_materialize_grads(PyObject* o, PyObject* value) {
  const int on = PyObject_IsTrue(value);
  if (on < 0) return nullptr;
  node_of_context(o).materialize = on != 0;
  Py_RETURN_NONE;
}
int set_materialize(PyObject* o, PyObject* value, void*) {
  const int on = value ? PyObject_IsTrue(value) : -1;
  if (on < 0) return -1;
  node_of_context(o).materialize = on != 0;
  return 0;
}

// Names that a node has and that users put on a context: theirs wins.
template <FixedString Name>
PyObject* free_name(PyObject* o, void*) {
  PyObject* dict = reinterpret_cast<PyContext*>(o)->dict;
  if (PyObject* value = dict ? PyDict_GetItemString(dict, Name.text) : nullptr) {
    Py_INCREF(value);
    return value;
  }
  return guarded([&]() -> PyObject* {
    if (Name.text[0] == 'i') return node_inputs(node_of(o));
    if (Name.text[0] == 'm') return node_metadata(node_of(o));
    PyErr_Format(PyExc_AttributeError, "%s: no attribute '%s'", node_of(o)->op, Name.text);
    return nullptr;
  });
}
template <FixedString Name>
int set_free_name(PyObject* o, PyObject* value, void*) {
  PyObject*& dict = reinterpret_cast<PyContext*>(o)->dict;
  if (!dict && !(dict = PyDict_New())) return -1;
  return value ? PyDict_SetItemString(dict, Name.text, value) : PyDict_DelItemString(dict, Name.text);
}
template <FixedString Name>
constexpr PyGetSetDef free_property() {
  return {Name.text, free_name<Name>, set_free_name<Name>, nullptr, nullptr};
}

PyGetSetDef getset[] = {
    {"saved_tensors", saved_tensors, nullptr, "What save_for_backward kept, checked for changes in place.", nullptr},
    {"needs_input_grad", needs_input_grad, nullptr, "For each argument of forward, whether its gradient is wanted.",
     nullptr},
    {"materialize_grads", [](PyObject* o, void*) { return PyBool_FromLong(node_of_context(o).materialize); },
     set_materialize, "Whether gradients that did not arrive are zeros rather than None.", nullptr},
    {"_forward_cls", [](PyObject* o, void*) { return Object(node_of_context(o).cls).release(); }, nullptr,
     "The Function whose call this is.", nullptr},
    free_property<"inputs">(),
    free_property<"metadata">(),
    free_property<"variable">(),
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};

PyMethodDef methods[] = {
    {"save_for_backward", mark<"save_for_backward", &FunctionNode::to_save, true>, METH_VARARGS,
     "save_for_backward($self, *tensors)\n--\n\nKeeps tensors for backward; a second call adds to them."},
    {"mark_dirty", mark<"mark_dirty", &FunctionNode::dirty, false>, METH_VARARGS,
     "mark_dirty($self, *tensors)\n--\n\nSays that forward changed these arguments in place; it must return them."},
    {"mark_non_differentiable", mark<"mark_non_differentiable", &FunctionNode::non_differentiable, false>, METH_VARARGS,
     "mark_non_differentiable($self, *tensors)\n--\n\nSays that these outputs have no gradient."},
    {"set_materialize_grads", set_materialize_grads, METH_O,
     "set_materialize_grads($self, value)\n--\n\nWhether backward gets zeros (the default) or None where no gradient "
     "arrived."},
    {}};

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyNode, weakrefs), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(PyContext, dict), READONLY, nullptr},
                         {}};

PyObject* add_type(PyType_Spec& spec, PyTypeObject* base, const char* name) {
  Object type(base ? PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(base)) : PyType_FromSpec(&spec));
  if (PyModule_AddObjectRef(current_module(), name, type.get()) < 0) throw_python();
  return type.release();
}

const Family family([] {
  static PyType_Slot context_slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(context_dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(context_traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(context_clear)},
      {Py_tp_getset, getset},
      {Py_tp_methods, methods},
      {Py_tp_members, members},
      {Py_tp_doc,
       const_cast<char*>("What forward tells backward; the node of the graph that stands for one call of a Function.")},
      {0, nullptr}};
  static PyType_Spec context_spec{"genesis.autograd.Context", sizeof(PyContext), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, context_slots};
  ContextType = reinterpret_cast<PyTypeObject*>(add_type(context_spec, NodeType, "Context"));

  static PyMethodDef function_methods[] = {
      {"apply", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(apply)),
       METH_CLASS | METH_FASTCALL | METH_KEYWORDS,
       "apply($type, /, *args, **kwargs)\n--\n\nRuns forward and records the call in the graph."},
      {}};
  static PyType_Slot function_slots[] = {{Py_tp_methods, function_methods}, {0, nullptr}};
  static PyType_Spec function_spec{"genesis._C._Function", sizeof(PyObject), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, function_slots};
  FunctionType = reinterpret_cast<PyTypeObject*>(add_type(function_spec, nullptr, "_Function"));
  // genesis.autograd.Function, which has the methods that a class inherits if it does not write them.
  def<"_set_function_base(Any function) -> None", [](Args& a) -> PyObject* {
    Py_INCREF(a[0]);
    FunctionType = reinterpret_cast<PyTypeObject*>(a[0]);
    Py_RETURN_NONE;
  }>(kFunction | kTool);
});

}  // namespace

bool is_function(const Node& node) { return dynamic_cast<const FunctionNode*>(&node) != nullptr; }

}  // namespace genesis::py
