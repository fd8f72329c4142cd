// Reading and writing at places given by a list, and finding the places.
//
// `values` has the dimensions [before..., places, after...], with the places at dimension `at`; `table` has the same
// without that one, and place k is the table that begins places[k] * step elements after table's first element. A
// place that is listed several times is written in the order of the list, whatever the number of threads. All places
// are less than `num_places`.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

inline constinit Kernel<void(View values, View table, int at, const int64_t* places, int64_t step)> index_get;
// `distinct` promises that no place is listed twice.
inline constinit Kernel<void(View table, View values, int at, const int64_t* places, int64_t step, int64_t num_places,
                             bool distinct)>
    index_put;
inline constinit Kernel<void(View table, View values, int at, const int64_t* places, int64_t step, int64_t num_places)>
    index_add;

// out = so_far * size + index, where a negative index counts from the end. False if an index was out of range. All
// int64, except index, which may be of any integral dtype; out has the shape to which the others broadcast.
inline constinit Kernel<bool(View out, View so_far, View index, int64_t size)> linearize;

inline constexpr int64_t kMaskBlock = 65536;
// How many of n bytes are not zero, for each block of kMaskBlock.
inline constinit Kernel<void(int64_t* counts, const uint8_t* mask, int64_t n)> count_true;
// The positions of those bytes; starts[b] says how many come before block b.
inline constinit Kernel<void(int64_t* positions, const uint8_t* mask, int64_t n, const int64_t* starts)> true_positions;
// A position in a contiguous tensor of `shape` as one index for each dimension: out is (n, ndim), contiguous.
inline constinit Kernel<void(int64_t* out, const int64_t* positions, int64_t n, const int64_t* shape, int ndim)>
    unravel;

// The part of each matrix (the last two dimensions) on and above the diagonal `k`, or on and below it; zero elsewhere.
inline constinit Kernel<void(View y, View x, int64_t k, bool upper)> triangle;

}  // namespace genesis::kernels
