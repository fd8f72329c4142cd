// The spatial dimensions of a convolution: which inputs contribute to which outputs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/conv/conv.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

struct Tap {
  int64_t index;   // in the kernel
  int64_t offset;  // in the input, relative to the lowest tap
};

// One spatial dimension. Output o reads the input at low + o * step + tap.offset.
struct Axis {
  int64_t in, out, step, low;
  std::vector<Tap> taps;

  int64_t span() const {
    int64_t most = 0;
    for (const Tap& tap : taps) most = std::max(most, tap.offset);
    return most + 1;
  }
  int64_t extent() const { return (out - 1) * step + span(); }
  // The same axis, restricted to outputs [begin, begin + count).
  Axis part(int64_t begin, int64_t count) const {
    Axis axis = *this;
    axis.low += begin * step;
    axis.out = count;
    return axis;
  }
};

inline Axis forward_axis(const ConvShape& s, int d) {
  Axis axis{s.in[d], s.out[d], s.stride[d], -s.padding[d], {}};
  for (int64_t t = 0; t < s.kernel[d]; ++t) axis.taps.push_back({t, t * s.dilation[d]});
  return axis;
}

// The inputs i for which i + padding has a given residue modulo the stride. Only the taps of that residue read them,
// and the outputs that do so advance by one when i advances by one stride.
struct Residue {
  Axis axis;
  int64_t first;
};
inline Residue residue_axis(const ConvShape& s, int d, int64_t residue) {
  const int64_t stride = s.stride[d], padding = s.padding[d];
  const int64_t first = ((residue - padding) % stride + stride) % stride;
  Axis axis{
      s.out[d], first < s.in[d] ? (s.in[d] - 1 - first) / stride + 1 : 0, 1, (first + padding - residue) / stride, {}};
  for (int64_t t = 0; t < s.kernel[d]; ++t)
    if (t * s.dilation[d] % stride == residue) axis.taps.push_back({t, t * s.dilation[d] / stride});
  if (!axis.taps.empty()) {
    const int64_t most = axis.taps.back().offset;
    axis.low -= most;
    for (Tap& tap : axis.taps) tap.offset = most - tap.offset;
  }
  return {axis, first};
}

// The residues of the taps. If the stride is larger than the kernel, no output reads the inputs with other residues.
inline std::vector<int64_t> met_residues(const ConvShape& s, int d) {
  std::vector<int64_t> met;
  for (int64_t t = 0; t < s.kernel[d]; ++t) met.push_back(t * s.dilation[d] % s.stride[d]);
  std::sort(met.begin(), met.end());
  met.erase(std::unique(met.begin(), met.end()), met.end());
  return met;
}
inline bool all_met(const ConvShape& s, const std::vector<int64_t> (&met)[3]) {
  bool all = true;
  for (int d = 0; d < 3; ++d) all = all && static_cast<int64_t>(met[d].size()) == s.stride[d];
  return all;
}

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
