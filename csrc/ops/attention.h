// Attention: for every query, the mean of the values, weighted by the similarity of the query and their keys.
#pragma once

#include <optional>

#include "core/random.h"
#include "core/tensor.h"

namespace genesis::ops {

/// softmax(scale q k^T + mask) v over the last two dimensions; the others broadcast. `mask` may be undefined; a bool
/// mask is true where a key takes part, any other is added. `scale` is 1 / sqrt(dim) if absent. With `gqa`, each head
/// of k and v (dimension -3) serves several neighbouring heads of q. A query that sees no key gets 0.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                                    double dropout, bool causal, std::optional<double> scale, bool gqa, Generator& g);

}  // namespace genesis::ops
