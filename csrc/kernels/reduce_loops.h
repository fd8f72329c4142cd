// The loops under every reduction. Part of the kernel files that are compiled per instruction set.
//
// A reducer says how elements are accumulated; this file walks the shapes. It sorts dimensions by stride, merges what is
// contiguous, and then goes one of two ways:
// - rows: a reduced dimension runs fastest. Each output takes its elements in blocks of contiguous memory.
// - columns: a kept dimension runs fastest. A tile of neighbouring outputs accumulates whole rows at a time.
// Elements that are strided or of another dtype are gathered into a small buffer first.
//
// A reducer r has
//   In                          the type in which elements are read; r.dtype is its DType
//   Acc                         what is known of some elements; Acc{} of none
//   r.add(acc, x, n, first)     takes in n contiguous elements, the `first` of the reduced dimension and those after it
//   r.merge(acc, later)         takes in another Acc, of later elements
//   r.store(acc, at)            writes output number `at`
//   Tile                        accumulators of up to kColumns outputs: Tile(), rows(r, x, stride, rows, columns, first),
//                               get(j) -> Acc
//   kFolds                      whether elements may be taken in any order
// Work is cut by shape alone, and partial results are merged in order, so the number of threads does not show.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/parallel.h"
#include "kernels/convert.h"
#include "kernels/elementwise.h"
#include "kernels/kernel.h"

namespace genesis::kernels::GENESIS_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif
template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
[[gnu::always_inline]] inline Vector<T> load(const T* p) {
  Vector<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
[[gnu::always_inline]] inline void store(T* p, Vector<T> v) {
  std::memcpy(p, &v, sizeof v);
}

inline constexpr int64_t kBlock = 4096;       // most elements in one add()
inline constexpr int64_t kRowBlock = 256;     // most rows in one Tile::rows()
inline constexpr int64_t kColumns = 512;      // outputs in a tile
inline constexpr int64_t kGatherRows = 16;    // rows of a tile that are gathered at a time
inline constexpr int64_t kGatherColumns = 256;
inline constexpr int64_t kUnit = 32768;       // elements that are worth a thread
inline constexpr int64_t kMaxChunks = 256;    // pieces that one reduction is cut into

// Where results go: `at` counts elements from the first.
struct Output {
  char* data;
  DType dtype;
  explicit Output(const View& v) : data(static_cast<char*>(v.data)), dtype(v.dtype) {}
  explicit operator bool() const { return data != nullptr; }
  template <class T>
  [[gnu::always_inline]] void put(int64_t at, T value) const {
    if (dtype == dtype_of<T>) reinterpret_cast<T*>(data)[at] = value;
    else scatter(data + at * itemsize(dtype), 0, dtype, &value, dtype_of<T>, 1);
  }
};

struct ReduceDim {
  int64_t size, x, y;  // strides in elements
};

struct ReducePlan {
  int num_kept = 0, num_reduced = 0;
  int64_t outputs = 1, length = 1;  // length: elements for each output
  ReduceDim kept[kMaxDims], reduced[kMaxDims];

  ReducePlan(const View& y, const View& x) {
    for (int d = 0; d < x.ndim; ++d) {
      if (x.shape[d] == 1) continue;
      if (y.shape[d] == 1) {
        add(reduced, num_reduced, {x.shape[d], x.strides[d], 0});
        length *= x.shape[d];
      } else {
        add(kept, num_kept, {x.shape[d], x.strides[d], y.strides[d]});
        outputs *= x.shape[d];
      }
    }
    merge(kept, num_kept);
    merge(reduced, num_reduced);
    if (num_reduced == 0) reduced[num_reduced++] = {1, 1, 0};
  }

 private:
  // Largest stride first. A stride of 0 (expanded) goes outermost: the memory inside is then read over and over.
  static void add(ReduceDim* dims, int& n, ReduceDim dim) {
    const auto outer = [](const ReduceDim& a, const ReduceDim& b) { return a.x == 0 ? b.x != 0 : b.x != 0 && a.x > b.x; };
    int at = n++;
    for (; at > 0 && outer(dim, dims[at - 1]); --at) dims[at] = dims[at - 1];
    dims[at] = dim;
  }
  static void merge(ReduceDim* dims, int& n) {
    int last = 0;
    for (int d = 1; d < n; ++d) {
      if (dims[last].x == dims[d].x * dims[d].size && dims[last].y == dims[d].y * dims[d].size)
        dims[last] = {dims[last].size * dims[d].size, dims[d].x, dims[d].y};
      else
        dims[++last] = dims[d];
    }
    if (n > 0) n = last + 1;
  }
};

// Goes through the indices of some dimensions in order, keeping the offsets into x and y.
class Walk {
 public:
  Walk(const ReduceDim* dims, int n, int64_t at) : dims_(dims), n_(n) {
    for (int d = n - 1; d >= 0; --d) {
      index_[d] = at % dims[d].size;
      at /= dims[d].size;
      x += index_[d] * dims[d].x;
      y += index_[d] * dims[d].y;
    }
  }
  void next() {
    for (int d = n_ - 1; d >= 0; --d) {
      x += dims_[d].x;
      y += dims_[d].y;
      if (++index_[d] < dims_[d].size) return;
      x -= dims_[d].size * dims_[d].x;
      y -= dims_[d].size * dims_[d].y;
      index_[d] = 0;
    }
  }
  int64_t x = 0, y = 0;

 private:
  const ReduceDim* dims_;
  int n_;
  int64_t index_[kMaxDims];
};

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Elements of type In, read from where they lie or through a buffer.
template <class In>
class Source {
 public:
  Source(const View& x, DType wanted, int64_t stride)
      : data_(static_cast<const char*>(x.data)), item_(itemsize(x.dtype)), stride_(stride), from_(x.dtype), to_(wanted),
        direct_(x.dtype == wanted && stride == 1) {}
  bool direct() const { return direct_; }
  const In* at(int64_t offset) const { return reinterpret_cast<const In*>(data_ + offset * item_); }
  void read(In* buffer, int64_t offset, int64_t n) const {
    gather(buffer, to_, data_ + offset * item_, stride_ * item_, from_, n);
  }

 private:
  const char* data_;
  int64_t item_, stride_;
  DType from_, to_;
  bool direct_;
};

template <class R>
void reduce_rows(const R& r, const ReducePlan& plan, const View& x) {
  using In = typename R::In;
  using Acc = typename R::Acc;
  const ReduceDim& row = plan.reduced[plan.num_reduced - 1];
  const Source<In> source(x, r.dtype, row.x);
  const int64_t block = source.direct() ? kBlock : kTile;
  const int64_t pieces = ceil_div(row.size, block);  // of a row
  const int64_t blocks = plan.length / row.size * pieces;
  // A reduction that is long while there are few of them is cut into chunks of whole blocks.
  int64_t chunk = blocks;
  if (plan.outputs < 64 && plan.length > kUnit) {
    const int64_t per_block = std::min(row.size, block);
    chunk = std::max(ceil_div(kUnit, per_block), ceil_div(blocks, kMaxChunks));
  }
  const int64_t chunks = ceil_div(blocks, chunk);

  const auto accumulate = [&](Acc& acc, int64_t base, int64_t begin, int64_t end) {
    alignas(64) In buffer[kTile];
    Walk outer(plan.reduced, plan.num_reduced - 1, begin / pieces);
    int64_t piece = begin % pieces;
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = piece * block, n = std::min(block, row.size - first);
      const int64_t offset = base + outer.x + first * row.x;
      if (source.direct()) {
        r.add(acc, source.at(offset), n, first);
      } else {
        source.read(buffer, offset, n);
        r.add(acc, buffer, n, first);
      }
      if (++piece == pieces) {
        piece = 0;
        outer.next();
      }
    }
  };

  if (chunks == 1) {
    const int64_t grain = std::max<int64_t>(1, kUnit / plan.length);
    parallel_for(plan.outputs, grain, [&](int64_t begin, int64_t end) {
      Walk kept(plan.kept, plan.num_kept, begin);
      const bool plain = source.direct() && blocks == 1;
      for (int64_t k = begin; k < end; ++k, kept.next()) {
        Acc acc{};
        if (plain) r.add(acc, source.at(kept.x), row.size, 0);
        else accumulate(acc, kept.x, 0, blocks);
        r.store(acc, kept.y);
      }
    });
    return;
  }
  std::vector<Acc> partial(static_cast<size_t>(plan.outputs * chunks));
  parallel_for(plan.outputs * chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      const Walk kept(plan.kept, plan.num_kept, u / chunks);
      const int64_t from = u % chunks * chunk;
      Acc acc{};
      accumulate(acc, kept.x, from, std::min(blocks, from + chunk));
      partial[static_cast<size_t>(u)] = acc;
    }
  });
  Walk kept(plan.kept, plan.num_kept, 0);
  for (int64_t k = 0; k < plan.outputs; ++k, kept.next()) {
    Acc* acc = &partial[static_cast<size_t>(k * chunks)];
    for (int64_t c = 1; c < chunks; ++c) r.merge(acc[0], acc[c]);
    r.store(acc[0], kept.y);
  }
}

template <class R>
void reduce_columns(const R& r, const ReducePlan& plan, const View& x) {
  using In = typename R::In;
  using Acc = typename R::Acc;
  const ReduceDim& column = plan.kept[plan.num_kept - 1];
  const ReduceDim& row = plan.reduced[plan.num_reduced - 1];
  const Source<In> source(x, r.dtype, column.x);
  // Few columns: several rows that follow each other in memory count as one long row, whose parts are merged at the end.
  const bool folds = R::kFolds && source.direct() && column.size <= kColumns / 16 && row.x == column.size;
  const int64_t fold = folds ? std::min(kColumns / 2 / column.size, row.size) : 1;
  const int64_t width = source.direct() ? kColumns : kGatherColumns;
  const int64_t tiles = ceil_div(column.size, width);
  const int64_t outer = plan.outputs / column.size;

  int64_t chunk = plan.length;  // rows
  if (outer * tiles < 32 && plan.outputs * plan.length > kUnit) {
    chunk = std::max(ceil_div(2 * kUnit, std::min(width, column.size)), ceil_div(plan.length, kMaxChunks));
    chunk = std::min(plan.length, ceil_div(chunk, fold) * fold);
  }
  const int64_t chunks = ceil_div(plan.length, chunk);
  const int64_t units = outer * tiles * chunks;
  const int64_t per_unit = chunk * std::min(width, column.size);

  // Rows [begin, end) of the columns from `offset` on.
  const auto accumulate = [&](Acc* result, int64_t offset, int64_t columns, int64_t begin, int64_t end) {
    alignas(64) In buffer[kGatherRows * kGatherColumns];
    typename R::Tile tile;
    typename R::Tile rest;  // rows left over by folding
    bool any_rest = false;
    while (begin < end) {
      const Walk at(plan.reduced, plan.num_reduced - 1, begin / row.size);
      const int64_t first = begin % row.size;
      int64_t rows = std::min(end - begin, row.size - first);
      const int64_t from = offset + at.x + first * row.x;
      if (!source.direct()) {
        rows = std::min(rows, kGatherRows);
        for (int64_t i = 0; i < rows; ++i) source.read(buffer + i * kGatherColumns, from + i * row.x, columns);
        tile.rows(r, buffer, kGatherColumns, rows, columns, first);
      } else if (fold > 1) {
        const int64_t folded = std::min(rows / fold, kRowBlock);
        if (folded > 0) {
          tile.rows(r, source.at(from), fold * row.x, folded, fold * columns, first);
          rows = folded * fold;
        } else {
          rest.rows(r, source.at(from), row.x, rows, columns, first);
          any_rest = true;
        }
      } else {
        rows = std::min(rows, kRowBlock);
        tile.rows(r, source.at(from), row.x, rows, columns, first);
      }
      begin += rows;
    }
    for (int64_t j = 0; j < columns; ++j) {
      result[j] = tile.get(j);
      for (int64_t i = 1; i < fold; ++i) r.merge(result[j], tile.get(i * columns + j));
      if (any_rest) r.merge(result[j], rest.get(j));
    }
  };

  std::vector<Acc> partial(chunks > 1 ? static_cast<size_t>(outer * column.size * chunks) : 0);
  parallel_for(units, std::max<int64_t>(1, kUnit / per_unit), [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      const int64_t c = u % chunks, t = u / chunks % tiles, k = u / chunks / tiles;
      const Walk kept(plan.kept, plan.num_kept - 1, k);
      const int64_t first = t * width, n = std::min(width, column.size - first);
      const int64_t from = c * chunk, to = std::min(plan.length, from + chunk);
      if (chunks > 1) {
        Acc* result = &partial[static_cast<size_t>((k * chunks + c) * column.size + first)];
        accumulate(result, kept.x + first * column.x, n, from, to);
      } else {
        Acc result[kColumns];
        accumulate(result, kept.x + first * column.x, n, from, to);
        for (int64_t j = 0; j < n; ++j) r.store(result[j], kept.y + (first + j) * column.y);
      }
    }
  });
  if (chunks == 1) return;
  for (int64_t k = 0; k < outer; ++k) {
    const Walk kept(plan.kept, plan.num_kept - 1, k);
    Acc* total = &partial[static_cast<size_t>(k * chunks * column.size)];
    for (int64_t c = 1; c < chunks; ++c)
      for (int64_t j = 0; j < column.size; ++j) r.merge(total[j], total[c * column.size + j]);
    for (int64_t j = 0; j < column.size; ++j) r.store(total[j], kept.y + j * column.y);
  }
}

template <class R>
void reduce(const R& r, const View& y, const View& x) {
  const ReducePlan plan(y, x);
  if (plan.outputs == 0 || plan.length == 0) return;
  if (plan.num_kept > 0) {
    const ReduceDim& column = plan.kept[plan.num_kept - 1];
    const ReduceDim& row = plan.reduced[plan.num_reduced - 1];
    const bool inner = column.x != 0 && (row.x == 0 || column.x < row.x);
    const bool folds = R::kFolds && column.x == 1 && row.x == column.size;
    if (inner && (column.size >= 8 || folds || plan.length < 8)) return reduce_columns(r, plan, x);
  }
  reduce_rows(r, plan, x);
}

// ---- reducers made of one associative operation -------------------------------------------------------------------
//
// An operation M has In; Lane, in which up to a block is accumulated; Acc, in which blocks are; kStart, which changes
// nothing; map(x), op(a, b) on numbers and on vectors of them.
template <class M>
class Monoid {
 public:
  using In = typename M::In;
  using Lane = typename M::Lane;
  struct Acc {
    typename M::Acc value = M::kStart;
  };
  static constexpr bool kFolds = true;

  // Not inlined, as Tile::rows is not: each is called from several places, and compiles slowly.
  [[gnu::noinline]] static Lane block(const In* x, int64_t n) {
    constexpr int w = kLanes<Lane>;
    Lane total = M::kStart;
    int64_t i = 0;
    if constexpr (sizeof(In) == sizeof(Lane)) {
      if (n >= w) {
        Vector<Lane> a = vector(x), b = spread(), c = b, d = b, e = b, f = b, g = b, h = b;
        i = w;
        for (; i + 8 * w <= n; i += 8 * w) {
          a = M::op(a, vector(x + i));
          b = M::op(b, vector(x + i + w));
          c = M::op(c, vector(x + i + 2 * w));
          d = M::op(d, vector(x + i + 3 * w));
          e = M::op(e, vector(x + i + 4 * w));
          f = M::op(f, vector(x + i + 5 * w));
          g = M::op(g, vector(x + i + 6 * w));
          h = M::op(h, vector(x + i + 7 * w));
        }
        for (; i + w <= n; i += w) b = M::op(b, vector(x + i));
        a = M::op(M::op(M::op(a, b), M::op(c, d)), M::op(M::op(e, f), M::op(g, h)));
        Lane lanes[w];
        std::memcpy(lanes, &a, sizeof a);
        for (int half = w / 2; half > 0; half /= 2)
          for (int j = 0; j < half; ++j) lanes[j] = M::op(lanes[j], lanes[j + half]);
        total = lanes[0];
      }
    }
    for (; i < n; ++i) total = M::op(total, M::map(static_cast<Lane>(x[i])));
    return total;
  }

  void add(Acc& acc, const In* x, int64_t n, int64_t) const { acc.value = M::op(acc.value, wide(block(x, n))); }
  void merge(Acc& acc, const Acc& later) const { acc.value = M::op(acc.value, later.value); }

  struct Tile {
    alignas(64) typename M::Acc total[kColumns];
    Tile() { std::fill_n(total, kColumns, typename M::Acc(M::kStart)); }
    Acc get(int64_t j) const { return {total[j]}; }
    template <class R>
    [[gnu::noinline]] void rows(const R&, const In* x, int64_t stride, int64_t rows, int64_t columns, int64_t) {
      alignas(64) Lane lane[kColumns];
      for (int64_t j = 0; j < columns; ++j) lane[j] = M::map(static_cast<Lane>(x[j]));
      int64_t i = 1;
      for (; i + 4 <= rows; i += 4) {
        const In *x0 = x + i * stride, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
#pragma GCC ivdep
        for (int64_t j = 0; j < columns; ++j) {
          const Lane a = M::op(M::map(static_cast<Lane>(x0[j])), M::map(static_cast<Lane>(x1[j])));
          const Lane b = M::op(M::map(static_cast<Lane>(x2[j])), M::map(static_cast<Lane>(x3[j])));
          lane[j] = M::op(lane[j], M::op(a, b));
        }
      }
      for (; i < rows; ++i) {
        const In* x0 = x + i * stride;
#pragma GCC ivdep
        for (int64_t j = 0; j < columns; ++j) lane[j] = M::op(lane[j], M::map(static_cast<Lane>(x0[j])));
      }
      for (int64_t j = 0; j < columns; ++j) total[j] = M::op(total[j], wide(lane[j]));
    }
  };

 private:
  static typename M::Acc wide(Lane v) { return static_cast<typename M::Acc>(v); }
  static Vector<Lane> spread() { return Vector<Lane>{} + Lane(M::kStart); }
  static Vector<Lane> vector(const In* x) { return M::map(load(reinterpret_cast<const Lane*>(x))); }
};

}  // namespace genesis::kernels::GENESIS_ISA
