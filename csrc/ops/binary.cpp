#include "ops/binary.h"

#include <cmath>

#include "kernels/binary.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/pointwise.h"
#include "ops/power.h"
#include "ops/select.h"
#include "ops/unary.h"

namespace genesis::ops {

static Tensor floating(const char* op, const kernels::Binary& kernel, const Operand& x, const Operand& y, Out out) {
  return zip(op, kernel, x, y, floating_type(common_type(x, y)), out);
}

Tensor atan2(const Operand& y, const Operand& x, Out out) {
  return record_zip("atan2", floating("atan2", kernels::atan2, y, x, out), y, x,
                    [](const Tensor& dz, const Operand& y, const Operand& x, const Saved& saved) {
                      const Tensor r = add(mul(x, x), mul(y, y));
                      const Tensor scaled =
                          dz / where(eq(r, 0), 1.0, r);  // 0 at the origin, where the angle has no derivative
                      return Grads{saved.needs(0) ? scaled * x : Tensor(), saved.needs(1) ? -(scaled * y) : Tensor()};
                    });
}

Tensor hypot(const Operand& x, const Operand& y, Out out) {
  return record_zip("hypot", floating("hypot", kernels::hypot, x, y, out), x, y,
                    [](const Tensor& dz, const Operand& x, const Operand& y, const Saved& saved) {
                      const Tensor z = hypot(x, y);
                      const Tensor scaled = dz / where(eq(z, 0), 1.0, z);  // 0 at the origin
                      return Grads{saved.needs(0) ? scaled * x : Tensor(), saved.needs(1) ? scaled * y : Tensor()};
                    });
}

Tensor copysign(const Operand& x, const Operand& y, Out out) {
  return record_zip("copysign", floating("copysign", kernels::copysign, x, y, out), x, y,
                    [](const Tensor& dz, const Operand& x, const Operand& y, const Saved& saved) {
                      Tensor dx;
                      if (saved.needs(0)) dx = dz * copysign(1.0, y) * sign(*x.tensor);
                      return Grads{dx, saved.needs(1) ? zeros_like(dz) : Tensor()};
                    });
}

Tensor logaddexp(const Operand& x, const Operand& y, Out out) {
  return record_zip("logaddexp", floating("logaddexp", kernels::logaddexp, x, y, out), x, y,
                    [](const Tensor& dz, const Operand& x, const Operand& y, const Saved& saved) {
                      return Grads{saved.needs(0) ? dz * sigmoid(sub(x, y)) : Tensor(),
                                   saved.needs(1) ? dz * sigmoid(sub(y, x)) : Tensor()};
                    });
}

Tensor logaddexp2(const Operand& x, const Operand& y, Out out) {
  return record_zip("logaddexp2", floating("logaddexp2", kernels::logaddexp2, x, y, out), x, y,
                    [](const Tensor& dz, const Operand& x, const Operand& y, const Saved& saved) {
                      constexpr double ln2 = 0.693147180559945309417;
                      const Tensor d = sub(x, y) * ln2;
                      return Grads{saved.needs(0) ? dz * sigmoid(d) : Tensor(),
                                   saved.needs(1) ? dz * sigmoid(-d) : Tensor()};
                    });
}

Tensor ldexp(const Operand& x, const Operand& y, Out out) {
  const DType dtype = floating_type(common_type(x, y));
  return mul(x, y.tensor ? pow(2.0, cast(*y.tensor, dtype)) : scalar_tensor(std::exp2(y.scalar.to_double()), dtype),
             out);
}

}  // namespace genesis::ops
