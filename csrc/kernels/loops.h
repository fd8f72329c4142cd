// Inner loops for elementwise(): from a functor on scalars to a vectorised loop on tiles. Part of the kernel files that
// are compiled per instruction set.
//
// A functor is a struct with a static apply; parameters, if any, come as a struct by reference in the last place:
//   struct Add { template <class T> static T apply(T a, T b) { return a + b; } };
//   struct Softplus { struct Params { double beta; };
//                     template <class T> static T apply(T x, const Params& p) { ... } };
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/elementwise.h"
#include "kernels/kernel.h"

namespace genesis::kernels::GENESIS_ISA {

template <class Op>
concept HasParams = requires { typename Op::Params; };

template <class Op, class... T>
[[gnu::always_inline]] inline auto call(const void* params, T... x) {
  if constexpr (HasParams<Op>) return Op::apply(x..., *static_cast<const typename Op::Params*>(params));
  else return Op::apply(x...);
}

template <class Op, class In, class Out>
void unary_loop(char* const* data, unsigned scalars, int64_t n, const void* params) {
  Out* y = reinterpret_cast<Out*>(data[0]);
  const In* x = reinterpret_cast<const In*>(data[1]);
  if (scalars) {
    const Out value = call<Op>(params, *x);
    for (int64_t i = 0; i < n; ++i) y[i] = value;
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = call<Op>(params, x[i]);
}

template <class Op, class In, class Out>
void binary_loop(char* const* data, unsigned scalars, int64_t n, const void* params) {
  Out* y = reinterpret_cast<Out*>(data[0]);
  const In* a = reinterpret_cast<const In*>(data[1]);
  const In* b = reinterpret_cast<const In*>(data[2]);
  if (scalars == 0) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = call<Op>(params, a[i], b[i]);
  } else if (scalars == 4) {
    const In b0 = *b;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = call<Op>(params, a[i], b0);
  } else if (scalars == 2) {
    const In a0 = *a;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = call<Op>(params, a0, b[i]);
  } else {
    const Out value = call<Op>(params, *a, *b);
    for (int64_t i = 0; i < n; ++i) y[i] = value;
  }
}

// Three inputs of types A, B, C. A single value is spread over a tile first, so that one loop serves all cases.
template <class Op, class A, class B, class C, class Out>
void ternary_loop(char* const* data, unsigned scalars, int64_t n, const void* params) {
  Out* y = reinterpret_cast<Out*>(data[0]);
  const A* a = reinterpret_cast<const A*>(data[1]);
  const B* b = reinterpret_cast<const B*>(data[2]);
  const C* c = reinterpret_cast<const C*>(data[3]);
  if (scalars == 0) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = call<Op>(params, a[i], b[i], c[i]);
    return;
  }
  A spread_a[kTile];
  B spread_b[kTile];
  C spread_c[kTile];
  const int64_t tile = n < kTile ? n : kTile;
  if (scalars & 2) std::fill_n(spread_a, tile, *a);
  if (scalars & 4) std::fill_n(spread_b, tile, *b);
  if (scalars & 8) std::fill_n(spread_c, tile, *c);
  for (int64_t begin = 0; begin < n; begin += kTile) {
    const int64_t m = n - begin < kTile ? n - begin : kTile;
    const A* ta = scalars & 2 ? spread_a : a + begin;
    const B* tb = scalars & 4 ? spread_b : b + begin;
    const C* tc = scalars & 8 ? spread_c : c + begin;
    Out* ty = y + begin;
#pragma GCC ivdep
    for (int64_t i = 0; i < m; ++i) ty[i] = call<Op>(params, ta[i], tb[i], tc[i]);
  }
}

// Calls f.template operator()<T>() with the compute type of `t`; returns what it returns.
template <class F>
auto with_compute_type(DType t, F&& f) {
  switch (compute_type(t)) {
    case DType::UInt8: return f.template operator()<uint8_t>();
    case DType::Int32: return f.template operator()<int32_t>();
    case DType::Int64: return f.template operator()<int64_t>();
    case DType::Float64: return f.template operator()<double>();
    default: return f.template operator()<float>();
  }
}
template <class F>
auto with_floating_compute_type(DType t, F&& f) {
  return compute_type(t) == DType::Float64 ? f.template operator()<double>() : f.template operator()<float>();
}

// y = Op(x), both in the compute type of y's dtype. Floating only.
template <class Op>
void map_floating(View y, View x, const void* params = nullptr, int64_t grain = 32768) {
  const DType t = compute_type(y.dtype);
  const Inner inner = with_floating_compute_type(y.dtype, []<class T>() -> Inner { return unary_loop<Op, T, T>; });
  elementwise({{y, t}, {x, t}}, inner, params, grain);
}
// The same for every dtype.
template <class Op>
void map(View y, View x, const void* params = nullptr, int64_t grain = 32768) {
  const DType t = compute_type(y.dtype);
  const Inner inner = with_compute_type(y.dtype, []<class T>() -> Inner { return unary_loop<Op, T, T>; });
  elementwise({{y, t}, {x, t}}, inner, params, grain);
}
template <class Op>
void zip(View y, View a, View b, const void* params = nullptr, int64_t grain = 32768) {
  const DType t = compute_type(y.dtype);
  const Inner inner = with_compute_type(y.dtype, []<class T>() -> Inner { return binary_loop<Op, T, T>; });
  elementwise({{y, t}, {a, t}, {b, t}}, inner, params, grain);
}
template <class Op>
void zip_floating(View y, View a, View b, const void* params = nullptr, int64_t grain = 32768) {
  const DType t = compute_type(y.dtype);
  const Inner inner = with_floating_compute_type(y.dtype, []<class T>() -> Inner { return binary_loop<Op, T, T>; });
  elementwise({{y, t}, {a, t}, {b, t}}, inner, params, grain);
}
template <class Op>
void zip3(View y, View a, View b, View c, const void* params = nullptr, int64_t grain = 32768) {
  const DType t = compute_type(y.dtype);
  const Inner inner = with_compute_type(y.dtype, []<class T>() -> Inner { return ternary_loop<Op, T, T, T, T>; });
  elementwise({{y, t}, {a, t}, {b, t}, {c, t}}, inner, params, grain);
}
template <class Op>
void zip3_floating(View y, View a, View b, View c, const void* params = nullptr, int64_t grain = 32768) {
  const DType t = compute_type(y.dtype);
  const Inner inner =
      with_floating_compute_type(y.dtype, []<class T>() -> Inner { return ternary_loop<Op, T, T, T, T>; });
  elementwise({{y, t}, {a, t}, {b, t}, {c, t}}, inner, params, grain);
}
// y (bool) = Op(x), x in its own compute type.
template <class Op>
void test(View y, View x) {
  const Inner inner = with_compute_type(x.dtype, []<class T>() -> Inner { return unary_loop<Op, T, bool>; });
  elementwise({{y, DType::Bool}, {x, compute_type(x.dtype)}}, inner);
}
// y (bool) = Op(a, b), compared in the compute type of `in`.
template <class Op>
void compare(View y, View a, View b, DType in) {
  const DType t = compute_type(in);
  const Inner inner = with_compute_type(in, []<class T>() -> Inner { return binary_loop<Op, T, bool>; });
  elementwise({{y, DType::Bool}, {a, t}, {b, t}}, inner);
}

}  // namespace genesis::kernels::GENESIS_ISA
