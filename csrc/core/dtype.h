// Element types. Half precision is a storage format: kernels widen to float32, compute, and round once.
#pragma once

#include <cstdint>
#include <cstring>

namespace genesis {

// The order is the order of promotion within a kind.
enum class DType : uint8_t { Bool, UInt8, Int8, Int16, Int32, Int64, Float16, BFloat16, Float32, Float64 };
inline constexpr int kNumDTypes = 10;

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

inline int64_t itemsize(DType t) {
  constexpr uint8_t sizes[kNumDTypes] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  return sizes[static_cast<int>(t)];
}
inline const char* name(DType t) {
  constexpr const char* names[kNumDTypes] = {"bool",  "uint8",   "int8",     "int16",   "int32",
                                             "int64", "float16", "bfloat16", "float32", "float64"};
  return names[static_cast<int>(t)];
}
inline bool is_floating(DType t) { return t >= DType::Float16; }
inline bool is_integral(DType t) { return t < DType::Float16; }  // bool included
inline bool is_half(DType t) { return t == DType::Float16 || t == DType::BFloat16; }

template <class T>
struct dtype_of_t;
// clang-format off
template <> struct dtype_of_t<bool> { static constexpr DType value = DType::Bool; };
template <> struct dtype_of_t<uint8_t> { static constexpr DType value = DType::UInt8; };
template <> struct dtype_of_t<int8_t> { static constexpr DType value = DType::Int8; };
template <> struct dtype_of_t<int16_t> { static constexpr DType value = DType::Int16; };
template <> struct dtype_of_t<int32_t> { static constexpr DType value = DType::Int32; };
template <> struct dtype_of_t<int64_t> { static constexpr DType value = DType::Int64; };
template <> struct dtype_of_t<Half> { static constexpr DType value = DType::Float16; };
template <> struct dtype_of_t<BFloat16> { static constexpr DType value = DType::BFloat16; };
template <> struct dtype_of_t<float> { static constexpr DType value = DType::Float32; };
template <> struct dtype_of_t<double> { static constexpr DType value = DType::Float64; };
// clang-format on
template <class T>
inline constexpr DType dtype_of = dtype_of_t<T>::value;

inline float to_float(BFloat16 x) {
  const uint32_t u = static_cast<uint32_t>(x.bits) << 16;
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}

inline BFloat16 to_bfloat16(float f) {
  uint32_t u;
  std::memcpy(&u, &f, 4);
  const uint32_t rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;  // to nearest, ties to even
  const bool nan = (u & 0x7fffffff) > 0x7f800000;
  return {static_cast<uint16_t>(nan ? 0x7fc0 : rounded)};
}

// The exponent is shifted by a multiplication, which also normalises subnormals: no branch, so loops vectorise.
inline float to_float(Half x) {
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000) << 16;
  const uint32_t rest = static_cast<uint32_t>(x.bits & 0x7fff) << 13;
  float magnitude, special;
  std::memcpy(&magnitude, &rest, 4);
  magnitude *= 0x1p112f;
  uint32_t u = rest | 0x7f800000;  // inf and nan keep their mantissa
  std::memcpy(&special, &u, 4);
  const float value = (x.bits & 0x7c00) == 0x7c00 ? special : magnitude;
  std::memcpy(&u, &value, 4);
  u |= sign;
  float out;
  std::memcpy(&out, &u, 4);
  return out;
}

inline Half to_half(float f) {
  uint32_t u;
  std::memcpy(&u, &f, 4);
  const uint32_t sign = (u >> 16) & 0x8000;
  u &= 0x7fffffff;
  if (u >= 0x47800000) return {static_cast<uint16_t>(sign | (u > 0x7f800000 ? 0x7e00 : 0x7c00))};
  if (u < 0x38800000) {  // subnormal: adding 0.5 lets the adder align and round the mantissa
    float magnitude;
    std::memcpy(&magnitude, &u, 4);
    magnitude += 0.5f;
    std::memcpy(&u, &magnitude, 4);
    return {static_cast<uint16_t>(sign | (u - 0x3f000000))};
  }
  u += 0xc8000fff + ((u >> 13) & 1);  // rebias, round to nearest even
  return {static_cast<uint16_t>(sign | (u >> 13))};
}

}  // namespace genesis
