// Grad modes, backward, grad, and the methods of a tensor that concern its place in the graph.
#include "bindings/args.h"
#include "bindings/hooks.h"
#include "bindings/module.h"
#include "engine/backward.h"
#include "ops/view.h"

namespace genesis::py {

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

static void require_wanted(const char* caller, const std::vector<Tensor>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i)
    require<GraphError>(wanted[i].defined() && watched(wanted[i]), caller, ": input ", i,
                        " does not require grad, so nothing can be differentiated with respect to it");
}

static PyObject* run_backward(Args& a) {
  // backward(tensors, grad_tensors, retain_graph, create_graph, inputs)
  const std::vector<Tensor> roots = tensor_list(a[0], "backward"), grads = tensor_list(a[1], "backward");
  const bool create = a.boolean(3, false);
  const std::vector<Tensor> wanted = tensor_list(a[4], "backward");
  require_wanted("backward", wanted);
  require(!a.has(4) || !wanted.empty(), "backward: inputs= must not be empty");
  engine::backward("backward", roots, grads, wanted,
                   {.retain_graph = a.boolean(2, create), .create_graph = create, .accumulate = true});
  Py_RETURN_NONE;
}

static const Family family([] {
  def<"is_grad_enabled()", [](Args&) { return grad_mode.enabled; }>(kFunction, "Whether operations are being recorded.");
  def<"_set_grad_enabled(mode)", [](Args& a) -> PyObject* {
    grad_mode.enabled = a.boolean(0, true);
    Py_RETURN_NONE;
  }>(kFunction);
  def<"is_inference_mode_enabled()", [](Args&) { return grad_mode.inference; }>(kFunction);
  def<"_set_inference_mode(mode)", [](Args& a) -> PyObject* {
    grad_mode.inference = a.boolean(0, true);
    Py_RETURN_NONE;
  }>(kFunction);

  def<"_backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None)", run_backward>(kFunction);
  def<"_grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, allow_unused=False)", [](Args& a) {
    const std::vector<Tensor> roots = tensor_list(a[0], "grad"), wanted = tensor_list(a[1], "grad"), grads = tensor_list(a[2], "grad");
    require_wanted("grad", wanted);
    const bool create = a.boolean(4, false);
    std::vector<Tensor> result = engine::backward(
        "grad", roots, grads, wanted, {.retain_graph = a.boolean(3, create), .create_graph = create, .accumulate = false});
    if (!a.boolean(5, false))
      for (size_t i = 0; i < result.size(); ++i)
        require<GraphError>(result[i].defined(), "grad: input ", i, " of shape ", wanted[i].shape(),
                            " was not used to compute the outputs; pass allow_unused=True to get None for it");
    return to_python(result);
  }>(kFunction);

  def<"requires_grad_(input, requires_grad=True)", [](Args& a) {
    set_requires_grad(a.tensor(0), a.boolean(1, true));
    return a.tensor(0);
  }>(kMethod);
  def<"detach(input)", [](Args& a) { return ops::detach(a.tensor(0)); }>(kBoth);
  def<"detach_(input)", [](Args& a) {
    detach_inplace(a.tensor(0));
    return a.tensor(0);
  }>(kMethod);
  def<"retain_grad(input)", [](Args& a) -> PyObject* {
    retain_grad(a.tensor(0));
    Py_RETURN_NONE;
  }>(kMethod);
  def<"register_hook(input, hook)", [](Args& a) { return register_tensor_hook(a.tensor(0), a[1]); }>(kMethod);
  def<"register_post_accumulate_grad_hook(input, hook)", [](Args& a) {
    return register_post_accumulate_hook(a.tensor(0), a[1]);
  }>(kMethod);
  def<"_set_parameter(input)", [](Args& a) -> PyObject* {
    a.tensor(0)->parameter = true;
    Py_RETURN_NONE;
  }>(kMethod);
});

}  // namespace genesis::py
