// Memory that a thread reuses between calls, for kernels that copy operands into another layout.
#pragma once

#include "core/thread_block.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// Each thread has its own memory for each Scratch. get() invalidates earlier contents.
template <class T>
class Scratch {
 public:
  T* get(int64_t size) const {
    ThreadBlock& block = thread_block(this);
    block.reserve(size * static_cast<int64_t>(sizeof(T)));
    return reinterpret_cast<T*>(block.data);
  }
};

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
