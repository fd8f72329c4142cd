// Element types. Half precision is a storage format: kernels widen to float32, compute, and round once.
#pragma once

#include <complex>
#include <cstdint>
#include <cstring>

namespace genesis {

// Dtypes that support only storage, casts and copies come last (`storage_only`).
enum class DType : uint8_t {
  Bool,
  UInt8,
  Int8,
  Int16,
  Int32,
  Int64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Complex64,
  Complex128,
  UInt16,
  UInt32,
  UInt64,
  Float8E4M3,
  Float8E5M2,
};
inline constexpr int kNumDTypes = 17;
inline constexpr int64_t kMaxItemSize = 16;

// The order is the order of promotion between kinds.
enum class NumberKind : uint8_t { Bool, Unsigned, Signed, Floating, Complex };

// The properties of a dtype. A new dtype needs a row here, and kernels that support it.
struct DTypeInfo {
  DType dtype;
  NumberKind kind;
  uint8_t size;             // bytes of an element
  DType compute;            // the type that elementwise kernels compute in
  DType part;               // of the real and imaginary parts; the dtype itself unless it is complex
  bool storage_only;        // supported only by kernels that move and convert
  const char* name;         // "float32"
  const char* alias;        // another name in Python ("float"), or null
  const char* format;       // of the buffer protocol, which is NumPy's too; null if there is none
  uint8_t dlpack;           // DLPack's type code
  const char* safetensors;  // null if the format has none
};

namespace dtype_table {
using enum DType;
using K = NumberKind;
inline constexpr DTypeInfo kTable[kNumDTypes] = {
    // clang-format off
    // dtype     kind          size compute   part       storage name             alias     format dlpack safetensors
    {Bool,       K::Bool,      1,  UInt8,     Bool,       false, "bool",          nullptr,  "?",     6,  "BOOL"},
    {UInt8,      K::Unsigned,  1,  Int32,     UInt8,      false, "uint8",         nullptr,  "B",     1,  "U8"},
    {Int8,       K::Signed,    1,  Int32,     Int8,       false, "int8",          nullptr,  "b",     0,  "I8"},
    {Int16,      K::Signed,    2,  Int32,     Int16,      false, "int16",         "short",  "h",     0,  "I16"},
    {Int32,      K::Signed,    4,  Int32,     Int32,      false, "int32",         "int",    "i",     0,  "I32"},
    {Int64,      K::Signed,    8,  Int64,     Int64,      false, "int64",         "long",   "q",     0,  "I64"},
    {Float16,    K::Floating,  2,  Float32,   Float16,    false, "float16",       "half",   "e",     2,  "F16"},
    {BFloat16,   K::Floating,  2,  Float32,   BFloat16,   false, "bfloat16",      nullptr,  nullptr, 4,  "BF16"},
    {Float32,    K::Floating,  4,  Float32,   Float32,    false, "float32",       "float",  "f",     2,  "F32"},
    {Float64,    K::Floating,  8,  Float64,   Float64,    false, "float64",       "double", "d",     2,  "F64"},
    {Complex64,  K::Complex,   8,  Complex64, Float32,    false, "complex64",     "cfloat", "Zf",    5,  "C64"},
    {Complex128, K::Complex,   16, Complex128, Float64,   false, "complex128",    "cdouble", "Zd",   5,  nullptr},
    {UInt16,     K::Unsigned,  2,  Int64,     UInt16,     true,  "uint16",        nullptr,  "H",     1,  "U16"},
    {UInt32,     K::Unsigned,  4,  Int64,     UInt32,     true,  "uint32",        nullptr,  "I",     1,  "U32"},
    {UInt64,     K::Unsigned,  8,  Int64,     UInt64,     true,  "uint64",        nullptr,  "Q",     1,  "U64"},
    {Float8E4M3, K::Floating,  1,  Float32,   Float8E4M3, true,  "float8_e4m3fn", nullptr,  nullptr, 10, "F8_E4M3"},
    {Float8E5M2, K::Floating,  1,  Float32,   Float8E5M2, true,  "float8_e5m2",   nullptr,  nullptr, 12, "F8_E5M2"},
    // clang-format on
};
constexpr bool in_order() {
  for (int i = 0; i < kNumDTypes; ++i)
    if (static_cast<int>(kTable[i].dtype) != i) return false;
  return true;
}
static_assert(in_order());
}  // namespace dtype_table

constexpr const DTypeInfo& info(DType t) { return dtype_table::kTable[static_cast<int>(t)]; }
constexpr int64_t itemsize(DType t) { return info(t).size; }
constexpr const char* name(DType t) { return info(t).name; }
constexpr bool is_floating(DType t) { return info(t).kind == NumberKind::Floating; }
constexpr bool is_complex(DType t) { return info(t).kind == NumberKind::Complex; }
constexpr bool is_integral(DType t) { return info(t).kind < NumberKind::Floating; }  // bool included
constexpr bool is_unsigned(DType t) { return info(t).kind == NumberKind::Unsigned; }
constexpr bool is_half(DType t) { return t == DType::Float16 || t == DType::BFloat16; }
// Tensors with these dtypes can have gradients.
constexpr bool is_differentiable(DType t) { return info(t).kind >= NumberKind::Floating; }
// Real dtypes that kernels compute with.
constexpr bool is_common(DType t) { return t <= DType::Float64; }
// The dtype of the real and imaginary parts of a complex dtype.
constexpr DType real_type(DType t) { return info(t).part; }
// The complex dtype whose parts can hold a floating dtype.
constexpr DType complex_type(DType t) {
  return t == DType::Float64 || t == DType::Complex128 ? DType::Complex128 : DType::Complex64;
}

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
struct Float8E4M3 {
  uint8_t bits;
};
struct Float8E5M2 {
  uint8_t bits;
};

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
template <> struct dtype_of_t<std::complex<float>> { static constexpr DType value = DType::Complex64; };
template <> struct dtype_of_t<std::complex<double>> { static constexpr DType value = DType::Complex128; };
template <> struct dtype_of_t<uint16_t> { static constexpr DType value = DType::UInt16; };
template <> struct dtype_of_t<uint32_t> { static constexpr DType value = DType::UInt32; };
template <> struct dtype_of_t<uint64_t> { static constexpr DType value = DType::UInt64; };
template <> struct dtype_of_t<Float8E4M3> { static constexpr DType value = DType::Float8E4M3; };
template <> struct dtype_of_t<Float8E5M2> { static constexpr DType value = DType::Float8E5M2; };
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

// A multiplication shifts the exponent and also normalizes subnormals: without a branch, so loops vectorize.
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

// Eight bits with `Mantissa` bits of fraction, rounded to nearest, ties to even. Values larger than `Largest` become
// `Overflow`: infinity in one format; in the other, which has none, the largest number, as in PyTorch.
template <int Mantissa, int Bias, uint32_t Largest, uint32_t Overflow>
inline uint8_t to_float8(float f) {
  uint32_t u;
  std::memcpy(&u, &f, 4);
  const uint32_t sign = (u >> 24) & 0x80;
  u &= 0x7fffffff;
  if (u > 0x7f800000) return static_cast<uint8_t>(sign | 0x7f);
  uint32_t result;
  if (u < static_cast<uint32_t>(128 - Bias) << 23) {  // subnormal: the adder aligns and rounds
    constexpr uint32_t one = static_cast<uint32_t>(127 + 1 - Bias - Mantissa + 23) << 23;
    float magnitude, magic;
    std::memcpy(&magnitude, &u, 4);
    std::memcpy(&magic, &one, 4);
    magnitude += magic;
    std::memcpy(&result, &magnitude, 4);
    result -= one;
  } else {
    constexpr int shift = 23 - Mantissa;
    result = (u - (static_cast<uint32_t>(127 - Bias) << 23) + ((1u << (shift - 1)) - 1) + ((u >> shift) & 1)) >> shift;
    if (result > Largest) result = Overflow;
  }
  return static_cast<uint8_t>(sign | result);
}
inline Float8E4M3 to_float8_e4m3(float f) { return {to_float8<3, 7, 0x7e, 0x7e>(f)}; }
inline Float8E5M2 to_float8_e5m2(float f) { return {to_float8<2, 15, 0x7b, 0x7c>(f)}; }

inline float to_float(Float8E5M2 x) { return to_float(Half{static_cast<uint16_t>(x.bits << 8)}); }
inline float to_float(Float8E4M3 x) {
  const uint32_t exponent = (x.bits >> 3) & 15, mantissa = x.bits & 7;
  const uint32_t u = (x.bits & 0x7f) == 0x7f ? 0x7fc00000 : (exponent + 120) << 23 | mantissa << 20;
  float f;
  std::memcpy(&f, &u, 4);
  if (exponent == 0) f = static_cast<float>(mantissa) * 0x1p-9f;
  return x.bits & 0x80 ? -f : f;
}

}  // namespace genesis
