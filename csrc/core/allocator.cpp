// Fills the free lists of allocator.h.
//
// Small classes (up to 8 KB) and pooled objects are carved from spans of 64 KB, each with one block size, which are cut
// from slabs of 1 MB. A span does not track which of its blocks are free, because the inline paths do not update it:
// release_spans() counts them when memory is released.
//
// A larger block that is free has a header in its own memory, which links it into the list of its class (last freed,
// first reused: still in the cache) and into one list by age. trim() keeps the free large blocks within what the
// program recently needed: a training step frees nearly all of its memory and then allocates it again, so a smaller
// bound would unmap and fault in the same memory in every step.
#include "core/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

namespace genesis {
namespace detail {

constinit Heap heap;

namespace {

constexpr size_t kSpanBytes = size_t{64} << 10;
constexpr size_t kSlabBytes = size_t{1} << 20;
constexpr uint32_t kAllSpans = (1u << (kSlabBytes / kSpanBytes)) - 1;
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
  char* data;
  uint32_t free = kAllSpans;  // a bit for each span
  Slab *next = nullptr, *previous = nullptr;
};

// At the beginning of its memory, which is aligned to its size.
struct alignas(kAlignment) Span {
  Slab* slab;
  char* at;                       // the rest is not carved yet
  uint32_t carved = 0, free = 0;  // blocks; `free` is 0 but during release_spans
  Span* next = nullptr;
  char* end() { return reinterpret_cast<char*>(this) + kSpanBytes; }
};

// The blocks of one size that are carved from spans.
struct Blocks {
  FreeBlock** free;
  Span** carving;
  size_t bytes;
  bool pooled;
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
  Slab* slabs = nullptr;  // those with a free span
  Span* tensors[kClasses] = {};
  Span* objects[kPoolMax / 16] = {};
};
constinit LargeHeap large;

void* map_block(size_t bytes) {
  if (bytes >= kMapMin) {
    const size_t mapped = bytes + kHugePage;  // huge pages need their alignment: allocate more and trim
    void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return nullptr;
    const auto address = reinterpret_cast<uintptr_t>(raw);
    const size_t head = -address % kHugePage;
    char* block = static_cast<char*>(raw) + head;
    if (head) munmap(raw, head);
    munmap(block + bytes, kHugePage - head);
#ifdef MADV_HUGEPAGE
    madvise(block, bytes, MADV_HUGEPAGE);  // only a hint: failure is harmless
#endif
    return block;
  }
  return std::aligned_alloc(kAlignment, bytes);
}

void unmap_block(void* p, size_t bytes) {
  if (bytes >= kMapMin) {
    munmap(p, bytes);
    return;
  }
  std::free(p);
}

// Allocates from the system, after emptying the cache if necessary.
template <class Allocate>
void* obtain(size_t asked, Allocate allocate) {
  void* p = allocate();
  if (!p) {
    empty_cache();
    p = allocate();
  }
  if (!p) throw OutOfMemory(asked);
  return p;
}

// ----- spans -----

void link(Slab* slab) {
  slab->previous = nullptr;
  slab->next = large.slabs;
  if (large.slabs) large.slabs->previous = slab;
  large.slabs = slab;
}
void unlink(Slab* slab) {
  (slab->previous ? slab->previous->next : large.slabs) = slab->next;
  if (slab->next) slab->next->previous = slab->previous;
}

void add_slab(size_t asked) {
  auto slab = std::make_unique<Slab>();
  slab->data = static_cast<char*>(obtain(asked, [] { return std::aligned_alloc(kSpanBytes, kSlabBytes); }));
  link(slab.release());
}

Span* take_span(size_t asked) {
  if (!large.slabs) add_slab(asked);
  Slab* slab = large.slabs;
  const int number = std::countr_zero(slab->free);
  slab->free &= slab->free - 1;
  if (!slab->free) unlink(slab);
  large.reserved += kSpanBytes;
  auto* span = ::new (slab->data + static_cast<size_t>(number) * kSpanBytes) Span{slab, nullptr};
  span->at = reinterpret_cast<char*>(span + 1);
  return span;
}

void release_span(Span* span) {
  Slab* slab = span->slab;
  const auto number = static_cast<size_t>(reinterpret_cast<char*>(span) - slab->data) / kSpanBytes;
  large.reserved -= kSpanBytes;
  if (!slab->free) link(slab);
  slab->free |= 1u << number;
  if (slab->free == kAllSpans) {
    unlink(slab);
    std::free(slab->data);
    delete slab;
    return;
  }
#ifdef __linux__
  madvise(span, kSpanBytes, MADV_DONTNEED);
#else  // elsewhere MADV_DONTNEED keeps the contents
  madvise(span, kSpanBytes, MADV_FREE);
#endif
}

Span* span_of(const void* block) {
  return reinterpret_cast<Span*>(reinterpret_cast<uintptr_t>(block) & ~uintptr_t{kSpanBytes - 1});
}

// Releases the spans whose blocks are all free.
void release_spans(const Blocks& blocks) {
  for (FreeBlock* b = *blocks.free; b; b = b->next) ++span_of(b)->free;
  FreeBlock** kept = blocks.free;
  Span* whole = nullptr;
  for (FreeBlock* b = *blocks.free; b; b = b->next) {
    Span* span = span_of(b);
    if (span->free < span->carved) {
      *kept = b;
      kept = &b->next;
    } else if (span->at) {
      if (span == *blocks.carving) *blocks.carving = nullptr;
      span->at = nullptr;
      span->next = whole;
      whole = span;
    }
  }
  *kept = nullptr;
  for (FreeBlock* b = *blocks.free; b; b = b->next) span_of(b)->free = 0;
  while (whole) {
    if (blocks.pooled) heap.used -= whole->carved * blocks.bytes;
    release_span(std::exchange(whole, whole->next));
  }
}

void* carve(Span*& span, size_t bytes) {
  if (!span || static_cast<size_t>(span->end() - span->at) < bytes) {  // the rest of the old span stays unused
    Span* next = take_span(bytes);                                     // may release the old one
    span = next;
  }
  ++span->carved;
  return std::exchange(span->at, span->at + bytes);
}

// ----- large blocks -----

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

// Keeps used + cached within 5/4 of the recent peak of use (the margin is for sizes that change), but always at least
// kAlwaysKeep. The peak is that of the last one to two windows of frees.
void trim() {
  if (large.cached <= kAlwaysKeep) return;
  const size_t peak = std::max(large.peak, large.previous_peak);
  const size_t target = peak + peak / 4;
  const size_t keep = std::max(kAlwaysKeep, target > heap.used ? target - heap.used : 0);
  while (large.cached > keep) release_oldest();
}

void count_free() {
  if (heap.used > large.peak) large.peak = heap.used;  // use decreases at frees
  if (++large.frees == kWindow) {
    large.frees = 0;
    large.previous_peak = large.peak;
    large.peak = heap.used;
  }
}

// For a class that is carved.
FreeBlock*& free_blocks(SizeClass size) {
  return size.bytes <= kSmallMax ? heap.small[size.index] : large.medium[size.index];
}

struct Faults {
  int64_t counted = 0, first = -1, last = -1;
};
constinit Faults faults;

// The inline paths call this for every allocation while heap.floor is set, otherwise only if there is no free block.
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
      p = obtain(bytes, [&] { return map_block(size.bytes); });
      large.reserved += size.bytes;
    }
  } else if (FreeBlock*& list = free_blocks(size)) {
    p = pop(list);
  } else {
    p = carve(large.tensors[size.index], size.bytes);
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
  void* p = carve(large.objects[bytes / 16 - 1], bytes);
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
  using namespace detail;
  while (large.oldest) release_oldest();
  for (size_t bytes = kAlignment; bytes <= kSlabMax;) {
    const SizeClass size = class_of(bytes);
    FreeBlock*& list = free_blocks(size);
    release_spans({&list, &large.tensors[size.index], size.bytes, false});
    bytes = size.bytes + 1;
  }
  for (size_t i = 0; i < kPoolMax / 16; ++i) release_spans({&heap.pool[i], &large.objects[i], 16 * (i + 1), true});
}

}  // namespace genesis
