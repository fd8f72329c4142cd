// A Python number as an operand: its kind takes part in type promotion weakly, but it has no dtype and is no tensor.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "core/dtype.h"
#include "core/error.h"

namespace genesis {

struct Scalar {
  enum Kind : uint8_t { Bool, Int, Float, Complex } kind;
  union {
    int64_t i;
    double f;  // of a complex number, the real part
  };
  double imaginary = 0;  // follows f, so that both are a complex number in memory

  Scalar() : kind(Int), i(0) {}
  template <std::floating_point T>
  Scalar(T value) : kind(Float), f(value) {}
  template <std::integral T>
  Scalar(T value) : kind(std::is_same_v<T, bool> ? Bool : Int), i(static_cast<int64_t>(value)) {}
  Scalar(std::complex<double> value) : kind(Complex), f(value.real()), imaginary(value.imag()) {}

  // These raise for a complex number.
  double to_double() const {
    if (kind == Float) return f;
    if (kind == Complex) [[unlikely]]
      refuse();
    return static_cast<double>(i);
  }
  int64_t to_int() const {
    if (kind == Complex) [[unlikely]]
      refuse();
    return kind == Float ? static_cast<int64_t>(f) : i;
  }
  std::complex<double> to_complex() const {
    return kind == Complex ? std::complex<double>(f, imaginary) : std::complex<double>(to_double());
  }
  bool to_bool() const { return is_inexact() ? f != 0 || imaginary != 0 : i != 0; }
  bool is_float() const { return kind == Float; }
  bool is_complex() const { return kind == Complex; }
  bool is_inexact() const { return kind >= Float; }
  // The dtype in which the value is stored, and of a view of it.
  DType storage_dtype() const {
    return kind == Float ? DType::Float64 : kind == Complex ? DType::Complex128 : DType::Int64;
  }
  Scalar conj() const { return kind == Complex ? Scalar(std::conj(to_complex())) : *this; }
  Scalar operator-() const { return kind == Complex ? Scalar(-to_complex()) : kind == Float ? Scalar(-f) : Scalar(-i); }
  bool operator==(const Scalar& o) const {
    if (kind == Complex || o.kind == Complex) return to_complex() == o.to_complex();
    return kind == Float || o.kind == Float ? to_double() == o.to_double() : i == o.i;
  }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void refuse() const {
    fail<DTypeError>("expected a real number, got the complex number ", f, imaginary < 0 ? " - " : " + ",
                     imaginary < 0 ? -imaginary : imaginary, "j");
  }
};

inline std::ostream& operator<<(std::ostream& out, const Scalar& s) {
  if (s.is_complex()) return out << s.to_complex();
  return s.is_float() ? out << s.f : out << s.i;
}

}  // namespace genesis
