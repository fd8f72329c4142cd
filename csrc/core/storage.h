// A block of memory that tensors share. Every in-place write increments its version and stores the name of the
// operation, so that a backward pass detects when a saved tensor has been changed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace genesis {

// An object that needs the current contents of a storage: copy() is called before the next write. It is in the list of
// the storage from construction to destruction, or until copy() was called.
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
  Keeper** list_ = nullptr;  // the storage's list while it contains this
  Keeper *next_ = nullptr, *previous_ = nullptr;
};

struct Storage {
  int64_t refs = 0;
  uint32_t version = 0;
  bool writable = true;          // false for read-only NumPy memory
  bool meta = false;             // on the meta device: `data` is not a valid address, it only distinguishes storages
  const char* writer = nullptr;  // the operation that wrote last
  char* data = nullptr;
  size_t nbytes = 0;
  void (*free)(Storage*) = nullptr;  // frees memory and header
  void* owner = nullptr;             // the owner of borrowed memory
  Keeper* keepers = nullptr;

  static Storage* allocate(size_t nbytes);
  // Memory that another object owns: `done(owner)` is called when the last tensor is destroyed.
  static Storage* borrow(void* data, size_t nbytes, void* owner, void (*done)(void* owner));

  // For the meta device.
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
      first->leave();  // if it did not do so itself
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
