#include "autograd/node.h"

#include <cctype>
#include <utility>

namespace genesis {

// Destroying a long chain must not recurse: a node that is released while another is being destroyed is queued.
void Node::destroy() noexcept {
  // The queue uses fields of the nodes, because there may be no memory for a list. No pass uses these nodes any more.
  thread_local Node* waiting = nullptr;
  thread_local bool draining = false;
  if (draining) {
    pass_id = reinterpret_cast<uintptr_t>(std::exchange(waiting, this));
    return;
  }
  draining = true;
  free();
  while (waiting) {
    Node* next = waiting;
    waiting = reinterpret_cast<Node*>(next->pass_id);
    next->free();
  }
  draining = false;
}

void Node::release_saved() {
  for (SavedTensor& s : saved()) s.tensor = Tensor();
  if (extras_) const auto packed = std::exchange(extras_->packed, {});
  released = true;
}

void Node::forget_unpacked() {
  if (!extras_) return;
  for (NodeExtras::PackedSlot& p : extras_->packed) const Tensor dropped = std::move(p.unpacked);
}

std::string Node::name() const {
  std::string out;  // "log_softmax" -> "LogSoftmaxBackward"
  bool up = true;
  for (const char* c = op; *c; ++c) {
    if (*c == '_') {
      up = true;
      continue;
    }
    out += up ? static_cast<char>(std::toupper(*c)) : *c;
    up = false;
  }
  return out + "Backward";
}

// A tensor outside the graph on t's memory, in the graph at `node`.
static Tensor placed(const Tensor& t, Node* node, uint32_t index) {
  Tensor y = alias(t);
  y->requires_grad = true;
  y->grad_fn = Ref<Counted>(node);
  y->output_index = index;
  return y;
}

static NodeExtras::PackedSlot* packed_slot(const Node& node, const SavedTensor& s) {
  for (NodeExtras::PackedSlot& p : node.extras_if_any()->packed)
    if (&node.saved()[p.slot] == &s) return &p;
  return nullptr;
}

// Unpacked once for each run of the rule, however often the rule reads it. The hook may run any code, including a pass
// that releases this node, so no reference into the slot is kept while it runs.
static Tensor unpack(const Node& node, const SavedTensor& s) {
  NodeExtras::PackedSlot* p = packed_slot(node, s);
  if (!p || p->unpacked.defined()) return p ? p->unpacked : Tensor();
  const Ref<Packed> what = p->what;
  const Ref<Node> maker = s.own_output && grad_mode.enabled ? Ref<Node>(const_cast<Node*>(&node)) : p->edge.node;
  const uint32_t index = s.own_output ? s.output_index : p->edge.index;
  const Dims shape = p->shape;
  const DType dtype = p->dtype;
  const WithGradMode off(false);
  Tensor t = what->unpack();
  require(t.shape() == shape && t.dtype() == dtype, "saved_tensors_hooks: the unpack hook returned ", t.dtype(),
          " of shape ", t.shape(), " for a tensor that '", node.op, "' saved as ", dtype, " of shape ", shape);
  if (maker) t = placed(t, maker.get(), index);
  if ((p = packed_slot(node, s))) p->unpacked = t;
  return t;
}

Tensor Saved::operator[](int i) const {
  const SavedTensor& s = node_.saved()[static_cast<size_t>(i)];
  if (!s.tensor.defined()) {
    if (s.packed && !node_.released) return unpack(node_, s);
    require<GraphError>(!node_.released, "backward: the graph of '", node_.op,
                        "' has been freed by an earlier backward; pass retain_graph=True to the first backward, or, if "
                        "a tensor was carried over from an earlier step, detach() it");
    return Tensor();  // an optional input that was not given
  }
  const Storage& storage = *s.tensor->storage;
  require<GraphError>(storage.version == s.version, "backward: a tensor of shape ", s.tensor.shape(), " that '",
                      node_.op, "' saved for its gradient was changed in place by '",
                      storage.writer ? storage.writer : "an unknown writer", "' (version ", storage.version,
                      ", saved at ", s.version, "); use the out-of-place form there, or clone() before it");
  if (!s.own_output || !grad_mode.enabled) return s.tensor;
  return placed(s.tensor, const_cast<Node*>(&node_), s.output_index);
}

}  // namespace genesis
