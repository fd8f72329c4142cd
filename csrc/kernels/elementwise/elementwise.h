// The loop under every pointwise kernel.
//
// A kernel supplies only an inner loop over contiguous memory in one compute type. This file walks the shapes: it
// aligns broadcast operands, merges dimensions, splits the work over the pool, and passes tiles to the inner loop. An
// operand that is contiguous in the compute type is used in place; any other (strided, half precision, another
// dtype) is first gathered and converted into a small buffer that stays in cache, and the result is scattered back the
// same way. A broadcast operand that does not move along a tile is passed as a single value.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <type_traits>

#include "core/view.h"
#include "kernels/work.h"

namespace genesis::kernels {

inline constexpr int kMaxOperands = 5;
inline constexpr int64_t kTile = 1024;

// data[0] is the output, then the inputs. Bit i of `scalars` says that input data[i] is a single value. `n` elements.
// kFar in `scalars` says that the output is far away, to loops that fetch it themselves, kAhead bytes before they
// write.
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
  // Of something that points to what it needs.
  static Params uncopied(const void* params) {
    Params p;
    p.data = params;
    p.size = -1;
    return p;
  }
};

struct Operand {
  View view;
  DType compute;  // the type in which the inner loop wants it
};

// Operand 0 is the output: its shape is the shape of the loop; the others broadcast to it.
// `grain` is the number of elements of a chunk, `fetches` whether the inner loop uses kFar.
void elementwise(std::initializer_list<Operand> operands, Inner inner, Params params = {}, int64_t grain = kLightGrain,
                 bool fetches = false);

// Told of every loop of this thread while a call is captured (plan/recorder.cpp).
using Note = void (*)(std::initializer_list<Operand> operands, Inner inner, Params params, int64_t grain);
inline thread_local constinit Note note = nullptr;

// float16 and bfloat16 compute in float32, small integers in int32, bool in uint8.
constexpr DType compute_type(DType t) { return info(t).compute; }

// A kernel was called for a dtype that it is not written for. The name of the operator is added to the message where
// the error reaches Python.
[[noreturn, gnu::cold]] void unsupported(DType t);

}  // namespace genesis::kernels
