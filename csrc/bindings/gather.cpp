#include "ops/gather.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family([] {
  def<"gather(input, dim, index, *, out=None)", [](Args& a) {
    return ops::gather(a.tensor(0), a.integer(1), a.tensor(2));
  }>(kBoth, "The elements of input at the given indices along dim: the result has index's shape.");
  def<"index_select(input, dim, index, *, out=None)", [](Args& a) {
    return ops::index_select(a.tensor(0), a.integer(1), a.tensor(2));
  }>(kBoth, "The slices of input along dim at a 1-d index.");
  def<"take(input, index, *, out=None)", [](Args& a) { return ops::take(a.tensor(0), a.tensor(1)); }>(
      kBoth, "The elements of input, seen as one line, at the given indices.");
  def<"take_along_dim(input, indices, dim=None, *, out=None)", [](Args& a) {
    return ops::take_along_dim(a.tensor(0), a.tensor(1), a.optional_integer(2));
  }>(kBoth, "gather() with input and indices broadcast against each other.");
  def<"embedding(input, weight, padding_idx=None, scale_grad_by_freq=False)", [](Args& a) {
    return ops::embedding(a.tensor(0), a.tensor(1), a.optional_integer(2), a.boolean(3, false));
  }>(kFunction, "The rows of weight at the given indices; the row padding_idx gets no gradient.");
  def<"_embedding_bag(input, weight, mean=False, scale_grad_by_freq=False)", [](Args& a) {
    return ops::embedding_bag(a.tensor(0), a.tensor(1), a.boolean(2, false), a.boolean(3, false));
  }>(kFunction, "Sums or means of the rows of weight at each row of indices.");
  def<"one_hot(input, num_classes=-1)", [](Args& a) { return ops::one_hot(a.tensor(0), a.integer(1, -1)); }>(
      kFunction, "A new last dimension with 1 at the class and 0 elsewhere.");
});

}  // namespace genesis::py
