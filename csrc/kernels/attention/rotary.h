// Rotary position embedding: rotates pairs of elements of each row.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// y and x have shape (..., dim), and y is contiguous. cos and sin have shape (..., pairs) with 2 pairs <= dim; their
// strides broadcast them to the same leading dimensions. Pair i consists of elements i and i + pairs, or 2 i and 2 i +
// 1 if `interleaved`. It becomes (a cos - b sin, b cos + a sin), or the inverse rotation with `inverse`. The elements
// after the pairs are copied.
inline constinit Kernel<void(View y, View x, View cos, View sin, bool interleaved, bool inverse)> rotary;

}  // namespace genesis::kernels
