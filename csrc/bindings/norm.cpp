#include "ops/norm.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family({.kind = Kind::Norm, .autocast = Cast::Wide, .page = "neural"}, [] {
  def<"layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) "
      "-> "
      "Tensor",
      [](Args& a) {
        return ops::layer_norm(a.tensor(0), a.dims(1), a.optional_tensor(2), a.optional_tensor(3), a.number(4));
      }>(kFunction, "Mean 0 and variance 1 over the last dimensions, then times weight plus bias.");
  def<"rms_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor", [](Args& a) {
    return ops::rms_norm(a.tensor(0), a.dims(1), a.optional_tensor(2),
                         a.has(3) ? std::optional(a.number(3)) : std::nullopt);
  }>(kFunction, "Mean square 1 over the last dimensions, then times weight.", {.takes = Takes::Complex});
  def<"group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
      [](Args& a) {
        return ops::group_norm(a.tensor(0), a.integer(1), a.optional_tensor(2), a.optional_tensor(3), a.number(4));
      }>(kFunction, "Mean 0 and variance 1 over groups of channels of each sample, then times weight plus bias.");
  def<"_batch_norm(Tensor input, Tensor? running_mean=None, Tensor? running_var=None, Tensor? weight=None, Tensor? "
      "bias=None, bool training=False, float momentum=0.1, float eps=1e-05) -> Tensor",
      [](Args& a) {
        return ops::batch_norm(a.tensor(0), a.optional_tensor(1), a.optional_tensor(2), a.optional_tensor(3),
                               a.optional_tensor(4), a.boolean(5), a.number(6), a.number(7));
      }>(kFunction, "Mean 0 and variance 1 of each channel, then times weight plus bias.");
});

}  // namespace genesis::py
