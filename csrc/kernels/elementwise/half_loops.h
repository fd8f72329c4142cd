// Inner loops that compute on half precision in place: values are widened, computed and narrowed in registers. For
// operators that cost less than the conversion buffer of elementwise(). Their functors also accept vectors.
#pragma once

#include <utility>

#include "kernels/elementwise/half.h"
#include "kernels/elementwise/loops.h"

namespace genesis::kernels::GENESIS_ISA {

// The element type of a number (itself) or of a vector. Functors that accept both write constants as Element<T>(x).
template <class T>
struct ElementOf {
  using type = T;
};
template <class T>
  requires requires(T x) { x[0]; }
struct ElementOf<T> {
  using type = std::remove_cvref_t<decltype(T{}[0])>;
};
template <class T>
using Element = typename ElementOf<T>::type;

#if defined(GENESIS_HALF_VECTORS)

namespace {

// An input: elements of S, or a single value, which is float32 for a 0-dimensional tensor. The value is broadcast by
// subtracting 0; adding 0 would turn -0 into 0.
template <class S>
struct HalfInput {
  const S* data;
  Floats value;
  bool single;
  HalfInput(const char* p, bool single, bool is_float) : data(reinterpret_cast<const S*>(p)), single(single) {
    if (single) value = (is_float ? *reinterpret_cast<const float*>(p) : to_float(*data)) - Floats{};
  }
  Floats whole(int64_t i) const { return single ? value : load_floats(data + i); }
  Floats part(int64_t i, int64_t n) const { return single ? value : load_floats(data + i, n); }
  // Of a vector of bfloat16 pairs, the even and the odd elements.
  Words words(int64_t i) const {
    Words x;
    std::memcpy(&x, data + i, sizeof x);
    return x;
  }
  Floats even(int64_t i) const { return single ? value : (Floats)(words(i) << 16); }
  Floats odd(int64_t i) const { return single ? value : (Floats)(words(i) & 0xffff0000); }
};

// Results are numbers, or lanes with all bits set or clear, which are stored as bytes 1 and 0.
typedef int32_t Truths __attribute__((vector_size(sizeof(Floats))));
typedef uint8_t Bools __attribute__((vector_size(kHalfLanes)));
inline Bools to_bools(Truths x) {
#if defined(__aarch64__)
  const uint16x4_t halves = vmovn_u32((uint32x4_t)(x & 1));
  const uint8x8_t bytes = vmovn_u16(vcombine_u16(halves, halves));
  Bools y;
  std::memcpy(&y, &bytes, sizeof y);
  return y;
#else
  if constexpr (kHalfLanes == 16) return __builtin_convertvector(x, Bools) & 1;
  // Converted through halves, because the compiler would extract the lanes one by one.
  else return __builtin_convertvector(low_halves((Words)x & 1), Bools);
#endif
}

template <class S>
struct HalfOutput {
  char* data;
  void whole(int64_t i, Floats x) const { store_halves(reinterpret_cast<S*>(data) + i, x); }
  void part(int64_t i, Floats x, int64_t n) const {
    store_part(static_cast<void*>(reinterpret_cast<S*>(data) + i), to_halves(x, S{}), n);
  }
  void whole(int64_t i, Truths x) const {
    const Bools y = to_bools(x);
    std::memcpy(data + i, &y, sizeof y);
  }
  void part(int64_t i, Truths x, int64_t n) const {
    const Bools y = to_bools(x);
    std::memcpy(data + i, &y, static_cast<size_t>(n));
  }
  void both(int64_t i, Floats even, Floats odd) const {
    const Words y = to_pairs(even, odd);
    std::memcpy(reinterpret_cast<S*>(data) + i, &y, sizeof y);
  }
  void both(int64_t i, Truths even, Truths odd) const {
    const Halves y = low_halves((Words)((even & 1) | (odd & 0x100)));
    std::memcpy(data + i, &y, sizeof y);
  }
};

struct HalfParams {
  const void* own;
  unsigned floats;  // bit i: input i is read as float32
};

template <class Op, class S, class... In>
[[gnu::always_inline]] inline void write_halves(const HalfOutput<S>& y, int64_t n, const Call<Op>& op, const In&... x) {
  int64_t i = 0;
  // A word holds two bfloat16 values, which a shift or a mask widens in place. Nothing moves between lanes, which only
  // one port of the processor could do.
  if constexpr (std::is_same_v<S, BFloat16>)
    for (; i + 2 * kHalfLanes <= n; i += 2 * kHalfLanes) y.both(i, op(x.even(i)...), op(x.odd(i)...));
  for (; i + kHalfLanes <= n; i += kHalfLanes) y.whole(i, op(x.whole(i)...));
  if (i < n) y.part(i, op(x.part(i, n - i)...), n - i);
}
template <class Op, class S, class Inputs>
void half_loop(char* const* data, unsigned scalars, int64_t n, const void* params) {
  const auto [own, floats] = *static_cast<const HalfParams*>(params);
  [&]<int... k>(std::integer_sequence<int, k...>) {
    write_halves<Op>(HalfOutput<S>{data[0]}, n, Call<Op>(own),
                     HalfInput<S>(data[k + 1], scalars & (2u << k), floats & (2u << k))...);
  }(Inputs{});
}

}  // namespace

// Computes y = Op(x...) if `type` is a half type and every input has that dtype or is 0-dimensional; otherwise returns
// false.
template <class Op, class... Views>
bool on_halves(DType type, const View& y, Params params, const Views&... x) {
  if ((type != DType::Float16 && type != DType::BFloat16) || !((x.ndim == 0 || x.dtype == type) && ...)) return false;
  using Inputs = std::make_integer_sequence<int, sizeof...(x)>;
  HalfParams all{params.data, 0};
  unsigned bit = 1;
  ((all.floats |= (bit <<= 1) * (x.ndim == 0)), ...);
  elementwise({{y, y.dtype}, {x, x.ndim == 0 ? DType::Float32 : type}...},
              type == DType::Float16 ? half_loop<Op, Half, Inputs> : half_loop<Op, BFloat16, Inputs>,
              Params::uncopied(&all));
  return true;
}

#else

template <class Op, class... Views>
bool on_halves(DType, const View&, Params, const Views&...) {
  return false;
}

#endif

}  // namespace genesis::kernels::GENESIS_ISA
