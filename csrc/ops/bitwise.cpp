#include "ops/bitwise.h"

#include "kernels/elementwise/bitwise.h"
#include "kernels/elementwise/compare.h"
#include "ops/elementwise.h"

namespace genesis::ops {

static Tensor integers(const char* op, const kernels::Binary& kernel, const Operand& x, const Operand& y, Out out,
                       bool with_bool) {
  const DType dtype = common_type(x, y);
  require<DTypeError>(!is_floating(dtype), op, ": defined for integers", with_bool ? " and bool" : "", ", got ", dtype,
                      "; convert with long()");
  require<DTypeError>(with_bool || dtype != DType::Bool, op, ": defined for integers, got bool; convert with long()");
  return untracked(zip(op, kernel, x, y, dtype, out));
}

Tensor bitwise_and(const Operand& x, const Operand& y, Out out) {
  return integers("bitwise_and", kernels::bitwise_and, x, y, out, true);
}
Tensor bitwise_or(const Operand& x, const Operand& y, Out out) {
  return integers("bitwise_or", kernels::bitwise_or, x, y, out, true);
}
Tensor bitwise_xor(const Operand& x, const Operand& y, Out out) {
  return integers("bitwise_xor", kernels::bitwise_xor, x, y, out, true);
}
Tensor bitwise_left_shift(const Operand& x, const Operand& y, Out out) {
  return integers("bitwise_left_shift", kernels::left_shift, x, y, out, false);
}
Tensor bitwise_right_shift(const Operand& x, const Operand& y, Out out) {
  return integers("bitwise_right_shift", kernels::right_shift, x, y, out, false);
}
Tensor gcd(const Operand& x, const Operand& y, Out out) { return integers("gcd", kernels::gcd, x, y, out, false); }
Tensor lcm(const Operand& x, const Operand& y, Out out) { return integers("lcm", kernels::lcm, x, y, out, false); }

Tensor bitwise_not(const Tensor& x, Out out) {
  require<DTypeError>(!is_floating(x.dtype()), "bitwise_not: defined for integers and bool, got ", x.dtype());
  const kernels::Unary& kernel = x.dtype() == DType::Bool ? kernels::logical_not : kernels::bitwise_not;
  return untracked(map("bitwise_not", kernel, x, x.dtype(), out));
}

}  // namespace genesis::ops
