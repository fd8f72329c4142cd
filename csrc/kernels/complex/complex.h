// Elementwise functions of complex numbers over broadcast views. arithmetic.cpp is compiled for every instruction set;
// functions.cpp calls the C library for each element and is compiled once.
#pragma once

#include "core/view.h"
#include "kernels/elementwise/arithmetic.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// The computation uses the output's dtype, which is complex.
inline constinit Binary complex_add, complex_sub, complex_mul, complex_div, complex_pow;
inline constinit Unary complex_conj, complex_neg, complex_square, complex_reciprocal, complex_sgn;
inline constinit Unary complex_exp, complex_exp2, complex_expm1, complex_log, complex_log2, complex_log10,
    complex_log1p, complex_sqrt, complex_rsqrt, complex_sigmoid;
inline constinit Unary complex_sin, complex_cos, complex_tan, complex_asin, complex_acos, complex_atan;
inline constinit Unary complex_sinh, complex_cosh, complex_tanh, complex_asinh, complex_acosh, complex_atanh;

// x is complex; y has the corresponding real dtype.
inline constinit Unary complex_abs, complex_angle;

// Like cumprod and linear_scan (reduce/scan.h), for views of one complex dtype.
inline constinit Kernel<void(View y, View x, int dim, bool reverse)> complex_cumprod;
inline constinit Kernel<void(View y, View a, View b, int dim, bool reverse)> complex_linear_scan;

}  // namespace genesis::kernels
