#include "ops/matmul.h"

#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/inplace_view.h"

namespace genesis::py {

// name(input, a, b, *, beta=1, alpha=1) and name_ in place, where an input that broadcasts can be resized.
template <FixedString Name, FixedString Operands, auto F, bool Resizes = false>
static void with_addend(const char* doc) {
  def<join<Name, join<join<"(input, ", Operands>(), ", *, beta=1, alpha=1, out=None)">()>(),
      [](Args& a) { return F(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3, 1), a.scalar(4, 1)); }>(kBoth, doc);
  def<join<Name, join<join<"_(input, ", Operands>(), ", *, beta=1, alpha=1)">()>(), [](Args& a) {
    static constexpr auto name = join<Name, "_">();
    const Tensor &x = a.tensor(1), &y = a.tensor(2);
    return ops::inplace(name.text, a.tensor(0), {&x, &y}, [&](const Tensor& input, ops::Out out) {
      Tensor result = F(input, x, y, a.scalar(3, 1), a.scalar(4, 1));
      if (Resizes && out && result.shape() != input.shape())
        ops::resize_(name.text, input, result.shape(), ops::MemoryFormat::Contiguous);
      return ops::deliver(name.text, std::move(result), out);
    });
  }>(kMethod, doc);
}

static const Family family([] {
  def<"matmul(input, other, *, out=None)", [](Args& a) { return ops::matmul(a.tensor(0), a.tensor(1)); }>(
      kBoth, "The matrix product over the last two dimensions, broadcasting the others.");
  def<"mm(input, mat2, *, out=None)", [](Args& a) { return ops::mm(a.tensor(0), a.tensor(1)); }>(
      kBoth, "The product of two matrices.");
  def<"bmm(input, mat2, *, out=None)", [](Args& a) { return ops::bmm(a.tensor(0), a.tensor(1)); }>(
      kBoth, "The products of two stacks of matrices.");
  def<"mv(input, vec, *, out=None)", [](Args& a) { return ops::mv(a.tensor(0), a.tensor(1)); }>(
      kBoth, "A matrix times a vector.");
  def<"dot(input, tensor, *, out=None)", [](Args& a) { return ops::dot(a.tensor(0), a.tensor(1)); }>(
      kBoth, "The dot product of two vectors.");
  def<"vdot(input, other, *, out=None)", [](Args& a) { return ops::dot(a.tensor(0), a.tensor(1)); }>(
      kBoth, "The dot product of two vectors.");
  def<"outer(input, vec2, *, out=None)", [](Args& a) { return ops::outer(a.tensor(0), a.tensor(1)); }>(
      kBoth, "The matrix of all products of two vectors.");
  def<"ger(input, vec2, *, out=None)", [](Args& a) { return ops::outer(a.tensor(0), a.tensor(1)); }>(
      kBoth, "The same as outer().");
  def<"inner(input, other, *, out=None)", [](Args& a) { return ops::inner(a.tensor(0), a.tensor(1)); }>(
      kBoth, "Dot products along the last dimensions.");
  with_addend<"addmm", "mat1, mat2", ops::addmm>("beta * input + alpha * (mat1 @ mat2).");
  with_addend<"addmv", "mat, vec", ops::addmv>("beta * input + alpha * (mat @ vec).");
  with_addend<"addr", "vec1, vec2", ops::addr>("beta * input + alpha * outer(vec1, vec2).");
  with_addend<"baddbmm", "batch1, batch2", ops::baddbmm>(
      "beta * input + alpha * (batch1 @ batch2), for stacks of matrices.");
  with_addend<"addbmm", "batch1, batch2", ops::addbmm, true>(
      "beta * input + alpha * the sum over the batch of batch1 @ batch2.");
  def<"linear(input, weight, bias=None)", [](Args& a) {
    return ops::linear(a.tensor(0), a.tensor(1), a.optional_tensor(2));
  }>(kFunction, "input @ weight.T + bias.");
});

}  // namespace genesis::py
