// Scratch memory of each thread, kept from call to call. It is on the heap: the loader reserves only little space for
// thread_local variables of libraries that are opened at run time, and shares it among them. Kernels, which are
// compiled once for each instruction set, therefore have at most a pointer there.
#pragma once

#include <cstdint>

namespace genesis {

struct ThreadBlock {
  char* data = nullptr;  // aligned to 64 bytes
  int64_t size = 0, used = 0;
  // Room for `bytes`; contents do not survive growth.
  void reserve(int64_t bytes);
};

// The block of the calling thread that belongs to `key`, empty at first; valid until the next call.
ThreadBlock& thread_block(const void* key);

}  // namespace genesis
