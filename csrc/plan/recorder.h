// A capture: every kernel call that a function makes, with its arguments, and the memory that it allocates.
//
// Memory is known in blocks: a block is one storage, from its allocation to the end of its life, or what a tensor that
// existed before shows of one (external). Arguments that are memory become references, (block, offset), so a plan can
// put blocks elsewhere.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/storage.h"
#include "kernels/capture.h"
#include "kernels/elementwise/elementwise.h"

namespace genesis::plan {

inline constexpr uint32_t kNoBlock = UINT32_MAX;

// A pointer into a block; null or constant memory if there is no block.
struct Place {
  uint32_t block = kNoBlock;
  int64_t offset = 0;
};
// A place among the arguments of a call: `at` is where the pointer is in the pack.
struct Reference {
  uint32_t at;
  Place place;
  bool written;
};

struct Block {
  int64_t bytes;
  bool external;           // existed before
  const Storage* storage;  // while it lives
};

// One operand of a pointwise loop.
struct LoopOperand {
  View view;  // its shape and strides are copies; data of constants is a copy too
  Place place;
  DType compute;
};
struct PointwiseLoop {
  kernels::Inner inner;
  std::vector<LoopOperand> operands;  // the output first
  const void* params;
  int64_t grain;
  // Not 0: the call is no loop, but reduces rows of so many elements, operand 1, to one element each, operand 0.
  int64_t length = 0;
  bool whole = false;  // there is one such row, which is summed in pieces
};

struct Call {
  const char* name;
  void (*fn)();
  capture::Thunk thunk;
  std::vector<char> pack;
  std::vector<Reference> references;
  std::vector<uint32_t> draws;  // where a seed and then a counter are in the pack
  bool checked = false;         // its result must recur
  int64_t value = 0;
  std::unique_ptr<PointwiseLoop> loop;  // if it is nothing else
  bool repeated = false;                // computes again what a call before it did
  int host = -1;                        // no kernel call, but number `host` of the actions that the host repeats
};

// Memory that stays where it is as long as a plan lives.
class Constants {
 public:
  const void* keep(const void* data, int64_t bytes);

 private:
  std::deque<std::vector<uint64_t>> pieces_;
};

struct Recording {
  std::vector<Call> calls;
  std::vector<Block> blocks;
  Constants constants;
  std::string broken;                         // why no plan can be made; empty if one can
  uint64_t seed = 0, counter = 0, draws = 0;  // of the default generator before, and how many counters were taken
  std::map<const char*, uint32_t> live;       // blocks by their first byte
  // Where memory is; no block if that is unknown.
  Place find(const void* p) const;
};

// Starts a capture of this thread.
void begin();
// Memory that existed before: `bytes` of a storage. Returns its block, which is that of the same memory if it was added
// before, and kNoBlock if it overlaps with other memory.
uint32_t add_external(const Storage* storage, const char* data, int64_t bytes);
// Ends it.
std::unique_ptr<Recording> finish();
// Of the capture that runs; null if none does.
const Recording* current();
// Called with the reason when a capture ends early.
using OnInterrupt = void (*)(const char* reason);
inline constinit OnInterrupt on_interrupt = nullptr;

// Marks the place of an action of the host; while it is paused nothing is recorded.
void mark_host(int number);
void pause(bool on);

}  // namespace genesis::plan
