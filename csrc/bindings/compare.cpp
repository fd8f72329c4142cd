#include "ops/compare.h"

#include "bindings/elementwise.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family({.kind = Kind::Pointwise, .page = "comparison"}, [] {
  def_zip<"eq", ops::eq>("input == other, elementwise.");
  def_zip<"ne", ops::ne>("input != other, elementwise.");
  def_zip<"lt", ops::lt>("input < other, elementwise.");
  def_zip<"le", ops::le>("input <= other, elementwise.");
  def_zip<"gt", ops::gt>("input > other, elementwise.");
  def_zip<"ge", ops::ge>("input >= other, elementwise.");
  def_zip<"not_equal", ops::ne>("Another name of ne.");
  def_zip<"less", ops::lt>("Another name of lt.");
  def_zip<"less_equal", ops::le>("Another name of le.");
  def_zip<"greater", ops::gt>("Another name of gt.");
  def_zip<"greater_equal", ops::ge>("Another name of ge.");
  def_zip<"logical_and", ops::logical_and>("Whether both are nonzero.", {.page = "pointwise"});
  def_zip<"logical_or", ops::logical_or>("Whether either is nonzero.", {.page = "pointwise"});
  def_zip<"logical_xor", ops::logical_xor>("Whether exactly one is nonzero.", {.page = "pointwise"});
  def_map<"logical_not", ops::logical_not>("Whether input is zero.", {.page = "pointwise"});
  def<"isnan(Tensor input) -> Tensor", [](Args& a) { return ops::isnan(a.tensor(0)); }>(kBoth, "Where input is NaN.");
  def<"isinf(Tensor input) -> Tensor", [](Args& a) { return ops::isinf(a.tensor(0)); }>(kBoth,
                                                                                        "Where input is infinite.");
  def<"isfinite(Tensor input) -> Tensor", [](Args& a) { return ops::isfinite(a.tensor(0)); }>(
      kBoth, "Where input is neither NaN nor infinite.");
  def<"isposinf(Tensor input, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::isposinf(a.tensor(0), a.out(1)); }>(kBoth, "Where input is inf.");
  def<"isneginf(Tensor input, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::isneginf(a.tensor(0), a.out(1)); }>(kBoth, "Where input is -inf.");
  def<"signbit(Tensor input, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::signbit(a.tensor(0), a.out(1));
  }>(kBoth, "Where the sign is minus, of -0.0 too.", {.page = "pointwise"});
  def<"isclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
      [](Args& a) { return ops::isclose(a.tensor(0), a.tensor(1), a.number(2), a.number(3), a.boolean(4)); }>(
      kBoth, "Where abs(input - other) <= atol + rtol * abs(other).");
  def<"allclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Any",
      [](Args& a) { return ops::allclose(a.tensor(0), a.tensor(1), a.number(2), a.number(3), a.boolean(4)); }>(
      kBoth, "Whether isclose is true everywhere.", {.kind = Kind::Query});
  def<"equal(Tensor input, Tensor other) -> bool", [](Args& a) { return ops::equal(a.tensor(0), a.tensor(1)); }>(
      kBoth, "Whether shapes and values are the same.", {.kind = Kind::Query});
});

}  // namespace genesis::py
