#include "kernels/turn.h"

#include "kernels/gemm_micro.h"

namespace genesis::kernels::GENESIS_ISA {

template <class T>
void turn(const T* from, int64_t stride, int64_t count, int64_t length, T* to, int64_t width) {
  pack(from, stride, 1, count, length, to, width);
}

template <class T>
void turn_back(const T* from, int64_t width, int64_t count, int64_t length, T* to, int64_t stride) {
  scatter(from, width, length, count, T(0), {}, to, 1, stride);
}

template void turn(const float*, int64_t, int64_t, int64_t, float*, int64_t);
template void turn(const double*, int64_t, int64_t, int64_t, double*, int64_t);
template void turn_back(const float*, int64_t, int64_t, int64_t, float*, int64_t);
template void turn_back(const double*, int64_t, int64_t, int64_t, double*, int64_t);

}  // namespace genesis::kernels::GENESIS_ISA
