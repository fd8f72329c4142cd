#include "ops/scatter.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

// scatter's src, which PyTorch calls `value` if it is a number.
static Operand source(Args& a) {
  if (a.has(3) == a.has(5)) throw_type_error(str(a.name(), "(): give either src or value"));
  return a.operand(a.has(3) ? 3 : 5);
}
static ops::Reduce reduction(Args& a) {
  const std::string name = a.string(4);
  require(name == "add" || name == "multiply", a.name(), ": reduce must be 'add' or 'multiply', got '", name,
          "'; scatter_reduce() has more");
  return name == "add" ? ops::Reduce::Sum : ops::Reduce::Prod;
}

static const Family family({.kind = Kind::Index, .page = "shape"}, [] {
  def<"scatter(Tensor input, int dim, Tensor index, Operand? src=None, *, str? reduce=None, Operand? value=None, "
      "Tensor? out=None) -> Tensor",
      [](Args& a) {
        const Operand src = source(a);
        if (!a.has(4)) return ops::scatter(a.tensor(0), a.integer(1), a.tensor(2), src);
        return ops::scatter_reduce(a.tensor(0), a.integer(1), a.tensor(2), src, reduction(a));
      }>(kBoth, "input with the elements of src (or a number) put at the given indices along dim.");
  def<"scatter_(Tensor input, int dim, Tensor index, Operand? src=None, *, str? reduce=None, Operand? value=None) "
      "-> "
      "Self",
      [](Args& a) {
        const Operand src = source(a);
        if (!a.has(4)) return ops::scatter_(a.tensor(0), a.integer(1), a.tensor(2), src);
        return ops::scatter_reduce_(a.tensor(0), a.integer(1), a.tensor(2), src, reduction(a), true);
      }>(kMethod, "scatter(), in place.");
  def<"scatter_reduce(Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True, "
      "Tensor? "
      "out=None) -> Tensor",
      [](Args& a) {
        return ops::scatter_reduce(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3),
                                   ops::reduce_named(a.name(), a.string(4)), a.boolean(5));
      }>(kBoth,
         "input with the elements of src combined at the given indices along dim: sum, prod, mean, amax or amin.");
  def<"scatter_reduce_(Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> "
      "Self",
      [](Args& a) {
        return ops::scatter_reduce_(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3),
                                    ops::reduce_named(a.name(), a.string(4)), a.boolean(5));
      }>(kMethod, "scatter_reduce(), in place.");
  def<"index_reduce(Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True, "
      "Tensor? "
      "out=None) -> Tensor",
      [](Args& a) {
        return ops::index_reduce(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3),
                                 ops::reduce_named(a.name(), a.string(4)), a.boolean(5));
      }>(kBoth, "input with the slices of source combined at a 1-d index along dim: prod, mean, amax or amin.");
  def<"index_reduce_(Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> "
      "Self",
      [](Args& a) {
        return ops::index_reduce_(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3),
                                  ops::reduce_named(a.name(), a.string(4)), a.boolean(5));
      }>(kMethod, "index_reduce(), in place.");
  def<"put(Tensor input, Tensor index, Tensor source, bool accumulate=False) -> Tensor", [](Args& a) {
    return ops::put(a.tensor(0), a.tensor(1), a.tensor(2), a.boolean(3));
  }>(kBoth, "input, seen as one line, with the elements of source put (or added) at the given indices.");
  def<"put_(Tensor input, Tensor index, Tensor source, bool accumulate=False) -> Self", [](Args& a) {
    return ops::put_(a.tensor(0), a.tensor(1), a.tensor(2), a.boolean(3));
  }>(kMethod, "put(), in place.");
  def<"scatter_add(Tensor input, int dim, Tensor index, Tensor src, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::scatter_add(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3));
  }>(kBoth, "input with the elements of src added at the given indices along dim.");
  def<"scatter_add_(Tensor input, int dim, Tensor index, Tensor src) -> Self", [](Args& a) {
    return ops::scatter_add_(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3));
  }>(kMethod, "scatter_add(), in place.");
  def<"index_add(Tensor input, int dim, Tensor index, Tensor source, *, Scalar alpha=1, Tensor? out=None) -> "
      "Tensor",
      [](Args& a) { return ops::index_add(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3), a.scalar(4)); }>(
      kBoth, "input with alpha times the slices of source added at a 1-d index along dim.");
  def<"index_add_(Tensor input, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Self", [](Args& a) {
    return ops::index_add_(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3), a.scalar(4));
  }>(kMethod, "index_add(), in place.");
  def<"index_copy(Tensor input, int dim, Tensor index, Tensor source, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::index_copy(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3));
  }>(kBoth, "input with the slices of source put at a 1-d index along dim.");
  def<"index_copy_(Tensor input, int dim, Tensor index, Tensor source) -> Self", [](Args& a) {
    return ops::index_copy_(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3));
  }>(kMethod, "index_copy(), in place.");
  def<"index_fill(Tensor input, int dim, Tensor index, Operand value) -> Tensor", [](Args& a) {
    return ops::index_fill(a.tensor(0), a.integer(1), a.tensor(2), a.operand(3));
  }>(kBoth, "input with value at a 1-d index along dim.");
  def<"index_fill_(Tensor input, int dim, Tensor index, Operand value) -> Self", [](Args& a) {
    return ops::index_fill_(a.tensor(0), a.integer(1), a.tensor(2), a.operand(3));
  }>(kMethod, "index_fill(), in place.");
});

}  // namespace genesis::py
