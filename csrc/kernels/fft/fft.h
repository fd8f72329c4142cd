// Fast Fourier transforms along one dimension.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// The views are complex64 or complex128 (`fft`), or these and their real dtype. `dim` is the transformed dimension; the
// other dimensions of x and y are equal. Results are multiplied by `scale`.
//
// y[k] = sum over j of x[j] exp(-2 pi i j k / n), or with +i if `inverse`.
inline constinit Kernel<void(View y, View x, int dim, bool inverse, double scale)> fft;
// For real x: the first n / 2 + 1 results. The others are their conjugates.
inline constinit Kernel<void(View y, View x, int dim, double scale)> fft_real;
// The inverse of fft_real, for real y of any length n along `dim`, where x has n / 2 + 1 elements.
inline constinit Kernel<void(View y, View x, int dim, double scale)> fft_to_real;

}  // namespace genesis::kernels
