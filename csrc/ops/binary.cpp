#include "ops/binary.h"

#include <cmath>
#include <limits>

#include "kernels/elementwise/binary.h"
#include "ops/compare.h"
#include "ops/complex.h"
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
                    [](const Tensor& dz, const Kept& y, const Kept& x, const Saved& saved) {
                      const Tensor r = add(mul(x, x), mul(y, y));
                      const Tensor scaled =
                          dz / where(eq(r, 0), 1.0, r);  // 0 at the origin, where the angle has no derivative
                      return Grads{saved.needs(0) ? scaled * x : Tensor(), saved.needs(1) ? -(scaled * y) : Tensor()};
                    });
}

Tensor hypot(const Operand& x, const Operand& y, Out out) {
  Tensor z = floating("hypot", kernels::hypot, x, y, out);
  return record("hypot", z, broadcast(x.or_undefined(), y.or_undefined()),
                save(x.or_undefined(), y.or_undefined(), output(z)), [](const Tensor& dz, const Saved& saved) {
                  const Tensor z = saved[2];
                  const Tensor scaled = dz / where(eq(z, 0), 1.0, z);  // 0 at the origin
                  return Grads{saved.needs(0) ? scaled * saved[0] : Tensor(),
                               saved.needs(1) ? scaled * saved[1] : Tensor()};
                });
}

Tensor copysign(const Operand& x, const Operand& y, Out out) {
  // The gradient needs only the signs of x and of the result, so y may be changed afterwards.
  Tensor z = floating("copysign", kernels::copysign, x, y, out);
  return record("copysign", z, broadcast(x.or_undefined(), y.or_undefined()), save(x.or_undefined(), output(z)),
                [](const Tensor& dz, const Saved& saved) {
                  Tensor dx;
                  if (saved.needs(0)) dx = dz * sign(saved[0]) * copysign(1.0, saved[1]);
                  return Grads{dx, saved.needs(1) ? zeros_like(dz) : Tensor()};
                });
}

// By the real parts, which determine the size of the exponentials, the smaller one is scaled.
static Tensor complex_logaddexp(const Tensor& x, const Tensor& y) {
  const Tensor swap = lt(real(x), real(y));
  const Tensor large = where(swap, y, x), small = where(swap, x, y);
  const Tensor none = eq(real(large), -std::numeric_limits<double>::infinity());  // the difference would be NaN
  const Tensor z = large + log1p(exp(where(none, 0.0, small - large)));
  return where(none, large, z);
}

Tensor logaddexp(const Operand& x, const Operand& y, Out out) {
  if (const DType dtype = common_type(x, y); is_complex(dtype)) {
    const auto as_tensor = [dtype](const Operand& o) {
      return o.tensor ? cast(*o.tensor, dtype) : scalar_tensor(o.scalar, dtype);
    };
    return deliver("logaddexp", complex_logaddexp(as_tensor(x), as_tensor(y)), out);
  }
  return record_zip("logaddexp", floating("logaddexp", kernels::logaddexp, x, y, out), x, y,
                    [](const Tensor& dz, const Kept& x, const Kept& y, const Saved& saved) {
                      const Operand a = x.number(dz.dtype()), b = y.number(dz.dtype());
                      return Grads{saved.needs(0) ? dz * sigmoid(sub(a, b)) : Tensor(),
                                   saved.needs(1) ? dz * sigmoid(sub(b, a)) : Tensor()};
                    });
}

Tensor logaddexp2(const Operand& x, const Operand& y, Out out) {
  return record_zip("logaddexp2", floating("logaddexp2", kernels::logaddexp2, x, y, out), x, y,
                    [](const Tensor& dz, const Kept& x, const Kept& y, const Saved& saved) {
                      constexpr double ln2 = 0.693147180559945309417;
                      const Tensor d = sub(x.number(dz.dtype()), y.number(dz.dtype())) * ln2;
                      return Grads{saved.needs(0) ? dz * sigmoid(d) : Tensor(),
                                   saved.needs(1) ? dz * sigmoid(-d) : Tensor()};
                    });
}

Tensor ldexp(const Operand& x, const Operand& y, Out out) {
  const DType dtype = floating_type(common_type(x, y));
  Tensor z;
  {
    const WithGradMode off(false);
    z = mul(x, pow(2.0, y.tensor ? cast(*y.tensor, dtype) : scalar_tensor(y.scalar, dtype)), out);
  }
  return record("ldexp", z, broadcast(x.or_undefined(), y.or_undefined()), save(y.or_undefined(), output(z)),
                [s = y.scalar](const Tensor& dz, const Saved& saved) {
                  Tensor dx, dy;
                  if (saved.needs(0)) {
                    const Tensor y = saved[0].defined() ? cast(saved[0], dz.dtype()) : scalar_tensor(s, dz.dtype());
                    dx = dz * conj(pow(2.0, y));
                  }
                  if (saved.needs(1)) dy = dz * conj(saved[1]) * 0.693147180559945309417;
                  return Grads{dx, dy};
                });
}

}  // namespace genesis::ops
