// Memory that a thread keeps from call to call, for kernels that copy operands into another arrangement.
#pragma once

#include <cstdint>
#include <new>

namespace genesis::kernels::GENESIS_ISA {
namespace {

// Contents do not survive get().
template <class T>
class Scratch {
 public:
  ~Scratch() { release(); }
  T* get(int64_t size) {
    if (size > size_) {
      release();
      data_ = static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{64}));
      size_ = size;
    }
    return data_;
  }

 private:
  void release() {
    ::operator delete(data_, std::align_val_t{64});
    data_ = nullptr;
    size_ = 0;
  }
  T* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
