// The interface of a reduction, and the iteration over shapes.
//
// A reducer (reduce/loops.h) defines how elements are accumulated. Its types are erased here, so that the code that
// only handles dimensions is compiled once instead of for every reducer and instruction set. It sorts dimensions by
// stride, merges contiguous ones, and then uses one of two schemes:
// - rows: a reduced dimension is innermost. Each output processes its elements in blocks of contiguous memory.
// - columns: a kept dimension is innermost. A tile of adjacent outputs accumulates complete rows.
// Elements that are strided or have another dtype are gathered into a small buffer first. The partition depends on the
// shape only, and partial results are merged in order, so results do not depend on the number of threads.
#pragma once

#include "core/view.h"
#include "kernels/work.h"

namespace genesis::kernels {

inline constexpr int64_t kBlock = 4096;    // most elements in one add(); kSumBlock of reduce.h
inline constexpr int64_t kRowBlock = 256;  // maximum number of rows in one add_rows()
inline constexpr int64_t kColumns = 512;   // outputs in a tile
inline constexpr int64_t kMostAcc = 24;    // bytes of an accumulator
inline constexpr int64_t kMostTile = kColumns * kMostAcc;

// Pointers to accumulators, tiles and elements are untyped. Steps and strides count elements, `y` counts outputs.
class Reduction {
 public:
  DType dtype;  // of the elements as read
  bool folds;   // whether elements may be added in any order
  int64_t acc_bytes;

  // Computes `outputs` outputs of n contiguous elements each.
  virtual void whole(const void* x, int64_t n, int64_t outputs, int64_t x_step, int64_t y, int64_t y_step) const = 0;
  virtual void start(void* accs, int64_t count) const = 0;
  // Adds n contiguous elements, starting at index `first` of the reduced dimension.
  virtual void add(void* acc, const void* x, int64_t n, int64_t first) const = 0;
  // Merges accumulators of later elements, one each.
  virtual void merge(void* accs, const void* later, int64_t count) const = 0;
  virtual void store(const void* accs, int64_t count, int64_t y, int64_t y_step) const = 0;

  // `columns`: how many of the tile are used.
  virtual void start_tile(void* tile, int64_t columns) const = 0;
  virtual void add_rows(void* tile, const void* x, int64_t stride, int64_t rows, int64_t columns,
                        int64_t first) const = 0;
  // The accumulators of a tile whose columns contain every output `fold` times.
  virtual void finish_tile(const void* tile, void* accs, int64_t columns, int64_t fold) const = 0;

 protected:
  Reduction(DType dtype, bool folds, int64_t acc_bytes) : dtype(dtype), folds(folds), acc_bytes(acc_bytes) {}
  ~Reduction() = default;
};

// y has the shape of x, with size 1 along the reduced dimensions.
void reduce(const Reduction& r, const View& y, const View& x);

}  // namespace genesis::kernels
