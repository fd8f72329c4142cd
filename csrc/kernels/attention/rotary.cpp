#include "kernels/attention/rotary.h"

#include <vector>

#include "core/parallel.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/loops.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// The offset of a row, given by its linear index over the leading dimensions.
int64_t offset_of(const View& v, int64_t row) {
  int64_t offset = 0;
  for (int d = v.ndim - 2; d >= 0; --d) {
    offset += row % v.shape[d] * v.strides[d];
    row /= v.shape[d];
  }
  return offset;
}

// n elements of a row in T: in place, or converted into the buffer.
template <class T>
const T* row_of(const View& v, int64_t row, int64_t n, T* buffer) {
  const int64_t item = itemsize(v.dtype);
  const char* data = static_cast<const char*>(v.data) + offset_of(v, row) * item;
  if (v.dtype == dtype_of<T> && (v.strides[v.ndim - 1] == 1 || n == 1)) return reinterpret_cast<const T*>(data);
  gather(buffer, dtype_of<T>, data, v.strides[v.ndim - 1] * item, v.dtype, n);
  return buffer;
}

template <class T>
void rotate(T* y, const T* x, const T* c, const T* s, int64_t pairs, bool interleaved, T sign) {
  if (interleaved) {
    for (int64_t i = 0; i < pairs; ++i) {
      const T a = x[2 * i], b = x[2 * i + 1], angle = sign * s[i];
      y[2 * i] = a * c[i] - b * angle;
      y[2 * i + 1] = b * c[i] + a * angle;
    }
    return;
  }
  const T* second = x + pairs;
  T* y2 = y + pairs;
#pragma GCC ivdep
  for (int64_t i = 0; i < pairs; ++i) {
    const T a = x[i], b = second[i], angle = sign * s[i];
    y[i] = a * c[i] - b * angle;
    y2[i] = b * c[i] + a * angle;
  }
}

template <class T>
void run(View y, View x, View cos, View sin, bool interleaved, bool inverse) {
  const int64_t dim = x.shape[x.ndim - 1], pairs = cos.shape[cos.ndim - 1], rows = x.numel() / dim;
  const bool direct = y.dtype == dtype_of<T>;
  parallel_for(rows, std::max<int64_t>(1, 16384 / dim), [&](int64_t begin, int64_t end) {
    std::vector<T> space(static_cast<size_t>(2 * dim + 2 * pairs));
    T *x_row = space.data(), *y_row = x_row + dim, *c_row = y_row + dim, *s_row = c_row + pairs;
    for (int64_t r = begin; r < end; ++r) {
      const T* from = row_of(x, r, dim, x_row);
      T* to = direct ? y.as<T>() + r * dim : y_row;
      rotate(to, from, row_of(cos, r, pairs, c_row), row_of(sin, r, pairs, s_row), pairs, interleaved,
             inverse ? T(-1) : T(1));
      std::copy(from + 2 * pairs, from + dim, to + 2 * pairs);
      const int64_t item = itemsize(y.dtype);
      if (!direct) scatter(static_cast<char*>(y.data) + r * dim * item, item, y.dtype, to, dtype_of<T>, dim);
    }
  });
}

}  // namespace

void rotary(View y, View x, View cos, View sin, bool interleaved, bool inverse) {
  with_floating_compute_type(y.dtype, [&]<class T>() { run<T>(y, x, cos, sin, interleaved, inverse); });
}
GENESIS_KERNEL(rotary)

}  // namespace genesis::kernels::GENESIS_ISA
