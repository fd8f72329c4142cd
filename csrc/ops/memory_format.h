// The memory layout of images: channels first (contiguous) or last.
#pragma once

#include "ops/operand.h"

namespace genesis::ops {

enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

// The memory format that the strides of x indicate, for results that preserve it: channels last if its dimensions have
// that order and no other, possibly with gaps; otherwise Contiguous.
MemoryFormat suggested_format(const Tensor& x);
bool has_format(const Tensor& x, MemoryFormat format);  // always true for Preserve
// x itself if it already has this format, otherwise a differentiable copy.
Tensor to_format(const char* op, const Tensor& x, MemoryFormat format);
// The same, but the strides must indicate the format unambiguously.
Tensor to_suggested_format(const char* op, const Tensor& x, MemoryFormat format);
Tensor clone_to_format(const char* op, const Tensor& x, MemoryFormat format);
// Uninitialized memory; Preserve means Contiguous here.
Tensor empty_in_format(const char* op, const Dims& shape, DType dtype, MemoryFormat format);

}  // namespace genesis::ops
