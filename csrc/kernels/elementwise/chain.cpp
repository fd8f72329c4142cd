#include "kernels/elementwise/chain.h"

#include <cstring>
#include <utility>

#include "kernels/reduce/loops.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

constexpr int kVectors = 8;  // vectors in registers: each operation is dispatched once for all of them

// Runs the chain on `n` values of type V, starting at element i. V is T or a vector of T.
template <class T, class V, int n>
[[gnu::always_inline]] inline void run_block(const uint8_t* codes, char* const* data, int count, int64_t i) {
  constexpr int64_t lanes = sizeof(V) / sizeof(T);
  V acc[n] = {};
  const auto each = [&](auto&& f) __attribute__((always_inline)) {
    [&]<int... j>(std::integer_sequence<int, j...>)
        __attribute__((always_inline)) { (f(acc[j], j * lanes), ...); }(std::make_integer_sequence<int, n>{});
  };
  for (int s = 0; s < count; ++s) {
    T* const p = reinterpret_cast<T*>(data[s]);
    const auto x = [p, i](int64_t j) __attribute__((always_inline)) {
      V v;
      std::memcpy(&v, p + i + j, sizeof(V));
      return v;
    };
    V one = {};
    if (codes[s] & chain::kSingle) one = *p - V{};  // subtracting 0 preserves -0
    switch (codes[s]) {
      case chain::Load: each([&](V& a, int64_t j) { a = x(j); }); break;
      case chain::Store: each([&](V& a, int64_t j) { std::memcpy(p + i + j, &a, sizeof(V)); }); break;
      case chain::Add: each([&](V& a, int64_t j) { a = a + x(j); }); break;
      case chain::Sub: each([&](V& a, int64_t j) { a = a - x(j); }); break;
      case chain::SubReversed: each([&](V& a, int64_t j) { a = x(j) - a; }); break;
      case chain::Mul: each([&](V& a, int64_t j) { a = a * x(j); }); break;
      case chain::Div: each([&](V& a, int64_t j) { a = a / x(j); }); break;
      case chain::DivReversed: each([&](V& a, int64_t j) { a = x(j) / a; }); break;
      case chain::Negate: each([&](V& a, int64_t) { a = -a; }); break;
      case chain::Double: each([&](V& a, int64_t) { a = a + a; }); break;
      case chain::Square: each([&](V& a, int64_t) { a = a * a; }); break;
      case chain::Add | chain::kSingle: each([&](V& a, int64_t) { a = a + one; }); break;
      case chain::Sub | chain::kSingle: each([&](V& a, int64_t) { a = a - one; }); break;
      case chain::SubReversed | chain::kSingle: each([&](V& a, int64_t) { a = one - a; }); break;
      case chain::Mul | chain::kSingle: each([&](V& a, int64_t) { a = a * one; }); break;
      case chain::Div | chain::kSingle: each([&](V& a, int64_t) { a = a / one; }); break;
      case chain::DivReversed | chain::kSingle: each([&](V& a, int64_t) { a = one / a; }); break;
      default: break;
    }
  }
}

template <class T>
void run(const uint8_t* codes, char* const* data, int count, int64_t n) {
  constexpr int64_t block = kVectors * kLanes<T>;
  int64_t i = 0;
  for (; i + block <= n; i += block) run_block<T, Vector<T>, kVectors>(codes, data, count, i);
  for (; i + kLanes<T> <= n; i += kLanes<T>) run_block<T, Vector<T>, 1>(codes, data, count, i);
  for (; i < n; ++i) run_block<T, T, 1>(codes, data, count, i);
}

}  // namespace

void run_chain(const uint8_t* codes, char* const* data, int count, int64_t n, DType type) {
  if (type == DType::Float32) run<float>(codes, data, count, n);
  else run<double>(codes, data, count, n);
}
GENESIS_KERNEL(run_chain)

}  // namespace genesis::kernels::GENESIS_ISA
