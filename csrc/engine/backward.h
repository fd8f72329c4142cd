// One backward pass over the recorded graph.
#pragma once

#include <span>
#include <vector>

#include "autograd/meta.h"

namespace genesis::engine {

// Receives every gradient, after hooks.
class Sink {
 public:
  virtual void arrived(Node& node, const Grads& grads) = 0;

 protected:
  ~Sink() = default;
};

// How the rule of a node is applied to a batch of gradients.
enum class RowRule : uint8_t {
  EachRow,      // to one row after another
  Elementwise,  // to all rows: the new dimension broadcasts like any other, and results have the shape of the gradient
  Broadcasts,   // to all rows: operators accept additional leading dimensions
};

struct Options {
  bool retain_graph = false;
  bool create_graph = false;
  bool accumulate = true;  // into .grad of leaves; otherwise only return the requested gradients
  Sink* sink = nullptr;
  // If positive, gradients are batches with this many rows along a new first dimension, and `row_rule` says how rules
  // handle them.
  int64_t rows = 0;
  RowRule (*row_rule)(const Node& node) = nullptr;
};

// Gradients of sum(roots[i] * grads[i]). If `wanted` is empty, every reached leaf accumulates its gradient. Otherwise
// only the nodes that lead to `wanted` run; the result has one tensor for each (undefined if no gradient arrived), and
// with `accumulate` they are added to .grad too. An undefined grads[i] means 1 and requires a scalar root.
std::vector<Tensor> backward(const char* caller, std::span<const Tensor> roots, std::span<const Tensor> grads,
                             std::span<const Tensor> wanted, Options options);

// Adds `grad` to the gradient of a leaf, in place if nothing else refers to it.
void accumulate_grad(const Tensor& leaf, Tensor grad, bool create_graph);

// Gradients that are not dense (sparse ones). They are added by `add`. Both are null until there are such tensors.
struct SpecialGradients {
  bool (*is_one)(const Tensor& grad) = nullptr;
  Tensor (*add)(const Tensor& x, const Tensor& y) = nullptr;
};
inline constinit SpecialGradients special_gradients;

// The id of the pass that this thread runs (0 outside), and whether it will run `node` or has run it.
uint64_t current_pass();
bool runs(Node* node);

}  // namespace genesis::engine
