// Products with few rows, which need no tiles, and the choice of algorithm, which gemm.cpp and gemm/half.cpp make
// first.
#pragma once

#include <array>

#include "kernels/elementwise/stream.h"
#include "kernels/gemm/panels.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kStrip = 1024;    // maximum number of columns in one pass of combine_rows
constexpr int64_t kSums = 4096;     // maximum number of sums in that pass
constexpr int64_t kRun = 1024;      // elements of a half-precision line that are widened at a time
constexpr int64_t kTileDepth = 32;  // maximum k of a small product
constexpr int kDotRows = kVectorBytes == 64 ? 6 : 2;

// ----- Few rows -----

// Writes n columns of row i of C, starting at column j.
template <class T, class S>
void finish(const Problem<T, S>& x, int64_t i, int64_t j, const T* sums, int64_t n) {
  const T alpha = x.alpha, beta = x.beta;  // copied because C might alias x
  const S* const d = x.d.data + i * x.d.row_stride + j * x.d.col_stride;
  S* const c = x.c + i * x.c_row + j * x.c_col;
  const auto write = [=](auto c_step, auto d_step) {
#pragma GCC ivdep
    for (int64_t q = 0; q < n; ++q)
      narrow(alpha * sums[q] + (beta == 0 ? T(0) : beta * T(to_float(d[q * d_step]))), c[q * c_step]);
  };
  constexpr std::integral_constant<int64_t, 1> one;
  if (x.c_col == 1 && (beta == 0 || x.d.col_stride == 1)) write(one, one);
  else write(x.c_col, x.d.col_stride);
}

// sum[0..cols) += rows of B times their elements of A.
template <class T, int rows, class S>
void add_rows(const S* a, int64_t a_step, const T* b, int64_t b_step, int64_t cols, T* sum) {
  constexpr int lanes = kLanes<T>;
  Vec<T> factor[rows];
  for (int r = 0; r < rows; ++r) factor[r] = broadcast(T(to_float(a[r * a_step])));
  auto column = [&](int64_t j, auto fetch) __attribute__((always_inline)) {
    Vec<T> s = load(sum + j);
    for (int r = 0; r < rows; ++r) s = fma(factor[r], fetch(b + r * b_step + j), s);
    store(sum + j, s);
  };
  int64_t j = 0;
  for (; j + lanes <= cols; j += lanes) column(j, [](const T* p) { return load(p); });
  if (j < cols) column(j, [mask = Mask<T>(cols - j)](const T* p) { return load(p, mask); });
}

// For at most kSums / kLanes rows and a row-major B: adds up the rows of B, reading long contiguous ranges.
template <class T, class S>
void combine_rows(const Problem<T, S>& x) {
  constexpr bool widened = !std::is_same_v<T, S>;
  const int64_t share = ceil_div(x.n, threads_for(x.m * x.n * x.k) * kLanes<T>) * kLanes<T>;
  const int64_t most = std::min(kStrip, kSums / x.m / kLanes<T> * kLanes<T>);
  const int64_t strip = std::clamp(share, std::min(most, kStrip / 8), most);
  const int64_t grain = ceil_div(kTaskWork / 2, strip * x.m * x.k);
  parallel_for(ceil_div(x.n, strip), grain, [&](int64_t begin, int64_t end) {
    alignas(64) T sums[kSums], wide[widened ? 8 * kStrip : 1];
    const int64_t a_step = x.a.col_stride, b_step = x.b.row_stride;
    Pace pace(kPaceWork);
    for (int64_t start = begin * strip; start < std::min(x.n, end * strip); start += strip) {
      const int64_t cols = std::min(strip, x.n - start), pitch = ceil_div(cols, kLanes<T>) * kLanes<T>;
      std::fill_n(sums, x.m * pitch, T(0));
      auto add = [&]<int rows>(int64_t p, std::integral_constant<int, rows>) {
        const S* source = x.b.data + p * b_step + start;
        const T* b = line(source, wide, cols);
        if constexpr (widened)
          for (int64_t r = 1; r < rows; ++r) widen(source + r * b_step, wide + r * kStrip, cols);
        for (int64_t i = 0; i < x.m; ++i)
          add_rows<T, rows>(x.a.data + i * x.a.row_stride + p * a_step, a_step, b, widened ? kStrip : b_step, cols,
                            sums + i * pitch);
      };
      int64_t p = 0;
      for (; p + 8 <= x.k; p += 8, pace.spend(8 * x.m * cols)) add(p, std::integral_constant<int, 8>{});
      for (; p < x.k; ++p) add(p, std::integral_constant<int, 1>{});
      for (int64_t i = 0; i < x.m; ++i) finish(x, i, start, sums + i * pitch, cols);
    }
  });
}

// For at most kDotRows * 6 rows and a column-major B: vectors run along k.
template <class T, class S>
void dot_products(const Problem<T, S>& x) {
  constexpr bool widened = !std::is_same_v<T, S>;
  GemmMatrix<T> a;
  if constexpr (!widened) a = x.a;
  if (widened || x.a.col_stride != 1) {
    T* copy = packed_a<T>.get(x.m * x.k);
    for (int64_t i = 0; i < x.m; ++i)
      for (int64_t p = 0; p < x.k; ++p) copy[i * x.k + p] = to_float(x.a.data[i * x.a.row_stride + p * x.a.col_stride]);
    a = {copy, x.k, 1};
  }
  static constexpr auto tiles = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array{&dot_tile<T, i + 1>...};
  }(std::make_integer_sequence<int, kDotRows>{});
  const int64_t groups = ceil_div(x.n, 4), run = std::min(x.k, widened ? kRun : kPaceWork / 4);
  const int64_t grain = std::max<int64_t>(1, kTaskWork / 2 / (4 * x.m * x.k));
  parallel_for(groups, grain, [&](int64_t begin, int64_t end) {
    alignas(64) T wide[widened ? 4 : 1][widened ? kRun : 1];
    T out[kDotRows][4], sums[6 * kDotRows][4];
    Pace pace(kPaceWork);
    for (int64_t j = 4 * begin; j < std::min(x.n, 4 * end); j += 4) {
      const int64_t cols = std::min<int64_t>(4, x.n - j);
      for (int64_t p = 0; p < x.k; p += run) {
        const int64_t d = std::min(run, x.k - p);
        const T* b[4];
        for (int64_t q = 0; q < 4; ++q) {
          const int64_t column = std::min(q, cols - 1);
          b[q] = line(x.b.data + (j + column) * x.b.col_stride + p, wide[widened ? q : 0], d);
        }
        for (int64_t i = 0; i < x.m; i += kDotRows) {
          const int64_t rows = std::min<int64_t>(kDotRows, x.m - i);
          tiles[rows - 1](d, a.data + i * a.row_stride + p, a.row_stride, b, p == 0 ? sums + i : out);
          if (p == 0) continue;
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t q = 0; q < cols; ++q) sums[i + r][q] += out[r][q];
        }
        pace.spend(d * x.m * cols);
      }
      for (int64_t i = 0; i < x.m; ++i) finish(x, i, j, sums[i], cols);
    }
  });
}

// ----- Choice of algorithm -----

// Element by element, for products too small for anything else to pay off.
template <class T, class S>
void plain(const Problem<T, S>& x) {
  for (int64_t i = 0; i < x.m; ++i)
    for (int64_t j = 0; j < x.n; ++j) {
      T sum = 0;
      for (int64_t p = 0; p < x.k; ++p)
        sum += T(to_float(x.a.data[i * x.a.row_stride + p * x.a.col_stride])) *
               T(to_float(x.b.data[p * x.b.row_stride + j * x.b.col_stride]));
      finish(x, i, j, &sum, 1);
    }
}

// An estimate of the cycles for tiles of at most `most` vectors along the columns of C, to compare with the transposed
// problem.
template <class T, class S>
double tiled_cost(const Problem<T, S>& x, int most = kMaxVectors) {
  // A row of a tile takes half a cycle per vector unless loads limit it: one load for A and a share of the loads of B,
  // at barely two per cycle.
  const int64_t vectors = ceil_div(x.n, kLanes<T>), rest = vectors % most;
  double row = 0.5 * static_cast<double>(vectors - rest);
  if (rest > 0)
    row += std::max(0.5 * static_cast<double>(rest), 0.6 * (1 + static_cast<double>(rest) / kMaxRows[rest - 1]));
  double cycles = row * static_cast<double>(x.m * x.k);
  if (x.b.col_stride != 1) cycles += 0.4 * static_cast<double>(x.n * x.k);
  if (x.c_col != 1) cycles += 0.5 * static_cast<double>(x.m * x.n * ceil_div(x.k, kDepth));
  return cycles;
}

// The same for `dot_products`: each result is a sum over vectors, followed by a horizontal sum.
template <class T, class S>
double dot_cost(const Problem<T, S>& x) {
  return static_cast<double>(x.m * x.n) * (0.5 * static_cast<double>(x.k) / kLanes<T> + 8);
}

enum class Way { Plain, Dots, DotsTransposed, Rows, RowsTransposed, Tiles };

// Chooses the algorithm for a product with at least one element. Strides of axes of length 1 are normalized first.
template <class T, class S>
Way way_of(Problem<T, S>& x) {
  if (x.alpha == 0) x.k = 0;
  if (x.m * x.n * x.k <= 16) return Way::Plain;
  // The stride of an axis of length 1 has no effect: treat it as contiguous.
  if (x.m == 1) x.a.row_stride = 1, x.c_row = 1;
  if (x.n == 1) x.b.col_stride = 1, x.c_col = 1;
  if (x.k == 1) x.a.col_stride = x.b.row_stride = 1;

  const Problem<T, S> y = x.transposed();
  const double tiles = std::min(tiled_cost(x), tiled_cost(y));

  // Dot products: for so few rows that the horizontal sums cost less than packing B. If A is not contiguous along k, it
  // must be small compared to B because it is copied.
  const int64_t few = std::max<int64_t>(1, kDotRows * std::min<int64_t>(6, x.k / (2 * kLanes<T>)));
  auto suits_dot = [&](const Problem<T, S>& y) {
    return y.m <= few && y.b.row_stride == 1 && (y.b.col_stride != 1 || y.n == 1) &&
           (y.a.col_stride == 1 || y.n >= 8 * y.m) && (y.m == 1 || dot_cost(y) < tiles);
  };
  // Sums of rows: tiles win as the number of rows grows, unless they would read short pieces of B from distant memory.
  constexpr int64_t kFew = kLargeCaches ? 4 : 16;
  auto suits_rows = [&](const Problem<T, S>& y) {
    return y.b.col_stride == 1 && (y.m == 1 || (y.m <= kFew && y.n >= 256 && y.k * y.n * int64_t{sizeof(S)} > 1 << 20));
  };
  if (suits_dot(x)) return Way::Dots;
  if (suits_dot(y)) return Way::DotsTransposed;
  if (suits_rows(x)) return Way::Rows;
  return suits_rows(y) ? Way::RowsTransposed : Way::Tiles;
}

// Returns true if x is done: it was empty, tiny, or had few rows or columns. Otherwise its strides have been
// normalized.
template <class T, class S>
bool gemm_by_rows(Problem<T, S>& x) {
  if (x.m == 0 || x.n == 0) return true;
  switch (way_of(x)) {
    case Way::Plain: plain(x); break;
    case Way::Dots: dot_products(x); break;
    case Way::DotsTransposed: dot_products(x.transposed()); break;
    case Way::Rows: combine_rows(x); break;
    case Way::RowsTransposed: combine_rows(x.transposed()); break;
    case Way::Tiles: return false;
  }
  return true;
}

// Whether x fits in one tile, with a B that is cheap to copy if necessary.
template <class T>
bool fits_tile(const Problem<T>& x) {
  const int64_t vectors = ceil_div(x.n, kLanes<T>);
  return x.k <= kTileDepth && vectors > 0 && vectors <= kMaxVectors && x.m > 0 && x.m <= kMaxRows[vectors - 1] &&
         (x.m == 1 || x.a.row_stride == 1 || x.a.col_stride == 1) && (x.n == 1 || x.c_col == 1);
}

// Products [begin, end) of matrices that fit in a tile. The tile is selected once for all of them.
template <class T>
void batched_tiles(int64_t begin, int64_t end, const Problem<T>& x, int64_t a_step, int64_t b_step, int64_t c_step) {
  constexpr int64_t lanes = kLanes<T>, width = kMaxVectors * lanes;
  alignas(64) T copied[kTileDepth * width];  // B, if its rows are not contiguous
  const bool copies = x.n > 1 && x.b.col_stride != 1, column_major = x.m == 1 || x.a.row_stride == 1;
  const int64_t vectors = ceil_div(x.n, lanes), last = x.n - (vectors - 1) * lanes;
  Tile<T> t{.k = x.alpha == 0 ? 0 : x.k,
            .a = x.a.data,
            .a_row = x.a.row_stride,
            .a_k = x.a.col_stride,
            .b = copied,
            .b_k = copies ? width : x.b.row_stride,
            .c = x.c,
            .c_row = x.c_row,
            .alpha = x.alpha,
            .beta = x.beta,
            .last = last};
  const TileFn<T> tile = column_major ? find_tile<T, Order::column_major>(x.m, vectors, last < lanes)
                                      : find_tile<T, Order::row_major>(x.m, vectors, last < lanes);
  for (int64_t i = begin; i < end; ++i) {
    const T* const b = x.b.data + i * b_step;
    t.a = x.a.data + i * a_step, t.c = x.c + i * c_step;
    if (copies)
      for (int64_t p = 0; p < t.k; ++p)
        for (int64_t j = 0; j < x.n; ++j) copied[p * width + j] = b[p * x.b.row_stride + j * x.b.col_stride];
    else t.b = b;
    tile(t);
  }
}

// c[r][0..n) = alpha * factor[r] * b[0..n) for `rows` rows, written with non-temporal stores. Only full cache lines are
// streamed; the ends of a row use ordinary stores. All rows must have the same alignment within a cache line.
template <int rows, class T>
void stream_outer_rows(T* c, int64_t c_row, T alpha, const T* factors, int64_t factor_step, const T* b, int64_t n) {
  constexpr int64_t line = 64 / int64_t{sizeof(T)};
  Vec<T> factor[rows];
  for (int r = 0; r < rows; ++r) factor[r] = broadcast(factors[r * factor_step]);
  const Vec<T> scale = broadcast(alpha);
  // The sum starts at +0, as in the tiles.
  auto product = [&](int r, Vec<T> v) __attribute__((always_inline)) { return scale * (factor[r] * v + Vec<T>{}); };
  auto ordinary = [&](int64_t from, int64_t to) {
    for (; from < to; from += kLanes<T>) {
      const Mask<T> mask(std::min<int64_t>(kLanes<T>, to - from));
      for (int r = 0; r < rows; ++r) store(c + r * c_row + from, product(r, load(b + from, mask)), mask);
    }
  };
  const int64_t head = std::min<int64_t>(n, (-reinterpret_cast<intptr_t>(c) & 63) / int64_t{sizeof(T)});
  const int64_t end = head + (n - head) / line * line;
  ordinary(0, head);
  for (int64_t j = head; j < end; j += line) {
    Vec<T> parts[line / kLanes<T>];
    for (int64_t k = 0; k < line; k += kLanes<T>) parts[k / kLanes<T>] = load(b + j + k);
    for (int r = 0; r < rows; ++r)
      for (int64_t k = 0; k < line; k += kLanes<T>)
        stream_vector(c + r * c_row + j + k, product(r, parts[k / kLanes<T>]));
  }
  ordinary(end, n);
}

// Outer products that exceed the cache: memory is written once and never read. Four rows at a time are 10 % faster than
// one (measured on Zen 5).
template <class T>
void outer_products(int64_t batch, const Problem<T>& x, int64_t a_step, int64_t b_step, int64_t c_step) {
  const bool alike = x.c_row * int64_t{sizeof(T)} % 64 == 0;
  parallel_for(batch * x.m, ceil_div(kTaskWork, x.n), [&](int64_t begin, int64_t end) {
    Pace pace(kPaceWork);
    for (int64_t r = begin; r < end;) {
      const int64_t i = r / x.m, q = r % x.m;
      const int rows = alike && std::min(x.m - q, end - r) >= 4 ? 4 : 1;
      T* const c = x.c + i * c_step + q * x.c_row;
      const T *const factors = x.a.data + i * a_step + q * x.a.row_stride, *const b = x.b.data + i * b_step;
      if (rows == 4) stream_outer_rows<4>(c, x.c_row, x.alpha, factors, x.a.row_stride, b, x.n);
      else stream_outer_rows<1>(c, x.c_row, x.alpha, factors, x.a.row_stride, b, x.n);
      r += rows;
      pace.spend(rows * x.n);
    }
    stream_fence();
  });
}
template <class T>
bool suits_outer_products(int64_t batch, const Problem<T>& x) {
  return kStreams && x.k == 1 && x.alpha != 0 && x.beta == 0 && x.n >= 4 * kLanes<T> && x.m > 1 && x.c_col == 1 &&
         x.b.col_stride == 1 && batch * x.m * x.n * int64_t{sizeof(T)} >= kStreamedBytes;
}

template <class T, class S, class Gemm>
void gemm_batched(int64_t batch, Problem<T, S> x, int64_t a_step, int64_t b_step, int64_t c_step, Gemm gemm) {
  // Matrices stacked over a shared B form one tall matrix.
  if (b_step == 0 && a_step == x.m * x.a.row_stride && c_step == x.m * x.c_row) {
    x.m *= batch;
    return gemm(x);
  }
  const int64_t work = x.m * x.n * std::max<int64_t>(x.k, 1);
  if constexpr (std::is_same_v<T, S>) {
    if (suits_outer_products(batch, x)) return outer_products(batch, x, a_step, b_step, c_step);
    if (fits_tile(x)) {
      const int64_t grain = kTaskWork / std::max<int64_t>(512, work);  // entering and leaving a tile has a fixed cost
      return parallel_for(batch, grain,
                          [&](int64_t begin, int64_t end) { batched_tiles(begin, end, x, a_step, b_step, c_step); });
    }
  }
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Problem<T, S> y = x;
      y.a.data += i * a_step, y.b.data += i * b_step, y.c += i * c_step, y.d.data += i * c_step;
      gemm(y);
    }
  };
  // gemm itself parallelizes large matrices, unless there are enough of them to occupy the threads.
  if (batch < 4 * get_num_threads() && work > 8 * kTaskWork) return run(0, batch);
  parallel_for(batch, std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, work)), run);
}

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
