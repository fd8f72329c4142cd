#include "kernels/index/sequence.h"

#include <algorithm>
#include <cmath>

#include "core/parallel.h"
#include "kernels/elementwise/convert.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

constexpr int64_t kStretch = 512;

// Fills y in pieces: f(buffer, first, n) computes elements first .. first + n.
template <class T, class F>
void by_stretches(const View& y, F f) {
  const int64_t n = y.numel(), item = itemsize(y.dtype);
  parallel_for(n, 32 * kStretch, [&](int64_t begin, int64_t end) {
    alignas(64) T buffer[kStretch];
    for (int64_t i = begin; i < end; i += kStretch) {
      const int64_t m = std::min(kStretch, end - i);
      f(buffer, i, m);
      scatter(y.as<char>() + i * item, item, y.dtype, buffer, dtype_of<T>, m);
    }
  });
}

}  // namespace

void arange(View y, double start, double step) {
  by_stretches<double>(y, [=](double* out, int64_t first, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = start + static_cast<double>(first + i) * step;
  });
}
GENESIS_KERNEL(arange)

void arange_integer(View y, int64_t start, int64_t step) {
  by_stretches<int64_t>(y, [=](int64_t* out, int64_t first, int64_t n) {
    const int64_t from = start + first * step;
    for (int64_t i = 0; i < n; ++i) out[i] = from + i * step;
  });
}
GENESIS_KERNEL(arange_integer)

void linspace(View y, double start, double end, double base) {
  const int64_t total = y.numel();
  const double step = total > 1 ? (end - start) / static_cast<double>(total - 1) : 0.0;
  by_stretches<double>(y, [=](double* out, int64_t first, int64_t n) {
    // The second half counts from the end, so that the last value is exactly `end`.
    for (int64_t i = 0; i < n; ++i) {
      const int64_t k = first + i;
      out[i] = k < total / 2 || total == 1 ? start + step * static_cast<double>(k)
                                           : end - step * static_cast<double>(total - 1 - k);
    }
    if (base != 0)
      for (int64_t i = 0; i < n; ++i) out[i] = std::pow(base, out[i]);
  });
}
GENESIS_KERNEL(linspace)

}  // namespace genesis::kernels::GENESIS_ISA
