// The register tiles of a convolution: a few channels by a few vectors of consecutive outputs.
#pragma once

#include <array>

#include "kernels/conv/planes.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// rows x kMaxVectors vectors of outputs: sums over k of a[p * a_k + row] * b[vector][offsets[p] + lane]. `filled`
// vectors are stored; the others must be readable.
template <class T>
struct ConvTile {
  int64_t k;
  int64_t filled;
  const T* a;
  int64_t a_k;
  const int64_t* offsets;
  const T* b[kMaxVectors];
  const Spot* spot[kMaxVectors];
  T* out[kMaxVectors];
  int64_t out_row;
  const T* bias;  // one per row, or null
  bool add;       // to the existing values
};

constexpr int kTileRows = kMaxRows[kMaxVectors - 1];

template <class T, int rows>
void conv_tile(const ConvTile<T>& t) {
  constexpr int vectors = kMaxVectors;
  Vec<T> sum[rows][vectors] = {};
  const T* b[vectors];
  for (int j = 0; j < vectors; ++j) b[j] = t.b[j];
  const T* a = t.a;
  const int64_t a_k = t.a_k;
  const int64_t* offset = t.offsets;
  int fetched = 0;
  const int fetch = rows * kSegment > t.k ? 4 : 1;
  for (int64_t left = t.k; left > 0; left -= kSegment) {
    // Outputs are prefetched a few at a time: a burst would delay the loads.
    for (int i = 0; i < fetch && fetched < rows; ++i, ++fetched)
      for (int64_t j = 0; j < t.filled; ++j) __builtin_prefetch(t.out[j] + t.spot[j]->first + fetched * t.out_row, 1);
    for (const int64_t* end = offset + std::min(left, kSegment); offset < end; ++offset, a += a_k) {
      const int64_t at = *offset;
      Vec<T> row[vectors];
#pragma GCC unroll 8
      for (int j = 0; j < vectors; ++j) row[j] = load(b[j] + at);
#pragma GCC unroll 16
      for (int i = 0; i < rows; ++i) {
        const Vec<T> x = broadcast<T>(a[i]);
#pragma GCC unroll 8
        for (int j = 0; j < vectors; ++j) sum[i][j] = fma(x, row[j], sum[i][j]);
      }
    }
  }
#pragma GCC unroll 8
  for (int j = 0; j < vectors; ++j) {
    if (j == t.filled) break;
    const Spot& spot = *t.spot[j];
    T* out = t.out[j] + spot.first;
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i, out += t.out_row) {
      Vec<T> v = sum[i][j];
      if (t.add) v += get<T>(out, spot);
      else if (t.bias) v += broadcast(t.bias[i]);
      put<T>(out, v, spot);
    }
  }
}

template <class T>
void run_tile(const ConvTile<T>& t, int64_t rows) {
  static constexpr auto table = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array{&conv_tile<T, i + 1>...};
  }(std::make_integer_sequence<int, kTileRows>{});
  table[rows - 1](t);
}

// One row of outputs for all spots: sums over k of a[p] * b[spot.at + offsets[p] + lane].
template <class T>
void conv_row(int64_t k, const T* a, const int64_t* offsets, const T* b, const std::vector<Spot>& spots, T bias,
              T* out) {
  const Spot *spot = spots.data(), *end = spot + spots.size();
  const int64_t over = end[-1].first + end[-1].count - kLanes<T>;  // last position at which a full vector fits
  auto step = [&]<int n>(std::integral_constant<int, n>) __attribute__((always_inline)) {
    Vec<T> sum[n];
    const T* from[n];
    for (int j = 0; j < n; ++j) sum[j] = broadcast(bias), from[j] = b + spot[j].at;
    for (int64_t p = 0; p < k; ++p) {
      const Vec<T> x = broadcast<T>(a[p]);
      const int64_t at = offsets[p];
#pragma GCC unroll 8
      for (int j = 0; j < n; ++j) sum[j] = fma(x, load(from[j] + at), sum[j]);
    }
#pragma GCC unroll 8
    for (int j = 0; j < n; ++j) {  // in order: the next vector rewrites what the previous one overwrote
      if (spot[j].first <= over) put_over<T>(out + spot[j].first, sum[j], spot[j]);
      else put<T>(out + spot[j].first, sum[j], spot[j]);
    }
    spot += n;
  };
  while (end - spot >= 8) step(std::integral_constant<int, 8>());
  while (end - spot >= 4) step(std::integral_constant<int, 4>());
  while (spot < end) step(std::integral_constant<int, 1>());
}

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
