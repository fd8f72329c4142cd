#include "ops/select.h"

#include "bindings/elementwise.h"
#include "bindings/module.h"
#include "ops/index.h"

namespace genesis::py {

static std::optional<Operand> bound(Args& a, int i) { return a.has(i) ? std::optional(a.operand(i)) : std::nullopt; }

static std::optional<double> limit(const Args& a, int i) {
  return a.has(i) ? std::optional(a.number(i)) : std::nullopt;
}

static Tensor clamp_(const char* op, const Tensor& x, const std::optional<Operand>& min,
                     const std::optional<Operand>& max) {
  static const Tensor none;
  const auto tensor = [](const std::optional<Operand>& o) { return o ? &o->or_undefined() : &none; };
  const bool numbers = (!min || min->is_scalar()) && (!max || max->is_scalar());
  return ops::inplace(
      op, x, {tensor(min), tensor(max)},
      [&](const Tensor& input, ops::Out out) {
        const auto seen = [&](const std::optional<Operand>& o) {
          return o && o->tensor && o->tensor->same(x) ? Operand(input) : o;
        };
        return ops::clamp(input, seen(min), seen(max), out);
      },
      numbers ? ops::Overlap::Unfolded : ops::Overlap::None);
}

static const Family family({.kind = Kind::Pointwise, .page = "pointwise"}, [] {
  def<"where(Tensor condition, Operand? input=None, Operand? other=None, *, Tensor? out=None) -> Tensor|Tensor[]",
      [](Args& a) -> PyObject* {
        if (!a.has(1) && !a.has(2)) return to_python(ops::nonzero_tuple(a.tensor(0)));
        return to_python(ops::where(a.tensor(0), a.operand(1), a.operand(2), a.out(3)));
      }>(kFunction, "input where condition is true, else other; of a condition alone, the indices where it is true.",
         {.flops = Flops::None});
  // The method is input.where(condition, other).
  def<"where(Operand input, Tensor condition, Operand other) -> Tensor|Tensor[]", [](Args& a) {
    return ops::where(a.tensor(1), a.operand(0), a.operand(2));
  }>(kMethod, "The tensor itself where condition is true, else other.", {.flops = Flops::None});
  def_zip_function<"maximum", ops::maximum>("The larger of the two; NaN if either is.");
  def_zip_function<"minimum", ops::minimum>("The smaller of the two; NaN if either is.");
  def_zip_function<"fmax", ops::fmax>("The larger of the two; NaN if both are.");
  def_zip_function<"fmin", ops::fmin>("The smaller of the two; NaN if both are.");
  def<"clamp(Tensor input, Operand? min=None, Operand? max=None, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::clamp(a.tensor(0), bound(a, 1), bound(a, 2), a.out(3));
  }>(kBoth, "input, limited to [min, max]; the bounds are numbers or tensors.");
  def<"clamp_(Tensor input, Operand? min=None, Operand? max=None) -> Self",
      [](Args& a) { return clamp_("clamp_", a.tensor(0), bound(a, 1), bound(a, 2)); }>(kBoth, "In-place form.");
  def<"clip(Tensor input, Operand? min=None, Operand? max=None, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::clamp(a.tensor(0), bound(a, 1), bound(a, 2), a.out(3));
  }>(kBoth, "Another name of clamp.");
  def<"clip_(Tensor input, Operand? min=None, Operand? max=None) -> Self",
      [](Args& a) { return clamp_("clip_", a.tensor(0), bound(a, 1), bound(a, 2)); }>(kBoth, "In-place form.");
  def<"clamp_min(Tensor input, Operand min, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::clamp(a.tensor(0), a.operand(1), {}, a.out(2)); }>(kBoth, "input, but at least min.");
  def<"clamp_min_(Tensor input, Operand min) -> Self",
      [](Args& a) { return clamp_("clamp_min_", a.tensor(0), a.operand(1), {}); }>(kBoth, "In-place form.");
  def<"clamp_max(Tensor input, Operand max, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::clamp(a.tensor(0), {}, a.operand(1), a.out(2)); }>(kBoth, "input, but at most max.");
  def<"clamp_max_(Tensor input, Operand max) -> Self",
      [](Args& a) { return clamp_("clamp_max_", a.tensor(0), {}, a.operand(1)); }>(kBoth, "In-place form.");
  def<"heaviside(Operand input, Operand values, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::heaviside(a.operand(0), a.operand(1), a.out(2));
  }>(kBoth, "0, values or 1, as input is negative, zero or positive.");
  def<"heaviside_(Tensor input, Operand values) -> Self", [](Args& a) {
    return ops::inplace_zip<ops::heaviside>("heaviside_", a.tensor(0), a.operand(1));
  }>(kMethod, "In-place form.");
  def<"nan_to_num(Tensor input, float nan=0.0, float? posinf=None, float? neginf=None, *, Tensor? out=None) -> "
      "Tensor",
      [](Args& a) { return ops::nan_to_num(a.tensor(0), a.number(1), limit(a, 2), limit(a, 3), a.out(4)); }>(
      kBoth,
      "input with NaN and the infinities replaced, by default by 0 and the largest and smallest finite numbers.");
  def<"nan_to_num_(Tensor input, float nan=0.0, float? posinf=None, float? neginf=None) -> Self", [](Args& a) {
    return ops::inplace("nan_to_num_", a.tensor(0), {}, [&](const Tensor& x, ops::Out out) {
      return ops::nan_to_num(x, a.number(1), limit(a, 2), limit(a, 3), out);
    });
  }>(kBoth, "In-place form.");
});

}  // namespace genesis::py
