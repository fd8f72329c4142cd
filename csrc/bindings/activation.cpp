#include "ops/activation.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family([] {
  def<"relu(input)", [](Args& a) { return ops::relu(a.tensor(0)); }>(kBoth, "max(x, 0).");
  def<"relu_(input)", [](Args& a) {
    return ops::inplace("relu_", a.tensor(0), {}, [](const Tensor& x, ops::Out out) { return ops::relu(x, out); });
  }>(kBoth, "max(x, 0), in place.");
  def<"leaky_relu(input, negative_slope=0.01)", [](Args& a) {
    return ops::leaky_relu(a.tensor(0), a.number(1, 0.01));
  }>(kFunction, "x for x > 0, negative_slope * x below.");
  def<"elu(input, alpha=1.0)", [](Args& a) { return ops::elu(a.tensor(0), a.number(1, 1.0)); }>(
      kFunction, "x for x > 0, alpha * (exp(x) - 1) below.");
  def<"gelu(input, approximate='none')", [](Args& a) {
    const std::string approximate = a.has(1) ? a.string(1) : "none";
    require(approximate == "none" || approximate == "tanh", "gelu: approximate must be 'none' or 'tanh', got '", approximate, "'");
    return ops::gelu(a.tensor(0), approximate == "tanh");
  }>(kFunction, "x times the probability that a normal number is below x.");
  def<"silu(input)", [](Args& a) { return ops::silu(a.tensor(0)); }>(kFunction, "x * sigmoid(x).");
  def<"softplus(input, beta=1.0, threshold=20.0)", [](Args& a) {
    return ops::softplus(a.tensor(0), a.number(1, 1.0), a.number(2, 20.0));
  }>(kFunction, "log(1 + exp(beta * x)) / beta, a smooth relu.");
});

}  // namespace genesis::py
