#include "kernels/complex/complex.h"
#include "kernels/complex/loops.h"

namespace genesis::kernels::GENESIS_ISA {

void complex_add(View y, View a, View b) {
  zip_complex<[](auto a, auto b) { return a + b; }>(y, a, b);
}
void complex_sub(View y, View a, View b) {
  zip_complex<[](auto a, auto b) { return a - b; }>(y, a, b);
}
void complex_mul(View y, View a, View b) {
  zip_complex<[](auto a, auto b) { return product(a, b); }>(y, a, b);
}
void complex_div(View y, View a, View b) {
  zip_complex<[](auto a, auto b) { return quotient(a, b); }>(y, a, b);
}
void complex_conj(View y, View x) {
  map_complex<[](auto z) { return decltype(z)(z.real(), -z.imag()); }>(y, x);
}
void complex_neg(View y, View x) {
  map_complex<[](auto z) { return -z; }>(y, x);
}
void complex_square(View y, View x) {
  map_complex<[](auto z) { return product(z, z); }>(y, x);
}
void complex_abs(View y, View x) {
  map_to_real<[](auto z) { return magnitude(z); }>(y, x);
}
GENESIS_KERNEL(complex_add)
GENESIS_KERNEL(complex_sub)
GENESIS_KERNEL(complex_mul)
GENESIS_KERNEL(complex_div)
GENESIS_KERNEL(complex_conj)
GENESIS_KERNEL(complex_neg)
GENESIS_KERNEL(complex_square)
GENESIS_KERNEL(complex_abs)

}  // namespace genesis::kernels::GENESIS_ISA
