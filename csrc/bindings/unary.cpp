#include "ops/unary.h"

#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/special.h"

namespace genesis::py {

// name(input, *, out=None), a function and a method, and the method name_(input).
template <FixedString Name, auto F>
static void unary(const char* doc, Traits traits = {}) {
  def<join<Name, "(Tensor input, *, Tensor? out=None) -> Tensor">(), [](Args& a) {
    const ops::Out out = a.out(1);
    if (!out) return F(a.tensor(0), out);
    const WithGradMode off(false);
    return F(a.tensor(0), out);
  }>(kBoth, doc, traits);
  def<join<Name, "_(Tensor input) -> Self">(), [](Args& a) {
    static constexpr auto name = join<Name, "_">();
    return ops::inplace(name.text, a.tensor(0), {}, [](const Tensor& x, ops::Out out) { return F(x, out); });
  }>(kBoth, "In-place form.", traits);
}

// The same for functions that are made of others.
template <FixedString Name, auto F>
static void composed(const char* doc, Traits traits = {}) {
  def<join<Name, "(Tensor input, *, Tensor? out=None) -> Tensor">(), [](Args& a) { return F(a.tensor(0)); }>(kBoth, doc,
                                                                                                             traits);
  def<join<Name, "_(Tensor input) -> Self">(), [](Args& a) {
    static constexpr auto name = join<Name, "_">();
    return ops::inplace(name.text, a.tensor(0), {},
                        [](const Tensor& x, ops::Out out) { return ops::deliver(name.text, F(x), out); });
  }>(kBoth, "In-place form.", traits);
}

// A function of genesis.special (python/genesis/special.py).
template <FixedString Name, auto F>
static void special(const char* doc, Traits traits = {}) {
  def<join<join<"special_", Name>(), "(Tensor input, *, Tensor? out=None) -> Tensor">(),
      [](Args& a) { return F(a.tensor(0)); }>(kFunction, doc, traits);
}

// The same of two operands, of which one may be a number.
template <FixedString Name, auto F>
static void special_pair(const char* doc, Traits traits = {}) {
  def<join<join<"special_", Name>(), "(Operand input, Operand other, *, Tensor? out=None) -> Tensor">(), [](Args& a) {
    const Operand x = a.operand(0), y = a.operand(1);
    if (x.is_scalar() && y.is_scalar()) a.fail(0, "a Tensor, or else 'other'");
    return F(x, y);
  }>(kFunction, doc, traits);
}

// name(input, other, *, out=None), a function and a method, and the method name_(input, other).
template <FixedString Name, auto F>
static void pair(const char* doc) {
  def<join<Name, "(Tensor input, Tensor other, *, Tensor? out=None) -> Tensor">(),
      [](Args& a) { return F(a.tensor(0), a.tensor(1)); }>(kBoth, doc);
  def<join<Name, "_(Tensor input, Tensor other) -> Self">(), [](Args& a) {
    static constexpr auto name = join<Name, "_">();
    const Tensor& other = a.tensor(1);
    return ops::inplace(name.text, a.tensor(0), {},
                        [&](const Tensor& x, ops::Out out) { return ops::deliver(name.text, F(x, other), out); });
  }>(kMethod, "In-place form.");
}

static std::optional<double> eps(const Args& a) { return a.has(1) ? std::optional(a.number(1)) : std::nullopt; }

static const Family family({.kind = Kind::Pointwise, .page = "pointwise"}, [] {
  def<"positive(Tensor input) -> Tensor", [](Args& a) {
    require<DTypeError>(a.tensor(0).dtype() != DType::Bool, "positive: bool has no sign; use x.int()");
    return a.tensor(0);
  }>(kBoth, "The tensor itself.");
  unary<"exp", ops::exp>("e to the power of each element.", {.autocast = Cast::Wide});
  unary<"exp2", ops::exp2>("2 to the power of each element.", {.autocast = Cast::Wide});
  unary<"expm1", ops::expm1>("exp(x) - 1, exact for small x.", {.autocast = Cast::Wide});
  unary<"log", ops::log>("The natural logarithm.", {.autocast = Cast::Wide});
  unary<"log2", ops::log2>("The logarithm to base 2.", {.autocast = Cast::Wide});
  unary<"log10", ops::log10>("The logarithm to base 10.", {.autocast = Cast::Wide});
  unary<"log1p", ops::log1p>("log(1 + x), exact for small x.", {.autocast = Cast::Wide});
  unary<"sqrt", ops::sqrt>("The square root.");
  unary<"rsqrt", ops::rsqrt>("1 / sqrt(x).", {.autocast = Cast::Wide});
  unary<"sin", ops::sin>("The sine.");
  unary<"cos", ops::cos>("The cosine.");
  unary<"tan", ops::tan>("The tangent.", {.autocast = Cast::Wide});
  unary<"asin", ops::asin>("The inverse of the sine.", {.autocast = Cast::Wide});
  unary<"arcsin", ops::asin>("The inverse of the sine.");
  unary<"acos", ops::acos>("The inverse of the cosine.", {.autocast = Cast::Wide});
  unary<"arccos", ops::acos>("The inverse of the cosine.");
  unary<"atan", ops::atan>("The inverse of the tangent.");
  unary<"arctan", ops::atan>("The inverse of the tangent.");
  unary<"sinh", ops::sinh>("The hyperbolic sine.", {.autocast = Cast::Wide});
  unary<"cosh", ops::cosh>("The hyperbolic cosine.", {.autocast = Cast::Wide});
  unary<"tanh", ops::tanh>("The hyperbolic tangent.", {.kind = Kind::Activation});
  unary<"asinh", ops::asinh>("The inverse of the hyperbolic sine.");
  unary<"arcsinh", ops::asinh>("The inverse of the hyperbolic sine.");
  unary<"acosh", ops::acosh>("The inverse of the hyperbolic cosine.");
  unary<"arccosh", ops::acosh>("The inverse of the hyperbolic cosine.");
  unary<"atanh", ops::atanh>("The inverse of the hyperbolic tangent.");
  unary<"arctanh", ops::atanh>("The inverse of the hyperbolic tangent.");
  unary<"erf", ops::erf>("The error function.");
  unary<"erfc", ops::erfc>("1 - erf(x), exact for large x.");
  unary<"erfinv", ops::erfinv>("The inverse of the error function.", {.autocast = Cast::Wide});
  unary<"lgamma", ops::lgamma>("The logarithm of the absolute value of the gamma function.", {.autocast = Cast::Wide});
  unary<"digamma", ops::digamma>("The derivative of the logarithm of the gamma function.", {.autocast = Cast::Wide});
  unary<"sigmoid", ops::sigmoid>("1 / (1 + exp(-x)).", {.kind = Kind::Activation});
  def<"logit(Tensor input, Scalar? eps=None, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::logit(a.tensor(0), eps(a)); }>(
      kBoth, "log(x / (1 - x)), the inverse of sigmoid; with eps, of x limited to [eps, 1 - eps].",
      {.autocast = Cast::Wide});
  def<"logit_(Tensor input, Scalar? eps=None) -> Self", [](Args& a) {
    return ops::inplace("logit_", a.tensor(0), {}, [&](const Tensor& x, ops::Out out) {
      return ops::deliver("logit_", ops::logit(x, eps(a)), out);
    });
  }>(kBoth, "In-place form.");
  composed<"sinc", ops::sinc>("sin(pi x) / (pi x), and 1 at 0.");
  composed<"deg2rad", ops::deg2rad>("Degrees in radians.");
  composed<"rad2deg", ops::rad2deg>("Radians in degrees.");
  unary<"i0", ops::i0>("The modified Bessel function of the first kind, of order 0.");
  special<"i0e", ops::special_i0e>("i0(x) * exp(-|x|).");
  special<"i1", ops::special_i1>("The modified Bessel function of the first kind, of order 1.");
  special<"i1e", ops::special_i1e>("i1(x) * exp(-|x|).");
  special<"erfcx", ops::special_erfcx>("exp(x**2) * erfc(x), which neither overflows nor vanishes for large x.");
  special<"ndtr", ops::special_ndtr>("The probability that a normal number is below x.");
  special<"log_ndtr", ops::special_log_ndtr>("log(ndtr(x)), exact for x far below 0.");
  special<"ndtri", ops::special_ndtri>("The inverse of ndtr: below which number lies this part of the normal numbers.");
  special<"entr", ops::special_entr>("-x * log(x), 0 at 0 and -inf below.");
  special_pair<"xlog1py", ops::special_xlog1py>("input * log(1 + other), and 0 where input is 0.");
  special_pair<"zeta", ops::special_zeta>("Hurwitz's zeta function, the sum of (other + k)**-input over k = 0, 1, ...");
  pair<"igamma", ops::igamma>("The regularised lower incomplete gamma function of shape `input`, at `other`.");
  pair<"igammac", ops::igammac>("The regularised upper incomplete gamma function of shape `input`, at `other`.");
  def<"mvlgamma(Tensor input, int p, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::mvlgamma("mvlgamma", a.tensor(0), a.integer(1));
  }>(kBoth, "The logarithm of the multivariate gamma function of dimension p.");
  def<"mvlgamma_(Tensor input, int p) -> Self", [](Args& a) {
    return ops::inplace("mvlgamma_", a.tensor(0), {}, [&](const Tensor& x, ops::Out out) {
      return ops::deliver("mvlgamma_", ops::mvlgamma("mvlgamma_", x, a.integer(1)), out);
    });
  }>(kMethod, "In-place form.");
  def<"polygamma(Tensor input, int n) -> Tensor", [](Args& a) { return ops::polygamma(a.integer(1), a.tensor(0)); }>(
      kMethod, "The n-th derivative of digamma.", {.autocast = Cast::Wide});
  def<"polygamma(int n, Tensor input, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::polygamma(a.integer(0), a.tensor(1));
  }>(kFunction, "The n-th derivative of digamma.", {.autocast = Cast::Wide});
});

}  // namespace genesis::py
