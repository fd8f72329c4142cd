// The gradient of attention's backward pass, and the gradient of a mask, by blocks as in attention.cpp.
//
// With weights P, dropout factors F, X = F (dO V^T), D = rowsum(P X) and S' = P (X - D), the backward pass computes
//   dQ = scale S' K      dK = scale S'^T Q      dV = (F P)^T dO      dmask = S', summed to the mask's shape.
// Let gQ, gK, gV and gM be the gradients with respect to these results. With
//   A = scale (gQ K^T + Q gK^T) + gM      a = rowsum(P A)      B = F (dO gV^T)
//   G = A (X - D) - a X + B               c = rowsum(P G) = rowsum(P A X) - 2 a D + rowsum(P B)
//   U = F P (A - a)                       Z = P (G - c)
// the gradients are
//   of dO: U V + (F P) gV      of V: U^T dO      of Q: scale (Z K + S' gK)      of K: scale (Z^T Q + S'^T gQ)
//   of the mask: Z, summed to its shape.
// statistics() computes D, a and c of each row; then gradients() and mask_gradient() visit the blocks again. If only
// the gradient of dO is needed, tangent() computes it in one pass.
#include <vector>

#include "core/parallel.h"
#include "kernels/attention/block.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

template <class T>
struct RowSums {
  std::vector<T> d, a, c;  // (batch, heads, queries)
  explicit RowSums(const Shape& s) {
    const auto rows = static_cast<size_t>(s.batch * s.heads * s.queries);
    d.resize(rows), a.resize(rows), c.resize(rows);
  }
};

// Keys [first, end) of one key head and their incoming gradients, as rows and as transposed panels.
template <class T>
struct KeySide {
  struct Rows {
    HeadRows<T> rows{nullptr, 0};
    T* transposed = nullptr;
    int64_t cols = 0;
    explicit operator bool() const { return rows.data != nullptr; }
    const T* from(int64_t at) const { return rows.data + at * rows.stride; }
    const T* panel(int64_t at) const { return transposed + at * cols; }
  };
  int64_t first, count, width;
  Rows k, v, gk, gv;

  static int64_t bytes(const Shape& s, int64_t count) {
    const int64_t padded = ceil_div(count, s.width()) * s.width();
    return 2 * (Arena::bytes<T>(count * s.dim) + Arena::bytes<T>(count * s.value_dim) +
                Arena::bytes<T>(padded * s.dim) + Arena::bytes<T>(padded * s.value_dim));
  }
  KeySide(const AttentionInputs& in, const AttentionArrived& g, const Shape& s, int64_t b, int64_t key_head,
          int64_t first, int64_t end)
      : first(first),
        count(end - first),
        width(s.width()),
        k(rows(in.k, b, key_head)),
        v(rows(in.v, b, key_head)),
        gk(rows(g.gk, b, key_head)),
        gv(rows(g.gv, b, key_head)) {}

 private:
  Rows rows(const View& x, int64_t b, int64_t key_head) const {
    if (!x.data) return {};
    const int64_t cols = x.shape[3];
    Rows r{rows_of(Head(x, b, key_head), first, count, cols, arena.take<T>(count * cols)),
           arena.take<T>(ceil_div(count, width) * width * cols), cols};
    pack(r.rows.data, r.rows.stride, int64_t{1}, count, cols, r.transposed, width);
    return r;
  }
};

// A block of queries of one head and their incoming gradients.
template <class T>
struct QuerySide {
  int64_t first = 0, rows = 0;
  HeadRows<T> q{nullptr, 0}, gq{nullptr, 0}, dout{nullptr, 0};

  static int64_t bytes(const Shape& s, int64_t height) {
    return 2 * Arena::bytes<T>(height * s.dim) + Arena::bytes<T>(height * s.value_dim);
  }
  QuerySide(const Shape& s, int64_t height)
      : q_copy_(arena.take<T>(height * s.dim)),
        gq_copy_(arena.take<T>(height * s.dim)),
        dout_copy_(arena.take<T>(height * s.value_dim)) {}
  void load(const AttentionInputs& in, const AttentionArrived& g, const Shape& s, int64_t b, int64_t h, int64_t from,
            int64_t count) {
    first = from;
    rows = count;
    q = rows_of(Head(in.q, b, h), first, rows, s.dim, q_copy_);
    dout = rows_of(Head(in.dout, b, h), first, rows, s.value_dim, dout_copy_);
    if (g.gq.data) gq = rows_of(Head(g.gq, b, h), first, rows, s.dim, gq_copy_);
  }

 private:
  T *q_copy_, *gq_copy_, *dout_copy_;
};

// P, A, X and B of one block, and F with dropout.
template <class T>
class Terms {
 public:
  T *p, *a, *x, *b, *f;  // with a row stride of `width`
  int64_t width, cols = 0;

  static int64_t bytes(const Shape& s, int64_t height) { return 5 * Arena::bytes<T>(height * s.width()); }
  // Without `products`, X and B are not computed; they are products with dO.
  Terms(const AttentionInputs& in, const AttentionArrived& g, const AttentionOptions& o, const Shape& s, int64_t height,
        bool products = true)
      : width(s.width()), in_(in), g_(g), o_(o), s_(s), dropout_(o.dropout, o.draw, s.keys), products_(products) {
    for (T** block : {&p, &a, &x, &b, &f}) *block = arena.take<T>(height * width);
    if (!dropout_) f = nullptr;
  }

  // Computes the block of keys [key, end).
  void compute(const QuerySide<T>& q, const KeySide<T>& keys, int64_t batch, int64_t head, int64_t key, int64_t end) {
    const T scale = static_cast<T>(o_.scale);
    const int64_t at = key - keys.first, row = (batch * s_.heads + head) * s_.queries + q.first;
    cols = std::min(width, end - key);
    const Block<T> w{p, width, q.rows, cols, q.first, key};
    scores(w, q.q, keys.k.panel(at), s_.dim, scale, MaskRows(in_.mask, batch, head));
    for (int64_t i = 0; i < q.rows; ++i)
      exponentials(w.row(i), seen_of(w, i, o_.causal), w.whole(), in_.lse.as<T>()[row + i]);
    if (f)
      for (int64_t i = 0; i < q.rows; ++i) dropout_.factors(f + i * width, row + i, key, cols);
    if (products_) {
      product(x, q.rows, q.dout, keys.v.panel(at), s_.value_dim, T(1), T(0));
      if (f)
        for (int64_t i = 0; i < q.rows; ++i) multiply(x + i * width, f + i * width);
    }
    if (!g_.any) return;
    start_a(Block<T>{a, width, q.rows, cols, q.first, key}, MaskRows(g_.gmask, batch, head));
    if (q.gq.data) product(a, q.rows, q.gq, keys.k.panel(at), s_.dim, scale, T(1));
    if (keys.gk) product(a, q.rows, q.q, keys.gk.panel(at), s_.dim, scale, T(1));
    if (!products_) return;
    if (keys.gv) product(b, q.rows, q.dout, keys.gv.panel(at), s_.value_dim, T(1), T(0));
    else std::fill_n(b, q.rows * width, T(0));
    if (f && keys.gv)
      for (int64_t i = 0; i < q.rows; ++i) multiply(b + i * width, f + i * width);
  }

  // Replaces P, A, X, B by F P, U, S', Z.
  void combine(int64_t rows, const T* d, const T* sum_a, const T* c) {
    for (int64_t i = 0; i < rows; ++i) {
      T *pr = p + i * width, *ar = a + i * width, *xr = x + i * width, *br = b + i * width;
      const T di = d[i], ai = sum_a[i], ci = c[i];
#pragma GCC ivdep
      for (int64_t j = 0; j < cols; ++j) {
        const T pj = pr[j], aj = ar[j], xj = xr[j];
        xr[j] = pj * (xj - di);
        ar[j] = pj * (aj - ai);
        br[j] = pj * (aj * (xj - di) - ai * xj + br[j] - ci);
      }
      if (f) {
        multiply(pr, f + i * width);
        multiply(ar, f + i * width);
      }
    }
  }

 private:
  void product(T* to, int64_t rows, const HeadRows<T>& x, const T* panel, int64_t dim, T alpha, T beta) {
    block_product<T, Order::row_major>(rows, cols, dim, alpha, x.data, x.stride, panel, width, beta, to, width);
  }
  void multiply(T* x, const T* by) {
#pragma GCC ivdep
    for (int64_t j = 0; j < cols; ++j) x[j] *= by[j];
  }
  void start_a(const Block<T>& block, const MaskRows& gmask) {
    for (int64_t i = 0; i < block.rows; ++i) std::fill_n(block.row(i), cols, T(0));
    if (gmask.data) apply_mask(block, gmask);
  }

  const AttentionInputs& in_;
  const AttentionArrived& g_;
  const AttentionOptions& o_;
  const Shape& s_;
  Dropout dropout_;
  bool products_;
};

template <class T>
int64_t task_bytes(const Shape& s, int64_t keys) {
  const int64_t height = QueryBlocks(s.queries).height;
  return KeySide<T>::bytes(s, keys) + QuerySide<T>::bytes(s, height) + Terms<T>::bytes(s, height);
}

// The number of parts, at most `most`, that each of `tasks` is split into.
int64_t parts_of(int64_t tasks, int64_t most) {
  return std::clamp<int64_t>(tasks >= kTasks ? 1 : ceil_div(kTasks, tasks), 1, std::max<int64_t>(1, most));
}

// ----- Sums over rows -----

template <class T>
void statistics(RowSums<T>& sums, const AttentionInputs& in, const AttentionArrived& g, const AttentionOptions& o,
                const Shape& s) {
  const QueryBlocks blocks(s.queries);
  const int64_t heads = s.batch * s.heads, parts = parts_of(heads, blocks.count);
  parallel_for(heads * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t batch = task / parts / s.heads, head = task / parts % s.heads, part = task % parts;
      const int64_t last = (part + 1) * blocks.count / parts;
      const int64_t keys = visible(s, o.causal, std::min(s.queries, last * blocks.height));
      arena.reset(task_bytes<T>(s, keys));
      const KeySide<T> key_side(in, g, s, batch, head / s.share(), 0, keys);
      QuerySide<T> q(s, blocks.height);
      Terms<T> t(in, g, o, s, blocks.height);
      for (int64_t block = part * blocks.count / parts; block < last; ++block) {
        const int64_t query = block * blocks.height, rows = std::min(blocks.height, s.queries - query);
        const auto row = static_cast<size_t>((batch * s.heads + head) * s.queries + query);
        q.load(in, g, s, batch, head, query, rows);
        T d[kQueries] = {}, a[kQueries] = {}, c[kQueries] = {};
        for (int64_t key = 0, seen = visible(s, o.causal, query + rows); key < seen; key += t.width) {
          t.compute(q, key_side, batch, head, key, seen);
          for (int64_t i = 0; i < rows; ++i) {
            const int64_t at = i * t.width;
            Vec<T> vd{}, va{}, vc{};
            int64_t j = 0;
            for (; j + kLanes<T> <= t.cols; j += kLanes<T>) {
              const Vec<T> p = load(t.p + at + j), pa = p * load(t.a + at + j), x = load(t.x + at + j);
              vd += p * x;
              va += pa;
              vc += pa * x + p * load(t.b + at + j);
            }
            T sum_d = total_of<T>(vd), sum_a = total_of<T>(va), sum_c = total_of<T>(vc);
            for (; j < t.cols; ++j) {
              const T p = t.p[at + j], pa = p * t.a[at + j], x = t.x[at + j];
              sum_d += p * x;
              sum_a += pa;
              sum_c += pa * x + p * t.b[at + j];
            }
            d[i] += sum_d;
            a[i] += sum_a;
            c[i] += sum_c;
          }
        }
        for (int64_t i = 0; i < rows; ++i) {
          sums.d[row + static_cast<size_t>(i)] = d[i];
          sums.a[row + static_cast<size_t>(i)] = a[i];
          sums.c[row + static_cast<size_t>(i)] = c[i] - 2 * a[i] * d[i];
        }
      }
    }
  });
}

// ----- Gradients -----

// Keys [first, end) of one key head, and all queries. `ddout` and `dq` receive the contributions of these keys.
template <class T>
void gradients_task(View ddout, View dq, const AttentionSecond& to, const RowSums<T>& sums, const AttentionInputs& in,
                    const AttentionArrived& g, const AttentionOptions& o, const Shape& s, int64_t batch,
                    int64_t key_head, int64_t first, int64_t end) {
  const QueryBlocks blocks(s.queries);
  const int64_t count = end - first, height = blocks.height;
  arena.reset(task_bytes<T>(s, count) + Arena::bytes<T>(count * s.dim) + Arena::bytes<T>(count * s.value_dim) +
              Arena::bytes<T>(height * s.dim) + Arena::bytes<T>(height * s.value_dim));
  const KeySide<T> keys(in, g, s, batch, key_head, first, end);
  QuerySide<T> q(s, height);
  Terms<T> t(in, g, o, s, height);
  T *dk = arena.take<T>(count * s.dim), *dv = arena.take<T>(count * s.value_dim);
  T *dquery = arena.take<T>(height * s.dim), *dd = arena.take<T>(height * s.value_dim);
  std::fill_n(dk, count * s.dim, T(0));
  std::fill_n(dv, count * s.value_dim, T(0));
  const T scale = static_cast<T>(o.scale);
  for (int64_t head = key_head * s.share(); head < (key_head + 1) * s.share(); ++head)
    for (int64_t block = 0; block < blocks.count; ++block) {
      const int64_t query = block * height, rows = std::min(height, s.queries - query);
      const auto row = static_cast<size_t>((batch * s.heads + head) * s.queries + query);
      q.load(in, g, s, batch, head, query, rows);
      std::fill_n(dquery, rows * s.dim, T(0));
      std::fill_n(dd, rows * s.value_dim, T(0));
      // rows of queries += x (rows x keys) y, and rows of keys += x^T y
      const auto to_queries = [&](T* sum, const T* x, const typename KeySide<T>::Rows& y, int64_t at, T alpha) {
        block_product<T, Order::row_major>(rows, y.cols, t.cols, alpha, x, t.width, y.from(at), y.rows.stride, T(1),
                                           sum, y.cols);
      };
      const auto to_keys = [&](T* sum, const T* x, const HeadRows<T>& y, int64_t cols, int64_t at, T alpha) {
        block_product<T, Order::column_major>(t.cols, cols, rows, alpha, x, t.width, y.data, y.stride, T(1),
                                              sum + at * cols, cols);
      };
      for (int64_t key = first, seen = std::min(end, visible(s, o.causal, query + rows)); key < seen; key += t.width) {
        const int64_t at = key - first;
        t.compute(q, keys, batch, head, key, seen);
        t.combine(rows, &sums.d[row], &sums.a[row], &sums.c[row]);
        const T *weights = t.p, *u = t.a, *ds = t.x, *z = t.b;
        if (ddout.data) {
          to_queries(dd, u, keys.v, at, T(1));
          if (keys.gv) to_queries(dd, weights, keys.gv, at, T(1));
        }
        if (dq.data) {
          to_queries(dquery, z, keys.k, at, scale);
          if (keys.gk) to_queries(dquery, ds, keys.gk, at, scale);
        }
        if (to.dv.data) to_keys(dv, u, q.dout, s.value_dim, at, T(1));
        if (to.dk.data) {
          to_keys(dk, z, q.q, s.dim, at, scale);
          if (q.gq.data) to_keys(dk, ds, q.gq, s.dim, at, scale);
        }
      }
      for (int64_t i = 0; i < rows; ++i) {
        if (ddout.data) write_row(Head(ddout, batch, head), query + i, dd + i * s.value_dim, s.value_dim);
        if (dq.data) write_row(Head(dq, batch, head), query + i, dquery + i * s.dim, s.dim);
      }
    }
  for (int64_t i = 0; i < count; ++i) {
    if (to.dk.data) write_row(Head(to.dk, batch, key_head), first + i, dk + i * s.dim, s.dim);
    if (to.dv.data) write_row(Head(to.dv, batch, key_head), first + i, dv + i * s.value_dim, s.value_dim);
  }
}

// A gradient with one row per query, computed in as many parts as the keys are split into. The parts are summed in a
// fixed order.
template <class T>
class Partial {
 public:
  Partial(const View& whole, int64_t parts) : whole_(whole), parts_(whole.data && parts > 1 ? parts : 0) {
    if (!whole.data) return;
    std::copy_n(whole.shape, 4, shape_);
    strides_[3] = 1;
    for (int i = 2; i >= 0; --i) strides_[i] = strides_[i + 1] * shape_[i + 1];
    size_ = strides_[0] * shape_[0];
    memory_.resize(static_cast<size_t>(parts_ * size_));
  }
  View part(int64_t i) { return parts_ ? View{memory_.data() + i * size_, dtype_of<T>, 4, shape_, strides_} : whole_; }
  void add_up() {
    if (!parts_) return;
    T* sum = memory_.data();
    for (int64_t part = 1; part < parts_; ++part)
#pragma GCC ivdep
      for (int64_t i = 0; i < size_; ++i) sum[i] += sum[part * size_ + i];
    for (int64_t b = 0; b < shape_[0]; ++b)
      for (int64_t h = 0; h < shape_[1]; ++h)
        for (int64_t i = 0; i < shape_[2]; ++i)
          write_row(Head(whole_, b, h), i, sum + b * strides_[0] + h * strides_[1] + i * strides_[2], shape_[3]);
  }

 private:
  View whole_;
  int64_t parts_, size_ = 0, shape_[4] = {}, strides_[4] = {};
  std::vector<T> memory_;
};

template <class T>
void gradients(const AttentionSecond& to, const RowSums<T>& sums, const AttentionInputs& in, const AttentionArrived& g,
               const AttentionOptions& o, const Shape& s) {
  if (!to.ddout.data && !to.dq.data && !to.dk.data && !to.dv.data) return;
  const int64_t heads = s.batch * s.key_heads, width = s.width(), panels = ceil_div(s.keys, width);
  const int64_t parts = parts_of(heads, panels);
  Partial<T> ddout(to.ddout, parts), dq(to.dq, parts);
  parallel_for(heads * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t head = t / parts, part = t % parts;
      gradients_task<T>(ddout.part(part), dq.part(part), to, sums, in, g, o, s, head / s.key_heads, head % s.key_heads,
                        part * panels / parts * width, std::min(s.keys, (part + 1) * panels / parts * width));
    }
  });
  ddout.add_up();
  dq.add_up();
}

// Computes only the gradient of dO, as a Jacobian-vector product needs it, in one pass over the keys:
//   (F P A) V + (F P) gV - a (F P) V
template <class T>
void tangent(const View& ddout, const AttentionInputs& in, const AttentionArrived& g, const AttentionOptions& o,
             const Shape& s) {
  const QueryBlocks blocks(s.queries);
  const int64_t heads = s.batch * s.heads, parts = parts_of(heads, blocks.count), dim = s.value_dim;
  parallel_for(heads * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t batch = task / parts / s.heads, head = task / parts % s.heads, part = task % parts;
      const int64_t last = (part + 1) * blocks.count / parts;
      const int64_t all = visible(s, o.causal, std::min(s.queries, last * blocks.height));
      arena.reset(task_bytes<T>(s, all) + 2 * Arena::bytes<T>(blocks.height * dim));
      const KeySide<T> keys(in, g, s, batch, head / s.share(), 0, all);
      QuerySide<T> q(s, blocks.height);
      Terms<T> t(in, g, o, s, blocks.height, false);
      T *sum = arena.take<T>(blocks.height * dim), *mean = arena.take<T>(blocks.height * dim);
      for (int64_t block = part * blocks.count / parts; block < last; ++block) {
        const int64_t query = block * blocks.height, rows = std::min(blocks.height, s.queries - query);
        q.load(in, g, s, batch, head, query, rows);
        std::fill_n(sum, rows * dim, T(0));
        std::fill_n(mean, rows * dim, T(0));
        T a[kQueries] = {};
        for (int64_t key = 0, seen = visible(s, o.causal, query + rows); key < seen; key += t.width) {
          t.compute(q, keys, batch, head, key, seen);
          for (int64_t i = 0; i < rows; ++i) {
            T *p = t.p + i * t.width, *pa = t.a + i * t.width;
            T total = 0;
            for (int64_t j = 0; j < t.cols; ++j) total += pa[j] *= p[j];
            a[i] += total;
            if (const T* f = t.f ? t.f + i * t.width : nullptr)
              for (int64_t j = 0; j < t.cols; ++j) p[j] *= f[j], pa[j] *= f[j];
          }
          const auto add = [&](T* to, const T* x, const typename KeySide<T>::Rows& y) {
            block_product<T, Order::row_major>(rows, y.cols, t.cols, T(1), x, t.width, y.from(key), y.rows.stride, T(1),
                                               to, y.cols);
          };
          add(sum, t.a, keys.v);
          if (keys.gv) add(sum, t.p, keys.gv);
          add(mean, t.p, keys.v);
        }
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < dim; ++j) sum[i * dim + j] -= a[i] * mean[i * dim + j];
          write_row(Head(ddout, batch, head), query + i, sum + i * dim, dim);
        }
      }
    }
  });
}

// ----- The gradient of the mask -----

// Computes S', or Z if there are incoming gradients, for queries [first_query, last_query) and keys [first_key,
// last_key) in all heads that use head (mb, mh) of the mask.
template <class T>
void mask_task(const View& dmask, const RowSums<T>& sums, const AttentionInputs& in, const AttentionArrived& g,
               const AttentionOptions& o, const Shape& s, int64_t mb, int64_t mh, int64_t first_query,
               int64_t last_query, int64_t first_key, int64_t last_key) {
  const int64_t height = QueryBlocks(s.queries).height;
  const bool one_query = dmask.shape[2] == 1, one_key = dmask.shape[3] == 1;
  T* sum = dmask.as<T>() + mb * dmask.strides[0] + mh * dmask.strides[1];
  for (int64_t batch = dmask.shape[0] == 1 ? 0 : mb; batch < (dmask.shape[0] == 1 ? s.batch : mb + 1); ++batch)
    for (int64_t head = dmask.shape[1] == 1 ? 0 : mh; head < (dmask.shape[1] == 1 ? s.heads : mh + 1); ++head) {
      arena.reset(task_bytes<T>(s, last_key - first_key));
      const KeySide<T> keys(in, g, s, batch, head / s.share(), first_key, last_key);
      QuerySide<T> q(s, height);
      Terms<T> t(in, g, o, s, height);
      for (int64_t query = first_query; query < last_query; query += height) {
        const int64_t rows = std::min(height, last_query - query);
        const auto row = static_cast<size_t>((batch * s.heads + head) * s.queries + query);
        q.load(in, g, s, batch, head, query, rows);
        for (int64_t key = first_key; key < last_key; key += t.width) {
          t.compute(q, keys, batch, head, key, last_key);
          if (g.any) t.combine(rows, &sums.d[row], &sums.a[row], &sums.c[row]);
          for (int64_t i = 0; i < rows; ++i) {
            const int64_t at = i * t.width;
            if (!g.any)
#pragma GCC ivdep
              for (int64_t j = 0; j < t.cols; ++j)
                t.b[at + j] = t.p[at + j] * (t.x[at + j] - sums.d[row + static_cast<size_t>(i)]);
            T* to = sum + (one_query ? 0 : (query + i) * dmask.strides[2]) + (one_key ? 0 : key);
            if (one_key) {
              for (int64_t j = 0; j < t.cols; ++j) *to += t.b[at + j];
            } else {
#pragma GCC ivdep
              for (int64_t j = 0; j < t.cols; ++j) to[j] += t.b[at + j];
            }
          }
        }
      }
    }
}

// No two tasks write to the same element: if the mask has a row per query, the queries are split, otherwise the keys.
template <class T>
void mask_gradient(const View& dmask, const RowSums<T>& sums, const AttentionInputs& in, const AttentionArrived& g,
                   const AttentionOptions& o, const Shape& s) {
  const QueryBlocks blocks(s.queries);
  const int64_t heads = dmask.shape[0] * dmask.shape[1], width = s.width(), panels = ceil_div(s.keys, width);
  const bool by_query = dmask.shape[2] > 1, by_key = !by_query && dmask.shape[3] > 1;
  const int64_t parts = parts_of(heads, by_query ? blocks.count : by_key ? panels : 1);
  parallel_for(heads * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t mb = task / parts / dmask.shape[1], mh = task / parts % dmask.shape[1], part = task % parts;
      const auto cut = [&](int64_t n, int64_t i, int64_t unit, int64_t most) {
        return std::min(most, i * n / parts * unit);
      };
      const bool q = by_query, k = by_key;
      mask_task<T>(dmask, sums, in, g, o, s, mb, mh, q ? cut(blocks.count, part, blocks.height, s.queries) : 0,
                   q ? cut(blocks.count, part + 1, blocks.height, s.queries) : s.queries,
                   k ? cut(panels, part, width, s.keys) : 0, k ? cut(panels, part + 1, width, s.keys) : s.keys);
    }
  });
}

template <class T>
void second(const AttentionSecond& to, const AttentionInputs& in, const AttentionArrived& g,
            const AttentionOptions& o) {
  const Shape s(in.q, in.k, in.v);
  if (to.ddout.data && !to.dq.data && !to.dk.data && !to.dv.data && !to.dmask.data)
    return tangent<T>(to.ddout, in, g, o, s);
  RowSums<T> sums(s);
  statistics(sums, in, g, o, s);
  gradients(to, sums, in, g, o, s);
  if (to.dmask.data) mask_gradient(to.dmask, sums, in, g, o, s);
}

template <class T>
void mask_backward(const View& dmask, const View& out, const AttentionInputs& in, const AttentionOptions& o) {
  const Shape s(in.q, in.k, in.v);
  RowSums<T> sums(s);
  std::vector<T> copies(static_cast<size_t>(2 * s.value_dim));
  for (int64_t row = 0; row < s.batch * s.heads * s.queries; ++row) {
    const int64_t b = row / s.queries / s.heads, h = row / s.queries % s.heads, i = row % s.queries;
    const HeadRows<T> dy = rows_of(Head(in.dout, b, h), i, 1, s.value_dim, copies.data());
    const HeadRows<T> y = rows_of(Head(out, b, h), i, 1, s.value_dim, copies.data() + s.value_dim);
    sums.d[static_cast<size_t>(row)] = dot_of(dy.data, y.data, s.value_dim);
  }
  mask_gradient(dmask, sums, in, AttentionArrived{}, o, s);
}

}  // namespace

void attention_second(const AttentionSecond& to, const AttentionInputs& in, const AttentionArrived& arrived,
                      const AttentionOptions& options) {
  if (compute_type(in.q.dtype) == DType::Float64) second<double>(to, in, arrived, options);
  else second<float>(to, in, arrived, options);
}
void attention_mask_backward(View dmask, View out, const AttentionInputs& in, const AttentionOptions& options) {
  if (compute_type(in.q.dtype) == DType::Float64) mask_backward<double>(dmask, out, in, options);
  else mask_backward<float>(dmask, out, in, options);
}
GENESIS_KERNEL(attention_second)
GENESIS_KERNEL(attention_mask_backward)

}  // namespace genesis::kernels::GENESIS_ISA
