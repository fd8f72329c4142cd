// Discrete Fourier transforms along dimensions. python/genesis/fft.py builds the functions of torch.fft on them.
#pragma once

#include "ops/operand.h"

namespace genesis::ops {

// Complex to complex along each of `dims`; with exp(+i ...) if `inverse`. The result is multiplied by `scale`.
Tensor fft(const Tensor& x, const Dims& dims, bool inverse, double scale);
// For a real tensor: the first n / 2 + 1 values along `dim`; the others are their conjugates.
Tensor fft_real(const Tensor& x, int64_t dim, double scale);
// The inverse of fft_real: n real values along `dim`, where x has n / 2 + 1.
Tensor fft_to_real(const Tensor& x, int64_t dim, int64_t n, double scale);

}  // namespace genesis::ops
