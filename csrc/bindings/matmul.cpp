#include "ops/matmul.h"

#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/complex.h"
#include "ops/inplace_view.h"

namespace genesis::py {

// name(input, a, b, *, beta=1, alpha=1) and the in-place name_, which can resize a broadcast input.
template <FixedString Name, FixedString Operands, auto F, bool Resizes = false>
static void with_addend(const char* doc, Traits traits = {}) {
  def<join<Name, join<join<"(Tensor input, ", Operands>(),
                      ", *, Scalar beta=1, Scalar alpha=1, Tensor? out=None) -> Tensor">()>(),
      [](Args& a) { return F(a.tensor(0), a.tensor(1), a.tensor(2), a.scalar(3), a.scalar(4)); }>(kBoth, doc, traits);
  def<join<Name, join<join<"_(Tensor input, ", Operands>(), ", *, Scalar beta=1, Scalar alpha=1) -> Self">()>(),
      [](Args& a) {
        static constexpr auto name = join<Name, "_">();
        const Tensor &x = a.tensor(1), &y = a.tensor(2);
        return ops::inplace(name.text, a.tensor(0), {&x, &y}, [&](const Tensor& input, ops::Out out) {
          Tensor result = F(input, x, y, a.scalar(3), a.scalar(4));
          if (Resizes && out && result.shape() != input.shape())
            ops::resize_(name.text, input, result.shape(), ops::MemoryFormat::Contiguous);
          return ops::deliver(name.text, std::move(result), out);
        });
      }>(kMethod, doc, traits);
}

static const Family family({.kind = Kind::Matrix, .autocast = Cast::Low, .page = "matrix"}, [] {
  def<"matmul(Tensor input, Tensor other, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::matmul(a.tensor(0), a.tensor(1));
  }>(kBoth, "The matrix product over the last two dimensions, broadcasting the others.", {.also = "linalg.matmul"});
  def<"mm(Tensor input, Tensor mat2, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::mm(a.tensor(0), a.tensor(1)); }>(kBoth, "The product of two matrices.");
  def<"bmm(Tensor input, Tensor mat2, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::bmm(a.tensor(0), a.tensor(1)); }>(kBoth, "The products of two stacks of matrices.");
  def<"mv(Tensor input, Tensor vec, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::mv(a.tensor(0), a.tensor(1)); }>(kBoth, "A matrix times a vector.");
  def<"dot(Tensor input, Tensor tensor, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::dot(a.tensor(0), a.tensor(1));
  }>(kBoth, "The dot product of two vectors.", {.autocast = Cast::AsIs, .flops = Flops::Dot});
  def<"vdot(Tensor input, Tensor other, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::dot(ops::conj(a.tensor(0)), a.tensor(1));
  }>(kBoth, "The dot product of two vectors, the first conjugated.", {.autocast = Cast::AsIs, .flops = Flops::Dot});
  def<"outer(Tensor input, Tensor vec2, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::outer(a.tensor(0), a.tensor(1));
  }>(kBoth, "The matrix of all products of two vectors.", {.autocast = Cast::AsIs, .flops = Flops::Output});
  def<"ger(Tensor input, Tensor vec2, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::outer(a.tensor(0), a.tensor(1));
  }>(kBoth, "The same as outer().", {.autocast = Cast::AsIs, .flops = Flops::Output});
  def<"inner(Tensor input, Tensor other, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::inner(a.tensor(0), a.tensor(1)); }>(kBoth, "Dot products along the last dimensions.");
  with_addend<"addmm", "Tensor mat1, Tensor mat2", ops::addmm>("beta * input + alpha * (mat1 @ mat2).",
                                                               {.flops = Flops::AddMatmul});
  with_addend<"addmv", "Tensor mat, Tensor vec", ops::addmv>("beta * input + alpha * (mat @ vec).",
                                                             {.flops = Flops::AddMatmul});
  with_addend<"addr", "Tensor vec1, Tensor vec2", ops::addr>("beta * input + alpha * outer(vec1, vec2).",
                                                             {.flops = Flops::Output});
  with_addend<"baddbmm", "Tensor batch1, Tensor batch2", ops::baddbmm>(
      "beta * input + alpha * (batch1 @ batch2), for stacks of matrices.", {.flops = Flops::AddMatmul});
  with_addend<"addbmm", "Tensor batch1, Tensor batch2", ops::addbmm, true>(
      "beta * input + alpha * the sum over the batch of batch1 @ batch2.", {.flops = Flops::AddMatmul});
  def<"linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", [](Args& a) {
    return ops::linear(a.tensor(0), a.tensor(1), a.optional_tensor(2));
  }>(kFunction, "input @ weight.T + bias.", {.flops = Flops::Linear, .page = "neural"});
});

}  // namespace genesis::py
