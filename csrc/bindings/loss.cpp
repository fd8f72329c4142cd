#include "ops/loss.h"

#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/view.h"

namespace genesis::py {

using ops::LossReduction;

static LossReduction reduction(Args& a, int i) {
  if (a[i] && !PyUnicode_Check(a[i])) a.fail(i, "'none', 'mean' or 'sum'");
  const std::string_view text = a.text(i);
  if (text == "mean") return LossReduction::Mean;
  if (text == "sum") return LossReduction::Sum;
  require(text == "none", a.name() + 1, ": reduction must be 'none', 'mean' or 'sum', got '", text, "'");
  return LossReduction::None;
}

// Input and target with the same shape. If they differ, they are broadcast with a warning, because this is usually a
// mistake.
struct Pair {
  Tensor x, y;
  explicit Pair(Args& a) : x(a.tensor(0)), y(a.tensor(1)) {
    if (x.shape() == y.shape()) return;
    const char* op = a.name() + 1;
    const Dims shape = broadcast_shapes(op, x.shape(), y.shape());
    const std::string text =
        str(op, ": target is ", y.shape(), " and input is ", x.shape(), ", so both are broadcast to ", shape,
            ", which is usually a mistake; give them the same shape");
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) throw_python();
    x = ops::expand(x, shape);
    y = ops::expand(y, shape);
  }
};

static const Family family({.kind = Kind::Loss, .autocast = Cast::Wide, .page = "neural"}, [] {
  def<"_mse_loss(Tensor input, Tensor target, str reduction) -> Tensor", [](Args& a) {
    const Pair p(a);
    return ops::mse_loss(p.x, p.y, reduction(a, 2));
  }>(kFunction, "(input - target)^2, reduced.");
  def<"_l1_loss(Tensor input, Tensor target, str reduction) -> Tensor", [](Args& a) {
    const Pair p(a);
    return ops::l1_loss(p.x, p.y, reduction(a, 2));
  }>(kFunction, "|input - target|, reduced.", {.takes = Takes::Complex});
  def<"_smooth_l1_loss(Tensor input, Tensor target, str reduction, float beta) -> Tensor", [](Args& a) {
    const Pair p(a);
    return ops::smooth_l1_loss(p.x, p.y, reduction(a, 2), a.number(3));
  }>(kFunction, "Squared near 0, absolute beyond beta, reduced.");
  def<"_huber_loss(Tensor input, Tensor target, str reduction, float delta) -> Tensor", [](Args& a) {
    const Pair p(a);
    return ops::huber_loss(p.x, p.y, reduction(a, 2), a.number(3));
  }>(kFunction, "Squared near 0, absolute beyond delta, reduced.");
  def<"_binary_cross_entropy(Tensor input, Tensor target, str reduction) -> Tensor", [](Args& a) {
    return ops::binary_cross_entropy(a.tensor(0), a.tensor(1), reduction(a, 2));
  }>(kFunction, "-y log(x) - (1 - y) log(1 - x), reduced.", {.flops = Flops::FiveInput});
  def<"_binary_cross_entropy_with_logits(Tensor input, Tensor target, str reduction) -> Tensor", [](Args& a) {
    return ops::binary_cross_entropy_with_logits(a.tensor(0), a.tensor(1), reduction(a, 2));
  }>(kFunction, "The binary cross-entropy of sigmoid(x), reduced.", {.flops = Flops::FiveInput});
  def<"_cross_entropy(Tensor input, Tensor target, Tensor? weight=None, int ignore_index=-100, str "
      "reduction='mean', "
      "float label_smoothing=0.0) -> Tensor",
      [](Args& a) {
        return ops::cross_entropy(a.tensor(0), a.tensor(1), a.optional_tensor(2), a.integer(3), reduction(a, 4),
                                  a.number(5));
      }>(kFunction, "-log(softmax(input)) at the target's classes, reduced.", {.flops = Flops::FiveInput});
  def<"_nll_loss(Tensor input, Tensor target, Tensor? weight=None, int ignore_index=-100, str reduction='mean') -> "
      "Tensor",
      [](Args& a) {
        return ops::nll_loss(a.tensor(0), a.tensor(1), a.optional_tensor(2), a.integer(3), reduction(a, 4));
      }>(kFunction, "-input at the target's classes, reduced.");
  def<"_ctc_loss(Tensor log_probs, Tensor labels, Tensor input_lengths, Tensor target_lengths, int blank) -> "
      "Tensor",
      [](Args& a) { return ops::ctc_loss(a.tensor(0), a.tensor(1), a.tensor(2), a.tensor(3), a.integer(4)); }>(
      kFunction, "Minus the log-probability that each sequence of frames spells its labels.");
});

}  // namespace genesis::py
