#include "ops/create.h"

#include "autograd/meta.h"
#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

// The keyword arguments that every factory ends in: dtype, device, requires_grad at slots i, i+1, i+2.
static Tensor finish(Args& a, int i, Tensor t) {
  a.device(i + 1);
  if (a.boolean(i + 2, false)) set_requires_grad(t, true);
  return t;
}

static const Family family([] {
  def<"zeros(*size, dtype=None, device=None, requires_grad=False)", [](Args& a) {
    return finish(a, 1, ops::zeros(a.dims(0), a.optional_dtype(1).value_or(default_dtype)));
  }>(kFunction, "A tensor of zeros.");
  def<"ones(*size, dtype=None, device=None, requires_grad=False)", [](Args& a) {
    return finish(a, 1, ops::ones(a.dims(0), a.optional_dtype(1).value_or(default_dtype)));
  }>(kFunction, "A tensor of ones.");
  def<"clone(input)", [](Args& a) { return ops::clone(a.tensor(0)); }>();
  def<"contiguous(input)", [](Args& a) { return ops::contiguous(a.tensor(0)); }>(kMethod);
  def<"zero_(input)", [](Args& a) { return ops::zero_(a.tensor(0)); }>(kMethod);
  def<"fill_(input, value)", [](Args& a) { return ops::fill_(a.tensor(0), a.scalar(1)); }>(kMethod);
  def<"copy_(input, src)", [](Args& a) { return ops::copy_(a.tensor(0), a.tensor(1)); }>(kMethod);
});

}  // namespace genesis::py
