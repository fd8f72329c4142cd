// Rotary position embedding.
#pragma once

#include "core/tensor.h"

namespace genesis::ops {

/// Turns pairs of elements of x's last dimension by the angles whose cosines and sines are given, (..., pairs), and
/// broadcast with x's other dimensions. Pairs are halves apart, or neighbours if `interleaved`; what is behind them
/// stays.
Tensor rotary_embedding(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved);

}  // namespace genesis::ops
