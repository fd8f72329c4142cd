// How a correlation is split into blocks, and where a block reads and writes.
#pragma once

#include "kernels/conv/correlation.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kBlockBytes = 512 << 10;  // size of the copied planes that stay in L2
constexpr int64_t kGroupBytes = 32 << 10;   // size of the copied planes of a few groups that stay in L1
constexpr int64_t kTileBytes = 32 << 10;    // size of the input that a tile reads repeatedly, in L1
// For panels: steps of k in one pass, and the size of the panels that are gathered at a time. Weights that stay in L2
// are read for each panel, so a panel should fit in L1. Larger weights are read for as many panels as fit in L2, and so
// is x, in longer runs.
constexpr int64_t kLightWeights = 512 << 10;
constexpr int64_t kLightDepth = 200, kLightRun = 40 << 10;
constexpr int64_t kHeavyDepth = 384, kHeavyRun = 384 << 10;
constexpr int64_t kManyOutputs = 384;  // outputs that amortize reading all weights
constexpr int64_t kFewRows = 32;       // with at most this many rows, gathering panels does not pay off

// How a correlation is split into blocks: of `images` images, or of `groups` of one image, or of `lines` outputs along
// `axis` of those.
struct Cut {
  int64_t images = 1, groups, lines, strips = 1;
  int axis = 0;

  template <class T>
  explicit Cut(const std::vector<Correlation<T>>& passes) : groups(passes[0].groups) {
    const Correlation<T>& x = *std::max_element(passes.begin(), passes.end(),
                                                [](const auto& a, const auto& b) { return a.taps() < b.taps(); });
    const Planes<T> planes(x.axes, true);
    axis = x.axes[0].out > 1 ? 0 : x.axes[1].out > 1 ? 1 : 2;
    int64_t out = 0;
    for (const Correlation<T>& pass : passes) out = std::max(out, pass.axes[axis].out);
    lines = out;
    const int64_t group_bytes = std::max<int64_t>(1, x.channels * planes.plane() * int64_t{sizeof(T)});
    const int64_t bytes = x.groups * group_bytes;
    if (x.groups > 1 && bytes > kGroupBytes) groups = std::max<int64_t>(1, kGroupBytes / group_bytes);
    if (groups == x.groups && bytes < kBlockBytes) {
      const int64_t fair = x.batch / (4 * get_num_threads());
      const int64_t many = std::min(ceil_div(kManyOutputs, x.outputs()), 4 * kBlockBytes / bytes);
      images = std::clamp<int64_t>(std::max(std::min(kBlockBytes / bytes, fair), many), 1, x.batch);
    } else if (groups == 1 && group_bytes > kBlockBytes && !planes.in_place()) {
      lines = std::max(std::min<int64_t>(lines, axis == 2 ? 256 : 4), lines * kBlockBytes / group_bytes);
      lines = ceil_div(out, ceil_div(out, lines));
      strips = ceil_div(out, lines);
    }
  }
};

// Where a strip of a correlation reads and writes, independently of image and group.
template <class T>
struct Layout {
  Axis axes[3];
  int64_t first[3];  // of the outputs in y
  Planes<T> planes;
  int64_t taps, depth;           // channels in one pass over k
  int64_t run_bytes;             // size of the panels that are gathered at a time
  int64_t readable;              // readable elements from output 0 under the highest tap
  std::vector<int64_t> offsets;  // for that many channels
  std::vector<Spot> spots;       // used unless the outputs are computed in panels

  Layout(const Correlation<T>& x, const Cut& cut, int64_t strip, bool panels)
      : axes{x.axes[0], x.axes[1], x.axes[2]},
        first{x.first[0], x.first[1], x.first[2]},
        planes(restricted(x, cut, strip), true),
        taps(x.taps()) {
    std::vector<int64_t> under = planes.offsets();
    const int64_t last_tap = under.empty() ? 0 : *std::max_element(under.begin(), under.end());
    if (planes.in_place() && planes.readable() - last_tap < kLanes<T>) {
      planes = Planes<T>(axes, false);
      under = planes.offsets();
    }
    readable = planes.in_place() ? planes.readable() - last_tap : std::numeric_limits<int64_t>::max();
    int64_t most = x.channels;
    if (panels) {
      const bool light = taps > 1 && x.rows * x.channels * taps * int64_t{sizeof(T)} <= kLightWeights;
      most = (light ? kLightDepth : kHeavyDepth) / std::max<int64_t>(1, taps);
      run_bytes = light ? kLightRun : kHeavyRun;
    } else {
      spots = cover(planes, axes, readable);
      // k is split so that the inputs of a tile stay in L1 for the next rows.
      constexpr int64_t line = 64 / sizeof(T);
      const int64_t lines_read =
          ceil_div(kMaxVectors * kLanes<T> + static_cast<int64_t>(axes[2].taps.size()), line) + 1;
      const int64_t bytes =
          std::max<int64_t>(1, static_cast<int64_t>(axes[0].taps.size() * axes[1].taps.size()) * lines_read * 64);
      if (x.rows > kTileRows) most = std::max<int64_t>(4, kTileBytes / bytes);
    }
    depth = std::max<int64_t>(
        1, ceil_div(x.channels, std::max<int64_t>(1, ceil_div(x.channels, std::max<int64_t>(1, most)))));
    for (int64_t c = 0; c < std::min(depth, x.channels); ++c)
      for (int64_t tap : under) offsets.push_back(c * planes.plane() + tap);
  }

  int64_t outputs() const { return axes[0].out * axes[1].out * axes[2].out; }

 private:
  const Axis (&restricted(const Correlation<T>& x, const Cut& cut, int64_t strip))[3] {
    const int64_t line = strip * cut.lines;
    Axis& axis = axes[cut.axis];
    axis = axis.part(line, std::max<int64_t>(0, std::min(cut.lines, axis.out - line)));
    first[cut.axis] += line * x.every[cut.axis];
    return axes;
  }
};

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
