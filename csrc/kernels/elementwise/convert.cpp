// Conversion between dtypes, and the copy that implements clone(), contiguous() and casts.
//
// If the innermost dimensions of source and destination differ, a plain copy is a transpose. It is done in square
// blocks that are small enough for the cache lines on both sides to stay in the cache.
#include "kernels/elementwise/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/parallel.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/half.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace genesis::kernels::GENESIS_ISA {

namespace {

// ---- conversion -----------------------------------------------------------------------------------------------------
//
// Conversion loops run on contiguous memory. Strided operands are gathered first or scattered afterwards, which depends
// only on the element size. Common dtypes convert to each other directly. The others are converted through one of them
// (bridge): half types through float32, complex ones through their real dtype.

template <class To, class From>
[[gnu::always_inline]] inline To cast(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Out-of-range conversions are undefined in C++. As in PyTorch, the result is that of x86: the minimum of the
    // intermediate integer type, which is int64 for int64 and uint8 and int32 for the others, wrapped to the target.
    using Middle = std::conditional_t<std::is_same_v<To, int64_t> || std::is_same_v<To, uint8_t>, int64_t, int32_t>;
    constexpr From lowest = static_cast<From>(std::numeric_limits<Middle>::min());
    const bool inside =
        sizeof(Middle) == 4 && sizeof(From) == 8 ? x > lowest - 1 && x < -lowest : x >= lowest && x < -lowest;
    return static_cast<To>(inside ? static_cast<Middle>(x) : std::numeric_limits<Middle>::min());
  } else {
    return static_cast<To>(x);
  }
}

template <class T>
inline constexpr bool is_pair = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

template <class To, class From>
void convert(void* dst, const void* src, int64_t n) {
  To* const out = static_cast<To*>(dst);
  const From* const in = static_cast<const From*>(src);
  if constexpr (is_half<From>) {
    widen(in, out, n);
  } else if constexpr (std::is_same_v<From, Float8E4M3> || std::is_same_v<From, Float8E5M2>) {
    for (int64_t i = 0; i < n; ++i) out[i] = to_float(in[i]);
  } else if constexpr (std::is_same_v<To, Float8E4M3>) {
    for (int64_t i = 0; i < n; ++i) out[i] = to_float8_e4m3(in[i]);
  } else if constexpr (std::is_same_v<To, Float8E5M2>) {
    for (int64_t i = 0; i < n; ++i) out[i] = to_float8_e5m2(in[i]);
  } else if constexpr (is_pair<From> && is_pair<To>) {
    for (int64_t i = 0; i < n; ++i) out[i] = To(in[i]);
    // bool is true unless both parts are zero; otherwise the imaginary part is discarded
  } else if constexpr (is_pair<From>) {
    for (int64_t i = 0; i < n; ++i)
      if constexpr (std::is_same_v<To, bool>) out[i] = in[i] != From(0);
      else out[i] = in[i].real();
  } else if constexpr (is_pair<To>) {
    for (int64_t i = 0; i < n; ++i) out[i] = To(in[i]);
  } else if constexpr (is_half<To>) {
    narrow(in, out, n);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = cast<To>(in[i]);
  }
}

using Convert = void (*)(void*, const void*, int64_t);

template <class To>
Convert from(DType dtype) {
  switch (dtype) {
    case DType::Bool:  // one byte, 0 or 1; loops over bool do not vectorize
    case DType::UInt8: return convert<To, uint8_t>;
    case DType::Int8: return convert<To, int8_t>;
    case DType::Int16: return convert<To, int16_t>;
    case DType::Int32: return convert<To, int32_t>;
    case DType::Int64: return convert<To, int64_t>;
    case DType::Float32: return convert<To, float>;
    case DType::Float64: return convert<To, double>;
    default: return nullptr;
  }
}

// The conversions to and from a dtype that is not common; null if there is none.
Convert special(DType to, DType source) {
  using C64 = std::complex<float>;
  using C128 = std::complex<double>;
  struct Row {
    DType to, source;
    Convert convert;
  };
  using enum DType;
  static constexpr Row rows[] = {
      {Float32, Float16, convert<float, Half>},
      {Float16, Float32, convert<Half, float>},
      {Float32, BFloat16, convert<float, genesis::BFloat16>},
      {BFloat16, Float32, convert<genesis::BFloat16, float>},
      {Complex128, Complex64, convert<C128, C64>},
      {Complex64, Complex128, convert<C64, C128>},
      {Float32, Complex64, convert<float, C64>},
      {Complex64, Float32, convert<C64, float>},
      {Float64, Complex128, convert<double, C128>},
      {Complex128, Float64, convert<C128, double>},
      {Bool, Complex64, convert<bool, C64>},
      {Bool, Complex128, convert<bool, C128>},
      {Int64, UInt16, convert<int64_t, uint16_t>},
      {UInt16, Int64, convert<uint16_t, int64_t>},
      {Int64, UInt32, convert<int64_t, uint32_t>},
      {UInt32, Int64, convert<uint32_t, int64_t>},
      {Int64, UInt64, convert<int64_t, uint64_t>},
      {UInt64, Int64, convert<uint64_t, int64_t>},
      {Float32, UInt64, convert<float, uint64_t>},
      {Float64, UInt64, convert<double, uint64_t>},
      {Float32, Float8E4M3, convert<float, genesis::Float8E4M3>},
      {Float8E4M3, Float32, convert<genesis::Float8E4M3, float>},
      {Float32, Float8E5M2, convert<float, genesis::Float8E5M2>},
      {Float8E5M2, Float32, convert<genesis::Float8E5M2, float>},
  };
  for (const Row& row : rows)
    if (row.to == to && row.source == source) return row.convert;
  return nullptr;
}

// The common dtype through which a dtype is converted.
DType bridge(DType t) {
  if (is_complex(t)) return real_type(t);
  return genesis::is_half(t) || info(t).storage_only ? compute_type(t) : t;
}

// Null if there is no direct conversion.
Convert converter(DType to, DType source) {
  switch (to) {
    case DType::Bool:
      if (is_complex(source)) break;
      return from<bool>(source);
    case DType::UInt8: return from<uint8_t>(source);
    case DType::Int8: return from<int8_t>(source);
    case DType::Int16: return from<int16_t>(source);
    case DType::Int32: return from<int32_t>(source);
    case DType::Int64:
      if (!is_common(source)) break;
      return from<int64_t>(source);
    case DType::Float32:
      if (!is_common(source) || genesis::is_half(source)) break;
      return from<float>(source);
    case DType::Float64:
      if (!is_common(source)) break;
      return from<double>(source);
    default: break;
  }
  return special(to, source);
}

// A conversion between two dtypes, in at most three steps.
struct Path {
  Convert steps[3];
  int length = 0;

  Path(DType to, DType source) {
    if (!converter(to, source)) {
      go(bridge(source), source);
      if (!converter(to, source)) go(bridge(to), source);
    }
    go(to, source);
  }

 private:
  void go(DType next, DType& at) {
    if (next == at) return;
    steps[length++] = converter(next, at);
    at = next;
  }
};

template <class T>
void move(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * dst_stride, src + i * src_stride, sizeof(T));
}
void move(int64_t item, char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
  if (dst_stride == item && src_stride == item) {
    std::memcpy(dst, src, static_cast<size_t>(n * item));
    return;
  }
  switch (item) {
    case 1: return move<uint8_t>(dst, dst_stride, src, src_stride, n);
    case 2: return move<uint16_t>(dst, dst_stride, src, src_stride, n);
    case 4: return move<uint32_t>(dst, dst_stride, src, src_stride, n);
    case 8: return move<uint64_t>(dst, dst_stride, src, src_stride, n);
    default: return move<std::complex<double>>(dst, dst_stride, src, src_stride, n);
  }
}

// Strides are in bytes.
void convert(char* dst, int64_t dst_stride, DType to, const char* src, int64_t src_stride, DType source, int64_t n) {
  if (n == 0) return;
  const int64_t dst_item = itemsize(to), src_item = itemsize(source);
  if (to == source) return move(dst_item, dst, dst_stride, src, src_stride, n);
  const Convert direct = converter(to, source);
  if (direct && (n == 1 || (dst_stride == dst_item && src_stride == src_item))) return direct(dst, src, n);
  const Path path(to, source);
  constexpr int64_t most = 256;
  alignas(64) char buffers[4][most * kMaxItemSize];
  for (int64_t i = 0; i < n; i += most) {
    const int64_t m = std::min(most, n - i);
    const void* from = src + i * src_stride;
    if (src_stride != src_item) {
      move(src_item, buffers[3], src_item, src + i * src_stride, src_stride, m);
      from = buffers[3];
    }
    for (int k = 0; k < path.length; ++k) {
      void* const next = k + 1 == path.length && dst_stride == dst_item ? dst + i * dst_item : buffers[k];
      path.steps[k](next, from, m);
      from = next;
    }
    if (dst_stride != dst_item)
      move(dst_item, dst + i * dst_stride, dst_stride, static_cast<const char*>(from), dst_item, m);
  }
}

void convert_inner(char* const* data, unsigned scalars, int64_t n, const void* params) {
  const int64_t item = *static_cast<const int64_t*>(params);
  if (scalars & 2)
    for (int64_t i = 0; i < n; ++i) std::memcpy(data[0] + i * item, data[1], static_cast<size_t>(item));
  else std::memcpy(data[0], data[1], static_cast<size_t>(n * item));
}

// Copies within one dtype depend only on the element size.
struct Strided {
  int ndim = 0;
  int64_t shape[kMaxDims], dst[kMaxDims], src[kMaxDims];  // strides in elements
};

// ---- transposing copies ---------------------------------------------------------------------------------------------

template <class T>
inline constexpr int64_t kBlock = sizeof(T) == 8 ? 32 : 64;
constexpr int64_t kStreamBytes = 2 << 20;  // larger results do not stay in the cache anyway

// Transposes N x N elements in registers by interleaving halves of the rows log2(N) times.
template <class T>
struct Square {
  static constexpr int N = sizeof(T) == 8 ? 4 : sizeof(T) == 1 ? 16 : 8;
  typedef T Vector __attribute__((vector_size(N * sizeof(T))));

  template <size_t... I>
  [[gnu::always_inline]] static void interleave(const Vector& a, const Vector& b, Vector& low, Vector& high,
                                                std::index_sequence<I...>) {
    low = __builtin_shufflevector(a, b, (I % 2 ? N + I / 2 : I / 2)...);
    high = __builtin_shufflevector(a, b, (I % 2 ? N + N / 2 + I / 2 : N / 2 + I / 2)...);
  }
  [[gnu::always_inline]] static void transpose(T* dst, int64_t dst_row, const T* src, int64_t src_row) {
    Vector r[N], t[N];
    for (int i = 0; i < N; ++i) std::memcpy(&r[i], src + i * src_row, sizeof(Vector));
    for (int round = 1; round < N; round *= 2) {
      for (int i = 0; i < N / 2; ++i)
        interleave(r[i], r[i + N / 2], t[2 * i], t[2 * i + 1], std::make_index_sequence<N>());
      for (int i = 0; i < N; ++i) r[i] = t[i];
    }
    for (int i = 0; i < N; ++i) std::memcpy(dst + i * dst_row, &r[i], sizeof(Vector));
  }
};

// dst[i * dst_row + j] = src[i + j * src_col] for a block: read along i, write along j. With `stream`, full cache lines
// are written with non-temporal stores.
template <class T>
void transpose_block(T* dst, int64_t dst_row, const T* src, int64_t src_col, int64_t rows, int64_t cols, bool stream) {
  constexpr int64_t n = Square<T>::N, width = kBlock<T> + 64 / sizeof(T);
  alignas(64) T tile[kBlock<T>][width];
  const int64_t whole_rows = rows / n * n, whole_cols = cols / n * n;
  for (int64_t j = 0; j < whole_cols; j += n)
    for (int64_t i = 0; i < whole_rows; i += n)
      Square<T>::transpose(&tile[i][j], width, src + i + j * src_col, src_col);
  for (int64_t j = 0; j < cols; ++j)
    for (int64_t i = j < whole_cols ? whole_rows : 0; i < rows; ++i) tile[i][j] = src[i + j * src_col];
  const size_t bytes = static_cast<size_t>(cols) * sizeof(T);
#if defined(__SSE2__)
  if (stream && bytes % 64 == 0) {
    for (int64_t i = 0; i < rows; ++i) {
      auto* to = reinterpret_cast<__m128i*>(dst + i * dst_row);
      const auto* from = reinterpret_cast<const __m128i*>(tile[i]);
      for (size_t k = 0; k < bytes / 16; ++k) _mm_stream_si128(to + k, _mm_load_si128(from + k));
    }
    return;
  }
#else
  (void)stream;
#endif
  for (int64_t i = 0; i < rows; ++i) std::memcpy(dst + i * dst_row, tile[i], bytes);
}

// The last dimension is contiguous in the destination, the one before it in the source.
template <class T>
void transpose_copy(const Strided& loop, T* out, const T* in) {
  const int last = loop.ndim - 1;
  const int64_t rows = loop.shape[last - 1], cols = loop.shape[last], row = loop.dst[last - 1], col = loop.src[last];
  const int64_t row_blocks = (rows + kBlock<T> - 1) / kBlock<T>;
  int64_t outer = 1;
  for (int d = 0; d < last - 1; ++d) outer *= loop.shape[d];
  bool stream = outer * rows * cols * static_cast<int64_t>(sizeof(T)) >= kStreamBytes;
  const auto aligned = [](int64_t elements) { return elements * static_cast<int64_t>(sizeof(T)) % 64 == 0; };
  stream = stream && reinterpret_cast<uintptr_t>(out) % 64 == 0;
  for (int d = 0; d < last; ++d) stream = stream && aligned(loop.dst[d]);
  const int64_t per_strip = kBlock<T> * cols;  // elements in one strip of blocks
  parallel_for(outer * row_blocks, std::max<int64_t>(1, 65536 / per_strip), [&](int64_t begin, int64_t end) {
    for (int64_t w = begin; w < end; ++w) {
      int64_t rest = w / row_blocks;
      T* o = out;
      const T* s = in;
      for (int d = last - 2; d >= 0; --d) {
        const int64_t i = rest % loop.shape[d];
        rest /= loop.shape[d];
        o += i * loop.dst[d];
        s += i * loop.src[d];
      }
      const int64_t i = w % row_blocks * kBlock<T>;
      for (int64_t j = 0; j < cols; j += kBlock<T>)
        transpose_block(o + i * row + j, row, s + i + j * col, col, std::min(kBlock<T>, rows - i),
                        std::min(kBlock<T>, cols - j), stream);
    }
#if defined(__SSE2__)
    if (stream) _mm_sfence();
#endif
  });
}

// ---- copies row by row ----------------------------------------------------------------------------------------------

template <class T>
[[gnu::always_inline]] inline void copy_row(T* o, const T* s, int64_t n, int64_t ds, int64_t ss) {
  if (ds == 1 && ss == 1) {
    std::memcpy(o, s, static_cast<size_t>(n) * sizeof(T));
  } else if (ds == 1 && ss == 0) {
    std::fill_n(o, n, *s);
  } else if (ds == 1 && ss == -1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) o[i] = s[-i];
  } else {
    for (int64_t i = 0; i < n; ++i) o[i * ds] = s[i * ss];
  }
}

template <class T>
void copy_rows(const Strided& loop, T* out, const T* in) {
  const int last = loop.ndim - 1;
  const int64_t n = loop.shape[last], ds = loop.dst[last], ss = loop.src[last];
  int64_t outer = 1;
  for (int d = 0; d < last; ++d) outer *= loop.shape[d];
  if (outer == 1) {  // split a long row
    parallel_for(n, 65536,
                 [&](int64_t begin, int64_t end) { copy_row(out + begin * ds, in + begin * ss, end - begin, ds, ss); });
    return;
  }
  // Group short rows.
  parallel_for(outer, std::max<int64_t>(1, 65536 / n), [&](int64_t begin, int64_t end) {
    int64_t index[kMaxDims];
    int64_t rest = begin;
    T* o = out;
    const T* s = in;
    for (int d = last - 1; d >= 0; --d) {
      index[d] = rest % loop.shape[d];
      rest /= loop.shape[d];
      o += index[d] * loop.dst[d];
      s += index[d] * loop.src[d];
    }
    while (begin < end) {
      // Copy along the second-to-last dimension, then continue with the next index.
      const int d = last - 1;
      const int64_t m = std::min(loop.shape[d] - index[d], end - begin);
      for (int64_t i = 0; i < m; ++i) copy_row(o + i * loop.dst[d], s + i * loop.src[d], n, ds, ss);
      begin += m;
      if (begin == end) break;
      o -= index[d] * loop.dst[d];
      s -= index[d] * loop.src[d];
      index[d] = 0;
      for (int k = d - 1; k >= 0; --k) {
        o += loop.dst[k];
        s += loop.src[k];
        if (++index[k] < loop.shape[k]) break;
        o -= loop.shape[k] * loop.dst[k];
        s -= loop.shape[k] * loop.src[k];
        index[k] = 0;
      }
    }
  });
}

template <class T>
void copy_same(const View& dst, const View& src) {
  Strided loop;
  const int lead = dst.ndim - src.ndim;
  // Sort the dimensions by the strides of the destination, largest first.
  int order[kMaxDims];
  for (int d = 0; d < dst.ndim; ++d) order[d] = d;
  for (int i = 1; i < dst.ndim; ++i)
    for (int j = i; j > 0 && dst.strides[order[j]] > dst.strides[order[j - 1]]; --j) std::swap(order[j], order[j - 1]);
  for (int o = 0; o < dst.ndim; ++o) {
    const int d = order[o];
    if (dst.shape[d] == 1) continue;
    const int64_t step = d < lead || src.shape[d - lead] == 1 ? 0 : src.strides[d - lead];
    const int k = loop.ndim;
    if (k > 0 && loop.dst[k - 1] == dst.strides[d] * dst.shape[d] && loop.src[k - 1] == step * dst.shape[d]) {
      loop.shape[k - 1] *= dst.shape[d];
      loop.dst[k - 1] = dst.strides[d];
      loop.src[k - 1] = step;
    } else {
      loop.shape[k] = dst.shape[d];
      loop.dst[k] = dst.strides[d];
      loop.src[k] = step;
      ++loop.ndim;
    }
  }
  T* out = dst.as<T>();
  const T* in = src.as<T>();
  if (loop.ndim == 0) {
    *out = *in;
    return;
  }
  const int last = loop.ndim - 1;
  // The dimension along which the source is contiguous, if the destination is contiguous along another one.
  int across = -1;
  if (loop.src[last] != 1 && loop.dst[last] == 1)
    for (int d = 0; d < last; ++d)
      if (loop.src[d] == 1) across = d;
  if constexpr (sizeof(T) == 16) return copy_rows(loop, out, in);
  if (across < 0 || loop.shape[across] < 8 || loop.shape[last] < 8) return copy_rows(loop, out, in);
  for (int d = across; d + 1 < last; ++d) {  // move it next to the last
    std::swap(loop.shape[d], loop.shape[d + 1]);
    std::swap(loop.dst[d], loop.dst[d + 1]);
    std::swap(loop.src[d], loop.src[d + 1]);
  }
  if constexpr (sizeof(T) < 16) transpose_copy(loop, out, in);
}

}  // namespace

void gather(void* dst, DType to, const void* src, int64_t stride, DType source, int64_t n) {
  convert(static_cast<char*>(dst), itemsize(to), to, static_cast<const char*>(src), stride, source, n);
}
GENESIS_KERNEL(gather)

void scatter(void* dst, int64_t stride, DType to, const void* src, DType source, int64_t n) {
  convert(static_cast<char*>(dst), stride, to, static_cast<const char*>(src), itemsize(source), source, n);
}
GENESIS_KERNEL(scatter)

void copy(View dst, View src) {
  if (dst.numel() == 0) return;
  if (dst.dtype == src.dtype) {
    switch (itemsize(dst.dtype)) {
      case 1: return copy_same<uint8_t>(dst, src);
      case 2: return copy_same<uint16_t>(dst, src);
      case 4: return copy_same<uint32_t>(dst, src);
      case 8: return copy_same<uint64_t>(dst, src);
      default: return copy_same<std::complex<double>>(dst, src);
    }
  }
  const int64_t item = itemsize(dst.dtype);
  if (src.ndim > 0 || src.numel() != 1) {
    // Through tiles: the source is gathered in the destination's dtype, then stored.
    elementwise({{dst, dst.dtype}, {src, dst.dtype}}, convert_inner, &item);
    return;
  }
  alignas(16) char value[kMaxItemSize];
  gather(value, dst.dtype, src.data, 0, src.dtype, 1);
  copy(dst, View{value, dst.dtype, 0, nullptr, nullptr});
}
GENESIS_KERNEL(copy)

}  // namespace genesis::kernels::GENESIS_ISA
