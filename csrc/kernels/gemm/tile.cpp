#include "kernels/gemm/tile.h"

#include <array>
#include <type_traits>
#include <utility>

#include "kernels/gemm/micro.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// How many steps are written out: narrow vectors do not hide the moving of pointers, least of all where another thread
// shares the core.
constexpr int kSteps = kVectorBytes == 32 ? 4 : 1;

template <class T, int rows, int vectors, Order order, bool masked>
void tile(const Tile<T>& t) {
  constexpr int lanes = kLanes<T>;
  const Mask<T> mask(t.last);
  const T* b = t.b;
  Vec<T> sum[rows][vectors] = {};
  auto step = [&](auto element, int64_t b_k) __attribute__((always_inline)) {
    Vec<T> row[vectors];
#pragma GCC unroll 8
    for (int j = 0; j < vectors; ++j)
      row[j] = masked && j == vectors - 1 ? load(b + j * lanes, mask) : load(b + j * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const Vec<T> x = broadcast<T>(element(i));
#pragma GCC unroll 8
      for (int j = 0; j < vectors; ++j) sum[i][j] = fma(x, row[j], sum[i][j]);
    }
    b += b_k;
  };

  // C and what lies ahead are fetched a little at a time: a burst would take the line buffers away from the loads.
  int segment = 0;
  const T* ahead = t.ahead;
  auto fetch_ahead = [&]() __attribute__((always_inline)) {
    if (segment < rows)
      for (int j = 0; j < vectors; ++j) __builtin_prefetch(t.c + segment * t.c_row + j * lanes, 1);
    ++segment;
    for (int64_t i = 0; i < t.ahead_lines; ++i) __builtin_prefetch(ahead + i * t.ahead_stride);
    ahead += t.ahead_step;
  };

  if constexpr (order == Order::column_major) {
    const T* a = t.a;
    auto run = [&](auto a_k, auto b_k) __attribute__((always_inline)) {
      for (int64_t left = t.k; left > 0; left -= kSegment) {
        fetch_ahead();
#pragma GCC unroll kSteps
        for (int64_t p = std::min(left, kSegment); p > 0; --p, a += a_k) step([&](int i) { return a[i]; }, b_k);
      }
    };
    constexpr std::integral_constant<int64_t, rows> a_packed;
    constexpr std::integral_constant<int64_t, vectors * lanes> b_packed;
    if (kSteps > 1 && !masked && t.a_k == a_packed && t.b_k == b_packed) run(a_packed, b_packed);
    else run(t.a_k, t.b_k);
  } else {
    // Every third row has a pointer and its neighbours are reached by indexed addressing: a pointer for each would
    // not fit the integer registers. The asm hides that the pointers are related, or the compiler would undo this.
    // They are no array, which the compiler would keep in memory.
    static_assert(rows <= 9);
    const int64_t stride = t.a_row;
    const T *a0 = t.a, *a3 = a0 + 3 * stride, *a6 = a0 + 6 * stride;
    for (int64_t left = t.k; left > 0; left -= kSegment) {
      fetch_ahead();
#pragma GCC unroll kSteps
      for (int64_t p = std::min(left, kSegment); p > 0; --p) {
        const auto element = [&](int i) {
          const int64_t row = (i % 3) * stride;  // named: g++ 12 loses it between the branches when it sanitizes
          return (i < 3 ? a0 : i < 6 ? a3 : a6)[row];
        };
        step(element, t.b_k);
        ++a0, ++a3, ++a6;
        asm("" : "+r"(a0), "+r"(a3), "+r"(a6));
      }
    }
  }

  auto write = [&](auto combine) __attribute__((always_inline)) {
    T* c = t.c;
    const T* d = t.d ? t.d : t.c;
    const int64_t d_row = t.d ? t.d_row : t.c_row;
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i, c += t.c_row, d += d_row)
#pragma GCC unroll 8
      for (int j = 0; j < vectors; ++j)
        combine(c + j * lanes, d + j * lanes, t.alpha * sum[i][j], masked && j == vectors - 1);
  };
  if (t.beta == 0) {
    write([&](T* c, const T*, Vec<T> x, bool end) { end ? store(c, x, mask) : store(c, x); });
  } else {
    write([&, beta = broadcast(t.beta)](T* c, const T* d, Vec<T> x, bool end) {
      end ? store(c, fma(beta, load(d, mask), x), mask) : store(c, fma(beta, load(d), x));
    });
  }
}

template <class T, Order order, bool masked, int index>
constexpr TileFn<T> tile_at() {
  constexpr int rows = index / kMaxVectors + 1, vectors = index % kMaxVectors + 1;
  if constexpr (rows <= kMaxRows[vectors - 1]) return &tile<T, rows, vectors, order, masked>;
  return nullptr;
}

template <class T, Order order, bool masked>
constexpr auto tiles = []<int... index>(std::integer_sequence<int, index...>) {
  return std::array<TileFn<T>, sizeof...(index)>{tile_at<T, order, masked, index>()...};
}(std::make_integer_sequence<int, kMostRows * kMaxVectors>{});

}  // namespace

template <class T, Order order>
TileFn<T> find_tile(int64_t rows, int64_t vectors, bool masked) {
  const int64_t index = (rows - 1) * kMaxVectors + vectors - 1;
  return masked ? tiles<T, order, true>[index] : tiles<T, order, false>[index];
}

template TileFn<float> find_tile<float, Order::column_major>(int64_t, int64_t, bool);
template TileFn<float> find_tile<float, Order::row_major>(int64_t, int64_t, bool);
template TileFn<double> find_tile<double, Order::column_major>(int64_t, int64_t, bool);
template TileFn<double> find_tile<double, Order::row_major>(int64_t, int64_t, bool);

}  // namespace genesis::kernels::GENESIS_ISA
