// Matrix products with packed panels and register tiles, following Goto and van de Geijn.
//
// There are three algorithms (the first two in gemm/rows.h). Each divides C among the threads, never k:
//   combine_rows   few rows times a row-major matrix: adds up the rows of the matrix, at memory bandwidth;
//   dot_products   few rows times a column-major matrix: nothing is packed, vectors run along k;
//   tiled_parallel all other cases. Vectors run along the columns of C, or of its transpose if that costs less. For
//                  each block of C and block of k, multiply() covers the block with register tiles (gemm/tile.h).
// tiled_parallel copies an operand into contiguous panels ("packs" it) only if its strides require it or if it is read
// often enough to amortize the copy. Small products use the tiles without packing.
//
// The terms of an element of C are always summed in the same order, whatever block it falls into and whether or not
// operands are packed. The blocks may therefore depend on the number of threads without changing the result.
#include "kernels/gemm/gemm.h"

#include "kernels/gemm/order.h"
#include "kernels/gemm/rows.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// Packing A costs about 1 / n of the product, packing B 1 / m. It pays off if the strides map the rows to few cache
// sets, or if the operand is read repeatedly from beyond L1 (or L2, if that is large).
template <class T>
bool worth_packing_a(const Problem<T>& x) {
  if (x.a.row_stride != 1 && x.a.col_stride != 1) return true;
  const int64_t small = std::min(x.m, x.n), large = std::max(x.m, x.n);
  if (x.a.row_stride != 1) return x.k >= 128 && small >= (kLargeCaches ? 640 : 192);
  if (kLargeCaches) return x.k >= 128 && (small >= 192 || (small >= 96 && large >= 384));
  return x.k >= 48 && (small >= 160 || (small >= 96 && large >= 384) || (x.k >= 256 && small >= 64 && large >= 128));
}
template <class T>
bool worth_packing_b(const Problem<T>& x) {
  if (x.b.col_stride != 1 || (!kFastMasks && x.n % kLanes<T> != 0)) return true;
  const int64_t row_bytes = x.b.row_stride * int64_t{sizeof(T)}, bytes = x.k * x.n * int64_t{sizeof(T)};
  const bool straddles = x.n > kLanes<T> && row_bytes % kVectorBytes != 0;  // vectors cross cache line boundaries
  if (!kLargeCaches) return bytes > 32 << 10 && x.m >= (straddles ? 16 : row_bytes >= 1024 ? 20 : 40);
  if (row_bytes % 4096 == 0 && bytes > 1 << 18) return x.m >= 20;  // all rows would fall into the same cache sets
  if (straddles) return x.m >= 48;
  return bytes > 1 << 20 ? x.m >= 32 : x.m >= 96 && bytes > 1 << 18 && row_bytes >= 4096;
}

// Computes all of x on this thread, with A in place.
template <class T>
void tiled(const Problem<T>& x, bool packs_b) {
  constexpr int64_t lanes = kLanes<T>, size = sizeof(T);
  const Panels<T> panels(x.n, even_part(ceil_div(x.n, lanes), kMaxVectors));
  const Left<T> a{
      x.a.data, x.a.row_stride, x.a.row_stride, x.a.col_stride, even_part(x.m, kMaxRows[panels.width / lanes - 1]),
      false};
  // Fast path for small products: one block, nothing packed.
  if (!packs_b && x.k <= kDepth && x.k * x.n * size <= kBlockBytes) {
    const Right<T> b{x.b.data, 0, 1, x.b.row_stride, false};
    return multiply(a, b, panels, 0, panels.count, x.m, x.k, target(x, 0, 0));
  }

  const int64_t depth = ceil_div(x.k, ceil_div(x.k, kDepth)), panel_size = depth * panels.width * size;
  // With few rows, a panel is used right after it is packed, while it is still in L1.
  const int64_t bytes = packs_b && x.m <= 96 ? 2 * panel_size : kBlockBytes;
  const int64_t span = std::clamp<int64_t>(bytes / panel_size, 1, panels.count);
  T* const b_packed = packs_b ? packed_b<T>.get(span * panels.width * depth) : nullptr;
  Pace pace(kPaceWork);
  for (int64_t first = 0; first < panels.count; first += span) {
    const int64_t end = std::min(panels.count, first + span);
    for (int64_t p = 0; p < x.k; p += depth) {
      const int64_t d = std::min(depth, x.k - p);
      Left<T> left = a;
      left.data += p * x.a.col_stride;
      Right<T> b{x.b.data + p * x.b.row_stride, 0, 1, x.b.row_stride, false};
      if (packs_b) {
        b = {b_packed, panels.start(first), d, 0, true};
        pack_panels(x.b, panels, p, d, first, end, b_packed);
      }
      multiply(left, b, panels, first, end, x.m, d, target(x, 0, p));
      pace.spend(x.m * d * (end - first) * panels.width);
    }
  }
}

// A large product, over parts of B that fit in L3. The threads pack the first part together. Then each thread takes
// blocks of rows of C, packs the rows of A, multiplies them by the part of B, and packs its share of the next part.
template <class T>
void tiled_packed(const Problem<T>& x) {
  constexpr int64_t lanes = kLanes<T>, size = sizeof(T);
  const Panels<T> panels(x.n, std::min<int64_t>(kPackedVectors, ceil_div(x.n, lanes)));
  const int64_t height = kMaxRows[panels.width / lanes - 1], threads = threads_for(x.m * x.n * x.k);
  const int64_t passes = ceil_div(x.k, kDepth), depth = ceil_div(x.k, passes);
  const int64_t span = std::clamp<int64_t>(kPackedBytes / (depth * panels.width * size), 1, panels.count);
  const int64_t parts = ceil_div(panels.count, span) * passes;
  // The same number of blocks for each thread. Blocks are ranges of rows; if these would be too low, the columns are
  // split as well.
  const int64_t block_rows = threads == 1 ? kBlockRows : kSharedRows;
  const int64_t blocks = ceil_div(ceil_div(x.m, block_rows), threads) * threads;
  const int64_t row_blocks = std::clamp<int64_t>(x.m / (4 * height), 1, blocks);
  const int64_t col_blocks = std::min(span, ceil_div(blocks, row_blocks)), tasks = row_blocks * col_blocks;

  struct Part {
    int64_t first, end, p, depth;  // panels, and range of k
    T* packed;
  };
  const int64_t part_size = span * panels.width * depth;
  T* const b_packed = packed_b<T>.get(std::min<int64_t>(parts, 2) * part_size);
  auto part_at = [&](int64_t i) {
    const int64_t first = i / passes * span, p = i % passes * depth;
    return Part{first, std::min(panels.count, first + span), p, std::min(depth, x.k - p), b_packed + i % 2 * part_size};
  };
  auto pack_share = [&](const Part& part, int64_t task) {
    const Range share(task, tasks, part.end - part.first, 1);
    const int64_t begin = part.first + share.begin;
    pack_panels(x.b, panels, part.p, part.depth, begin, part.first + share.end,
                part.packed + (panels.start(begin) - panels.start(part.first)) * part.depth);
  };
  parallel_for(tasks, 1, [&](int64_t task, int64_t) { pack_share(part_at(0), task); });
  for (int64_t i = 0; i < parts; ++i) {
    const Part part = part_at(i);
    parallel_for(tasks, 1, [&](int64_t task, int64_t) {
      const Range rows(task / col_blocks, row_blocks, x.m, height);
      const Range cols(task % col_blocks, col_blocks, part.end - part.first, 1);
      T* const a_packed = packed_a<T>.get(ceil_div(ceil_div(x.m, height), row_blocks) * height * depth);
      pack(x.a.data + rows.begin * x.a.row_stride + part.p * x.a.col_stride, x.a.row_stride, x.a.col_stride,
           rows.size(), part.depth, a_packed, height);
      const Left<T> a{a_packed, part.depth, 1, height, height, true};
      const Right<T> b{part.packed, panels.start(part.first), part.depth, 0, true};
      multiply(a, b, panels, part.first + cols.begin, part.first + cols.end, rows.size(), part.depth,
               target(x, rows.begin, part.p));
      if (i + 1 < parts) pack_share(part_at(i + 1), task);
    });
  }
}

template <class T>
void tiled_parallel(const Problem<T>& x) {
  if (worth_packing_a(x)) return tiled_packed(x);
  const bool packs_b = worth_packing_b(x);
  cut_for_threads(x, false, packs_b, [&](const Problem<T>& part) { tiled(part, packs_b); });
}

template <class T>
bool in_tiles(int64_t m, int64_t n, int64_t k, const GemmMatrix<T>& a, const GemmMatrix<T>& b) {
  static_assert(kDepth == kOneSum);
  Problem<T> x{m, n, k, 1, 0, a, b, nullptr, n, 1};
  return m > 0 && n > 0 && way_of(x) == Way::Tiles;
}

template <class T>
void gemm(const Problem<T>& problem) {
  Problem<T> x = problem;
  if (gemm_by_rows(x)) return;
  const auto cost = [](const Problem<T>& p) {
    return tiled_cost(p, worth_packing_a(p) ? kPackedVectors : kMaxVectors);
  };
  const Problem<T> y = x.transposed();
  tiled_parallel(cost(y) < cost(x) ? y : x);
}

}  // namespace

void sgemm(int64_t m, int64_t n, int64_t k, float alpha, GemmMatrix<float> a, GemmMatrix<float> b, float beta,
           GemmMatrix<float> d, float* c, int64_t c_row_stride, int64_t c_col_stride) {
  if (!d.data) d = {c, c_row_stride, c_col_stride};
  gemm<float>({m, n, k, alpha, beta, a, b, c, c_row_stride, c_col_stride, d});
}

void dgemm(int64_t m, int64_t n, int64_t k, double alpha, GemmMatrix<double> a, GemmMatrix<double> b, double beta,
           GemmMatrix<double> d, double* c, int64_t c_row_stride, int64_t c_col_stride) {
  if (!d.data) d = {c, c_row_stride, c_col_stride};
  gemm<double>({m, n, k, alpha, beta, a, b, c, c_row_stride, c_col_stride, d});
}

void sgemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k, float alpha, GemmMatrix<float> a,
                   int64_t a_batch_stride, GemmMatrix<float> b, int64_t b_batch_stride, float beta, float* c,
                   int64_t c_row_stride, int64_t c_col_stride, int64_t c_batch_stride) {
  gemm_batched(batch, Problem<float>{m, n, k, alpha, beta, a, b, c, c_row_stride, c_col_stride}, a_batch_stride,
               b_batch_stride, c_batch_stride, gemm<float>);
}

void dgemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k, double alpha, GemmMatrix<double> a,
                   int64_t a_batch_stride, GemmMatrix<double> b, int64_t b_batch_stride, double beta, double* c,
                   int64_t c_row_stride, int64_t c_col_stride, int64_t c_batch_stride) {
  gemm_batched(batch, Problem<double>{m, n, k, alpha, beta, a, b, c, c_row_stride, c_col_stride}, a_batch_stride,
               b_batch_stride, c_batch_stride, gemm<double>);
}

bool sgemm_in_tiles(int64_t m, int64_t n, int64_t k, GemmMatrix<float> a, GemmMatrix<float> b) {
  return in_tiles(m, n, k, a, b);
}
bool dgemm_in_tiles(int64_t m, int64_t n, int64_t k, GemmMatrix<double> a, GemmMatrix<double> b) {
  return in_tiles(m, n, k, a, b);
}

GENESIS_KERNEL(sgemm_in_tiles)
GENESIS_KERNEL(dgemm_in_tiles)
GENESIS_KERNEL(sgemm)
GENESIS_KERNEL(dgemm)
GENESIS_KERNEL(sgemm_batched)
GENESIS_KERNEL(dgemm_batched)

}  // namespace genesis::kernels::GENESIS_ISA
