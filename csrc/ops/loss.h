// Losses as single operators.
#pragma once

#include "core/tensor.h"

namespace genesis::ops {

enum class LossReduction : uint8_t { None, Mean, Sum };

// f(x, y) for tensors of one shape, reduced. The formulas are in kernels/loss/loss.h.
Tensor mse_loss(const Tensor& x, const Tensor& y, LossReduction reduction);
Tensor l1_loss(const Tensor& x, const Tensor& y, LossReduction reduction);
Tensor smooth_l1_loss(const Tensor& x, const Tensor& y, LossReduction reduction, double beta);
Tensor huber_loss(const Tensor& x, const Tensor& y, LossReduction reduction, double delta);
Tensor binary_cross_entropy(const Tensor& x, const Tensor& y, LossReduction reduction);
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& y, LossReduction reduction);

// x contains scores of classes in dimension 1 (0 if it has only one), y class indices, with the shape of x without it.
// The mean is weighted. Cases with y equal to `ignored` are ignored; `weight`, one per class, is a constant.
Tensor cross_entropy(const Tensor& x, const Tensor& y, const Tensor& weight, int64_t ignored, LossReduction reduction,
                     double smoothing);
// The same for log-probabilities, without smoothing.
Tensor nll_loss(const Tensor& x, const Tensor& y, const Tensor& weight, int64_t ignored, LossReduction reduction);

// The loss of each sequence. log_probs is (frames, batch, classes); `labels` are the targets of all sequences,
// concatenated.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& labels, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank);

}  // namespace genesis::ops
