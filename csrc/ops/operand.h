// An argument that may be a tensor or a Python number, and type promotion of such arguments.
#pragma once

#include <initializer_list>

#include "core/promote.h"
#include "core/scalar.h"
#include "core/tensor.h"

namespace genesis {

struct Operand {
  const Tensor* tensor = nullptr;
  Scalar scalar;

  Operand(const Tensor& t) : tensor(&t) {}
  Operand(Scalar s) : scalar(s) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T value) : scalar(value) {}
  Operand(std::complex<double> value) : scalar(value) {}

  bool is_scalar() const { return tensor == nullptr; }
  // A number is a 0-d view of itself: it needs no tensor.
  View view() const {
    if (tensor) return tensor->view();
    return {const_cast<int64_t*>(&scalar.i), scalar.storage_dtype(), 0, nullptr, nullptr};
  }
  // The input to record: the tensor, or none.
  inline const Tensor& or_undefined() const;
  inline const Dims& shape() const;
};

namespace detail {
// Not static variables of functions, which are checked at each use.
inline const Tensor undefined_tensor{};
inline const Dims scalar_shape{};
}  // namespace detail

const Tensor& Operand::or_undefined() const { return tensor ? *tensor : detail::undefined_tensor; }
const Dims& Operand::shape() const { return tensor ? tensor->shape() : detail::scalar_shape; }

DType scalar_dtype(Scalar s);  // bool, int64, or the default floating or complex type
DType result_type(std::initializer_list<Operand> operands);
// The dtype of a result that is always floating or complex (div, exp, mean).
inline DType floating_type(DType t) { return is_differentiable(t) ? t : default_dtype; }

inline void require_floating(const char* op, const char* argument, const Tensor& x) {
  require<DTypeError>(is_floating(x.dtype()), op, ": ", argument, " must be floating, got ", x.dtype(), "; use ",
                      argument, ".float()");
}

}  // namespace genesis
