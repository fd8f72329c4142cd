// The gradient of a convolution's weight if a group has too few output channels to fill a vector (depthwise
// convolution): vectors run along the output positions. With stride 1 and float32, x is read in place (LineDots).
#pragma once

#include <array>
#include <optional>

#include "kernels/conv/weight_strips.h"
#include "kernels/gemm/micro.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// Vectors of the outputs of a strip. If lanes cannot be expanded cheaply, each vector covers one line only.
template <class T>
std::vector<Spot> dot_spots(const Strip<T>& strip) {
  std::vector<Spot> spots;
  const int64_t n1 = strip.size[1], n2 = strip.size[2], total = strip.size[0] * n1 * n2, step = kExpands ? total : n2;
  for (int64_t begin = 0; begin < total; begin += step)
    cover(strip.planes, n1, n2, std::numeric_limits<int64_t>::max(), begin, begin + step, [&](Spot spot) {
      spot.first += begin;
      spots.push_back(spot);
    });
  return spots;
}

// sums[t, lane] += dy times x under tap t, for all spots.
template <class T, int taps>
void dot_taps(const std::vector<Spot>& spots, const T* x, const int64_t* offsets, const T* dy, T* sums) {
  constexpr int lanes = kLanes<T>;
  Vec<T> sum[taps];
  for (int t = 0; t < taps; ++t) sum[t] = load(sums + t * lanes);
  auto step = [&](const Spot& spot, Vec<T> y, auto fetch) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int t = 0; t < taps; ++t) sum[t] = fma(fetch(x + spot.at + offsets[t]), y, sum[t]);
  };
  for (const Spot& spot : spots) {
    if (spot.count == lanes) {
      step(spot, load(dy + spot.first), [](const T* p) { return load(p); });
      continue;
    }
    if constexpr (kExpands) {
      const Mask<T> mask = mask_of<T>(spot.lanes);
      step(spot, get(dy + spot.first, spot), [&](const T* p) { return load(p, mask); });
    } else {
      const Mask<T> mask(spot.count);
      step(spot, load(dy + spot.first, mask), [&](const T* p) { return load(p, mask); });
    }
  }
  for (int t = 0; t < taps; ++t) store(sums + t * lanes, sum[t]);
}

// The same with stride 1 for lines of a plane of x in place. As in conv/depthwise.h, a vector of x is loaded once for
// all output lines of a group that have a tap of one column of the kernel on it.
template <class T>
class LineDots {
 public:
  static bool suits(const ConvShape& s) {
    bool near = s.in[0] * s.kernel[0] == 1 && s.padding[0] == 0 && s.dilation[1] == 1;
    near = near && s.stride[0] * s.stride[1] * s.stride[2] == 1;
    const bool wide = 2 * s.out[2] >= ceil_div(s.out[2], kLanes<T>) * kLanes<T>;  // narrow lines leave lanes empty
    return near && wide && written_taps(s.kernel[1]);
  }

  explicit LineDots(const ConvShape& s) : s_(s) {
    for (int64_t o = 0; o < s.out[2]; o += kLanes<T>) dy_.emplace_back(o, s.out[2]);
    for (int64_t column = 0; column < s.kernel[2]; ++column)
      for (int64_t o = 0; o < s.out[2]; o += kLanes<T>) {
        const int64_t at = o - s.padding[2] + column * s.dilation[2];
        x_.emplace_back(at, std::min(s.in[2], at + s.out[2] - o));
      }
  }

  void add(const T* x, const T* dy, T* sums) const {
    static constexpr std::array heights{7, 4, 2, 1};
    static constexpr std::array table{tiles<7>(), tiles<4>(), tiles<2>(), tiles<1>()};
    for (int64_t o = 0, i = 0; o < s_.out[1]; o += heights[i]) {
      while (heights[i] > s_.out[1] - o) ++i;
      (this->*table[i][s_.kernel[1] / 2 - 1])(x, o, dy, sums);
    }
  }

 private:
  template <int taps, int lines>
  void tile(const T* x, int64_t line, const T* dy, T* sums) const {
    const int64_t in = s_.in[2], out = s_.out[2], first = line - s_.padding[1], columns = s_.kernel[2];
    uint32_t inside = 0;
    for (int64_t l = 0; l < lines + taps - 1; ++l) inside |= uint32_t{first + l >= 0 && first + l < s_.in[1]} << l;
    const Piece<T>* piece = x_.data();
    for (int64_t column = 0; column < columns; ++column, sums += kLanes<T>) {
      Vec<T> sum[taps];
      written_out<taps>([&](auto i) __attribute__((always_inline)) { sum[i] = load(sums + i * columns * kLanes<T>); });
      for (const Piece<T>& dy_piece : dy_) {
        Vec<T> y[lines];
        written_out<lines>([&](auto i) __attribute__((always_inline)) { y[i] = dy_piece(dy + (line + i) * out); });
        (piece++)->read([&](auto fetch) __attribute__((always_inline)) {
          const T* from = x + first * in;
          written_out<lines + taps - 1>([&](auto i) __attribute__((always_inline)) {
            if (inside >> i & 1) {
              const Vec<T> row = fetch(from);
              written_out<lines>([&](auto j) __attribute__((always_inline)) {
                if constexpr (i >= j && i < j + taps) sum[i - j] = fma(row, y[j], sum[i - j]);
              });
            }
            from += in;
          });
        });
      }
      written_out<taps>([&](auto i) __attribute__((always_inline)) { store(sums + i * columns * kLanes<T>, sum[i]); });
    }
  }

  template <int lines>
  static constexpr auto tiles() {
    return []<int... i>(std::integer_sequence<int, i...>) {
      return std::array{&LineDots::tile<3 + 2 * i, lines>...};
    }(std::make_integer_sequence<int, 3>{});
  }

  const ConvShape& s_;
  std::vector<Piece<T>> dy_, x_;  // the vectors of a line of outputs, and their inputs by column of the kernel
};

// The sums of one group over a subset of the images, as vectors whose lanes have not been added up yet.
template <class T>
class GroupDots {
 public:
  GroupDots(const ConvShape& s, const Strips& strips)
      : s_(s), strips_(strips), layouts_(all_strips<T>(s, strips, true)) {
    if constexpr (kDirect)
      if (strips.count == 1 && LineDots<T>::suits(s)) lines_.emplace(s);
    for (const Strip<T>& strip : layouts_) spots_.push_back(dot_spots(strip));
  }

  // Adds strip `i` of all images for group `g`.
  void add(const T* x, const T* dy, int64_t i, int64_t g, T* lane_sums) const {
    const int64_t image = i / strips_.count, in_size = s_.in_size(), out_size = s_.out_size();
    const auto number = static_cast<size_t>(i % strips_.count);
    const T* images = x + (image * s_.groups + g) * s_.in_channels * in_size;
    const T* dys = dy + (image * s_.groups + g) * s_.out_channels * out_size + layouts_[number].first;
    for (int64_t c = 0; c < s_.in_channels; ++c) {
      if constexpr (kDirect)
        if (lines_) {
          for (int64_t m = 0; m < s_.out_channels; ++m)
            lines_->add(images + c * in_size, dys + m * out_size, lane_sums + first_sum(m, c) * kLanes<T>);
          continue;
        }
      add_channel(number, images + c * in_size, dys, c, lane_sums);
    }
  }

 private:
  static constexpr bool kDirect = kFastMasks && std::is_same_v<T, float>;
  static constexpr int kMostTaps = 9;
  static constexpr auto kTable = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array{&dot_taps<T, i + 1>...};
  }(std::make_integer_sequence<int, kMostTaps>{});

  int64_t first_sum(int64_t m, int64_t c) const { return (m * s_.in_channels + c) * s_.taps(); }

  void add_channel(size_t number, const T* image, const T* dys, int64_t c, T* lane_sums) const {
    const Strip<T>& strip = layouts_[number];
    int64_t image_step = 0;
    const T* source = read_planes(strip.planes, image, s_.in_size(), 1, image_step, 1);
    for (int64_t m = 0; m < s_.out_channels; ++m)
      for (int64_t t = 0; t < s_.taps(); t += kMostTaps) {
        const int64_t count = std::min<int64_t>(kMostTaps, s_.taps() - t);
        kTable[static_cast<size_t>(count - 1)](spots_[number], source, strip.offsets.data() + t,
                                               dys + m * s_.out_size(), lane_sums + (first_sum(m, c) + t) * kLanes<T>);
      }
  }

  const ConvShape& s_;
  const Strips& strips_;
  const std::vector<Strip<T>> layouts_;
  std::vector<std::vector<Spot>> spots_;
  std::optional<LineDots<T>> lines_;
};

template <class T>
void dot_sums(const ConvShape& s, const T* x, const T* dy, T* dw) {
  const Strips strips(s, 1, sizeof(T));
  const GroupDots<T> dots(s, strips);
  const int64_t per_group = s.out_channels * s.in_channels * s.taps(), sums = s.groups * per_group;
  const Plan plan(s, s.batch * strips.count, sums, s.in_channels + 1);
  T* partial = partial_sums<T>.get(plan.chunks * sums);
  const int64_t work = s.batch * s.out_size() * sums, tasks = plan.chunks * s.groups;
  const int64_t grain = std::max<int64_t>(1, tasks * kTaskWork / std::max<int64_t>(1, work));
  parallel_for(tasks, grain, [&](int64_t begin, int64_t end) {
    std::vector<T> lane_sums(static_cast<size_t>(per_group * kLanes<T>));
    for (int64_t task = begin; task < end; ++task) {
      const int64_t chunk = task % plan.chunks, g = task / plan.chunks;
      std::fill(lane_sums.begin(), lane_sums.end(), T(0));
      for (int64_t i = plan.begin(chunk); i < plan.begin(chunk + 1); ++i) dots.add(x, dy, i, g, lane_sums.data());
      T* out = partial + chunk * sums + g * per_group;
      for (int64_t i = 0; i < per_group; ++i) {
        out[i] = 0;
        for (int64_t lane = 0; lane < kLanes<T>; ++lane) out[i] += lane_sums[static_cast<size_t>(i * kLanes<T> + lane)];
      }
    }
  });
  for (int64_t i = 0; i < sums; ++i) {
    T total = partial[i];
    for (int64_t chunk = 1; chunk < plan.chunks; ++chunk) total += partial[chunk * sums + i];
    dw[i] = total;
  }
}

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
