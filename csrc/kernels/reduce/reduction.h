// A reduction as the walk over shapes sees it, and that walk.
//
// A reducer (reduce/loops.h) says how elements are accumulated; its types are hidden here, so that what only counts
// dimensions is compiled once and not for every reducer and instruction set. The walk sorts dimensions by stride,
// merges what is contiguous, and then goes one of two ways:
// - rows: a reduced dimension runs fastest. Each output takes its elements in blocks of contiguous memory.
// - columns: a kept dimension runs fastest. A tile of neighbouring outputs accumulates whole rows at a time.
// Elements that are strided or of another dtype are gathered into a small buffer first.
// Work is cut by shape alone, and partial results are merged in order, so the number of threads does not show.
#pragma once

#include "core/view.h"
#include "kernels/work.h"

namespace genesis::kernels {

inline constexpr int64_t kBlock = 4096;    // most elements in one add(); kSumBlock of reduce.h
inline constexpr int64_t kRowBlock = 256;  // most rows in one add_rows()
inline constexpr int64_t kColumns = 512;   // outputs in a tile
inline constexpr int64_t kMostAcc = 24;    // bytes of an accumulator
inline constexpr int64_t kMostTile = kColumns * kMostAcc;

// Pointers to accumulators, tiles and elements are untyped; steps and strides count elements, `y` counts outputs.
class Reduction {
 public:
  DType dtype;  // of the elements as they are read
  bool folds;   // whether elements may be taken in any order
  int64_t acc_bytes;

  // Outputs of n contiguous elements each, from start to end.
  virtual void whole(const void* x, int64_t n, int64_t outputs, int64_t x_step, int64_t y, int64_t y_step) const = 0;
  virtual void start(void* accs, int64_t count) const = 0;
  // Takes in n contiguous elements, the `first` of the reduced dimension and those after it.
  virtual void add(void* acc, const void* x, int64_t n, int64_t first) const = 0;
  // Takes in accumulators of later elements, one each.
  virtual void merge(void* accs, const void* later, int64_t count) const = 0;
  virtual void store(const void* accs, int64_t count, int64_t y, int64_t y_step) const = 0;

  // `columns`: how many of the tile are used.
  virtual void start_tile(void* tile, int64_t columns) const = 0;
  virtual void add_rows(void* tile, const void* x, int64_t stride, int64_t rows, int64_t columns,
                        int64_t first) const = 0;
  // The accumulators of a tile whose columns hold every output `fold` times.
  virtual void finish_tile(const void* tile, void* accs, int64_t columns, int64_t fold) const = 0;

 protected:
  Reduction(DType dtype, bool folds, int64_t acc_bytes) : dtype(dtype), folds(folds), acc_bytes(acc_bytes) {}
  ~Reduction() = default;
};

// y has the shape of x but for the reduced dimensions, which are 1.
void reduce(const Reduction& r, const View& y, const View& x);

}  // namespace genesis::kernels
