// Matrix products by packed panels and register tiles, after Goto and van de Geijn.
//
// gemm() is the door. It sends a product one of three ways, each of which cuts C (never k) for the threads:
//   combine_rows   a vector times a row-major matrix: adds up the rows of the matrix, at the speed of memory;
//   dot_products   few rows, both operands contiguous along k: no packing, vectors run along k;
//   tiled          the rest. Vectors run along the columns of C, or of its transpose if that costs less. Per block of
//                  C and block of k, multiply() covers the block with register tiles (gemm_micro.h).
// In `tiled`, an operand is copied into contiguous panels ("packed") only if its strides demand it or if it is read
// often enough to repay the copy, so small products go straight to the tiles.
//
// An element of C is always summed in the same order, whatever block it falls into and whether or not operands are
// packed; so the blocks may follow the number of threads while the result does not.
#include "kernels/gemm.h"

#include <new>

#include "core/parallel.h"
#include "kernels/gemm_micro.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kDepth = 384;                  // most of k in one pass over C
constexpr int64_t kBlockRows = 256;              // rows of C in a block: with kDepth, a part of A that fits L2
constexpr int64_t kBlockBytes = 512 << 10;       // what a block reads of B if A is not packed, to fit L2
constexpr int64_t kPackedBytes = 4 << 20;        // what is packed of B at once
constexpr int64_t kTaskWork = int64_t{1} << 19;  // multiply-adds worth handing to a thread: about 7 us
constexpr int64_t kStrip = 1024;                 // columns of combine_rows at once
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

// Scratch memory that a thread keeps from call to call. Contents do not survive get().
template <class T>
class Scratch {
 public:
  ~Scratch() { release(); }
  T* get(int64_t size) {
    if (size > size_) {
      release();
      data_ = static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{64}));
      size_ = size;
    }
    return data_;
  }

 private:
  void release() {
    ::operator delete(data_, std::align_val_t{64});
    data_ = nullptr;
    size_ = 0;
  }
  T* data_ = nullptr;
  int64_t size_ = 0;
};

template <class T>
thread_local Scratch<T> packed_a;
template <class T>
thread_local Scratch<T> packed_b;

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
  int64_t padded() const { return last + vectors(count - 1) * kLanes<T>; }
};

// The operands of a block as the tiles see them, packed or in place. A: a tile takes `height` rows, from
// data + i * step; element (i, p) of it is at i * row + p * k. B: the panel from column j on starts at data + j * step,
// row p of it at p * k, which is the width of the panel if packed.
template <class T>
struct Left {
  const T* data;
  int64_t step, row, k, height;
  bool packed;
};
template <class T>
struct Right {
  const T* data;
  int64_t step, k;
  bool packed;
};

// Rows of C times panels [first, end): C = alpha * A @ B + beta * C over `depth` of k.
template <class T>
void multiply(const Left<T>& a, const Right<T>& b, const Panels<T>& panels, int64_t first, int64_t end, int64_t rows,
              int64_t depth, T alpha, T beta, T* c, int64_t c_row, int64_t c_col) {
  constexpr int64_t lanes = kLanes<T>, buffer_row = kMaxVectors * lanes, line = 64 / sizeof(T);
  alignas(64) T buffer[kMostRows * buffer_row];  // for a C whose rows are not contiguous
  const bool in_place = c_col == 1;
  const auto whole = a.row == 1 ? &find_tile<T, Order::column_major, false> : &find_tile<T, Order::row_major, false>;
  const auto masked = a.row == 1 ? &find_tile<T, Order::column_major, true> : &find_tile<T, Order::row_major, true>;
  const int64_t tiles = ceil_div(rows, a.height);
  auto one = [&](int64_t tile, int64_t panel) {
    const int64_t i = tile * a.height, tile_rows = std::min(a.height, rows - i);
    const int64_t j = panels.start(panel), cols = panels.start(panel + 1) - j, vectors = ceil_div(cols, lanes);
    T* out = c + i * c_row + j * c_col;
    Tile<T> t{.k = depth, .a = a.data + i * a.step, .a_row = a.row, .a_k = a.k, .b = b.data + j * b.step,
              .b_k = b.packed ? vectors * lanes : b.k, .c = in_place ? out : buffer,
              .c_row = in_place ? c_row : buffer_row, .alpha = alpha, .beta = in_place ? beta : T(0),
              .last = cols - (vectors - 1) * lanes};
    if (a.packed && panel + 1 < end) {  // each tile fetches its share of the next panel of B
      t.ahead_lines = ceil_div(kSegment * panels.width, tiles * line), t.ahead_stride = line;
      t.ahead_step = t.ahead_lines * line;
      t.ahead = b.data + panels.start(panel + 1) * b.step + tile * t.ahead_step * ceil_div(depth, kSegment);
    } else if (!a.packed && a.k == 1 && panel == first && tile + 2 < tiles) {  // the next rows of A
      t.ahead_lines = a.height, t.ahead_stride = a.row, t.ahead_step = kSegment;
      t.ahead = t.a + a.height * a.step;
    }
    (t.last == lanes ? whole : masked)(tile_rows, vectors)(t);
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

// B[p..p + depth, panels begin..end) to dst, each panel of the width that it has.
template <class T>
void pack_panels(const Problem<T>& x, const Panels<T>& panels, int64_t p, int64_t depth, int64_t begin, int64_t end,
                 T* dst) {
  auto run = [&](int64_t t, int64_t t_end, int64_t width) {
    const int64_t j = panels.start(t);
    pack(x.b.data + p * x.b.row_stride + j * x.b.col_stride, x.b.col_stride, x.b.row_stride, panels.start(t_end) - j,
         depth, dst + j * depth, width);
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
  return std::min(x.m, x.n) >= (x.a.row_stride == 1 ? 192 : 640);
}
template <class T>
bool worth_packing_b(const Problem<T>& x) {
  if (x.b.col_stride != 1 || (!kFastMasks && x.n % kLanes<T> != 0)) return true;
  const int64_t bytes = x.k * x.n * int64_t{sizeof(T)};
  return x.m >= 96 && (bytes > 1 << 20 || (bytes > 1 << 18 && x.b.row_stride * int64_t{sizeof(T)} >= 4096));
}

template <class T>
void tiled(const Problem<T>& x) {
  constexpr int64_t lanes = kLanes<T>;
  const bool packs_a = worth_packing_a(x), packs_b = packs_a || worth_packing_b(x);
  const Panels<T> panels(x.n, std::min<int64_t>(packs_a ? kPackedVectors : kMaxVectors, ceil_div(x.n, lanes)));
  const int64_t height = kMaxRows[panels.width / lanes - 1], row_tiles = ceil_div(x.m, height);
  const int64_t padded = panels.padded(), depth = ceil_div(x.k, ceil_div(x.k, kDepth));

  // Blocks of C, cut until there are some for every thread; along rows if A is packed, which columns would repeat.
  const int64_t threads = get_num_threads();
  const int64_t tasks = threads == 1 ? 1 : std::min(4 * threads, x.m * x.n * x.k / kTaskWork);
  int64_t row_blocks = ceil_div(x.m, kBlockRows);
  int64_t col_blocks = packs_a ? 1 : std::min(panels.count, ceil_div(padded * depth * int64_t{sizeof(T)}, kBlockBytes));
  while (row_blocks * col_blocks < tasks && (row_blocks < row_tiles || col_blocks < panels.count)) {
    const bool tall = packs_a ? x.m > 64 * row_blocks : x.m * col_blocks >= x.n * row_blocks;
    ++((tall && row_blocks < row_tiles) || col_blocks == panels.count ? row_blocks : col_blocks);
  }

  // A round packs as much of B as kPackedBytes holds, in whole passes; without packing there is one round.
  const int64_t passes = std::max<int64_t>(1, kPackedBytes / (depth * padded * int64_t{sizeof(T)}));
  const int64_t round = packs_b ? std::min(passes * depth, x.k) : x.k;
  T* const packed = packs_b ? packed_b<T>.get(round * padded) : nullptr;
  for (int64_t start = 0; start < x.k; start += round) {
    const int64_t stop = std::min(x.k, start + round);
    auto each_pass = [&](auto body) {
      for (int64_t p = start; p < stop; p += depth) body(p, std::min(depth, stop - p), packed + (p - start) * padded);
    };
    if (packs_b) {
      const int64_t grain = std::max<int64_t>(1, kTaskWork / 4 / (round * panels.width));
      parallel_for(panels.count, grain, [&](int64_t begin, int64_t end) {
        each_pass([&](int64_t p, int64_t d, T* dst) { pack_panels(x, panels, p, d, begin, end, dst); });
      });
    }
    parallel_for(row_blocks * col_blocks, 1, [&](int64_t task, int64_t) {
      const Range rows(task % row_blocks, row_blocks, x.m, height), cols(task / row_blocks, col_blocks, panels.count, 1);
      const int64_t count = rows.size();
      each_pass([&](int64_t p, int64_t d, const T* b_packed) {
        const Right<T> b = packs_b ? Right<T>{b_packed, d, 0, true}
                                   : Right<T>{x.b.data + p * x.b.row_stride, 1, x.b.row_stride, false};
        Left<T> a{x.a.data + rows.begin * x.a.row_stride + p * x.a.col_stride, x.a.row_stride, x.a.row_stride,
                  x.a.col_stride, ceil_div(count, ceil_div(count, height)), false};
        if (packs_a) {
          T* dst = packed_a<T>.get(ceil_div(count, height) * height * depth);
          pack(a.data, a.row, a.k, count, d, dst, height);
          a = {dst, d, 1, height, height, true};
        }
        multiply(a, b, panels, cols.begin, cols.end, count, d, x.alpha, p == 0 ? x.beta : T(1),
                 x.c + rows.begin * x.c_row, x.c_row, x.c_col);
      });
    });
  }
}

// About how many cycles `tiled` takes with vectors along the columns of C, to compare it with the transposed problem.
template <class T>
double tiled_cost(const Problem<T>& x) {
  const double vectors = static_cast<double>(ceil_div(x.n, kLanes<T>));
  double cycles = 0.5 * static_cast<double>(x.m * x.k) * vectors;
  if (x.b.col_stride != 1) cycles += 0.2 * static_cast<double>(x.n * x.k);
  if (x.c_col != 1) cycles += 0.4 * static_cast<double>(x.m * x.n);
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
  const int64_t strips = ceil_div(x.n, kStrip);
  const int64_t grain = std::max<int64_t>(1, (kTaskWork >> 2) / (kStrip * x.k));
  parallel_for(strips, grain, [&](int64_t begin, int64_t end) {
    alignas(64) T sum[kStrip];
    for (int64_t strip = begin; strip < end; ++strip) {
      const int64_t start = strip * kStrip, cols = std::min(kStrip, x.n - start), a_step = x.a.col_stride,
                    b_step = x.b.row_stride;
      std::fill_n(sum, ceil_div(cols, kLanes<T>) * kLanes<T>, T(0));
      const T* b = x.b.data + start;
      int64_t p = 0;
      for (; p + 8 <= x.k; p += 8) add_rows<T, 8>(x.a.data + p * a_step, a_step, b + p * b_step, b_step, cols, sum);
      for (; p < x.k; ++p) add_rows<T, 1>(x.a.data + p * a_step, a_step, b + p * b_step, b_step, cols, sum);
      for (int64_t j = 0; j < cols; ++j) finish(x.c + (start + j) * x.c_col, sum[j], x.alpha, x.beta);
    }
  });
}

// Few rows; A row-major and B column-major.
template <class T>
void dot_products(const Problem<T>& x) {
  static constexpr auto tiles = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array{&dot_tile<T, i + 1>...};
  }(std::make_integer_sequence<int, kDotRows>{});
  const int64_t groups = ceil_div(x.n, 4);
  const int64_t grain = std::max<int64_t>(1, (kTaskWork >> 2) / (4 * x.m * x.k));
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

  if (x.m == 1 || x.n == 1) {
    if (x.m != 1) x = x.transposed();
    if (x.b.row_stride == 1 && x.b.col_stride != 1) {
      if (x.a.col_stride != 1) {
        T* copy = packed_a<T>.get(x.k);
        for (int64_t p = 0; p < x.k; ++p) copy[p] = x.a.data[p * x.a.col_stride];
        x.a.data = copy, x.a.col_stride = 1;
      }
      return dot_products(x);
    }
    if (x.b.col_stride == 1) return combine_rows(x);
  }
  const int64_t dot_rows = x.k >= 4 * kLanes<T> ? 4 * kDotRows : x.k >= kLanes<T> ? kDotRows : 0;
  if (x.a.col_stride == 1 && x.b.row_stride == 1 && std::min(x.m, x.n) <= dot_rows)
    return dot_products(x.m <= x.n ? x : x.transposed());
  const Problem<T> y = x.transposed();
  tiled(tiled_cost(y) < tiled_cost(x) ? y : x);
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
  if (batch < 4 * get_num_threads() && work > 4 * kTaskWork) return run(0, batch);
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
