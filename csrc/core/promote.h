// Type promotion: PyTorch's rules, computed from the kinds and sizes in the table of dtypes.
#pragma once

#include "core/dtype.h"
#include "core/error.h"

namespace genesis {

// The dtype of Python floats and of operations that convert integers to floats; float32 unless set_default_dtype
// changes it.
inline DType default_dtype = DType::Float32;

namespace dtype_table {

inline constexpr uint8_t kNoPromotion = 255;

constexpr bool integer(DType t) { return info(t).kind == K::Unsigned || info(t).kind == K::Signed; }

// The first dtype of a kind with elements of at least `size` bytes that kernels compute in.
constexpr uint8_t smallest(NumberKind kind, int size) {
  for (const DTypeInfo& t : kTable)
    if (t.kind == kind && t.size >= size && !t.storage_only) return static_cast<uint8_t>(t.dtype);
  return kNoPromotion;
}

constexpr uint8_t promoted(const DTypeInfo& a, const DTypeInfo& b) {
  if (a.dtype == b.dtype) return static_cast<uint8_t>(a.dtype);
  if (integer(a.dtype) && integer(b.dtype)) {
    if (a.storage_only || b.storage_only) return kNoPromotion;
    if (a.kind == b.kind) return static_cast<uint8_t>(a.size > b.size ? a.dtype : b.dtype);
    const DTypeInfo& u = a.kind == K::Unsigned ? a : b;
    const DTypeInfo& s = a.kind == K::Unsigned ? b : a;
    return s.size > u.size ? static_cast<uint8_t>(s.dtype) : smallest(K::Signed, 2 * u.size);
  }
  if (a.kind == K::Complex || b.kind == K::Complex) {
    const bool wide = a.part == Float64 || b.part == Float64;
    return static_cast<uint8_t>(wide ? Complex128 : Complex64);
  }
  if (a.kind == K::Floating && b.kind == K::Floating) {
    if (a.storage_only || b.storage_only) return kNoPromotion;
    if (a.size != b.size) return static_cast<uint8_t>(a.size > b.size ? a.dtype : b.dtype);
    return smallest(K::Floating, 2 * a.size);  // float16 and bfloat16: the smallest that holds both
  }
  return static_cast<uint8_t>(a.kind > b.kind ? a.dtype : b.dtype);
}

struct Promotions {
  uint8_t of[kNumDTypes][kNumDTypes];
  constexpr Promotions() : of{} {
    for (int a = 0; a < kNumDTypes; ++a)
      for (int b = 0; b < kNumDTypes; ++b) of[a][b] = promoted(kTable[a], kTable[b]);
  }
};
inline constexpr Promotions kPromotions;

}  // namespace dtype_table

inline DType promote(DType a, DType b) {
  const uint8_t t = dtype_table::kPromotions.of[static_cast<int>(a)][static_cast<int>(b)];
  if (t == dtype_table::kNoPromotion) [[unlikely]]
    fail<DTypeError>("there is no common dtype of ", a, " and ", b, "; convert one of the tensors with to()");
  return static_cast<DType>(t);
}

// `strong` takes part with its kind and width, `weak` (a 0-d tensor against one with dimensions, or a Python number
// against any tensor) with its kind only.
inline DType promote_weak(DType strong, DType weak) {
  if (is_complex(strong)) return strong;
  if (is_floating(strong)) return is_complex(weak) ? complex_type(strong) : strong;
  return strong == DType::Bool || is_differentiable(weak) ? promote(strong, weak) : strong;
}

}  // namespace genesis
