#include "kernels/reduce/reduction.h"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "core/parallel.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/elementwise.h"

namespace genesis::kernels {
namespace {

constexpr int64_t kGatherColumns = 256;             // of a tile whose rows are gathered
constexpr int64_t kGathered = 16 * kGatherColumns;  // elements that are gathered at a time
constexpr int64_t kMaxChunks = 256;                 // pieces that one reduction is cut into

struct Dim {
  int64_t size, x, y;  // strides in elements
};

struct Plan {
  int num_kept = 0, num_reduced = 0;
  int64_t outputs = 1, length = 1;  // length: elements for each output
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
  // Largest stride first. A stride of 0 (expanded) goes outermost: the memory inside is then read over and over.
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

// Goes through the indices of some dimensions in order, keeping the offsets into x and y.
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

// Elements as the reduction wants them, read from where they lie or through a buffer.
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
  // Lines of n elements, `step` apart, to lie one after another.
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

// Accumulators that lie one after another.
class Accs {
 public:
  Accs(const Reduction& r, int64_t count)
      : bytes_(r.acc_bytes), data_(std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(count * bytes_))) {}
  void* operator[](int64_t i) const { return data_.get() + i * bytes_; }

 private:
  int64_t bytes_;
  std::unique_ptr<std::byte[]> data_;
};

void reduce_rows(const Reduction& r, const Plan& plan, const View& x) {
  const Dim &row = plan.row(), &inner = plan.column();
  const Source source(x, r.dtype, row.x);
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

  const auto accumulate = [&](void* acc, int64_t base, int64_t begin, int64_t end) {
    alignas(64) std::byte buffer[kTile * sizeof(int64_t)];
    r.start(acc, 1);
    Walk outer(plan.reduced, plan.num_reduced - 1, begin / pieces);
    int64_t piece = begin % pieces;
    Pace pace;
    for (int64_t b = begin; b < end; ++b, pace.spend(block)) {
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
      if (blocks == 1) {
        alignas(64) std::byte buffer[kTile * sizeof(int64_t)];
        for (int64_t k = begin; k < end;) {
          const Walk kept(plan.kept, plan.num_kept, k);
          int64_t outputs = std::min(end - k, inner.size - k % inner.size);
          if (source.direct()) {
            r.whole(source.at(kept.x), row.size, outputs, inner.x, kept.y, inner.y);
          } else {
            outputs = std::min(outputs, kTile / row.size);
            source.read_lines(buffer, kept.x, outputs, inner.x, row.size);
            r.whole(buffer, row.size, outputs, row.size, kept.y, inner.y);
          }
          k += outputs;
        }
        return;
      }
      alignas(64) std::byte acc[kMostAcc];
      Walk kept(plan.kept, plan.num_kept, begin);
      for (int64_t k = begin; k < end; ++k, kept.next()) {
        accumulate(acc, kept.x, 0, blocks);
        r.store(acc, 1, kept.y, 0);
      }
    });
    return;
  }
  const Accs partial(r, plan.outputs * chunks);
  parallel_for(plan.outputs * chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      const Walk kept(plan.kept, plan.num_kept, u / chunks);
      const int64_t from = u % chunks * chunk;
      accumulate(partial[u], kept.x, from, std::min(blocks, from + chunk));
    }
  });
  Walk kept(plan.kept, plan.num_kept, 0);
  for (int64_t k = 0; k < plan.outputs; ++k, kept.next()) {
    void* const total = partial[k * chunks];
    for (int64_t c = 1; c < chunks; ++c) r.merge(total, partial[k * chunks + c], 1);
    r.store(total, 1, kept.y, 0);
  }
}

void reduce_columns(const Reduction& r, const Plan& plan, const View& x) {
  const Dim &row = plan.row(), &column = plan.column();
  const Source source(x, r.dtype, column.x);
  // Few columns: several rows that follow each other in memory count as one long row, whose parts are merged at the
  // end.
  const bool folds = r.folds && source.direct() && column.size <= kColumns / 16 && row.x == column.size;
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
  const auto accumulate = [&](void* result, int64_t offset, int64_t columns, int64_t begin, int64_t end) {
    alignas(64) std::byte tile[kMostTile];
    alignas(64) std::byte rest[kMostTile];  // of rows left over by folding
    alignas(64) std::byte buffer[kGathered * sizeof(int64_t)];
    r.start_tile(tile);
    bool any_rest = false;
    Pace pace;
    while (begin < end) {
      const Walk at(plan.reduced, plan.num_reduced - 1, begin / row.size);
      const int64_t first = begin % row.size;
      int64_t rows = std::min(end - begin, row.size - first);
      const int64_t from = offset + at.x + first * row.x;
      if (!source.direct()) {
        rows = std::min({rows, kGathered / columns, kRowBlock});
        source.read_lines(buffer, from, rows, row.x, columns);
        r.add_rows(tile, buffer, columns, rows, columns, first);
      } else if (fold > 1) {
        const int64_t folded = std::min(rows / fold, kRowBlock);
        if (folded > 0) {
          r.add_rows(tile, source.at(from), fold * row.x, folded, fold * columns, first);
          rows = folded * fold;
        } else {
          if (!any_rest) r.start_tile(rest);
          any_rest = true;
          r.add_rows(rest, source.at(from), row.x, rows, columns, first);
        }
      } else {
        rows = std::min(rows, kRowBlock);
        r.add_rows(tile, source.at(from), row.x, rows, columns, first);
      }
      begin += rows;
      pace.spend(rows * columns);
    }
    r.finish_tile(tile, result, columns, fold);
    if (any_rest) {
      r.finish_tile(rest, buffer, columns, 1);
      r.merge(result, buffer, columns);
    }
  };

  const Accs partial(r, chunks > 1 ? outer * column.size * chunks : 0);
  parallel_for(units, std::max<int64_t>(1, kUnit / per_unit), [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      const int64_t c = u % chunks, t = u / chunks % tiles, k = u / chunks / tiles;
      const Walk kept(plan.kept, plan.num_kept - 1, k);
      const int64_t first = t * width, n = std::min(width, column.size - first);
      const int64_t from = c * chunk, to = std::min(plan.length, from + chunk);
      if (chunks > 1) {
        accumulate(partial[(k * chunks + c) * column.size + first], kept.x + first * column.x, n, from, to);
      } else {
        alignas(64) std::byte result[kColumns * kMostAcc];
        accumulate(result, kept.x + first * column.x, n, from, to);
        r.store(result, n, kept.y + first * column.y, column.y);
      }
    }
  });
  if (chunks == 1) return;
  for (int64_t k = 0; k < outer; ++k) {
    const Walk kept(plan.kept, plan.num_kept - 1, k);
    void* const total = partial[k * chunks * column.size];
    for (int64_t c = 1; c < chunks; ++c) r.merge(total, partial[(k * chunks + c) * column.size], column.size);
    r.store(total, column.size, kept.y, column.y);
  }
}

}  // namespace

void reduce(const Reduction& r, const View& y, const View& x) {
  const Plan plan(y, x);
  if (plan.outputs == 0 || plan.length == 0) return;
  const Dim &column = plan.column(), &row = plan.row();
  const bool inner = column.x != 0 && (row.x == 0 || column.x < row.x);
  const bool folds = r.folds && column.x == 1 && row.x == column.size;
  if (inner && (column.size >= 8 || folds || plan.length < 8)) reduce_columns(r, plan, x);
  else reduce_rows(r, plan, x);
}

}  // namespace genesis::kernels
