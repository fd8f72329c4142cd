// A group of pointwise calls as one loop over tiles: every tile goes through all of them while it is in the cache.
//
// The loop runs over elements in the order of memory. An operand is used where it lies (direct), is one value for all
// elements (single), or lies in a slot: a buffer of one tile, which an instruction or a load filled before. Loads bring
// operands that are broadcast or strided into slots.
#pragma once

#include <vector>

#include "plan/recorder.h"

namespace genesis::plan {

inline constexpr int64_t kMaxItem = 8;  // bytes of an element that fits a slot

struct TileOperand {
  enum Kind : uint8_t { Direct, Single, Slot } kind;
  uint32_t base = 0;  // of Direct and Single: which pointer
  int slot = 0;
  DType dtype, compute;
  // Of Single: one value for each row, in a slot if `in_slot`.
  bool each_row = false, in_slot = false;
};
struct Instruction {
  kernels::Inner inner = nullptr;
  const void* params = nullptr;
  std::vector<TileOperand> operands;
  unsigned singles = 0;
  // Of a chain of arithmetic: what happens to each operand, and the type. The inner loop is not used.
  std::vector<uint8_t> chain;
  DType type = DType::Float32;
  bool converts = false;  // an operand is stored in another type than the inner loop wants
  // Of groups with rows: over one element for each row, such as a sum of the row; or a kernel that reduces rows.
  bool rows = false;
  void (*reduce)() = nullptr;
  bool by_row = false;  // runs once for each row, as an operand has one value for each
  int whole = -1;       // not -1: the number of a sum of all elements, of operand 1
};
struct Load {
  uint32_t base;
  int slot;
  DType dtype;
  std::vector<int64_t> shape, strides;  // strides in bytes
  bool rows = false;                    // for an instruction over rows
  int from = -1;                        // not -1: the slot of one element for each row, which is repeated along the row
};
// An operand in memory, by itself or as the result of a group.
struct Stream {
  uint32_t base;
  DType dtype;
  bool written;
};
struct Group {
  std::vector<uint32_t> calls;
  int64_t total = 0, grain = 0;
  int64_t row = 0;         // elements of a row, if rows are reduced
  int64_t tile = 512;      // elements
  int64_t slot_bytes = 0;  // of a slot
  int slots = 0;
  int wholes = 0;  // sums of all elements
  // What happens to a tile, in order: loads[i] if negative (-1 - i), else code[i].
  std::vector<int> order;
  std::vector<Load> loads;
  std::vector<Instruction> code;
  std::vector<Stream> streams;
  bool far = false;  // they come from beyond the second level of cache
  std::vector<Place> bases;
  std::vector<const void*> constants;  // of bases without a block
};

// How an operand of a loop meets its elements, dimensions in the order of the output's memory.
struct Meeting {
  enum Kind : uint8_t { Direct, Single, Strided } kind;
  std::vector<int64_t> shape, strides;  // of Strided, in bytes
};
// False if the output has gaps: the loop then runs by itself.
bool meet(const PointwiseLoop& loop, std::vector<Meeting>& meetings, int64_t& total);
// A copy as a loop; null if it is none.
std::unique_ptr<PointwiseLoop> loop_of_copy(const Call& call, Recording& recording);
// A reduction of rows whose kernel computes each row by itself; null if the call is none.
std::unique_ptr<PointwiseLoop> loop_of_reduction(const Call& call);
// Whether an operand has one element for each of `total / row` rows.
bool is_spread(const Meeting& meeting, int64_t total, int64_t row, DType dtype);

// How many elements a tile has, and how large slots are.
void set_tile(Group& group);
void run_group(const Group& group, char* const* bases);

}  // namespace genesis::plan
