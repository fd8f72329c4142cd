// Attention over blocks of queries and keys, with a running maximum and sum per row ("online softmax", Milakov and
// Gimelshein 2018; blocked by Dao et al. 2022). A task is one head; if there are few heads, it is a range of the
// queries (forward) or keys (backward) of a head. The partition depends on the shape only.
//
// The forward pass computes, for each block of queries and each visible block of keys, scores = Q K^T with the mask
// applied, weights = exp(scores - maximum) and out += weights V. The backward pass recomputes the weights from lse,
// block by block:
//   dV += W^T dO      dW = dO V^T      dS = W (dW - rowsum(dO O))      dQ += dS K      dK += dS^T Q
#include <vector>

#include "core/parallel.h"
#include "kernels/attention/block.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

// ----- Forward -----

// The softmax of a block of queries, computed incrementally: the maximum and the sum of the exponentials of each row so
// far, and the sum of the values weighted by them.
template <class T>
struct OnlineSoftmax {
  T* sum;
  int64_t dim;  // of a row of `sum`
  T most[kQueries], total[kQueries];

  OnlineSoftmax(T* sum, int64_t dim) : sum(sum), dim(dim) {}
  void start(int64_t rows) {
    std::fill_n(most, rows, kNone<T>);
    std::fill_n(total, rows, T(0));
    std::fill_n(sum, rows * dim, T(0));
  }
  // Replaces the scores of the next block of keys by exp(score - maximum). If the maximum grows, scales the sums.
  void add(const Block<T>& w, bool causal) {
    for (int64_t i = 0; i < w.rows; ++i) {
      T* row = w.row(i);
      const int64_t seen = seen_of(w, i, causal);
      const T larger = std::max(most[i], max_of(row, seen));
      const T by = larger == kNone<T> ? T(0) : larger;  // so that exp(-inf - by) is 0, not NaN
      const T added = exponentials(row, seen, w.whole(), by);
      if (larger != most[i] && w.key > 0) {
        const T shrink = std::exp(most[i] - by);
        total[i] *= shrink;
        scale(i, shrink);
      }
      most[i] = larger;
      total[i] += added;
    }
  }
  void finish(const Head& out, T* lse, int64_t query, int64_t rows) {
    for (int64_t i = 0; i < rows; ++i) {
      const bool none = most[i] == kNone<T>;
      scale(i, none ? T(0) : 1 / total[i]);
      write_row(out, query + i, sum + i * dim, dim);
      lse[query + i] = none ? -kNone<T> : most[i] + std::log(total[i]);
    }
  }

 private:
  void scale(int64_t i, T factor) {
    T* acc = sum + i * dim;
#pragma GCC ivdep
    for (int64_t j = 0; j < dim; ++j) acc[j] *= factor;
  }
};

template <class T>
void forward_task(View out, View lse, View q, View k, View v, View mask, const AttentionOptions& o, const Shape& s,
                  int64_t b, int64_t h, int64_t first, int64_t end) {
  const QueryBlocks blocks(s.queries);
  const int64_t key_end = visible(s, o.causal, std::min(s.queries, end * blocks.height));
  const bool few = s.queries <= kFew;
  const int64_t width = s.width(), panels = few ? 0 : ceil_div(key_end, width);
  const int64_t all = key_end * s.dim, values = key_end * s.value_dim;
  arena.reset(Arena::bytes<T>(all) + Arena::bytes<T>(values) + Arena::bytes<T>(panels * width * s.dim) +
              Arena::bytes<T>(blocks.height * (width + s.dim + s.value_dim)) + 256);
  const Head qh(q, b, h), kh(k, b, h / s.share()), vh(v, b, h / s.share()), oh(out, b, h);
  const HeadRows<T> keys = rows_of(kh, 0, key_end, s.dim, arena.take<T>(all), few);
  const HeadRows<T> value = rows_of(vh, 0, key_end, s.value_dim, arena.take<T>(values), few);
  T* transposed = arena.take<T>(panels * width * s.dim);
  if (!few) pack(keys.data, keys.stride, int64_t{1}, key_end, s.dim, transposed, width);
  T* score = arena.take<T>(blocks.height * width);
  OnlineSoftmax<T> softmax(arena.take<T>(blocks.height * s.value_dim), s.value_dim);
  T* q_copy = arena.take<T>(blocks.height * s.dim);
  const MaskRows mask_rows(mask, b, h);
  Dropout dropout(o.dropout, o.draw, s.keys);
  const int64_t head_row = (b * s.heads + h) * s.queries;

  for (int64_t block = first; block < end; ++block) {
    check_interrupt();  // a task may take long
    const int64_t query = block * blocks.height, rows = std::min(blocks.height, s.queries - query);
    const int64_t seen = visible(s, o.causal, query + rows);
    const HeadRows<T> qr = rows_of(qh, query, rows, s.dim, q_copy);
    softmax.start(rows);
    for (int64_t key = 0; key < seen; key += width) {
      const Block<T> w{score, width, rows, std::min(width, seen - key), query, key};
      if (few) few_scores(w, qr, keys, s.dim, static_cast<T>(o.scale), mask_rows);
      else scores(w, qr, transposed + key * s.dim, s.dim, static_cast<T>(o.scale), mask_rows);
      softmax.add(w, o.causal);
      if (dropout) dropout.apply(w, head_row);
      block_product<T, Order::row_major>(rows, s.value_dim, w.cols, T(1), w.data, width,
                                         value.data + key * value.stride, value.stride, T(1), softmax.sum, s.value_dim);
    }
    softmax.finish(oh, lse.as<T>() + head_row, query, rows);
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

template <class T>
void write_rows(const Head& to, int64_t first, int64_t count, const T* from, int64_t dim) {
  for (int64_t i = 0; i < count; ++i) write_row(to, first + i, from + i * dim, dim);
}

// The memory of a backward task: keys [first, first + count) of one key head as rows and as transposed panels, their
// gradients, and a block of queries.
template <class T>
struct BackwardMemory {
  int64_t first, count, width;
  HeadRows<T> keys, values;
  T *keys_transposed, *values_transposed, *dkeys, *dvalues;
  T *weight, *dweight, *dquery, *q_copy, *dout_copy, *out_copy;

  BackwardMemory(const Shape& s, const Head& k, const Head& v, int64_t first, int64_t end, int64_t height)
      : first(first), count(end - first), width(s.width()) {
    const int64_t panels = ceil_div(count, width);
    arena.reset(2 * Arena::bytes<T>(count * s.dim) + 2 * Arena::bytes<T>(count * s.value_dim) +
                Arena::bytes<T>(panels * width * s.dim) + Arena::bytes<T>(panels * width * s.value_dim) +
                2 * Arena::bytes<T>(height * width) + Arena::bytes<T>(height * s.dim) * 2 +
                Arena::bytes<T>(height * s.value_dim) * 2);
    keys = rows_of(k, first, count, s.dim, arena.take<T>(count * s.dim));
    values = rows_of(v, first, count, s.value_dim, arena.take<T>(count * s.value_dim));
    keys_transposed = arena.take<T>(panels * width * s.dim);
    values_transposed = arena.take<T>(panels * width * s.value_dim);
    pack(keys.data, keys.stride, int64_t{1}, count, s.dim, keys_transposed, width);
    pack(values.data, values.stride, int64_t{1}, count, s.value_dim, values_transposed, width);
    dkeys = arena.take<T>(count * s.dim), dvalues = arena.take<T>(count * s.value_dim);
    std::fill_n(dkeys, count * s.dim, T(0));
    std::fill_n(dvalues, count * s.value_dim, T(0));
    weight = arena.take<T>(height * width), dweight = arena.take<T>(height * width);
    dquery = arena.take<T>(height * s.dim), q_copy = arena.take<T>(height * s.dim);
    dout_copy = arena.take<T>(height * s.value_dim), out_copy = arena.take<T>(height * s.value_dim);
  }
};

// From the weights W and dW of a block, computes dS = W (dW - dot) in place of dW. With dropout, multiplies dW and then
// W by the dropout factors.
template <class T>
void score_gradients(const Block<T>& w, const Block<T>& d, const T* dot, Dropout& dropout, int64_t head_row) {
  alignas(64) T factors[kKeys];
  for (int64_t i = 0; i < w.rows; ++i) {
    T *wr = w.row(i), *dr = d.row(i);
    const T by = dot[i];
    if (dropout) {
      dropout.factors(factors, head_row + w.query + i, w.key, w.cols);
      for (int64_t j = 0; j < w.cols; ++j) {
        dr[j] = wr[j] * (dr[j] * factors[j] - by);
        wr[j] *= factors[j];
      }
    } else {
#pragma GCC ivdep
      for (int64_t j = 0; j < w.cols; ++j) dr[j] = wr[j] * (dr[j] - by);
    }
  }
}

// Computes the gradients of keys [first, end) of one key head from all queries. `dq` receives the gradient of the
// queries, or the contribution of these keys to it.
template <class T>
void backward_task(View dq, View dk, View dv, View dout, View out, View lse, View q, View k, View v, View mask,
                   const AttentionOptions& o, const Shape& s, int64_t b, int64_t key_head, int64_t first, int64_t end) {
  const QueryBlocks blocks(s.queries);
  const BackwardMemory<T> m(s, Head(k, b, key_head), Head(v, b, key_head), first, end, blocks.height);
  const T scale = static_cast<T>(o.scale);
  Dropout dropout(o.dropout, o.draw, s.keys);

  for (int64_t h = key_head * s.share(); h < (key_head + 1) * s.share(); ++h) {
    const Head qh(q, b, h), oh(out, b, h), doh(dout, b, h);
    const MaskRows mask_rows(mask, b, h);
    const int64_t head_row = (b * s.heads + h) * s.queries;
    for (int64_t block = 0; block < blocks.count; ++block) {
      check_interrupt();
      const int64_t query = block * blocks.height, rows = std::min(blocks.height, s.queries - query);
      const int64_t seen = std::min(end, visible(s, o.causal, query + rows));
      std::fill_n(m.dquery, rows * s.dim, T(0));
      const HeadRows<T> qr = rows_of(qh, query, rows, s.dim, m.q_copy);
      const HeadRows<T> dor = rows_of(doh, query, rows, s.value_dim, m.dout_copy);
      T dot[kQueries];
      if (seen > first) {
        const HeadRows<T> outr = rows_of(oh, query, rows, s.value_dim, m.out_copy);
        for (int64_t i = 0; i < rows; ++i)
          dot[i] = dot_of(dor.data + i * dor.stride, outr.data + i * outr.stride, s.value_dim);
      }
      for (int64_t key = first; key < seen; key += m.width) {
        const int64_t at = key - first;
        const Block<T> w{m.weight, m.width, rows, std::min(m.width, seen - key), query, key};
        const Block<T> d{m.dweight, m.width, rows, w.cols, query, key};
        scores(w, qr, m.keys_transposed + at * s.dim, s.dim, scale, mask_rows);
        for (int64_t i = 0; i < rows; ++i)
          exponentials(w.row(i), seen_of(w, i, o.causal), w.whole(), lse.as<T>()[head_row + query + i]);
        block_product<T, Order::row_major>(rows, w.cols, s.value_dim, T(1), dor.data, dor.stride,
                                           m.values_transposed + at * s.value_dim, m.width, T(0), d.data, m.width);
        score_gradients(w, d, dot, dropout, head_row);
        if (dv.data)
          block_product<T, Order::column_major>(w.cols, s.value_dim, rows, T(1), w.data, m.width, dor.data, dor.stride,
                                                T(1), m.dvalues + at * s.value_dim, s.value_dim);
        if (dk.data)
          block_product<T, Order::column_major>(w.cols, s.dim, rows, scale, d.data, m.width, qr.data, qr.stride, T(1),
                                                m.dkeys + at * s.dim, s.dim);
        if (dq.data)
          block_product<T, Order::row_major>(rows, s.dim, w.cols, scale, d.data, m.width,
                                             m.keys.data + at * m.keys.stride, m.keys.stride, T(1), m.dquery, s.dim);
      }
      if (dq.data) write_rows(Head(dq, b, h), query, rows, m.dquery, s.dim);
    }
  }
  if (dk.data) write_rows(Head(dk, b, key_head), first, m.count, m.dkeys, s.dim);
  if (dv.data) write_rows(Head(dv, b, key_head), first, m.count, m.dvalues, s.value_dim);
}

template <class T>
void backward(View dq, View dk, View dv, View dout, View out, View lse, View q, View k, View v, View mask,
              const AttentionOptions& o) {
  const Shape s(q, k, v);
  const int64_t heads = s.batch * s.key_heads, width = s.width(), panels = ceil_div(s.keys, width);
  const int64_t parts =
      std::clamp<int64_t>(heads >= kTasks ? 1 : ceil_div(kTasks, heads), 1, std::max<int64_t>(1, panels));
  // If the keys are split into parts, each part computes its contribution to dq; they are summed in a fixed order.
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
      write_rows(Head(dq, b, h), 0, s.queries, partial.data() + (b * s.heads + h) * s.queries * s.dim, s.dim);
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
      kernels::scatter(static_cast<char*>(factors.data) + (r * keys + key) * item, item, factors.dtype, row,
                       DType::Float64, cols);
    }
}
GENESIS_KERNEL(attention)
GENESIS_KERNEL(attention_backward)
GENESIS_KERNEL(attention_dropout)

}  // namespace genesis::kernels::GENESIS_ISA
