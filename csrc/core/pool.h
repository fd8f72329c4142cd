// Blocks of a fixed size for small objects that are created by every operation: tensor headers and graph nodes. Blocks
// are aligned to 16 bytes; empty_cache() releases spans whose blocks are all free. Sizes are rounded up to a multiple
// of 16, and all Pool<Size> with the same multiple share a list.
//
// There are no locks: call with the GIL held. Bypassed under AddressSanitizer.
#pragma once

#include <cstddef>
#include <new>

#include "core/allocator.h"

namespace genesis {

template <size_t Size>
struct Pool {
  static constexpr size_t kBytes = Size == 0 ? 16 : (Size + 15) / 16 * 16;
  static_assert(kBytes <= detail::kPoolMax, "Pool is for small objects: raise kPoolMax or use new");

  static void* take() {
    if (!kCacheMemory) return ::operator new(Size);
    detail::FreeBlock*& head = detail::heap.pool[kBytes / 16 - 1];
    detail::FreeBlock* block = head;
    if (!detail::takes(block)) [[unlikely]]
      return detail::pool_slow(kBytes);
    head = block->next;
    return block;
  }

  static void give(void* p) {
    if (!kCacheMemory) return ::operator delete(p);
    detail::FreeBlock*& head = detail::heap.pool[kBytes / 16 - 1];
    head = ::new (p) detail::FreeBlock{head};
  }
};

}  // namespace genesis
