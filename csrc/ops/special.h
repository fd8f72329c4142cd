// Special functions that are too rare to vectorize: computed in double, element by element.
#pragma once

#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::ops {

// Modified Bessel functions of the first kind, of order 0 and 1; those with e are multiplied by exp(-|x|).
Tensor i0(const Tensor& x, Out out = {});
Tensor special_i0e(const Tensor& x);
Tensor special_i1(const Tensor& x);
Tensor special_i1e(const Tensor& x);
// Bessel functions of order 0 and 1: of the first and second kind, modified of the second kind (also multiplied by
// exp(x)), spherical; and the Airy function.
Tensor special_bessel_j0(const Tensor& x);
Tensor special_bessel_j1(const Tensor& x);
Tensor special_bessel_y0(const Tensor& x);
Tensor special_bessel_y1(const Tensor& x);
Tensor special_modified_bessel_k0(const Tensor& x);
Tensor special_modified_bessel_k1(const Tensor& x);
Tensor special_scaled_modified_bessel_k0(const Tensor& x);
Tensor special_scaled_modified_bessel_k1(const Tensor& x);
Tensor special_spherical_bessel_j0(const Tensor& x);
Tensor special_airy_ai(const Tensor& x);
// Orthogonal polynomials of x of degree n (its integer part; 0 if it is negative). shifted: of 2 x - 1.
enum class Polynomial : uint8_t {
  ChebyshevT,
  ChebyshevU,
  ChebyshevV,
  ChebyshevW,
  HermiteH,
  HermiteHe,
  Laguerre,
  Legendre,
};
Tensor polynomial(const char* op, Polynomial family, bool shifted, const Operand& x, const Operand& n);
Tensor special_erfcx(const Tensor& x);  // exp(x^2) erfc(x)
// The normal distribution function, its logarithm, and its inverse.
Tensor special_ndtr(const Tensor& x);
Tensor special_log_ndtr(const Tensor& x);
Tensor special_ndtri(const Tensor& x);
Tensor special_entr(const Tensor& x);                            // -x log(x)
Tensor special_xlog1py(const Operand& x, const Operand& y);      // x log(1 + y), 0 if x is 0
Tensor special_zeta(const Operand& exponent, const Operand& x);  // the sum of (x + k)^-exponent over k = 0, 1, ...
// The regularised lower and upper incomplete gamma functions of a and x.
Tensor igamma(const Operand& a, const Operand& x);
Tensor igammac(const Operand& a, const Operand& x);
// The derivative of the logarithm of a gamma variate with respect to its shape a. It is not differentiable itself.
Tensor log_gamma_slope(const Tensor& a, const Tensor& log_variate);

}  // namespace genesis::ops
