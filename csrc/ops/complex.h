// Complex numbers: their parts, and how other operators treat them.
//
// Gradients follow PyTorch: that of a real loss with respect to z is dL/dRe(z) + i dL/dIm(z). The rule of a holomorphic
// function f multiplies by the conjugate of f'(z); conj() returns real tensors as they are, so rules are written once.
// The gradient of a real input beside complex ones is the real part of what its rule returns: the engine converts
// gradients to the dtype of their input, which drops the imaginary part.
#pragma once

#include "ops/inplace.h"
#include "ops/operand.h"
#include "ops/view.h"

namespace genesis::ops {

// Eager: there are no lazy conjugates. A real tensor is returned as is.
Tensor conj_physical(const Tensor& x, Out out = {});
inline Tensor conj(Tensor x) { return is_complex(x.dtype()) ? conj_physical(x) : x; }

// Views on the same memory: (...) complex as (..., 2) real, and back.
Tensor view_as_real(const Tensor& x);
Tensor view_as_complex(const Tensor& x);
// The elements of the base (or of a tensor with the layout `whole` of the base) that a view shows. The element size of
// the view may differ from that of its base.
Tensor part_of(const Tensor& base, const Geometry& whole, const Geometry& part, DType dtype);
// Views on the parts. real() of a real tensor is the tensor itself.
Tensor real(const Tensor& x);
Tensor imag(const Tensor& x);

Tensor angle(const Tensor& x, Out out = {});
Tensor sgn(const Tensor& x, Out out = {});  // z / |z|, and 0 at 0; the sign of real numbers
Tensor complex(const Tensor& re, const Tensor& im, Out out = {});
Tensor polar(const Tensor& size, const Tensor& angle, Out out = {});
Tensor isreal(const Tensor& x);

// view_as_complex for a tensor that nothing else refers to.
Tensor complex_of_pairs(const Tensor& x);
// Applies f to a complex tensor viewed as pairs of real numbers, for operations that are linear over the reals. f
// returns new memory and keeps the last dimension.
template <class F>
Tensor over_parts(const Tensor& x, F&& f) {
  return complex_of_pairs(f(view_as_real(x)));
}

}  // namespace genesis::ops
