// Which dtype two dtypes make. PyTorch's rules.
#pragma once

#include "core/dtype.h"

namespace genesis {

// The type of Python floats and of results that turn integers into floats; float32 unless set_default_dtype says else.
inline DType default_dtype = DType::Float32;

inline DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a > b) {
    const DType t = a;
    a = b;
    b = t;
  }
  if (a == DType::UInt8 && b == DType::Int8) return DType::Int16;  // the smallest that holds both
  if (a == DType::Float16 && b == DType::BFloat16) return DType::Float32;
  return b;
}

// `strong` takes part with its kind and width, `weak` (a 0-d tensor against one with dimensions, or a Python number
// against any tensor) with its kind only.
inline DType promote_weak(DType strong, DType weak) {
  if (is_floating(strong)) return strong;
  return strong == DType::Bool || is_floating(weak) ? promote(strong, weak) : strong;
}

}  // namespace genesis
