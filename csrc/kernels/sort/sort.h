// Putting rows in order. A row is sorted by keys: unsigned integers whose order is that of the values, with NaN above
// all and -0 equal to +0. Equal values keep the order they came in, so every result is the only one there is, however
// the work is cut.
//
// All memory is contiguous: `rows` rows of `n` elements.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// Rows from here on are each sorted by all threads together, and want scratch memory for that.
inline constexpr int64_t kLongRow = 65536;
inline int64_t sort_scratch(DType dtype, int64_t n) {
  return n < kLongRow ? 0 : 2 * n * (itemsize(dtype) == 8 ? 16 : 8);
}
// What a row may have at most: a place in it takes 32 bits beside a key of up to 32 bits.
inline int64_t longest_row(DType dtype) { return itemsize(dtype) == 8 ? INT64_MAX : int64_t(UINT32_MAX); }

// Each row of x in order, and where each element stood in its row. `values` may be null. sort_scratch() bytes of
// scratch.
inline constinit Kernel<void(void* values, int64_t* indices, const void* x, DType dtype, int64_t rows, int64_t n,
                             bool descending, void* scratch)>
    sort;

// The first k of each row in that order.
inline constinit Kernel<void(void* values, int64_t* indices, const void* x, DType dtype, int64_t rows, int64_t n,
                             int64_t k, bool descending)>
    top;

// The k-th (from 0) of each row in ascending order.
inline constinit Kernel<void(void* values, int64_t* indices, const void* x, DType dtype, int64_t rows, int64_t n,
                             int64_t k)>
    kth;

}  // namespace genesis::kernels
