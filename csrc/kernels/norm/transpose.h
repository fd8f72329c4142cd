// Transposing lines in vector registers, for kernels that process many short lines side by side.
#pragma once

#include <cstdint>

namespace genesis::kernels::GENESIS_ISA {

// to[i * width + j] = from[j * stride + i] for i < length and j < count <= width. T is float or double.
template <class T>
void transpose_lines(const T* from, int64_t stride, int64_t count, int64_t length, T* to, int64_t width);

// to[j * stride + i] = from[i * width + j]. A vector may be read past the last j.
template <class T>
void untranspose_lines(const T* from, int64_t width, int64_t count, int64_t length, T* to, int64_t stride);

}  // namespace genesis::kernels::GENESIS_ISA
