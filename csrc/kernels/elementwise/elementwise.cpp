// plan() or flatten() reduces the operands to a loop over few dimensions. run() executes one chunk of it: run_stretch()
// along the innermost dimension, or run_rows() over many rows at once if that dimension is short. Operands that need no
// conversion use run_direct(). Small operands with the layout of the output use run_small().
#include "kernels/elementwise/elementwise.h"

#include <algorithm>
#include <complex>
#include <cstring>

#include "core/capture.h"
#include "core/device.h"
#include "core/error.h"
#include "core/isa.h"
#include "core/parallel.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/stream.h"

namespace genesis::kernels {

namespace {

struct Loop {
  int n = 0;  // number of operands
  int ndim = 0;
  int64_t total = 1;
  int64_t shape[kMaxDims];
  int64_t strides[kMaxOperands][kMaxDims];  // in bytes
  char* data[kMaxOperands];
  DType dtype[kMaxOperands];
  DType compute[kMaxOperands];
  Inner inner;
  const void* params;

  // How operands are read along the innermost dimension.
  bool direct[kMaxOperands];  // in place, or as a single value
  bool buffered = false;      // not all are direct
  unsigned scalars = 0;       // bit k: operand k is a single value
  bool fetch = false;         // the output is not in the cache, and is prefetched before it is written
  bool stream = false;        // the output is written with non-temporal stores
  bool plain = false;         // the inner loop accesses the operands in place
  bool short_rows = false;
};

constexpr int64_t kShortRow = 48;              // rows up to this length are copied into tiles of many rows
constexpr int64_t kShortStillRow = kTile / 4;  // the same if operands only need conversion
// Little of an output this large is still in the L2 cache. Intel processors prefetch reads, but hardly writes: waiting
// for each line takes 10 to 20 % of the time of an addition. On AMD processors, prefetching in pieces costs more than
// it saves (Zen 3: 12 to 50 % of the time of a cheap operation).
constexpr int64_t kFetchedBytes = int64_t{1} << 20;
constexpr int64_t kSmall = 4096;  // elements; far below the sizes that are prefetched or streamed
constexpr int64_t kPiece = 1024;  // bytes of the output that are prefetched at a time

// If every operand is a single value or has the shape and layout of the output, makes a loop over one dimension.
bool flatten(Loop& loop, std::initializer_list<Operand> operands) {
  const View& out = operands.begin()->view;
  int64_t step = 1;
  for (int d = out.ndim - 1; d >= 0; --d) {
    if (out.strides[d] != step && out.shape[d] != 1) return false;
    step *= out.shape[d];
  }
  loop.total = step;
  loop.ndim = 1;
  loop.shape[0] = step;
  int k = 0;
  for (const Operand& op : operands) {
    const View& v = op.view;
    int64_t stride = itemsize(v.dtype);
    if (v.ndim == 0 && k > 0) {
      stride = 0;
    } else {
      if (v.ndim != out.ndim) return false;
      for (int d = 0; d < v.ndim; ++d)
        if (v.shape[d] != out.shape[d] || (v.strides[d] != out.strides[d] && v.shape[d] != 1)) return false;
    }
    loop.strides[k][0] = stride;
    loop.data[k] = static_cast<char*>(v.data);
    loop.dtype[k] = v.dtype;
    loop.compute[k] = op.compute;
    ++k;
  }
  loop.n = k;
  return true;
}

void plan(Loop& loop, std::initializer_list<Operand> operands) {
  const View& out = operands.begin()->view;
  loop.ndim = out.ndim;
  loop.n = 0;
  loop.total = out.numel();
  for (int d = 0; d < out.ndim; ++d) loop.shape[d] = out.shape[d];
  for (const Operand& op : operands) {
    const View& v = op.view;
    const int k = loop.n++;
    const int lead = out.ndim - v.ndim;
    for (int d = 0; d < out.ndim; ++d)
      loop.strides[k][d] = d < lead || v.shape[d - lead] == 1 ? 0 : v.strides[d - lead] * itemsize(v.dtype);
    loop.data[k] = static_cast<char*>(v.data);
    loop.dtype[k] = v.dtype;
    loop.compute[k] = op.compute;
  }
  // Sort the dimensions by the strides of the output (ties: of the inputs), largest first, and merge contiguous ones.
  const auto before = [&](int a, int b) {
    for (int k = 0; k < loop.n; ++k) {
      if (loop.strides[k][a] == 0 || loop.strides[k][b] == 0) continue;
      if (loop.strides[k][a] != loop.strides[k][b]) return loop.strides[k][a] > loop.strides[k][b];
    }
    return false;
  };
  for (int i = 1; i < loop.ndim; ++i)
    for (int j = i; j > 0 && before(j, j - 1); --j) {
      std::swap(loop.shape[j], loop.shape[j - 1]);
      for (int k = 0; k < loop.n; ++k) std::swap(loop.strides[k][j], loop.strides[k][j - 1]);
    }
  int kept = 0;
  for (int d = 0; d < loop.ndim; ++d) {
    if (loop.shape[d] == 1) continue;
    bool merge = kept > 0;
    for (int k = 0; k < loop.n && merge; ++k) merge = loop.strides[k][kept - 1] == loop.strides[k][d] * loop.shape[d];
    const int64_t size = loop.shape[d];  // read first: `kept` may equal d
    if (merge) loop.shape[kept - 1] *= size;
    else loop.shape[kept++] = size;
    for (int k = 0; k < loop.n; ++k) loop.strides[k][kept - 1] = loop.strides[k][d];
  }
  if (kept == 0) {
    kept = 1;
    loop.shape[0] = 1;
    for (int k = 0; k < loop.n; ++k) loop.strides[k][0] = 0;
    loop.strides[0][0] = itemsize(loop.dtype[0]);
  }
  loop.ndim = kept;
}

// Whether the rows of every operand are contiguous or all identical.
bool rows_follow(const Loop& loop) {
  const int last = loop.ndim - 1;
  for (int k = 0; k < loop.n; ++k) {
    const int64_t row = loop.strides[k][last - 1], col = loop.strides[k][last];
    if (row != col * loop.shape[last] && (k == 0 || row != 0)) return false;
  }
  return true;
}

// Whether the output has no gaps.
bool follows_itself(const Loop& loop) {
  for (int d = loop.ndim - 1; d > 0; --d)
    if (loop.strides[0][d - 1] != loop.strides[0][d] * loop.shape[d]) return false;
  return true;
}

// Computes what all parts of the loop share.
void prepare(Loop& loop, int64_t grain, bool fetches) {
  const int last = loop.ndim - 1;
  for (int k = 0; k < loop.n; ++k) {
    const int64_t stride = loop.strides[k][last];
    const bool scalar = k > 0 && stride == 0;
    loop.direct[k] = scalar || (loop.dtype[k] == loop.compute[k] &&
                                (stride == itemsize(loop.dtype[k]) || (k == 0 && loop.shape[last] == 1)));
    if (scalar) loop.scalars |= 1u << k;
    loop.buffered |= !loop.direct[k];
  }
  loop.plain = !loop.buffered;
  for (int k = 0; k < loop.n; ++k) loop.plain &= loop.dtype[k] == loop.compute[k];
  loop.short_rows = last > 0 && loop.shape[last] <= (loop.buffered || rows_follow(loop) ? kShortStillRow : kShortRow);
  const int64_t bytes = loop.total * itemsize(loop.dtype[0]);
  if (bytes >= kFetchedBytes && !loop.buffered) {
    bool in_place = false;  // then the reads fetch the output
    for (int k = 1; k < loop.n; ++k) in_place |= loop.data[k] == loop.data[0];
    loop.stream = kStreams && !in_place && bytes >= kStreamedBytes;
    const bool far = !in_place && !loop.stream && follows_itself(loop);
    // Prefetch in pieces only if arithmetic does not hide the latency and no single values have to be expanded per
    // piece.
    loop.fetch = far && grain >= kLightGrain && !foresees_writes() && (loop.n <= 3 || loop.scalars == 0);
    if (far && fetches && !loop.fetch) loop.scalars |= kFar;
    loop.plain &= !loop.stream;
  }
}

// Runs the inner loop on the operands in place.
void run_direct(const Loop& loop, char* const* data, int64_t n) {
  if (!loop.fetch) return loop.inner(data, loop.scalars, n, loop.params);
  const int last = loop.ndim - 1;
  const int64_t item = itemsize(loop.dtype[0]);
  char* at[kMaxOperands];
  std::copy_n(data, loop.n, at);
  for (int64_t i = 0; i < n; i += kPiece / item) {
    const int64_t m = std::min(kPiece / item, n - i);
    for (int64_t line = 0; line < m * item; line += 64) __builtin_prefetch(at[0] + kAhead + line, 1);
    loop.inner(at, loop.scalars, m, loop.params);
    for (int k = 0; k < loop.n; ++k)
      if (!(loop.scalars >> k & 1)) at[k] += m * loop.strides[k][last];
  }
}

// The same for complete rows of the innermost dimension.
void run_direct_rows(const Loop& loop, char* const* data, int64_t rows) {
  const int last = loop.ndim - 1;
  char* at[kMaxOperands] = {};
  int64_t step[kMaxOperands] = {};
  for (int k = 0; k < loop.n; ++k) at[k] = data[k], step[k] = loop.strides[k][last - 1];
  for (int64_t r = 0; r < rows; ++r) {
    run_direct(loop, at, loop.shape[last]);
    for (int k = 0; k < kMaxOperands; ++k) at[k] += step[k];
  }
}

// Runs a part of the innermost dimension, in tiles.
void run_stretch(const Loop& loop, char* const* data, int64_t n) {
  alignas(64) char buffers[kMaxOperands][kTile * kMaxItemSize];
  const int last = loop.ndim - 1;
  char* at[kMaxOperands];
  for (int k = 0; k < loop.n; ++k) {
    at[k] = data[k];
    if (loop.scalars >> k & 1 && loop.dtype[k] != loop.compute[k]) {
      gather(buffers[k], loop.compute[k], data[k], 0, loop.dtype[k], 1);
      at[k] = buffers[k];
    }
  }
  if (!loop.buffered && !loop.stream) return run_direct(loop, at, n);
  for (int64_t i = 0; i < n; i += kTile) {
    const int64_t m = std::min(kTile, n - i);
    char* tile[kMaxOperands];
    for (int k = 0; k < loop.n; ++k) {
      const int64_t stride = loop.strides[k][last];
      if (loop.scalars >> k & 1) {
        tile[k] = at[k];
      } else if (loop.direct[k] && !(k == 0 && loop.stream)) {
        tile[k] = data[k] + i * stride;
      } else {
        tile[k] = buffers[k];
        if (k > 0) gather(tile[k], loop.compute[k], data[k] + i * stride, stride, loop.dtype[k], m);
      }
    }
    loop.inner(tile, loop.scalars, m, loop.params);
    const int64_t stride = loop.strides[0][last];
    if (loop.stream) stream(data[0] + i * stride, tile[0], m * stride);
    else if (!loop.direct[0]) scatter(data[0] + i * stride, stride, loop.dtype[0], tile[0], loop.compute[0], m);
  }
}

// Copies rows x cols elements between strided memory (`there`) and contiguous memory (`here`).
template <class T, bool Collect>
void move_rows(char* here, char* there, int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride) {
  const size_t bytes = static_cast<size_t>(cols) * sizeof(T);
  if (col_stride == sizeof(T) && bytes >= 32) {
    for (int64_t r = 0; r < rows; ++r, here += bytes, there += row_stride) {
      if constexpr (Collect) std::memcpy(here, there, bytes);
      else std::memcpy(there, here, bytes);
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 2  // without unrolling, the loop takes 50 % longer when it happens to cross a cache line of code
    for (int64_t c = 0; c < cols; ++c, here += sizeof(T)) {
      char* const element = there + r * row_stride + c * col_stride;
      if constexpr (Collect) std::memcpy(here, element, sizeof(T));
      else std::memcpy(element, here, sizeof(T));
    }
}
template <bool Collect>
void move_rows(int64_t item, char* here, char* there, int64_t rows, int64_t cols, int64_t row_stride,
               int64_t col_stride) {
  switch (item) {
    case 1: return move_rows<uint8_t, Collect>(here, there, rows, cols, row_stride, col_stride);
    case 2: return move_rows<uint16_t, Collect>(here, there, rows, cols, row_stride, col_stride);
    case 4: return move_rows<uint32_t, Collect>(here, there, rows, cols, row_stride, col_stride);
    case 8: return move_rows<uint64_t, Collect>(here, there, rows, cols, row_stride, col_stride);
    case 16: return move_rows<std::complex<double>, Collect>(here, there, rows, cols, row_stride, col_stride);
    default: __builtin_unreachable();
  }
}

// Fills each row with its single value.
template <class T>
void spread_rows(char* to, const char* values, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r)
    std::fill_n(reinterpret_cast<T*>(to) + r * cols, cols, reinterpret_cast<const T*>(values)[r]);
}
void spread_rows(int64_t item, char* to, const char* values, int64_t rows, int64_t cols) {
  switch (item) {
    case 1: return spread_rows<uint8_t>(to, values, rows, cols);
    case 2: return spread_rows<uint16_t>(to, values, rows, cols);
    case 4: return spread_rows<uint32_t>(to, values, rows, cols);
    case 8: return spread_rows<uint64_t>(to, values, rows, cols);
    case 16: return spread_rows<std::complex<double>>(to, values, rows, cols);
    default: __builtin_unreachable();
  }
}

// Rows of a short innermost dimension, as many per tile as fit. An operand that is the same in every row (such as a
// bias vector) is expanded once.
void run_rows(const Loop& loop, char* const* data, int64_t rows) {
  alignas(64) char buffers[kMaxOperands][kTile * kMaxItemSize];
  alignas(64) char raw[kTile * kMaxItemSize];
  const int last = loop.ndim - 1;
  const int64_t cols = loop.shape[last], per_tile = std::min(rows, kTile / cols);
  enum { Direct, Once, Converted, Spread, Gathered } way[kMaxOperands];
  char* tile[kMaxOperands];
  unsigned scalars = 0;
  const auto collect = [&](int k, char* from, int64_t m) {
    const int64_t item = itemsize(loop.dtype[k]);
    if (way[k] == Spread) {
      gather(raw, loop.compute[k], from, loop.strides[k][last - 1], loop.dtype[k], m);
      return spread_rows(itemsize(loop.compute[k]), buffers[k], raw, m, cols);
    }
    if (loop.dtype[k] == loop.compute[k]) {
      move_rows<true>(item, buffers[k], from, m, cols, loop.strides[k][last - 1], loop.strides[k][last]);
      return;
    }
    if (way[k] != Converted) {
      move_rows<true>(item, raw, from, m, cols, loop.strides[k][last - 1], loop.strides[k][last]);
      from = raw;
    }
    gather(buffers[k], loop.compute[k], from, item, loop.dtype[k], m * cols);
  };
  for (int k = 0; k < loop.n; ++k) {
    const int64_t row = loop.strides[k][last - 1], col = loop.strides[k][last], item = itemsize(loop.dtype[k]);
    tile[k] = buffers[k];
    if (k > 0 && row == 0) {
      way[k] = Once;
      collect(k, data[k], 1);
      const size_t bytes = static_cast<size_t>(cols * itemsize(loop.compute[k]));
      if (col == 0) scalars |= 1u << k;
      else
        for (int64_t r = 1; r < per_tile; ++r)
          std::memcpy(buffers[k] + static_cast<size_t>(r) * bytes, buffers[k], bytes);
    } else if (col == item && row == cols * item) {
      way[k] = loop.dtype[k] == loop.compute[k] ? Direct : Converted;
    } else {
      way[k] = k > 0 && col == 0 ? Spread : Gathered;
    }
  }
  for (int64_t r = 0; r < rows; r += per_tile) {
    const int64_t m = std::min(per_tile, rows - r);
    for (int k = 0; k < loop.n; ++k) {
      char* const from = data[k] + r * loop.strides[k][last - 1];
      if (way[k] == Direct) tile[k] = from;
      else if (way[k] != Once && k > 0) collect(k, from, m);
    }
    loop.inner(tile, scalars, m * cols, loop.params);
    if (way[0] == Direct) continue;
    char* const to = data[0] + r * loop.strides[0][last - 1];
    const int64_t item = itemsize(loop.dtype[0]);
    char* from = buffers[0];
    if (loop.dtype[0] != loop.compute[0]) {
      from = way[0] == Converted ? to : raw;
      scatter(from, item, loop.dtype[0], buffers[0], loop.compute[0], m * cols);
    }
    if (from != to) move_rows<false>(item, from, to, m, cols, loop.strides[0][last - 1], loop.strides[0][last]);
  }
}

void run(const Loop& loop, int64_t begin, int64_t end) {
  const int last = loop.ndim - 1;
  char* data[kMaxOperands];
  if (last == 0) {
    for (int k = 0; k < loop.n; ++k) data[k] = loop.data[k] + begin * loop.strides[k][0];
    run_stretch(loop, data, end - begin);
    return;
  }
  int64_t index[kMaxDims];
  int64_t rest = begin;
  for (int d = last; d >= 0; --d) {
    index[d] = rest % loop.shape[d];
    rest /= loop.shape[d];
  }
  for (int k = 0; k < loop.n; ++k) {
    data[k] = loop.data[k];
    for (int d = 0; d <= last; ++d) data[k] += index[d] * loop.strides[k][d];
  }
  // Advances by `by` along dimension d, and carries into the outer dimensions.
  const auto advance = [&](int d, int64_t by) {
    index[d] += by;
    for (int k = 0; k < loop.n; ++k) data[k] += by * loop.strides[k][d];
    for (; d > 0 && index[d] == loop.shape[d]; --d) {
      for (int k = 0; k < loop.n; ++k) data[k] += loop.strides[k][d - 1] - loop.shape[d] * loop.strides[k][d];
      index[d] = 0;
      ++index[d - 1];
    }
  };
  const int64_t cols = loop.shape[last];
  while (begin < end) {
    if ((loop.short_rows || loop.plain) && index[last] == 0 && end - begin >= cols) {
      const int64_t rows = std::min(loop.shape[last - 1] - index[last - 1], (end - begin) / cols);
      (loop.short_rows ? run_rows : run_direct_rows)(loop, data, rows);
      begin += rows * cols;
      advance(last - 1, rows);
    } else {
      const int64_t n = std::min(cols - index[last], end - begin);
      if (loop.plain) run_direct(loop, data, n);
      else run_stretch(loop, data, n);
      begin += n;
      advance(last, n);
    }
  }
}

// Runs the inner loop once, for operands of at most `limit` elements that have the shape, layout and compute dtype of
// the output or are single values. Returns false for others. For small tensors, planning takes longer than the loop
// itself.
bool run_small(std::initializer_list<Operand> operands, Inner inner, const void* params, int64_t limit) {
  const View& out = operands.begin()->view;
  int64_t total = 1;
  for (int d = out.ndim - 1; d >= 0; --d) {
    if (out.strides[d] != total && out.shape[d] != 1) return false;
    total *= out.shape[d];
    if (total > limit) return false;
  }
  if (total == 0 || operands.begin()->compute != out.dtype) return false;
  char* data[kMaxOperands] = {static_cast<char*>(out.data)};
  alignas(kMaxItemSize) char values[kMaxOperands][kMaxItemSize];
  unsigned scalars = 0;
  int k = 1;
  for (const Operand* op = operands.begin() + 1; op != operands.end(); ++op, ++k) {
    const View& v = op->view;
    data[k] = static_cast<char*>(v.data);
    if (v.ndim == 0) {
      scalars |= 1u << k;
      if (v.dtype == op->compute) continue;
      gather(values[k], op->compute, data[k], 0, v.dtype, 1);
      data[k] = values[k];
      continue;
    }
    if (v.ndim != out.ndim || v.dtype != op->compute) return false;
    for (int d = 0; d < v.ndim; ++d)
      if (v.shape[d] != out.shape[d] || (v.strides[d] != out.strides[d] && v.shape[d] != 1)) return false;
  }
  inner(data, scalars, total, params);
  return true;
}

}  // namespace

void unsupported(DType t) {
  fail<DTypeError>("not defined for ", t, " tensors",
                   is_complex(t) ? "; apply it to x.real or x.imag" : "; convert them first, e.g. with float()");
}

void elementwise(std::initializer_list<Operand> operands, Inner inner, Params params, int64_t grain, bool fetches) {
  if (on_meta) [[unlikely]]
    return;
  capture::interrupt("an operation runs a loop outside a kernel");
  if (note) [[unlikely]]
    note(operands, inner, params, grain);
  if (run_small(operands, inner, params.data, std::min(grain, kSmall))) return;
  Loop loop;
  loop.inner = inner;
  loop.params = params.data;
  if (!flatten(loop, operands)) plan(loop, operands);
  if (loop.total == 0) return;
  prepare(loop, grain, fetches);
  parallel_for(loop.total, grain, [&](int64_t begin, int64_t end) {
    run(loop, begin, end);
    if (loop.stream) stream_fence();
  });
}

}  // namespace genesis::kernels
