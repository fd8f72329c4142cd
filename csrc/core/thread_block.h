// Memory that each thread keeps from call to call, on the heap. What is declared thread_local lies in a segment that
// the loader fits into a small reserve shared with other libraries opened at run time (PyTorch's OpenMP among them), so
// kernels, which exist once for each instruction set, keep only an address there, or nothing.
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
