// operator new that can be told to fail: loaded before everything else (LD_PRELOAD), so that the library's vectors,
// strings and nodes that are not from its own allocator use it. Compiled by native_faults.py.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> counted{0}, first{-1}, last{-1};
thread_local bool watched = false;  // only the thread that asked

void* make(std::size_t bytes, std::size_t alignment) {
  if (watched && first >= 0) {
    const long number = counted++;
    if (number >= first && number < last) throw std::bad_alloc();
  }
  void* p = nullptr;
  if (bytes == 0) bytes = 1;
  if (alignment <= alignof(std::max_align_t)) p = std::malloc(bytes);
  else if (posix_memalign(&p, alignment, bytes) != 0) p = nullptr;
  if (!p) throw std::bad_alloc();
  return p;
}

}  // namespace

extern "C" long fail_new(long from, long to) {
  const long count = counted.exchange(0);
  watched = from >= 0;
  first = from;
  last = to;
  return count;
}

void* operator new(std::size_t bytes) { return make(bytes, 0); }
void* operator new[](std::size_t bytes) { return make(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return make(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return make(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
