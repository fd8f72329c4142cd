// Grad modes, backward, grad, and the methods of a tensor that concern the graph.
#include <unordered_set>

#include "bindings/args.h"
#include "bindings/hooks.h"
#include "bindings/module.h"
#include "bindings/node.h"
#include "core/exact.h"
#include "engine/backward.h"
#include "ops/create.h"
#include "ops/view.h"

namespace genesis::py {

static PyObject* OutsideGraphWarning;

// Converts a GradientEdge to a tensor whose gradient follows the same edge; undefined for other objects.
static Tensor from_gradient_edge(PyObject* o) {
  if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) < 2 || !is_node(PyTuple_GET_ITEM(o, 0))) return Tensor();
  Node* node = node_of(PyTuple_GET_ITEM(o, 0));
  const int64_t index = to_index(PyTuple_GET_ITEM(o, 1), "GradientEdge");
  require<IndexError>(index >= 0 && index < node->num_outputs, "GradientEdge: node ", node->name(), " has ",
                      node->num_outputs, " outputs, got output_nr ", index);
  Tensor t = empty({}, DType::Float32);
  t->requires_grad = true;
  t->grad_fn = Ref<Counted>(node);
  t->output_index = static_cast<uint32_t>(index);
  return t;
}

// A tensor, a sequence of tensors, or None; None inside is an undefined tensor.
static std::vector<Tensor> tensor_list(PyObject* o, const char* what) {
  std::vector<Tensor> list;
  if (!o || o == Py_None) return list;
  const auto push = [&](PyObject* item) {
    if (item == Py_None) list.emplace_back();
    else if (is_tensor(item)) list.push_back(unwrap(item));
    else throw_type_error(str(what, ": expected tensors, got ", Py_TYPE(item)->tp_name));
  };
  if (is_tensor(o)) {
    push(o);
    return list;
  }
  const Object items(PySequence_Fast(o, "expected a tensor or a sequence of tensors"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) push(PySequence_Fast_GET_ITEM(items.get(), i));
  return list;
}

static std::vector<Tensor> root_list(PyObject* o, const char* what) {
  std::vector<Tensor> list = tensor_list(o, what);
  for (const Tensor& t : list)
    if (!t.defined()) throw_type_error(str(what, ": expected tensors, got NoneType"));
  return list;
}

// For arguments named inputs: tensors, or edges of the graph.
static std::vector<Tensor> input_list(PyObject* o, const char* what) {
  if (!o || !(PyTuple_Check(o) || PyList_Check(o))) return tensor_list(o, what);
  if (Tensor single = from_gradient_edge(o); single.defined()) return {single};
  std::vector<Tensor> list;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(o, i);
    Tensor t = from_gradient_edge(item);
    if (!t.defined() && !is_tensor(item))
      throw_type_error(str(what, ": expected tensors, got ", Py_TYPE(item)->tp_name));
    list.push_back(t.defined() ? std::move(t) : unwrap(item));
  }
  return list;
}

static void require_wanted(const char* caller, const std::vector<Tensor>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i)
    require<GraphError>(wanted[i].defined() && needs_grad(wanted[i]), caller, ": input ", i,
                        " does not require grad, so nothing can be differentiated with respect to it");
}

// Tensor.backward is called in every training step: avoid building a list.
static PyObject* tensor_backward(Args& a) {
  // backward(input, gradient, retain_graph, create_graph, inputs, out_grad)
  const Tensor& root = a.tensor(0);
  if (!needs_grad(root)) {
    require<GraphError>(!exact_torch, "element 0 of tensors does not require grad and does not have a grad_fn");
    const std::string text =
        str("backward: nothing was computed, since this tensor of shape ", root.shape(),
            " does not require grad and was not made from one that does; call requires_grad_() on an "
            "input before computing it, outside no_grad()");
    if (PyErr_WarnEx(OutsideGraphWarning, text.c_str(), 1) < 0) throw_python();
    Py_RETURN_NONE;
  }
  require(!a.has(1) || !a.has(5), "backward: gradient and out_grad are two names of one argument; pass one of them");
  const Tensor grad = a.has(1) ? a.tensor(1) : a.has(5) ? a.tensor(5) : Tensor();
  const bool create = a.boolean(3);
  const std::vector<Tensor> wanted = input_list(a[4], "backward");
  require_wanted("backward", wanted);
  require(!a.has(4) || !wanted.empty(), "backward: inputs= must not be empty");
  engine::backward("backward", {&root, 1}, {&grad, 1}, wanted,
                   {.retain_graph = a.boolean(2, create), .create_graph = create, .accumulate = true});
  Py_RETURN_NONE;
}

static PyObject* run_backward(Args& a) {
  // backward(tensors, grad_tensors, retain_graph, create_graph, inputs)
  const std::vector<Tensor> roots = root_list(a[0], "backward"), grads = tensor_list(a[1], "backward");
  const bool create = a.boolean(3);
  const std::vector<Tensor> wanted = input_list(a[4], "backward");
  require_wanted("backward", wanted);
  require(!a.has(4) || !wanted.empty(), "backward: inputs= must not be empty");
  engine::backward("backward", roots, grads, wanted,
                   {.retain_graph = a.boolean(2, create), .create_graph = create, .accumulate = true});
  Py_RETURN_NONE;
}

// Rules of elementwise operators are elementwise, and those of matmul are products.
static engine::RowRule row_rule(const Node& node) {
  static const std::unordered_set<std::string_view> elementwise = [] {
    std::unordered_set<std::string_view> names;
    for (const Operator* op : operators())
      if (op->traits.batch == Batch::Elementwise) names.insert(op->sig.name);
    return names;
  }();
  if (is_function(node)) return engine::RowRule::EachRow;
  if (std::string_view(node.op) == "matmul") return engine::RowRule::Broadcasts;
  return elementwise.contains(node.op) ? engine::RowRule::Elementwise : engine::RowRule::EachRow;
}

static const Family family({.kind = Kind::View, .page = "settings"}, [] {
  OutsideGraphWarning =
      PyErr_NewExceptionWithDoc("genesis.autograd.OutsideGraphWarning",
                                "backward() was called on a tensor outside any graph.", PyExc_UserWarning, nullptr);
  if (!OutsideGraphWarning) throw_python();
  PyModule_AddObjectRef(current_module(), "OutsideGraphWarning", OutsideGraphWarning);
  def<"backward(Tensor input, Tensor? gradient=None, bool? retain_graph=None, bool create_graph=False, "
      "Tensor|Tensor[]? inputs=None, Tensor? out_grad=None) -> None",
      tensor_backward>(kMethod | kTool,
                       "Adds the gradients of this tensor to the .grad of the leaves that it was computed from.");
  def<"zero_grad(Tensor input, bool set_to_none=True) -> None", [](Args& a) -> PyObject* {
    TensorMeta* m = meta_if_any(a.tensor(0));
    if (m && m->grad.defined()) {
      if (a.boolean(1)) {
        m->grad = Tensor();
      } else {
        const WithGradMode off(false);
        detach_inplace(m->grad);
        ops::zero_(m->grad);
      }
    }
    Py_RETURN_NONE;
  }>(kMethod | kTool, "Drops the gradient, or with set_to_none=False fills it with zeros.");
  def<"_backward(Tensor|Tensor[] tensors, Tensor|Tensor?[]? grad_tensors=None, bool? retain_graph=None, bool "
      "create_graph=False, Any? inputs=None) -> None",
      run_backward>(kFunction | kTool);
  def<"_grad(Tensor|Tensor[] outputs, Any inputs, Tensor|Tensor?[]? grad_outputs=None, bool? retain_graph=None, "
      "bool "
      "create_graph=False, bool allow_unused=False, int rows=0) -> Tensor[]",
      [](Args& a) {
        const std::vector<Tensor> roots = root_list(a[0], "grad"), wanted = input_list(a[1], "grad"),
                                  grads = tensor_list(a[2], "grad");
        require_wanted("grad", wanted);
        require(!wanted.empty(), "grad: inputs is empty; pass the tensors to differentiate with respect to");
        const bool create = a.boolean(4);
        std::vector<Tensor> result = engine::backward("grad", roots, grads, wanted,
                                                      {.retain_graph = a.boolean(3, create),
                                                       .create_graph = create,
                                                       .accumulate = false,
                                                       .rows = a.integer(6, 0),
                                                       .row_rule = row_rule});
        if (!a.boolean(5))
          for (size_t i = 0; i < result.size(); ++i)
            require<GraphError>(result[i].defined(), "grad: input ", i, " of shape ", wanted[i].shape(),
                                " was not used to compute the outputs; pass allow_unused=True to get None for it");
        return to_python(result);
      }>(kFunction | kTool);

  def<"requires_grad_(Tensor input, bool requires_grad=True) -> Self", [](Args& a) {
    set_requires_grad(a.tensor(0), a.boolean(1));
    return a.tensor(0);
  }>(kMethod | kTool, "Says whether gradients are to be computed for this leaf.");
  def<"detach(Tensor input) -> Tensor", [](Args& a) { return ops::detach(a.tensor(0)); }>(
      kBoth, "The same memory outside the graph.", {.page = "shape"});
  def<"detach_(Tensor input) -> Self", [](Args& a) {
    detach_inplace(a.tensor(0));
    return a.tensor(0);
  }>(kMethod | kTool, "Takes the tensor itself out of the graph.");
  def<"retain_grad(Tensor input) -> None", [](Args& a) -> PyObject* {
    retain_grad(a.tensor(0));
    Py_RETURN_NONE;
  }>(kMethod | kTool, "Keeps the gradient of a tensor that is not a leaf in its grad.");
  def<"register_hook(Tensor input, Callable hook) -> RemovableHandle", [](Args& a) {
    return register_tensor_hook(a.tensor(0), a[1]);
  }>(kMethod | kTool, "Calls hook(grad) when the gradient arrives; what it returns replaces the gradient.");
  def<"register_post_accumulate_grad_hook(Tensor input, Callable hook) -> RemovableHandle", [](Args& a) {
    return register_post_accumulate_hook(a.tensor(0), a[1]);
  }>(kMethod | kTool, "Calls hook(tensor) after a backward pass has added to this leaf's grad.");
  def<"_set_parameter(Tensor input) -> None", [](Args& a) -> PyObject* {
    a.tensor(0)->parameter = true;
    Py_RETURN_NONE;
  }>(kMethod | kTool);
});

}  // namespace genesis::py
