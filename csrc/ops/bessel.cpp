// Bessel functions and the Airy function of tensors. The derivative of each is expressed by functions of adjacent
// order.
#include "ops/bessel.h"

#include "ops/special.h"
#include "ops/special_map.h"

namespace genesis::ops {

using special::map, special::quotient, special::with_rule;

Tensor i0(const Tensor& x, Out out) {
  return with_rule("i0", map<bessel::bessel0>("i0", x, out), x, [](const Tensor& x) { return special_i1(x); });
}
Tensor special_i0e(const Tensor& x) {
  return with_rule("special_i0e", map<bessel::i0e>("special.i0e", x), x,
                   [](const Tensor& x, const Tensor& y) { return special_i1e(x) - sign(x) * y; });
}
Tensor special_i1(const Tensor& x) {
  return with_rule("special_i1", map<bessel::bessel1>("special.i1", x), x,
                   [](const Tensor& x, const Tensor& y) { return i0(x) - quotient(y, x, 0.5); });
}
Tensor special_i1e(const Tensor& x) {
  return with_rule("special_i1e", map<bessel::i1e>("special.i1e", x), x,
                   [](const Tensor& x, const Tensor& y) { return special_i0e(x) - sign(x) * y - quotient(y, x, 0.5); });
}

Tensor special_bessel_j0(const Tensor& x) {
  return with_rule("special_bessel_j0", map<bessel::j0>("special.bessel_j0", x), x,
                   [](const Tensor& x) { return -special_bessel_j1(x); });
}
Tensor special_bessel_j1(const Tensor& x) {
  return with_rule("special_bessel_j1", map<bessel::j1>("special.bessel_j1", x), x,
                   [](const Tensor& x, const Tensor& y) { return special_bessel_j0(x) - quotient(y, x, 0.5); });
}
Tensor special_bessel_y0(const Tensor& x) {
  return with_rule("special_bessel_y0", map<bessel::y0>("special.bessel_y0", x), x,
                   [](const Tensor& x) { return -special_bessel_y1(x); });
}
Tensor special_bessel_y1(const Tensor& x) {
  return with_rule("special_bessel_y1", map<bessel::y1>("special.bessel_y1", x), x,
                   [](const Tensor& x, const Tensor& y) { return special_bessel_y0(x) - y / x; });
}
Tensor special_modified_bessel_k0(const Tensor& x) {
  return with_rule("special_modified_bessel_k0", map<bessel::k0>("special.modified_bessel_k0", x), x,
                   [](const Tensor& x) { return -special_modified_bessel_k1(x); });
}
Tensor special_modified_bessel_k1(const Tensor& x) {
  return with_rule("special_modified_bessel_k1", map<bessel::k1>("special.modified_bessel_k1", x), x,
                   [](const Tensor& x, const Tensor& y) { return -special_modified_bessel_k0(x) - y / x; });
}
Tensor special_scaled_modified_bessel_k0(const Tensor& x) {
  return with_rule("special_scaled_modified_bessel_k0", map<bessel::k0e>("special.scaled_modified_bessel_k0", x), x,
                   [](const Tensor& x, const Tensor& y) { return y - special_scaled_modified_bessel_k1(x); });
}
Tensor special_scaled_modified_bessel_k1(const Tensor& x) {
  return with_rule("special_scaled_modified_bessel_k1", map<bessel::k1e>("special.scaled_modified_bessel_k1", x), x,
                   [](const Tensor& x, const Tensor& y) { return y - special_scaled_modified_bessel_k0(x) - y / x; });
}

static Tensor spherical_bessel_j1(const Tensor& x) {
  return with_rule(
      "spherical_bessel_j1", map<bessel::spherical_j1>("special.spherical_bessel_j0", x), x,
      [](const Tensor& x, const Tensor& y) { return special_spherical_bessel_j0(x) - quotient(y, x, 1.0 / 3) * 2; });
}
Tensor special_spherical_bessel_j0(const Tensor& x) {
  return with_rule("special_spherical_bessel_j0", map<bessel::spherical_j0>("special.spherical_bessel_j0", x), x,
                   [](const Tensor& x) { return -spherical_bessel_j1(x); });
}

static Tensor airy_slope(const Tensor& x) {
  return with_rule("airy_slope", map<bessel::airy_slope>("special.airy_ai", x), x,
                   [](const Tensor& x) { return x * special_airy_ai(x); });
}
Tensor special_airy_ai(const Tensor& x) {
  return with_rule("special_airy_ai", map<bessel::airy_value>("special.airy_ai", x), x, airy_slope);
}

}  // namespace genesis::ops
