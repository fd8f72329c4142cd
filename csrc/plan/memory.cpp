// Reduces the memory of a plan: recomputes values, reorders units so that less memory is live at once, lets results
// reuse the memory of operands, and allocates the arena in segments that live no longer than needed.
#include <algorithm>
#include <cstring>

#include "kernels/norm/norm.h"
#include "plan/plan.h"

namespace genesis::plan {

namespace {

constexpr int64_t kRecomputedBytes = 1 << 17;  // minimum size of a block that is recomputed
constexpr int kMostRecomputed = 256;
constexpr int kLongestChain = 3;            // maximum number of calls that are repeated for one block
constexpr int64_t kSegmentBytes = 1 << 17;  // minimum size of a segment
constexpr size_t kWindow = 24;              // maximum distance by which a unit moves
constexpr int64_t kScheduleWork = 1 << 24;  // limit on visited blocks

// Kernels, other than pointwise ones, that are cheap and may be repeated for their first result. Their other results
// may have no memory.
bool is_cheap(const Call& c) {
  const auto is = [&](const auto& kernel) { return c.fn == reinterpret_cast<void (*)()>(kernel.fn); };
  return is(kernels::layer_norm) || is(kernels::batch_norm);
}

}  // namespace

// ----- Recomputation -----

// The calls that use each block, and whether they write it.
struct Plan::Accesses {
  std::vector<std::vector<std::pair<size_t, bool>>> of;
  Accesses(const std::vector<Call>& calls, const std::vector<char>& live, size_t blocks) : of(blocks) {
    for (size_t i = 0; i < calls.size(); ++i) {
      if (!live[i]) continue;
      for (const Reference& r : calls[i].references) {
        auto& list = of[r.place.block];
        if (!list.empty() && list.back().first == i) list.back().second |= r.written;
        else list.emplace_back(i, r.written);
      }
    }
  }
};

// Where memory peaks, a block that is not used for a while can be recomputed instead of kept, if cheap calls compute it
// from blocks that are kept anyway.
void Plan::recompute() {
  while (recomputed < kMostRecomputed && recompute_one()) {
  }
}

// Adds to `chain` the calls that recompute a block before call `to`; returns false if that is not possible.
bool Plan::repeats(const Accesses& accesses, uint32_t block, size_t to, std::vector<size_t>& chain) const {
  const std::vector<Call>& calls = recording->calls;
  const auto& list = accesses.of[block];
  if (chain.size() == kLongestChain || list.empty() || !list.front().second) return false;
  const size_t from = list.front().first;
  if (std::find(chain.begin(), chain.end(), from) != chain.end()) return true;
  for (const auto& [at, written] : list)
    if (written && at != from) return false;
  const Call& c = calls[from];
  const bool cheap = is_cheap(c);
  if (!((c.loop && c.loop->length == 0) || cheap) || c.checked || c.references.size() < 2) return false;
  for (size_t i = from; i < to; ++i)
    if (calls[i].host >= 0) return false;
  bool first = true;
  for (const Reference& r : c.references) {
    const uint32_t b = r.place.block;
    if (r.written) {
      if (first ? b != block : !cheap) return false;
      first = false;
      continue;
    }
    if (b == block) return false;
    bool kept = homes[b] == Home::External || homes[b] == Home::Output ||
                (homes[b] == Home::Arena && accesses.of[b].back().first >= to);
    for (const auto& [at, written] : accesses.of[b])
      if (written && at > from && at < to) kept = false;
    if (!kept && !repeats(accesses, b, to, chain)) return false;
  }
  chain.push_back(from);
  return chain.size() <= kLongestChain;
}

bool Plan::recompute_one() {
  const std::vector<Call>& calls = recording->calls;
  const Accesses accesses(calls, live_, recording->blocks.size());
  const auto bytes = [&](uint32_t b) { return recording->blocks[b].bytes; };
  std::vector<int64_t> alive(calls.size() + 1, 0);
  for (uint32_t b = 0; b < accesses.of.size(); ++b) {
    if (accesses.of[b].empty() || (homes[b] != Home::Arena && homes[b] != Home::Output)) continue;
    alive[accesses.of[b].front().first] += bytes(b);
    alive[output_[b] ? calls.size() : accesses.of[b].back().first + 1] -= bytes(b);
  }
  for (size_t i = 1; i < alive.size(); ++i) alive[i] += alive[i - 1];
  const auto peak = static_cast<size_t>(std::max_element(alive.begin(), alive.end()) - alive.begin());

  uint32_t best = kNoBlock;
  size_t use = 0;
  std::vector<size_t> best_chain;
  const auto better = [&](uint32_t b, size_t length) {
    return best == kNoBlock || bytes(b) > bytes(best) || (bytes(b) == bytes(best) && length < best_chain.size());
  };
  for (uint32_t b = 0; b < accesses.of.size(); ++b) {
    const auto& list = accesses.of[b];
    if (homes[b] != Home::Arena || bytes(b) < kRecomputedBytes || list.size() < 2 || !better(b, 1)) continue;
    const auto next = std::upper_bound(list.begin(), list.end(), std::pair(peak, true));
    if (next == list.begin() || next == list.end() || std::prev(next)->first == peak) continue;
    std::vector<size_t> chain;
    const size_t to = next->first;
    if (!repeats(accesses, b, to, chain) || !better(b, chain.size())) continue;
    int64_t more = 0;  // intermediate values; the result may reuse the memory of the last of them
    for (size_t i = 0; i + 2 < chain.size(); ++i) more += bytes(calls[chain[i]].references[0].place.block);
    if (alive[to] + more < alive[peak]) best = b, use = to, best_chain = std::move(chain);
  }
  if (best == kNoBlock) return false;
  repeat(best_chain, use);
  return true;
}

// Inserts copies of the calls `chain` before call `use`; later calls read the last result.
void Plan::repeat(const std::vector<size_t>& chain, size_t use) {
  std::vector<Call>& calls = recording->calls;
  std::vector<std::pair<uint32_t, uint32_t>> renamed;
  const auto rename = [&](Call& c) {
    for (const auto& [from, to] : renamed) {
      for (Reference& r : c.references)
        if (r.place.block == from) r.place.block = to;
      if (!c.loop) continue;
      for (LoopOperand& o : c.loop->operands)
        if (o.place.block == from) o.place.block = to;
    }
  };
  std::vector<Call> copies;
  for (const size_t source : chain) {
    const Call& original = calls[source];
    Call again;
    again.name = original.name;
    again.fn = original.fn;
    again.thunk = original.thunk;
    again.pack = original.pack;
    again.repeated = true;
    if (original.loop) again.loop = std::make_unique<PointwiseLoop>(*original.loop);
    for (const Reference& r : original.references) {
      if (r.written && recording->blocks[r.place.block].external)  // running statistics are updated only once
        std::memset(again.pack.data() + r.at, 0, sizeof(void*));
      else again.references.push_back(r);
    }
    for (const Reference& r : original.references)
      if (r.written) {
        renamed.emplace_back(r.place.block, add_block(recording->blocks[r.place.block]));
        break;
      }
    rename(again);
    copies.push_back(std::move(again));
  }
  renamed.erase(renamed.begin(), renamed.end() - 1);
  for (size_t i = use; i < calls.size(); ++i) rename(calls[i]);
  const auto at = static_cast<std::ptrdiff_t>(use);
  const size_t n = copies.size();
  calls.insert(calls.begin() + at, std::make_move_iterator(copies.begin()), std::make_move_iterator(copies.end()));
  live_.insert(live_.begin() + at, n, 1);
  if (options_.second_part != UINT32_MAX && use < options_.second_part)
    options_.second_part += static_cast<uint32_t>(n);
  recomputed += n;
}

uint32_t Plan::add_block(Block block) {
  recording->blocks.push_back(block);
  output_.push_back(0);
  homes.push_back(Home::Arena);
  offsets.push_back(0);
  sites.emplace_back();
  lives.push_back({UINT32_MAX, 0});
  late.push_back(0);
  return static_cast<uint32_t>(recording->blocks.size() - 1);
}

// ----- Order -----

namespace {

// Units and the blocks that they use.
struct Order {
  struct Touch {
    uint32_t block;
    bool written;
  };
  struct Item {
    std::vector<Touch> touches;  // sorted by block
    bool fixed = false;          // does not move, and no other unit moves across it
    bool stays = false;          // does not move
    bool pointwise = false;
  };
  std::vector<Item> items;
  std::vector<uint32_t> order;
  const std::vector<int64_t>& bytes;  // of blocks; 0: ignored
  const std::vector<char>& output;
  std::vector<uint32_t> first, last;  // scratch, per block

  // The maximum of live bytes, how often it occurs, and where first.
  struct Peak {
    int64_t bytes = 0;
    size_t count = 0, at = 0;
    bool operator<(const Peak& o) const { return bytes != o.bytes ? bytes < o.bytes : count < o.count; }
  };
  Peak peak() {
    const size_t n = order.size();
    std::fill(first.begin(), first.end(), UINT32_MAX);
    for (uint32_t i = 0; i < n; ++i)
      for (const Touch& t : items[order[i]].touches) {
        if (first[t.block] == UINT32_MAX) first[t.block] = i;
        last[t.block] = i;
      }
    std::vector<int64_t> born(n + 1, 0), gone(n + 1, 0);
    for (size_t b = 0; b < first.size(); ++b) {
      if (first[b] == UINT32_MAX || bytes[b] == 0) continue;
      born[first[b]] += bytes[b];
      if (!output[b]) gone[last[b]] += bytes[b];
    }
    Peak found;
    int64_t now = 0;
    for (size_t i = 0; i < n; ++i) {
      now += born[i];
      // The result of a pointwise unit can reuse the memory of an operand.
      const int64_t here = now - (items[order[i]].pointwise ? std::min(born[i], gone[i]) : 0);
      if (here > found.bytes) found = {here, 0, i};
      found.count += here == found.bytes;
      now -= gone[i];
    }
    return found;
  }
  bool independent(uint32_t x, uint32_t y) const {
    const Item &a = items[x], &b = items[y];
    if (a.fixed || b.fixed) return false;
    for (size_t i = 0, k = 0; i < a.touches.size() && k < b.touches.size();) {
      const Touch &s = a.touches[i], &t = b.touches[k];
      if (s.block == t.block && (s.written || t.written)) return false;
      if (s.block <= t.block) ++i;
      if (t.block <= s.block) ++k;
    }
    return true;
  }
  // Moves the unit at `from` to `to` and shifts those in between.
  void move(size_t from, size_t to) {
    const auto begin = order.begin();
    const auto at = [&](size_t i) { return begin + static_cast<std::ptrdiff_t>(i); };
    if (from < to) std::rotate(at(from), at(from + 1), at(to + 1));
    else std::rotate(at(to), at(from), at(from + 1));
  }
  // Moves a unit across the one where memory peaks, if that lowers the peak.
  bool improve(Peak& now) {
    const size_t p = now.at;
    const auto attempt = [&](size_t from, size_t to) {
      move(from, to);
      const Peak then = peak();
      if (then < now) {
        now = then;
        return true;
      }
      move(to, from);
      return false;
    };
    for (size_t q = p + 1; q < std::min(order.size(), p + kWindow); ++q) {  // earlier: it frees memory
      size_t to = q;
      while (to > p && independent(order[to - 1], order[q])) --to;
      if (to == p && !items[order[q]].stays && attempt(q, p)) return true;
      if (items[order[q]].fixed) break;
    }
    for (size_t q = p; q + kWindow > p; --q) {  // later, to its first use: it allocates memory
      if (items[order[q]].fixed) break;
      size_t to = q;
      while (to + 1 < order.size() && to < p + kWindow && independent(order[q], order[to + 1])) ++to;
      if (to >= p && to > q && !items[order[q]].stays && attempt(q, to)) return true;
      if (q == 0) break;
    }
    return false;
  }
};

}  // namespace

void Plan::schedule() {
  const size_t n = recording->blocks.size();
  std::vector<int64_t> bytes(n, 0);
  for (size_t b = 0; b < n; ++b)
    if (homes[b] == Home::Arena || homes[b] == Home::Output) bytes[b] = recording->blocks[b].bytes;
  Order order{{}, {}, bytes, output_, std::vector<uint32_t>(n), std::vector<uint32_t>(n)};
  bool second = false;
  int64_t touches = 0;
  for (uint32_t u = 0; u < units_.size(); ++u) {
    Order::Item& item = order.items.emplace_back();
    order.order.push_back(u);
    item.pointwise = units_[u].total > 0;
    for (const uint32_t c : units_[u].calls) {
      const Call& call = recording->calls[c];
      item.fixed |= call.host >= 0 || (!second && c >= options_.second_part);
      item.stays |= call.checked;
      for (const Reference& r : call.references) {
        item.touches.push_back({r.place.block, r.written});
        item.stays |= r.written && homes[r.place.block] == Home::External;
      }
    }
    second |= units_[u].calls[0] >= options_.second_part;
    std::stable_sort(item.touches.begin(), item.touches.end(), [](const auto& a, const auto& b) {
      return a.block != b.block ? a.block < b.block : a.written > b.written;
    });
    const auto same = [](const auto& a, const auto& b) { return a.block == b.block; };
    item.touches.erase(std::unique(item.touches.begin(), item.touches.end(), same), item.touches.end());
    touches += static_cast<int64_t>(item.touches.size());
  }
  Order::Peak now = order.peak();
  if (now.bytes < kSegmentBytes) return;
  const auto tries = kScheduleWork / std::max<int64_t>(1, touches * 2 * static_cast<int64_t>(kWindow));
  for (int64_t i = 0; i < tries && order.improve(now); ++i) {
  }
  std::vector<Unit> units;
  for (const uint32_t u : order.order) units.push_back(std::move(units_[u]));
  units_ = std::move(units);
}

// ----- Addresses -----

// Whether a block that is created at a step can reuse the memory of one that ends there: both are accessed element by
// element, and the old values are not read after they are overwritten.
bool Plan::takes_place(uint32_t born, uint32_t dying) const {
  if (recording->blocks[born].bytes != recording->blocks[dying].bytes || lives[born].first != lives[dying].second ||
      lives[dying].first == lives[dying].second)
    return false;
  const Step& step = steps[lives[born].first];
  if (step.kind == Step::Host) return false;
  const std::vector<uint32_t> alone{step.index};
  int64_t item = 0;
  bool overwritten = false;
  for (const uint32_t c : step.kind == Step::Tiles ? groups[step.index].calls : alone) {
    const Call& call = recording->calls[c];
    if (!call.loop || totals_[c] == 0 || call.loop->length > 0) return false;
    for (size_t k = call.loop->operands.size(); k-- > 0;) {  // the output last
      const LoopOperand& o = call.loop->operands[k];
      if (o.place.block != born && o.place.block != dying) continue;
      if (item == 0) item = itemsize(o.view.dtype);
      if (meetings_[c][k].kind != Meeting::Direct || o.place.offset != 0 || itemsize(o.view.dtype) != item)
        return false;
      if (o.place.block == dying && (overwritten || k == 0)) return false;
      overwritten |= o.place.block == born;
    }
  }
  return overwritten;
}

// Blocks with overlapping lifetimes get different parts of the arena: largest first, each at the lowest free offset.
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
  std::stable_sort(blocks.begin(), blocks.end(), [&](uint32_t a, uint32_t b) { return room(a) > room(b); });
  std::vector<uint32_t> placed;
  struct Busy {
    int64_t begin, end;
    bool shared;  // the blocks may share memory
  };
  std::vector<Busy> busy;
  for (const uint32_t b : blocks) {
    busy.clear();
    for (const uint32_t o : placed)
      if (lives[o].first <= lives[b].second && lives[b].first <= lives[o].second)
        busy.push_back({offsets[o], offsets[o] + room(o), takes_place(b, o) || takes_place(o, b)});
    std::sort(busy.begin(), busy.end(), [](const Busy& x, const Busy& y) { return x.begin < y.begin; });
    int64_t at = 0;
    for (const Busy& x : busy) {
      if (x.begin - at >= room(b)) break;
      at = std::max(at, x.end);
    }
    for (const Busy& x : busy) {
      if (!x.shared || x.begin >= at) continue;
      bool alone = true;
      for (const Busy& y : busy)
        alone &= y.shared ? y.begin == x.begin || y.end <= x.begin || y.begin >= x.end
                          : y.end <= x.begin || y.begin >= x.end;
      if (alone) at = x.begin;
    }
    offsets[b] = at;
    arena_bytes = std::max(arena_bytes, at + room(b));
    placed.push_back(b);
  }
  cut_segments(placed);
}

int64_t Plan::room(uint32_t block) const {
  return std::max<int64_t>(64, (recording->blocks[block].bytes + 63) / 64 * 64);
}

// Segments end where no block continues, if they are large enough.
void Plan::cut_segments(std::vector<uint32_t>& blocks) {
  std::stable_sort(blocks.begin(), blocks.end(), [&](uint32_t a, uint32_t b) { return offsets[a] < offsets[b]; });
  int64_t end = 0;  // of the blocks so far
  for (const uint32_t b : blocks) {
    if (segments.empty() || (offsets[b] >= end && end - segments.back().begin >= kSegmentBytes))
      segments.push_back({offsets[b], 0, UINT32_MAX, 0, {}});
    Segment& s = segments.back();
    end = std::max(end, offsets[b] + room(b));
    s.bytes = end - s.begin;
    s.first = std::min(s.first, lives[b].first);
    s.last = std::max(s.last, lives[b].second);
    s.blocks.push_back(b);
  }
}

// When memory is allocated and freed. Small outputs are allocated at the start: an interruption costs more than their
// memory.
void Plan::place_events() {
  const auto n = static_cast<uint32_t>(steps.size());
  for (uint32_t i = 0; i < segments.size(); ++i) {
    events.push_back({segments.size() == 1 ? 0 : segments[i].first, Event::Begin, i});
    // A segment that only the second part uses is allocated then; no other segment outlives its part.
    if (segments.size() > 1 && segments[i].last + 1 < n) events.push_back({segments[i].last + 1, Event::End, i});
  }
  for (uint32_t b = 0; b < homes.size(); ++b)
    if (homes[b] == Home::Output)
      events.push_back({recording->blocks[b].bytes < kSegmentBytes ? 0 : lives[b].first, Event::Output, b});
  uint32_t free = 0;  // the step at which old gradients are no longer needed for a fallback to eager mode
  for (uint32_t s = 0; s < n; ++s)
    if (steps[s].kind == Step::Kernel && recording->calls[steps[s].index].checked) free = s + 1;
  events.push_back({free, Event::Gradients, 0});
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.step != b.step ? a.step < b.step : a.kind < b.kind; });
}

}  // namespace genesis::plan
