#include "kernels/gemm/integer.h"

#include <algorithm>
#include <type_traits>

#include "core/parallel.h"
#include "kernels/elementwise/elementwise.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

template <class T>
void product(const View& c, const View& a, const View& b) {
  using U = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
  const int64_t m = c.shape[0], n = c.shape[1], k = a.shape[1];
  parallel_for(m, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n * k)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* row = c.as<T>() + i * c.strides[0];
      for (int64_t j = 0; j < n; ++j) row[j * c.strides[1]] = 0;
      for (int64_t p = 0; p < k; ++p) {
        const U x = static_cast<U>(a.as<T>()[i * a.strides[0] + p * a.strides[1]]);
        const T* other = b.as<T>() + p * b.strides[0];
        for (int64_t j = 0; j < n; ++j) {
          T& sum = row[j * c.strides[1]];
          sum = static_cast<T>(static_cast<U>(sum) + x * static_cast<U>(other[j * b.strides[1]]));
        }
      }
    }
  });
}

}  // namespace

void integer_gemm(View c, View a, View b) {
  switch (c.dtype) {
    case DType::UInt8: return product<uint8_t>(c, a, b);
    case DType::Int8: return product<int8_t>(c, a, b);
    case DType::Int16: return product<int16_t>(c, a, b);
    case DType::Int32: return product<int32_t>(c, a, b);
    case DType::Int64: return product<int64_t>(c, a, b);
    default: unsupported(c.dtype);
  }
}
GENESIS_KERNEL(integer_gemm)

}  // namespace genesis::kernels::GENESIS_ISA
