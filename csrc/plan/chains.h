// Arithmetic of a group that needs no memory between calls: each call takes the result of the previous one, in
// registers.
#pragma once

#include "plan/tiles.h"

namespace genesis::plan {

// Receives the calls of a group in order and appends instructions. Consecutive dependent calls become a chain.
class Chain {
 public:
  explicit Chain(Group& group) : group_(group) {}
  // Adds the next call, whose operands are those of `code`. `ends`: no later call uses the previous result.
  void add(const Call& call, Instruction code, bool ends);
  // Adds a call that is not part of a chain.
  void push(Instruction code);
  void close();

 private:
  bool start(const Call& call, const Instruction& code);
  bool extend(const Call& call, const Instruction& code, bool ends);

  Group& group_;
  Instruction single_, chain_;
  int length_ = 0;      // number of calls; 0: no open chain
  TileOperand result_;  // of the last call
  Place place_;         // of the result
};

// The calls of a group, ordered so that chains are long.
std::vector<uint32_t> chained_order(const Recording& recording, const std::vector<uint32_t>& calls);

}  // namespace genesis::plan
