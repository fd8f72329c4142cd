#include "plan/plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "kernels/elementwise/convert.h"
#include "plan/chains.h"

namespace genesis::plan {

namespace {
constexpr size_t kMostCalls = 256;           // maximum number of calls in a group
constexpr int64_t kRestoredBytes = 1 << 22;  // maximum size of memory that is saved before a run in case a check fails
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
  if (options_.fuse) rewrite_products();
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
  std::erase_if(units_, [](const Unit& unit) { return unit.removed; });
  if (options_.fuse) {
    find_homes();
    schedule();
  }
  lower();
  place_checks();
  pack();
  place_events();
  lay_out();
}

// Memory that is read before any call writes it was written outside the recording, or not at all.
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

// A call is needed if it changes memory that outlives the plan, if its result is checked, or if a needed call uses its
// results.
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

// Whether a call may join a group with respect to memory that one of its calls writes: all must access it element by
// element, or, if it has one element per row, row by row after it was written.
bool Plan::fits(const Unit& unit, uint32_t call) const {
  struct Use {
    bool full = true, of_rows = true, spread = false, written_first = false, whole = false;
    int64_t writes = 0, offset = -1, item = 0, touches = 0;
  };
  std::map<uint32_t, Use> uses;
  const auto add = [&](uint32_t c) {
    const PointwiseLoop& loop = *recording->calls[c].loop;
    for (size_t i = loop.operands.size(); i-- > 0;) {  // the output last
      const LoopOperand& o = loop.operands[i];
      if (o.place.block == kNoBlock) continue;
      Use& use = uses[o.place.block];
      ++use.touches;
      use.whole |= loop.whole && i == 0;
      const int64_t item = itemsize(o.view.dtype);
      if (use.offset < 0) use.offset = o.place.offset, use.item = item, use.written_first = i == 0;
      use.writes += i == 0;
      const bool same = use.offset == o.place.offset && use.item == item;
      const bool direct = same && meetings_[c][i].kind == Meeting::Direct;
      const bool rows = loop.length > 0 ? i == 0 : totals_[c] != unit.total;
      const bool spread =
          same && !rows && unit.row > 0 && is_spread(meetings_[c][i], unit.total, unit.row, o.view.dtype);
      use.full &= direct && !rows;
      use.of_rows &= (direct && rows) || spread;
      use.spread |= spread;
    }
  };
  for (const uint32_t c : unit.calls) add(c);
  add(call);
  for (const auto& [block, use] : uses) {
    if (use.whole && use.touches > 1) return false;  // a sum is known at the end only
    if (use.whole || use.writes == 0 || use.full) continue;
    if (!use.of_rows || (use.spread && (use.writes > 1 || !use.written_first))) return false;
  }
  return true;
}

// Whether a call may join a group: it has as many elements, or as many as the group has rows.
bool Plan::can_join(const Unit& unit, uint32_t call) const {
  if (unit.removed || unit.calls.size() >= kMostCalls || unit.total == 0) return false;
  const int64_t length = recording->calls[call].loop->length;
  if (recording->calls[call].loop->whole) return unit.row == 0 && unit.total == totals_[call] && fits(unit, call);
  if (length > 0) {
    if (unit.whole) return false;
    if (unit.total != totals_[call] || (unit.row > 0 && unit.row != length)) return false;
    Unit with = unit;
    with.row = length;
    return fits(with, call);
  }
  if (unit.total != totals_[call] && (unit.row == 0 || totals_[call] * unit.row != unit.total)) return false;
  return fits(unit, call);
}

void Plan::group() {
  std::vector<Call>& calls = recording->calls;
  meetings_.resize(calls.size());
  totals_.assign(calls.size(), 0);
  std::vector<int64_t> writer(recording->blocks.size(), -1), toucher(recording->blocks.size(), -1);  // units
  int64_t barrier = -1;  // the last unit that others must not move across
  bool second = false;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!live_[i]) continue;
    Call& c = calls[i];
    if (!second && i >= options_.second_part) {
      second = true;
      barrier = static_cast<int64_t>(units_.size()) - 1;
    }
    if (options_.fuse && c.host < 0 && !c.loop) c.loop = loop_of_copy(c, *recording);
    if (options_.fuse && c.host < 0 && !c.loop) c.loop = loop_of_reduction(c);
    if (!options_.fuse || !c.loop) {
      totals_[i] = 0;
    } else if (c.loop->length > 0) {
      totals_[i] = c.loop->operands[1].view.numel();
      meetings_[i].assign(2, {Meeting::Direct, {}, {}});
    } else if (!meet(*c.loop, meetings_[i], totals_[i])) {
      totals_[i] = 0;
    }
    int64_t earliest = barrier + 1;
    for (const Reference& r : c.references) {
      earliest = std::max(earliest, writer[r.place.block]);
      if (r.written) earliest = std::max(earliest, toucher[r.place.block]);
    }
    int64_t unit = -1;
    if (totals_[i] > 0 && !c.repeated) {
      for (int64_t u = static_cast<int64_t>(units_.size()) - 1; u >= earliest && unit < 0; --u) {
        if (can_join(units_[static_cast<size_t>(u)], static_cast<uint32_t>(i))) unit = u;
        if (static_cast<int64_t>(units_.size()) - u > 64) break;
      }
    }
    if (unit < 0) {
      unit = static_cast<int64_t>(units_.size());
      units_.push_back({{}, totals_[i], 0, false, false});
    }
    units_[static_cast<size_t>(unit)].calls.push_back(static_cast<uint32_t>(i));
    if (totals_[i] > 0 && c.loop->whole) units_[static_cast<size_t>(unit)].whole = true;
    else if (totals_[i] > 0 && c.loop->length > 0) units_[static_cast<size_t>(unit)].row = c.loop->length;
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

// Moves a group down to a later one that shares memory with it, across units that do not depend on it.
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
      if (later.total == unit.total && later.calls.size() + unit.calls.size() <= kMostCalls &&
          (later.row == unit.row || later.row == 0 || unit.row == 0)) {
        Unit both{unit.calls, unit.total, std::max(unit.row, later.row), false, unit.whole || later.whole};
        bool ok = !independent(unit, later) && !(both.whole && both.row > 0);  // otherwise there is no gain
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

// Blocks that only one group uses are kept in its tiles; the others need memory.
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
      group.row = unit.row;
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

// A failed check falls back to the eager function, so nothing that outlives the plan may have changed. Checks of memory
// that the plan does not write run first; for the others, the memory that is written before them is saved.
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

// Lays out the arguments of all steps consecutively, and records where they contain addresses.
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

}  // namespace genesis::plan
