// Connectionist temporal classification (Graves et al., 2006): the probability that frames of class probabilities
// produce a label sequence, summed over all alignments.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

// log_probs is contiguous (frames, batch, classes). Sequence n has `input_lengths[n]` frames and `target_lengths[n]`
// labels, which start at labels + label_offsets[n].
struct Ctc {
  int64_t frames, batch, classes, blank;
  const int64_t *labels, *label_offsets, *input_lengths, *target_lengths;

  template <class A>
  void arguments(A& a) {
    a.visit(labels);
    a.visit(label_offsets);
    a.visit(input_lengths);
    a.visit(target_lengths);
  }
};

// loss[n] = -log(probability), infinite if the probability is 0. If `slopes` has memory, it receives the gradient of
// each loss with respect to log_probs, 0 if the loss is infinite.
inline constinit Kernel<void(View loss, View slopes, View log_probs, const Ctc& problem)> ctc{.writes = 0b11};
// The second derivative of each loss applied to `direction`, which has the shape of log_probs.
inline constinit Kernel<void(View product, View log_probs, View direction, const Ctc& problem)> ctc_second;

}  // namespace genesis::kernels
