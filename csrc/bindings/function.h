// The graph node of one call of a Function, which is also its context in Python.
#pragma once

#include <string_view>
#include <unordered_set>

#include "autograd/record.h"
#include "bindings/args.h"
#include "bindings/module.h"
#include "bindings/node.h"

namespace genesis::py {

inline PyTypeObject* ContextType = nullptr;  // function_context.cpp

class FunctionNode final : public Node {
 public:
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
  // Never freed: a tape shows the names of operations whose class no longer exists.
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
  Object attributes;  // of the context while it is destroyed, to avoid recursion along a chain of contexts
  InlineVec<Argument, 4> arguments;
  InlineVec<Output, 1> outputs;
  bool materialize = true;
  // Requests of forward, until apply() has handled them.
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

inline FunctionNode& node_of_context(PyObject* o) { return static_cast<FunctionNode&>(*node_of(o)); }

}  // namespace genesis::py
