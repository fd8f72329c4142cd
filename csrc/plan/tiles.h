// A group of pointwise calls as one loop over tiles: every tile is processed by all calls while it is in the cache.
//
// The loop runs over elements in memory order. An operand is accessed in place (direct), is one value for all elements
// (single), or is in a slot: a buffer of one tile, filled by an earlier instruction or load. Loads copy broadcast and
// strided operands into slots.
#pragma once

#include <vector>

#include "plan/recorder.h"

namespace genesis::plan {

inline constexpr int64_t kMaxItem = 8;  // maximum bytes of an element in a slot

struct TileOperand {
  enum Kind : uint8_t { Direct, Single, Slot } kind;
  uint32_t base = 0;  // for Direct and Single: the index of the pointer
  int slot = 0;
  DType dtype, compute;
  // For Single: one value per row, in a slot if `in_slot`.
  bool each_row = false, in_slot = false;
};
struct Instruction {
  kernels::Inner inner = nullptr;
  const void* params = nullptr;
  std::vector<TileOperand> operands;
  unsigned singles = 0;
  // For a chain of arithmetic: the operation of each operand, and the dtype. The inner loop is not used.
  std::vector<uint8_t> chain;
  DType type = DType::Float32;
  bool converts = false;  // whether an operand is stored in another dtype than the inner loop expects
  // For groups with rows: an instruction over one element per row, such as the sum of the row; or a kernel that reduces
  // rows.
  bool rows = false;
  void (*reduce)() = nullptr;
  bool by_row = false;  // runs once per row, because an operand has one value per row
  int whole = -1;       // not -1: the number of a sum of all elements, of operand 1
};
struct Load {
  uint32_t base;
  int slot;
  DType dtype;
  std::vector<int64_t> shape, strides;  // strides in bytes
  bool rows = false;                    // for an instruction over rows
  int from = -1;                        // if not -1: the slot with one element per row, which is repeated along the row
};
// An operand in memory, on its own or as the result of a group.
struct Stream {
  uint32_t base;
  DType dtype;
  bool written;
};
struct Group {
  std::vector<uint32_t> calls;
  int64_t total = 0, grain = 0;
  int64_t row = 0;         // elements per row, if rows are reduced
  int64_t tile = 512;      // elements per tile
  int64_t slot_bytes = 0;  // size of a slot
  int slots = 0;
  int wholes = 0;  // sums of all elements
  // The steps for a tile, in order: loads[-1 - i] if i is negative, otherwise code[i].
  std::vector<int> order;
  std::vector<Load> loads;
  std::vector<Instruction> code;
  std::vector<Stream> streams;
  bool far = false;  // whether operands do not fit in L2
  std::vector<Place> bases;
  std::vector<const void*> constants;  // for bases without a block
};

// How an operand of a loop is accessed, with dimensions in the memory order of the output.
struct Meeting {
  enum Kind : uint8_t { Direct, Single, Strided } kind;
  std::vector<int64_t> shape, strides;  // for Strided, in bytes
};
// Computes the access of all operands. Returns false if the output has gaps: the loop then runs on its own.
bool meet(const PointwiseLoop& loop, std::vector<Meeting>& meetings, int64_t& total);
// Converts a copy to a loop; returns null for other calls.
std::unique_ptr<PointwiseLoop> loop_of_copy(const Call& call, Recording& recording);
// Converts a reduction of rows whose kernel computes each row independently; returns null for other calls.
std::unique_ptr<PointwiseLoop> loop_of_reduction(const Call& call);
// Whether an operand has one element for each of `total / row` rows.
bool is_spread(const Meeting& meeting, int64_t total, int64_t row, DType dtype);

// Sets the elements per tile and the size of slots.
void set_tile(Group& group);
void run_group(const Group& group, char* const* bases);

}  // namespace genesis::plan
