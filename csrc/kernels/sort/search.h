// Searching for values, comparing adjacent ones, and counting. All memory is contiguous.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// For each of `rows` rows of n values of a compute dtype: the insertion positions in its sorted row of m elements,
// before equal ones or (right) after them. With `sorter`, the row is sorted when read in that order. With one_row, all
// rows of values are looked up in the same row.
inline constinit Kernel<void(int64_t* out, const void* sorted, const int64_t* sorter, const void* values, DType dtype,
                             int64_t rows, int64_t m, int64_t n, bool one_row, bool right)>
    searchsorted;
// Whether each of n values of a compute dtype is among the m sorted ones.
inline constinit Kernel<void(bool* out, const void* values, int64_t n, const void* sorted, int64_t m, DType dtype)>
    is_member;

// The index of the run of equal adjacent elements that each element belongs to, counted from 0. Returns the number of
// runs.
inline constinit Kernel<int64_t(int64_t* group, const void* x, DType dtype, int64_t n)> label_runs;
// The same for slices of `width` elements, read in `order`.
inline constinit Kernel<int64_t(int64_t* group, const int64_t* order, const void* x, DType dtype, int64_t n,
                                int64_t width)>
    label_slices;
// Sorts `order`, the indices of slices, so that the slices ascend; they are compared lexicographically.
inline constinit Kernel<void(int64_t* order, const void* x, DType dtype, int64_t n, int64_t width)> sort_slices;

// out[bin] += 1, or += weight, in order. `out` is int64 without weights, otherwise it has the weights' dtype (float or
// double).
inline constinit Kernel<void(void* out, const int64_t* bins, int64_t n, const void* weights, DType dtype)> count_into;
// The number of n values of a compute dtype in each of `bins` equal parts of [low, high]; others are ignored.
inline constinit Kernel<void(int64_t* out, const void* x, DType dtype, int64_t n, int64_t bins, double low,
                             double high)>
    histogram_into;

}  // namespace genesis::kernels
