// The loop of every pointwise kernel.
//
// A kernel supplies only an inner loop over contiguous memory in one compute dtype. This file handles shapes: it aligns
// broadcast operands, merges dimensions, divides the work among threads, and passes tiles to the inner loop. An operand
// that is contiguous in the compute dtype is used in place. Any other operand (strided, half precision, another dtype)
// is gathered and converted into a small buffer that stays in the cache, and the result is scattered in the same way. A
// broadcast operand that is constant along a tile is passed as a single value.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <type_traits>

#include "core/view.h"
#include "kernels/work.h"

namespace genesis::kernels {

inline constexpr int kMaxOperands = 5;
inline constexpr int64_t kTile = 1024;

// data[0] is the output, followed by the inputs, with `n` elements. Bit i of `scalars` is set if input data[i] is a
// single value. kFar in `scalars` tells loops that prefetch by themselves that the output is not in the cache; they
// prefetch kAhead bytes ahead.
inline constexpr unsigned kFar = 1u << 31;
inline constexpr int64_t kAhead = 2048;
using Inner = void (*)(char* const* data, unsigned scalars, int64_t n, const void* params);

// Parameters of an inner loop. The size is -1 if they cannot be copied.
struct Params {
  const void* data = nullptr;
  int64_t size = 0;
  Params() = default;
  Params(std::nullptr_t) {}
  template <class T>
    requires(!std::is_void_v<T>)
  Params(const T* params) : data(params), size(std::is_trivially_copyable_v<T> ? int64_t{sizeof(T)} : -1) {}
  // For parameters that contain pointers.
  static Params uncopied(const void* params) {
    Params p;
    p.data = params;
    p.size = -1;
    return p;
  }
};

struct Operand {
  View view;
  DType compute;  // the dtype that the inner loop expects
};

// Operand 0 is the output. Its shape is the shape of the loop, to which the others are broadcast. `grain` is the number
// of elements of a chunk; `fetches` says whether the inner loop uses kFar.
void elementwise(std::initializer_list<Operand> operands, Inner inner, Params params = {}, int64_t grain = kLightGrain,
                 bool fetches = false);

// If set, called for every loop of this thread while a call is captured (plan/recorder.cpp).
using Note = void (*)(std::initializer_list<Operand> operands, Inner inner, Params params, int64_t grain);
inline thread_local constinit Note note = nullptr;

// float16 and bfloat16 are computed in float32, small integers in int32, bool in uint8.
constexpr DType compute_type(DType t) { return info(t).compute; }

// Raises the error for a dtype that a kernel does not support. The operator's name is added to the message when the
// error reaches Python.
[[noreturn, gnu::cold]] void unsupported(DType t);

}  // namespace genesis::kernels
