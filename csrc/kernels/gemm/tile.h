// The register tile: a few rows by a few vectors of C, accumulated over k. Each step loads one row of B (as vectors)
// and broadcasts one element of A per row. The tiles of all sizes are compiled once, in gemm/tile.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace genesis::kernels::GENESIS_ISA {

// A tile of v + 1 vectors has at most kMaxRows[v] rows, so that accumulators, a row of B and a broadcast fill the
// registers. Wide tiles with few rows are best because each broadcast costs a load: on Ice Lake, loads limit a tile of
// 14 x 2 but not one of 6 x 4.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kMaxRows[] = {9, 9, 9, 6};
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32, kMaxRows[] = {8, 6, 4};
#elif defined(__aarch64__)
constexpr int kVectorBytes = 16, kMaxRows[] = {9, 9, 9, 6};
#else
constexpr int kVectorBytes = 16, kMaxRows[] = {4, 4};
#endif
constexpr int kMaxVectors = std::size(kMaxRows), kMostRows = *std::max_element(kMaxRows, kMaxRows + kMaxVectors);

// C[rows, vectors] = alpha * sum_p A[., p] B[p, .] + beta * D, where D defaults to C. Element (i, p) of A is a[i *
// a_row + p * a_k]. Row p of B starts at b + p * b_k and is contiguous, like the rows of C and D. The last vector has
// `last` columns (1..kLanes).
template <class T>
struct Tile {
  int64_t k;
  const T* a;
  int64_t a_row, a_k;
  const T* b;
  int64_t b_k;
  T* c;
  int64_t c_row;
  T alpha, beta;
  int64_t last;
  const T* d = nullptr;
  int64_t d_row = 0;
  // Memory to prefetch: every kSegment steps of k, the tile prefetches `ahead_lines` cache lines starting at `ahead`,
  // `ahead_stride` apart, and advances `ahead` by `ahead_step`.
  const T* ahead = nullptr;
  int64_t ahead_lines = 0, ahead_stride = 0, ahead_step = 0;
};
constexpr int64_t kSegment = 16;

// How A is stored: a_row == 1 (column-major, and packed panels) or a_k == 1 (row-major).
enum class Order { column_major, row_major };

template <class T>
using TileFn = void (*)(const Tile<T>&);

// The tile with the given number of rows (1..kMaxRows[vectors - 1]) and vectors. A masked tile (t.last < lanes) does
// not access memory beyond the last column.
template <class T, Order order>
TileFn<T> find_tile(int64_t rows, int64_t vectors, bool masked);

}  // namespace genesis::kernels::GENESIS_ISA
