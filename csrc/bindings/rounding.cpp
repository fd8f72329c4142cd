#include "ops/rounding.h"

#include "bindings/elementwise.h"
#include "bindings/module.h"
#include "ops/pointwise.h"

namespace genesis::py {

static std::optional<ops::Rounding> rounding_mode(const Args& a, int i) {
  if (!a.has(i)) return {};
  const std::string mode = a.string(i);
  require(mode == "floor" || mode == "trunc", a.name(), ": rounding_mode must be None, 'trunc' or 'floor', got '", mode,
          "'");
  return mode == "floor" ? ops::Rounding::Floor : ops::Rounding::Trunc;
}

// Name(input, other, rounding_mode=None), for div and divide.
template <FixedString Name>
static void def_div(Traits traits = {}) {
  def<join<Name, "(Operand input, Operand other, *, str? rounding_mode=None, Tensor? out=None) -> Tensor">(),
      [](Args& a) { return ops::div(a.operand(0), a.operand(1), rounding_mode(a, 2), a.out(3)); }>(
      kBoth, "input / other, rounded towards zero ('trunc') or down ('floor') if rounding_mode says so.", traits);
  def<join<Name, "_(Tensor input, Operand other, *, str? rounding_mode=None) -> Self">(), [](Args& a) {
    static constexpr auto name = join<Name, "_">();
    const std::optional<ops::Rounding> rounding = rounding_mode(a, 2);
    const Operand y = a.operand(1);
    const Tensor& x = a.tensor(0);
    if (!rounding) return ops::div_(x, y);
    return ops::inplace(name.text, x, {&y.or_undefined()}, [&](const Tensor& input, ops::Out out) {
      return ops::div(input, y.tensor && y.tensor->same(x) ? Operand(input) : y, rounding, out);
    });
  }>(kMethod, "In-place form.", traits);
}

static const Family family({.kind = Kind::Pointwise, .page = "pointwise"}, [] {
  def_div<"div">();
  def_div<"divide">();
  def_zip<"true_divide", [](const Operand& x, const Operand& y, ops::Out out) { return ops::div(x, y, out); }>(
      "input / other.");
  def_zip<"floor_divide", ops::floor_divide>("The quotient, rounded down.");
  def_zip<"remainder", ops::remainder>("What floor_divide leaves; it has the sign of other.");
  def_zip<"fmod", ops::fmod>("What division towards zero leaves; it has the sign of input.");
  def_map<"floor", ops::floor, ops::Overlap::Unfolded>("The largest integer that is not larger.");
  def_map<"ceil", ops::ceil, ops::Overlap::Unfolded>("The smallest integer that is not smaller.");
  def_map<"trunc", ops::trunc, ops::Overlap::Unfolded>("The integer part.");
  def_map<"fix", ops::trunc>("Another name of trunc.");
  def_map<"frac", ops::frac>("The part after the point, with the sign of input.");
  def<"round(Tensor input, *, int decimals=0, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::round(a.tensor(0), a.integer(1), a.out(2));
  }>(kBoth, "The nearest integer (the even one of two), or multiple of 10**-decimals.", {.also = "special.round"});
  def<"round_(Tensor input, *, int decimals=0) -> Self", [](Args& a) {
    const int64_t decimals = a.integer(1);
    return ops::inplace(
        "round_", a.tensor(0), {}, [&](const Tensor& x, ops::Out out) { return ops::round(x, decimals, out); },
        ops::Overlap::Unfolded);
  }>(kBoth, "In-place form.");
  def<"frexp(Tensor input, *, Tensor[]? out=None) -> (Tensor mantissa, Tensor exponent)", [](Args& a) {
    static PyTypeObject* const type = return_type("frexp", {"mantissa", "exponent"});
    const ops::Frexp y = ops::frexp(a.tensor(0));
    return named(type, {y.mantissa, y.exponent});
  }>(kBoth, "input = mantissa * 2**exponent, with a mantissa from 0.5 to 1.");
  def<"nextafter(Tensor input, Tensor other, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::nextafter(a.tensor(0), a.tensor(1));
  }>(kBoth, "The next floating number after input on the way to other.");
  def<"nextafter_(Tensor input, Tensor other) -> Self", [](Args& a) {
    const Tensor& y = a.tensor(1);
    return ops::inplace("nextafter_", a.tensor(0), {&y}, [&](const Tensor& x, ops::Out out) {
      return ops::deliver("nextafter_", ops::nextafter(x, y), out);
    });
  }>(kMethod, "In-place form.");
  def<"__round__(Tensor input, int? ndigits=None) -> Tensor",
      [](Args& a) { return ops::round(a.tensor(0), a.integer(1, 0)); }>(kMethod, "round(x) and round(x, ndigits).");
});

}  // namespace genesis::py
