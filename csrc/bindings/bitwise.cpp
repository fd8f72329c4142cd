#include "ops/bitwise.h"

#include "bindings/elementwise.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family({.kind = Kind::Pointwise, .page = "pointwise"}, [] {
  def_zip<"bitwise_and", ops::bitwise_and>("input & other.");
  def_zip<"bitwise_or", ops::bitwise_or>("input | other.");
  def_zip<"bitwise_xor", ops::bitwise_xor>("input ^ other.");
  def_map<"bitwise_not", ops::bitwise_not>("~input.");
  def_zip<"bitwise_left_shift", ops::bitwise_left_shift>("input << other.");
  def_zip<"bitwise_right_shift", ops::bitwise_right_shift>("input >> other, keeping the sign.");
  def_zip<"gcd", ops::gcd>("The greatest common divisor.");
  def_zip<"lcm", ops::lcm>("The least common multiple.");
});

}  // namespace genesis::py
