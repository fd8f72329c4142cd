// Blocks of a fixed size for small objects that come and go with every operation: tensor headers,
// graph nodes. A block is 16-byte aligned and never returns to the system. Sizes are rounded up to
// a multiple of 16, and all Pool<Size> of one multiple share a list.
//
// No locks: call with the interpreter lock held. Bypassed under AddressSanitizer.
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
