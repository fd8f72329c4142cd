#include "autograd/node.h"

#include <cctype>

namespace genesis {

// A long chain must not recurse: a node whose last reference goes while another is being destroyed waits in line.
void Node::destroy() noexcept {
  thread_local std::vector<Node*> waiting;
  thread_local bool draining = false;
  if (draining) {
    waiting.push_back(this);
    return;
  }
  draining = true;
  free();
  while (!waiting.empty()) {
    Node* next = waiting.back();
    waiting.pop_back();
    next->free();
  }
  draining = false;
}

void Node::release_saved() {
  for (SavedTensor& s : saved()) s.tensor = Tensor();
  released = true;
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

Tensor Saved::operator[](int i) const {
  const SavedTensor& s = node_.saved()[static_cast<size_t>(i)];
  if (!s.tensor.defined()) {
    require<GraphError>(!node_.released, "backward: the graph of '", node_.op,
                        "' has been freed by an earlier backward; pass retain_graph=True to the first backward, or, if "
                        "a tensor was carried over from an earlier step, detach() it");
    return Tensor();  // an optional input that was not given
  }
  const Storage& storage = *s.tensor->storage;
  require<GraphError>(storage.version == s.version, "backward: a tensor of shape ", s.tensor.shape(),
                      " that '", node_.op, "' saved for its gradient was changed in place by '",
                      storage.writer ? storage.writer : "an unknown writer", "' (version ",
                      storage.version, ", saved at ", s.version,
                      "); use the out-of-place form there, or clone() before it");
  if (!s.own_output || !grad_mode.enabled) return s.tensor;
  Tensor y = alias(s.tensor);
  y->requires_grad = true;
  y->grad_fn = Ref<Counted>(const_cast<Node*>(&node_));
  y->output_index = s.output_index;
  return y;
}

}  // namespace genesis
