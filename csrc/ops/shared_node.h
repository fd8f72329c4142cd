// A graph node that several tensors share, for hooks that need all their gradients at once.
#pragma once

#include <span>
#include <vector>

#include "core/tensor.h"

namespace genesis::ops {

/// The same tensors, made by one node: its hooks see the gradients of all. Tensors outside the graph stay outside.
std::vector<Tensor> shared_node(std::span<const Tensor> xs);

}  // namespace genesis::ops
