// One backward pass over the recorded graph.
#pragma once

#include <span>
#include <vector>

#include "autograd/meta.h"

namespace genesis::engine {

// Sees every gradient that arrives, after hooks.
class Sink {
 public:
  virtual void arrived(Node& node, const Grads& grads) = 0;

 protected:
  ~Sink() = default;
};

// How the rule of a node is applied to a batch of gradients.
enum class RowRule : uint8_t {
  EachRow,      // to one after the other
  Elementwise,  // to all: the new dimension broadcasts like any other, and results have the shape of the gradient
  Broadcasts,   // to all: operators take dimensions in front of their own
};

struct Options {
  bool retain_graph = false;
  bool create_graph = false;
  bool accumulate = true;  // into .grad of leaves; otherwise only return what was asked for
  Sink* sink = nullptr;
  // More than 0: gradients are batches with so many rows along a new first dimension, and `row_rule` says how rules
  // take them.
  int64_t rows = 0;
  RowRule (*row_rule)(const Node& node) = nullptr;
};

// Gradients of sum(roots[i] * grads[i]). With `wanted` empty, every leaf that is reached accumulates its gradient.
// Otherwise only what leads to `wanted` is run; the result has one tensor for each (undefined where none arrived),
// and with `accumulate` set they are added to .grad too. An undefined grads[i] stands for 1 and needs a scalar root.
std::vector<Tensor> backward(const char* caller, std::span<const Tensor> roots, std::span<const Tensor> grads,
                             std::span<const Tensor> wanted, Options options);

// Adds `grad` to the gradient of a leaf, in place where nobody else can see it.
void accumulate_grad(const Tensor& leaf, Tensor grad, bool create_graph);

// Gradients whose values are not where a dense tensor has them (sparse ones). They are added by `add`. Both are null
// until there are such tensors.
struct SpecialGradients {
  bool (*is_one)(const Tensor& grad) = nullptr;
  Tensor (*add)(const Tensor& x, const Tensor& y) = nullptr;
};
inline constinit SpecialGradients special_gradients;

// Of the pass that this thread runs: a number of its own (0 outside), and whether it will run `node`, or has.
uint64_t current_pass();
bool runs(Node* node);

}  // namespace genesis::engine
