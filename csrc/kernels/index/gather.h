// Moving elements by index: the kernels for gather, scatter, index_select, index_add, embedding and the masked
// operations.
//
// Indices are int64. A kernel that returns false found an index that is out of range, and stopped before using it.
// Strides may be 0, so one index for a whole row is an expanded index. Every destination receives its contributions in
// the order of the index, for any number of threads.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// The position of the first element of `index` outside [low, high), in row-major order, or -1 if there is none.
inline constinit Kernel<int64_t(View index, int64_t low, int64_t high)> find_outside;
// Adds `size` to negative indices.
inline constinit Kernel<void(int64_t* index, int64_t n, int64_t size)> wrap_negative;

// The views below have at least one dimension.
//
// out[..., j, ...] = x[..., index[..., j, ...], ...] along `dim`. `index` has the shape of `out`; x has the same dtype
// as `out` and may be larger in the other dimensions.
inline constinit Kernel<bool(View out, View x, View index, int dim)> gather_along;

// out[i] = the sum of the rows x[index[i * size .. i * size + size)], times `scale`. The matrices are float32 or
// float64; out and the rows of x are contiguous; size > 0.
inline constinit Kernel<bool(View out, View x, const int64_t* index, int64_t size, double scale)> sum_rows;

// The inverse: combines src[..., j, ...] into x[..., index[..., j, ...], ...]. `index` has the shape of `src`. With
// Set, the last contribution wins. float16 and bfloat16 support Set only. Without `check`, the indices are assumed to
// be valid.
enum class Combine { Set, Add, Mul, Max, Min };
inline constinit Kernel<bool(View x, View src, View index, int dim, Combine how, bool check)> scatter_along;

// The transpose of gather_along: dx = 0, then dx[..., index, ...] += dy. The indices are assumed to be valid.
inline constinit Kernel<void(View dx, View dy, View index, int dim)> gather_transposed;

// Contiguous memory of `n` elements and as many bools. compress() stores the elements at true positions one after
// another. expand() replaces the elements at true positions by those of `packed` and leaves the others unchanged. Both
// return the number of true elements; without `out`, compress() only counts.
inline constinit Kernel<int64_t(void* out, const void* x, const bool* mask, int64_t n, int64_t item)> compress;
inline constinit Kernel<int64_t(void* out, const void* packed, const bool* mask, int64_t n, int64_t item)> expand;

}  // namespace genesis::kernels
