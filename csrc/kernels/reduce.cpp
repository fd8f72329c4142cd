#include "kernels/reduce.h"

#include <type_traits>

#include "kernels/elementwise.h"
#include "kernels/loops.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {
template <class T>
void sum_simple(const View& y, const View& x) {
  int64_t index[kMaxDims] = {};
  T* to = y.as<T>();
  const T* from = x.as<T>();
  for (int64_t left = x.numel(); left > 0; --left) {
    *to += *from;
    for (int d = x.ndim - 1; d >= 0; --d) {
      to += y.shape[d] == 1 ? 0 : y.strides[d];
      from += x.strides[d];
      if (++index[d] < x.shape[d]) break;
      to -= y.shape[d] == 1 ? 0 : x.shape[d] * y.strides[d];
      from -= x.shape[d] * x.strides[d];
      index[d] = 0;
    }
  }
}
}  // namespace

void sum(View y, View x) {
  with_compute_type(y.dtype, [&]<class T>() { sum_simple<T>(y, x); });
}
GENESIS_KERNEL(sum)

}  // namespace genesis::kernels::GENESIS_ISA
