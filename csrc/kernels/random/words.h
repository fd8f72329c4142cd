// Blocks of random words for kernels, laid out so that loops over them vectorize: w[j][k] is word j of counter k.
// Included by kernel files, which are compiled per instruction set.
#pragma once

#include "core/random.h"
#include "kernels/random/random.h"

namespace genesis::kernels::GENESIS_ISA {

inline constexpr int64_t kCounters = 256;

struct Words {
  alignas(64) uint32_t w[4][kCounters];
};

// The words of `count` counters, where `first` is the index of the first one within the draw.
[[gnu::always_inline]] inline void generate(Words& words, Draw draw, uint64_t first, int64_t count = kCounters) {
  for (int64_t k = 0; k < count; ++k) {
    const auto w = philox(draw.seed, draw.counter + first + static_cast<uint64_t>(k));
    words.w[0][k] = w[0];
    words.w[1][k] = w[1];
    words.w[2][k] = w[2];
    words.w[3][k] = w[3];
  }
}

// A sequence of `total` 64-bit numbers, in the order of a draw with two words per element.
class Stream {
 public:
  Stream(Draw draw, int64_t total) : draw_(draw), left_((total + 1) / 2) {}
  uint64_t next() {
    if (used_ == 2 * kCounters) {
      generate(words_, draw_, block_, left_ < kCounters ? left_ : kCounters);
      block_ += kCounters;
      left_ -= kCounters;
      used_ = 0;
    }
    const int64_t k = used_ / 2, j = used_ % 2 * 2;
    ++used_;
    return join_words(words_.w[j][k], words_.w[j + 1][k]);
  }

 private:
  Draw draw_;
  int64_t left_;  // counters not yet generated
  uint64_t block_ = 0;
  int64_t used_ = 2 * kCounters;
  Words words_;
};

}  // namespace genesis::kernels::GENESIS_ISA
