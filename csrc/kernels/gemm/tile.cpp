#include "kernels/gemm/tile.h"

#include <array>
#include <type_traits>
#include <utility>

#include "kernels/gemm/micro.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// How many steps of k are unrolled. Narrow vectors do not hide the pointer arithmetic, especially if another thread
// shares the core.
constexpr int kSteps = kVectorBytes == 32 ? 4 : 1;

// The sums of a tile. The functions below are inlined into tile(), which keeps the sums in registers.
template <class T, int rows, int vectors>
using Sums = Vec<T>[rows][vectors];

// Adds one step of k: the product of a column of A, `element(i)` for each row, and a row of B.
template <bool masked, class T, int rows, int vectors, class Element>
[[gnu::always_inline]] inline void add_step(Sums<T, rows, vectors>& sum, Element element, const T* b, Mask<T> mask) {
  constexpr int lanes = kLanes<T>;
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
}

// Prefetches C and the memory ahead, a little in each segment of k: a burst would occupy the line fill buffers that
// the loads need.
template <class T, int rows, int vectors>
struct Prefetch {
  const Tile<T>& t;
  const T* ahead = t.ahead;
  int segment = 0;

  [[gnu::always_inline]] void operator()() {
    if (segment < rows)
      for (int j = 0; j < vectors; ++j) __builtin_prefetch(t.c + segment * t.c_row + j * kLanes<T>, 1);
    ++segment;
    for (int64_t i = 0; i < t.ahead_lines; ++i) __builtin_prefetch(ahead + i * t.ahead_stride);
    ahead += t.ahead_step;
  }
};

template <bool masked, class T, int rows, int vectors>
[[gnu::always_inline]] inline void add_column_major(const Tile<T>& t, Sums<T, rows, vectors>& sum, Mask<T> mask) {
  const T *a = t.a, *b = t.b;
  Prefetch<T, rows, vectors> prefetch{t};
  auto run = [&](auto a_k, auto b_k) __attribute__((always_inline)) {
    for (int64_t left = t.k; left > 0; left -= kSegment) {
      prefetch();
#pragma GCC unroll kSteps
      for (int64_t p = std::min(left, kSegment); p > 0; --p, a += a_k, b += b_k)
        add_step<masked>(sum, [&](int i) { return a[i]; }, b, mask);
    }
  };
  constexpr std::integral_constant<int64_t, rows> a_packed;
  constexpr std::integral_constant<int64_t, vectors * kLanes<T>> b_packed;
  if (kSteps > 1 && !masked && t.a_k == a_packed && t.b_k == b_packed) run(a_packed, b_packed);
  else run(t.a_k, t.b_k);
}

// Every third row has a pointer; its neighbours use indexed addressing, because one pointer per row would not fit the
// integer registers. The asm hides from the compiler that the pointers are related; otherwise it would undo this. They
// are separate variables because the compiler would keep an array in memory.
template <bool masked, class T, int rows, int vectors>
[[gnu::always_inline]] inline void add_row_major(const Tile<T>& t, Sums<T, rows, vectors>& sum, Mask<T> mask) {
  static_assert(rows <= 9);
  const int64_t stride = t.a_row;
  const T *a0 = t.a, *a3 = a0 + 3 * stride, *a6 = a0 + 6 * stride, *b = t.b;
  Prefetch<T, rows, vectors> prefetch{t};
  for (int64_t left = t.k; left > 0; left -= kSegment) {
    prefetch();
#pragma GCC unroll kSteps
    for (int64_t p = std::min(left, kSegment); p > 0; --p, b += t.b_k) {
      const auto element = [&](int i) {
        const int64_t row = (i % 3) * stride;  // a variable: g++ 12 with sanitizers loses the value in the branches
        return (i < 3 ? a0 : i < 6 ? a3 : a6)[row];
      };
      add_step<masked>(sum, element, b, mask);
      ++a0, ++a3, ++a6;
      asm("" : "+r"(a0), "+r"(a3), "+r"(a6));
    }
  }
}

// C = alpha * sum + beta * D
template <bool masked, class T, int rows, int vectors>
[[gnu::always_inline]] inline void store_sums(const Tile<T>& t, const Sums<T, rows, vectors>& sum, Mask<T> mask) {
  constexpr int lanes = kLanes<T>;
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

template <class T, int rows, int vectors, Order order, bool masked>
void tile(const Tile<T>& t) {
  const Mask<T> mask(t.last);
  Sums<T, rows, vectors> sum = {};
  if constexpr (order == Order::column_major) add_column_major<masked>(t, sum, mask);
  else add_row_major<masked>(t, sum, mask);
  store_sums<masked>(t, sum, mask);
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
