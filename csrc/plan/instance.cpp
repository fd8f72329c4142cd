// Execution of plans, and their textual representation.
#include <cstring>
#include <sstream>

#include "plan/plan.h"

namespace genesis::plan {

std::string Plan::text() const {
  std::ostringstream s;
  size_t kernels = 0;
  for (const Step& step : steps) kernels += step.kind == Step::Kernel;
  s << recording->calls.size() << " calls: " << dead << " dead, " << joined << " joined to products, " << recomputed
    << " repeated, " << fused << " in " << groups.size() << " groups, " << kernels << " by themselves; arena of "
    << arena_bytes << " bytes, " << saved_bytes << " bytes in tiles only\n";
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
void Instance::set_segment(uint32_t segment, char* memory) {
  const Segment& s = plan_.segments[segment];
  for (const uint32_t b : s.blocks) set_base(b, memory + (plan_.offsets[b] - s.begin));
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
  for (; step < end; ++step) {
    const Step& s = plan_.steps[step];
    if (s.kind == Step::Host) return step;
    if (!one(s)) return kFailed;
  }
  return step;
}

}  // namespace genesis::plan
