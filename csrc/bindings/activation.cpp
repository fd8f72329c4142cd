#include "ops/activation.h"

#include "bindings/args.h"
#include "bindings/inplace_option.h"
#include "bindings/module.h"

namespace genesis::py {

namespace {

constexpr double kSeluAlpha = 1.6732632423543772848170429916717, kSeluScale = 1.0507009873554804934193349852946;

Tensor elu(Args& a, bool inplace) {
  const double alpha = a.number(1);
  return run(a, inplace, "elu_", [=](const Tensor& x, ops::Out out) { return ops::elu("elu", x, alpha, 1, 1, out); });
}
Tensor selu(Args& a, bool inplace) {
  return run(a, inplace, "selu_",
             [](const Tensor& x, ops::Out out) { return ops::elu("selu", x, kSeluAlpha, kSeluScale, 1, out); });
}
Tensor celu(Args& a, bool inplace) {
  const double alpha = a.number(1);
  require(alpha != 0, "celu: alpha must not be 0");
  return run(a, inplace, "celu_",
             [=](const Tensor& x, ops::Out out) { return ops::elu("celu", x, alpha, 1, 1 / alpha, out); });
}
Tensor leaky_relu(Args& a, bool inplace) {
  const double slope = a.number(1);
  return run(a, inplace, "leaky_relu_", [=](const Tensor& x, ops::Out out) { return ops::leaky_relu(x, slope, out); });
}

}  // namespace

static const Family family({.kind = Kind::Activation, .page = "neural"}, [] {
  def<"relu(Tensor input, bool inplace=False) -> Tensor", [](Args& a) {
    return run(
        a, a.boolean(1), "relu_", [](const Tensor& x, ops::Out out) { return ops::relu(x, out); },
        ops::Overlap::Unfolded);
  }>(kBoth, "max(x, 0).");
  def<"relu_(Tensor input) -> Self", [](Args& a) {
    return run(
        a, true, "relu_", [](const Tensor& x, ops::Out out) { return ops::relu(x, out); }, ops::Overlap::Unfolded);
  }>(kBoth, "max(x, 0), in place.");
  def<"leaky_relu(Tensor input, float negative_slope=0.01, bool inplace=False) -> Tensor",
      [](Args& a) { return leaky_relu(a, a.boolean(2)); }>(kFunction, "x for x > 0, negative_slope * x below.");
  def<"_leaky_relu_(Tensor input, float negative_slope=0.01) -> Self", [](Args& a) { return leaky_relu(a, true); }>(
      kFunction, "leaky_relu, in place.");
  def<"elu(Tensor input, float alpha=1.0, bool inplace=False) -> Tensor", [](Args& a) { return elu(a, a.boolean(2)); }>(
      kFunction, "x for x > 0, alpha * (exp(x) - 1) below.");
  def<"_elu_(Tensor input, float alpha=1.0) -> Self", [](Args& a) { return elu(a, true); }>(kFunction,
                                                                                            "elu, in place.");
  def<"selu(Tensor input, bool inplace=False) -> Tensor", [](Args& a) { return selu(a, a.boolean(1)); }>(
      kFunction, "An elu, scaled so that mean 0 and variance 1 stay.");
  def<"selu_(Tensor input) -> Self", [](Args& a) { return selu(a, true); }>(kFunction, "selu, in place.");
  def<"celu(Tensor input, float alpha=1.0, bool inplace=False) -> Tensor",
      [](Args& a) { return celu(a, a.boolean(2)); }>(kFunction, "x for x > 0, alpha * (exp(x / alpha) - 1) below.");
  def<"celu_(Tensor input, float alpha=1.0) -> Self", [](Args& a) { return celu(a, true); }>(kFunction,
                                                                                             "celu, in place.");
  def<"gelu(Tensor input, str approximate='none') -> Tensor", [](Args& a) {
    const std::string_view approximate = a.text(1);
    require(approximate == "none" || approximate == "tanh", "gelu: approximate must be 'none' or 'tanh', got '",
            approximate, "'");
    return ops::gelu(a.tensor(0), approximate == "tanh");
  }>(kFunction, "x times the probability that a normal number is below x.", {.flops = Flops::FiveInput});
  def<"silu(Tensor input, bool inplace=False) -> Tensor", [](Args& a) {
    return run(a, a.boolean(1), "silu_", [](const Tensor& x, ops::Out out) { return ops::silu(x, out); });
  }>(kFunction, "x * sigmoid(x).", {.takes = Takes::Complex});
  def<"_mish(Tensor input, bool inplace=False) -> Tensor", [](Args& a) {
    return run(a, a.boolean(1), "mish_", [](const Tensor& x, ops::Out out) { return ops::mish(x, out); });
  }>(kFunction, "x * tanh(softplus(x)).");
  def<"softplus(Tensor input, float beta=1.0, float threshold=20.0) -> Tensor", [](Args& a) {
    return ops::softplus(a.tensor(0), a.number(1), a.number(2));
  }>(kFunction, "log(1 + exp(beta * x)) / beta, a smooth relu.", {.autocast = Cast::Wide});
  def<"_logsigmoid(Tensor input) -> Tensor", [](Args& a) { return ops::logsigmoid(a.tensor(0)); }>(kFunction,
                                                                                                   "log(sigmoid(x)).");
  def<"_glu(Tensor input, int dim=-1) -> Tensor", [](Args& a) { return ops::glu(a.tensor(0), a.integer(1)); }>(
      kFunction, "a * sigmoid(b), where a and b are the halves of the input along `dim`.");
  def<"_softsign(Tensor input) -> Tensor", [](Args& a) { return ops::softsign(a.tensor(0)); }>(
      kFunction, "x / (1 + |x|).", {.takes = Takes::Complex});
});

}  // namespace genesis::py
