#include "core/storage.h"

#include <new>

#include "core/allocator.h"
#include "core/capture.h"
#include "core/pool.h"

namespace genesis {

// Small tensors keep header and data in one block; for larger ones, the header would waste memory in the next size
// class.
static constexpr size_t kHeader = 64;
static constexpr size_t kTogether = 4096;
static_assert(sizeof(Storage) <= kHeader);

static void free_together(Storage* s) {
  if (capture::any_observer) [[unlikely]]
    capture::any_observer->freed(*s);
  deallocate(s, kHeader + s->nbytes);
}

static void free_apart(Storage* s) {
  if (capture::any_observer) [[unlikely]]
    capture::any_observer->freed(*s);
  deallocate(s->data, s->nbytes);
  Pool<sizeof(Storage)>::give(s);
}

Storage* Storage::allocate(size_t nbytes) {
  Storage* s;
  if (nbytes <= kTogether) {
    char* block = static_cast<char*>(genesis::allocate(kHeader + nbytes));
    s = new (block) Storage;
    s->data = block + kHeader;
    s->free = free_together;
  } else {
    void* header = Pool<sizeof(Storage)>::take();
    try {
      s = new (header) Storage;
      s->data = static_cast<char*>(genesis::allocate(nbytes));
    } catch (...) {
      Pool<sizeof(Storage)>::give(header);
      throw;
    }
    s->free = free_apart;
  }
  s->nbytes = nbytes;
  if (capture::observer) [[unlikely]]
    capture::observer->allocated(*s);
  return s;
}

namespace {
struct Borrowed : Storage {
  void (*done)(void* owner);
};
}  // namespace

Storage* Storage::borrow(void* data, size_t nbytes, void* owner, void (*done)(void* owner)) {
  void* place;
  try {
    place = Pool<sizeof(Borrowed)>::take();
  } catch (...) {
    done(owner);
    throw;
  }
  auto* s = new (place) Borrowed;
  s->data = static_cast<char*>(data);
  s->nbytes = nbytes;
  s->owner = owner;
  s->done = done;
  s->free = [](Storage* storage) {
    auto* b = static_cast<Borrowed*>(storage);
    if (capture::any_observer) [[unlikely]]
      capture::any_observer->freed(*storage);
    b->done(b->owner);
    Pool<sizeof(Borrowed)>::give(b);
  };
  return s;
}

static int64_t meta_storages = 0;  // counted with the GIL held

int64_t Storage::num_without_memory() { return meta_storages; }

Storage* Storage::without_memory(size_t nbytes) {
  // Addresses without memory. Storages do not overlap, so that views and aliases are detected as on the CPU.
  static constexpr uintptr_t kFirst = uintptr_t{1} << 62, kEnd = uintptr_t{3} << 62;
  static uintptr_t next = kFirst;
  auto* s = new (Pool<sizeof(Storage)>::take()) Storage;
  if (nbytes >= kEnd - kFirst || next + nbytes + 128 > kEnd) next = kFirst;
  s->data = reinterpret_cast<char*>(next);
  next += nbytes / 64 * 64 + 128;
  s->nbytes = nbytes;
  s->meta = true;
  s->free = [](Storage* storage) {
    --meta_storages;
    Pool<sizeof(Storage)>::give(storage);
  };
  ++meta_storages;
  return s;
}

}  // namespace genesis
