// How the output positions of a weight gradient are split into strips, chunks and tasks.
//
// The order of summation depends on the shape only: positions are split into strips, and strips into at most kChunks
// chunks with separate sums, which are added in order. Threads share chunks, groups and channels.
#pragma once

#include "core/parallel.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/planes.h"
#include "kernels/scratch.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kChunks = 16;
constexpr int64_t kSums = int64_t{1} << 20;  // maximum number of partial sums
constexpr int64_t kPlaneBytes = 384 << 10;   // size of the planes of x that stay in L2

template <class T>
const Scratch<T> partial_sums;
template <class T>
const Scratch<T> planes_of_x;

// A strip is a range of lines of an image, along the first axis with a size above 1.
struct Strips {
  int64_t count, lines;
  int axis;
  Strips(const ConvShape& s, int64_t channels, int64_t size) {
    axis = s.out[0] > 1 ? 0 : s.out[1] > 1 ? 1 : 2;
    const int64_t bytes = std::max<int64_t>(1, channels * s.in_size() * size);
    const int64_t least = std::min<int64_t>(axis == 2 ? 256 : 4, s.out[axis]);
    lines = std::clamp<int64_t>(s.out[axis] * kPlaneBytes / bytes, least, s.out[axis]);
    count = ceil_div(s.out[axis], lines);
    lines = ceil_div(s.out[axis], count);
    count = ceil_div(s.out[axis], lines);
  }
};

// The planes that the outputs of a strip read, in any image. In them, inputs that are one stride apart are adjacent.
template <class T>
struct Strip {
  int64_t size[3];  // of outputs
  int64_t first;    // position of its first output within the plane of dy
  Planes<T> planes;
  std::vector<int64_t> offsets;

  Strip(const ConvShape& s, const Strips& strips, int64_t index, bool together)
      : size{s.out[0], s.out[1], s.out[2]}, planes(seen(s, strips, index, together)), offsets(planes.offsets()) {}

 private:
  Planes<T> seen(const ConvShape& s, const Strips& strips, int64_t index, bool together) {
    int64_t begin[3] = {};
    begin[strips.axis] = index * strips.lines;
    size[strips.axis] = std::min(strips.lines, s.out[strips.axis] - begin[strips.axis]);
    first = (begin[0] * s.out[1] + begin[1]) * s.out[2] + begin[2];
    Axis axes[3];
    for (int d = 0; d < 3; ++d) {
      const int64_t low = begin[d] * s.stride[d] - s.padding[d];
      axes[d] = together ? Axis{s.in[d], size[d], s.stride[d], low, {}}
                         : Axis{s.in[d], (size[d] - 1) * s.stride[d] + 1, 1, low, {}};
      for (int64_t t = 0; t < s.kernel[d]; ++t) axes[d].taps.push_back({t, t * s.dilation[d]});
    }
    return Planes<T>(axes, true);
  }
};

template <class T>
std::vector<Strip<T>> all_strips(const ConvShape& s, const Strips& strips, bool together) {
  std::vector<Strip<T>> list;
  for (int64_t i = 0; i < strips.count; ++i) list.emplace_back(s, strips, i, together);
  return list;
}

// Returns `count` planes of each of several images, image_step apart, at the position where the first output reads its
// lowest tap. If the planes must be copied, image_step changes.
template <class T>
const T* read_planes(const Planes<T>& planes, const T* x, int64_t in_size, int64_t images, int64_t& image_step,
                     int64_t count) {
  if (planes.in_place()) return x + planes.start();
  T* copy = planes_of_x<T>.get(images * count * planes.plane());
  for (int64_t n = 0; n < images; ++n)
    for (int64_t c = 0; c < count; ++c)
      planes.fill(copy + (n * count + c) * planes.plane(), x + n * image_step + c * in_size);
  image_step = count * planes.plane();
  return copy;
}

// Tasks with independent results: chunk of strips, group, range of channels.
struct Plan {
  int64_t strips, chunks, parts;
  Plan(const ConvShape& s, int64_t strips, int64_t sums, int64_t unit) : strips(strips) {
    const int64_t useful = ceil_div(4 * kChunks, s.groups);  // groups are separate tasks too
    chunks = std::clamp<int64_t>(std::min({strips, useful, kSums / std::max<int64_t>(1, sums)}), 1, kChunks);
    const int64_t wanted = 2 * get_num_threads();
    parts = std::clamp<int64_t>(ceil_div(wanted, chunks * s.groups), 1, std::max<int64_t>(1, s.in_channels / unit));
  }
  int64_t begin(int64_t chunk) const { return chunk * strips / chunks; }
};

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
