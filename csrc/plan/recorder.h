// A capture: every kernel call of a function with its arguments, and the memory that it allocates.
//
// Memory is recorded in blocks. A block is one storage, from its allocation to its deallocation, or the part of a
// storage that a preexisting tensor uses (external). Pointers among the arguments become references (block, offset), so
// that a plan can relocate blocks.
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

// A pointer into a block. Without a block, it is null or points to constant memory.
struct Place {
  uint32_t block = kNoBlock;
  int64_t offset = 0;
};
// A pointer among the arguments of a call; `at` is its position in the pack.
struct Reference {
  uint32_t at;
  Place place;
  bool written;
};

struct Block {
  int64_t bytes;
  bool external;           // existed before the capture
  const Storage* storage;  // while it is allocated
};

// An operand of a pointwise loop.
struct LoopOperand {
  View view;  // with copies of its shape and strides, and of the data of constants
  Place place;
  DType compute;
};
struct PointwiseLoop {
  kernels::Inner inner;
  std::vector<LoopOperand> operands;  // the output first
  const void* params;
  int64_t grain;
  // If nonzero, the call is not a loop but reduces rows of this many elements (operand 1) to one element each (operand
  // 0).
  int64_t length = 0;
  bool whole = false;  // there is one such row, which is summed in pieces
};

struct Call {
  const char* name;
  void (*fn)();
  capture::Thunk thunk;
  std::vector<char> pack;
  std::vector<Reference> references;
  std::vector<uint32_t> draws;  // positions of seeds, each followed by a counter, in the pack
  bool checked = false;         // replays must return the same result
  int64_t value = 0;
  std::unique_ptr<PointwiseLoop> loop;  // set if the call is equivalent to a loop
  bool repeated = false;                // repeats an earlier call
  int host = -1;                        // if not -1: not a kernel call, but the number of the host action to repeat
};

// Memory whose address stays valid for the lifetime of a plan.
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
  std::string broken;  // why no plan can be made; empty if one can
  // state of the default generator before the capture, and the number of counters used
  uint64_t seed = 0, counter = 0, draws = 0;
  std::map<const char*, uint32_t> live;  // blocks by their start address
  // The location of an address; without a block if it is unknown.
  Place find(const void* p) const;
};

// Starts a capture on this thread.
void begin();
// Registers `bytes` of a preexisting storage. Returns its block, or the existing one for the same memory, or kNoBlock
// if it overlaps other memory.
uint32_t add_external(const Storage* storage, const char* data, int64_t bytes);
// Ends the capture.
std::unique_ptr<Recording> finish();
// The recording of the running capture, or null.
const Recording* current();
// Called with the reason when a capture ends early.
using OnInterrupt = void (*)(const char* reason);
inline constinit OnInterrupt on_interrupt = nullptr;

// Marks a host action. While the capture is paused, nothing is recorded.
void mark_host(int number);
void pause(bool on);

}  // namespace genesis::plan
