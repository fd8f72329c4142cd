// Scratch memory of each thread that is reused between calls. It is on the heap, because the loader reserves little
// space for thread_local variables of libraries that are loaded at run time. Kernels, which are compiled once per
// instruction set, therefore have at most a pointer there.
#pragma once

#include <cstdint>

namespace genesis {

struct ThreadBlock {
  char* data = nullptr;  // aligned to 64 bytes
  int64_t size = 0, used = 0;
  // Reserves `bytes`; growth invalidates contents.
  void reserve(int64_t bytes);
};

// The block of the calling thread for `key`, initially empty; valid until the next call.
ThreadBlock& thread_block(const void* key);

}  // namespace genesis
