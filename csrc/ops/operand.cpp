#include "ops/operand.h"

namespace genesis {

DType scalar_dtype(Scalar s) {
  switch (s.kind) {
    case Scalar::Bool: return DType::Bool;
    case Scalar::Int: return DType::Int64;
    case Scalar::Float: return default_dtype;
    case Scalar::Complex: return complex_type(default_dtype);
  }
  return default_dtype;
}

DType result_type(std::initializer_list<Operand> operands) {
  constexpr int kNone = -1;
  int with_dims = kNone, zero_dim = kNone, number = kNone;
  const auto join = [](int& sum, DType t) {
    sum = sum == kNone ? static_cast<int>(t) : static_cast<int>(promote(static_cast<DType>(sum), t));
  };
  for (const Operand& x : operands) {
    if (x.is_scalar()) join(number, scalar_dtype(x.scalar));
    else if (x.tensor->dim() == 0) join(zero_dim, x.tensor->dtype());
    else join(with_dims, x.tensor->dtype());
  }
  const auto combine = [](int strong, int weak) {
    if (strong == kNone) return weak;
    if (weak == kNone) return strong;
    return static_cast<int>(promote_weak(static_cast<DType>(strong), static_cast<DType>(weak)));
  };
  return static_cast<DType>(combine(with_dims, combine(zero_dim, number)));
}

}  // namespace genesis
