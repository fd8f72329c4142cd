// Rotary position embedding: pairs of elements of each row turned by angles.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// y and x are (..., dim), y contiguous; cos and sin are (..., pairs), broadcast by strides to the same leading
// dimensions, 2 pairs <= dim. Pair i is elements i and i + pairs, or 2 i and 2 i + 1 if `interleaved`; it becomes (a
// cos - b sin, b cos + a sin), or with `inverse` what is turned the other way. Elements behind the pairs stay.
inline constinit Kernel<void(View y, View x, View cos, View sin, bool interleaved, bool inverse)> rotary;

}  // namespace genesis::kernels
