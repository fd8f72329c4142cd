// Moving elements by index: the kernels under gather, scatter, index_select, index_add, embedding and the masked forms.
//
// Indices are int64. A kernel that returns false found one that is out of range, and stopped before using it. A view's
// strides may be 0, so one index for a whole row is an expanded index. Every destination receives its contributions in
// the order of the index, whatever the number of threads.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// Where the first element of `index` outside [low, high) stands, in row-major order of its shape; -1 if there is none.
inline constinit Kernel<int64_t(View index, int64_t low, int64_t high)> find_outside;
// Counts negative indices from the end.
inline constinit Kernel<void(int64_t* index, int64_t n, int64_t size)> wrap_negative;

// The views below have at least one dimension.
//
// out[..., j, ...] = x[..., index[..., j, ...], ...] along `dim`. `index` has the shape of `out`; x has the same dtype
// as `out` and may be larger in the other dimensions.
inline constinit Kernel<bool(View out, View x, View index, int dim)> gather_along;

// out[i] = the sum of the rows x[index[i * size .. i * size + size)], times `scale`. Matrices in float32 or float64,
// out and the rows of x contiguous; size > 0.
inline constinit Kernel<bool(View out, View x, const int64_t* index, int64_t size, double scale)> sum_rows;

// The other way round: x[..., index[..., j, ...], ...] takes in src[..., j, ...]. `index` has the shape of `src`.
// Set: the last one stays. Float16 and bfloat16 can only be set. Without `check`, the indices are known to be good.
enum class Combine { Set, Add, Mul, Max, Min };
inline constinit Kernel<bool(View x, View src, View index, int dim, Combine how, bool check)> scatter_along;

// The transpose of gather_along: dx = 0, then dx[..., index, ...] += dy. The indices are known to be good.
inline constinit Kernel<void(View dx, View dy, View index, int dim)> gather_transposed;

// Contiguous memory of `n` elements and as many bools. compress: the elements under true, one after another; expand:
// the elements under true from `packed`, the others left alone. Both return how many are true; with no `out`, compress
// only counts.
inline constinit Kernel<int64_t(void* out, const void* x, const bool* mask, int64_t n, int64_t item)> compress;
inline constinit Kernel<int64_t(void* out, const void* packed, const bool* mask, int64_t n, int64_t item)> expand;

}  // namespace genesis::kernels
