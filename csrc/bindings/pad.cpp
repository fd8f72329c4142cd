#include "ops/pad.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family({.kind = Kind::Move, .page = "shape"}, [] {
  def<"constant_pad_nd(Tensor input, int[] pad, Scalar value=0) -> Tensor", [](Args& a) {
    return ops::constant_pad(a.tensor(0), a.dims(1), a.scalar(2));
  }>(kFunction, "The input with `value` around it: two numbers of elements for each dimension, from the last.");
});

}  // namespace genesis::py
