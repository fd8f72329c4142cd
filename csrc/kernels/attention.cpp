// Attention by blocks of queries and keys, with the running maximum and sum of each row ("online softmax", Milakov and
// Gimelshein 2018; in blocks, Dao et al. 2022). A task is one head, or a part of its queries (forward) or keys
// (backward) where heads are few; tasks are cut by shape alone.
//
// Forward, for a block of queries: for each block of keys it may see, scores = Q K^T, masked; weights = exp(scores -
// maximum); out += weights V. Backward makes the weights again from lse, block by block:
//   dV += W^T dO      dW = dO V^T      dS = W (dW - rowsum(dO O))      dQ += dS K      dK += dS^T Q
#include "kernels/attention.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/parallel.h"
#include "kernels/convert.h"
#include "kernels/elementwise.h"
#include "kernels/gemm_block.h"
#include "kernels/random_words.h"
#include "kernels/vecmath.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kQueries = 36;  // rows of a block: tiles of 4, 6 and 9 rows fit
constexpr int64_t kKeys = 128;    // columns of a block, or half of that if there are no more
constexpr int64_t kTasks = 8;     // heads are cut if there are fewer

thread_local Arena arena;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct Shape {
  int64_t batch, heads, key_heads, queries, keys, dim, value_dim;
  Shape(const View& q, const View& k, const View& v)
      : batch(q.shape[0]), heads(q.shape[1]), key_heads(k.shape[1]), queries(q.shape[2]), keys(k.shape[2]),
        dim(q.shape[3]), value_dim(v.shape[3]) {}
  int64_t share() const { return heads / key_heads; }  // heads to a key head
  int64_t width() const { return keys <= kKeys / 2 ? kKeys / 2 : kKeys; }  // of a block
};

// The matrix of one head: rows of contiguous elements.
struct Head {
  char* data;
  int64_t stride;  // between rows, in elements
  DType dtype;
  Head(const View& v, int64_t b, int64_t h)
      : data(static_cast<char*>(v.data) + (b * v.strides[0] + h * v.strides[1]) * itemsize(v.dtype)),
        stride(v.strides[2]), dtype(v.dtype) {}
  char* row(int64_t i) const { return data + i * stride * itemsize(dtype); }
};

// Rows in T: where they lie if that suits, else copied. Rows far apart by a power of two would share few cache sets.
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
HeadRows<T> rows_of(const Head& x, int64_t first, int64_t count, int64_t cols, T* copy) {
  if (suits<T>(x, cols)) return {reinterpret_cast<const T*>(x.row(first)), x.stride};
  for (int64_t i = 0; i < count; ++i)
    gather(copy + i * cols, dtype_of<T>, x.row(first + i), itemsize(x.dtype), x.dtype, cols);
  return {copy, cols};
}
template <class T>
void write_row(const Head& x, int64_t i, const T* row, int64_t cols) {
  if (x.dtype == dtype_of<T>) std::copy_n(row, cols, reinterpret_cast<T*>(x.row(i)));
  else kernels::scatter(x.row(i), itemsize(x.dtype), x.dtype, row, dtype_of<T>, cols);
}

// ----- One block of scores: `rows` x `cols` with rows `width` apart. -----

template <class T>
struct Block {
  T* data;
  int64_t width, rows, cols, query, key;  // query and key: numbers of the first
  T* row(int64_t i) const { return data + i * width; }
  int64_t whole() const { return ceil_div(cols, kLanes<T>) * kLanes<T>; }  // columns, in whole vectors
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

// Scores of row i that are not masked by causality, in whole vectors: -inf up to there, and what lies behind is not
// looked at.
template <class T>
int64_t seen_of(const Block<T>& s, int64_t i, bool causal) {
  const int64_t seen = causal ? std::clamp<int64_t>(s.query + i + 1 - s.key, 0, s.cols) : s.cols;
  const int64_t whole = ceil_div(seen, kLanes<T>) * kLanes<T>;
  for (int64_t j = seen; j < whole; ++j) s.row(i)[j] = kNone<T>;
  return whole;
}

// Adds a mask to scores, -inf where a bool mask is false.
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

// exp(x) for x up to 80. What would be subnormal is 0: computing with subnormals is slow, and masked scores are many.
[[gnu::always_inline]] inline Vec<float> exp_or_zero(Vec<float> x) {
  typedef uint32_t Bits __attribute__((vector_size(kVectorBytes)));
  const auto all = [](float v) { return broadcast(v); };
  const Vec<float> least = all(-87.3f), biased = all(vec::magic + 127.0f);
  const Vec<float> c = x < least ? least : x;
  const Vec<float> t = fma(c, all(vec::log2e), biased), n = t - biased;
  const Vec<float> r = fma(n, all(-vec::ln2_lo), fma(n, all(-vec::ln2_hi), c)), z = r * r;
  const Vec<float> low = fma(r, all(0.166665167f), all(0.49999994f)), high = fma(r, all(0.00836925022f), all(0.041668281f));
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

// The first n of `whole` scores become exp(score - by), the others 0. Returns the sum.
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

// Factors of dropout for keys [key, key + cols) of one row of weights; key is a multiple of 4.
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

// Scores of a block, masked but for causality.
template <class T>
void scores(const Block<T>& s, const HeadRows<T>& q, const T* keys_transposed, int64_t dim, T scale, const MaskRows& mask) {
  block_product<T, Order::row_major>(s.rows, s.cols, dim, scale, q.data, q.stride, keys_transposed, s.width, T(0),
                                     s.data, s.width);
  if (mask.data) apply_mask(s, mask);
}

// How many keys the queries before `end` may see.
int64_t visible(const Shape& s, bool causal, int64_t end) { return causal ? std::min(s.keys, end) : s.keys; }

// Blocks of queries, about equally high.
struct QueryBlocks {
  int64_t height, count;
  explicit QueryBlocks(int64_t queries)
      : height(ceil_div(queries, ceil_div(queries, kQueries))), count(ceil_div(queries, height)) {}
};

// ----- Forward -----

template <class T>
void forward_task(View out, View lse, View q, View k, View v, View mask, const AttentionOptions& o, const Shape& s,
                  int64_t b, int64_t h, int64_t first, int64_t end) {
  const QueryBlocks blocks(s.queries);
  const int64_t key_end = visible(s, o.causal, std::min(s.queries, end * blocks.height));
  const int64_t width = s.width(), panels = ceil_div(key_end, width);
  const int64_t all = key_end * s.dim, values = key_end * s.value_dim;
  arena.reset(Arena::bytes<T>(all) + Arena::bytes<T>(values) + Arena::bytes<T>(panels * width * s.dim) +
              Arena::bytes<T>(blocks.height * (width + s.dim + s.value_dim)) + 256);
  const Head qh(q, b, h), kh(k, b, h / s.share()), vh(v, b, h / s.share()), oh(out, b, h);
  const HeadRows<T> keys = rows_of(kh, 0, key_end, s.dim, arena.take<T>(all));
  const HeadRows<T> value = rows_of(vh, 0, key_end, s.value_dim, arena.take<T>(values));
  T* transposed = arena.take<T>(panels * width * s.dim);
  pack(keys.data, keys.stride, int64_t{1}, key_end, s.dim, transposed, width);
  T* score = arena.take<T>(blocks.height * width);
  T* sum = arena.take<T>(blocks.height * s.value_dim);
  T* q_copy = arena.take<T>(blocks.height * s.dim);
  const MaskRows mask_rows(mask, b, h);
  Dropout dropout(o.dropout, o.draw, s.keys);
  const int64_t head_row = (b * s.heads + h) * s.queries;

  for (int64_t block = first; block < end; ++block) {
    const int64_t query = block * blocks.height, rows = std::min(blocks.height, s.queries - query);
    const int64_t seen = visible(s, o.causal, query + rows);
    const HeadRows<T> qr = rows_of(qh, query, rows, s.dim, q_copy);
    T most[kQueries], total[kQueries];
    std::fill_n(most, rows, kNone<T>);
    std::fill_n(total, rows, T(0));
    std::fill_n(sum, rows * s.value_dim, T(0));
    for (int64_t key = 0; key < seen; key += width) {
      const Block<T> w{score, width, rows, std::min(width, seen - key), query, key};
      scores(w, qr, transposed + key * s.dim, s.dim, static_cast<T>(o.scale), mask_rows);
      for (int64_t i = 0; i < rows; ++i) {
        T* row = w.row(i);
        const int64_t seen_here = seen_of(w, i, o.causal);
        const T larger = std::max(most[i], max_of(row, seen_here));
        const T by = larger == kNone<T> ? T(0) : larger;  // exp(-inf - by) is then 0, not NaN
        const T added = exponentials(row, seen_here, w.whole(), by);
        if (larger != most[i] && key > 0) {
          const T shrink = std::exp(most[i] - by);
          total[i] *= shrink;
          T* acc = sum + i * s.value_dim;
#pragma GCC ivdep
          for (int64_t j = 0; j < s.value_dim; ++j) acc[j] *= shrink;
        }
        most[i] = larger;
        total[i] += added;
      }
      if (dropout) dropout.apply(w, head_row);
      block_product<T, Order::row_major>(rows, s.value_dim, w.cols, T(1), w.data, width, value.data + key * value.stride,
                                         value.stride, T(1), sum, s.value_dim);
    }
    for (int64_t i = 0; i < rows; ++i) {
      const bool none = most[i] == kNone<T>;
      const T factor = none ? T(0) : 1 / total[i];
      T* acc = sum + i * s.value_dim;
#pragma GCC ivdep
      for (int64_t j = 0; j < s.value_dim; ++j) acc[j] *= factor;
      write_row(oh, query + i, acc, s.value_dim);
      lse.as<T>()[head_row + query + i] = none ? -kNone<T> : most[i] + std::log(total[i]);
    }
  }
}

template <class T>
void forward(View out, View lse, View q, View k, View v, View mask, const AttentionOptions& o) {
  const Shape s(q, k, v);
  const int64_t heads = s.batch * s.heads, blocks = QueryBlocks(s.queries).count;
  const int64_t parts = std::min(blocks, heads >= kTasks ? 1 : ceil_div(kTasks, heads));
  parallel_for(heads * parts, std::max<int64_t>(1, 32768 / (s.queries * s.keys * (s.dim + s.value_dim) / 32 + 1)),
               [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t head = t / parts, part = t % parts;
      forward_task<T>(out, lse, q, k, v, mask, o, s, head / s.heads, head % s.heads, part * blocks / parts,
                      (part + 1) * blocks / parts);
    }
  });
}

// ----- Backward -----

// Keys [first, end) of one key head, and all queries. dq takes the gradients of queries, or their part from these keys.
template <class T>
void backward_task(View dq, View dk, View dv, View dout, View out, View lse, View q, View k, View v, View mask,
                   const AttentionOptions& o, const Shape& s, int64_t b, int64_t key_head, int64_t first, int64_t end) {
  const QueryBlocks blocks(s.queries);
  const int64_t width = s.width(), count = end - first, panels = ceil_div(count, width), height = blocks.height;
  arena.reset(2 * Arena::bytes<T>(count * s.dim) + 2 * Arena::bytes<T>(count * s.value_dim) +
              Arena::bytes<T>(panels * width * s.dim) + Arena::bytes<T>(panels * width * s.value_dim) +
              2 * Arena::bytes<T>(height * width) + Arena::bytes<T>(height * s.dim) * 2 +
              Arena::bytes<T>(height * s.value_dim) * 2);
  const Head kh(k, b, key_head), vh(v, b, key_head);
  const HeadRows<T> keys = rows_of(kh, first, count, s.dim, arena.take<T>(count * s.dim));
  const HeadRows<T> values = rows_of(vh, first, count, s.value_dim, arena.take<T>(count * s.value_dim));
  T* keys_transposed = arena.take<T>(panels * width * s.dim);
  T* values_transposed = arena.take<T>(panels * width * s.value_dim);
  pack(keys.data, keys.stride, int64_t{1}, count, s.dim, keys_transposed, width);
  pack(values.data, values.stride, int64_t{1}, count, s.value_dim, values_transposed, width);
  T *dkeys = arena.take<T>(count * s.dim), *dvalues = arena.take<T>(count * s.value_dim);
  std::fill_n(dkeys, count * s.dim, T(0));
  std::fill_n(dvalues, count * s.value_dim, T(0));
  T *weight = arena.take<T>(height * width), *dweight = arena.take<T>(height * width);
  T *dquery = arena.take<T>(height * s.dim), *q_copy = arena.take<T>(height * s.dim);
  T *dout_copy = arena.take<T>(height * s.value_dim), *out_copy = arena.take<T>(height * s.value_dim);
  const T scale = static_cast<T>(o.scale);
  Dropout dropout(o.dropout, o.draw, s.keys);
  alignas(64) T factors[kKeys];

  for (int64_t h = key_head * s.share(); h < (key_head + 1) * s.share(); ++h) {
    const Head qh(q, b, h), oh(out, b, h), doh(dout, b, h);
    const MaskRows mask_rows(mask, b, h);
    const int64_t head_row = (b * s.heads + h) * s.queries;
    for (int64_t block = 0; block < blocks.count; ++block) {
      const int64_t query = block * height, rows = std::min(height, s.queries - query);
      const int64_t seen = std::min(end, visible(s, o.causal, query + rows));
      std::fill_n(dquery, rows * s.dim, T(0));
      const HeadRows<T> qr = rows_of(qh, query, rows, s.dim, q_copy);
      const HeadRows<T> dor = rows_of(doh, query, rows, s.value_dim, dout_copy);
      T dot[kQueries];
      if (seen > first) {
        const HeadRows<T> outr = rows_of(oh, query, rows, s.value_dim, out_copy);
        for (int64_t i = 0; i < rows; ++i)
          dot[i] = dot_of(dor.data + i * dor.stride, outr.data + i * outr.stride, s.value_dim);
      }
      for (int64_t key = first; key < seen; key += width) {
        const int64_t at = key - first;
        const Block<T> w{weight, width, rows, std::min(width, seen - key), query, key};
        const Block<T> d{dweight, width, rows, w.cols, query, key};
        scores(w, qr, keys_transposed + at * s.dim, s.dim, scale, mask_rows);
        for (int64_t i = 0; i < rows; ++i)
          exponentials(w.row(i), seen_of(w, i, o.causal), w.whole(), lse.as<T>()[head_row + query + i]);
        block_product<T, Order::row_major>(rows, w.cols, s.value_dim, T(1), dor.data, dor.stride,
                                           values_transposed + at * s.value_dim, width, T(0), d.data, width);
        for (int64_t i = 0; i < rows; ++i) {
          T *wr = w.row(i), *dr = d.row(i);
          const T by = dot[i];
          if (dropout) {
            dropout.factors(factors, head_row + query + i, key, w.cols);
            for (int64_t j = 0; j < w.cols; ++j) {
              dr[j] = wr[j] * (dr[j] * factors[j] - by);
              wr[j] *= factors[j];
            }
          } else {
#pragma GCC ivdep
            for (int64_t j = 0; j < w.cols; ++j) dr[j] = wr[j] * (dr[j] - by);
          }
        }
        if (dv.data)
          block_product<T, Order::column_major>(w.cols, s.value_dim, rows, T(1), w.data, width, dor.data, dor.stride, T(1),
                                                dvalues + at * s.value_dim, s.value_dim);
        if (dk.data)
          block_product<T, Order::column_major>(w.cols, s.dim, rows, scale, d.data, width, qr.data, qr.stride, T(1),
                                                dkeys + at * s.dim, s.dim);
        if (dq.data)
          block_product<T, Order::row_major>(rows, s.dim, w.cols, scale, d.data, width, keys.data + at * keys.stride,
                                             keys.stride, T(1), dquery, s.dim);
      }
      if (dq.data) {
        const Head dqh(dq, b, h);
        for (int64_t i = 0; i < rows; ++i) write_row(dqh, query + i, dquery + i * s.dim, s.dim);
      }
    }
  }
  if (dk.data)
    for (int64_t i = 0; i < count; ++i) write_row(Head(dk, b, key_head), first + i, dkeys + i * s.dim, s.dim);
  if (dv.data)
    for (int64_t i = 0; i < count; ++i) write_row(Head(dv, b, key_head), first + i, dvalues + i * s.value_dim, s.value_dim);
}

template <class T>
void backward(View dq, View dk, View dv, View dout, View out, View lse, View q, View k, View v, View mask,
              const AttentionOptions& o) {
  const Shape s(q, k, v);
  const int64_t heads = s.batch * s.key_heads, width = s.width(), panels = ceil_div(s.keys, width);
  const int64_t parts = std::clamp<int64_t>(heads >= kTasks ? 1 : ceil_div(kTasks, heads), 1, std::max<int64_t>(1, panels));
  // With keys in several parts, each makes its part of dq; they are added up in order.
  const int64_t size = s.batch * s.heads * s.queries * s.dim;
  std::vector<T> partial(parts > 1 && dq.data ? static_cast<size_t>(parts * size) : 0);
  const int64_t shape[] = {s.batch, s.heads, s.queries, s.dim};
  const int64_t strides[] = {s.heads * s.queries * s.dim, s.queries * s.dim, s.dim, 1};
  parallel_for(heads * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t head = t / parts, part = t % parts;
      const View dq_part = partial.empty() ? dq : View{partial.data() + part * size, dtype_of<T>, 4, shape, strides};
      backward_task<T>(dq_part, dk, dv, dout, out, lse, q, k, v, mask, o, s, head / s.key_heads, head % s.key_heads,
                       part * panels / parts * width, std::min(s.keys, (part + 1) * panels / parts * width));
    }
  });
  if (partial.empty()) return;
  for (int64_t part = 1; part < parts; ++part)
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) partial[static_cast<size_t>(i)] += partial[static_cast<size_t>(part * size + i)];
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t i = 0; i < s.queries; ++i)
        write_row(Head(dq, b, h), i, partial.data() + ((b * s.heads + h) * s.queries + i) * s.dim, s.dim);
}

}  // namespace

void attention(View out, View lse, View q, View k, View v, View mask, const AttentionOptions& options) {
  if (compute_type(q.dtype) == DType::Float64) forward<double>(out, lse, q, k, v, mask, options);
  else forward<float>(out, lse, q, k, v, mask, options);
}
void attention_backward(View dq, View dk, View dv, View dout, View out, View lse, View q, View k, View v, View mask,
                        const AttentionOptions& options) {
  if (compute_type(q.dtype) == DType::Float64) backward<double>(dq, dk, dv, dout, out, lse, q, k, v, mask, options);
  else backward<float>(dq, dk, dv, dout, out, lse, q, k, v, mask, options);
}
void attention_dropout(View factors, double p, Draw draw) {
  const int64_t keys = factors.shape[3], rows = factors.shape[0] * factors.shape[1] * factors.shape[2];
  Dropout dropout(p, draw, keys);
  double row[kKeys];
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t key = 0; key < keys; key += kKeys) {
      const int64_t cols = std::min(kKeys, keys - key), item = itemsize(factors.dtype);
      dropout.factors(row, r, key, cols);
      kernels::scatter(static_cast<char*>(factors.data) + (r * keys + key) * item, item, factors.dtype, row, DType::Float64,
                       cols);
    }
}
GENESIS_KERNEL(attention)
GENESIS_KERNEL(attention_backward)
GENESIS_KERNEL(attention_dropout)

}  // namespace genesis::kernels::GENESIS_ISA
