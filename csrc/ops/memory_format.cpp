#include "ops/memory_format.h"

#include "ops/create.h"
#include "ops/view.h"

namespace genesis::ops {

// The dimensions in the order of memory, outermost first: N, H, W, C.
static Dims order(const char* op, const Dims& shape, MemoryFormat format) {
  const int ndim = format == MemoryFormat::ChannelsLast ? 4 : 5;
  require(shape.size() == ndim, op, ": memory_format channels_last", ndim == 5 ? "_3d" : "", " needs ", ndim,
          " dimensions, got shape ", shape);
  Dims dims{0};
  for (int d = 2; d < ndim; ++d) dims.push_back(d);
  dims.push_back(1);
  return dims;
}

static Dims strides_of(const char* op, const Dims& shape, MemoryFormat format) {
  const Dims dims = order(op, shape, format);
  Dims permuted(shape.size()), strides(shape.size());
  for (int i = 0; i < shape.size(); ++i) permuted[i] = shape[static_cast<int>(dims[i])];
  const Dims steps = contiguous_strides(permuted);
  for (int i = 0; i < shape.size(); ++i) strides[static_cast<int>(dims[i])] = steps[i];
  return strides;
}

bool has_format(const Tensor& x, MemoryFormat format) {
  if (format == MemoryFormat::Preserve) return true;
  if (format == MemoryFormat::Contiguous) return x.contiguous();
  if (x.dim() != (format == MemoryFormat::ChannelsLast ? 4 : 5)) return false;
  const Dims want = strides_of("is_contiguous", x.shape(), format);
  for (int d = 0; d < x.dim(); ++d)
    if (x.size(d) != 1 && x.stride(d) != want[d] && x.numel() > 0) return false;
  return true;
}

Tensor to_format(const char* op, const Tensor& x, MemoryFormat format) {
  if (format == MemoryFormat::Preserve) return x;
  if (format == MemoryFormat::Contiguous) return contiguous(x);
  const Dims dims = order(op, x.shape(), format);
  if (has_format(x, format)) return x;
  return clone_to_format(op, x, format);
}

Tensor clone_to_format(const char* op, const Tensor& x, MemoryFormat format) {
  if (format == MemoryFormat::Preserve) return clone(x);
  if (format == MemoryFormat::Contiguous) return x.contiguous() ? clone(x) : contiguous(x);
  const Dims dims = order(op, x.shape(), format);
  Dims back(x.dim());
  for (int i = 0; i < x.dim(); ++i) back[static_cast<int>(dims[i])] = i;
  const Tensor last = permute(x, dims);
  return permute(last.contiguous() ? clone(last) : contiguous(last), back);
}

Tensor empty_in_format(const char* op, const Dims& shape, DType dtype, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) return empty(shape, dtype);
  return empty_strided(shape, strides_of(op, shape, format), dtype);
}

}  // namespace genesis::ops
