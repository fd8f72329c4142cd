#include "ops/attention.h"

#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/rotary.h"

namespace genesis::py {

static const Family family({.kind = Kind::Attention, .autocast = Cast::Low, .page = "neural"}, [] {
  def<"_scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
      "dropout_p=0.0, bool is_causal=False, float? scale=None, bool enable_gqa=False) -> Tensor",
      [](Args& a) {
        return ops::scaled_dot_product_attention(
            a.tensor(0), a.tensor(1), a.tensor(2), a.optional_tensor(3), a.number(4), a.boolean(5),
            a.has(6) ? std::optional(a.number(6)) : std::nullopt, a.boolean(7), default_generator());
      }>(kFunction, "softmax(scale query key^T + mask) value.");
  def<"_rotary_embedding(Tensor input, Tensor cos, Tensor sin, bool interleaved=False) -> Tensor",
      [](Args& a) { return ops::rotary_embedding(a.tensor(0), a.tensor(1), a.tensor(2), a.boolean(3)); }>(
      kFunction, "Pairs of elements of the last dimension turned by angles.",
      {.kind = Kind::Pointwise, .autocast = Cast::AsIs});
});

}  // namespace genesis::py
