// Index arguments: checked before anything is read or written, and converted to the form that kernels require.
#pragma once

#include "core/tensor.h"

namespace genesis::ops {

// `index` as int64; raises unless it is int64 or int32.
Tensor as_indices(const char* op, const Tensor& index);
// The same, checked to be in [0, size). With `negative`, [-size, 0) counts from the end.
Tensor checked_indices(const char* op, const Tensor& index, int dim, int64_t size, bool negative = false);
// Raises for the first index outside [0, size), which must exist.
[[noreturn]] void index_out_of_range(const char* op, const Tensor& index, int dim, int64_t size);

// The view of a tensor for kernels that require at least one dimension.
inline View line(const Tensor& t) {
  static constexpr int64_t one = 1;
  return t.dim() ? t.view() : View{t->data, t.dtype(), 1, &one, &one};
}

// A 1-d index expanded to an index for each element of `shape`, along dimension `dim`.
class IndexAlong {
 public:
  IndexAlong(const Tensor& index, const Dims& shape, int dim)
      : shape_(shape.empty() ? Dims{1} : shape), strides_(shape_.size(), 0) {
    strides_[dim] = index.dim() ? index.stride(0) : 0;
    data_ = index->data;
  }
  View view() const { return {data_, DType::Int64, shape_.size(), shape_.data(), strides_.data()}; }

 private:
  Dims shape_, strides_;
  void* data_;
};

}  // namespace genesis::ops
