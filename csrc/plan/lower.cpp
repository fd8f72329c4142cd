// Converts the calls of a group into instructions over tiles (tiles.h): assigns the source of each operand, and the
// slots of blocks that exist in tiles only.
#include <algorithm>
#include <map>
#include <tuple>

#include "kernels/elementwise/convert.h"
#include "plan/chains.h"
#include "plan/plan.h"

namespace genesis::plan {

namespace {
// Where one value serves a row, the inner loop runs once for each row; in shorter ones the value is repeated.
constexpr int64_t kByRow = 128;
}  // namespace

class Plan::Lowering {
 public:
  Lowering(Plan& plan, Group& group) : plan_(plan), group_(group), chain_(group) {}

  void run() {
    group_.calls = chained_order(*plan_.recording, group_.calls);
    for (size_t i = 0; i < group_.calls.size(); ++i)
      for (const LoopOperand& o : loop(i).operands)
        if (o.place.block != kNoBlock) last_[o.place.block] = i;
    group_.grain = kernels::kLightGrain;
    for (size_t i = 0; i < group_.calls.size(); ++i) add(i);
    chain_.close();
    for (Instruction& i : group_.code)
      for (const TileOperand& o : i.operands) i.by_row |= o.each_row;
    set_tile(group_);
    const int64_t share = group_.grain / static_cast<int64_t>(group_.calls.size());
    group_.grain = std::max<int64_t>(4096, share / group_.tile * group_.tile);
  }

 private:
  const Call& call(size_t i) const { return plan_.recording->calls[group_.calls[i]]; }
  const PointwiseLoop& loop(size_t i) const { return *call(i).loop; }
  uint32_t output(size_t i) const { return loop(i).operands[0].place.block; }
  bool in_tile(const LoopOperand& o) const {
    return o.place.block != kNoBlock && plan_.homes[o.place.block] == Home::Nowhere;
  }

  void add(size_t i) {
    group_.grain = std::min(group_.grain, loop(i).grain);
    Instruction code;
    code.inner = loop(i).inner;
    code.params = loop(i).params;
    code.rows = loop(i).length == 0 && plan_.totals_[group_.calls[i]] != group_.total;
    if (loop(i).whole) code.whole = group_.wholes++;
    else if (loop(i).length > 0) code.reduce = call(i).fn;
    for (size_t k = 0; k < loop(i).operands.size(); ++k) code.operands.push_back(operand(code, i, k));
    if (code.rows || code.reduce || code.whole >= 0) {
      chain_.close();
      for (const TileOperand& o : code.operands) code.converts |= o.dtype != o.compute;
      chain_.push(std::move(code));
    } else {
      chain_.add(call(i), std::move(code), i > 0 && last_[output(i - 1)] == i);
    }
    free_slots(i);
  }

  TileOperand operand(Instruction& code, size_t i, size_t k) {
    const LoopOperand& o = loop(i).operands[k];
    const Meeting& m = plan_.meetings_[group_.calls[i]][k];
    TileOperand t{TileOperand::Direct, 0, 0, o.view.dtype, o.compute};
    if (m.kind == Meeting::Direct) {
      if (in_tile(o)) t.kind = TileOperand::Slot, t.slot = own_slot(o.place.block);
      else t.base = base(o);
    } else if (m.kind == Meeting::Single) {
      t.kind = TileOperand::Single;
      code.singles |= 1u << k;
      t.base = base(converted(o, t));
    } else if (o.view.dtype == o.compute && !code.rows && k > 0 && group_.row >= kByRow &&
               is_spread(m, group_.total, group_.row, o.view.dtype)) {
      t.kind = TileOperand::Single;
      t.each_row = true;
      t.in_slot = in_tile(o);
      code.singles |= 1u << k;
      if (t.in_slot) t.slot = slot_of_.at(o.place.block);  // not reused: other rows need it
      else t.base = base(o);
    } else {
      t.kind = TileOperand::Slot;
      t.slot = in_tile(o) ? spread_slot(o) : loaded_slot(o, m, code.rows);
    }
    return t;
  }

  // The index of the pointer to an operand in memory.
  uint32_t base(const LoopOperand& o) {
    for (size_t k = 0; k < group_.bases.size(); ++k)
      if (o.place.block != kNoBlock && group_.bases[k].block == o.place.block &&
          group_.bases[k].offset == o.place.offset)
        return static_cast<uint32_t>(k);
    group_.bases.push_back(o.place);
    group_.constants.push_back(o.place.block == kNoBlock ? o.view.data : nullptr);
    return static_cast<uint32_t>(group_.bases.size() - 1);
  }

  // A constant in the dtype in which it is used.
  LoopOperand converted(const LoopOperand& o, TileOperand& t) {
    LoopOperand constant = o;
    if (o.place.block == kNoBlock && o.view.dtype != o.compute) {
      alignas(8) char value[8];
      kernels::gather(value, o.compute, o.view.data, 0, o.view.dtype, 1);
      constant.view.data = const_cast<void*>(plan_.recording->constants.keep(value, 8));
      t.dtype = o.compute;
    }
    return constant;
  }

  // The slot of a block that exists in tiles only.
  int own_slot(uint32_t block) {
    const auto it = slot_of_.find(block);
    if (it != slot_of_.end()) return it->second;
    int slot = group_.slots;
    if (unused_.empty()) ++group_.slots;
    else slot = unused_.back(), unused_.pop_back();
    return slot_of_.emplace(block, slot).first->second;
  }

  // The slot in which the value of each row, of another dtype, is repeated along the row.
  int spread_slot(const LoopOperand& o) {
    auto it = spread_.find(o.place.block);
    if (it == spread_.end()) {
      it = spread_.emplace(o.place.block, group_.slots++).first;
      load({0, it->second, o.view.dtype, {}, {}, false, slot_of_.at(o.place.block)});
    }
    return it->second;
  }

  // The slot into which a broadcast or strided operand is loaded.
  int loaded_slot(const LoopOperand& o, const Meeting& m, bool rows) {
    Source key{base(o), o.view.dtype, m.shape, m.strides, rows};
    for (const auto& [slot, source] : loaded_)
      if (source == key) return slot;
    const int slot = group_.slots++;
    load({std::get<0>(key), slot, o.view.dtype, m.shape, m.strides, rows});
    loaded_.emplace_back(slot, std::move(key));
    return slot;
  }
  void load(Load l) {
    group_.loads.push_back(std::move(l));
    group_.order.push_back(-static_cast<int>(group_.loads.size()));
  }

  // Frees the slots of blocks whose last use is call i.
  void free_slots(size_t i) {
    std::vector<int> freed;
    for (size_t k = 0; k < loop(i).operands.size(); ++k) {
      const LoopOperand& o = loop(i).operands[k];
      if (in_tile(o) && plan_.meetings_[group_.calls[i]][k].kind == Meeting::Direct && last_[o.place.block] == i)
        freed.push_back(slot_of_.at(o.place.block));
    }
    std::sort(freed.begin(), freed.end());
    freed.erase(std::unique(freed.begin(), freed.end()), freed.end());
    unused_.insert(unused_.end(), freed.begin(), freed.end());
  }

  using Source = std::tuple<uint32_t, DType, std::vector<int64_t>, std::vector<int64_t>, bool>;
  Plan& plan_;
  Group& group_;
  Chain chain_;
  std::map<uint32_t, size_t> last_;             // the last call that uses a block
  std::map<uint32_t, int> slot_of_, spread_;    // of blocks
  std::vector<int> unused_;                     // slots
  std::vector<std::pair<int, Source>> loaded_;  // slots, and what is in them
};

void Plan::lower_group(Group& group) { Lowering(*this, group).run(); }

}  // namespace genesis::plan
