// Shared by the attention kernels: the matrix of a head, and one block of its scores and weights.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/attention/attention.h"
#include "kernels/elementwise/convert.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/vecmath.h"
#include "kernels/gemm/block.h"
#include "kernels/random/words.h"
#include "kernels/work.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kQueries = 36;  // rows of a block: a multiple of tiles of 4, 6 and 9 rows
constexpr int64_t kKeys = 128;    // columns of a block; half of that if there are at most that many keys
constexpr int64_t kTasks = 8;     // heads are split if there are fewer
constexpr int64_t kFew = 4;       // with at most this many queries, packing the keys does not pay off

const Arena arena;

struct Shape {
  int64_t batch, heads, key_heads, queries, keys, dim, value_dim;
  Shape(const View& q, const View& k, const View& v)
      : batch(q.shape[0]),
        heads(q.shape[1]),
        key_heads(k.shape[1]),
        queries(q.shape[2]),
        keys(k.shape[2]),
        dim(q.shape[3]),
        value_dim(v.shape[3]) {}
  int64_t share() const { return heads / key_heads; }                      // heads per key head
  int64_t width() const { return keys <= kKeys / 2 ? kKeys / 2 : kKeys; }  // of a block
};

// The matrix of one head. The elements of a row are contiguous.
struct Head {
  char* data;
  int64_t stride;  // between rows, in elements
  DType dtype;
  Head(const View& v, int64_t b, int64_t h)
      : data(static_cast<char*>(v.data) + (b * v.strides[0] + h * v.strides[1]) * itemsize(v.dtype)),
        stride(v.strides[2]),
        dtype(v.dtype) {}
  char* row(int64_t i) const { return data + i * stride * itemsize(dtype); }
};

// The rows of a head in T, in place if the layout allows it, otherwise copied. Rows whose distance is a large power of
// two are copied because they would share few cache sets.
template <class T>
struct HeadRows {
  const T* data;
  int64_t stride;
};
template <class T>
bool suits(const Head& x, int64_t cols) {
  return x.dtype == dtype_of<T> && (x.stride == cols || x.stride * int64_t{sizeof(T)} % 1024 != 0);
}
template <class T>
HeadRows<T> rows_of(const Head& x, int64_t first, int64_t count, int64_t cols, T* copy, bool read_once = false) {
  if (suits<T>(x, cols) || (read_once && x.dtype == dtype_of<T>))
    return {reinterpret_cast<const T*>(x.row(first)), x.stride};
  for (int64_t i = 0; i < count; ++i)
    gather(copy + i * cols, dtype_of<T>, x.row(first + i), itemsize(x.dtype), x.dtype, cols);
  return {copy, cols};
}
template <class T>
void write_row(const Head& x, int64_t i, const T* row, int64_t cols) {
  if (x.dtype == dtype_of<T>) std::copy_n(row, cols, reinterpret_cast<T*>(x.row(i)));
  else kernels::scatter(x.row(i), itemsize(x.dtype), x.dtype, row, dtype_of<T>, cols);
}

// ----- One block of scores: `rows` x `cols`, with a row stride of `width` -----

template <class T>
struct Block {
  T* data;
  int64_t width, rows, cols, query, key;  // query and key: indices of the first row and column
  T* row(int64_t i) const { return data + i * width; }
  int64_t whole() const { return ceil_div(cols, kLanes<T>) * kLanes<T>; }  // columns, rounded up to full vectors
};

template <class T>
constexpr T kNone = -std::numeric_limits<T>::infinity();

struct MaskRows {
  const char* data = nullptr;
  int64_t row = 0, col = 0;  // strides in bytes
  DType dtype = DType::Bool;
  MaskRows(const View& m, int64_t b, int64_t h) {
    if (!m.data) return;
    const int64_t item = itemsize(m.dtype);
    data = static_cast<const char*>(m.data) + (b * m.strides[0] + h * m.strides[1]) * item;
    row = m.strides[2] * item;
    col = m.strides[3] * item;
    dtype = m.dtype;
  }
};

// The number of scores of row i that causality leaves visible, rounded up to full vectors and filled with -inf. Scores
// beyond are not read.
template <class T>
int64_t seen_of(const Block<T>& s, int64_t i, bool causal) {
  const int64_t seen = causal ? std::clamp<int64_t>(s.query + i + 1 - s.key, 0, s.cols) : s.cols;
  const int64_t whole = ceil_div(seen, kLanes<T>) * kLanes<T>;
  for (int64_t j = seen; j < whole; ++j) s.row(i)[j] = kNone<T>;
  return whole;
}

// Adds the mask to the scores, or -inf where a bool mask is false.
template <class T>
void apply_mask(const Block<T>& s, const MaskRows& mask) {
  alignas(64) T buffer[kKeys];
  for (int64_t i = 0; i < s.rows; ++i) {
    T* row = s.row(i);
    const char* from = mask.data + (s.query + i) * mask.row + s.key * mask.col;
    if (mask.dtype == DType::Bool && mask.col == 1) {
      const uint8_t* keep = reinterpret_cast<const uint8_t*>(from);
#pragma GCC ivdep
      for (int64_t j = 0; j < s.cols; ++j) row[j] = keep[j] ? row[j] : kNone<T>;
      continue;
    }
    const T* add = reinterpret_cast<const T*>(from);
    if (mask.dtype != dtype_of<T> || mask.col != sizeof(T)) {
      gather(buffer, dtype_of<T>, from, mask.col, mask.dtype, s.cols);
      add = buffer;
    }
    if (mask.dtype == DType::Bool) {
#pragma GCC ivdep
      for (int64_t j = 0; j < s.cols; ++j) row[j] = add[j] != 0 ? row[j] : kNone<T>;
    } else {
#pragma GCC ivdep
      for (int64_t j = 0; j < s.cols; ++j) row[j] += add[j];
    }
  }
}

// exp(x) for x up to 80. Subnormal results are flushed to 0: arithmetic on subnormals is slow, and masked scores
// produce many of them.
[[gnu::always_inline]] inline Vec<float> exp_or_zero(Vec<float> x) {
  typedef uint32_t Bits __attribute__((vector_size(kVectorBytes)));
  const auto all = [](float v) { return broadcast(v); };
  const Vec<float> least = all(-87.3f), biased = all(vec::magic + 127.0f);
  const Vec<float> c = x < least ? least : x;
  const Vec<float> t = fma(c, all(vec::log2e), biased), n = t - biased;
  const Vec<float> r = fma(n, all(-vec::ln2_lo), fma(n, all(-vec::ln2_hi), c)), z = r * r;
  const Vec<float> low = fma(r, all(0.166665167f), all(0.49999994f)),
                   high = fma(r, all(0.00836925022f), all(0.041668281f));
  const Vec<float> y = fma(z, fma(z, fma(z, all(0.00138208002f), high), low), r);  // expm1(r)
  const Vec<float> scale = (Vec<float>)((Bits)t << 23);
  return x < least ? Vec<float>{} : fma(y, scale, scale);
}
[[gnu::always_inline]] inline Vec<double> exp_or_zero(Vec<double> x) {
  Vec<double> y;
  for (int i = 0; i < kLanes<double>; ++i) y[i] = x[i] < -708 ? 0 : vexp(x[i]);
  return y;
}

template <class T>
T max_of(const T* x, int64_t n) {
  Vec<T> most = broadcast(kNone<T>);
  for (int64_t i = 0; i < n; i += kLanes<T>) {
    const Vec<T> v = load(x + i);
    most = v > most ? v : most;
  }
  T result = most[0];
  for (int i = 1; i < kLanes<T>; ++i) result = most[i] > result ? most[i] : result;
  return result;
}
template <class T>
T total_of(Vec<T> v) {
  T lanes[kLanes<T>];
  store(lanes, v);
  for (int half = kLanes<T> / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}
template <class T>
T dot_of(const T* x, const T* y, int64_t n) {
  Vec<T> sum{};
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) sum = fma(load(x + i), load(y + i), sum);
  T rest = 0;
  for (; i < n; ++i) rest += x[i] * y[i];
  return total_of<T>(sum) + rest;
}

// Replaces the first n of `whole` scores by exp(score - by) and the others by 0. Returns the sum.
template <class T>
T exponentials(T* row, int64_t n, int64_t whole, T by) {
  Vec<T> sum{};
  const Vec<T> less = broadcast(by);
  int64_t j = 0;
  for (; j < n; j += kLanes<T>) {
    const Vec<T> e = exp_or_zero(load(row + j) - less);
    store(row + j, e);
    sum += e;
  }
  for (; j < whole; j += kLanes<T>) store(row + j, Vec<T>{});
  return total_of<T>(sum);
}

// Dropout factors of keys [key, key + cols) of one row of weights. `key` is a multiple of 4.
class Dropout {
 public:
  Dropout(double p, Draw draw, int64_t keys)
      : p_(static_cast<float>(p)), scale_(p < 1 ? 1 / (1 - p) : 0), draw_(draw), per_row_(ceil_div(keys, 4)) {}
  explicit operator bool() const { return p_ > 0; }
  template <class T>
  void factors(T* out, int64_t row, int64_t key, int64_t cols) {
    const int64_t count = ceil_div(cols, 4);
    generate(words_, draw_, static_cast<uint64_t>(row * per_row_ + key / 4), count);
    for (int64_t k = 0; k < count; ++k)
      for (int64_t j = 0; j < 4 && 4 * k + j < cols; ++j)
        out[4 * k + j] = uniform_float(words_.w[j][k]) < p_ ? T(0) : static_cast<T>(scale_);
  }
  template <class T>
  void apply(const Block<T>& s, int64_t head_row) {
    alignas(64) T f[kKeys];
    for (int64_t i = 0; i < s.rows; ++i) {
      factors(f, head_row + s.query + i, s.key, s.cols);
      T* row = s.row(i);
      for (int64_t j = 0; j < s.cols; ++j) row[j] *= f[j];
    }
  }

 private:
  float p_;
  double scale_;
  Draw draw_;
  int64_t per_row_;
  Words words_;
};

// The scores of a block, with the mask applied, but not causality.
template <class T>
void scores(const Block<T>& s, const HeadRows<T>& q, const T* keys_transposed, int64_t dim, T scale,
            const MaskRows& mask) {
  block_product<T, Order::row_major>(s.rows, s.cols, dim, scale, q.data, q.stride, keys_transposed, s.width, T(0),
                                     s.data, s.width);
  if (mask.data) apply_mask(s, mask);
}

// The same by dot products with the keys in place, for few queries.
template <class T>
void few_scores(const Block<T>& s, const HeadRows<T>& q, const HeadRows<T>& keys, int64_t dim, T scale,
                const MaskRows& mask) {
  for (int64_t j = 0; j < s.cols; j += 4) {
    const T* four[4];
    for (int64_t n = 0; n < 4; ++n) four[n] = keys.data + (s.key + std::min(j + n, s.cols - 1)) * keys.stride;
    for (int64_t i = 0; i < s.rows; ++i) {
      T dots[1][4];
      dot_tile<T, 1>(dim, q.data + i * q.stride, 0, four, dots);
      for (int64_t n = 0; n < 4; ++n) s.row(i)[j + n] = scale * dots[0][n];  // in bounds: the width is a multiple of 4
    }
  }
  if (mask.data) apply_mask(s, mask);
}

// The number of keys that are visible to the queries before `end`.
int64_t visible(const Shape& s, bool causal, int64_t end) { return causal ? std::min(s.keys, end) : s.keys; }

// Splits the queries into blocks of about equal height.
struct QueryBlocks {
  int64_t height, count;
  explicit QueryBlocks(int64_t queries)
      : height(ceil_div(queries, ceil_div(queries, kQueries))), count(ceil_div(queries, height)) {}
};

}  // namespace
}  // namespace genesis::kernels::GENESIS_ISA
