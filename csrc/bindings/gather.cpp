#include "ops/gather.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family({.kind = Kind::Index, .page = "shape"}, [] {
  def<"gather(Tensor input, int dim, Tensor index, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::gather(a.tensor(0), a.integer(1), a.tensor(2));
  }>(kBoth, "The elements of input at the given indices along dim: the result has index's shape.");
  def<"index_select(Tensor input, int dim, Tensor index, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::index_select(a.tensor(0), a.integer(1), a.tensor(2));
  }>(kBoth, "The slices of input along dim at a 1-d index.");
  def<"take(Tensor input, Tensor index, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::take(a.tensor(0), a.tensor(1));
  }>(kBoth, "The elements of input, seen as one line, at the given indices.");
  def<"take_along_dim(Tensor input, Tensor indices, int? dim=None, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::take_along_dim(a.tensor(0), a.tensor(1), a.optional_integer(2));
  }>(kBoth, "gather() with input and indices broadcast against each other.");
  def<"embedding(Tensor input, Tensor weight, int? padding_idx=None, bool scale_grad_by_freq=False) -> Tensor",
      [](Args& a) { return ops::embedding(a.tensor(0), a.tensor(1), a.optional_integer(2), a.boolean(3)); }>(
      kFunction, "The rows of weight at the given indices; the row padding_idx gets no gradient.", {.page = "neural"});
  def<"_embedding_bag(Tensor input, Tensor weight, bool mean=False, bool scale_grad_by_freq=False) -> Tensor",
      [](Args& a) { return ops::embedding_bag(a.tensor(0), a.tensor(1), a.boolean(2), a.boolean(3)); }>(
      kFunction, "Sums or means of the rows of weight at each row of indices.");
  def<"_all_true(Tensor input) -> bool", [](Args& a) { return ops::all_true(a.tensor(0)); }>(
      kFunction | kTool, "Whether all elements are true; replays of compiled functions check that it is the same.");
  def<"one_hot(Tensor input, int num_classes=-1) -> Tensor", [](Args& a) {
    return ops::one_hot(a.tensor(0), a.integer(1));
  }>(kFunction, "A new last dimension with 1 at the class and 0 elsewhere.", {.kind = Kind::Move, .page = "neural"});
});

}  // namespace genesis::py
