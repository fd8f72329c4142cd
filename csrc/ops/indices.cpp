#include "ops/indices.h"

#include "autograd/mode.h"
#include "kernels/index/gather.h"
#include "ops/create.h"

namespace genesis::ops {

Tensor as_indices(const char* op, const Tensor& index) {
  // As in PyTorch, an empty index may have any type.
  require<DTypeError>(index.dtype() == DType::Int64 || index.dtype() == DType::Int32 || index.numel() == 0, op,
                      ": index must be int64 or int32, got ", index.dtype(), "; use index.long()");
  return cast(index, DType::Int64);
}

[[noreturn, gnu::noinline, gnu::cold]] static void out_of_range(const char* op, const Tensor& index, int64_t at,
                                                                int dim, int64_t size) {
  Dims position(index.dim());
  int64_t offset = 0;
  for (int d = index.dim() - 1; d >= 0; --d) {
    position[d] = at % index.size(d);
    at /= index.size(d);
    offset += position[d] * index.stride(d);
  }
  const int64_t value = index.data<int64_t>()[offset];
  if (index.dim() == 0)
    fail<IndexError>(op, ": index ", value, " is out of range for dimension ", dim, " of size ", size, "; valid: 0..",
                     size - 1);
  fail<IndexError>(op, ": index ", value, " at position ", position, " is out of range for dimension ", dim,
                   " of size ", size, "; valid: 0..", size - 1);
}

void index_out_of_range(const char* op, const Tensor& index, int dim, int64_t size) {
  out_of_range(op, index, kernels::find_outside(index.view(), 0, size), dim, size);
}

Tensor checked_indices(const char* op, const Tensor& index_in, int dim, int64_t size, bool negative) {
  const Tensor index = as_indices(op, index_in);
  const int64_t outside = kernels::find_outside(index.view(), 0, size);
  if (outside < 0) return index;
  if (!negative) out_of_range(op, index, outside, dim, size);
  const int64_t beyond = kernels::find_outside(index.view(), -size, size);
  if (beyond >= 0) out_of_range(op, index, beyond, dim, size);
  const WithGradMode off(false);
  Tensor wrapped = index.contiguous() ? clone(index) : contiguous(index);
  kernels::wrap_negative(wrapped.address<int64_t>(), wrapped.numel(), size);
  return wrapped;
}

}  // namespace genesis::ops
