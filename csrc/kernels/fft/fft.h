// Fast Fourier transforms along one dimension.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// Views of complex64 or complex128 (`fft`), or of them and their real type. `dim` is the transformed dimension; the
// others of x and y are equal. Results are multiplied by `scale`.
//
// y[k] = sum over j of x[j] exp(-2 pi i j k / n), or with +i if `inverse`.
inline constinit Kernel<void(View y, View x, int dim, bool inverse, double scale)> fft;
// Of real x: the n / 2 + 1 first of them, of which the others are the conjugates.
inline constinit Kernel<void(View y, View x, int dim, double scale)> fft_real;
// The inverse of that, for real y of any length n along `dim`; x has n / 2 + 1 there.
inline constinit Kernel<void(View y, View x, int dim, double scale)> fft_to_real;

}  // namespace genesis::kernels
