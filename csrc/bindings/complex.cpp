#include "ops/complex.h"

#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/create.h"
#include "ops/view.h"

namespace genesis::py {

static const Family family({.kind = Kind::Pointwise, .page = "pointwise"}, [] {
  def<"complex(Tensor real, Tensor imag, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::complex(a.tensor(0), a.tensor(1)); }>(kFunction, "real + imag * 1j.");
  def<"polar(Tensor abs, Tensor angle, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::polar(a.tensor(0), a.tensor(1));
  }>(kFunction, "The complex numbers of these absolute values and angles.");
  def<"angle(Tensor input, *, Tensor? out=None) -> Tensor", [](Args& a) { return ops::angle(a.tensor(0)); }>(
      kBoth, "The angle of complex numbers in radians; of real numbers, 0 or pi.");
  def<"conj(Tensor input) -> Tensor", [](Args& a) { return ops::conj(a.tensor(0)); }>(
      kBoth, "The complex conjugate; a real tensor itself.");
  def<"conj_physical(Tensor input, *, Tensor? out=None) -> Tensor", [](Args& a) { return ops::conj(a.tensor(0)); }>(
      kBoth, "The complex conjugate; a real tensor itself.");
  def<"conj_physical_(Tensor input) -> Self", [](Args& a) {
    return ops::inplace("conj_physical_", a.tensor(0), {},
                        [](const Tensor& x, ops::Out out) { return ops::conj_physical(x, out); });
  }>(kMethod, "In-place form.");
  def<"isreal(Tensor input) -> Tensor", [](Args& a) { return ops::isreal(a.tensor(0)); }>(
      kBoth, "Whether the imaginary part of each element is zero.");
  def<"real(Tensor input) -> Tensor", [](Args& a) { return ops::real(a.tensor(0)); }>(
      kFunction, "The real part, a view; a real tensor itself.", {.kind = Kind::View});
  def<"imag(Tensor input) -> Tensor", [](Args& a) { return ops::imag(a.tensor(0)); }>(
      kFunction, "The imaginary part of a complex tensor, a view.", {.kind = Kind::View});
  def<"view_as_real(Tensor input) -> Tensor", [](Args& a) { return ops::view_as_real(a.tensor(0)); }>(
      kFunction, "A complex tensor as a real one with a last dimension of size 2, on the same memory.",
      {.kind = Kind::View});
  def<"view_as_complex(Tensor input) -> Tensor", [](Args& a) { return ops::view_as_complex(a.tensor(0)); }>(
      kFunction, "A real tensor whose last dimension has size 2 as a complex one, on the same memory.",
      {.kind = Kind::View});
  def<"adjoint(Tensor input) -> Tensor", [](Args& a) {
    require(a.tensor(0).dim() >= 2, "adjoint: needs at least 2 dimensions, got shape ", a.tensor(0).shape());
    return ops::conj(ops::transpose(a.tensor(0), -2, -1));
  }>(kBoth, "The last two dimensions swapped, conjugated.", {.kind = Kind::Move});
  def<"resolve_conj(Tensor input) -> Tensor", [](Args& a) { return a.tensor(0); }>(
      kBoth | kTool, "The tensor itself: conjugation is never lazy.");
  def<"resolve_neg(Tensor input) -> Tensor", [](Args& a) { return a.tensor(0); }>(
      kBoth | kTool, "The tensor itself: negation is never lazy.");
  def<"is_conj(Tensor input) -> bool", [](Args& a) { return (a.tensor(0), false); }>(
      kBoth | kTool, "Whether the tensor is a lazy conjugate: never.");
  def<"is_neg(Tensor input) -> bool", [](Args& a) { return (a.tensor(0), false); }>(
      kBoth | kTool, "Whether the tensor is a lazy negation: never.");
});

}  // namespace genesis::py
