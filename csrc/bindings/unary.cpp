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

// The same for composite functions.
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

// The same for two operands, one of which may be a number.
template <FixedString Name, auto F>
static void special_pair(const char* doc, Traits traits = {}) {
  def<join<join<"special_", Name>(), "(Operand input, Operand other, *, Tensor? out=None) -> Tensor">(), [](Args& a) {
    const Operand x = a.operand(0), y = a.operand(1);
    if (x.is_scalar() && y.is_scalar()) a.fail(0, "a Tensor, or else 'other'");
    return F(x, y);
  }>(kFunction, doc, traits);
}

// An orthogonal polynomial of the input, of degree n.
template <FixedString Name, ops::Polynomial Which, bool Shifted = false>
static void polynomial(const char* doc) {
  def<join<join<"special_", Name>(), "(Operand input, Operand n, *, Tensor? out=None) -> Tensor">(), [](Args& a) {
    static constexpr auto name = join<"special.", Name>();
    const Operand x = a.operand(0), n = a.operand(1);
    if (x.is_scalar() && n.is_scalar()) a.fail(0, "a Tensor, or else 'n'");
    return ops::polynomial(name.text, Which, Shifted, x, n);
  }>(kFunction, doc);
}

static void bessel() {
  special<"bessel_j0", ops::special_bessel_j0>("The Bessel function of the first kind, of order 0.");
  special<"bessel_j1", ops::special_bessel_j1>("The Bessel function of the first kind, of order 1.");
  special<"bessel_y0", ops::special_bessel_y0>("The Bessel function of the second kind, of order 0.");
  special<"bessel_y1", ops::special_bessel_y1>("The Bessel function of the second kind, of order 1.");
  special<"modified_bessel_i0", [](const Tensor& x) { return ops::i0(x); }>(
      "The modified Bessel function of the first kind, of order 0.");
  special<"modified_bessel_i1", ops::special_i1>("The modified Bessel function of the first kind, of order 1.");
  special<"modified_bessel_k0", ops::special_modified_bessel_k0>(
      "The modified Bessel function of the second kind, of order 0.");
  special<"modified_bessel_k1", ops::special_modified_bessel_k1>(
      "The modified Bessel function of the second kind, of order 1.");
  special<"scaled_modified_bessel_k0", ops::special_scaled_modified_bessel_k0>("modified_bessel_k0(x) * exp(x).");
  special<"scaled_modified_bessel_k1", ops::special_scaled_modified_bessel_k1>("modified_bessel_k1(x) * exp(x).");
  special<"spherical_bessel_j0", ops::special_spherical_bessel_j0>(
      "The spherical Bessel function of the first kind, of order 0: sin(x) / x.");
  special<"airy_ai", ops::special_airy_ai>("The Airy function Ai, which solves y'' = x y and falls for large x.");
}

static void polynomials() {
  using enum ops::Polynomial;
  polynomial<"chebyshev_polynomial_t", ChebyshevT>("The Chebyshev polynomial of the first kind, of degree n.");
  polynomial<"chebyshev_polynomial_u", ChebyshevU>("The Chebyshev polynomial of the second kind, of degree n.");
  polynomial<"chebyshev_polynomial_v", ChebyshevV>("The Chebyshev polynomial of the third kind, of degree n.");
  polynomial<"chebyshev_polynomial_w", ChebyshevW>("The Chebyshev polynomial of the fourth kind, of degree n.");
  polynomial<"shifted_chebyshev_polynomial_t", ChebyshevT, true>("chebyshev_polynomial_t(2 x - 1, n).");
  polynomial<"shifted_chebyshev_polynomial_u", ChebyshevU, true>("chebyshev_polynomial_u(2 x - 1, n).");
  polynomial<"shifted_chebyshev_polynomial_v", ChebyshevV, true>("chebyshev_polynomial_v(2 x - 1, n).");
  polynomial<"shifted_chebyshev_polynomial_w", ChebyshevW, true>("chebyshev_polynomial_w(2 x - 1, n).");
  polynomial<"hermite_polynomial_h", HermiteH>("The physicist's Hermite polynomial of degree n.");
  polynomial<"hermite_polynomial_he", HermiteHe>("The probabilist's Hermite polynomial of degree n.");
  polynomial<"laguerre_polynomial_l", Laguerre>("The Laguerre polynomial of degree n.");
  polynomial<"legendre_polynomial_p", Legendre>("The Legendre polynomial of degree n.");
}

// name(input, other, *, out=None), a function and a method, and the method name_(input, other).
template <FixedString Name, auto F>
static void pair(const char* doc, Traits traits) {
  def<join<Name, "(Tensor input, Tensor other, *, Tensor? out=None) -> Tensor">(),
      [](Args& a) { return F(a.tensor(0), a.tensor(1)); }>(kBoth, doc, traits);
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
  unary<"exp2", ops::exp2>("2 to the power of each element.", {.autocast = Cast::Wide, .also = "special.exp2"});
  unary<"expm1", ops::expm1>("exp(x) - 1, exact for small x.", {.autocast = Cast::Wide, .also = "special.expm1"});
  unary<"log", ops::log>("The natural logarithm.", {.autocast = Cast::Wide});
  unary<"log2", ops::log2>("The logarithm to base 2.", {.autocast = Cast::Wide});
  unary<"log10", ops::log10>("The logarithm to base 10.", {.autocast = Cast::Wide});
  unary<"log1p", ops::log1p>("log(1 + x), exact for small x.", {.autocast = Cast::Wide, .also = "special.log1p"});
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
  unary<"tanh", ops::tanh>("The hyperbolic tangent.", {.kind = Kind::Activation, .takes = Takes::Complex});
  unary<"asinh", ops::asinh>("The inverse of the hyperbolic sine.");
  unary<"arcsinh", ops::asinh>("The inverse of the hyperbolic sine.");
  unary<"acosh", ops::acosh>("The inverse of the hyperbolic cosine.");
  unary<"arccosh", ops::acosh>("The inverse of the hyperbolic cosine.");
  unary<"atanh", ops::atanh>("The inverse of the hyperbolic tangent.");
  unary<"arctanh", ops::atanh>("The inverse of the hyperbolic tangent.");
  unary<"erf", ops::erf>("The error function.", {.also = "special.erf"});
  unary<"erfc", ops::erfc>("1 - erf(x), exact for large x.", {.also = "special.erfc"});
  unary<"erfinv", ops::erfinv>("The inverse of the error function.",
                               {.autocast = Cast::Wide, .also = "special.erfinv"});
  unary<"lgamma", ops::lgamma>("The logarithm of the absolute value of the gamma function.",
                               {.autocast = Cast::Wide, .also = "special.gammaln"});
  unary<"digamma", ops::digamma>("The derivative of the logarithm of the gamma function.",
                                 {.autocast = Cast::Wide, .also = "special.digamma special.psi"});
  unary<"sigmoid", ops::sigmoid>("1 / (1 + exp(-x)).",
                                 {.kind = Kind::Activation, .takes = Takes::Complex, .also = "special.expit"});
  def<"logit(Tensor input, Scalar? eps=None, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::logit(a.tensor(0), eps(a)); }>(
      kBoth, "log(x / (1 - x)), the inverse of sigmoid; with eps, of x limited to [eps, 1 - eps].",
      {.autocast = Cast::Wide, .also = "special.logit"});
  def<"logit_(Tensor input, Scalar? eps=None) -> Self", [](Args& a) {
    return ops::inplace("logit_", a.tensor(0), {}, [&](const Tensor& x, ops::Out out) {
      return ops::deliver("logit_", ops::logit(x, eps(a)), out);
    });
  }>(kBoth, "In-place form.");
  composed<"sinc", ops::sinc>("sin(pi x) / (pi x), and 1 at 0.", {.also = "special.sinc"});
  composed<"deg2rad", ops::deg2rad>("Degrees in radians.", {.takes = Takes::Real});
  composed<"rad2deg", ops::rad2deg>("Radians in degrees.", {.takes = Takes::Real});
  unary<"i0", ops::i0>("The modified Bessel function of the first kind, of order 0.", {.also = "special.i0"});
  special<"i0e", ops::special_i0e>("i0(x) * exp(-|x|).");
  special<"i1", ops::special_i1>("The modified Bessel function of the first kind, of order 1.");
  special<"i1e", ops::special_i1e>("i1(x) * exp(-|x|).");
  bessel();
  polynomials();
  special<"erfcx", ops::special_erfcx>("exp(x**2) * erfc(x), which neither overflows nor vanishes for large x.");
  special<"ndtr", ops::special_ndtr>("The probability that a normal number is below x.");
  special<"log_ndtr", ops::special_log_ndtr>("log(ndtr(x)), exact for x far below 0.");
  special<"ndtri", ops::special_ndtri>("The inverse of ndtr: the quantile function of the normal distribution.");
  special<"entr", ops::special_entr>("-x * log(x), 0 at 0 and -inf below.");
  special_pair<"xlog1py", ops::special_xlog1py>("input * log(1 + other), and 0 where input is 0.");
  special_pair<"zeta", ops::special_zeta>("Hurwitz's zeta function, the sum of (other + k)**-input over k = 0, 1, ...");
  pair<"igamma", ops::igamma>("The regularised lower incomplete gamma function of shape `input`, at `other`.",
                              {.also = "special.gammainc"});
  pair<"igammac", ops::igammac>("The regularised upper incomplete gamma function of shape `input`, at `other`.",
                                {.also = "special.gammaincc"});
  def<"mvlgamma(Tensor input, int p, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::mvlgamma("mvlgamma", a.tensor(0), a.integer(1));
  }>(kBoth, "The logarithm of the multivariate gamma function of dimension p.", {.also = "special.multigammaln"});
  def<"mvlgamma_(Tensor input, int p) -> Self", [](Args& a) {
    return ops::inplace("mvlgamma_", a.tensor(0), {}, [&](const Tensor& x, ops::Out out) {
      return ops::deliver("mvlgamma_", ops::mvlgamma("mvlgamma_", x, a.integer(1)), out);
    });
  }>(kMethod, "In-place form.");
  def<"polygamma(Tensor input, int n) -> Tensor", [](Args& a) { return ops::polygamma(a.integer(1), a.tensor(0)); }>(
      kMethod, "The n-th derivative of digamma.", {.autocast = Cast::Wide});
  def<"polygamma(int n, Tensor input, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::polygamma(a.integer(0), a.tensor(1));
  }>(kFunction, "The n-th derivative of digamma.", {.autocast = Cast::Wide, .also = "special.polygamma"});
});

}  // namespace genesis::py
