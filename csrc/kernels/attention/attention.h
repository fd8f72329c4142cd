// softmax(scale Q K^T + mask) V, computed in blocks: the full matrix of scores is never stored.
//
// The shapes are q (batch, heads, queries, dim), k (batch, key heads, keys, dim) and v (batch, key heads, keys, value
// dim). heads is a multiple of key heads; consecutive heads share a key head. The elements of a row are contiguous, the
// other dimensions may be strided. `lse` (batch, heads, queries) is contiguous and has the compute dtype. It is the
// logarithm of the sum of the exponentials of each row of scores, or infinite if the whole row is masked; the result is
// then 0.
#pragma once

#include "core/view.h"
#include "kernels/random/random.h"

namespace genesis::kernels {

struct AttentionOptions {
  double scale;
  bool causal;  // query i attends to keys 0..i
  double dropout;
  Draw draw;  // for attention_dropout

  template <class A>
  void arguments(A& a) {
    if (dropout > 0) a.visit(draw);
  }
};

// `mask` has shape (batch, heads, queries, keys), broadcast by its strides. A bool mask is true where a key takes part;
// other masks are added to the scores.
inline constinit Kernel<void(View out, View lse, View q, View k, View v, View mask, const AttentionOptions& options)>
    attention{.writes = 0b11};
// Gradients of q, k and v. A gradient whose view has no data is not computed.
inline constinit Kernel<void(View dq, View dk, View dv, View dout, View out, View lse, View q, View k, View v,
                             View mask, const AttentionOptions& options)>
    attention_backward{.writes = 0b111};

// The inputs of a backward pass, with the shapes of `lse`, `q`, ... above. `mask` may have no data.
struct AttentionInputs {
  View dout, lse, q, k, v, mask;

  template <class A>
  void arguments(A& a) {
    for (View* x : {&dout, &lse, &q, &k, &v, &mask}) a.read(*x);
  }
};
// The gradients with respect to the results of a backward pass; those without data are 0. `gmask` is broadcast like the
// mask.
struct AttentionArrived {
  bool any = false;
  View gq{}, gk{}, gv{}, gmask{};

  template <class A>
  void arguments(A& a) {
    for (View* x : {&gq, &gk, &gv, &gmask}) a.read(*x);
  }
};
// Gradients of a backward pass; those without data are not computed. `dmask` has the layout of attention_mask_backward.
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
// Adds the gradient of a mask to `dmask`, which is contiguous, has the compute dtype and the mask's own shape (size 1
// where the mask is broadcast).
inline constinit Kernel<void(View dmask, View out, const AttentionInputs& in, const AttentionOptions& options)>
    attention_mask_backward;
// The dropout factors of the weights, 0 or 1 / (1 - p), as a contiguous tensor (batch, heads, queries, keys).
inline constinit Kernel<void(View factors, double p, Draw draw)> attention_dropout;

}  // namespace genesis::kernels
