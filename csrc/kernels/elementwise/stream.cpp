#include "kernels/elementwise/stream.h"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace genesis::kernels::GENESIS_ISA {

void stream(void* dst, const void* src, int64_t bytes) {
  char* to = static_cast<char*>(dst);
  const char* from = static_cast<const char*>(src);
#if defined(__SSE2__)
  // Full cache lines only: writing part of a line costs more than an ordinary store.
  const int64_t head = std::min<int64_t>(bytes, -reinterpret_cast<intptr_t>(to) & 63);
  std::memcpy(to, from, static_cast<size_t>(head));
  int64_t i = head;
  for (; i + 64 <= bytes; i += 64) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
#else
    for (int k = 0; k < 64; k += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + k),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + k)));
#endif
  }
  to += i;
  from += i;
  bytes -= i;
#endif
  std::memcpy(to, from, static_cast<size_t>(bytes));
}
GENESIS_KERNEL(stream)

}  // namespace genesis::kernels::GENESIS_ISA
