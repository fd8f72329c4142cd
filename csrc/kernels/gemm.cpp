// Matrix products by packed panels and register tiles, after Goto and van de Geijn.
//
// gemm() is the door. It sends a product one of three ways, each of which cuts C (never k) for the threads:
//   combine_rows   a vector times a row-major matrix: adds up the rows of the matrix, at the speed of memory;
//   dot_products   few rows times a column-major matrix: nothing is packed, vectors run along k;
//   tiled_parallel the rest. Vectors run along the columns of C, or of its transpose if that costs less. Per block of
//                  C and block of k, multiply() covers the block with register tiles (gemm_tile.h).
// In `tiled`, an operand is copied into contiguous panels ("packed") only if its strides demand it or if it is read
// often enough to repay the copy, so small products go straight to the tiles.
//
// An element of C is always summed in the same order, whatever block it falls into and whether or not operands are
// packed; so the blocks may follow the number of threads while the result does not.
#include "kernels/gemm.h"

#include <array>

#include "core/parallel.h"
#include "kernels/gemm_micro.h"
#include "kernels/scratch.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kDepth = 384;                  // most of k in one pass over C
constexpr int64_t kBlockRows = 256;              // rows of C in a block: with kDepth, a part of A that fits L2
constexpr int64_t kBlockBytes = 512 << 10;       // of B, if it is to stay in L2
constexpr int64_t kPackedBytes = 4 << 20;        // of B, if it may come from L3
constexpr int64_t kTaskWork = int64_t{1} << 18;  // multiply-adds worth handing to a thread: about 3 us
constexpr int64_t kHugeWork = int64_t{1} << 30;  // multiply-adds of a block of C that is better cut, to level the load
constexpr int64_t kStrip = 1024;                 // most columns of combine_rows at once
constexpr int kPackedVectors = std::min(3, kMaxVectors);
constexpr int kDotRows = kVectorBytes == 64 ? 6 : 2;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Part i of [0, total) cut into `parts` of whole `unit`s, as even as can be.
struct Range {
  int64_t begin, end;
  Range(int64_t i, int64_t parts, int64_t total, int64_t unit) {
    const int64_t units = ceil_div(total, unit);
    begin = i * units / parts * unit;
    end = std::min(total, (i + 1) * units / parts * unit);
  }
  int64_t size() const { return end - begin; }
};

// Threads to cut `work` multiply-adds for.
int64_t threads_for(int64_t work) {
  if (work < 2 * kTaskWork || in_parallel_region()) return 1;
  return std::min<int64_t>(get_num_threads(), work / kTaskWork);
}

// Tiles of at most `most` rows, about equally high.
int64_t even_height(int64_t rows, int64_t most) { return ceil_div(rows, ceil_div(rows, most)); }

template <class T>
const Scratch<T> packed_a;
template <class T>
const Scratch<T> packed_b;

template <class T>
struct Problem {
  int64_t m, n, k;
  T alpha, beta;
  GemmMatrix<T> a, b;
  T* c;
  int64_t c_row, c_col;

  Problem transposed() const {
    return {n, m, k, alpha, beta, {b.data, b.col_stride, b.row_stride}, {a.data, a.col_stride, a.row_stride},
            c, c_col, c_row};
  }
};

// ----- Tiles -----

// The columns of C in panels of `width`, whole vectors wide. The last two share what is left evenly.
template <class T>
struct Panels {
  int64_t cols, width, count, last;
  Panels(int64_t cols, int64_t vectors) : cols(cols), width(vectors * kLanes<T>), count(ceil_div(cols, width)) {
    const int64_t before = std::max<int64_t>(0, count - 2) * width;
    last = count == 1 ? 0 : before + ceil_div(ceil_div(cols - before, kLanes<T>), 2) * kLanes<T>;
  }
  int64_t start(int64_t t) const { return t < count - 1 ? t * width : t < count ? last : cols; }
  int64_t vectors(int64_t t) const { return ceil_div(start(t + 1) - start(t), kLanes<T>); }
};

// The operands of a block as the tiles see them, packed or in place. A: a tile takes `height` rows, from
// data + i * step; element (i, p) of it is at i * row + p * k. B: the panel from column j on starts at
// data + (j - origin) * step, row p of it at p * k, k being the width of the panel if packed.
template <class T>
struct Left {
  const T* data;
  int64_t step, row, k, height;
  bool packed;
};
template <class T>
struct Right {
  const T* data;
  int64_t origin, step, k;
  bool packed;
};

// Rows of C times panels [first, end): C = alpha * A @ B + beta * C over `depth` of k.
template <class T>
void multiply(const Left<T>& a, const Right<T>& b, const Panels<T>& panels, int64_t first, int64_t end, int64_t rows,
              int64_t depth, T alpha, T beta, T* c, int64_t c_row, int64_t c_col) {
  constexpr int64_t lanes = kLanes<T>, buffer_row = kMaxVectors * lanes, line = 64 / sizeof(T);
  alignas(64) T buffer[kMostRows * buffer_row];  // for a C whose rows are not contiguous
  const bool in_place = c_col == 1;
  const auto find = a.row == 1 ? &find_tile<T, Order::column_major> : &find_tile<T, Order::row_major>;
  const int64_t tiles = ceil_div(rows, a.height);
  auto one = [&](int64_t tile, int64_t panel) {
    const int64_t i = tile * a.height, tile_rows = std::min(a.height, rows - i);
    const int64_t j = panels.start(panel), cols = panels.start(panel + 1) - j, vectors = ceil_div(cols, lanes);
    T* out = c + i * c_row + j * c_col;
    Tile<T> t{.k = depth, .a = a.data + i * a.step, .a_row = a.row, .a_k = a.k, .b = b.data + (j - b.origin) * b.step,
              .b_k = b.packed ? vectors * lanes : b.k, .c = in_place ? out : buffer,
              .c_row = in_place ? c_row : buffer_row, .alpha = alpha, .beta = in_place ? beta : T(0),
              .last = cols - (vectors - 1) * lanes};
    if (a.packed && panel + 1 < end) {  // each tile fetches its share of the next panel of B
      t.ahead_lines = ceil_div(kSegment * panels.width, tiles * line), t.ahead_stride = line;
      t.ahead_step = t.ahead_lines * line;
      t.ahead = b.data + (panels.start(panel + 1) - b.origin) * b.step;
      t.ahead += tile * t.ahead_step * ceil_div(depth, kSegment);
    } else if (!a.packed && a.k == 1 && panel == first && tile + 2 < tiles) {  // the next rows of A
      t.ahead_lines = a.height, t.ahead_stride = a.row, t.ahead_step = kSegment;
      t.ahead = t.a + a.height * a.step;
    }
    find(tile_rows, vectors, t.last < lanes)(t);
    if (!in_place) scatter(buffer, buffer_row, tile_rows, cols, beta, out, c_row, c_col);
  };
  // What is reused stays close: a packed A in L2 and a panel of B in L1; or else B in L2 and the rows of a tile in L1.
  if (a.packed) {
    for (int64_t panel = first; panel < end; ++panel)
      for (int64_t tile = 0; tile < tiles; ++tile) one(tile, panel);
  } else {
    for (int64_t tile = 0; tile < tiles; ++tile)
      for (int64_t panel = first; panel < end; ++panel) one(tile, panel);
  }
}

// B[p..p + depth, panels begin..end) to dst.
template <class T>
void pack_panels(const Problem<T>& x, const Panels<T>& panels, int64_t p, int64_t depth, int64_t begin, int64_t end,
                 T* dst) {
  auto run = [&](int64_t t, int64_t t_end, int64_t width) {
    const int64_t j = panels.start(t);
    pack(x.b.data + p * x.b.row_stride + j * x.b.col_stride, x.b.col_stride, x.b.row_stride, panels.start(t_end) - j,
         depth, dst + (j - panels.start(begin)) * depth, width);
  };
  const int64_t regular = std::clamp(panels.count - 2, begin, end);
  if (regular > begin) run(begin, regular, panels.width);
  for (int64_t t = regular; t < end; ++t) run(t, t + 1, panels.vectors(t) * kLanes<T>);
}

// Packing A costs about 1 / n of the product, packing B 1 / m. It pays when strides would scatter the reads over too
// few cache sets, or the operand is read from beyond L2 again and again.
template <class T>
bool worth_packing_a(const Problem<T>& x) {
  if (x.a.row_stride != 1 && x.a.col_stride != 1) return true;
  const int64_t small = std::min(x.m, x.n), large = std::max(x.m, x.n);
  return x.k >= 128 && (x.a.row_stride == 1 ? small >= 192 || (small >= 96 && large >= 384) : small >= 640);
}
template <class T>
bool worth_packing_b(const Problem<T>& x) {
  if (x.b.col_stride != 1 || (!kFastMasks && x.n % kLanes<T> != 0)) return true;
  const int64_t row_bytes = x.b.row_stride * int64_t{sizeof(T)}, bytes = x.k * x.n * int64_t{sizeof(T)};
  if (x.n > kLanes<T> && row_bytes % kVectorBytes != 0) return x.m >= 48;  // vectors would straddle cache lines
  return bytes > 1 << 20 ? x.m >= 32 : x.m >= 96 && bytes > 1 << 18 && row_bytes >= 4096;
}

// All of x on this thread.
template <class T>
void tiled(const Problem<T>& x, bool packs_a, bool packs_b) {
  constexpr int64_t lanes = kLanes<T>, size = sizeof(T);
  const Panels<T> panels(x.n, std::min<int64_t>(packs_a ? kPackedVectors : kMaxVectors, ceil_div(x.n, lanes)));
  const int64_t height = kMaxRows[panels.width / lanes - 1];

  // The short cut for small products: one block, in place.
  if (!packs_b && x.k <= kDepth && x.k * x.n * size <= kBlockBytes) {
    const Left<T> a{x.a.data, x.a.row_stride, x.a.row_stride, x.a.col_stride, even_height(x.m, height), false};
    const Right<T> b{x.b.data, 0, 1, x.b.row_stride, false};
    return multiply(a, b, panels, 0, panels.count, x.m, x.k, x.alpha, x.beta, x.c, x.c_row, x.c_col);
  }

  const int64_t depth = ceil_div(x.k, ceil_div(x.k, kDepth)), panel_size = depth * panels.width * size;
  const int64_t span = std::clamp<int64_t>((packs_a ? kPackedBytes : kBlockBytes) / panel_size, 1, panels.count);
  const int64_t block_rows = packs_a ? ceil_div(kBlockRows, height) * height : x.m;
  T* const a_packed = packs_a ? packed_a<T>.get(std::min(ceil_div(x.m, height) * height, block_rows) * depth) : nullptr;
  T* const b_packed = packs_b ? packed_b<T>.get(span * panels.width * depth) : nullptr;
  for (int64_t first = 0; first < panels.count; first += span) {
    const int64_t end = std::min(panels.count, first + span);
    for (int64_t p = 0; p < x.k; p += depth) {
      const int64_t d = std::min(depth, x.k - p);
      Right<T> b{x.b.data + p * x.b.row_stride, 0, 1, x.b.row_stride, false};
      if (packs_b) {
        b = {b_packed, panels.start(first), d, 0, true};
        pack_panels(x, panels, p, d, first, end, b_packed);
      }
      for (int64_t i = 0; i < x.m; i += block_rows) {
        const int64_t rows = std::min(block_rows, x.m - i);
        Left<T> a{x.a.data + i * x.a.row_stride + p * x.a.col_stride, x.a.row_stride, x.a.row_stride, x.a.col_stride,
                  even_height(rows, height), false};
        if (packs_a) {
          pack(a.data, a.row, a.k, rows, d, a_packed, height);
          a = {a_packed, d, 1, height, height, true};
        }
        multiply(a, b, panels, first, end, rows, d, x.alpha, p == 0 ? x.beta : T(1), x.c + i * x.c_row, x.c_row,
                 x.c_col);
      }
    }
  }
}

// Cuts C into one block for each thread, or up to four if they are huge. Threads share nothing but pack for
// themselves: packed data in the cache of another core costs more to fetch than to pack again.
template <class T>
void tiled_parallel(const Problem<T>& x) {
  const bool packs_a = worth_packing_a(x), packs_b = packs_a || worth_packing_b(x);
  const int64_t work = x.m * x.n * x.k, threads = threads_for(work);
  if (threads == 1) return tiled(x, packs_a, packs_b);
  const int64_t tasks = threads * std::clamp<int64_t>(work / threads / kHugeWork, 1, 4);
  const int64_t row_unit = kMaxRows[kMaxVectors - 1], col_unit = kMaxVectors * kLanes<T>;
  const int64_t row_units = ceil_div(x.m, row_unit), col_units = ceil_div(x.n, col_unit);
  int64_t row_blocks = 1, col_blocks = 1;
  while (row_blocks * col_blocks < tasks && (row_blocks < row_units || col_blocks < col_units)) {
    const bool tall = x.m * col_blocks >= x.n * row_blocks;
    ++((tall && row_blocks < row_units) || col_blocks == col_units ? row_blocks : col_blocks);
  }
  parallel_for(row_blocks * col_blocks, 1, [&](int64_t task, int64_t) {
    const Range rows(task % row_blocks, row_blocks, x.m, row_unit), cols(task / row_blocks, col_blocks, x.n, col_unit);
    Problem<T> y = x;
    y.m = rows.size(), y.a.data += rows.begin * x.a.row_stride;
    y.n = cols.size(), y.b.data += cols.begin * x.b.col_stride;
    y.c += rows.begin * x.c_row + cols.begin * x.c_col;
    tiled(y, packs_a, packs_b);
  });
}

// About how many cycles `tiled` takes with vectors along the columns of C, to compare it with the transposed problem.
template <class T>
double tiled_cost(const Problem<T>& x) {
  // A row of a tile takes half a cycle per vector, if it is not bound by its loads: one, and a share of B's.
  const int64_t vectors = ceil_div(x.n, kLanes<T>), rest = vectors % kMaxVectors;
  double row = 0.5 * static_cast<double>(vectors - rest);
  if (rest > 0) row += std::max(0.5 * static_cast<double>(rest), 1 + static_cast<double>(rest) / kMaxRows[rest - 1]);
  double cycles = row * static_cast<double>(x.m * x.k);
  if (x.b.col_stride != 1) cycles += 0.4 * static_cast<double>(x.n * x.k);
  if (x.c_col != 1) cycles += 0.5 * static_cast<double>(x.m * x.n * ceil_div(x.k, kDepth));
  return cycles;
}

// ----- Vectors and few rows -----

template <class T>
void finish(T* c, T sum, T alpha, T beta) {
  *c = alpha * sum + (beta == 0 ? T(0) : beta * *c);
}

// sum[0..cols) += rows of B times their elements of A.
template <class T, int rows>
void add_rows(const T* a, int64_t a_step, const T* b, int64_t b_step, int64_t cols, T* sum) {
  constexpr int lanes = kLanes<T>;
  Vec<T> factor[rows];
  for (int r = 0; r < rows; ++r) factor[r] = broadcast(a[r * a_step]);
  auto column = [&](int64_t j, auto fetch) __attribute__((always_inline)) {
    Vec<T> s = load(sum + j);
    for (int r = 0; r < rows; ++r) s = fma(factor[r], fetch(b + r * b_step + j), s);
    store(sum + j, s);
  };
  int64_t j = 0;
  for (; j + lanes <= cols; j += lanes) column(j, [](const T* p) { return load(p); });
  if (j < cols) column(j, [mask = Mask<T>(cols - j)](const T* p) { return load(p, mask); });
}

// m == 1 and B row-major.
template <class T>
void combine_rows(const Problem<T>& x) {
  const int64_t share = ceil_div(x.n, threads_for(x.n * x.k) * kLanes<T>) * kLanes<T>;
  const int64_t strip = std::clamp(share, kStrip / 8, kStrip);
  const int64_t grain = ceil_div(kTaskWork / 2, strip * x.k);
  parallel_for(ceil_div(x.n, strip), grain, [&](int64_t begin, int64_t end) {
    alignas(64) T sum[kStrip];
    for (int64_t start = begin * strip; start < std::min(x.n, end * strip); start += strip) {
      const int64_t cols = std::min(strip, x.n - start), a_step = x.a.col_stride, b_step = x.b.row_stride;
      std::fill_n(sum, ceil_div(cols, kLanes<T>) * kLanes<T>, T(0));
      const T *a = x.a.data, *b = x.b.data + start;
      int64_t p = 0;
      for (; p + 8 <= x.k; p += 8) add_rows<T, 8>(a + p * a_step, a_step, b + p * b_step, b_step, cols, sum);
      for (; p < x.k; ++p) add_rows<T, 1>(a + p * a_step, a_step, b + p * b_step, b_step, cols, sum);
      for (int64_t j = 0; j < cols; ++j) finish(x.c + (start + j) * x.c_col, sum[j], x.alpha, x.beta);
    }
  });
}

// Few rows, and B column-major.
template <class T>
void dot_products(Problem<T> x) {
  if (x.a.col_stride != 1) {
    T* copy = packed_a<T>.get(x.m * x.k);
    for (int64_t i = 0; i < x.m; ++i)
      for (int64_t p = 0; p < x.k; ++p) copy[i * x.k + p] = x.a.data[i * x.a.row_stride + p * x.a.col_stride];
    x.a = {copy, x.k, 1};
  }
  static constexpr auto tiles = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array{&dot_tile<T, i + 1>...};
  }(std::make_integer_sequence<int, kDotRows>{});
  const int64_t groups = ceil_div(x.n, 4);
  const int64_t grain = std::max<int64_t>(1, kTaskWork / 2 / (4 * x.m * x.k));
  parallel_for(groups, grain, [&](int64_t begin, int64_t end) {
    T out[kDotRows][4];
    for (int64_t j = 4 * begin; j < std::min(x.n, 4 * end); j += 4) {
      const int64_t cols = std::min<int64_t>(4, x.n - j);
      const T* b[4];
      for (int64_t q = 0; q < 4; ++q) b[q] = x.b.data + (j + std::min(q, cols - 1)) * x.b.col_stride;
      for (int64_t i = 0; i < x.m; i += kDotRows) {
        const int64_t rows = std::min<int64_t>(kDotRows, x.m - i);
        tiles[rows - 1](x.k, x.a.data + i * x.a.row_stride, x.a.row_stride, b, out);
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t q = 0; q < cols; ++q)
            finish(x.c + (i + r) * x.c_row + (j + q) * x.c_col, out[r][q], x.alpha, x.beta);
      }
    }
  });
}

// ----- The door -----

template <class T>
void scale(const Problem<T>& x) {
  for (int64_t i = 0; i < x.m; ++i)
    for (int64_t j = 0; j < x.n; ++j) finish(x.c + i * x.c_row + j * x.c_col, T(0), T(1), x.beta);
}

template <class T>
void gemm(Problem<T> x) {
  if (x.m == 0 || x.n == 0) return;
  if (x.k == 0 || x.alpha == 0) return scale(x);
  // The stride of an axis of length 1 means nothing: call it contiguous.
  if (x.m == 1) x.a.row_stride = 1, x.c_row = 1;
  if (x.n == 1) x.b.col_stride = 1, x.c_col = 1;
  if (x.k == 1) x.a.col_stride = x.b.row_stride = 1;

  // Dot products: of few enough rows that summing up the vectors costs less than packing B would. If A is not
  // contiguous along k it must be small beside B, for it will be copied.
  const int64_t few = std::max<int64_t>(1, kDotRows * std::min<int64_t>(6, x.k / (2 * kLanes<T>)));
  auto suits_dot = [&](const Problem<T>& y) {
    return y.m <= few && y.b.row_stride == 1 && (y.b.col_stride != 1 || y.n == 1) &&
           (y.a.col_stride == 1 || y.n >= 8 * y.m);
  };
  const Problem<T> y = x.transposed();
  if (suits_dot(x)) return dot_products(x);
  if (suits_dot(y)) return dot_products(y);
  if (x.m == 1 && x.b.col_stride == 1) return combine_rows(x);
  if (x.n == 1 && x.a.row_stride == 1) return combine_rows(y);
  tiled_parallel(tiled_cost(y) < tiled_cost(x) ? y : x);
}

template <class T>
void gemm_batched(int64_t batch, Problem<T> x, int64_t a_step, int64_t b_step, int64_t c_step) {
  // Matrices stacked over one B are one tall matrix.
  if (b_step == 0 && a_step == x.m * x.a.row_stride && c_step == x.m * x.c_row) {
    x.m *= batch;
    return gemm(x);
  }
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Problem<T> y = x;
      y.a.data += i * a_step, y.b.data += i * b_step, y.c += i * c_step;
      gemm(y);
    }
  };
  // Large matrices are cut by gemm itself, unless there are enough of them to go round.
  const int64_t work = x.m * x.n * std::max<int64_t>(x.k, 1);
  if (batch < 4 * get_num_threads() && work > 8 * kTaskWork) return run(0, batch);
  parallel_for(batch, std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, work)), run);
}

}  // namespace

void sgemm(int64_t m, int64_t n, int64_t k, float alpha, GemmMatrix<float> a, GemmMatrix<float> b, float beta, float* c,
           int64_t c_row_stride, int64_t c_col_stride) {
  gemm<float>({m, n, k, alpha, beta, a, b, c, c_row_stride, c_col_stride});
}

void dgemm(int64_t m, int64_t n, int64_t k, double alpha, GemmMatrix<double> a, GemmMatrix<double> b, double beta,
           double* c, int64_t c_row_stride, int64_t c_col_stride) {
  gemm<double>({m, n, k, alpha, beta, a, b, c, c_row_stride, c_col_stride});
}

void sgemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k, float alpha, GemmMatrix<float> a,
                   int64_t a_batch_stride, GemmMatrix<float> b, int64_t b_batch_stride, float beta, float* c,
                   int64_t c_row_stride, int64_t c_col_stride, int64_t c_batch_stride) {
  gemm_batched<float>(batch, {m, n, k, alpha, beta, a, b, c, c_row_stride, c_col_stride}, a_batch_stride,
                      b_batch_stride, c_batch_stride);
}

void dgemm_batched(int64_t batch, int64_t m, int64_t n, int64_t k, double alpha, GemmMatrix<double> a,
                   int64_t a_batch_stride, GemmMatrix<double> b, int64_t b_batch_stride, double beta, double* c,
                   int64_t c_row_stride, int64_t c_col_stride, int64_t c_batch_stride) {
  gemm_batched<double>(batch, {m, n, k, alpha, beta, a, b, c, c_row_stride, c_col_stride}, a_batch_stride,
                       b_batch_stride, c_batch_stride);
}

GENESIS_KERNEL(sgemm)
GENESIS_KERNEL(dgemm)
GENESIS_KERNEL(sgemm_batched)
GENESIS_KERNEL(dgemm_batched)

}  // namespace genesis::kernels::GENESIS_ISA
