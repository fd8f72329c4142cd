// Non-temporal stores, which bypass the cache.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace genesis::kernels {

// Copies `bytes` from a cached buffer to memory that will not be read soon, without first reading what it overwrites.
// Other threads see the data after stream_fence().
inline constinit Kernel<void(void* dst, const void* src, int64_t bytes)> stream;

// Little of an output this large would still be in the cache when it is read (measured: no gain at 4 MB, 20 to 40 % at
// 16 MB).
inline constexpr int64_t kStreamedBytes = int64_t{1} << 24;

#if defined(__SSE2__)
inline constexpr bool kStreams = true;
inline void stream_fence() { _mm_sfence(); }
#else
inline constexpr bool kStreams = false;
inline void stream_fence() {}
#endif

}  // namespace genesis::kernels
