// A recording that has been prepared for execution: dead calls are removed, pointwise calls are grouped, and blocks are
// packed into one arena.
//
// A plan is immutable. An Instance holds the state that a run changes (addresses, positions in the sequence of random
// numbers).
#pragma once

#include "plan/tiles.h"

namespace genesis::plan {

struct Step {
  enum Kind : uint8_t { Kernel, Tiles, Host } kind;
  uint32_t index;   // of a call or a group, or the number of a host action
  uint32_t at = 0;  // position of its arguments: a pack, or the addresses of a group
};

struct Site {
  uint32_t at;  // of a pointer among the arguments
  int64_t offset;
};

enum class Home : uint8_t { Nowhere, Arena, External, Output };

// A part of the arena that is allocated from the first to the last step that uses it.
struct Segment {
  int64_t begin, bytes;
  uint32_t first, last;
  std::vector<uint32_t> blocks;
};

// An allocation or deallocation before a step.
struct Event {
  uint32_t step;
  // `Gradients`: the gradients that the plan replaces may be freed.
  enum Kind : uint8_t { End, Gradients, Begin, Output } kind;
  uint32_t index;  // of a segment, or of an output block
};

struct Options {
  bool fuse = true;
  std::vector<uint32_t> outputs;  // blocks that are allocated separately in every run
  // Calls from here on belong to the second part, which runs later; its inputs are kept.
  uint32_t second_part = UINT32_MAX;
};

class Plan {
 public:
  Plan(std::unique_ptr<Recording> recording, Options options);

  std::unique_ptr<Recording> recording;
  std::vector<Step> steps;
  uint32_t second_part;      // the first step of the second part
  std::vector<Step> before;  // checks that do not depend on the plan: they run first
  std::vector<Group> groups;
  std::vector<Home> homes;                           // of blocks
  std::vector<int64_t> offsets;                      // of blocks in the arena
  std::vector<std::pair<uint32_t, uint32_t>> lives;  // of blocks: the first and the last step that use them
  std::vector<std::vector<Site>> sites;              // of blocks
  std::vector<uint32_t> written;                     // external blocks that are written
  std::vector<char> late;                            // blocks that the second part uses
  std::vector<uint32_t> restored;                    // those that are written before a check
  std::vector<uint32_t> draws;                       // positions of seeds and counters
  std::vector<char> arguments;                       // as recorded
  int64_t arena_bytes = 0;
  std::vector<Segment> segments;
  std::vector<Event> events;   // ordered by step
  size_t joined = 0;           // calls that were merged into a matrix product
  size_t recomputed = 0;       // calls that are repeated
  size_t dead = 0, fused = 0;  // calls that were removed, and calls in groups
  int64_t saved_bytes = 0;     // size of the blocks that exist in tiles only
  std::string broken;          // why it cannot run; empty if it can

  std::string text() const;

 private:
  void remove_dead();
  void check_writes();
  void rewrite_products();
  std::vector<uint32_t> stretches() const;
  template <class T>
  void merge_products(const auto& kernel);
  template <class T>
  void copy_shared_operands(const auto& kernel);
  template <class T>
  void add_in_products(const auto& kernel);
  struct Accesses;
  void recompute();
  bool recompute_one();
  bool repeats(const Accesses& accesses, uint32_t block, size_t to, std::vector<size_t>& chain) const;
  void repeat(const std::vector<size_t>& chain, size_t use);
  uint32_t add_block(Block block);
  void schedule();
  void group();
  void merge_groups();
  void find_homes();
  void lower();
  class Lowering;
  void lower_group(Group& group);
  void place_checks();
  bool takes_place(uint32_t born, uint32_t dying) const;
  void pack();
  int64_t room(uint32_t block) const;
  void cut_segments(std::vector<uint32_t>& blocks);
  void place_events();
  void lay_out();

  struct Unit {
    std::vector<uint32_t> calls;
    int64_t total = 0;  // of a group
    int64_t row = 0;    // elements of its rows, if some are reduced
    bool removed = false;
    bool whole = false;  // some calls sum all elements
  };
  bool fits(const Unit& unit, uint32_t call) const;
  bool can_join(const Unit& unit, uint32_t call) const;
  bool independent(const Unit& a, const Unit& b) const;

  Options options_;
  std::vector<char> live_;                      // calls
  std::vector<char> output_;                    // blocks
  std::vector<std::vector<Meeting>> meetings_;  // of calls
  std::vector<int64_t> totals_;                 // of calls; 0: not pointwise
  std::vector<Unit> units_;
  std::vector<char> touched_;  // blocks
};

// The state of consecutive runs.
class Instance {
 public:
  explicit Instance(const Plan& plan) : plan_(plan), arguments_(plan.arguments), bases_(plan.sites.size()) {}
  bool set_base(uint32_t block, char* base);  // returns whether it changed
  void set_segment(uint32_t segment, char* memory);
  void set_draws(uint64_t seed, uint64_t counter);
  // Runs steps from `step` on, up to an action of the host or `end`; returns where it stopped. Returns kFailed if a
  // result that must recur did not. The caller releases the interpreter lock if the steps take long.
  static constexpr uint32_t kFailed = UINT32_MAX;
  uint32_t run(uint32_t step, uint32_t end);
  bool run_checks();
  const char* failed = nullptr;  // the kernel of the failed check

 private:
  bool one(const Step& step);
  const Plan& plan_;
  std::vector<char> arguments_;
  std::vector<char*> bases_;
};

}  // namespace genesis::plan
