// Random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). It is a
// function of a key and a counter, without state: a draw reserves counters once, and element i takes word i % 4 of
// counter base + i / 4 (float32), or words 2 (i % 2) and the next of counter base + i / 2 (float64), whichever thread
// computes it. The numbers therefore depend on the seed and on previous draws only, never on threads.
//
// The functions are always inlined: kernels compile them per instruction set, and a shared out-of-line copy could be
// that of the wrong one.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace genesis {

#define GENESIS_INLINE [[gnu::always_inline]] inline

/// The bijection itself: ten rounds over a 128-bit counter under a 64-bit key.
GENESIS_INLINE std::array<uint32_t, 4> philox4x32(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint32_t k0,
                                                  uint32_t k1) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c0;
    const uint64_t p1 = uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9;  // the golden ratio
    k1 += 0xBB67AE85;  // sqrt(3) - 1
  }
  return {c0, c1, c2, c3};
}

/// Four words for a counter: key = seed, low half first; counter in the low 64 of the 128 bits.
GENESIS_INLINE std::array<uint32_t, 4> philox(uint64_t seed, uint64_t counter) {
  return philox4x32(static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0,
                    static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32));
}

GENESIS_INLINE uint64_t join_words(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }

/// floor(x / 2^8) 2^-24: uniform on [0, 1), 24 bits, exact in float32.
GENESIS_INLINE float uniform_float(uint32_t x) {
  return static_cast<float>(static_cast<int32_t>(x >> 8)) * 0x1p-24f;  // signed: AVX2 has no unsigned conversion
}

/// floor(x / 2^11) 2^-53: uniform on [0, 1), 53 bits, exact in float64. x = join_words(w0, w1).
GENESIS_INLINE double uniform_double(uint64_t x) { return static_cast<double>(x >> 11) * 0x1p-53; }

/// Uniform on (0, 1], for logarithms. float: (floor(x / 2) + 1/2) 2^-31 rounded to float32, which
/// is finer near 0, so normals reach 6.6 sigma. double: (floor(x / 2^11) + 1) 2^-53, 8.5 sigma.
GENESIS_INLINE float uniform_open(uint32_t x) {
  return static_cast<float>(static_cast<int32_t>(x >> 1)) * 0x1p-31f + 0x1p-32f;
}
GENESIS_INLINE double uniform_open(uint64_t x) { return static_cast<double>((x >> 11) + 1) * 0x1p-53; }

/// Box-Muller: r = sqrt(-2 ln u), t = 2 pi v; {r cos t, r sin t}, with u = uniform_open(a) and
/// v = uniform(b).
GENESIS_INLINE std::array<float, 2> normal_pair(uint32_t a, uint32_t b) {
  const float r = std::sqrt(-2.0f * std::log(uniform_open(a)));
  const float t = 6.283185307f * uniform_float(b);
  return {r * std::cos(t), r * std::sin(t)};
}
GENESIS_INLINE std::array<double, 2> normal_pair(uint64_t a, uint64_t b) {
  const double r = std::sqrt(-2.0 * std::log(uniform_open(a)));
  const double t = 6.283185307179586 * uniform_double(b);
  return {r * std::cos(t), r * std::sin(t)};
}

#undef GENESIS_INLINE

/// The same numbers one counter after another, for serial code (shuffles, tests).
struct Philox {
  uint64_t seed;
  uint64_t counter;

  explicit Philox(uint64_t key, uint64_t offset = 0) : seed(key), counter(offset) {}
  std::array<uint32_t, 4> next() { return philox(seed, counter++); }
};

/// A seed and the counters used so far: all there is to save and restore. Interpreter lock held.
struct Generator {
  uint64_t seed;
  uint64_t offset = 0;

  /// Takes `counters` counters for a draw and returns the first.
  uint64_t reserve(uint64_t counters) {
    const uint64_t base = offset;
    offset += counters;
    return base;
  }
  void manual_seed(uint64_t new_seed) {
    seed = new_seed;
    offset = 0;
  }
};

/// The generator of draws that name none; differs from run to run until manual_seed is called.
Generator& default_generator();

/// 64 bits from the system's entropy.
uint64_t random_seed();

}  // namespace genesis
