#include "ops/complex.h"

#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/create.h"
#include "ops/view.h"

namespace genesis::py {

static const Family family({.kind = Kind::Pointwise, .page = "pointwise"}, [] {
  def<"complex(Tensor real, Tensor imag, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::complex(a.tensor(0), a.tensor(1));
  }>(kFunction, "The complex tensor real + imag * 1j.");
  def<"polar(Tensor abs, Tensor angle, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::polar(a.tensor(0), a.tensor(1));
  }>(kFunction, "The complex tensor with absolute values `abs` and angles `angle` (in radians).");
  def<"angle(Tensor input, *, Tensor? out=None) -> Tensor", [](Args& a) { return ops::angle(a.tensor(0)); }>(
      kBoth, "The angle of each element in radians; for a real tensor, 0 or pi.");
  def<"conj(Tensor input) -> Tensor", [](Args& a) { return ops::conj(a.tensor(0)); }>(
      kBoth, "The complex conjugate; a real tensor is returned unchanged.");
  def<"conj_physical(Tensor input, *, Tensor? out=None) -> Tensor", [](Args& a) { return ops::conj(a.tensor(0)); }>(
      kBoth, "The complex conjugate; a real tensor is returned unchanged.");
  def<"conj_physical_(Tensor input) -> Self", [](Args& a) {
    return ops::inplace("conj_physical_", a.tensor(0), {},
                        [](const Tensor& x, ops::Out out) { return ops::conj_physical(x, out); });
  }>(kMethod, "In-place version of conj_physical().");
  def<"isreal(Tensor input) -> Tensor", [](Args& a) { return ops::isreal(a.tensor(0)); }>(
      kBoth, "Whether the imaginary part of each element is zero.");
  def<"real(Tensor input) -> Tensor", [](Args& a) { return ops::real(a.tensor(0)); }>(
      kFunction, "A view of the real part; a real tensor is returned unchanged.", {.kind = Kind::View});
  def<"imag(Tensor input) -> Tensor", [](Args& a) { return ops::imag(a.tensor(0)); }>(
      kFunction, "A view of the imaginary part of a complex tensor.", {.kind = Kind::View});
  def<"view_as_real(Tensor input) -> Tensor", [](Args& a) { return ops::view_as_real(a.tensor(0)); }>(
      kFunction,
      "A view of a complex tensor as a real tensor whose last dimension, of size 2, holds the real and imaginary "
      "parts.",
      {.kind = Kind::View});
  def<"view_as_complex(Tensor input) -> Tensor", [](Args& a) { return ops::view_as_complex(a.tensor(0)); }>(
      kFunction,
      "A view of a real tensor as a complex tensor. The last dimension must have size 2: real and imaginary parts.",
      {.kind = Kind::View});
  def<"adjoint(Tensor input) -> Tensor",
      [](Args& a) {
        const Tensor& x = a.tensor(0);
        require(x.dim() != 1, "adjoint: input must have 0 or at least 2 dimensions, got shape ", x.shape());
        return ops::conj(x.dim() == 0 ? x : ops::transpose(x, -2, -1));
      }>(kBoth, "The conjugate transpose of the last two dimensions; of a 0-d tensor, its conjugate.",
         {.kind = Kind::Move});
  def<"resolve_conj(Tensor input) -> Tensor", [](Args& a) { return a.tensor(0); }>(
      kBoth | kTool, "Returns the input: conjugation is never lazy.");
  def<"resolve_neg(Tensor input) -> Tensor", [](Args& a) { return a.tensor(0); }>(
      kBoth | kTool, "Returns the input: negation is never lazy.");
  def<"is_conj(Tensor input) -> bool", [](Args& a) { return (a.tensor(0), false); }>(
      kBoth | kTool, "Returns False: conjugation is never lazy.");
  def<"is_neg(Tensor input) -> bool", [](Args& a) { return (a.tensor(0), false); }>(
      kBoth | kTool, "Returns False: negation is never lazy.");
});

}  // namespace genesis::py
