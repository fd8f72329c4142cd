#include "ops/scatter.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family([] {
  def<"scatter(input, dim, index, src)", [](Args& a) {
    return ops::scatter(a.tensor(0), a.integer(1), a.tensor(2), a.operand(3));
  }>(kBoth, "input with the elements of src (or a number) put at the given indices along dim.");
  def<"scatter_(input, dim, index, src)", [](Args& a) {
    return ops::scatter_(a.tensor(0), a.integer(1), a.tensor(2), a.operand(3));
  }>(kMethod, "scatter(), in place.");
  def<"scatter_add(input, dim, index, src)", [](Args& a) {
    return ops::scatter_add(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3));
  }>(kBoth, "input with the elements of src added at the given indices along dim.");
  def<"scatter_add_(input, dim, index, src)", [](Args& a) {
    return ops::scatter_add_(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3));
  }>(kMethod, "scatter_add(), in place.");
  def<"index_add(input, dim, index, source, *, alpha=1)", [](Args& a) {
    return ops::index_add(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3), a.scalar(4, 1));
  }>(kBoth, "input with alpha times the slices of source added at a 1-d index along dim.");
  def<"index_add_(input, dim, index, source, *, alpha=1)", [](Args& a) {
    return ops::index_add_(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3), a.scalar(4, 1));
  }>(kMethod, "index_add(), in place.");
  def<"index_copy(input, dim, index, source)", [](Args& a) {
    return ops::index_copy(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3));
  }>(kBoth, "input with the slices of source put at a 1-d index along dim.");
  def<"index_copy_(input, dim, index, source)", [](Args& a) {
    return ops::index_copy_(a.tensor(0), a.integer(1), a.tensor(2), a.tensor(3));
  }>(kMethod, "index_copy(), in place.");
  def<"index_fill(input, dim, index, value)", [](Args& a) {
    return ops::index_fill(a.tensor(0), a.integer(1), a.tensor(2), a.operand(3));
  }>(kBoth, "input with value at a 1-d index along dim.");
  def<"index_fill_(input, dim, index, value)", [](Args& a) {
    return ops::index_fill_(a.tensor(0), a.integer(1), a.tensor(2), a.operand(3));
  }>(kMethod, "index_fill(), in place.");
});

}  // namespace genesis::py
