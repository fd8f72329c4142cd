// Operations along one dimension that preserve its size: scans, softmax. Included by kernel files, which are compiled
// per instruction set.
#pragma once

#include <initializer_list>

#include "kernels/reduce/loops.h"

namespace genesis::kernels::GENESIS_ISA {

// The lines of a tensor along one dimension. Adjacent lines are grouped into tiles.
struct Lines {
  static constexpr int kOperands = 4;
  int ndim = 0;
  int64_t shape[kMaxDims];
  int64_t strides[kOperands][kMaxDims];  // in elements
  int64_t length, step[kOperands];       // along the scanned dimension
  int64_t count = 1;                     // number of lines
  int64_t across = 1;                    // number of adjacent lines
  int64_t width, tiles;

  // Every operand has the shape of the first.
  Lines(std::initializer_list<const View*> views, int dim, bool reverse, int64_t max_width) {
    const View& first = **views.begin();
    length = first.ndim ? first.shape[dim] : 1;
    for (int d = 0; d < first.ndim; ++d) {
      if (d == dim || first.shape[d] == 1) continue;
      shape[ndim] = first.shape[d];
      int k = 0;
      for (const View* v : views) strides[k++][ndim] = v->strides[d];
      ++ndim;
      count *= first.shape[d];
    }
    int k = 0;
    for (const View* v : views) step[k++] = (first.ndim ? v->strides[dim] : 1) * (reverse ? -1 : 1);
    const int n = k;
    // Move the dimension that is contiguous in all operands to the end.
    for (int d = 0; d < ndim && across == 1 && length > 1; ++d) {
      bool inner = shape[d] >= 8;
      for (k = 0; k < n; ++k) inner = inner && strides[k][d] == 1;
      if (!inner) continue;
      across = shape[d];
      for (int e = d; e + 1 < ndim; ++e) {
        shape[e] = shape[e + 1];
        for (k = 0; k < n; ++k) strides[k][e] = strides[k][e + 1];
      }
      --ndim;
    }
    width = std::min(across, max_width);
    tiles = ceil_div(across, width);
  }
  // The offset of the first element of tile `at` in operand k.
  int64_t offset(int k, int64_t at) const {
    int64_t outer = at / tiles, result = at % tiles * width;
    for (int d = ndim - 1; d >= 0; --d) {
      result += outer % shape[d] * strides[k][d];
      outer /= shape[d];
    }
    return result + (step[k] < 0 ? (1 - length) * step[k] : 0);
  }
  // Whether the lines of operand k are contiguous, without gaps.
  bool follow(int k) const {
    int64_t next = length;
    for (int d = ndim - 1; d >= 0; next *= shape[d--])
      if (strides[k][d] != next) return false;
    return step[k] == 1;
  }
  int64_t columns(int64_t at) const { return std::min(width, across - at % tiles * width); }
  int64_t total() const { return count / across * tiles; }
  int64_t grain() const { return std::max<int64_t>(1, kLightGrain / std::max<int64_t>(1, length * width)); }
};

}  // namespace genesis::kernels::GENESIS_ISA
