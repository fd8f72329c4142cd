#include "kernels/index/index.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>

#include "core/parallel.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

// The dimensions of `table` and `values` before or after the places, merged where both are contiguous.
struct Side {
  int ndim = 0;
  int64_t total = 1;
  int64_t shape[kMaxDims], table[kMaxDims], values[kMaxDims];

  void add(int64_t size, int64_t table_stride, int64_t values_stride) {
    total *= size;
    if (size == 1) return;
    if (ndim > 0 && table[ndim - 1] == table_stride * size && values[ndim - 1] == values_stride * size) {
      shape[ndim - 1] *= size;
      table[ndim - 1] = table_stride;
      values[ndim - 1] = values_stride;
      return;
    }
    shape[ndim] = size;
    table[ndim] = table_stride;
    values[ndim++] = values_stride;
  }
  void locate(int64_t i, int64_t& in_table, int64_t& in_values) const {
    in_table = in_values = 0;
    for (int d = ndim - 1; d >= 0; --d) {
      in_table += i % shape[d] * table[d];
      in_values += i % shape[d] * values[d];
      i /= shape[d];
    }
  }
};

struct Loop {
  Side before, after;
  int64_t count, stride, step;  // count: of the places; stride: in values
  const int64_t* places;

  Loop(const View& table, const View& values, int at, const int64_t* places, int64_t step)
      : count(values.shape[at]), stride(values.strides[at]), step(step), places(places) {
    for (int d = 0; d < at; ++d) before.add(values.shape[d], table.strides[d], values.strides[d]);
    for (int d = at + 1; d < values.ndim; ++d) after.add(values.shape[d], table.strides[d - 1], values.strides[d]);
  }
  int64_t total() const { return before.total * count * after.total; }
};

// Applies row(t, v, n, t_stride, v_stride) to rows [begin, end) of the places, in order, where wanted(place).
template <class T, class Row, class Wanted>
void rows(const Loop& loop, T* table, T* values, int64_t begin, int64_t end, Row row, Wanted wanted) {
  const Side& side = loop.after;
  const int64_t* places = loop.places;
  const int64_t step = loop.step, stride = loop.stride;
  const int last = side.ndim - 1;
  if (last < 0) {
    for (int64_t k = begin; k < end; ++k)
      if (wanted(places[k])) row(table + places[k] * step, values + k * stride, 1, 1, 1);
    return;
  }
  const int64_t n = side.shape[last], ts = side.table[last], vs = side.values[last];
  if (last == 0) {
    for (int64_t k = begin; k < end; ++k)
      if (wanted(places[k])) row(table + places[k] * step, values + k * stride, n, ts, vs);
    return;
  }
  for (int64_t k = begin; k < end; ++k) {
    if (!wanted(places[k])) continue;
    T* t = table + places[k] * step;
    T* v = values + k * stride;
    int64_t index[kMaxDims] = {};
    for (;;) {
      row(t, v, n, ts, vs);
      int d = last - 1;
      for (; d >= 0; --d) {
        t += side.table[d];
        v += side.values[d];
        if (++index[d] < side.shape[d]) break;
        t -= side.shape[d] * side.table[d];
        v -= side.shape[d] * side.values[d];
        index[d] = 0;
      }
      if (d < 0) break;
    }
  }
}

constexpr auto any_place = [](int64_t) { return true; };

// For places that may be processed in any order and concurrently.
template <class T, class Row>
void run_free(const Loop& loop, T* table, T* values, Row row) {
  const int64_t grain = std::max<int64_t>(1, kLightGrain / loop.after.total);
  parallel_for(loop.before.total * loop.count, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t k = begin % loop.count, m = std::min(loop.count - k, end - begin);
      int64_t in_table, in_values;
      loop.before.locate(begin / loop.count, in_table, in_values);
      rows(loop, table + in_table, values + in_values, k, k + m, row, any_place);
      begin += m;
    }
  });
}

// For places that must be processed in order: threads divide the dimensions before the places. If there are none, they
// divide the places, and each thread scans the list for its own. For short rows, that would cost more than it gains.
template <class T, class Row>
void run_ordered(const Loop& loop, T* table, T* values, int64_t num_places, Row row) {
  const int64_t each = loop.count * loop.after.total;
  const int64_t parts = std::clamp<int64_t>(std::min(loop.after.total / 16, each / (2 * kLightGrain)), 1, 16);
  if (loop.before.total >= 8 || parts == 1) {
    parallel_for(loop.before.total, std::max<int64_t>(1, kLightGrain / each), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        int64_t in_table, in_values;
        loop.before.locate(b, in_table, in_values);
        rows(loop, table + in_table, values + in_values, 0, loop.count, row, any_place);
      }
    });
    return;
  }
  const int64_t share = ceil_div(num_places, parts);
  parallel_for(parts, 1, [&](int64_t part, int64_t) {
    const int64_t first = part * share, end = first + share;
    for (int64_t b = 0; b < loop.before.total; ++b) {
      int64_t in_table, in_values;
      loop.before.locate(b, in_table, in_values);
      rows(loop, table + in_table, values + in_values, 0, loop.count, row,
           [=](int64_t place) { return place >= first && place < end; });
    }
  });
}

template <class F>
void with_width(DType t, F&& f) {
  switch (itemsize(t)) {
    case 1: return f.template operator()<uint8_t>();
    case 2: return f.template operator()<uint16_t>();
    case 4: return f.template operator()<uint32_t>();
    case 8: return f.template operator()<uint64_t>();
    case 16: return f.template operator()<std::complex<double>>();
    default: unsupported(t);
  }
}

template <class T>
void add_one(T& a, T b) {
  if constexpr (std::is_same_v<T, Half>) a = to_half(to_float(a) + to_float(b));
  else if constexpr (std::is_same_v<T, BFloat16>) a = to_bfloat16(to_float(a) + to_float(b));
  else if constexpr (std::is_same_v<T, bool>) a = a || b;
  else a = static_cast<T>(a + b);
}

template <class T>
void add_places(const View& table, const View& values, const Loop& loop, int64_t num_places) {
  run_ordered(loop, table.as<T>(), values.as<T>(), num_places, [](T* t, T* v, int64_t n, int64_t ts, int64_t vs) {
    if (ts == 1 && vs == 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) add_one(t[i], v[i]);
    } else if (ts == 1 && vs == 0) {
      const T value = *v;
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) add_one(t[i], value);
    } else {
      for (int64_t i = 0; i < n; ++i) add_one(t[i * ts], v[i * vs]);
    }
  });
}

template <class T>
void move(T* to, const T* from, int64_t n, int64_t to_stride, int64_t from_stride) {
  if (n == 1) *to = *from;
  else if (to_stride == 1 && from_stride == 1) std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
  else if (to_stride == 1 && from_stride == 0) std::fill_n(to, n, *from);
  else
    for (int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
}

struct Wrap {
  int64_t size;
  std::atomic<bool>* bad;
};

void linearize_inner(char* const* data, unsigned scalars, int64_t n, const void* params) {
  const Wrap& p = *static_cast<const Wrap*>(params);
  int64_t* out = reinterpret_cast<int64_t*>(data[0]);
  const int64_t* so_far = reinterpret_cast<const int64_t*>(data[1]);
  const int64_t* index = reinterpret_cast<const int64_t*>(data[2]);
  const int64_t size = p.size;
  int64_t bad = 0;
  if (scalars == 2) {
    const int64_t first = *so_far * size;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = index[i];
      bad |= (j < -size) | (j >= size);
      out[i] = first + j + (j < 0 ? size : 0);
    }
  } else {
    const int64_t a = scalars & 2 ? 0 : 1, b = scalars & 4 ? 0 : 1;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = index[i * b];
      bad |= (j < -size) | (j >= size);
      out[i] = so_far[i * a] * size + j + (j < 0 ? size : 0);
    }
  }
  if (bad) p.bad->store(true, std::memory_order_relaxed);
}

template <class T>
void triangle_rows(const View& y, const View& x, int64_t k, bool upper) {
  const int last = y.ndim - 1;
  const int64_t rows = y.shape[last - 1], cols = y.shape[last];
  int64_t outer = rows;
  for (int d = 0; d < last - 1; ++d) outer *= y.shape[d];
  const int64_t ys = y.strides[last], xs = x.strides[last];
  const bool same = y.data == x.data;
  parallel_for(outer, std::max<int64_t>(1, kLightGrain / std::max<int64_t>(cols, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t w = begin; w < end; ++w) {
      int64_t rest = w, to = 0, from = 0;
      for (int d = last - 1; d >= 0; --d) {
        const int64_t i = rest % y.shape[d];
        rest /= y.shape[d];
        to += i * y.strides[d];
        from += i * x.strides[d];
      }
      T* o = y.as<T>() + to;
      const T* s = x.as<T>() + from;
      // Columns [0, cut) and [cut, cols): one part is copied, the other is zero.
      const int64_t cut = std::clamp<int64_t>(w % rows + k + (upper ? 0 : 1), 0, cols);
      const int64_t keep = upper ? cut : 0, keep_end = upper ? cols : cut;
      const int64_t drop = upper ? 0 : cut, drop_end = upper ? cut : cols;
      const T zero{};
      if (!same && keep_end > keep) move(o + keep * ys, s + keep * xs, keep_end - keep, ys, xs);
      if (drop_end > drop) move(o + drop * ys, &zero, drop_end - drop, ys, 0);
    }
  });
}

}  // namespace

void index_get(View values, View table, int at, const int64_t* places, int64_t step) {
  const Loop loop(table, values, at, places, step);
  if (loop.total() == 0) return;
  with_width(table.dtype, [&]<class T>() {
    run_free(loop, table.as<T>(), values.as<T>(),
             [](T* t, T* v, int64_t n, int64_t ts, int64_t vs) { move(v, t, n, vs, ts); });
  });
}
GENESIS_KERNEL(index_get)

void index_put(View table, View values, int at, const int64_t* places, int64_t step, int64_t num_places,
               bool distinct) {
  const Loop loop(table, values, at, places, step);
  if (loop.total() == 0) return;
  with_width(table.dtype, [&]<class T>() {
    const auto row = [](T* t, T* v, int64_t n, int64_t ts, int64_t vs) { move(t, v, n, ts, vs); };
    if (distinct) run_free(loop, table.as<T>(), values.as<T>(), row);
    else run_ordered(loop, table.as<T>(), values.as<T>(), num_places, row);
  });
}
GENESIS_KERNEL(index_put)

void index_add(View table, View values, int at, const int64_t* places, int64_t step, int64_t num_places) {
  const Loop loop(table, values, at, places, step);
  if (loop.total() == 0) return;
  switch (table.dtype) {
    case DType::Bool: return add_places<bool>(table, values, loop, num_places);
    case DType::UInt8:
    case DType::Int8: return add_places<uint8_t>(table, values, loop, num_places);
    case DType::Int16: return add_places<uint16_t>(table, values, loop, num_places);
    case DType::Int32: return add_places<uint32_t>(table, values, loop, num_places);
    case DType::Int64: return add_places<uint64_t>(table, values, loop, num_places);
    case DType::Float16: return add_places<Half>(table, values, loop, num_places);
    case DType::BFloat16: return add_places<BFloat16>(table, values, loop, num_places);
    case DType::Float32: return add_places<float>(table, values, loop, num_places);
    case DType::Float64: return add_places<double>(table, values, loop, num_places);
    case DType::Complex64: return add_places<std::complex<float>>(table, values, loop, num_places);
    case DType::Complex128: return add_places<std::complex<double>>(table, values, loop, num_places);
    default: unsupported(table.dtype);
  }
}
GENESIS_KERNEL(index_add)

bool linearize(View out, View so_far, View index, int64_t size) {
  std::atomic<bool> bad{false};
  const Wrap params{size, &bad};
  elementwise({{out, DType::Int64}, {so_far, DType::Int64}, {index, DType::Int64}}, linearize_inner, &params);
  return !bad.load();
}
GENESIS_KERNEL(linearize)

void count_true(int64_t* counts, const uint8_t* mask, int64_t n) {
  parallel_for(n, kMaskBlock, [&](int64_t begin, int64_t end) {
    int64_t count = 0;
    while (begin < end) {
      // Short pieces: an 8-bit counter per lane cannot overflow.
      const int64_t m = std::min<int64_t>(end - begin, 4096);
      uint32_t part = 0;
      for (int64_t i = 0; i < m; ++i) part += mask[begin + i] != 0;
      count += part;
      begin += m;
    }
    counts[(end - 1) / kMaskBlock] = count;
  });
}
GENESIS_KERNEL(count_true)

void true_positions(int64_t* positions, const uint8_t* mask, int64_t n, const int64_t* starts) {
  parallel_for(n, kMaskBlock, [&](int64_t begin, int64_t end) {
    int64_t* out = positions + starts[begin / kMaskBlock];
    int64_t found[256];
    while (begin < end) {
      const int64_t m = std::min<int64_t>(end - begin, 256);
      int64_t count = 0;
      for (int64_t i = 0; i < m; ++i) {
        found[count] = begin + i;  // overwritten unless the next line advances
        count += mask[begin + i] != 0;
      }
      std::memcpy(out, found, static_cast<size_t>(count) * sizeof(int64_t));
      out += count;
      begin += m;
    }
  });
}
GENESIS_KERNEL(true_positions)

void unravel(int64_t* out, const int64_t* positions, int64_t n, const int64_t* shape, int ndim) {
  int64_t total = 1;
  for (int d = 0; d < ndim; ++d) total *= shape[d];
  const auto with = [&]<class U>(U) {
    parallel_for(n, kLightGrain / ndim, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        U rest = static_cast<U>(positions[i]);
        for (int d = ndim - 1; d > 0; --d) {
          const U size = static_cast<U>(shape[d]);
          out[i * ndim + d] = static_cast<int64_t>(rest % size);
          rest /= size;
        }
        out[i * ndim] = static_cast<int64_t>(rest);
      }
    });
  };
  if (total <= UINT32_MAX) with(uint32_t{});  // half the cost of a 64-bit division
  else with(uint64_t{});
}
GENESIS_KERNEL(unravel)

void triangle(View y, View x, int64_t k, bool upper) {
  if (y.numel() == 0) return;
  // Beyond the matrix, all diagonals are equivalent; clamping prevents overflow below.
  k = std::clamp(k, -y.shape[y.ndim - 2] - 1, y.shape[y.ndim - 1] + 1);
  with_width(y.dtype, [&]<class T>() { triangle_rows<T>(y, x, k, upper); });
}
GENESIS_KERNEL(triangle)

}  // namespace genesis::kernels::GENESIS_ISA
