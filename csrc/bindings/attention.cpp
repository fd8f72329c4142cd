#include "ops/attention.h"

#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/rotary.h"

namespace genesis::py {

static const Family family([] {
  def<"_scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, "
      "enable_gqa=False)",
      [](Args& a) {
        return ops::scaled_dot_product_attention(
            a.tensor(0), a.tensor(1), a.tensor(2), a.optional_tensor(3), a.number(4, 0.0), a.boolean(5, false),
            a.has(6) ? std::optional(a.number(6)) : std::nullopt, a.boolean(7, false), default_generator());
      }>(kFunction, "softmax(scale query key^T + mask) value.");
  def<"_rotary_embedding(input, cos, sin, interleaved=False)", [](Args& a) {
    return ops::rotary_embedding(a.tensor(0), a.tensor(1), a.tensor(2), a.boolean(3, false));
  }>(kFunction, "Pairs of elements of the last dimension turned by angles.");
});

}  // namespace genesis::py
