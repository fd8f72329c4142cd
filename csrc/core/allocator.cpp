// core/allocator.cpp: what the free lists of allocator.h are filled from.
//
// Small classes (up to 8 KB) are carved from 1 MB slabs. Larger blocks, when free, carry a header
// in their own memory that links them into the list of their class (last freed, first reused: still
// in cache) and into one list by age. trim() keeps free large blocks within what the program
// recently needed: a training step frees nearly all it has used and then wants it back, so a
// smaller bound would unmap and fault in the same memory in every step.
#include "core/allocator.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace genesis {
namespace detail {

constinit Heap heap;

namespace {

constexpr size_t kSlabBytes = size_t{1} << 20;
constexpr size_t kSlabMax = 8 << 10;         // blocks up to this are carved
constexpr size_t kMapMin = size_t{4} << 20;  // blocks from this are mapped, on huge pages
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMaxBytes = size_t{1} << 47;  // no address space holds more
constexpr size_t kAlwaysKeep = size_t{256} << 20;
constexpr int kWindow = 4096;  // large frees over which "recently" is counted
constexpr size_t kClasses = kSmallClasses + 4 * (47 - 10);

struct SizeClass {
  size_t index, bytes;
};

// Four classes per doubling: the two bits below the leading one of bytes - 1 choose the step.
SizeClass class_of(size_t bytes) {
  if (bytes <= kSmallMax) {
    const size_t index = small_class(bytes);
    return {index, (index + 1) * kAlignment};
  }
  const size_t log = std::bit_width(bytes - 1) - 1;
  const size_t step = ((bytes - 1) >> (log - 2)) & 3;
  return {kSmallClasses + 4 * (log - 10) + step, (step + 5) << (log - 2)};
}

struct LargeBlock {
  LargeBlock *newer, *older;         // by age, over all classes
  LargeBlock *previous, *following;  // within the class
  SizeClass size;
};

struct Slab {
  char* at = nullptr;
  char* end = nullptr;
};

struct LargeHeap {
  FreeBlock* medium[kClasses] = {};  // carved classes above kSmallMax
  LargeBlock* free[kClasses] = {};
  LargeBlock* newest = nullptr;
  LargeBlock* oldest = nullptr;
  size_t reserved = 0;                 // from the system, slabs included
  size_t cached = 0;                   // in `free`
  size_t peak = 0, previous_peak = 0;  // of heap.used, in this window of frees and the one before
  int frees = 0;
  Slab tensors, objects;
};
constinit LargeHeap large;

void* map_block(size_t bytes) {
#ifdef __linux__
  if (bytes >= kMapMin) {
    const size_t mapped = bytes + kHugePage;  // huge pages need their alignment: cut it out of more
    void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
    const auto address = reinterpret_cast<uintptr_t>(raw);
    const size_t head = -address % kHugePage;
    char* block = static_cast<char*>(raw) + head;
    if (head) munmap(raw, head);
    munmap(block + bytes, kHugePage - head);
    madvise(block, bytes, MADV_HUGEPAGE);  // only advice: failure is no harm
    return block;
  }
#endif
  return std::aligned_alloc(kAlignment, bytes);
}

void unmap_block(void* p, size_t bytes) {
#ifdef __linux__
  if (bytes >= kMapMin) {
    munmap(p, bytes);
    return;
  }
#endif
  std::free(p);
}

void* obtain(size_t bytes, size_t asked) {
  void* p = map_block(bytes);
  if (!p) {
    empty_cache();
    p = map_block(bytes);
  }
  if (!p) throw OutOfMemory(asked);
  large.reserved += bytes;
  return p;
}

void* carve(Slab& slab, size_t bytes) {
  if (static_cast<size_t>(slab.end - slab.at) < bytes) {  // what is left of the old slab is let go
    slab.at = static_cast<char*>(obtain(kSlabBytes, bytes));
    slab.end = slab.at + kSlabBytes;
  }
  void* p = slab.at;
  slab.at += bytes;
  return p;
}

void unlink(LargeBlock* block) {
  (block->newer ? block->newer->older : large.newest) = block->older;
  (block->older ? block->older->newer : large.oldest) = block->newer;
  (block->previous ? block->previous->following : large.free[block->size.index]) = block->following;
  if (block->following) block->following->previous = block->previous;
  large.cached -= block->size.bytes;
}

void push(void* p, SizeClass size) {
  LargeBlock*& head = large.free[size.index];
  auto* block = ::new (p) LargeBlock{nullptr, large.newest, nullptr, head, size};
  (large.newest ? large.newest->newer : large.oldest) = block;
  large.newest = block;
  if (head) head->previous = block;
  head = block;
  large.cached += size.bytes;
}

void release_oldest() {
  LargeBlock* block = large.oldest;
  const size_t bytes = block->size.bytes;
  unlink(block);
  large.reserved -= bytes;
  unmap_block(block, bytes);
}

// Keeps used + cached within 5/4 of the recent peak of use (the quarter is for sizes that change),
// but always at least kAlwaysKeep. The peak fades: it is that of the last one to two windows of
// frees.
void trim() {
  if (large.cached <= kAlwaysKeep) return;
  const size_t peak = std::max(large.peak, large.previous_peak);
  const size_t target = peak + peak / 4;
  const size_t keep = std::max(kAlwaysKeep, target > heap.used ? target - heap.used : 0);
  while (large.cached > keep) release_oldest();
}

void count_free() {
  if (heap.used > large.peak) large.peak = heap.used;  // frees are where use turns down
  if (++large.frees == kWindow) {
    large.frees = 0;
    large.previous_peak = large.peak;
    large.peak = heap.used;
  }
}

struct Faults {
  int64_t counted = 0, first = -1, last = -1;
};
constinit Faults faults;

// The inline paths come here for every allocation while heap.floor is set, and else only for lack
// of a free block.
void fail_if_told(size_t bytes) {
  if (!heap.floor) [[likely]]
    return;
  const int64_t number = faults.counted++;
  if (number >= faults.first && number < faults.last) throw OutOfMemory(bytes);
}

void* pop(FreeBlock*& list) {
  FreeBlock* block = list;
  list = block->next;
  return block;
}

void count_allocated(size_t bytes, size_t used) {
  heap.used += used;
  heap.allocated += bytes;
  if (heap.allocated > heap.peak) heap.peak = heap.allocated;
}

}  // namespace

void* allocate_slow(size_t bytes) {
  if (bytes > kMaxBytes) throw OutOfMemory(bytes);
  fail_if_told(bytes);
  const SizeClass size = class_of(bytes);
  void* p = nullptr;
  if (!kCacheMemory) {
    // Not rounded up to a class: the first byte past the end is caught.
    if (posix_memalign(&p, kAlignment, std::max<size_t>(bytes, 1)) != 0) throw OutOfMemory(bytes);
  } else if (size.bytes > kSlabMax) {
    if (LargeBlock* block = large.free[size.index]) {
      unlink(block);
      p = block;
    } else {
      p = obtain(size.bytes, bytes);
    }
  } else if (FreeBlock*& list = size.bytes <= kSmallMax ? heap.small[size.index] : large.medium[size.index]) {
    p = pop(list);
  } else {
    p = carve(large.tensors, size.bytes);
  }
  count_allocated(bytes, size.bytes);
  return p;
}

void deallocate_slow(void* p, size_t bytes) {
  if (!p) return;
  const SizeClass size = class_of(bytes);
  if (!kCacheMemory) {
    std::free(p);
  } else if (size.bytes > kSlabMax) {
    count_free();
    push(p, size);
  } else {
    large.medium[size.index] = ::new (p) FreeBlock{large.medium[size.index]};
  }
  heap.used -= size.bytes;
  heap.allocated -= bytes;
  if (kCacheMemory && size.bytes > kSlabMax) trim();
}

void* pool_slow(size_t bytes) {
  fail_if_told(bytes);
  if (FreeBlock*& list = heap.pool[bytes / 16 - 1]) return pop(list);
  void* p = carve(large.objects, bytes);
  heap.used += bytes;  // an object's block stays with the pool: it is not cached tensor memory
  return p;
}

}  // namespace detail

OutOfMemory::OutOfMemory(size_t asked) noexcept {
  std::snprintf(text_, sizeof text_,
                "out of memory: could not allocate %zu bytes (%.2f GB); %zu bytes are allocated "
                "and %zu cached; delete tensors or use smaller ones",
                asked, static_cast<double>(asked) * 1e-9, memory_allocated(), memory_cached());
}

size_t memory_allocated() { return detail::heap.allocated; }
size_t memory_peak() { return detail::heap.peak; }
void reset_memory_peak() { detail::heap.peak = detail::heap.allocated; }

size_t memory_cached() { return kCacheMemory ? detail::large.reserved - detail::heap.used : 0; }

int64_t fail_allocations(int64_t first, int64_t last) {
  const int64_t counted = detail::faults.counted;
  detail::faults = {0, first, last};
  detail::heap.floor = first < 0 ? 0 : UINTPTR_MAX;
  return counted;
}

void empty_cache() {
  while (detail::large.oldest) detail::release_oldest();
}

}  // namespace genesis
