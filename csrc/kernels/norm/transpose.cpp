#include "kernels/norm/transpose.h"

#include "kernels/gemm/micro.h"

namespace genesis::kernels::GENESIS_ISA {

template <class T>
void transpose_lines(const T* from, int64_t stride, int64_t count, int64_t length, T* to, int64_t width) {
  pack(from, stride, 1, count, length, to, width);
}

template <class T>
void untranspose_lines(const T* from, int64_t width, int64_t count, int64_t length, T* to, int64_t stride) {
  scatter(from, width, length, count, T(0), {}, to, 1, stride);
}

template void transpose_lines(const float*, int64_t, int64_t, int64_t, float*, int64_t);
template void transpose_lines(const double*, int64_t, int64_t, int64_t, double*, int64_t);
template void untranspose_lines(const float*, int64_t, int64_t, int64_t, float*, int64_t);
template void untranspose_lines(const double*, int64_t, int64_t, int64_t, double*, int64_t);

}  // namespace genesis::kernels::GENESIS_ISA
