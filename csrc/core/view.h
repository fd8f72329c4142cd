// The part of a tensor that a kernel uses: address, dtype, shape and strides, without reference counts.
#pragma once

#include <cstdint>

#include "core/dtype.h"

namespace genesis {

inline constexpr int kMaxDims = 64;  // for any tensor: loops over dimensions keep their state on the stack

struct View {
  void* data;
  DType dtype;
  int ndim;
  const int64_t* shape;
  const int64_t* strides;  // in elements; 0 along broadcast dimensions

  int64_t numel() const {
    int64_t n = 1;
    for (int d = 0; d < ndim; ++d) n *= shape[d];
    return n;
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

}  // namespace genesis
