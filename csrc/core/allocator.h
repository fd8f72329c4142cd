// Memory for tensor storage: free lists by size class, because a reused block is cached and mapped, while the first
// access to a new page costs several times the work done on it.
//
// Classes are multiples of 64 bytes up to 1 KB, then four per doubling. Blocks up to 8 KB are carved from spans of 64
// KB, which empty_cache() releases. Larger ones are allocated one by one and, when free, released in
// least-recently-used order if there are too many (see allocator.cpp).
//
// There are no locks: call everything here with the GIL held, so never inside Unlocked or parallel_for. Under
// AddressSanitizer the cache is bypassed, so that it detects every misuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace genesis {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kCacheMemory = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kCacheMemory = false;
#else
inline constexpr bool kCacheMemory = true;
#endif
#else
inline constexpr bool kCacheMemory = true;
#endif

inline constexpr size_t kAlignment = 64;

/// The system has no more memory. The text says what was asked and what is in use.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(size_t asked) noexcept;
  const char* what() const noexcept override { return text_; }

 private:
  char text_[192];
};

namespace detail {

struct FreeBlock {
  FreeBlock* next;
};

inline constexpr size_t kSmallMax = 1024;
inline constexpr size_t kSmallClasses = kSmallMax / kAlignment;
inline constexpr size_t kPoolMax = 1024;  // see core/pool.h

struct Heap {
  size_t allocated = 0;  // bytes requested and not freed
  size_t peak = 0;
  size_t used = 0;  // the same, rounded up to classes
  FreeBlock* small[kSmallClasses] = {};
  FreeBlock* pool[kPoolMax / 16] = {};
  // The inline paths use only blocks above this address: 0 allows any block; while allocations are counted
  // (fail_allocations), it is the last address, which allows none.
  uintptr_t floor = 0;
};
extern Heap heap;

void* allocate_slow(size_t bytes);
void deallocate_slow(void* p, size_t bytes);
void* pool_slow(size_t bytes);

inline bool takes(const FreeBlock* block) { return reinterpret_cast<uintptr_t>(block) > heap.floor; }

inline size_t small_class(size_t bytes) { return bytes == 0 ? 0 : (bytes - 1) / kAlignment; }

}  // namespace detail

/// At least `bytes` bytes, 64-byte aligned, not initialised; throws OutOfMemory. Zero bytes give a
/// valid pointer too.
inline void* allocate(size_t bytes) {
  if (kCacheMemory && bytes <= detail::kSmallMax) [[likely]] {
    detail::Heap& heap = detail::heap;
    const size_t index = detail::small_class(bytes);
    if (detail::FreeBlock* block = heap.small[index]; detail::takes(block)) [[likely]] {
      heap.small[index] = block->next;
      heap.used += (index + 1) * kAlignment;
      heap.allocated += bytes;
      if (heap.allocated > heap.peak) heap.peak = heap.allocated;
      return block;
    }
  }
  return detail::allocate_slow(bytes);
}

/// Gives back what allocate(bytes) returned; nullptr is allowed.
inline void deallocate(void* p, size_t bytes) {
  if (kCacheMemory && bytes <= detail::kSmallMax && p) [[likely]] {
    detail::Heap& heap = detail::heap;
    const size_t index = detail::small_class(bytes);
    heap.small[index] = ::new (p) detail::FreeBlock{heap.small[index]};
    heap.used -= (index + 1) * kAlignment;
    heap.allocated -= bytes;
    return;
  }
  detail::deallocate_slow(p, bytes);
}

/// Bytes handed out now, as asked for; their maximum since the start or the last reset.
size_t memory_allocated();
size_t memory_peak();
void reset_memory_peak();
/// Bytes obtained from the system and free for reuse (the unused part of spans included).
size_t memory_cached();
/// Returns cached memory to the system: blocks above 8 KB, and spans of smaller ones of which no block is in use.
void empty_cache();

/// For tests: from now on allocations are counted, of tensor memory and of pooled objects, and those
/// numbered first to last - 1 fail. A negative `first` ends this. Returns how many were counted
/// since the last call.
int64_t fail_allocations(int64_t first, int64_t last);

}  // namespace genesis
