// Shared by gemm.cpp and gemm/half.cpp: the partition of C among threads, panels, and the loop over the register tiles
// of a block.
#pragma once

#include <span>
#include <type_traits>

#include "core/dtype.h"
#include "core/parallel.h"
#include "kernels/elementwise/half.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/micro.h"
#include "kernels/scratch.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// We infer the cache sizes from the vector width. Processors with AVX-512 have 48 KB of L1 or at least 1 MB of L2;
// others have 32 KB of L1 and up to 512 KB of L2.
constexpr bool kLargeCaches = kVectorBytes == 64;

constexpr int64_t kDepth = 384;      // maximum length of k in one pass over C
constexpr int64_t kBlockRows = 128;  // rows of C in a block: with kDepth, the part of A takes half of L2
// the same with several threads: smaller blocks balance the load when a thread is delayed
constexpr int64_t kSharedRows = 64;
constexpr int64_t kBlockBytes = (kLargeCaches ? 512 : 256) << 10;  // size of a block of B that stays in L2
constexpr int64_t kPackedBytes = 4 << 20;                          // size of a block of B that is read from L3
constexpr int64_t kLevelWork = int64_t{1} << 22;  // multiply-adds above which a block of C is split to balance the load
constexpr int64_t kPaceWork = int64_t{1} << 26;   // multiply-adds between checks for Ctrl-C: about 10 ms
constexpr int64_t kHugeWork = int64_t{1} << 30;   // the same where splitting causes more packing
// Vectors in a panel of B that many rows of a packed A use: with kDepth, it leaves room in L1.
constexpr int kPackedVectors = std::min(kVectorBytes == 32 ? 2 : 3, kMaxVectors);

// ----- Half precision -----

template <class T>
T to_float(T x) {
  return x;
}
template <class T>
void narrow(T x, T& y) {
  y = x;
}

// n contiguous elements in T: in place, or widened into the buffer.
template <class T, class S>
const T* line(const S* src, [[maybe_unused]] T* buffer, [[maybe_unused]] int64_t n) {
  if constexpr (std::is_same_v<T, S>) {
    return src;
  } else {
    widen(src, buffer, n);
    return buffer;
  }
}

// pack() of gemm/micro.h for a half type; k is at most kDepth.
template <class S>
void pack_widened(const S* src, int64_t stride, int64_t k_stride, int64_t count, int64_t k, float* dst, int64_t width) {
  if (stride == 1) {
    for (int64_t p = 0; p < k; ++p, src += k_stride, dst += width)
      for (int64_t t = 0; t < count; t += width) widen(src + t, dst + t * k, std::min(width, count - t));
    return;
  }
  alignas(64) float lines[kLanes<float>][kDepth];
  for (int64_t t = 0; t < count; t += width, dst += width * k) {
    const int64_t end = std::min(width, count - t);
    for (int64_t block = 0; block < end; block += kLanes<float>) {
      const int64_t filled = std::min<int64_t>(end, kLanes<float>), i = std::min(block, end - filled);
      for (int64_t l = 0; l < filled; ++l) {
        const S* s = src + (t + i + l) * stride;
        if (k_stride == 1) widen(s, lines[l], k);
        else
          for (int64_t p = 0; p < k; ++p) lines[l][p] = genesis::to_float(s[p * k_stride]);
      }
      pack(lines[0], kDepth, 1, filled, k, dst + i, width);
    }
  }
}

template <class T, class S>
void pack_as(const S* src, int64_t stride, int64_t k_stride, int64_t count, int64_t k, T* dst, int64_t width) {
  if constexpr (std::is_same_v<T, S>) pack(src, stride, k_stride, count, k, dst, width);
  else pack_widened(src, stride, k_stride, count, k, dst, width);
}

// ----- Partitioning -----

// The size of the parts if `total` is split into equal parts of at most `most`.
inline int64_t even_part(int64_t total, int64_t most) { return ceil_div(total, ceil_div(total, most)); }

// Part i of [0, total) if it is split as evenly as possible into `parts` that are multiples of `unit`.
struct Range {
  int64_t begin, end;
  Range(int64_t i, int64_t parts, int64_t total, int64_t unit) {
    const int64_t units = ceil_div(total, unit);
    begin = i * units / parts * unit;
    end = std::min(total, (i + 1) * units / parts * unit);
  }
  int64_t size() const { return end - begin; }
};

// The number of threads for `work` multiply-adds.
[[maybe_unused]] int64_t threads_for(int64_t work) {
  if (work < 2 * kTaskWork || in_parallel_region()) return 1;
  return std::min<int64_t>(get_num_threads(), work / kTaskWork);
}

template <class T>
const Scratch<T> packed_a;
template <class T>
const Scratch<T> packed_b;

// Where a product goes: C = alpha * product + beta * D.
template <class T>
struct Target {
  T alpha, beta;
  GemmMatrix<T> d;
  T* c;
  int64_t c_row, c_col;
};

// C = alpha * A @ B + beta * D, computed in T; the matrices are stored in S, which is T or a half type.
template <class T, class S = T>
struct Problem {
  int64_t m, n, k;
  T alpha, beta;
  GemmMatrix<S> a, b;
  S* c;
  int64_t c_row, c_col;
  GemmMatrix<S> d = {c, c_row, c_col};

  Problem transposed() const {
    const auto swapped = [](const GemmMatrix<S>& x) { return GemmMatrix<S>{x.data, x.col_stride, x.row_stride}; };
    return {n, m, k, alpha, beta, swapped(b), swapped(a), c, c_col, c_row, swapped(d)};
  }
  Problem part(Range rows, Range cols) const {
    Problem y = *this;
    y.m = rows.size(), y.a.data += rows.begin * a.row_stride;
    y.n = cols.size(), y.b.data += cols.begin * b.col_stride;
    y.c += rows.begin * c_row + cols.begin * c_col;
    y.d.data += rows.begin * d.row_stride + cols.begin * d.col_stride;
    return y;
  }
};

// The target of rows from `row` on for the block of k that starts at p. The first block adds to D, later ones add to C.
template <class T>
Target<T> target(const Problem<T>& x, int64_t row, int64_t p) {
  Target<T> t{x.alpha, x.beta, x.d, x.c, x.c_row, x.c_col};
  if (p > 0) t.beta = 1, t.d = {x.c, x.c_row, x.c_col};
  t.c += row * x.c_row, t.d.data += row * t.d.row_stride;
  return t;
}

// The number of blocks of C, by rows and by columns.
struct Grid {
  int64_t rows = 1, cols = 1;
};

// Chooses a grid of at least `tasks` blocks. Among the grids for which the slowest thread finishes first, it takes the
// one with the squarest blocks, which read the least memory.
inline Grid best_grid(int64_t row_units, int64_t col_units, int64_t unit_ratio, int64_t threads, int64_t tasks) {
  Grid best;
  int64_t least_time = INT64_MAX, least_reads = INT64_MAX;
  for (int64_t rows = 1; rows <= std::min(row_units, tasks); ++rows) {
    const int64_t cols = std::min(col_units, ceil_div(tasks, rows));
    const int64_t height = ceil_div(row_units, rows), width = ceil_div(col_units, cols);
    const int64_t time = ceil_div(rows * cols, threads) * height * width, reads = height + width * unit_ratio;
    if (time > least_time || (time == least_time && reads >= least_reads)) continue;
    best = {rows, cols};
    least_time = time, least_reads = reads;
  }
  return best;
}

// Calls run(part) for each part of x. If an operand is packed, C is split into one block per thread, or up to four if
// the blocks are huge, and preferably not along the packed operand, because every block would pack it again. If nothing
// is packed, more and smaller blocks cost little and balance the load better.
template <class T, class S, class Run>
void cut_for_threads(const Problem<T, S>& x, bool packs_a, bool packs_b, Run run) {
  const int64_t work = x.m * x.n * x.k, threads = threads_for(work);
  if (threads == 1) return run(x);
  const int64_t most = packs_a || packs_b ? work / threads / kHugeWork : work / threads / kLevelWork;
  const int64_t tasks = threads * std::clamp<int64_t>(most, 1, 4);
  const int64_t row_unit = kMaxRows[kMaxVectors - 1], col_unit = 2 * kLanes<T>;
  const int64_t row_units = ceil_div(x.m, row_unit), col_units = ceil_div(x.n, col_unit);
  Grid grid = best_grid(row_units, col_units, std::max<int64_t>(1, col_unit / row_unit), threads, tasks);
  if (packs_a != packs_b && (packs_a ? row_units : col_units) >= tasks)
    grid = packs_a ? Grid{tasks, 1} : Grid{1, tasks};
  parallel_for(grid.rows * grid.cols, 1, [&](int64_t task, int64_t) {
    run(x.part({task % grid.rows, grid.rows, x.m, row_unit}, {task / grid.rows, grid.cols, x.n, col_unit}));
  });
}

// ----- Tiles -----

// The columns of C in panels of `width`, a multiple of the vector size. The last two panels share the remainder evenly.
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

// The operands of a block as the tiles read them, packed or in place. A: a tile takes `height` rows from data + i *
// step; its element (i, p) is at i * row + p * k. If all of A is `close` (in L2), the panels of B are processed one
// after another. B: the panel that starts at column j is at data + (j - origin) * step, and its row p at p * k, where k
// is the width of the panel if it is packed.
template <class T>
struct Left {
  const T* data;
  int64_t step, row, k, height;
  bool close;
};
template <class T>
struct Right {
  const T* data;
  int64_t origin, step, k;
  bool packed;
};

// Consecutive panels of the same shape, which use the same tiles.
template <class T>
struct PanelRun {
  int64_t begin, end, cols, vectors, last;
  TileFn<T> tile, last_tile;  // of full height, and of the remaining rows
};

// Splits panels [first, end) into runs. All panels but the last two have one shape. Returns the number of runs.
template <class T>
[[gnu::always_inline]] inline int panel_runs(const Left<T>& a, const Panels<T>& panels, int64_t first, int64_t end,
                                             int64_t last_rows, PanelRun<T> (&runs)[3]) {
  constexpr int64_t lanes = kLanes<T>;
  const auto find = a.row == 1 ? &find_tile<T, Order::column_major> : &find_tile<T, Order::row_major>;
  int count = 0;
  for (int64_t panel = first; panel < end; panel = runs[count++].end) {
    const int64_t cols = panels.start(panel + 1) - panels.start(panel), vectors = ceil_div(cols, lanes);
    const int64_t last = cols - (vectors - 1) * lanes;
    runs[count] = {.begin = panel,
                   .end = std::clamp(panels.count - 2, panel + 1, end),
                   .cols = cols,
                   .vectors = vectors,
                   .last = last,
                   .tile = find(a.height, vectors, last < lanes),
                   .last_tile = find(last_rows, vectors, last < lanes)};
  }
  return count;
}

// What all tiles of a block share. Each tile prefetches its share of the next panel of B if A is close, otherwise the
// next rows of A.
template <class T>
[[gnu::always_inline]] inline Tile<T> block_tile(const Left<T>& a, const Right<T>& b, const Target<T>& to,
                                                 int64_t depth, int64_t panel_width, int64_t tiles) {
  constexpr int64_t line = 64 / sizeof(T);
  Tile<T> t{.k = depth,
            .a = a.data,
            .a_row = a.row,
            .a_k = a.k,
            .b = b.data,
            .b_k = b.k,
            .c = to.c,
            .c_row = to.c_row,
            .alpha = to.alpha,
            .beta = to.beta,
            .last = kLanes<T>,
            .d_row = to.d.row_stride};
  if (a.close) {
    t.ahead_lines = ceil_div(kSegment * panel_width, tiles * line), t.ahead_stride = line;
    t.ahead_step = t.ahead_lines * line;
  } else {
    t.ahead_stride = a.row, t.ahead_step = kSegment;
  }
  return t;
}

// Multiplies rows of A by panels [first, end) of B over `depth` steps of k.
template <class T>
void multiply(const Left<T>& a, const Right<T>& b, const Panels<T>& panels, int64_t first, int64_t end, int64_t rows,
              int64_t depth, const Target<T>& to) {
  constexpr int64_t lanes = kLanes<T>, buffer_row = kMaxVectors * lanes;
  alignas(64) T buffer[kMostRows * buffer_row];  // used if rows of C or D are not contiguous
  const bool in_place = to.c_col == 1 && (to.beta == 0 || to.d.col_stride == 1);
  const int64_t tiles = ceil_div(rows, a.height), last_rows = rows - (tiles - 1) * a.height;
  PanelRun<T> runs[3];
  const int count = panel_runs(a, panels, first, end, last_rows, runs);
  Tile<T> t = block_tile(a, b, to, depth, panels.width, tiles);
  if (!in_place) t.c = buffer, t.c_row = buffer_row, t.beta = 0;
  const int64_t share = t.ahead_step * ceil_div(depth, kSegment), ahead_lines = t.ahead_lines;
  auto one = [&](int64_t tile, const PanelRun<T>& run, int64_t panel) {
    const int64_t j = panels.start(panel);
    const int64_t i = tile * a.height;
    T* const c = to.c + i * to.c_row + j * to.c_col;
    const T* const d = to.d.data + i * to.d.row_stride + j * to.d.col_stride;
    t.a = a.data + i * a.step;
    t.b = b.data + (j - b.origin) * b.step;
    t.b_k = b.packed ? run.vectors * lanes : b.k;
    t.last = run.last;
    if (in_place) t.c = c, t.d = d;
    if (a.close) {
      t.ahead_lines = panel + 1 < end ? ahead_lines : 0;
      t.ahead = t.b + run.cols * b.step + tile * share;
    } else {
      t.ahead_lines = a.k == 1 && panel == first && tile + 2 < tiles ? a.height : 0;
      t.ahead = t.a + a.height * a.step;
    }
    (tile + 1 < tiles ? run.tile : run.last_tile)(t);
    if (!in_place)
      scatter(buffer, buffer_row, tile + 1 < tiles ? a.height : last_rows, run.cols, to.beta,
              {d, to.d.row_stride, to.d.col_stride}, c, to.c_row, to.c_col);
  };
  // Keep reused data close: A in L2 and a panel of B in L1, or B in L2 and the rows of a tile in L1.
  const std::span<const PanelRun<T>> all(runs, static_cast<size_t>(count));
  if (a.close) {
    for (const PanelRun<T>& run : all)
      for (int64_t panel = run.begin; panel < run.end; ++panel)
        for (int64_t tile = 0; tile < tiles; ++tile) one(tile, run, panel);
  } else {
    for (int64_t tile = 0; tile < tiles; ++tile)
      for (const PanelRun<T>& run : all)
        for (int64_t panel = run.begin; panel < run.end; ++panel) one(tile, run, panel);
  }
}

// Packs B[p..p + depth, panels begin..end) to dst.
template <class T, class S>
void pack_panels(const GemmMatrix<S>& b, const Panels<T>& panels, int64_t p, int64_t depth, int64_t begin, int64_t end,
                 T* dst) {
  auto run = [&](int64_t t, int64_t t_end, int64_t width) {
    const int64_t j = panels.start(t);
    pack_as(b.data + p * b.row_stride + j * b.col_stride, b.col_stride, b.row_stride, panels.start(t_end) - j, depth,
            dst + (j - panels.start(begin)) * depth, width);
  };
  const int64_t regular = std::clamp(panels.count - 2, begin, end);
  if (regular > begin) run(begin, regular, panels.width);
  for (int64_t t = regular; t < end; ++t) run(t, t + 1, panels.vectors(t) * kLanes<T>);
}

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
