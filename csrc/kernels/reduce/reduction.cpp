#include "kernels/reduce/reduction.h"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "core/parallel.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/reduce/reduce.h"

namespace genesis::kernels {
namespace {

constexpr int64_t kGatherColumns = 256;             // columns of a tile whose rows are gathered
constexpr int64_t kGathered = 16 * kGatherColumns;  // elements gathered at a time
constexpr int64_t kMaxChunks = 256;                 // maximum number of chunks of one reduction

struct Dim {
  int64_t size, x, y;  // x, y: strides in elements
};

struct Plan {
  int num_kept = 0, num_reduced = 0;
  int64_t outputs = 1, length = 1;  // length: elements per output
  Dim kept[kMaxDims], reduced[kMaxDims];

  Plan(const View& y, const View& x) {
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
    if (num_kept == 0) kept[num_kept++] = {1, 0, 0};
  }
  const Dim& row() const { return reduced[num_reduced - 1]; }
  const Dim& column() const { return kept[num_kept - 1]; }

 private:
  // Largest stride first. A stride of 0 (expanded) goes outermost, so that the inner memory is reread from the cache.
  static void add(Dim* dims, int& n, Dim dim) {
    const auto outer = [](const Dim& a, const Dim& b) { return a.x == 0 ? b.x != 0 : b.x != 0 && a.x > b.x; };
    int at = n++;
    for (; at > 0 && outer(dim, dims[at - 1]); --at) dims[at] = dims[at - 1];
    dims[at] = dim;
  }
  static void merge(Dim* dims, int& n) {
    int last = 0;
    for (int d = 1; d < n; ++d) {
      if (dims[last].x == dims[d].x * dims[d].size && dims[last].y == dims[d].y * dims[d].size)
        dims[last] = {dims[last].size * dims[d].size, dims[d].x, dims[d].y};
      else dims[++last] = dims[d];
    }
    if (n > 0) n = last + 1;
  }
};

// Iterates over the indices of some dimensions in order and tracks the offsets into x and y.
class Walk {
 public:
  Walk(const Dim* dims, int n, int64_t at) : dims_(dims), n_(n) {
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
  const Dim* dims_;
  int n_;
  int64_t index_[kMaxDims];
};

// Elements in the dtype of the reduction, read in place or through a buffer.
class Source {
 public:
  Source(const View& x, DType wanted, int64_t stride)
      : data_(static_cast<const char*>(x.data)),
        item_(itemsize(x.dtype)),
        stride_(stride),
        from_(x.dtype),
        to_(wanted),
        direct_(x.dtype == wanted && stride == 1) {}
  bool direct() const { return direct_; }
  const void* at(int64_t offset) const { return data_ + offset * item_; }
  void read(void* buffer, int64_t offset, int64_t n) const {
    gather(buffer, to_, at(offset), stride_ * item_, from_, n);
  }
  // Copies lines of n elements, `step` apart, to contiguous memory.
  void read_lines(void* buffer, int64_t offset, int64_t lines, int64_t step, int64_t n) const {
    if (stride_ == 1 && step == n) return read(buffer, offset, lines * n);
    char* to = static_cast<char*>(buffer);
    for (int64_t i = 0; i < lines; ++i) read(to + i * n * itemsize(to_), offset + i * step, n);
  }

 private:
  const char* data_;
  int64_t item_, stride_;
  DType from_, to_;
  bool direct_;
};

// Contiguous accumulators.
class Accs {
 public:
  Accs(const Reduction& r, int64_t count)
      : bytes_(r.acc_bytes), data_(std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(count * bytes_))) {}
  void* operator[](int64_t i) const { return data_.get() + i * bytes_; }

 private:
  int64_t bytes_;
  std::unique_ptr<std::byte[]> data_;
};

// How many blocks, of `block` elements, a chunk of a reduction of `length` elements has.
int64_t blocks_of_chunk(int64_t length, int64_t block, int64_t blocks) {
  if (length <= kLightGrain) return blocks;
  return std::max(ceil_div(kLightGrain, block), ceil_div(blocks, kMaxChunks));
}

// A reduced dimension is innermost: outputs process blocks of rows. If there are few, long reductions, they are split
// into chunks of complete blocks.
class RowReduction {
 public:
  RowReduction(const Reduction& r, const Plan& plan, const View& x)
      : r_(r),
        plan_(plan),
        row_(plan.row()),
        source_(x, r.dtype, row_.x),
        block_(source_.direct() ? kBlock : kTile),
        pieces_(ceil_div(row_.size, block_)),
        blocks_(plan.length / row_.size * pieces_),
        chunk_(blocks_) {
    if (plan.outputs < 64) chunk_ = blocks_of_chunk(plan.length, std::min(row_.size, block_), blocks_);
    chunks_ = ceil_div(blocks_, chunk_);
  }

  void run() const {
    if (chunks_ > 1) return in_chunks();
    const int64_t grain = std::max<int64_t>(1, kLightGrain / plan_.length);
    parallel_for(plan_.outputs, grain, [&](int64_t begin, int64_t end) {
      if (blocks_ == 1) single_blocks(begin, end);
      else many_blocks(begin, end);
    });
  }

 private:
  // Blocks [begin, end) of the output whose elements start at `base`.
  void accumulate(void* acc, int64_t base, int64_t begin, int64_t end) const {
    alignas(64) std::byte buffer[kTile * sizeof(int64_t)];
    r_.start(acc, 1);
    Walk outer(plan_.reduced, plan_.num_reduced - 1, begin / pieces_);
    int64_t piece = begin % pieces_;
    Pace pace;
    for (int64_t b = begin; b < end; ++b, pace.spend(block_)) {
      const int64_t first = piece * block_, n = std::min(block_, row_.size - first);
      const int64_t offset = base + outer.x + first * row_.x;
      if (source_.direct()) {
        r_.add(acc, source_.at(offset), n, first);
      } else {
        source_.read(buffer, offset, n);
        r_.add(acc, buffer, n, first);
      }
      if (++piece == pieces_) {
        piece = 0;
        outer.next();
      }
    }
  }

  // Outputs [begin, end), which consist of one block each: several per call.
  void single_blocks(int64_t begin, int64_t end) const {
    alignas(64) std::byte buffer[kTile * sizeof(int64_t)];
    const Dim& inner = plan_.column();
    for (int64_t k = begin; k < end;) {
      const Walk kept(plan_.kept, plan_.num_kept, k);
      int64_t outputs = std::min(end - k, inner.size - k % inner.size);
      if (source_.direct()) {
        r_.whole(source_.at(kept.x), row_.size, outputs, inner.x, kept.y, inner.y);
      } else {
        outputs = std::min(outputs, kTile / row_.size);
        source_.read_lines(buffer, kept.x, outputs, inner.x, row_.size);
        r_.whole(buffer, row_.size, outputs, row_.size, kept.y, inner.y);
      }
      k += outputs;
    }
  }

  void many_blocks(int64_t begin, int64_t end) const {
    alignas(64) std::byte acc[kMostAcc];
    Walk kept(plan_.kept, plan_.num_kept, begin);
    for (int64_t k = begin; k < end; ++k, kept.next()) {
      accumulate(acc, kept.x, 0, blocks_);
      r_.store(acc, 1, kept.y, 0);
    }
  }

  // Threads divide the chunks of an output; the partial results are merged in order.
  void in_chunks() const {
    const Accs partial(r_, plan_.outputs * chunks_);
    parallel_for(plan_.outputs * chunks_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u) {
        const Walk kept(plan_.kept, plan_.num_kept, u / chunks_);
        const int64_t from = u % chunks_ * chunk_;
        accumulate(partial[u], kept.x, from, std::min(blocks_, from + chunk_));
      }
    });
    Walk kept(plan_.kept, plan_.num_kept, 0);
    for (int64_t k = 0; k < plan_.outputs; ++k, kept.next()) {
      void* const total = partial[k * chunks_];
      for (int64_t c = 1; c < chunks_; ++c) r_.merge(total, partial[k * chunks_ + c], 1);
      r_.store(total, 1, kept.y, 0);
    }
  }

  const Reduction& r_;
  const Plan& plan_;
  const Dim& row_;
  Source source_;
  int64_t block_, pieces_;           // elements per block; blocks per row
  int64_t blocks_, chunk_, chunks_;  // blocks per output; blocks per chunk; chunks per output
};

// A kept dimension is innermost: a tile of adjacent outputs accumulates complete rows. If there are few outputs, the
// rows are split into chunks.
class ColumnReduction {
 public:
  ColumnReduction(const Reduction& r, const Plan& plan, const View& x)
      : r_(r),
        plan_(plan),
        row_(plan.row()),
        column_(plan.column()),
        source_(x, r.dtype, column_.x),
        width_(source_.direct() ? kColumns : kGatherColumns),
        tiles_(ceil_div(column_.size, width_)),
        outer_(plan.outputs / column_.size),
        chunk_(plan.length) {
    if (r.folds && source_.direct() && column_.size <= kColumns / 16 && row_.x == column_.size)
      fold_ = std::min(kColumns / 2 / column_.size, row_.size);
    if (outer_ * tiles_ < 32 && plan.outputs * plan.length > kLightGrain) {
      chunk_ = std::max(ceil_div(2 * kLightGrain, std::min(width_, column_.size)), ceil_div(plan.length, kMaxChunks));
      chunk_ = std::min(plan.length, ceil_div(chunk_, fold_) * fold_);
    }
    chunks_ = ceil_div(plan.length, chunk_);
  }

  void run() const {
    const Accs partial(r_, chunks_ > 1 ? outer_ * column_.size * chunks_ : 0);
    const int64_t units = outer_ * tiles_ * chunks_, per_unit = chunk_ * std::min(width_, column_.size);
    parallel_for(units, std::max<int64_t>(1, kLightGrain / per_unit), [&](int64_t begin, int64_t end) {
      for (int64_t u = begin; u < end; ++u) unit(u, partial);
    });
    if (chunks_ > 1) merge(partial);
  }

 private:
  // One chunk of one tile.
  void unit(int64_t u, const Accs& partial) const {
    const int64_t c = u % chunks_, t = u / chunks_ % tiles_, k = u / chunks_ / tiles_;
    const Walk kept(plan_.kept, plan_.num_kept - 1, k);
    const int64_t first = t * width_, n = std::min(width_, column_.size - first);
    const int64_t from = c * chunk_, to = std::min(plan_.length, from + chunk_);
    if (chunks_ > 1) {
      accumulate(partial[(k * chunks_ + c) * column_.size + first], kept.x + first * column_.x, n, from, to);
    } else {
      alignas(64) std::byte result[kColumns * kMostAcc];
      accumulate(result, kept.x + first * column_.x, n, from, to);
      r_.store(result, n, kept.y + first * column_.y, column_.y);
    }
  }

  // Rows [begin, end) of the columns starting at `offset`.
  void accumulate(void* result, int64_t offset, int64_t columns, int64_t begin, int64_t end) const {
    alignas(64) std::byte tile[kMostTile];
    alignas(64) std::byte rest[kMostTile];  // for rows that folding leaves over
    alignas(64) std::byte buffer[kGathered * sizeof(int64_t)];
    r_.start_tile(tile, columns * fold_);
    bool any_rest = false;
    Pace pace;
    while (begin < end) {
      const Walk at(plan_.reduced, plan_.num_reduced - 1, begin / row_.size);
      const int64_t first = begin % row_.size;
      int64_t rows = std::min(end - begin, row_.size - first);
      const int64_t from = offset + at.x + first * row_.x;
      if (!source_.direct()) {
        rows = std::min({rows, kGathered / columns, kRowBlock});
        source_.read_lines(buffer, from, rows, row_.x, columns);
        r_.add_rows(tile, buffer, columns, rows, columns, first);
      } else if (fold_ == 1) {
        rows = std::min(rows, kRowBlock);
        r_.add_rows(tile, source_.at(from), row_.x, rows, columns, first);
      } else if (const int64_t folded = std::min(rows / fold_, kRowBlock); folded > 0) {
        r_.add_rows(tile, source_.at(from), fold_ * row_.x, folded, fold_ * columns, first);
        rows = folded * fold_;
      } else {
        if (!any_rest) r_.start_tile(rest, columns);
        any_rest = true;
        r_.add_rows(rest, source_.at(from), row_.x, rows, columns, first);
      }
      begin += rows;
      pace.spend(rows * columns);
    }
    r_.finish_tile(tile, result, columns, fold_);
    if (any_rest) {
      r_.finish_tile(rest, buffer, columns, 1);
      r_.merge(result, buffer, columns);
    }
  }

  // Merges the chunks in order.
  void merge(const Accs& partial) const {
    for (int64_t k = 0; k < outer_; ++k) {
      const Walk kept(plan_.kept, plan_.num_kept - 1, k);
      void* const total = partial[k * chunks_ * column_.size];
      for (int64_t c = 1; c < chunks_; ++c) r_.merge(total, partial[(k * chunks_ + c) * column_.size], column_.size);
      r_.store(total, column_.size, kept.y, column_.y);
    }
  }

  const Reduction& r_;
  const Plan& plan_;
  const Dim &row_, &column_;
  Source source_;
  int64_t width_, tiles_, outer_;  // columns per tile; tiles per row of outputs; number of such rows
  int64_t chunk_, chunks_;         // rows per chunk; chunks per output
  // With few columns, this many contiguous rows are processed as one long row, whose parts are merged at the end.
  int64_t fold_ = 1;
};

}  // namespace

static_assert(kSumBlock == kBlock);
SumCut::SumCut(int64_t n) {
  const int64_t blocks = ceil_div(n, kBlock);
  chunk = blocks_of_chunk(n, std::min(n, kBlock), blocks) * kBlock;
  chunks = ceil_div(n, chunk);
}

void reduce(const Reduction& r, const View& y, const View& x) {
  const Plan plan(y, x);
  if (plan.outputs == 0 || plan.length == 0) return;
  const Dim &column = plan.column(), &row = plan.row();
  const bool inner = column.x != 0 && (row.x == 0 || column.x < row.x);
  const bool folds = r.folds && column.x == 1 && row.x == column.size;
  if (inner && (column.size >= 8 || folds || plan.length < 8)) ColumnReduction(r, plan, x).run();
  else RowReduction(r, plan, x).run();
}

}  // namespace genesis::kernels
