#include "ops/memory_format.h"

#include "autograd/record.h"
#include "ops/create.h"

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

MemoryFormat suggested_format(const Tensor& x) {
  const int ndim = x.dim();
  if ((ndim != 4 && ndim != 5) || x.stride(1) == 0) return MemoryFormat::Contiguous;
  int64_t least = 0;
  for (int i = 0; i < ndim; ++i) {
    const int d = i == 0 ? 1 : i == ndim - 1 ? 0 : ndim - i;
    if (x.size(d) == 0 || x.stride(d) < least) return MemoryFormat::Contiguous;
    if (d == 0 && least == x.stride(1)) return MemoryFormat::Contiguous;  // a single column: contiguous as well
    least = x.stride(d) * x.size(d);
  }
  return ndim == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
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
  if (has_format(x, format)) return x;
  return clone_to_format(op, x, format);
}

Tensor to_suggested_format(const char* op, const Tensor& x, MemoryFormat format) {
  if (format == MemoryFormat::Preserve || format == MemoryFormat::Contiguous) return to_format(op, x, format);
  return suggested_format(x) == format ? x : clone_to_format(op, x, format);
}

Tensor clone_to_format(const char* op, const Tensor& x, MemoryFormat format) {
  if (format == MemoryFormat::Preserve) return clone(x);
  if (format == MemoryFormat::Contiguous) return x.contiguous() ? clone(x) : contiguous(x);
  Tensor y = empty_in_format(op, x.shape(), x.dtype(), format);
  {
    const WithGradMode off(false);
    copy_(y, x);
  }
  return record("clone", std::move(y), inputs(x), save(), [](const Tensor& dy, const Saved&) { return Grads{dy}; });
}

Tensor empty_in_format(const char* op, const Dims& shape, DType dtype, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve) return empty(shape, dtype);
  return empty_strided(shape, strides_of(op, shape, format), dtype);
}

}  // namespace genesis::ops
