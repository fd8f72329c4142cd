#include "kernels/index/gather.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/parallel.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {

namespace {

constexpr int64_t kChecked = 1024;  // indices checked at a time before they are used, while they stay in the cache

constexpr int64_t kInRegisters = 1024;  // bytes up to which a row of sums is computed in several passes over its terms

// The width of the registers in bytes. With AVX2, the compiler would copy 64 bytes in pieces of 16, and keep a vector
// that takes two registers in memory.
#if defined(__AVX512F__)
constexpr int64_t kVector = 64;
#elif defined(__AVX__)
constexpr int64_t kVector = 32;
#else
constexpr int64_t kVector = 16;
#endif

// Three views of one shape: the indexed tensor (with stride 0 along the indexed dimension, where the index advances it
// by `step`), the index, and the moved elements. Dimensions that all three traverse uniformly are merged.
struct Walk {
  int ndim = 0;
  int dim = -1;  // the indexed dimension
  int64_t step = 0;
  int64_t total = 1;
  int64_t shape[kMaxDims];
  int64_t x[kMaxDims], index[kMaxDims], moved[kMaxDims];  // strides

  Walk(const View& x_view, const View& moved_view, const View& index_view, int indexed) {
    step = x_view.strides[indexed];
    for (int d = 0; d < index_view.ndim; ++d) {
      const int64_t n = index_view.shape[d];
      total *= n;
      if (n == 1 && d != indexed) continue;
      const int64_t sx = d == indexed ? 0 : x_view.strides[d], si = index_view.strides[d], sm = moved_view.strides[d];
      const int k = ndim - 1;
      if (k >= 0 && k != dim && d != indexed && x[k] == sx * n && index[k] == si * n && moved[k] == sm * n) {
        shape[k] *= n;
        x[k] = sx;
        index[k] = si;
        moved[k] = sm;
      } else {
        if (d == indexed) dim = ndim;
        push(n, sx, si, sm);
      }
    }
  }
  void push(int64_t n, int64_t sx, int64_t si, int64_t sm) {
    shape[ndim] = n;
    x[ndim] = sx;
    index[ndim] = si;
    moved[ndim] = sm;
    ++ndim;
  }
};

struct Offsets {
  int64_t x = 0, index = 0, moved = 0;
  void step(const Walk& w, int d, int64_t n) {
    x += n * w.x[d];
    index += n * w.index[d];
    moved += n * w.moved[d];
  }
};

// Whether n indices are in [0, size).
bool all_inside(const int64_t* index, int64_t si, int64_t n, int64_t size) {
  uint64_t outside = 0;
  if (si == 1)
    for (int64_t i = 0; i < n; ++i) outside |= static_cast<uint64_t>(index[i]) >= static_cast<uint64_t>(size);
  else if (si == 0) outside = static_cast<uint64_t>(*index) >= static_cast<uint64_t>(size);
  else
    for (int64_t i = 0; i < n; ++i) outside |= static_cast<uint64_t>(index[i * si]) >= static_cast<uint64_t>(size);
  return outside == 0;
}

// Rows of elements, each with its own index, and the strides of elements and rows in the indexed tensor (without the
// contribution of the index), in the index and in the moved elements.
struct Block {
  int64_t rows, columns;
  Offsets row, column;
};

bool all_inside(const int64_t* index, const Block& block, int64_t size) {
  const int64_t si = block.column.index;
  if (block.row.index == block.columns * si) return all_inside(index, si, block.rows * block.columns, size);
  for (int64_t r = 0; r < block.rows; ++r)
    if (!all_inside(index + r * block.row.index, si, block.columns, size)) return false;
  return true;
}

template <class T>
void gather_block(T* out, const T* x, int64_t step, const int64_t* index, const Block& block) {
  const int64_t n = block.columns;
  const auto [sx, si, so] = block.column;
  for (int64_t r = 0; r < block.rows; ++r, out += block.row.moved, x += block.row.x, index += block.row.index) {
    if (si == 0) {
      const T* const row = x + *index * step;
      if (so == 1 && sx == 1) std::memcpy(out, row, static_cast<size_t>(n) * sizeof(T));
      else
        for (int64_t i = 0; i < n; ++i) out[i * so] = row[i * sx];
    } else if (so == 1 && si == 1 && sx == 0 && step == 1) {
#pragma GCC unroll 4
      for (int64_t i = 0; i < n; ++i) out[i] = x[index[i]];
    } else {
      for (int64_t i = 0; i < n; ++i) out[i * so] = x[i * sx + index[i * si] * step];
    }
  }
}

// A call of memcpy takes as long as copying a short row.
void copy_row(char* to, const char* from, int64_t bytes) {
  if (bytes < 16 || bytes > 256) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  auto pieces = [&]<int64_t piece>(std::integral_constant<int64_t, piece>) {
    typedef char Piece __attribute__((vector_size(piece), aligned(1), may_alias));
    const auto copy = [&](int64_t i) { *reinterpret_cast<Piece*>(to + i) = *reinterpret_cast<const Piece*>(from + i); };
    for (int64_t i = 0; i + piece < bytes; i += piece) copy(i);
    copy(bytes - piece);
  };
  if (bytes >= kVector) pieces(std::integral_constant<int64_t, kVector>{});
  else if (bytes >= 32) pieces(std::integral_constant<int64_t, 32>{});
  else pieces(std::integral_constant<int64_t, 16>{});
}

// How many rows ahead to prefetch: rows may be far apart, unless the table fits in the cache.
int64_t rows_ahead(int64_t table_bytes) { return table_bytes > 1 << 18 ? 12 : INT64_MAX / 2; }

// Complete rows: out[i] = x[index[i]], all contiguous.
template <class T>
bool gather_rows(const Walk& w, T* out, const T* x, int64_t size, const int64_t* index) {
  const int64_t ahead = rows_ahead(size * w.step * int64_t{sizeof(T)});
  const int64_t rows = w.shape[0], width = w.shape[1], bytes = width * static_cast<int64_t>(sizeof(T)), si = w.index[0];
  std::atomic<bool> good = true;
  parallel_for(rows, std::max<int64_t>(1, kGrain / width), [&](int64_t begin, int64_t end) {
    if (!all_inside(index + begin * si, si, end - begin, size)) {
      good.store(false, std::memory_order_relaxed);
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      if (i + ahead < end) __builtin_prefetch(x + index[(i + ahead) * si] * w.step);
      copy_row(reinterpret_cast<char*>(out + i * w.moved[0]), reinterpret_cast<const char*>(x + index[i * si] * w.step),
               bytes);
    }
  });
  return good;
}

template <class T>
bool gather_typed(const View& out, const View& x, const View& index, int dim) {
  Walk w(x, out, index, dim);
  while (w.ndim > 1 && w.shape[w.ndim - 1] == 1) --w.ndim;  // one index per row: loop over the rows
  const int last = w.ndim - 1;
  const int64_t size = x.shape[dim];
  if (w.ndim == 2 && w.dim == 0 && w.index[1] == 0 && w.x[1] == 1 && w.moved[1] == 1)
    return gather_rows(w, out.as<T>(), x.as<const T>(), size, index.as<const int64_t>());
  std::atomic<bool> good = true;
  parallel_for(w.total, kGrain, [&](int64_t begin, int64_t end) {
    int64_t at[kMaxDims];
    int64_t rest = begin;
    Offsets o;
    for (int d = last; d >= 0; --d) {
      at[d] = rest % w.shape[d];
      rest /= w.shape[d];
      o.step(w, d, at[d]);
    }
    while (begin < end) {
      // Part of a row, or several complete rows.
      const int64_t n = std::min({w.shape[last] - at[last], end - begin, w.index[last] == 0 ? INT64_MAX : kChecked});
      Block block{1, n, {}, {}};
      block.column.step(w, last, 1);
      if (last > 0 && n == w.shape[last]) {
        block.row.step(w, last - 1, 1);
        const int64_t most = std::min({kChecked / n, (end - begin) / n, w.shape[last - 1] - at[last - 1]});
        block.rows = std::max<int64_t>(1, most);
      }
      const int64_t* indices = index.as<const int64_t>() + o.index;
      if (!all_inside(indices, block, size)) {
        good.store(false, std::memory_order_relaxed);
        return;
      }
      gather_block(out.as<T>() + o.moved, x.as<const T>() + o.x, w.step, indices, block);
      begin += block.rows * n;
      at[last] += n;
      o.step(w, last, n);
      int64_t rows = block.rows;
      for (int d = last; d > 0 && at[d] == w.shape[d]; --d) {
        o.step(w, d, -at[d]);
        at[d] = 0;
        o.step(w, d - 1, rows);
        at[d - 1] += rows;
        rows = 1;
      }
    }
  });
  return good;
}

// Sums `vectors` vectors of each of the rows, times `scale`, in registers.
template <int vectors, class T>
[[gnu::always_inline]] inline void sum_piece(T* to, const T* table, int64_t step, const int64_t* index, int64_t size,
                                             T scale) {
  typedef T Vector __attribute__((vector_size(kVector)));
  Vector sum[vectors], term;
  std::memcpy(sum, table + index[0] * step, sizeof sum);
  for (int64_t j = 1; j < size; ++j) {
    const char* row = reinterpret_cast<const char*>(table + index[j] * step);
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      std::memcpy(&term, row + v * kVector, sizeof term);
      sum[v] += term;
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < vectors; ++v) sum[v] *= scale;
  std::memcpy(to, sum, sizeof sum);
}

// Computes a row of sums. The last piece may overlap the previous one and writes the same sums again.
template <class T>
void sum_row(T* to, const T* table, int64_t step, const int64_t* index, int64_t size, int64_t width, T scale) {
  constexpr int64_t lanes = kVector / sizeof(T);
  const auto piece = [&]<int vectors>(std::integral_constant<int, vectors>, int64_t k) {
    sum_piece<vectors>(to + k, table + k, step, index, size, scale);
  };
  if (width >= lanes && width <= kInRegisters / int64_t{sizeof(T)}) {
    int64_t k = 0;
    for (; k + 8 * lanes <= width; k += 8 * lanes) piece(std::integral_constant<int, 8>{}, k);
    for (; k + 2 * lanes <= width; k += 2 * lanes) piece(std::integral_constant<int, 2>{}, k);
    for (; k < width; k += lanes) piece(std::integral_constant<int, 1>{}, std::min(k, width - lanes));
    return;
  }
  std::copy_n(table + index[0] * step, width, to);
  for (int64_t j = 1; j < size; ++j) {
    const T* row = table + index[j] * step;
#pragma GCC ivdep
    for (int64_t i = 0; i < width; ++i) to[i] += row[i];
  }
  if (scale != 1)
    for (int64_t i = 0; i < width; ++i) to[i] *= scale;
}

template <class T>
bool sum_rows_typed(const View& out, const View& x, const int64_t* index, int64_t size, T scale) {
  const int64_t width = out.shape[1], step = x.strides[0];
  const int64_t ahead = rows_ahead(x.shape[0] * step * int64_t{sizeof(T)});
  const T* table = x.as<const T>();
  std::atomic<bool> good = true;
  parallel_for(out.shape[0], std::max<int64_t>(1, kGrain / (width * size)), [&](int64_t begin, int64_t end) {
    if (!all_inside(index + begin * size, 1, (end - begin) * size, x.shape[0])) {
      good.store(false, std::memory_order_relaxed);
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      T* to = out.as<T>() + i * width;
      for (int64_t j = i * size + ahead; j < std::min(i * size + size + ahead, end * size); ++j)
        __builtin_prefetch(table + index[j] * step);
      sum_row(to, table, step, index + i * size, size, width, scale);
    }
  });
  return good;
}

struct Set {
  template <class T>
  static T apply(T, T b) {
    return b;
  }
};
struct Add {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) return a || b;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else return a + b;
  }
};
struct Mul {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) return a && b;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else return a * b;
  }
};
// NaN in either operand propagates, as in every maximum.
struct Max {
  template <class T>
  static T apply(T a, T b) {
    const T larger = a > b ? a : b;
    return a != a ? a : larger;
  }
};
struct Min {
  template <class T>
  static T apply(T a, T b) {
    const T smaller = a < b ? a : b;
    return a != a ? a : smaller;
  }
};

template <class Op, class T>
void combine_row(T* x, int64_t sx, const T* src, int64_t ss, int64_t n) {
  if (sx == 1 && ss == 1) {
    if constexpr (std::is_same_v<Op, Set>) {
      std::memcpy(x, src, static_cast<size_t>(n) * sizeof(T));
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) x[i] = Op::apply(x[i], src[i]);
    }
  } else if (sx == 1 && ss == 0) {
    const T value = *src;
    for (int64_t i = 0; i < n; ++i) x[i] = Op::apply(x[i], value);
  } else {
    for (int64_t i = 0; i < n; ++i) x[i * sx] = Op::apply(x[i * sx], src[i * ss]);
  }
}

// Rows with one index each: the strides of rows and of the elements of a row.
struct Rows {
  int64_t width;
  Offsets row, column;  // row.x: stride of the index
};

// How elements of one type are combined. The loops below only know the element size, so they are compiled once instead
// of for each type and operation.
struct Combiner {
  // Combines a row of n elements.
  void (*row)(void* x, int64_t sx, const void* src, int64_t ss, int64_t n);
  // Combines `count` rows with one index each, selected by their numbers.
  void (*rows)(void* x, const int64_t* index, const void* src, const Rows& rows, const int64_t* chosen, int64_t count);
  // Combines each element of a block at the position given by its index.
  void (*each)(void* x, int64_t step, const int64_t* index, const void* src, const Block& block);
  int64_t item;
};

template <class Op, class T>
constexpr Combiner combiner_of{
    [](void* x, int64_t sx, const void* src, int64_t ss, int64_t n) {
      combine_row<Op>(static_cast<T*>(x), sx, static_cast<const T*>(src), ss, n);
    },
    [](void* x, const int64_t* index, const void* src, const Rows& rows, const int64_t* chosen, int64_t count) {
      const auto [width, row, column] = rows;
      for (int64_t i = 0; i < count; ++i)
        combine_row<Op>(static_cast<T*>(x) + index[chosen[i] * row.index] * row.x, column.x,
                        static_cast<const T*>(src) + chosen[i] * row.moved, column.moved, width);
    },
    [](void* x, int64_t step, const int64_t* index, const void* src, const Block& block) {
      const auto [sx, si, ss] = block.column;
      for (int64_t r = 0; r < block.rows; ++r) {
        T* const to = static_cast<T*>(x) + r * block.row.x;
        const T* const from = static_cast<const T*>(src) + r * block.row.moved;
        const int64_t* const at = index + r * block.row.index;
        if (sx == 0 && step == 1 && si == 1 && ss == 1)
          for (int64_t i = 0; i < block.columns; ++i) to[at[i]] = Op::apply(to[at[i]], from[i]);
        else
          for (int64_t i = 0; i < block.columns; ++i) {
            T& y = to[i * sx + at[i * si] * step];
            y = Op::apply(y, from[i * ss]);
          }
      }
    },
    sizeof(T)};

// For complete rows that share an index (index_add, embedding): each thread owns a range of destinations, reads the
// whole index, and processes the rows in its range. The range is small enough to stay in the cache while it is filled.
// Reading the index once per range costs as much as adding a few elements of each row, so short rows use few ranges.
bool scatter_rows(const Walk& w, const Combiner& combine, const View& x, int64_t size, const View& src,
                  const int64_t* index, bool check, bool clear) {
  const int64_t n = w.shape[0], width = w.shape[1];
  if (check && !all_inside(index, w.index[0], n, size)) return false;
  char* const to = x.as<char>();
  const char* const from = src.as<const char>();
  const Rows rows{width, {w.step, w.index[0], w.moved[0]}, {w.x[1], 0, w.moved[1]}};
  const int64_t work = n * width + (clear ? size * width : 0);
  const int64_t parts = std::clamp<int64_t>(std::min(work / (4 * kGrain), width / 4), 1, 16);
  const int64_t part = std::max<int64_t>(ceil_div(size, parts), 1);
  parallel_for(size, part, [&](int64_t begin, int64_t end) {
    if (clear)
      std::memset(to + begin * width * combine.item, 0, static_cast<size_t>((end - begin) * width * combine.item));
    int64_t chosen[256];
    for (int64_t first = 0; first < n; first += 256) {
      int64_t count = 0;
      for (int64_t j = first; j < std::min(n, first + 256); ++j) {
        const int64_t at = index[j * w.index[0]];
        chosen[count] = j;  // overwritten unless the next line advances: avoids branch mispredictions
        count += at >= begin && at < end;
      }
      combine.rows(to, index, from, rows, chosen, count);
    }
  });
  return true;
}

// One index per element. Elements that differ in another dimension than the indexed one have different destinations, so
// the work is split along those dimensions.
bool scatter_elements(const Walk& w, const Combiner& combine, const View& x, int64_t size, const View& src,
                      const int64_t* index, bool check) {
  const int inner = w.ndim - 1;
  const bool columns = w.dim != inner;           // whether the innermost dimension is not the indexed one
  const int down = columns ? w.dim : inner - 1;  // the dimension of the rows of a block, if any
  const int64_t n = w.shape[w.dim];
  const int64_t width = columns ? w.shape[inner] : 1;
  const int64_t strip = columns ? std::min(width, std::max<int64_t>(64, kGrain / n)) : 1;
  const int64_t strips = ceil_div(width, strip);
  int64_t outer = 1;
  for (int d = 0; d < w.ndim; ++d)
    if (d != w.dim && !(columns && d == inner)) outer *= w.shape[d];
  std::atomic<bool> good = true;
  constexpr int64_t kStep = int64_t{1} << 20;  // elements between checks for Ctrl-C
  parallel_for(outer * strips, std::max<int64_t>(1, kGrain / (n * strip)), [&](int64_t begin, int64_t end) {
    int64_t taken = 0;
    for (int64_t u = begin; u < end; u += taken) {
      Offsets o;
      int64_t rest = u / strips;
      for (int d = inner; d >= 0; --d) {
        if (d == w.dim || (columns && d == inner)) continue;
        o.step(w, d, rest % w.shape[d]);
        rest /= w.shape[d];
      }
      const int64_t first = u % strips * strip;
      if (columns) o.step(w, inner, first);
      // A strip with all its positions along the indexed dimension, or the rows up to the end of the next dimension.
      Block block{1, columns ? std::min(strip, width - first) : n, {}, {}};
      block.column.step(w, inner, 1);
      if (down >= 0) block.row.step(w, down, 1);
      int64_t rows = columns ? n : down < 0 ? 1 : std::min(end - u, w.shape[down] - u % w.shape[down]);
      taken = columns ? 1 : rows;
      char* to = x.as<char>() + o.x * combine.item;
      const char* from = src.as<const char>() + o.moved * combine.item;
      const int64_t* at = index + o.index;
      for (; rows > 0; rows -= block.rows) {
        block.rows = std::clamp<int64_t>(kChecked / block.columns, 1, rows);
        if (check && !all_inside(at, block, size)) {
          good.store(false, std::memory_order_relaxed);
          return;
        }
        if (columns && block.column.index == 0)
          for (int64_t r = 0; r < block.rows; ++r)
            combine.row(to + at[r * block.row.index] * w.step * combine.item, block.column.x,
                        from + r * block.row.moved * combine.item, block.column.moved, block.columns);
        else
          for (int64_t c = 0; c < block.columns; c += kStep) {
            Block part = block;
            part.columns = std::min(kStep, block.columns - c);
            combine.each(to + c * block.column.x * combine.item, w.step, at + c * block.column.index,
                         from + c * block.column.moved * combine.item, part);
            if (part.columns == kStep) check_interrupt();
          }
        to += block.rows * block.row.x * combine.item;
        from += block.rows * block.row.moved * combine.item;
        at += block.rows * block.row.index;
      }
    }
  });
  return good;
}

bool by_rows(const Walk& w) { return w.ndim == 2 && w.dim == 0 && w.index[1] == 0 && w.shape[1] >= 8; }

bool scatter(const View& x, const View& src, const View& index, int dim, const Combiner& combine, bool check) {
  const Walk w(x, src, index, dim);
  if (w.total == 0) return true;
  const int64_t size = x.shape[dim], *at = index.as<const int64_t>();
  if (by_rows(w)) return scatter_rows(w, combine, x, size, src, at, check, false);
  return scatter_elements(w, combine, x, size, src, at, check);
}

// Calls f.template operator()<T>() with the element type.
template <class F>
auto with_element_type(DType t, F&& f) {
  switch (t) {
    case DType::Bool: return f.template operator()<bool>();
    case DType::UInt8: return f.template operator()<uint8_t>();
    case DType::Int8: return f.template operator()<int8_t>();
    case DType::Int16: return f.template operator()<int16_t>();
    case DType::Int32: return f.template operator()<int32_t>();
    case DType::Int64: return f.template operator()<int64_t>();
    case DType::Float32: return f.template operator()<float>();
    case DType::Float64: return f.template operator()<double>();
    default: unsupported(t);
  }
}
// The same with an unsigned integer of the element's size, for operations that only move elements.
template <class F>
auto with_item(int64_t item, F&& f) {
  switch (item) {
    case 1: return f.template operator()<uint8_t>();
    case 2: return f.template operator()<uint16_t>();
    case 4: return f.template operator()<uint32_t>();
    case 8: return f.template operator()<uint64_t>();
    default: return f.template operator()<std::complex<double>>();
  }
}

template <class Op>
const Combiner& combiner(DType t) {
  if constexpr (std::is_same_v<Op, Add> || std::is_same_v<Op, Mul>) {
    if (t == DType::Complex64) return combiner_of<Op, std::complex<float>>;
    if (t == DType::Complex128) return combiner_of<Op, std::complex<double>>;
  }
  return *with_element_type(t, []<class T>() { return &combiner_of<Op, T>; });
}

constexpr int64_t kMaskBlock = 32768;

// Counts the true elements of each block and returns the prefix sums, where the elements of each block begin.
std::vector<int64_t> mask_offsets(const bool* mask, int64_t n) {
  std::vector<int64_t> offsets(static_cast<size_t>(ceil_div(n, kMaskBlock) + 1), 0);
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(mask);
  parallel_for(n, kMaskBlock, [&](int64_t begin, int64_t end) {
    int64_t count = 0;
    for (int64_t i = begin; i < end; ++i) count += bytes[i];
    offsets[static_cast<size_t>(begin / kMaskBlock + 1)] = count;
  });
  for (size_t b = 1; b < offsets.size(); ++b) offsets[b] += offsets[b - 1];
  return offsets;
}

// A view with as few dimensions as possible. Dimensions that repeat elements are dropped.
struct Compact {
  explicit Compact(const View& v) {
    for (int d = 0; d < v.ndim; ++d) {
      if (v.shape[d] == 1 || v.strides[d] == 0) continue;
      if (ndim > 0 && strides[ndim - 1] == v.strides[d] * v.shape[d]) {
        shape[ndim - 1] *= v.shape[d];
        strides[ndim - 1] = v.strides[d];
      } else {
        shape[ndim] = v.shape[d];
        strides[ndim++] = v.strides[d];
      }
    }
    if (ndim > 0) return;
    shape[0] = strides[0] = ndim = 1;
  }
  int64_t rows() const {
    int64_t n = 1;
    for (int d = 0; d < ndim - 1; ++d) n *= shape[d];
    return n;
  }
  int64_t row_offset(int64_t row) const {
    int64_t offset = 0;
    for (int d = ndim - 2; d >= 0; --d) {
      offset += row % shape[d] * strides[d];
      row /= shape[d];
    }
    return offset;
  }

  int ndim = 0;
  int64_t shape[kMaxDims], strides[kMaxDims];
};

// The position, in row-major order, of the first index that is not in [low, high).
int64_t first_outside(View index, int64_t low, int64_t high) {
  const int64_t n = index.numel();
  for (int64_t at = 0; at < n; ++at) {
    const int64_t* p = index.as<const int64_t>();
    int64_t rest = at;
    for (int d = index.ndim - 1; d >= 0; --d) {
      p += rest % index.shape[d] * index.strides[d];
      rest /= index.shape[d];
    }
    if (*p < low || *p >= high) return at;
  }
  return -1;
}

}  // namespace

int64_t find_outside(View index, int64_t low, int64_t high) {
  if (index.numel() == 0) return -1;
  const Compact compact(index);
  const int64_t* data = index.as<const int64_t>();
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const int64_t row = compact.shape[compact.ndim - 1], step = compact.strides[compact.ndim - 1];
  const int64_t pieces = ceil_div(row, kGrain), units = compact.rows() * pieces;
  std::vector<char> bad(static_cast<size_t>(units), 0);
  parallel_for(units, std::max<int64_t>(1, kGrain / row), [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      const int64_t from = u % pieces * kGrain, to = std::min(row, from + kGrain);
      const int64_t* p = data + compact.row_offset(u / pieces);
      uint64_t any = 0;
      if (step == 1)
        for (int64_t i = from; i < to; ++i) any |= static_cast<uint64_t>(p[i] - low) >= span;
      else
        for (int64_t i = from; i < to; ++i) any |= static_cast<uint64_t>(p[i * step] - low) >= span;
      bad[static_cast<size_t>(u)] = any != 0;
    }
  });
  // Errors are rare, so a second pass finds the position.
  return std::find(bad.begin(), bad.end(), 1) == bad.end() ? -1 : first_outside(index, low, high);
}
GENESIS_KERNEL(find_outside)

void wrap_negative(int64_t* index, int64_t n, int64_t size) {
  for (int64_t i = 0; i < n; ++i) index[i] += index[i] < 0 ? size : 0;
}
GENESIS_KERNEL(wrap_negative)

bool gather_along(View out, View x, View index, int dim) {
  return with_item(itemsize(x.dtype), [&]<class T>() { return gather_typed<T>(out, x, index, dim); });
}
GENESIS_KERNEL(gather_along)

bool sum_rows(View out, View x, const int64_t* index, int64_t size, double scale) {
  if (out.dtype == DType::Float64) return sum_rows_typed<double>(out, x, index, size, scale);
  return sum_rows_typed<float>(out, x, index, size, static_cast<float>(scale));
}
GENESIS_KERNEL(sum_rows)

bool scatter_along(View x, View src, View index, int dim, Combine how, bool check) {
  const auto run = [&](const Combiner& combine) { return scatter(x, src, index, dim, combine, check); };
  switch (how) {
    case Combine::Add: return run(combiner<Add>(x.dtype));
    case Combine::Mul: return run(combiner<Mul>(x.dtype));
    case Combine::Max: return run(combiner<Max>(x.dtype));
    case Combine::Min: return run(combiner<Min>(x.dtype));
    default: return run(*with_item(itemsize(x.dtype), []<class T>() { return &combiner_of<Set, T>; }));
  }
}
GENESIS_KERNEL(scatter_along)

void gather_transposed(View dx, View dy, View index, int dim) {
  const Walk w(dx, dy, index, dim);
  const int64_t size = dx.shape[dim], all = dx.numel(), *at = index.as<const int64_t>();
  const Combiner& combine = combiner<Add>(dx.dtype);
  if (w.total > 0 && by_rows(w) && w.step == w.shape[1] && all == size * w.step) {
    scatter_rows(w, combine, dx, size, dy, at, false, true);
    return;
  }
  parallel_for(all, 16 * kGrain, [&](int64_t begin, int64_t end) {
    std::memset(dx.as<char>() + begin * combine.item, 0, static_cast<size_t>((end - begin) * combine.item));
  });
  if (w.total > 0) scatter_elements(w, combine, dx, size, dy, at, false);
}
GENESIS_KERNEL(gather_transposed)

int64_t compress(void* out, const void* x, const bool* mask, int64_t n, int64_t item) {
  const std::vector<int64_t> offsets = mask_offsets(mask, n);
  if (!out) return offsets.back();
  with_item(item, [&]<class T>() {
    const T* from = static_cast<const T*>(x);
    parallel_for(n, kMaskBlock, [&](int64_t begin, int64_t end) {
      const auto block = static_cast<size_t>(begin / kMaskBlock);
      T* to = static_cast<T*>(out) + offsets[block];
      T* const limit = static_cast<T*>(out) + offsets[block + 1];
      // Always writing and advancing only for true avoids branch mispredictions. The end of the block must not be
      // exceeded.
      for (int64_t i = begin; i < end && to < limit; ++i) {
        *to = from[i];
        to += mask[i];
      }
    });
  });
  return offsets.back();
}
GENESIS_KERNEL(compress)

int64_t expand(void* out, const void* packed, const bool* mask, int64_t n, int64_t item) {
  const std::vector<int64_t> offsets = mask_offsets(mask, n);
  with_item(item, [&]<class T>() {
    T* to = static_cast<T*>(out);
    parallel_for(n, kMaskBlock, [&](int64_t begin, int64_t end) {
      const T* from = static_cast<const T*>(packed) + offsets[static_cast<size_t>(begin / kMaskBlock)];
      for (int64_t i = begin; i < end; ++i)
        if (mask[i]) to[i] = *from++;
    });
  });
  return offsets.back();
}
GENESIS_KERNEL(expand)

}  // namespace genesis::kernels::GENESIS_ISA
