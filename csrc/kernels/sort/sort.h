// Sorting of rows. A row is sorted by keys: unsigned integers whose order is that of the values, with NaN above
// everything and -0 equal to +0. The sort is stable, so the result is unique, independently of how the work is split.
//
// All memory is contiguous: `rows` rows of `n` elements.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// Rows of at least this length are sorted by all threads together, which requires scratch memory.
inline constexpr int64_t kLongRow = 65536;
inline int64_t sort_scratch(DType dtype, int64_t n) {
  return n < kLongRow ? 0 : 2 * n * (itemsize(dtype) == 8 ? 16 : 8);
}
// The maximum length of a row: a position takes 32 bits beside a key of up to 32 bits.
inline int64_t longest_row(DType dtype) { return itemsize(dtype) == 8 ? INT64_MAX : int64_t(UINT32_MAX); }

// Sorts each row of x and returns the original position of each element. `values` may be null. `scratch` has
// sort_scratch() bytes.
inline constinit Kernel<void(void* values, int64_t* indices, const void* x, DType dtype, int64_t rows, int64_t n,
                             bool descending, void* scratch)>
    sort;

// The first k elements of each row in sorted order.
inline constinit Kernel<void(void* values, int64_t* indices, const void* x, DType dtype, int64_t rows, int64_t n,
                             int64_t k, bool descending)>
    top;

// The k-th element (from 0) of each row in ascending order.
inline constinit Kernel<void(void* values, int64_t* indices, const void* x, DType dtype, int64_t rows, int64_t n,
                             int64_t k)>
    kth;

}  // namespace genesis::kernels
