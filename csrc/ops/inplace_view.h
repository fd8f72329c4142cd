// In-place forms of operators that return views: x.unsqueeze_(0) gives x the shape of x.unsqueeze(0).
#pragma once

#include "ops/inplace.h"
#include "ops/memory_format.h"

namespace genesis::ops {

// A tensor with the shape and the history of x before such a change; raises if x must not be changed.
Tensor begin_view(const char* op, const Tensor& x);
// Gives x the shape, the strides and the position in the graph of `result`, a view of that tensor.
Tensor finish_view(const char* op, const Tensor& x, const Tensor& result);

template <class F>
Tensor inplace_view(const char* op, const Tensor& x, F&& f) {
  return finish_view(op, x, f(begin_view(op, x)));
}

// Changes the shape of x over its memory, which is enlarged (uninitialized) if necessary. Elements keep their positions
// in memory.
Tensor resize_(const char* op, const Tensor& x, const Dims& shape, MemoryFormat format);

}  // namespace genesis::ops
