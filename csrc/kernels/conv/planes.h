// Input planes as the tiles of a convolution read them.
//
// The tiles address the input by position: tap t of the output at position p is at p + offset(t), for all outputs of an
// image. For x itself, that is true only without padding and with stride 1. Otherwise the planes are first copied into
// a grid that contains the zeros of the padding and in which positions that are one stride apart are adjacent: there is
// one sub-grid for each residue of the position modulo the stride.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/conv/axes.h"
#include "kernels/gemm/micro.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// One dimension of a grid: sub-grids of `size`, one for each residue that occurs among the taps.
struct Side {
  int64_t size, count;
  std::vector<int64_t> residues;

  explicit Side(const Axis& axis) : size(ceil_div(axis.extent(), axis.step)), count(0) {
    for (const Tap& tap : axis.taps)
      if (const int64_t residue = tap.offset % axis.step; slot(residue) == count) {
        residues.push_back(residue);
        ++count;
      }
  }
  // The index of the sub-grid, or `count` if no tap has the residue. Only these residues are stored, because the stride
  // may be large.
  int64_t slot(int64_t residue) const {
    return std::find(residues.begin(), residues.end(), residue) - residues.begin();
  }
};

// compress() moves the lanes that are set to the front; expand() moves them back and leaves `empty` in the others.
// mask_of() is for loads.
#if defined(__AVX512F__)
constexpr bool kExpands = true;
template <class T>
Vec<T> compress(Vec<T> v, uint32_t lanes) {
  if constexpr (sizeof(T) == 4) return _mm512_maskz_compress_ps(static_cast<__mmask16>(lanes), v);
  else return _mm512_maskz_compress_pd(static_cast<__mmask8>(lanes), v);
}
template <class T>
Vec<T> expand(Vec<T> v, uint32_t lanes, Vec<T> empty) {
  if constexpr (sizeof(T) == 4) return _mm512_mask_expand_ps(empty, static_cast<__mmask16>(lanes), v);
  else return _mm512_mask_expand_pd(empty, static_cast<__mmask8>(lanes), v);
}
template <class T>
Mask<T> mask_of(uint32_t lanes) {
  Mask<T> mask(0);
  mask.bits = lanes;
  return mask;
}
#elif defined(__AVX2__)
constexpr bool kExpands = true;
constexpr uint64_t kPlaces = 0x0706050403020100;  // byte i is i
// A byte for each 32 bits of a vector, 255 where the lane is set.
template <class T>
uint64_t bytes_of(uint32_t lanes) {
  if constexpr (sizeof(T) == 8) lanes = _pdep_u32(lanes, 0x55) * 3;
  return _pdep_u64(lanes, 0x0101010101010101) * 255;
}
template <class T>
Mask<T> mask_of(uint32_t lanes) {
  Mask<T> mask(0);
  mask.bits = _mm256_cvtepi8_epi32(_mm_cvtsi64_si128(static_cast<long long>(bytes_of<T>(lanes))));
  return mask;
}
template <class T>
Vec<T> from_places(Vec<T> v, uint64_t places) {
  const __m256i index = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(places)));
  return (Vec<T>)_mm256_permutevar8x32_ps((__m256)v, index);
}
template <class T>
Vec<T> compress(Vec<T> v, uint32_t lanes) {
  return from_places<T>(v, _pext_u64(kPlaces, bytes_of<T>(lanes)));
}
template <class T>
Vec<T> expand(Vec<T> v, uint32_t lanes, Vec<T> empty) {
  const Vec<T> moved = from_places<T>(v, _pdep_u64(kPlaces, bytes_of<T>(lanes)));
  return (Vec<T>)_mm256_blendv_ps((__m256)empty, (__m256)moved, (__m256)mask_of<T>(lanes).bits);
}
#elif defined(__aarch64__)
constexpr bool kExpands = false;  // loads of arbitrary lanes are not cheap
// For each set of lanes, the source of each byte of a vector; 255 means none.
template <class T>
struct Moves {
  uint8_t compress[1 << kLanes<T>][16], expand[1 << kLanes<T>][16];
  constexpr Moves() : compress(), expand() {
    for (int lanes = 0; lanes < 1 << kLanes<T>; ++lanes) {
      for (int i = 0; i < 16; ++i) compress[lanes][i] = expand[lanes][i] = 255;
      for (int lane = 0, rank = 0; lane < kLanes<T>; ++lane) {
        if (!(lanes >> lane & 1)) continue;
        for (int i = 0; i < static_cast<int>(sizeof(T)); ++i) {
          const int size = static_cast<int>(sizeof(T));
          compress[lanes][rank * size + i] = static_cast<uint8_t>(lane * size + i);
          expand[lanes][lane * size + i] = static_cast<uint8_t>(rank * size + i);
        }
        ++rank;
      }
    }
  }
};
template <class T>
constexpr Moves<T> kMoves;
template <class T>
Vec<T> compress(Vec<T> v, uint32_t lanes) {
  return (Vec<T>)vqtbl1q_u8((uint8x16_t)v, vld1q_u8(kMoves<T>.compress[lanes]));
}
template <class T>
Vec<T> expand(Vec<T> v, uint32_t lanes, Vec<T> empty) {
  return (Vec<T>)vqtbx1q_u8((uint8x16_t)empty, (uint8x16_t)v, vld1q_u8(kMoves<T>.expand[lanes]));
}
#else
constexpr bool kExpands = false;
template <class T>
Vec<T> compress(Vec<T> v, uint32_t lanes) {
  Vec<T> moved{};
  for (int lane = 0, to = 0; lane < kLanes<T>; ++lane)
    if (lanes >> lane & 1) moved[to++] = v[lane];
  return moved;
}
template <class T>
Vec<T> expand(Vec<T> v, uint32_t lanes, Vec<T> empty) {
  for (int lane = 0, from = 0; lane < kLanes<T>; ++lane)
    if (lanes >> lane & 1) empty[lane] = v[from++];
  return empty;
}
#endif

// A vector of consecutive positions. Its valid lanes are contiguous in a plane.
struct Spot {
  int64_t at;     // position of lane 0
  int64_t first;  // position of its first valid lane in the plane
  int count;
  uint32_t lanes;
};

template <class T>
void put(T* out, Vec<T> v, const Spot& spot) {
  if (spot.count == kLanes<T>) return store(out, v);
  store(out, compress<T>(v, spot.lanes), Mask<T>(spot.count));
}
// The same if the memory after it may be overwritten.
template <class T>
void put_over(T* out, Vec<T> v, const Spot& spot) {
  store(out, spot.count == kLanes<T> ? v : compress<T>(v, spot.lanes));
}

template <class T>
Vec<T> get(const T* out, const Spot& spot, T outside = T(0)) {
  if (spot.count == kLanes<T>) return load(out);
  return expand<T>(load(out, Mask<T>(spot.count)), spot.lanes, broadcast(outside));
}

// Lines are too short for a call of memcpy to pay off.
template <class T>
void copy_run(T* dst, const T* src, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(dst + i, load(src + i));
  if (i < n) store(dst + i, load(src + i, Mask<T>(n - i)), Mask<T>(n - i));
}

// Every other element of x, then of y, starting at element `first` (0 or 1).
template <class T, int first>
Vec<T> every_other(Vec<T> x, Vec<T> y) {
  return [&]<int... i>(std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(x, y, 2 * i + first...);
  }(std::make_integer_sequence<int, kLanes<T>>{});
}

// A line of a grid, dst[a] = src[start + a * step], or `outside` where the index is not in [0, in): the range that
// exists.
struct Stretch {
  int64_t size, start, step, first, last;
  Stretch(int64_t size, int64_t in, int64_t start, int64_t step) : size(size), start(start), step(step) {
    first = start >= 0 ? 0 : std::min(size, (-start + step - 1) / step);
    last = std::clamp<int64_t>(in <= start ? 0 : (in - start + step - 1) / step, first, size);
  }
  template <class T>
  void copy(T* dst, const T* src, T outside) const {
    for (int64_t a = 0; a < first; ++a) dst[a] = outside;
    if (step == 1) {
      copy_run(dst + first, src + start + first, last - first);
    } else if (step == 2) {
      const T* from = src + start + 2 * first;
      for (int64_t a = 0; a < last - first; ++a) dst[first + a] = from[2 * a];
    } else {
      for (int64_t a = first; a < last; ++a) dst[a] = src[start + a * step];
    }
    for (int64_t a = last; a < size; ++a) dst[a] = outside;
  }
};

// Heights of depthwise kernels for which line tiles are compiled.
inline bool written_taps(int64_t taps) { return taps == 3 || taps == 5 || taps == 7; }

// Calls f(0), f(1), ... with compile-time constants, so that indexed arrays are kept in registers.
template <int n, class F>
[[gnu::always_inline]] inline void written_out(F f) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, i>()), ...);
  }(std::make_integer_sequence<int, n>{});
}

// A vector of a line, src[start..start + kLanes), zero outside the `in` elements of the line. It can be applied to
// every line.
template <class T>
class Piece {
 public:
  Piece(int64_t start, int64_t in)
      : start_(start),
        first_(std::clamp<int64_t>(-start, 0, kLanes<T>)),
        mask_(first_, end(in)),
        whole_(first_ == 0 && end(in) == kLanes<T>) {}
  Vec<T> operator()(const T* src) const { return whole_ ? load(src + start_) : load(src + start_, mask_); }
  // Calls f(fetch), where fetch(src) returns that vector without further branches.
  template <class F>
  [[gnu::always_inline]] void read(F f) const {
    if (whole_) f([at = start_](const T* src) { return load(src + at); });
    else f([at = start_, mask = mask_](const T* src) { return load(src + at, mask); });
  }

 private:
  int64_t end(int64_t in) const { return std::clamp<int64_t>(in - start_, first_, kLanes<T>); }
  int64_t start_, first_;
  Mask<T> mask_;
  bool whole_;
};

template <class T>
class Planes {
 public:
  // may_stay: use x itself if possible.
  Planes(const Axis (&axes)[3], bool may_stay)
      : axes_{axes[0], axes[1], axes[2]}, sides_{Side(axes[0]), Side(axes[1]), Side(axes[2])} {
    in_place_ = may_stay;
    for (const Axis& axis : axes_)
      in_place_ = in_place_ && axis.step == 1 && axis.low >= 0 && axis.low + axis.extent() <= axis.in;
    int64_t grids = 1;
    for (int d = 0; d < 3; ++d) {
      size_[d] = in_place_ ? axes_[d].in : sides_[d].size;
      grids *= sides_[d].count;
    }
    grid_ = size_[0] * size_[1] * size_[2];
    if (in_place_) {
      plane_ = grid_;
      start_ = position(axes_[0].low, axes_[1].low, axes_[2].low);
      readable_ = plane_ - start_;
    } else {
      constexpr int64_t line = 64 / sizeof(T);
      plane_ = (grid_ * grids + line - 1) / line * line;
      // Planes at multiples of 4 KiB would compete for the same few sets of the L1 cache.
      if (plane_ * int64_t{sizeof(T)} % 2048 == 0) plane_ += line;
      readable_ = std::numeric_limits<int64_t>::max();
      for (int64_t r : sides_[2].residues) {
        const Stretch& line = lines_.emplace_back(size_[2], axes_[2].in, axes_[2].low + r, axes_[2].step);
        padded_ = padded_ || line.first > 0 || line.last < line.size;
      }
      const bool in_order = !lines_.empty() && sides_[2].residues[0] == 0;
      if (kFastMasks && in_order && axes_[2].step <= 2)
        for (int64_t a = 0; a < size_[2] * axes_[2].step; a += kLanes<T>)
          pieces_.emplace_back(axes_[2].low + a, axes_[2].in);
      if (pieces_.size() % 2 == 1 && axes_[2].step == 2)
        pieces_.emplace_back(axes_[2].low + static_cast<int64_t>(pieces_.size()) * kLanes<T>, axes_[2].in);
      // There are no grids if no tap reads the input, as in some phases of a transposed convolution.
      if (kExpands && grids == 1 && axes_[0].step * axes_[1].step * axes_[2].step == 1 && size_[2] < 2 * kLanes<T>)
        expand_lines();
    }
  }

  bool in_place() const { return in_place_; }
  int64_t plane() const { return plane_; }
  int64_t start() const { return start_; }        // of output 0 under the lowest tap, within a plane
  int64_t readable() const { return readable_; }  // readable elements from there
  int64_t size(int d) const { return size_[d]; }  // the stride of dimension 1 is size(2)
  int64_t position(int64_t o0, int64_t o1, int64_t o2) const { return (o0 * size_[1] + o1) * size_[2] + o2; }

  int64_t offset(int64_t e0, int64_t e1, int64_t e2) const {
    const int64_t at = position(e0 / axes_[0].step, e1 / axes_[1].step, e2 / axes_[2].step);
    if (in_place_) return at;
    auto slot = [&](int d, int64_t e) { return sides_[d].slot(e % axes_[d].step); };
    return ((slot(0, e0) * sides_[1].count + slot(1, e1)) * sides_[2].count + slot(2, e2)) * grid_ + at;
  }
  // The offsets of all taps, in the order of the axes.
  std::vector<int64_t> offsets() const {
    std::vector<int64_t> list;
    for (const Tap& a : axes_[0].taps)
      for (const Tap& b : axes_[1].taps)
        for (const Tap& c : axes_[2].taps) list.push_back(offset(a.offset, b.offset, c.offset));
    return list;
  }

  // Fills a plane of the grid. `outside` is the value of the padding.
  void fill(T* dst, const T* src, T outside = T(0)) const {
    const T* const end = dst + plane_;
    if (!expanded_.empty()) {
      for (const Spot& spot : expanded_) store(dst + spot.at, get(src + spot.first, spot, outside));
      return;
    }
    for (int64_t r0 : sides_[0].residues)
      for (int64_t r1 : sides_[1].residues)
        if (!pieces_.empty() && (outside == 0 || !padded_)) {
          fill_by_pieces(dst, src, r0, r1, outside, end);
          dst += sides_[2].count * grid_;
        } else {
          for (const Stretch& line : lines_) {
            fill_grid(dst, src, r0, r1, line, outside);
            dst += grid_;
          }
        }
  }

 private:
  // Calls f with the source of each line of a grid, or null for lines outside the plane.
  template <class F>
  void each_line(const T* src, int64_t r0, int64_t r1, F f) const {
    const auto& [x, y, z] = axes_;
    for (int64_t a = 0; a < size_[0]; ++a) {
      const int64_t i = x.low + r0 + a * x.step;
      for (int64_t b = 0; b < size_[1]; ++b) {
        const int64_t j = y.low + r1 + b * y.step;
        f(i < 0 || i >= x.in || j < 0 || j >= y.in ? nullptr : src + (i * y.in + j) * z.in);
      }
    }
  }

  void fill_grid(T* dst, const T* src, int64_t r0, int64_t r1, const Stretch& line, T outside) const {
    each_line(src, r0, r1, [&](const T* from) {
      if (from) line.copy(dst, from, outside);
      else std::fill_n(dst, line.size, outside);
      dst += line.size;
    });
  }

  // Copies full vectors; the elements that they overwrite are written afterwards. With a step of 2, each pair of
  // vectors contains one vector of each residue, whose grids are adjacent.
  void fill_by_pieces(T* dst, const T* src, int64_t r0, int64_t r1, T outside, const T* end) const {
    constexpr int64_t lanes = kLanes<T>;
    const bool halves = axes_[2].step == 2, both = sides_[2].count == 2;
    const T* const first_end = both ? dst + grid_ : end;
    auto write = [&](T* to, Vec<T> v, int64_t left, const T* end) __attribute__((always_inline)) {
      if (to + lanes <= end) store(to, v);
      else store(to, v, Mask<T>(std::min(lanes, left)));
    };
    each_line(src, r0, r1, [&](const T* from) {
      const Piece<T>* piece = pieces_.data();
      for (int64_t a = 0; a < size_[2]; a += lanes) {
        Vec<T> v = broadcast(outside), w = v;
        if (from) v = (*piece++)(from);
        if (from && halves) {
          const Vec<T> more = (*piece++)(from);
          w = every_other<T, 1>(v, more);
          v = every_other<T, 0>(v, more);
        }
        write(dst + a, v, size_[2] - a, first_end);
        if (both) write(dst + grid_ + a, w, size_[2] - a, end);
      }
      dst += size_[2];
    });
  }

  // Short lines are copied as vectors of the grid that contain several lines, if the elements of a vector are
  // contiguous in the plane.
  void expand_lines() {
    const auto& [x, y, z] = axes_;
    const Stretch line(size_[2], z.in, z.low, 1);
    std::vector<Spot> spots(static_cast<size_t>(plane_ / kLanes<T>));
    for (size_t i = 0; i < spots.size(); ++i) spots[i] = {static_cast<int64_t>(i) * kLanes<T>, 0, 0, 0};
    for (int64_t l = 0; l < size_[0] * size_[1]; ++l) {
      const int64_t i = x.low + l / size_[1], j = y.low + l % size_[1];
      if (i < 0 || i >= x.in || j < 0 || j >= y.in) continue;
      for (int64_t at = line.first; at < line.last;) {
        const int64_t to = l * size_[2] + at, from = (i * y.in + j) * z.in + line.start + at, lane = to % kLanes<T>;
        const int64_t run = std::min(line.last - at, kLanes<T> - lane);
        Spot& spot = spots[static_cast<size_t>(to / kLanes<T>)];
        if (spot.count == 0) spot.first = from;
        if (spot.first + spot.count != from) return;
        spot.lanes |= ((1u << run) - 1u) << lane;
        spot.count += static_cast<int>(run);
        at += run;
      }
    }
    expanded_ = std::move(spots);
  }

  Axis axes_[3];
  Side sides_[3];
  std::vector<Stretch> lines_;  // of each residue
  std::vector<Piece<T>> pieces_;
  bool padded_ = false;  // whether lines have padding
  std::vector<Spot> expanded_;
  int64_t size_[3], plane_, grid_, start_ = 0, readable_;
  bool in_place_;
};

// Covers the outputs [begin, end) of an image once, in order, with vectors that skip the padding between lines. Lines
// have n2 outputs, planes n1 lines. Calls f(spot) for each vector, where spot.first is relative to `begin`.
template <class T, class F>
void cover(const Planes<T>& planes, int64_t n1, int64_t n2, int64_t readable, int64_t begin, int64_t end, F f) {
  int64_t o0 = begin / n2 / n1, o1 = begin / n2 % n1, o2 = begin % n2, next = begin;
  while (next < end) {
    Spot spot{std::min(planes.position(o0, o1, o2), readable - kLanes<T>), next - begin, 0, 0};
    while (next < end) {
      const int64_t lane = planes.position(o0, o1, o2) - spot.at;
      if (lane >= kLanes<T>) break;
      const int64_t run = std::min({kLanes<T> - lane, n2 - o2, end - next});
      spot.lanes |= ((1u << run) - 1u) << lane;
      spot.count += static_cast<int>(run);
      next += run;
      o2 += run;
      if (o2 == n2) o2 = 0, ++o1;
      if (o1 == n1) o1 = 0, ++o0;
    }
    f(spot);
  }
}

template <class T>
std::vector<Spot> cover(const Planes<T>& planes, const Axis (&axes)[3], int64_t readable) {
  std::vector<Spot> spots;
  cover(planes, axes[1].out, axes[2].out, readable, 0, axes[0].out * axes[1].out * axes[2].out,
        [&](const Spot& spot) { spots.push_back(spot); });
  return spots;
}

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
