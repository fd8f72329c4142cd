#include "ops/rotary.h"

#include "autograd/record.h"
#include "kernels/attention/rotary.h"
#include "ops/operand.h"
#include "ops/view.h"

namespace genesis::ops {

// The gradient of a rotation is the inverse rotation, so this is its own backward.
static Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved, bool inverse) {
  Tensor y = empty(x.shape(), x.dtype());
  if (x.numel() > 0) kernels::rotary(y.view(), x.view(), cos.view(), sin.view(), interleaved, inverse);
  return record("rotary_embedding", std::move(y), inputs(x), save(cos, sin),
                [interleaved, inverse](const Tensor& dy, const Saved& saved) {
                  return Grads{rotate(dy, saved[0], saved[1], interleaved, !inverse)};
                });
}

Tensor rotary_embedding(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved) {
  require_floating("rotary_embedding", "input", x);
  require(x.dim() >= 1 && cos.dim() >= 1 && cos.shape() == sin.shape(),
          "rotary_embedding: cos and sin must have one shape (..., pairs), got ", cos.shape(), " and ", sin.shape());
  require(2 * cos.size(-1) <= x.size(-1), "rotary_embedding: cos of shape ", cos.shape(), " turns ", 2 * cos.size(-1),
          " elements, but input of shape ", x.shape(), " has only ", x.size(-1), " in its last dimension");
  require<GraphError>(!tracked(cos) && !tracked(sin),
                      "rotary_embedding: cos and sin have no gradient; use cos.detach()");
  Dims shape(x.shape().begin(), x.shape().end() - 1);
  const Dims lead(cos.shape().begin(), cos.shape().end() - 1);
  require(lead.size() <= shape.size() && broadcast_shapes("rotary_embedding", lead, shape) == shape,
          "rotary_embedding: cos of shape ", cos.shape(), " does not broadcast to input of shape ", x.shape());
  shape.push_back(cos.size(-1));
  return rotate(x, expand(cos, shape), expand(sin, shape), interleaved, false);
}

}  // namespace genesis::ops
