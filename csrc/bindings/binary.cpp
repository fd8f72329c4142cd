#include "ops/binary.h"

#include "bindings/elementwise.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family({.kind = Kind::Pointwise, .page = "pointwise"}, [] {
  def_zip<"atan2", ops::atan2>("The angle of the point (other, input), in (-pi, pi].");
  def_zip<"arctan2", ops::atan2>("Another name of atan2.");
  def_zip<"hypot", ops::hypot>("sqrt(input**2 + other**2), without overflow.");
  def_zip<"copysign", ops::copysign>("The magnitude of input with the sign of other.");
  def_zip_function<"logaddexp", ops::logaddexp>("log(exp(input) + exp(other)), without overflow.");
  def_zip_function<"logaddexp2", ops::logaddexp2>("log2(2**input + 2**other), without overflow.");
  def_zip<"ldexp", ops::ldexp>("input * 2**other.");
});

}  // namespace genesis::py
