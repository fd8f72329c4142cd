// Inner loops on half precision where it lies: widened, computed and narrowed in registers. For operators that cost
// less than the way through a buffer that elementwise() would take; their functors also take vectors.
#pragma once

#include "kernels/half.h"
#include "kernels/loops.h"

namespace genesis::kernels::GENESIS_ISA {

#if defined(__F16C__)

namespace {

// An input: elements of S that move along, or a single value, which is float32 if it is a tensor without dimensions.
template <class S>
struct HalfInput {
  const S* data;
  Floats value;
  bool single;
  HalfInput(const char* p, bool single, bool is_float) : data(reinterpret_cast<const S*>(p)), single(single) {
    if (single) value = Floats{} + (is_float ? *reinterpret_cast<const float*>(p) : to_float(*data));
  }
  Floats whole(int64_t i) const { return single ? value : load_floats(data + i); }
  Floats part(int64_t i, int64_t n) const {
    return single ? value : to_floats(load_part(static_cast<const void*>(data + i), n), S{});
  }
};

template <class S, class F>
[[gnu::always_inline]] inline void write_halves(char* to, int64_t n, F value) {
  S* const y = reinterpret_cast<S*>(to);
  int64_t i = 0;
  for (; i + kHalfLanes <= n; i += kHalfLanes) store_halves(y + i, value([i](const auto& x) { return x.whole(i); }));
  const int64_t m = n - i;
  if (m > 0)
    store_part(static_cast<void*>(y + i), to_halves(value([i, m](const auto& x) { return x.part(i, m); }), S{}), m);
}

template <class Op, class S>
void half_binary_loop(char* const* data, unsigned scalars, int64_t n, const void* params) {
  const unsigned floats = *static_cast<const unsigned*>(params);
  const HalfInput<S> a(data[1], scalars & 2, floats & 2), b(data[2], scalars & 4, floats & 4);
  write_halves<S>(data[0], n, [&](auto fetch) { return Op::apply(fetch(a), fetch(b)); });
}

}  // namespace

// y = Op(a, b), if y and both inputs are of one half type or have no dimensions.
template <class Op>
bool zip_halves(const View& y, const View& a, const View& b) {
  const auto fits = [&](const View& x) { return x.ndim == 0 || x.dtype == y.dtype; };
  if ((y.dtype != DType::Float16 && y.dtype != DType::BFloat16) || !fits(a) || !fits(b)) return false;
  const auto type = [](const View& x) { return x.ndim == 0 ? DType::Float32 : x.dtype; };
  const unsigned floats = (a.ndim == 0 ? 2 : 0) | (b.ndim == 0 ? 4 : 0);
  elementwise({{y, y.dtype}, {a, type(a)}, {b, type(b)}},
              y.dtype == DType::Float16 ? half_binary_loop<Op, Half> : half_binary_loop<Op, BFloat16>, &floats);
  return true;
}

#else

template <class Op>
bool zip_halves(const View&, const View&, const View&) {
  return false;
}

#endif

}  // namespace genesis::kernels::GENESIS_ISA
