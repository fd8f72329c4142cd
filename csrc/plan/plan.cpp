#include "plan/plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "core/parallel.h"
#include "kernels/elementwise/convert.h"

namespace genesis::plan {

namespace {
constexpr int64_t kRecomputedBytes = 1 << 17;  // of a block that is worth it, at least
constexpr int kMostRecomputed = 256;
constexpr size_t kMostCalls = 256;           // in a group
constexpr int64_t kRestoredBytes = 1 << 22;  // that are copied before a run, should a check fail
}  // namespace

Plan::Plan(std::unique_ptr<Recording> r, Options options) : recording(std::move(r)), options_(std::move(options)) {
  const size_t n = recording->blocks.size();
  output_.assign(n, 0);
  for (const uint32_t b : options_.outputs) output_[b] = 1;
  homes.assign(n, Home::Nowhere);
  offsets.assign(n, 0);
  sites.resize(n);
  lives.assign(n, {UINT32_MAX, 0});
  late.assign(n, 0);
  remove_dead();
  check_writes();
  group();
  if (options_.fuse) {
    merge_groups();
    find_homes();
    recompute();
  }
  if (recomputed > 0) {
    units_.clear();
    group();
    merge_groups();
  }
  lower();
  place_checks();
  pack();
  lay_out();
}

// Memory that is read before a call writes to it was written by something else, or by nobody.
void Plan::check_writes() {
  std::vector<char> written(recording->blocks.size(), 0);
  for (size_t i = 0; i < recording->calls.size(); ++i) {
    if (!live_[i]) continue;
    const Call& c = recording->calls[i];
    for (const Reference& r : c.references)
      if (!r.written && !written[r.place.block] && !recording->blocks[r.place.block].external)
        broken = std::string("kernel ") + c.name + " reads memory that no kernel has written";
    for (const Reference& r : c.references) written[r.place.block] |= r.written;
  }
  for (const uint32_t b : options_.outputs)
    if (!written[b] && recording->blocks[b].bytes > 0) broken = "a result was not computed by a kernel";
}

// A call is needed if it changes memory that outlives the plan, if its result is checked, or if a call that is needed
// touches what it writes.
void Plan::remove_dead() {
  std::vector<Call>& calls = recording->calls;
  live_.assign(calls.size(), 0);
  std::vector<char> needed(recording->blocks.size(), 0);
  for (size_t b = 0; b < needed.size(); ++b) needed[b] = output_[b] || recording->blocks[b].external;
  for (size_t i = calls.size(); i-- > 0;) {
    const Call& c = calls[i];
    bool live = c.host >= 0 || c.checked;
    for (const Reference& r : c.references) live |= r.written && needed[r.place.block];
    live_[i] = live;
    dead += !live;
    if (!live) continue;
    for (const Reference& r : c.references) needed[r.place.block] = 1;
  }
}

// Where memory peaks, a block that is not touched for a while can be computed again instead of kept, if it is the
// result of a pointwise call whose operands are kept anyway.
void Plan::recompute() {
  for (int i = 0; i < kMostRecomputed && recompute_one(); ++i) ++recomputed;
}

bool Plan::recompute_one() {
  std::vector<Call>& calls = recording->calls;
  std::vector<std::vector<std::pair<size_t, bool>>> accesses(recording->blocks.size());  // (call, whether it writes)
  for (size_t i = 0; i < calls.size(); ++i)
    if (live_[i])
      for (const Reference& r : calls[i].references) {
        auto& list = accesses[r.place.block];
        if (!list.empty() && list.back().first == i) list.back().second |= r.written;
        else list.emplace_back(i, r.written);
      }
  std::vector<int64_t> change(calls.size() + 1, 0);
  for (size_t b = 0; b < accesses.size(); ++b) {
    if (accesses[b].empty() || (homes[b] != Home::Arena && homes[b] != Home::Output)) continue;
    change[accesses[b].front().first] += recording->blocks[b].bytes;
    change[(output_[b] ? calls.size() : accesses[b].back().first + 1)] -= recording->blocks[b].bytes;
  }
  size_t peak = 0;
  for (int64_t i = 0, now = 0, most = 0; i < static_cast<int64_t>(calls.size()); ++i) {
    now += change[static_cast<size_t>(i)];
    if (now > most) most = now, peak = static_cast<size_t>(i);
  }

  const auto unchanged = [&](uint32_t block, size_t from, size_t to) {
    for (const auto& [at, written] : accesses[block])
      if (written && at > from && at < to) return false;
    return homes[block] == Home::External || homes[block] == Home::Output ||
           (homes[block] == Home::Arena && accesses[block].back().first >= to);
  };
  uint32_t best = kNoBlock;
  size_t source = 0, use = 0;
  for (uint32_t b = 0; b < accesses.size(); ++b) {
    const auto& list = accesses[b];
    if (homes[b] != Home::Arena || recording->blocks[b].bytes < kRecomputedBytes) continue;
    if (list.size() < 2 || !list.front().second ||
        (best != kNoBlock && recording->blocks[b].bytes <= recording->blocks[best].bytes))
      continue;
    const auto next = std::upper_bound(list.begin(), list.end(), std::pair(peak, true));
    if (next == list.begin() || next == list.end() || std::prev(next)->first == peak) continue;
    const size_t from = list.front().first, to = next->first;
    const Call& c = calls[from];
    bool fits = c.loop && c.references.size() > 1;
    for (const auto& [at, written] : list) fits &= at == from || !written;
    for (size_t i = from; i < to && fits; ++i) fits = calls[i].host < 0;
    for (const Reference& r : c.references) {
      if (!fits) break;
      fits = r.written ? r.place.block == b : r.place.block != b && unchanged(r.place.block, from, to);
    }
    if (fits) best = b, source = from, use = to;
  }
  if (best == kNoBlock) return false;

  const auto copy = static_cast<uint32_t>(recording->blocks.size());
  recording->blocks.push_back(recording->blocks[best]);
  output_.push_back(0);
  homes.push_back(Home::Arena);
  offsets.push_back(0);
  sites.emplace_back();
  lives.push_back({UINT32_MAX, 0});
  late.push_back(0);
  const auto redirect = [&](Call& c) {
    for (Reference& r : c.references)
      if (r.place.block == best) r.place.block = copy;
    if (c.loop)
      for (LoopOperand& o : c.loop->operands)
        if (o.place.block == best) o.place.block = copy;
  };
  for (size_t i = use; i < calls.size(); ++i) redirect(calls[i]);
  const Call& original = calls[source];
  Call again;
  again.name = original.name;
  again.fn = original.fn;
  again.thunk = original.thunk;
  again.pack = original.pack;
  again.repeated = true;
  again.references = original.references;
  again.loop = std::make_unique<PointwiseLoop>(*original.loop);
  redirect(again);
  calls.insert(calls.begin() + static_cast<std::ptrdiff_t>(use), std::move(again));
  live_.insert(live_.begin() + static_cast<std::ptrdiff_t>(use), 1);
  if (options_.second_part != UINT32_MAX && use < options_.second_part) ++options_.second_part;
  return true;
}

// Whether a call can be part of a group as far as memory goes that one of them writes: they must meet it element by
// element.
bool Plan::fits(const Unit& unit, uint32_t call) const {
  struct Use {
    bool written = false, direct = true;
    int64_t offset = -1, item = 0;
  };
  std::map<uint32_t, Use> uses;
  const auto add = [&](uint32_t c) {
    const PointwiseLoop& loop = *recording->calls[c].loop;
    for (size_t k = 0; k < loop.operands.size(); ++k) {
      const LoopOperand& o = loop.operands[k];
      if (o.place.block == kNoBlock) continue;
      Use& use = uses[o.place.block];
      use.written |= k == 0;
      const int64_t item = itemsize(o.view.dtype);
      if (use.offset < 0) use.offset = o.place.offset, use.item = item;
      use.direct &= meetings_[c][k].kind == Meeting::Direct && use.offset == o.place.offset && use.item == item;
    }
  };
  for (const uint32_t c : unit.calls) add(c);
  add(call);
  for (const auto& [block, use] : uses)
    if (use.written && !use.direct) return false;
  return true;
}

void Plan::group() {
  std::vector<Call>& calls = recording->calls;
  meetings_.resize(calls.size());
  totals_.assign(calls.size(), 0);
  std::vector<int64_t> writer(recording->blocks.size(), -1), toucher(recording->blocks.size(), -1);  // units
  int64_t barrier = -1;  // the last unit that nothing moves across
  bool second = false;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!live_[i]) continue;
    Call& c = calls[i];
    if (!second && i >= options_.second_part) {
      second = true;
      barrier = static_cast<int64_t>(units_.size()) - 1;
    }
    if (options_.fuse && c.host < 0 && !c.loop) c.loop = loop_of_copy(c, *recording);
    if (!options_.fuse || !c.loop || !meet(*c.loop, meetings_[i], totals_[i])) totals_[i] = 0;
    int64_t earliest = barrier + 1;
    for (const Reference& r : c.references) {
      earliest = std::max(earliest, writer[r.place.block]);
      if (r.written) earliest = std::max(earliest, toucher[r.place.block]);
    }
    int64_t unit = -1;
    if (totals_[i] > 0 && !c.repeated) {
      for (int64_t u = static_cast<int64_t>(units_.size()) - 1; u >= earliest && unit < 0; --u) {
        const Unit& candidate = units_[static_cast<size_t>(u)];
        if (candidate.total == totals_[i] && candidate.calls.size() < kMostCalls &&
            fits(candidate, static_cast<uint32_t>(i)))
          unit = u;
        if (static_cast<int64_t>(units_.size()) - u > 64) break;
      }
    }
    if (unit < 0) {
      unit = static_cast<int64_t>(units_.size());
      units_.push_back({{}, totals_[i], false});
    }
    units_[static_cast<size_t>(unit)].calls.push_back(static_cast<uint32_t>(i));
    if (c.host >= 0) barrier = unit;
    for (const Reference& r : c.references) {
      toucher[r.place.block] = std::max(toucher[r.place.block], unit);
      if (r.written) writer[r.place.block] = std::max(writer[r.place.block], unit);
    }
  }
}

bool Plan::independent(const Unit& a, const Unit& b) const {
  std::map<uint32_t, bool> touched;
  for (const uint32_t c : a.calls)
    for (const Reference& r : recording->calls[c].references) touched[r.place.block] |= r.written;
  for (const uint32_t c : b.calls) {
    if (recording->calls[c].host >= 0) return false;
    for (const Reference& r : recording->calls[c].references) {
      const auto it = touched.find(r.place.block);
      if (it != touched.end() && (it->second || r.written)) return false;
    }
  }
  return true;
}

// Moves a group down to a later one that shares memory with it, past what does not depend on it.
void Plan::merge_groups() {
  const auto part = [&](const Unit& u) {
    return options_.second_part != UINT32_MAX && u.calls[0] >= options_.second_part;
  };
  for (size_t i = 0; i < units_.size(); ++i) {
    Unit& unit = units_[i];
    if (unit.total == 0 || unit.removed) continue;
    for (size_t j = i + 1; j < units_.size() && j < i + 32; ++j) {
      Unit& later = units_[j];
      if (later.removed) continue;
      if (part(later) != part(unit)) break;
      if (later.total == unit.total && later.calls.size() + unit.calls.size() <= kMostCalls) {
        Unit both{unit.calls, unit.total, false};
        bool ok = !independent(unit, later);  // else there is nothing to gain
        for (const uint32_t c : later.calls) {
          if (!ok) break;
          ok = fits(both, c);
          both.calls.push_back(c);
        }
        if (ok) {
          std::sort(both.calls.begin(), both.calls.end());
          later = std::move(both);
          unit.removed = true;
          break;
        }
      }
      if (!independent(unit, later)) break;
    }
  }
}

// Blocks that only one group touches live in its tiles; the others need memory.
void Plan::find_homes() {
  constexpr int64_t kSeveral = INT64_MAX;
  std::vector<int64_t> only(recording->blocks.size(), -1);
  for (size_t u = 0; u < units_.size(); ++u) {
    const Unit& unit = units_[u];
    if (unit.removed) continue;
    const int64_t here = unit.total > 0 && unit.calls.size() > 1 ? static_cast<int64_t>(u) : kSeveral;
    for (const uint32_t c : unit.calls)
      for (const Reference& r : recording->calls[c].references) {
        int64_t& one = only[r.place.block];
        one = one == -1 || one == here ? here : kSeveral;
      }
  }
  touched_.assign(only.size(), 0);
  for (size_t b = 0; b < only.size(); ++b) {
    homes[b] = Home::Nowhere;
    touched_[b] = only[b] != -1;
    if (only[b] == -1) continue;
    homes[b] = recording->blocks[b].external ? Home::External : output_[b] ? Home::Output : Home::Arena;
    if (homes[b] == Home::Arena && only[b] != kSeveral) homes[b] = Home::Nowhere;
  }
}

void Plan::lower() {
  second_part = UINT32_MAX;
  for (const Unit& unit : units_) {
    if (unit.removed) continue;
    if (options_.second_part != UINT32_MAX && second_part == UINT32_MAX && unit.calls[0] >= options_.second_part)
      second_part = static_cast<uint32_t>(steps.size());
    const uint32_t first = unit.calls[0];
    if (recording->calls[first].host >= 0) {
      steps.push_back({Step::Host, static_cast<uint32_t>(recording->calls[first].host)});
    } else if (unit.total > 0 && unit.calls.size() > 1) {
      steps.push_back({Step::Tiles, static_cast<uint32_t>(groups.size())});
      Group& group = groups.emplace_back();
      group.calls = unit.calls;
      group.total = unit.total;
      fused += unit.calls.size();
    } else {
      for (const uint32_t c : unit.calls) steps.push_back({Step::Kernel, c});
    }
  }
  if (second_part == UINT32_MAX) second_part = static_cast<uint32_t>(steps.size());

  find_homes();
  for (size_t b = 0; b < homes.size(); ++b)
    if (homes[b] == Home::Nowhere && touched_[b]) saved_bytes += recording->blocks[b].bytes;
  for (Group& g : groups) lower_group(g);
}

void Plan::lower_group(Group& group) {
  std::map<uint32_t, size_t> last;  // the last call that touches a block in a tile
  std::map<uint32_t, bool> begun;
  for (size_t i = 0; i < group.calls.size(); ++i)
    for (const LoopOperand& o : recording->calls[group.calls[i]].loop->operands)
      if (o.place.block != kNoBlock) last[o.place.block] = i;
  std::map<uint32_t, int> slot_of;
  std::vector<int> unused;
  const auto take = [&] {
    if (unused.empty()) return group.slots++;
    const int slot = unused.back();
    unused.pop_back();
    return slot;
  };
  const auto base = [&](const LoopOperand& o) {
    for (size_t k = 0; k < group.bases.size(); ++k)
      if (o.place.block != kNoBlock && group.bases[k].block == o.place.block && group.bases[k].offset == o.place.offset)
        return static_cast<uint32_t>(k);
    group.bases.push_back(o.place);
    group.constants.push_back(o.place.block == kNoBlock ? o.view.data : nullptr);
    return static_cast<uint32_t>(group.bases.size() - 1);
  };
  group.grain = kernels::kLightGrain;
  std::vector<std::pair<int, std::tuple<uint32_t, DType, std::vector<int64_t>, std::vector<int64_t>>>> loaded;
  for (size_t i = 0; i < group.calls.size(); ++i) {
    const PointwiseLoop& loop = *recording->calls[group.calls[i]].loop;
    group.grain = std::min(group.grain, loop.grain);
    Instruction code{loop.inner, loop.params, {}, 0};
    std::vector<int> freed;
    for (size_t k = 0; k < loop.operands.size(); ++k) {
      const LoopOperand& o = loop.operands[k];
      const Meeting& m = meetings_[group.calls[i]][k];
      TileOperand t{TileOperand::Direct, 0, 0, o.view.dtype, o.compute};
      const bool in_tile = o.place.block != kNoBlock && homes[o.place.block] == Home::Nowhere;
      if (in_tile && m.kind == Meeting::Direct) {
        t.kind = TileOperand::Slot;
        auto it = slot_of.find(o.place.block);
        if (it == slot_of.end()) it = slot_of.emplace(o.place.block, take()).first;
        t.slot = it->second;
        if (last[o.place.block] == i) freed.push_back(t.slot);
      } else if (m.kind == Meeting::Direct) {
        t.base = base(o);
      } else if (m.kind == Meeting::Single) {
        t.kind = TileOperand::Single;
        code.singles |= 1u << k;
        LoopOperand constant = o;
        if (o.place.block == kNoBlock && o.view.dtype != o.compute) {
          alignas(8) char value[8];
          kernels::gather(value, o.compute, o.view.data, 0, o.view.dtype, 1);
          constant.view.data = const_cast<void*>(recording->constants.keep(value, 8));
          t.dtype = o.compute;
        }
        t.base = base(constant);
      } else {
        t.kind = TileOperand::Slot;
        auto key = std::make_tuple(base(o), o.view.dtype, m.shape, m.strides);
        int slot = -1;
        for (const auto& [s, k2] : loaded)
          if (k2 == key) slot = s;
        if (slot < 0) {
          slot = group.slots++;
          group.loads.push_back({std::get<0>(key), slot, o.view.dtype, m.shape, m.strides});
          group.order.push_back(-static_cast<int>(group.loads.size()));
          loaded.emplace_back(slot, std::move(key));
        }
        t.slot = slot;
      }
      code.operands.push_back(t);
    }
    group.order.push_back(static_cast<int>(group.code.size()));
    group.code.push_back(std::move(code));
    std::sort(freed.begin(), freed.end());
    freed.erase(std::unique(freed.begin(), freed.end()), freed.end());
    unused.insert(unused.end(), freed.begin(), freed.end());
  }
  // Slots stay in the first level of cache; large tiles cost fewer calls.
  group.tile = group.slots <= 4 ? 2048 : group.slots <= 12 ? 1024 : 512;
  const int64_t share = group.grain / static_cast<int64_t>(group.calls.size());
  group.grain = std::max<int64_t>(4096, share / group.tile * group.tile);
}

// A check that fails sends the call back to the eager function, so nothing that outlives the plan may have changed: a
// check of memory that the plan does not write runs before everything else, and for others the memory that is written
// before them is copied.
void Plan::place_checks() {
  std::set<uint32_t> changed;  // external or output blocks
  std::vector<char> touched(recording->blocks.size(), 0);
  bool host = false;
  std::vector<Step> kept;
  uint32_t removed = 0;
  for (size_t s = 0; s < steps.size(); ++s) {
    const Step& step = steps[s];
    bool early = false;
    if (step.kind == Step::Kernel && recording->calls[step.index].checked) {
      const Call& c = recording->calls[step.index];
      early = s < second_part;
      for (const Reference& r : c.references)
        early &= !r.written && homes[r.place.block] == Home::External && !touched[r.place.block];
      if (!early) {
        if (host) broken = std::string("kernel ") + c.name + " checks values after an optimizer has run";
        if (s >= second_part) broken = std::string("kernel ") + c.name + " checks values in the backward pass";
        restored.assign(changed.begin(), changed.end());
      }
    }
    if (early) {
      before.push_back(step);
      removed += s < second_part;
      continue;
    }
    kept.push_back(step);
    if (step.kind == Step::Host) host = true;
    const auto touch = [&](uint32_t c) {
      for (const Reference& r : recording->calls[c].references)
        if (r.written) {
          touched[r.place.block] = 1;
          if (homes[r.place.block] == Home::External) changed.insert(r.place.block);
        }
    };
    if (step.kind == Step::Kernel) touch(step.index);
    if (step.kind == Step::Tiles)
      for (const uint32_t c : groups[step.index].calls) touch(c);
  }
  steps = std::move(kept);
  second_part -= removed;
  written.assign(changed.begin(), changed.end());
  int64_t bytes = 0;
  for (const uint32_t b : restored) bytes += recording->blocks[b].bytes;
  if (bytes > kRestoredBytes) broken = "values are checked after much memory has been changed in place";
}

// Blocks whose lives overlap get different parts of the arena: the largest first, each at the lowest place that fits.
void Plan::pack() {
  const auto touch = [&](uint32_t c, size_t s) {
    for (const Reference& r : recording->calls[c].references) {
      auto& life = lives[r.place.block];
      life.first = std::min(life.first, static_cast<uint32_t>(s));
      life.second = std::max(life.second, static_cast<uint32_t>(s));
      if (s >= second_part) late[r.place.block] = 1;
    }
  };
  for (size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].kind == Step::Kernel) touch(steps[s].index, s);
    if (steps[s].kind == Step::Tiles)
      for (const uint32_t c : groups[steps[s].index].calls) touch(c, s);
  }
  std::vector<uint32_t> blocks;
  for (size_t b = 0; b < homes.size(); ++b)
    if (homes[b] == Home::Arena) blocks.push_back(static_cast<uint32_t>(b));
  const auto size = [&](uint32_t b) { return std::max<int64_t>(64, (recording->blocks[b].bytes + 63) / 64 * 64); };
  std::stable_sort(blocks.begin(), blocks.end(), [&](uint32_t a, uint32_t b) { return size(a) > size(b); });
  std::vector<uint32_t> placed;
  std::vector<std::pair<int64_t, int64_t>> busy;
  for (const uint32_t b : blocks) {
    busy.clear();
    for (const uint32_t o : placed)
      if (lives[o].first <= lives[b].second && lives[b].first <= lives[o].second)
        busy.emplace_back(offsets[o], offsets[o] + size(o));
    std::sort(busy.begin(), busy.end());
    int64_t at = 0;
    for (const auto& [begin, end] : busy) {
      if (begin - at >= size(b)) break;
      at = std::max(at, end);
    }
    offsets[b] = at;
    arena_bytes = std::max(arena_bytes, at + size(b));
    placed.push_back(b);
  }
}

// Arguments of all steps one after another, and where addresses are among them.
void Plan::lay_out() {
  const auto add = [&](Step& step) {
    if (step.kind == Step::Host) return;
    arguments.resize((arguments.size() + 15) / 16 * 16);
    step.at = static_cast<uint32_t>(arguments.size());
    if (step.kind == Step::Kernel) {
      const Call& c = recording->calls[step.index];
      arguments.insert(arguments.end(), c.pack.begin(), c.pack.end());
      for (const Reference& r : c.references) sites[r.place.block].push_back({step.at + r.at, r.place.offset});
      for (const uint32_t d : c.draws) draws.push_back(step.at + d);
    } else {
      const Group& g = groups[step.index];
      arguments.resize(arguments.size() + g.bases.size() * sizeof(char*));
      for (size_t k = 0; k < g.bases.size(); ++k) {
        const uint32_t at = step.at + static_cast<uint32_t>(k * sizeof(char*));
        if (g.bases[k].block == kNoBlock) std::memcpy(arguments.data() + at, &g.constants[k], sizeof(void*));
        else sites[g.bases[k].block].push_back({at, g.bases[k].offset});
      }
    }
  };
  for (Step& s : before) add(s);
  for (Step& s : steps) add(s);
}

std::string Plan::text() const {
  std::ostringstream s;
  size_t kernels = 0;
  for (const Step& step : steps) kernels += step.kind == Step::Kernel;
  s << recording->calls.size() << " calls: " << dead << " dead, " << recomputed << " repeated, " << fused << " in "
    << groups.size() << " groups, " << kernels << " by themselves; arena of " << arena_bytes << " bytes, "
    << saved_bytes << " bytes in tiles only\n";
  const auto shape = [&](const View& v) {
    s << "(";
    for (int d = 0; d < v.ndim; ++d) s << (d ? ", " : "") << v.shape[d];
    s << ")";
  };
  for (const Step& step : before) s << "check  " << recording->calls[step.index].name << "\n";
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (i == second_part) s << "-- backward\n";
    s << i << "  ";
    if (step.kind == Step::Host) {
      s << "host action " << step.index << "\n";
      continue;
    }
    if (step.kind == Step::Tiles) {
      const Group& g = groups[step.index];
      s << "group of " << g.calls.size() << " calls, " << g.total << " elements, " << g.slots << " slots:";
      for (const uint32_t c : g.calls) s << " " << recording->calls[c].name;
      s << "\n";
      continue;
    }
    const Call& c = recording->calls[step.index];
    s << c.name;
    if (c.loop) s << " ", shape(c.loop->operands[0].view);
    s << " ->";
    for (const Reference& r : c.references)
      if (r.written) s << " b" << r.place.block;
    s << " from";
    for (const Reference& r : c.references)
      if (!r.written) s << " b" << r.place.block;
    s << "\n";
  }
  s << "blocks:\n";
  static constexpr const char* kHomes[] = {"tiles", "arena", "external", "output"};
  for (size_t b = 0; b < homes.size(); ++b)
    if (lives[b].first != UINT32_MAX) {
      s << "b" << b << "  " << recording->blocks[b].bytes << " bytes, " << kHomes[static_cast<int>(homes[b])];
      if (homes[b] == Home::Arena) s << " at " << offsets[b];
      s << ", steps " << lives[b].first << " to " << lives[b].second << "\n";
    }
  return s.str();
}

bool Instance::set_base(uint32_t block, char* base) {
  if (bases_[block] == base) return false;
  bases_[block] = base;
  for (const Site& site : plan_.sites[block]) {
    char* const p = base + site.offset;
    std::memcpy(arguments_.data() + site.at, &p, sizeof(p));
  }
  return true;
}
void Instance::set_arena(char* arena) {
  if (arena == arena_) return;
  arena_ = arena;
  for (uint32_t b = 0; b < plan_.homes.size(); ++b)
    if (plan_.homes[b] == Home::Arena) set_base(b, arena + plan_.offsets[b]);
}
void Instance::set_draws(uint64_t seed, uint64_t counter) {
  for (size_t i = 0; i < plan_.draws.size(); i += 2) {
    uint64_t relative;
    std::memcpy(&relative, plan_.arguments.data() + plan_.draws[i + 1], 8);
    relative += counter;
    std::memcpy(arguments_.data() + plan_.draws[i], &seed, 8);
    std::memcpy(arguments_.data() + plan_.draws[i + 1], &relative, 8);
  }
}
bool Instance::one(const Step& step) {
  if (step.kind == Step::Tiles) {
    run_group(plan_.groups[step.index], reinterpret_cast<char* const*>(arguments_.data() + step.at));
    return true;
  }
  const Call& c = plan_.recording->calls[step.index];
  const int64_t value = c.thunk(c.fn, arguments_.data() + step.at);
  if (!c.checked || value == c.value) return true;
  failed = c.name;
  return false;
}
bool Instance::run_checks() {
  for (const Step& step : plan_.before)
    if (!one(step)) return false;
  return true;
}
uint32_t Instance::run(uint32_t step, uint32_t end) {
  const Completes completes;
  const Unlocked unlocked;
  for (; step < end; ++step) {
    const Step& s = plan_.steps[step];
    if (s.kind == Step::Host) return step;
    if (!one(s)) return kFailed;
  }
  return step;
}

}  // namespace genesis::plan
