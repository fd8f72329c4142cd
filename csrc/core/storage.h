// A block of memory that tensors share. Every in-place write bumps its version, and says who wrote, so that a
// backward pass can tell when a tensor that it saved has been changed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace genesis {

struct Storage {
  int64_t refs = 0;
  uint32_t version = 0;
  bool writable = true;          // false for read-only NumPy memory
  const char* writer = nullptr;  // the operation that wrote last
  char* data = nullptr;
  size_t nbytes = 0;
  void (*free)(Storage*) = nullptr;  // frees memory and header
  void* owner = nullptr;             // whoever owns borrowed memory

  static Storage* allocate(size_t nbytes);
  // Memory of somebody else's: `done(owner)` is called when the last tensor is gone.
  static Storage* borrow(void* data, size_t nbytes, void* owner, void (*done)(void* owner));

  void retain() { ++refs; }
  void release() {
    if (--refs == 0) free(this);
  }
  void written(const char* op) {
    ++version;
    writer = op;
  }
};

}  // namespace genesis
