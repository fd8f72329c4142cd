#include "autograd/record.h"

namespace genesis {

void fill(SavedTensor& slot, const ToSave& what) {
  if (!what.tensor->defined()) return;
  slot.tensor = what.output ? alias(*what.tensor) : *what.tensor;
  slot.version = slot.tensor->storage->version;
  slot.own_output = what.output;
  slot.output_index = what.index;
}

void fill(Edge& edge, const Tensor& input, const Dims* broadcast_to) {
  if (!is_floating(input.dtype())) return;
  edge = gradient_edge(input);
  if (edge.node && broadcast_to && !(*broadcast_to == input.shape()))
    edge.shape = std::make_unique<Dims>(input.shape());
}

}  // namespace genesis
