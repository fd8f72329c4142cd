// softmax(scale Q K^T + mask) V in blocks, so that the scores of all pairs never exist at once.
//
// q is (batch, heads, queries, dim), k (batch, key heads, keys, dim), v (batch, key heads, keys, value dim); heads is a
// multiple of key heads, neighbours share a key head. Elements of a row are contiguous; all else may be strided. `lse`,
// (batch, heads, queries), contiguous, in the compute type, is the logarithm of the sum of exponentials of each row of
// scores; infinite where everything is masked: the result is then 0.
#pragma once

#include "core/view.h"
#include "kernels/random/random.h"

namespace genesis::kernels {

struct AttentionOptions {
  double scale;
  bool causal;  // query i sees keys 0..i
  double dropout;
  Draw draw;  // of attention_dropout

  template <class A>
  void arguments(A& a) {
    if (dropout > 0) a.visit(draw);
  }
};

// `mask` is (batch, heads, queries, keys), broadcast by strides: bool (true: takes part) or added to the scores.
inline constinit Kernel<void(View out, View lse, View q, View k, View v, View mask, const AttentionOptions& options)>
    attention{.writes = 0b11};
// Gradients of q, k and v; those without data are not computed.
inline constinit Kernel<void(View dq, View dk, View dv, View dout, View out, View lse, View q, View k, View v,
                             View mask, const AttentionOptions& options)>
    attention_backward{.writes = 0b111};

// What a backward pass works on; of `lse`, `q`, ... above. `mask` may be without data.
struct AttentionInputs {
  View dout, lse, q, k, v, mask;

  template <class A>
  void arguments(A& a) {
    for (View* x : {&dout, &lse, &q, &k, &v, &mask}) a.read(*x);
  }
};
// What arrives for the results of a backward pass; those without data are 0. `gmask` is broadcast as the mask is.
struct AttentionArrived {
  bool any = false;
  View gq{}, gk{}, gv{}, gmask{};

  template <class A>
  void arguments(A& a) {
    for (View* x : {&gq, &gk, &gv, &gmask}) a.read(*x);
  }
};
// Gradients of a backward pass; those without data are not computed. `dmask` as in attention_mask_backward.
struct AttentionSecond {
  View ddout, dq, dk, dv, dmask;

  template <class A>
  void arguments(A& a) {
    for (View* x : {&ddout, &dq, &dk, &dv, &dmask}) a.written(*x);
  }
};
inline constinit Kernel<void(const AttentionSecond& to, const AttentionInputs& in, const AttentionArrived& arrived,
                             const AttentionOptions& options)>
    attention_second;
// Adds the gradient of a mask to `dmask`, which is contiguous, in the compute type, and of the mask's own shape: 1
// where the mask is broadcast.
inline constinit Kernel<void(View dmask, View out, const AttentionInputs& in, const AttentionOptions& options)>
    attention_mask_backward;
// The factors that dropout multiplies weights with, (batch, heads, queries, keys), contiguous: 0 or 1 / (1 - p).
inline constinit Kernel<void(View factors, double p, Draw draw)> attention_dropout;

}  // namespace genesis::kernels
