// A Python number as an operand: it has a kind, which takes part in promotion weakly, but no dtype and no tensor.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "core/dtype.h"

namespace genesis {

struct Scalar {
  enum Kind : uint8_t { Bool, Int, Float } kind;
  union {
    int64_t i;
    double f;
  };

  Scalar() : kind(Int), i(0) {}
  template <std::floating_point T>
  Scalar(T value) : kind(Float), f(value) {}
  template <std::integral T>
  Scalar(T value) : kind(std::is_same_v<T, bool> ? Bool : Int), i(static_cast<int64_t>(value)) {}

  double to_double() const { return kind == Float ? f : static_cast<double>(i); }
  int64_t to_int() const { return kind == Float ? static_cast<int64_t>(f) : i; }
  bool to_bool() const { return kind == Float ? f != 0 : i != 0; }
  bool is_float() const { return kind == Float; }
  // The type in which the value is stored, and that a view on it has.
  DType storage_dtype() const { return kind == Float ? DType::Float64 : DType::Int64; }
  bool operator==(const Scalar& o) const {
    return kind == Float || o.kind == Float ? to_double() == o.to_double() : i == o.i;
  }
};

}  // namespace genesis
