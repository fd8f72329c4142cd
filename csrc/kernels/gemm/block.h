// Products of small blocks on one thread, computed directly with the register tiles, for kernels that interleave
// products with other work on cached data; and memory that such kernels reuse between calls.
#pragma once

#include "core/thread_block.h"
#include "kernels/gemm/micro.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// C (m x n) = alpha A @ B + beta C with k terms. Rows of B and C are contiguous, with strides b_row and c_row. A is
// row-major with row stride a_stride, or column-major with column stride a_stride.
template <class T, Order order>
void block_product(int64_t m, int64_t n, int64_t k, T alpha, const T* a, int64_t a_stride, const T* b, int64_t b_row,
                   T beta, T* c, int64_t c_row) {
  constexpr int64_t lanes = kLanes<T>, width = kMaxVectors * lanes;
  for (int64_t j = 0; j < n; j += width) {
    const int64_t cols = std::min(width, n - j), vectors = ceil_div(cols, lanes);
    const int64_t last = cols - (vectors - 1) * lanes, most = kMaxRows[vectors - 1];
    const int64_t tiles = ceil_div(m, most), height = tiles > 0 ? ceil_div(m, tiles) : 0;
    for (int64_t i = 0; i < m; i += height) {
      const int64_t rows = std::min(height, m - i);
      Tile<T> t{.k = k,
                .a = order == Order::row_major ? a + i * a_stride : a + i,
                .a_row = a_stride,
                .a_k = a_stride,
                .b = b + j,
                .b_k = b_row,
                .c = c + i * c_row + j,
                .c_row = c_row,
                .alpha = alpha,
                .beta = beta,
                .last = last};
      find_tile<T, order>(rows, vectors, last < lanes)(t);
    }
  }
}

// Memory of the calling thread, allocated in pieces from the start after each reset(), which invalidates earlier
// pieces.
class Arena {
 public:
  // Reserves `bytes` for all pieces together.
  void reset(int64_t bytes) const {
    ThreadBlock& block = thread_block(this);
    block.reserve(bytes);
    block.used = 0;
  }
  template <class T>
  static int64_t bytes(int64_t count) {
    return (count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
  }
  template <class T>
  T* take(int64_t count) const {
    ThreadBlock& block = thread_block(this);
    char* piece = block.data + block.used;
    block.used += bytes<T>(count);
    return reinterpret_cast<T*>(piece);
  }
};

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
