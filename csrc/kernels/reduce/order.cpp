// Reductions by rank: each line is copied with its indices and partially sorted.
#include <algorithm>
#include <memory>
#include <span>
#include <type_traits>

#include "kernels/elementwise/loops.h"
#include "kernels/reduce/lines.h"
#include "kernels/reduce/reduce.h"
#include "kernels/steps.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

template <class T>
struct Ranked {
  T value;
  int64_t index;
  // NaN last, then by index, so that the result does not depend on the sorting algorithm.
  bool operator<(const Ranked& o) const {
    if (value != o.value && !(value != value && o.value != o.value)) return o.value != o.value || value < o.value;
    return index < o.index;
  }
};

template <class T>
int64_t count_nan(std::span<const Ranked<T>> line) {
  int64_t n = 0;
  for (const auto& r : line) n += r.value != r.value;
  return n;
}

struct Median {
  template <class T>
  static Ranked<T> pick(std::span<Ranked<T>> line) {
    const auto n = static_cast<int64_t>(line.size());
    if (count_nan<T>(line) > 0)
      return *std::find_if(line.begin(), line.end(), [](const auto& r) { return r.value != r.value; });
    const auto middle = line.begin() + (n - 1) / 2;
    nth_element_in_steps(line.begin(), middle, line.end());
    return *middle;
  }
};
struct NanMedian {
  template <class T>
  static Ranked<T> pick(std::span<Ranked<T>> line) {
    const auto n = static_cast<int64_t>(line.size()) - count_nan<T>(line);
    const auto middle = line.begin() + std::max<int64_t>(n - 1, 0) / 2;
    nth_element_in_steps(line.begin(), middle, line.end());
    return *middle;
  }
};
struct Mode {
  template <class T>
  static Ranked<T> pick(std::span<Ranked<T>> line) {
    sort_in_steps(line.begin(), line.end());
    const auto same = [](T a, T b) { return a == b || (a != a && b != b); };
    size_t best = 0, longest = 0;
    for (size_t begin = 0, end; begin < line.size(); begin = end) {
      for (end = begin + 1; end < line.size() && same(line[begin].value, line[end].value);) ++end;
      if (end - begin > longest) {
        longest = end - begin;
        best = end - 1;  // the last of equals
      }
    }
    return line[best];
  }
};

// values and indices have the shape of x, except for the reduced dimension.
template <class Pick>
void by_rank(const View& values, const View& indices, const View& x) {
  int dim = 0;
  for (int d = 0; d < x.ndim; ++d)
    if (x.shape[d] == 1) dim = d;  // if the reduced dimension has size 1, any dimension of size 1 is equivalent
  for (int d = 0; d < x.ndim; ++d)
    if (indices.shape[d] != x.shape[d]) dim = d;
  const DType read = x.dtype == DType::Bool ? x.dtype : compute_type(x.dtype);
  with_compute_type(x.dtype, [&]<class T>() {
    // View the outputs with the shape of x: each line repeats one element.
    int64_t strides[kMaxDims] = {};
    for (int d = 0; d < x.ndim; ++d) strides[d] = d == dim ? 0 : indices.strides[d];
    const View out{nullptr, DType::Int64, x.ndim, x.shape, strides};
    const Lines lines({&x, &out}, dim, false, 1);
    const Output value(values), index(indices);
    parallel_for(lines.total(), std::max<int64_t>(1, lines.grain() / 16), [&](int64_t begin, int64_t end) {
      T read_part[kTile];
      const auto line = std::make_unique_for_overwrite<Ranked<T>[]>(static_cast<size_t>(lines.length));
      for (int64_t u = begin; u < end; ++u) {
        const int64_t item = itemsize(x.dtype);
        const char* from = static_cast<const char*>(x.data) + lines.offset(0, u) * item;
        in_steps(0, lines.length, kTile, [&](int64_t first, int64_t last) {
          gather(read_part, read, from + first * lines.step[0] * item, lines.step[0] * item, x.dtype, last - first);
          for (int64_t i = first; i < last; ++i) line[static_cast<size_t>(i)] = {read_part[i - first], i};
        });
        const Ranked<T> found = Pick::pick(std::span(line.get(), static_cast<size_t>(lines.length)));
        const int64_t at = lines.offset(1, u);
        if (value) value.put(at, found.value);
        index.put(at, found.index);
      }
    });
  });
}

}  // namespace

void median(View values, View indices, View x) { by_rank<Median>(values, indices, x); }
void nanmedian(View values, View indices, View x) { by_rank<NanMedian>(values, indices, x); }
void mode(View values, View indices, View x) { by_rank<Mode>(values, indices, x); }
GENESIS_KERNEL(median)
GENESIS_KERNEL(nanmedian)
GENESIS_KERNEL(mode)

}  // namespace genesis::kernels::GENESIS_ISA
