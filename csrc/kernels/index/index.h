// Reading and writing at places given by a list, and finding the places.
//
// `values` has the dimensions [before..., places, after...], with the places at dimension `at`. `table` has the same
// dimensions without the places; place k starts places[k] * step elements after the first element of the table. A place
// that is listed several times is written in the order of the list, for any number of threads. All places are less than
// `num_places`.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

inline constinit Kernel<void(View values, View table, int at, const int64_t* places, int64_t step)> index_get;
// `distinct` asserts that no place is listed twice.
inline constinit Kernel<void(View table, View values, int at, const int64_t* places, int64_t step, int64_t num_places,
                             bool distinct)>
    index_put;
inline constinit Kernel<void(View table, View values, int at, const int64_t* places, int64_t step, int64_t num_places)>
    index_add;

// out = so_far * size + index, where a negative index counts from the end. Returns false if an index is out of range.
// All are int64, except index, which may have any integral dtype. out has the broadcast shape.
inline constinit Kernel<bool(View out, View so_far, View index, int64_t size)> linearize;

inline constexpr int64_t kMaskBlock = 65536;
// For each block of kMaskBlock bytes, the number of nonzero bytes.
inline constinit Kernel<void(int64_t* counts, const uint8_t* mask, int64_t n)> count_true;
// The positions of those bytes. starts[b] is the number of them before block b.
inline constinit Kernel<void(int64_t* positions, const uint8_t* mask, int64_t n, const int64_t* starts)> true_positions;
// Converts positions in a contiguous tensor of `shape` to one index per dimension. out is (n, ndim), contiguous.
inline constinit Kernel<void(int64_t* out, const int64_t* positions, int64_t n, const int64_t* shape, int ndim)>
    unravel;

// The part of each matrix (the last two dimensions) on and above diagonal `k`, or on and below it; zero elsewhere.
inline constinit Kernel<void(View y, View x, int64_t k, bool upper)> triangle;

}  // namespace genesis::kernels
