// The register tile: some rows by some vectors of C, accumulated over k. Each step loads one row of B (as vectors) and
// broadcasts one element of A per row. The tiles of all sizes are compiled once, in gemm/tile.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace genesis::kernels::GENESIS_ISA {

// A tile of v + 1 vectors has at most kMaxRows[v] rows: accumulators, a row of B and a broadcast fill the registers.
// Wide and flat is best: a broadcast costs a load, and on Ice Lake 14 x 2 is bound by loads where 6 x 4 is not.
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

// C[rows, vectors] = alpha * sum_p A[., p] B[p, .] + beta * D, where D is C if it is not given. Element (i, p) of A is
// a[i * a_row + p * a_k]; row p of B starts at b + p * b_k and is contiguous, as are rows of C and D. The last vector
// has `last` columns (1..kLanes).
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
  // Memory that will be needed soon: every kSegment steps of k, `ahead_lines` cache lines of it are fetched, from
  // `ahead` on, `ahead_stride` apart, and `ahead` moves by `ahead_step`.
  const T* ahead = nullptr;
  int64_t ahead_lines = 0, ahead_stride = 0, ahead_step = 0;
};
constexpr int64_t kSegment = 16;

// How A is stored: a_row == 1 (column-major, and packed panels) or a_k == 1 (row-major).
enum class Order { column_major, row_major };

template <class T>
using TileFn = void (*)(const Tile<T>&);

// The tile of so many rows (1..kMaxRows[vectors - 1]) and vectors. masked: t.last < lanes, and what lies behind the
// last column is neither read nor written.
template <class T, Order order>
TileFn<T> find_tile(int64_t rows, int64_t vectors, bool masked);

}  // namespace genesis::kernels::GENESIS_ISA
