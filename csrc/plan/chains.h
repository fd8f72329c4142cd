// Arithmetic of a group that needs no memory between calls: each takes the result of the one before, in registers.
#pragma once

#include "plan/tiles.h"

namespace genesis::plan {

// Receives the calls of a group in order, and appends instructions: a chain where calls follow from each other.
class Chain {
 public:
  explicit Chain(Group& group) : group_(group) {}
  // The next call, whose operands are those of `code`. `ends` says that nothing after it uses the result before.
  void add(const Call& call, Instruction code, bool ends);
  // One that is part of no chain.
  void push(Instruction code);
  void close();

 private:
  bool start(const Call& call, const Instruction& code);
  bool extend(const Call& call, const Instruction& code, bool ends);

  Group& group_;
  Instruction single_, chain_;
  int length_ = 0;      // calls; 0: none is open
  TileOperand result_;  // of the last
  Place place_;         // of the result
};

// The calls of a group in an order that makes chains long.
std::vector<uint32_t> chained_order(const Recording& recording, const std::vector<uint32_t>& calls);

}  // namespace genesis::plan
