// The memory layout of images: channels first (contiguous) or last.
#pragma once

#include "ops/operand.h"

namespace genesis::ops {

enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

// What the strides of x say, for results that take the layout over: channels last where its dimensions lie in that
// order and in no other, also with gaps; else Contiguous.
MemoryFormat suggested_format(const Tensor& x);
bool has_format(const Tensor& x, MemoryFormat format);  // of Preserve: any
// x itself if it already has this layout; else a differentiable copy.
Tensor to_format(const char* op, const Tensor& x, MemoryFormat format);
// The same, but the strides must tell the format, also where those of several would do.
Tensor to_suggested_format(const char* op, const Tensor& x, MemoryFormat format);
Tensor clone_to_format(const char* op, const Tensor& x, MemoryFormat format);
// Memory that is not initialised; Preserve is Contiguous here.
Tensor empty_in_format(const char* op, const Dims& shape, DType dtype, MemoryFormat format);

}  // namespace genesis::ops
