#include "autograd/record.h"

#include "autograd/recorder.h"

namespace genesis {

// Passes the tensor, detached, to the innermost hooks, and keeps its edge.
static void pack(Node& node, size_t index, const ToSave& what) {
  const WithGradMode off(false);
  const Tensor& t = *what.tensor;
  NodeExtras::PackedSlot packed{.slot = static_cast<uint32_t>(index),
                                .what = {},
                                .edge = {},
                                .shape = t.shape(),
                                .dtype = t.dtype(),
                                .unpacked = {}};
  if (!what.output) packed.edge = gradient_edge(t);
  const uint32_t version = t->storage->version;
  packed.what = grad_mode.saved_hooks->pack(alias(t));
  require<GraphError>(t->storage->version == version, "saved_tensors_hooks: the pack hook changed a tensor of shape ",
                      t.shape(), " that '", node.op, "' saves in place; clone() it in the hook first");
  node.saved()[index].packed = true;
  node.extras().packed.push_back(std::move(packed));
}

void fill(Node& node, size_t index, const ToSave& what) {
  if (!what.tensor->defined()) return;
  SavedTensor& slot = node.saved()[index];
  slot.own_output = what.output;
  slot.output_index = what.index;
  if (grad_mode.saved_hooks) [[unlikely]]
    return pack(node, index, what);
  slot.tensor = what.output ? alias(*what.tensor) : what.kept ? stand_in(*what.tensor) : *what.tensor;
  slot.version = slot.tensor->storage->version;
  if (what.kept) meta(slot.tensor).kept = std::make_unique<KeptValues>(slot.tensor.impl());
}

// Whether gradients of this edge lead only to tensors that tapes record.
static bool taped(const Edge& edge) {
  if (!edge.node) return true;
  if (edge.node->is_leaf()) return !static_cast<const AccumulateGrad&>(*edge.node).leaf->requires_grad;
  return edge.node->taped;
}

void tell_recorders(Node& node, const Tensor& y, uint32_t index) {
  if (index == 0 || !node.taped) {
    node.taped = true;
    for (const Edge& edge : node.edges()) node.taped = node.taped && taped(edge);
  }
  for (Recorder* r = grad_mode.recorder; r; r = r->outer) r->recorded(node, y, index);
}

void fill(Edge& edge, const Tensor& input, const Dims* broadcast_to) {
  if (!is_differentiable(input.dtype())) return;
  edge = gradient_edge(input);
  if (edge.node && broadcast_to && !(*broadcast_to == input.shape()))
    edge.shape = std::make_unique<Dims>(input.shape());
}

}  // namespace genesis
