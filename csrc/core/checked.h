// Arithmetic of sizes that raises where int64 would overflow. Arguments of a call (paddings, dilations, repeats, ...)
// may be any integers; sizes that are computed from them before a result is allocated use these functions.
#pragma once

#include <cstdint>

#include "core/error.h"

namespace genesis::checked {

/// No dimension, window or padding is larger: the address space has 2**47 bytes.
inline constexpr int64_t kMaxSize = int64_t{1} << 47;

inline constexpr const char* kLimit = ", more than memory can hold (2**47); use smaller sizes";

inline int64_t mul(const char* op, int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) [[unlikely]]
    fail(op, ": the arguments give a size of ", a, " * ", b, kLimit);
  return result;
}
inline int64_t add(const char* op, int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) [[unlikely]]
    fail(op, ": the arguments give a size of ", a, " + ", b, kLimit);
  return result;
}

/// A size, after checking that some memory might hold as many elements.
inline int64_t size(const char* op, int64_t value) {
  if (value > kMaxSize) [[unlikely]]
    fail(op, ": the arguments give a size of ", value, kLimit);
  return value;
}

/// How many elements a window of `kernel` taps spans.
inline int64_t span(const char* op, int64_t kernel, int64_t dilation) {
  int64_t result;
  if (__builtin_mul_overflow(kernel - 1, dilation, &result) || result >= kMaxSize) [[unlikely]]
    fail(op, ": a kernel of size ", kernel, " with dilation ", dilation,
         " spans more than 2**47 elements; use a smaller kernel_size or dilation");
  return result + 1;
}
/// A dimension with `padding` on both sides.
inline int64_t padded(const char* op, int64_t in, int64_t padding) {
  int64_t result;
  if (__builtin_mul_overflow(padding, 2, &result) || __builtin_add_overflow(in, result, &result) || result > kMaxSize)
      [[unlikely]]
    fail(op, ": a dimension of size ", in, " with padding ", padding,
         " has more than 2**47 elements; use a smaller padding");
  return result;
}

}  // namespace genesis::checked
