#include "kernels/elementwise.h"

#include <algorithm>

#include "core/parallel.h"
#include "kernels/convert.h"

namespace genesis::kernels {

namespace {

struct Loop {
  int n = 0;  // operands
  int ndim = 0;
  int64_t total = 1;
  int64_t shape[kMaxDims];
  int64_t strides[kMaxOperands][kMaxDims];  // in bytes
  char* data[kMaxOperands];
  DType dtype[kMaxOperands];
  DType compute[kMaxOperands];
  Inner inner;
  const void* params;
};

// Every operand is either one value or has the shape and layout of the output: one long dimension.
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
      loop.strides[k][d] =
          d < lead || v.shape[d - lead] == 1 ? 0 : v.strides[d - lead] * itemsize(v.dtype);
    loop.data[k] = static_cast<char*>(v.data);
    loop.dtype[k] = v.dtype;
    loop.compute[k] = op.compute;
  }
  // Outermost the largest steps of the output (of the inputs where those tie), then merge what is contiguous.
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
    for (int k = 0; k < loop.n && merge; ++k)
      merge = loop.strides[k][kept - 1] == loop.strides[k][d] * loop.shape[d];
    const int64_t size = loop.shape[d];  // read first: kept may be d
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

// One stretch along the innermost dimension, in tiles.
void run_inner(const Loop& loop, char* const* data, int64_t n) {
  alignas(64) char buffers[kMaxOperands][kTile * 8];
  const int last = loop.ndim - 1;
  bool direct[kMaxOperands];
  unsigned scalars = 0;
  bool any_buffer = false;
  char* at[kMaxOperands];
  for (int k = 0; k < loop.n; ++k) {
    const int64_t stride = loop.strides[k][last];
    direct[k] = loop.dtype[k] == loop.compute[k] && (stride == itemsize(loop.dtype[k]) || (k == 0 && n == 1));
    at[k] = data[k];
    if (k > 0 && stride == 0) {
      scalars |= 1u << k;
      direct[k] = true;
      if (loop.dtype[k] != loop.compute[k]) {
        gather(buffers[k], loop.compute[k], data[k], 0, loop.dtype[k], 1);
        at[k] = buffers[k];
      }
    }
    any_buffer |= !direct[k];
  }
  if (!any_buffer) {
    loop.inner(at, scalars, n, loop.params);
    return;
  }
  for (int64_t i = 0; i < n; i += kTile) {
    const int64_t m = std::min(kTile, n - i);
    char* tile[kMaxOperands];
    for (int k = 0; k < loop.n; ++k) {
      const int64_t stride = loop.strides[k][last];
      if (scalars >> k & 1) {
        tile[k] = at[k];
      } else if (direct[k]) {
        tile[k] = data[k] + i * stride;
      } else {
        tile[k] = buffers[k];
        if (k > 0) gather(tile[k], loop.compute[k], data[k] + i * stride, stride, loop.dtype[k], m);
      }
    }
    loop.inner(tile, scalars, m, loop.params);
    if (!direct[0]) {
      const int64_t stride = loop.strides[0][last];
      scatter(data[0] + i * stride, stride, loop.dtype[0], tile[0], loop.compute[0], m);
    }
  }
}

void run(const Loop& loop, int64_t begin, int64_t end) {
  const int last = loop.ndim - 1;
  char* data[kMaxOperands];
  if (last == 0) {
    for (int k = 0; k < loop.n; ++k) data[k] = loop.data[k] + begin * loop.strides[k][0];
    run_inner(loop, data, end - begin);
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
  while (begin < end) {
    const int64_t n = std::min(loop.shape[last] - index[last], end - begin);
    run_inner(loop, data, n);
    begin += n;
    // Step to the beginning of the next stretch.
    for (int k = 0; k < loop.n; ++k) data[k] -= index[last] * loop.strides[k][last];
    index[last] = 0;
    for (int d = last - 1; d >= 0; --d) {
      if (++index[d] < loop.shape[d]) {
        for (int k = 0; k < loop.n; ++k) data[k] += loop.strides[k][d];
        break;
      }
      for (int k = 0; k < loop.n; ++k) data[k] -= (loop.shape[d] - 1) * loop.strides[k][d];
      index[d] = 0;
    }
  }
}

}  // namespace

void elementwise(std::initializer_list<Operand> operands, Inner inner, const void* params, int64_t grain) {
  Loop loop;
  loop.inner = inner;
  loop.params = params;
  if (!flatten(loop, operands)) plan(loop, operands);
  if (loop.total == 0) return;
  parallel_for(loop.total, grain, [&](int64_t begin, int64_t end) { run(loop, begin, end); });
}

}  // namespace genesis::kernels
