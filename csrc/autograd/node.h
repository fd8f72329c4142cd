// A node of the graph: it records an operation, and computes the gradients of its inputs from the gradients of its
// outputs.
//
// A node is one pooled allocation (autograd/record.h makes them): the rule, the edges to the nodes that made the
// inputs, and the saved tensors. Edges and saved tensors are reached through pointers into the same block.
// The engine runs nodes in falling order of `sequence`, which is the order of recording.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "autograd/mode.h"
#include "core/tensor.h"

namespace genesis {

class Node;
using Grads = InlineVec<Tensor, 4>;

// The destination of the gradient of one input. The engine reduces it to the input's shape and dtype.
struct Edge {
  Ref<Node> node;      // null: this gradient is not needed
  uint32_t index = 0;  // which output of `node`
  DType dtype = DType::Float32;
  std::unique_ptr<Dims> shape;  // if the operation broadcast this input: the shape to sum the gradient to
};

// A tensor saved for the backward pass, with its version.
struct SavedTensor {
  Tensor tensor;
  uint32_t version = 0;
  bool own_output = false;  // saved as storage only: holding the tensor would be a cycle y -> node -> y
  bool packed = false;      // the user's hooks hold it (NodeExtras::packed)
  uint32_t output_index = 0;
};

// A Python callable behind an interface, because the engine does not use Python. object() is for the cycle collector.
// It is null after the hook was removed: the hook then stays in its list and does nothing.
class Hook : public Counted {
 public:
  // Returns the gradient to use instead of `grad`, or an undefined tensor to keep `grad`.
  virtual Tensor call(const Tensor& grad) = 0;
  virtual void* object() const = 0;
};
class NodeHook : public Counted {
 public:
  // Before the rule: (grad_outputs, {}) ; after: (grad_outputs, grad_inputs). May replace `grads`.
  virtual void call(Grads& grads, const Grads& other) = 0;
  virtual void* object() const = 0;
};

// The result of packing a tensor with saved-tensor hooks, and the innermost pair of hooks.
class Packed : public Counted {
 public:
  virtual Tensor unpack() = 0;
  virtual int traverse(int (*visit)(void* object, void* arg), void* arg) const = 0;
};
class SavedHooks {
 public:
  virtual Ref<Packed> pack(const Tensor& t) = 0;

 protected:
  ~SavedHooks() = default;
};

// Rarely used state of a node.
struct NodeExtras {
  struct OutputHook {
    uint32_t index;
    Ref<Hook> hook;
  };
  struct Retained {
    uint32_t index;
    TensorImpl* tensor;  // not owned; its destructor removes it from this list
  };
  struct PackedSlot {
    uint32_t slot;  // of saved()
    Ref<Packed> what;
    Edge edge;  // where the gradient of the packed tensor goes
    Dims shape;
    DType dtype;
    Tensor unpacked;  // while the rule runs
  };
  std::vector<OutputHook> output_hooks;  // of tensors that this node created
  std::vector<PackedSlot> packed;
  std::vector<Retained> retained;
  std::vector<Ref<NodeHook>> pre_hooks, post_hooks;
  void* metadata = nullptr;  // a Python dict, owned
  void (*free_metadata)(void*) = nullptr;
  ~NodeExtras() {
    if (metadata) free_metadata(metadata);
  }
};

// Shape and dtype of an output, for tools that show the graph: a node does not refer to its output tensors.
struct OutputInfo {
  static constexpr uint8_t kUnknown = 255;
  uint32_t sizes[6];
  uint8_t dims = kUnknown;  // also of shapes that do not fit here
  DType dtype = DType::Float32;

  void set(const Tensor& y) {
    dtype = y.dtype();
    const int n = y.dim();
    if (n > 6) return;
    const int64_t* shape = y.shape().data();
    int64_t largest = 0;
    for (int d = 0; d < n; ++d) {
      sizes[d] = static_cast<uint32_t>(shape[d]);
      largest |= shape[d];
    }
    if (largest <= UINT32_MAX) dims = static_cast<uint8_t>(n);
  }
};

class Node : public Counted {
 public:
  explicit Node(const char* op) : op(op), sequence(next_sequence++), thread(this_thread()), next_(newest_) {
    if (newest_) newest_->previous_ = this;
    newest_ = this;
  }

  // The gradients of the inputs, from those of the outputs (undefined where none arrived).
  virtual Grads apply(Grads&& dy) = 0;
  virtual void release_saved();
  void forget_unpacked();  // the results of unpack hooks for the rule that has just run
  virtual std::string name() const;
  virtual bool is_leaf() const { return false; }
  // For the cycle collector: visits the Python objects that this node owns in addition to its extras.
  virtual int traverse(int (*)(void* object, void* arg), void*) const { return 0; }
  void destroy() noexcept final;

  std::span<Edge> edges() const { return {edges_, num_edges_}; }
  std::span<SavedTensor> saved() const { return {saved_, num_saved_}; }
  NodeExtras& extras() {
    if (!extras_) extras_ = std::make_unique<NodeExtras>();
    return *extras_;
  }
  NodeExtras* extras_if_any() const { return extras_.get(); }

  const char* op;
  uint64_t sequence;
  uint32_t thread;  // the one that recorded it (autograd/mode.h)
  uint32_t num_outputs = 1;
  OutputInfo output_info;  // of the first output
  bool released = false;   // saved tensors were freed: a second backward is an error
  bool taped = false;      // only a tape records it: its outputs require grad while that tape records

  // Scratch space of the running backward pass (engine/backward.cpp).
  uint32_t pass_slot = 0;
  uint64_t pass_id = 0;

  // All nodes that are alive, newest first.
  static Node* newest() { return newest_; }
  Node* next() const { return next_; }

 protected:
  ~Node() override {
    (previous_ ? previous_->next_ : newest_) = next_;
    if (next_) next_->previous_ = previous_;
  }
  virtual void free() noexcept = 0;  // runs the destructor and frees the block
  Edge* edges_ = nullptr;
  SavedTensor* saved_ = nullptr;
  uint32_t num_edges_ = 0, num_saved_ = 0;

 private:
  std::unique_ptr<NodeExtras> extras_;
  Node* previous_ = nullptr;
  Node* next_;
  static inline Node* newest_ = nullptr;
  static inline uint64_t next_sequence = 1;
};

// A bit for each input whose gradient the running rule need not compute, as the pass does not use it
// (engine/backward.cpp). Gradients of inputs beyond the last bit are always computed.
inline thread_local constinit uint64_t unwanted_inputs = 0;

// A rule's view of its node: the saved tensors, with version checks, and which gradients are needed.
class Saved {
 public:
  explicit Saved(const Node& node) : node_(node) {}
  Tensor operator[](int i) const;
  bool needs(int input) const {
    return node_.edges()[static_cast<size_t>(input)].node && (input >= 64 || !(unwanted_inputs >> input & 1));
  }
  int num_inputs() const { return static_cast<int>(node_.edges().size()); }

 private:
  const Node& node_;
};

inline Node* node_of(const Tensor& t) { return static_cast<Node*>(t->grad_fn.get()); }

}  // namespace genesis
