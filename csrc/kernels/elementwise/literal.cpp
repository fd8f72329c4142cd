#include "kernels/elementwise/literal.h"

#include <cstring>

namespace genesis::kernels::GENESIS_ISA {

void write_literal(View dst, Literal values) {
  if (values.bytes > 0) std::memcpy(dst.data, values.data, static_cast<size_t>(values.bytes));
}
GENESIS_KERNEL(write_literal)

}  // namespace genesis::kernels::GENESIS_ISA
