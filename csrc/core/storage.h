// A block of memory that tensors share. Every in-place write bumps its version, and says who wrote, so that a
// backward pass can tell when a tensor that it saved has been changed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace genesis {

// Somebody who needs the contents of a storage as they are now: asked to copy them before the next write. A member of
// the storage's list from construction to destruction, or until it was asked.
class Keeper {
 public:
  explicit Keeper(struct Storage& storage);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  virtual void copy() = 0;
  void leave();
  bool waits() const { return list_ != nullptr; }

 protected:
  ~Keeper() { leave(); }

 private:
  Keeper** list_ = nullptr;  // the storage's list, while on it
  Keeper *next_ = nullptr, *previous_ = nullptr;
};

struct Storage {
  int64_t refs = 0;
  uint32_t version = 0;
  bool writable = true;          // false for read-only NumPy memory
  bool meta = false;             // of the meta device: `data` is no address of memory, it only tells storages apart
  const char* writer = nullptr;  // the operation that wrote last
  char* data = nullptr;
  size_t nbytes = 0;
  void (*free)(Storage*) = nullptr;  // frees memory and header
  void* owner = nullptr;             // whoever owns borrowed memory
  Keeper* keepers = nullptr;

  static Storage* allocate(size_t nbytes);
  // Memory of somebody else's: `done(owner)` is called when the last tensor is gone.
  static Storage* borrow(void* data, size_t nbytes, void* owner, void (*done)(void* owner));

  // Of the meta device.
  static Storage* without_memory(size_t nbytes);
  static int64_t num_without_memory();  // how many of these exist

  void retain() { ++refs; }
  void release() {
    if (--refs == 0) free(this);
  }
  // Call it before a write to memory that exists. May raise MemoryError.
  void before_write() {
    while (keepers) [[unlikely]] {
      Keeper* const first = keepers;
      first->copy();
      first->leave();  // if it did not by itself
    }
  }
  void written(const char* op) {
    ++version;
    writer = op;
  }
};

inline Keeper::Keeper(Storage& storage) : list_(&storage.keepers), next_(storage.keepers) {
  if (next_) next_->previous_ = this;
  storage.keepers = this;
}
inline void Keeper::leave() {
  if (!list_) return;
  (previous_ ? previous_->next_ : *list_) = next_;
  if (next_) next_->previous_ = previous_;
  list_ = nullptr;
}

}  // namespace genesis
