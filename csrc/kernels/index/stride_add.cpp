#include "kernels/index/stride_add.h"

#include <algorithm>

#include "core/device.h"
#include "kernels/elementwise/elementwise.h"

namespace genesis::kernels {

template <class T, class Add>
static void loop(const View& dst, const View& src, Add add) {
  int64_t index[kMaxDims] = {};
  T* to = dst.as<T>();
  const T* from = src.as<T>();
  for (int64_t left = dst.numel(); left > 0; --left) {
    add(*to, *from);
    for (int d = dst.ndim - 1; d >= 0; --d) {
      to += dst.strides[d];
      from += src.strides[d];
      if (++index[d] < dst.shape[d]) break;
      to -= dst.shape[d] * dst.strides[d];
      from -= dst.shape[d] * src.strides[d];
      index[d] = 0;
    }
  }
}

void stride_add(View dst, View src) {
  if (on_meta) return;
  switch (dst.dtype) {
    case DType::Float64: return loop<double>(dst, src, [](double& a, double b) { a += b; });
    case DType::Float32: return loop<float>(dst, src, [](float& a, float b) { a += b; });
    case DType::Float16: return loop<Half>(dst, src, [](Half& a, Half b) { a = to_half(to_float(a) + to_float(b)); });
    case DType::BFloat16:
      return loop<BFloat16>(dst, src, [](BFloat16& a, BFloat16 b) { a = to_bfloat16(to_float(a) + to_float(b)); });
    case DType::Complex64: return loop<std::complex<float>>(dst, src, [](auto& a, auto b) { a += b; });
    case DType::Complex128: return loop<std::complex<double>>(dst, src, [](auto& a, auto b) { a += b; });
    default: unsupported(dst.dtype);  // unreachable: only floating and complex tensors have gradients
  }
}

}  // namespace genesis::kernels
