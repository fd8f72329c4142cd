// Inner loops for elementwise(): turns a functor on scalars into a vectorized loop on tiles. Included by kernel files,
// which are compiled per instruction set.
//
// A functor is a struct with a static apply. Parameters, if any, are passed as a struct by reference in the last
// position:
//   struct Add { template <class T> static T apply(T a, T b) { return a + b; } };
//   struct Softplus { struct Params { double beta; };
//                     template <class T> static T apply(T x, const Params& p) { ... } };
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/elementwise/elementwise.h"
#include "kernels/kernel.h"

namespace genesis::kernels::GENESIS_ISA {

template <class Op>
concept HasParams = requires { typename Op::Params; };

// Op with a copy of its parameters. Through a pointer, which the output might alias, the compiler would reload them for
// every element and not vectorize.
template <class Op>
struct Call {
  explicit Call(const void*) {}
  template <class... T>
  [[gnu::always_inline]] auto operator()(T... x) const {
    return Op::apply(x...);
  }
};
template <HasParams Op>
struct Call<Op> {
  using Params = typename Op::Params;
  explicit Call(const void* p) : params(*static_cast<const Params*>(p)) {}
  template <class... T>
  [[gnu::always_inline]] auto operator()(T... x) const {
    return Op::apply(x..., params);
  }
  std::conditional_t<std::is_copy_constructible_v<Params>, const Params, const Params&> params;
};

// The sum of a vector's lanes, by adding halves.
template <class T, class V>
[[gnu::always_inline]] inline T across(V v) {
  constexpr int half = sizeof(V) / sizeof(T) / 2;
  if constexpr (half == 1) {
    return v[0] + v[1];
  } else {
    return [&]<int... i>(std::integer_sequence<int, i...>) {
      return across<T>(__builtin_shufflevector(v, v, i...) + __builtin_shufflevector(v, v, (i + half)...));
    }(std::make_integer_sequence<int, half>{});
  }
}

template <class Op, class In, class Out>
void unary_loop(char* const* data, unsigned scalars, int64_t n, const void* params) {
  const Call<Op> op(params);
  Out* y = reinterpret_cast<Out*>(data[0]);
  const In* x = reinterpret_cast<const In*>(data[1]);
  if (scalars) {
    const Out value = op(*x);
    for (int64_t i = 0; i < n; ++i) y[i] = value;
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = op(x[i]);
}

// The same for functions that are slower than memory: they prefetch an output that is not in the cache.
template <class Op, class T>
void far_unary_loop(char* const* data, unsigned scalars, int64_t n, const void* params) {
  constexpr int64_t line = 64 / sizeof(T), block = 4 * line, ahead = kAhead / sizeof(T);
  int64_t i = 0;
  if (scalars == kFar) {
    const Call<Op> op(params);
    T* y = reinterpret_cast<T*>(data[0]);
    const T* x = reinterpret_cast<const T*>(data[1]);
    for (; i + block <= n; i += block) {
      for (int64_t j = 0; j < block; j += line) __builtin_prefetch(y + i + ahead + j, 1);
#pragma GCC ivdep
      for (int64_t j = 0; j < block; ++j) y[i + j] = op(x[i + j]);
    }
  }
  char* const rest[] = {data[0] + i * int64_t{sizeof(T)}, data[1] + i * int64_t{sizeof(T)}};
  unary_loop<Op, T, T>(rest, scalars & ~kFar, n - i, params);
}

// Calls f(i) for i < n. For float, four vectors at a time: the branch predictor then predicts the end of rows of a few
// hundred elements, which it does not for a loop over single vectors.
template <class T, class F>
[[gnu::always_inline]] inline void each(int64_t n, F f) {
  if constexpr (std::is_same_v<T, float>) {
#pragma GCC ivdep
#pragma GCC unroll 4
    for (int64_t i = 0; i < n; ++i) f(i);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) f(i);
  }
}

template <class Op, class In, class Out>
void binary_loop(char* const* data, unsigned scalars, int64_t n, const void* params) {
  const Call<Op> op(params);
  Out* const y = reinterpret_cast<Out*>(data[0]);
  const In* const a = reinterpret_cast<const In*>(data[1]);
  const In* const b = reinterpret_cast<const In*>(data[2]);
  if (scalars == 0) return each<Out>(n, [=](int64_t i) { y[i] = op(a[i], b[i]); });
  if (scalars == 4) return each<Out>(n, [=, b0 = *b](int64_t i) { y[i] = op(a[i], b0); });
  if (scalars == 2) return each<Out>(n, [=, a0 = *a](int64_t i) { y[i] = op(a0, b[i]); });
  std::fill_n(y, n, op(*a, *b));
}

// Calls f(a, b, c, y, m) for pieces of at most kTile elements. Single values are expanded to a piece first, so that one
// loop handles every case.
template <class A, class B, class C, class Out, class F>
[[gnu::always_inline]] inline void spread(char* const* data, unsigned scalars, int64_t n, F&& f) {
  Out* y = reinterpret_cast<Out*>(data[0]);
  const A* a = reinterpret_cast<const A*>(data[1]);
  const B* b = reinterpret_cast<const B*>(data[2]);
  const C* c = reinterpret_cast<const C*>(data[3]);
  A spread_a[kTile];
  B spread_b[kTile];
  C spread_c[kTile];
  const int64_t tile = n < kTile ? n : kTile;
  if (scalars & 2) std::fill_n(spread_a, tile, *a);
  if (scalars & 4) std::fill_n(spread_b, tile, *b);
  if (scalars & 8) std::fill_n(spread_c, tile, *c);
  for (int64_t begin = 0; begin < n; begin += kTile)
    f(scalars & 2 ? spread_a : a + begin, scalars & 4 ? spread_b : b + begin, scalars & 8 ? spread_c : c + begin,
      y + begin, n - begin < kTile ? n - begin : kTile);
}

// Three inputs of types A, B, C.
template <class Op, class A, class B, class C, class Out>
void ternary_loop(char* const* data, unsigned scalars, int64_t n, const void* params) {
  const Call<Op> op(params);
  const auto loop = [&op](const A* a, const B* b, const C* c, Out* y, int64_t m) {
#pragma GCC ivdep
    for (int64_t i = 0; i < m; ++i) y[i] = op(a[i], b[i], c[i]);
  };
  if (scalars != 0) return spread<A, B, C, Out>(data, scalars, n, loop);
  loop(reinterpret_cast<const A*>(data[1]), reinterpret_cast<const B*>(data[2]), reinterpret_cast<const C*>(data[3]),
       reinterpret_cast<Out*>(data[0]), n);
}

// Calls f.template operator()<T>() with the compute dtype of `t` and returns its result.
template <class F>
auto with_compute_type(DType t, F&& f) {
  switch (compute_type(t)) {
    case DType::UInt8: return f.template operator()<uint8_t>();
    case DType::Int32: return f.template operator()<int32_t>();
    case DType::Int64: return f.template operator()<int64_t>();
    case DType::Float32: return f.template operator()<float>();
    case DType::Float64: return f.template operator()<double>();
    default: unsupported(t);
  }
}
template <class F>
auto with_floating_compute_type(DType t, F&& f) {
  switch (compute_type(t)) {
    case DType::Float32: return f.template operator()<float>();
    case DType::Float64: return f.template operator()<double>();
    default: unsupported(t);
  }
}

// The same, but without widening small integers: for operations that wrap around in the small type just as in int32.
template <class F>
auto with_own_type(DType t, F&& f) {
  switch (t) {
    case DType::UInt8: return f.template operator()<uint8_t>();
    case DType::Int8: return f.template operator()<int8_t>();
    case DType::Int16: return f.template operator()<int16_t>();
    default: return with_compute_type(t, f);
  }
}
inline DType own_type(DType t) { return t >= DType::UInt8 && t <= DType::Int16 ? t : compute_type(t); }

// y = Op(x), both in the compute dtype of y. Floating point only.
template <class Op>
void map_floating(View y, View x, Params params = {}, int64_t grain = kLightGrain) {
  const DType t = compute_type(y.dtype);
  if (grain < kLightGrain && t == DType::Float32)
    return elementwise({{y, t}, {x, t}}, far_unary_loop<Op, float>, params, grain, true);
  const Inner inner = with_floating_compute_type(y.dtype, []<class T>() -> Inner { return unary_loop<Op, T, T>; });
  elementwise({{y, t}, {x, t}}, inner, params, grain);
}
// The same for every dtype.
template <class Op>
void map(View y, View x, Params params = {}, int64_t grain = kLightGrain) {
  const DType t = compute_type(y.dtype);
  const Inner inner = with_compute_type(y.dtype, []<class T>() -> Inner { return unary_loop<Op, T, T>; });
  elementwise({{y, t}, {x, t}}, inner, params, grain);
}
template <class Op>
void map_own(View y, View x, Params params = {}) {
  const DType t = own_type(y.dtype);
  elementwise({{y, t}, {x, t}}, with_own_type(y.dtype, []<class T>() -> Inner { return unary_loop<Op, T, T>; }),
              params);
}
template <class Op>
void zip_own(View y, View a, View b, Params params = {}) {
  const DType t = own_type(y.dtype);
  const Inner inner = with_own_type(y.dtype, []<class T>() -> Inner { return binary_loop<Op, T, T>; });
  elementwise({{y, t}, {a, t}, {b, t}}, inner, params);
}
template <class Op>
void zip(View y, View a, View b, Params params = {}, int64_t grain = kLightGrain) {
  const DType t = compute_type(y.dtype);
  const Inner inner = with_compute_type(y.dtype, []<class T>() -> Inner { return binary_loop<Op, T, T>; });
  elementwise({{y, t}, {a, t}, {b, t}}, inner, params, grain);
}
template <class Op>
void zip_floating(View y, View a, View b, Params params = {}, int64_t grain = kLightGrain) {
  const DType t = compute_type(y.dtype);
  const Inner inner = with_floating_compute_type(y.dtype, []<class T>() -> Inner { return binary_loop<Op, T, T>; });
  elementwise({{y, t}, {a, t}, {b, t}}, inner, params, grain);
}
template <class Op>
void zip3(View y, View a, View b, View c, Params params = {}, int64_t grain = kLightGrain) {
  const DType t = compute_type(y.dtype);
  const Inner inner = with_compute_type(y.dtype, []<class T>() -> Inner { return ternary_loop<Op, T, T, T, T>; });
  elementwise({{y, t}, {a, t}, {b, t}, {c, t}}, inner, params, grain);
}
template <class Op>
void zip3_floating(View y, View a, View b, View c, Params params = {}, int64_t grain = kLightGrain) {
  const DType t = compute_type(y.dtype);
  const Inner inner =
      with_floating_compute_type(y.dtype, []<class T>() -> Inner { return ternary_loop<Op, T, T, T, T>; });
  elementwise({{y, t}, {a, t}, {b, t}, {c, t}}, inner, params, grain);
}
// y (bool) = Op(x), with x in its own compute dtype.
template <class Op>
void test(View y, View x) {
  const Inner inner = with_compute_type(x.dtype, []<class T>() -> Inner { return unary_loop<Op, T, bool>; });
  elementwise({{y, DType::Bool}, {x, compute_type(x.dtype)}}, inner);
}
// y (bool) = Op(a, b), compared in the compute dtype of `in`.
template <class Op>
void compare(View y, View a, View b, DType in) {
  const DType t = compute_type(in);
  const Inner inner = with_compute_type(in, []<class T>() -> Inner { return binary_loop<Op, T, bool>; });
  elementwise({{y, DType::Bool}, {a, t}, {b, t}}, inner);
}

}  // namespace genesis::kernels::GENESIS_ISA
