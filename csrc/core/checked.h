// Arithmetic of sizes that raises where int64 would overflow. Arguments of a call (paddings, dilations, repeats, ...)
// may be any integers; whatever is computed from them before a result is allocated goes through here.
#pragma once

#include <cstdint>

#include "core/error.h"

namespace genesis::checked {

/// No dimension, window or padding is larger: the address space has 2**47 bytes.
inline constexpr int64_t kMaxSize = int64_t{1} << 47;

[[noreturn, gnu::noinline, gnu::cold]] inline void fail_size(const char* op) {
  fail(op, ": the arguments give a size that no memory holds (beyond 2**47); use smaller numbers");
}

inline int64_t mul(const char* op, int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_mul_overflow(a, b, &result)) [[unlikely]]
    fail_size(op);
  return result;
}
inline int64_t add(const char* op, int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) [[unlikely]]
    fail_size(op);
  return result;
}

/// A size, after checking that some memory might hold as many elements.
inline int64_t size(const char* op, int64_t value) {
  if (value > kMaxSize) [[unlikely]]
    fail_size(op);
  return value;
}

/// How many elements a window of `kernel` taps spans.
inline int64_t span(const char* op, int64_t kernel, int64_t dilation) {
  return size(op, add(op, mul(op, kernel - 1, dilation), 1));
}
/// A dimension with `padding` on both sides.
inline int64_t padded(const char* op, int64_t in, int64_t padding) {
  return size(op, add(op, in, mul(op, padding, 2)));
}

}  // namespace genesis::checked
