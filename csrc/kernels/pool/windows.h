// The inputs that each output of a pooling reads, for both layouts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/pool/pool.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// Along one dimension: the inputs that each output reads.
struct Windows {
  // inputs begin, begin + step, ... before end; the number that an average counts
  std::vector<int64_t> begin, end, counted;
  int64_t step;

  Windows(const PoolShape& s, int d) : step(s.adaptive ? 1 : s.dilation[d]) {
    const int64_t in = s.in[d];
    for (int64_t o = 0; o < s.out[d]; ++o) {
      if (s.adaptive) {
        begin.push_back(o * in / s.out[d]);
        end.push_back(((o + 1) * in + s.out[d] - 1) / s.out[d]);
        counted.push_back(end.back() - begin.back());
        continue;
      }
      const int64_t first = o * s.stride[d] - s.padding[d], last = first + (s.kernel[d] - 1) * step;
      const int64_t clipped = first >= 0 ? first : first + (-first + step - 1) / step * step;
      begin.push_back(std::min(clipped, in));
      end.push_back(std::max(begin.back(), std::min(last + 1, in)));
      counted.push_back(s.count_padding ? std::min(last + 1, in + s.padding[d]) - first : end.back() - begin.back());
    }
  }
  bool empty(int64_t o) const { return begin[o] >= end[o]; }
};

// The factors by which the sums of a line are multiplied.
template <class T>
void factors(const PoolShape& s, const Windows& w0, const Windows& w1, const Windows& w2, int64_t o0, int64_t o1,
             T* out) {
  const int64_t outer = w0.counted[o0] * w1.counted[o1];
  for (int64_t o = 0; o < s.out[2]; ++o)
    out[o] = T(1) / static_cast<T>(s.divisor != 0 ? s.divisor : std::max<int64_t>(1, outer * w2.counted[o]));
}

// Calls f(value, index) for the given dtypes.
template <class F>
void by_types(DType dtype, DType index_dtype, F f) {
  if (dtype == DType::Float64) f(double(), int64_t());
  else if (index_dtype == DType::Int32) f(float(), int32_t());
  else f(float(), int64_t());
}

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
