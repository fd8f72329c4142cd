// Rows of a batch are independent, so each thread computes all steps of some rows without synchronization. The weights
// are packed once for all steps. The computation of a row does not depend on the other rows of its block, so the
// partition may depend on the number of threads without changing the result.
#include "kernels/recurrent/recurrent.h"

#include "core/parallel.h"
#include "kernels/elementwise/vecmath.h"
#include "kernels/gemm/block.h"
#include "kernels/gemm/panels.h"

namespace genesis::kernels::GENESIS_ISA {
namespace {

constexpr int64_t kFewRows = 4;               // not split further
constexpr int64_t kWorth = int64_t{1} << 18;  // multiply-adds per task

const Arena arena;           // for a part of the batch
const Arena packed_weights;  // for the thread that shares them

// B of A @ B, (k x n), in panels that the tiles read sequentially.
template <class T>
class Packed {
 public:
  static int64_t bytes(int64_t k, int64_t n) { return Arena::bytes<T>(ceil_div(n, kLanes<T>) * kLanes<T> * k); }
  // Element (p, j) is at data[p * k_stride + j * stride]. `packed`: the same matrix has already been packed there.
  Packed(const T* data, int64_t k, int64_t n, int64_t k_stride, int64_t stride, bool packed = false)
      : k_(k),
        depth_(k <= kDepth ? std::max<int64_t>(1, k) : ceil_div(k, ceil_div(k, kDepth))),
        pitch_(ceil_div(n, kLanes<T>) * kLanes<T>),
        panels_(n, even_part(ceil_div(n, kLanes<T>), kMaxVectors)),
        data_(packed_weights.take<T>(pitch_ * k)) {
    if (packed) return;
    for (int64_t p = 0; p < k; p += depth_)
      pack_panels(GemmMatrix<T>{data, k_stride, stride}, panels_, p, std::min(depth_, k - p), 0, panels_.count,
                  data_ + p * pitch_);
  }
  Packed() = default;
  // C (m x n) = A @ B + beta C, where rows of A have stride a_row and those of C c_row.
  void multiply(int64_t m, const T* a, int64_t a_row, T beta, T* c, int64_t c_row) const {
    const int64_t height = even_part(m, kMaxRows[panels_.width / kLanes<T> - 1]);
    for (int64_t p = 0; p == 0 || p < k_; p += depth_) {
      const int64_t d = std::min(depth_, k_ - p);
      kernels::GENESIS_ISA::multiply(Left<T>{a + p, a_row, a_row, 1, height, true},
                                     Right<T>{data_ + p * pitch_, 0, d, 0, true}, panels_, 0, panels_.count, m, d,
                                     Target<T>{1, p == 0 ? beta : T(1), {c, c_row, 1}, c, c_row, 1});
    }
  }

 private:
  int64_t k_ = 0, depth_ = 1, pitch_ = 0;
  Panels<T> panels_{1, 1};
  T* data_ = nullptr;
};

// Calls f(first, end) for parts of the batch.
template <class F>
void each_part(int64_t batch, int64_t work, F&& f) {
  const int64_t parts = std::min<int64_t>(get_num_threads(), std::max<int64_t>(1, work / kWorth));
  parallel_for(batch, std::max(kFewRows, ceil_div(batch, parts)), f);
}

// Steps in execution order.
struct Running {
  const Sequence& s;
  int64_t step(int64_t i) const { return s.reverse ? s.steps - 1 - i : i; }
  // The row that holds the state before row b of the i-th executed step, or -1 for the initial state.
  int64_t previous(int64_t i, int64_t b) const {
    if (i == 0) return -1;
    const int64_t before = step(i - 1);
    return b < s.sizes[before] ? s.offsets[before] + b : -1;
  }
  // The rows of [first, end) at step t.
  int64_t count(int64_t t, int64_t first, int64_t end) const { return std::min(s.sizes[t], end) - first; }
};

template <class T>
void copy_or_zero(T* to, const View& from, int64_t first, int64_t count) {
  if (from.data) std::copy_n(from.as<T>() + first, count, to);
  else std::fill_n(to, count, T(0));
}
template <class T>
void copy_if_wanted(const View& to, int64_t first, const T* from, int64_t count) {
  if (to.data) std::copy_n(from, count, to.as<T>() + first);
}

// ----- Cells: one row forward and backward. -----

// gates: i, f, g, o before (without their biases) and after their activations.
template <class T>
void lstm_row(T* gates, const T* bias, T* c, T* cells, T* h, int64_t n) {
  T *gi = gates, *gf = gates + n, *gg = gates + 2 * n, *go = gates + 3 * n;
  const T *bi = bias, *bf = bias + n, *bg = bias + 2 * n, *bo = bias + 3 * n;
#pragma GCC ivdep
  for (int64_t j = 0; j < n; ++j) {
    const T i = vsigmoid(gi[j] + bi[j]), f = vsigmoid(gf[j] + bf[j]), g = vtanh(gg[j] + bg[j]);
    const T state = f * c[j] + i * g;
    gi[j] = i;
    gf[j] = f;
    gg[j] = g;
    c[j] = state;
    cells[j] = state;
  }
#pragma GCC ivdep
  for (int64_t j = 0; j < n; ++j) {
    const T o = vsigmoid(go[j] + bo[j]);
    go[j] = o;
    h[j] = o * vtanh(c[j]);
  }
}
template <class T>
void lstm_row_backward(T* dgates, const T* gates, const T* cell, const T* before, const T* dh, T* dc, int64_t n) {
  const T *gi = gates, *gf = gates + n, *gg = gates + 2 * n, *go = gates + 3 * n;
  T *di = dgates, *df = dgates + n, *dg = dgates + 2 * n, *dout = dgates + 3 * n;
#pragma GCC ivdep
  for (int64_t j = 0; j < n; ++j) {
    const T i = gi[j], f = gf[j], g = gg[j], o = go[j], t = vtanh(cell[j]);
    const T d = dc[j] + dh[j] * o * (1 - t * t);
    di[j] = d * g * i * (1 - i);
    df[j] = d * before[j] * f * (1 - f);
    dg[j] = d * i * (1 - g * g);
    dout[j] = dh[j] * t * o * (1 - o);
    dc[j] = d * f;
  }
}

// gates: on entry, the contributions of the inputs to r, z, n, with spare room; on return, r, z, n and the hidden part
// of n.
template <class T>
void gru_row(T* gates, const T* bias, const T* hidden, T* h, int64_t n) {
  T *gr = gates, *gz = gates + n, *gn = gates + 2 * n, *gh = gates + 3 * n;
  const T *hr = hidden, *hz = hidden + n, *hn = hidden + 2 * n;
  const T *br = bias, *bz = bias + n, *bn = bias + 2 * n;
#pragma GCC ivdep
  for (int64_t j = 0; j < n; ++j) {
    const T r = vsigmoid(gr[j] + br[j] + hr[j]), z = vsigmoid(gz[j] + bz[j] + hz[j]);
    const T m = vtanh(gn[j] + bn[j] + r * hn[j]);
    gr[j] = r;
    gz[j] = z;
    gn[j] = m;
    gh[j] = hn[j];
    h[j] = m + z * (h[j] - m);
  }
}
// On return, dh is the part of the gradient that reaches the previous state directly.
template <class T>
void gru_row_backward(T* dinput, T* dhidden, const T* gates, const T* before, T* dh, int64_t n) {
  const T *gr = gates, *gz = gates + n, *gn = gates + 2 * n, *gh = gates + 3 * n;
#pragma GCC ivdep
  for (int64_t j = 0; j < n; ++j) {
    const T r = gr[j], z = gz[j], m = gn[j], d = dh[j];
    const T dn = d * (1 - z) * (1 - m * m), dz = d * (before[j] - m) * z * (1 - z), dr = dn * gh[j] * r * (1 - r);
    dinput[j] = dr;
    dinput[n + j] = dz;
    dinput[2 * n + j] = dn;
    dhidden[j] = dr;
    dhidden[n + j] = dz;
    dhidden[2 * n + j] = dn * r;
    dh[j] = d * z;
  }
}

template <class T>
void plain_row(const T* sum, const T* bias, T* h, int64_t n, bool relu) {
  if (relu) {
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) {
      const T x = sum[j] + bias[j];
      h[j] = x <= 0 ? T(0) : x;
    }
  } else {
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) h[j] = vtanh(sum[j] + bias[j]);
  }
}
template <class T>
void plain_row_backward(T* dsum, const T* h, const T* dh, int64_t n, bool relu) {
  if (relu) {
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) dsum[j] = h[j] > 0 ? dh[j] : T(0);
  } else {
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) dsum[j] = dh[j] * (1 - h[j] * h[j]);
  }
}

// ----- Sequences -----

struct Sizes {
  int64_t gates, hidden, outputs, width;  // width: columns of `gates` as stored
  Sizes(const RecurrentLayer& l)
      : gates(gates_of(l.cell)),
        hidden(l.weight_hh.shape[0] / gates),
        outputs(l.weight_hh.shape[1]),
        width((l.cell == Cell::Gru ? 4 : gates) * hidden) {}
};

template <class T>
void forward(const RecurrentLayer& l, View x, View weight_ih, View out, View hn, View cn, View gates, View cells) {
  const Sizes n(l);
  const Sequence& s = l.sequence;
  const bool projects = l.weight_hr.data != nullptr, gru = l.cell == Cell::Gru, lstm = l.cell == Cell::Lstm;
  const int64_t inputs = x.data ? x.shape[1] : 0;
  packed_weights.reset(Packed<T>::bytes(n.outputs, n.gates * n.hidden) + Packed<T>::bytes(n.hidden, n.outputs) +
                       Packed<T>::bytes(inputs, n.gates * n.hidden));
  const Packed<T> weight(l.weight_hh.as<T>(), n.outputs, n.gates * n.hidden, 1, n.outputs);
  const Packed<T> projection =
      projects ? Packed<T>(l.weight_hr.as<T>(), n.hidden, n.outputs, 1, n.hidden) : Packed<T>();
  const Packed<T> input = x.data ? Packed<T>(weight_ih.as<T>(), inputs, n.gates * n.hidden, 1, inputs) : Packed<T>();
  const int64_t work = s.offsets[s.steps] * n.gates * n.hidden * (n.outputs + inputs);
  each_part(s.sizes[0], work, [&](int64_t first, int64_t end) {
    const int64_t rows = end - first, columns = n.gates * n.hidden;
    arena.reset(Arena::bytes<T>(rows * n.outputs) + Arena::bytes<T>(rows * n.hidden) * 2 +
                Arena::bytes<T>(rows * columns) + Arena::bytes<T>(columns));
    T *h = arena.take<T>(rows * n.outputs), *c = arena.take<T>(rows * n.hidden), *m = arena.take<T>(rows * n.hidden);
    T *hidden = arena.take<T>(rows * columns), *bias = arena.take<T>(columns);
    copy_or_zero(bias, l.bias, 0, columns);
    copy_or_zero(h, l.h0, first * n.outputs, rows * n.outputs);
    if (lstm) copy_or_zero(c, l.c0, first * n.hidden, rows * n.hidden);
    const Running order{s};
    const bool starts_at_zero = !l.h0.data;
    for (int64_t i = 0; i < s.steps; ++i) {
      const int64_t t = order.step(i), count = order.count(t, first, end), at = s.offsets[t] + first;
      if (count <= 0) continue;
      T *g = gates.as<T>() + at * n.width, *y = out.as<T>() + at * n.outputs;
      if (x.data) input.multiply(count, x.as<T>() + at * inputs, inputs, T(0), g, n.width);
      if (gru)
        for (int64_t r = 0; r < count; ++r) copy_or_zero(hidden + r * columns, l.bias_hh, 0, columns);
      if (i > 0 || !starts_at_zero)
        weight.multiply(count, h, n.outputs, T(1), gru ? hidden : g, gru ? columns : n.width);
      for (int64_t r = 0; r < count; ++r) {
        T* state = h + r * n.outputs;
        if (lstm)
          lstm_row(g + r * n.width, bias, c + r * n.hidden, cells.as<T>() + (at + r) * n.hidden,
                   projects ? m + r * n.hidden : state, n.hidden);
        else if (gru) gru_row(g + r * n.width, bias, hidden + r * columns, state, n.hidden);
        else plain_row(g + r * n.width, bias, state, n.hidden, l.cell == Cell::Relu);
      }
      if (projects) projection.multiply(count, m, n.hidden, T(0), h, n.outputs);
      std::copy_n(h, count * n.outputs, y);
    }
    copy_if_wanted(hn, first * n.outputs, h, rows * n.outputs);
    if (lstm) copy_if_wanted(cn, first * n.hidden, c, rows * n.hidden);
  });
}

template <class T>
void backward(const RecurrentLayer& l, const RecurrentGradients& d, View out, View gates, View cells) {
  const Sizes n(l);
  const Sequence& s = l.sequence;
  const bool projects = l.weight_hr.data != nullptr, gru = l.cell == Cell::Gru, lstm = l.cell == Cell::Lstm;
  const int64_t columns = n.gates * n.hidden;
  packed_weights.reset(Packed<T>::bytes(columns, n.outputs) + Packed<T>::bytes(n.outputs, n.hidden));
  const Packed<T> weight(l.weight_hh.as<T>(), columns, n.outputs, n.outputs, 1, d.packed);
  const Packed<T> projection =
      projects ? Packed<T>(l.weight_hr.as<T>(), n.outputs, n.hidden, n.hidden, 1, d.packed) : Packed<T>();
  each_part(s.sizes[0], (d.end - d.first) * s.sizes[0] * columns * n.outputs, [&](int64_t first, int64_t end) {
    const int64_t rows = end - first;
    arena.reset(Arena::bytes<T>(rows * n.hidden) + Arena::bytes<T>(n.hidden));
    T *dm = arena.take<T>(rows * n.hidden), *zeros = arena.take<T>(n.hidden);
    std::fill_n(zeros, n.hidden, T(0));
    T *dh = d.dh.as<T>() + first * n.outputs, *dc = lstm ? d.dc.as<T>() + first * n.hidden : nullptr;
    const Running order{s};
    for (int64_t i = d.end - 1; i >= d.first; --i) {
      const int64_t t = order.step(i), count = order.count(t, first, end), at = s.offsets[t] + first, row = at - d.row;
      if (count <= 0) continue;
      if (d.dout.data) {
        const T* dy = d.dout.as<T>() + at * n.outputs;
#pragma GCC ivdep
        for (int64_t j = 0; j < count * n.outputs; ++j) dh[j] += dy[j];
      }
      if (projects) {
        std::copy_n(dh, count * n.outputs, d.dprojected.as<T>() + row * n.outputs);
        projection.multiply(count, dh, n.outputs, T(0), dm, n.hidden);
      }
      T* dg = d.dgates.as<T>() + row * columns;
      T* dg_hidden = gru ? d.dgates_hidden.as<T>() + row * columns : dg;
      for (int64_t r = 0; r < count; ++r) {
        const int64_t before = order.previous(i, first + r);
        // The state before this row: in `all`, the initial state, or zero.
        const auto state = [&](const View& all, const View& initial) -> const T* {
          if (before >= 0) return all.as<T>() + before * n.hidden;
          return initial.data ? initial.as<T>() + (first + r) * n.hidden : zeros;
        };
        T* dstate = dh + r * n.outputs;
        const T* g = gates.as<T>() + (at + r) * n.width;
        if (lstm)
          lstm_row_backward(dg + r * columns, g, cells.as<T>() + (at + r) * n.hidden, state(cells, l.c0),
                            projects ? dm + r * n.hidden : dstate, dc + r * n.hidden, n.hidden);
        else if (gru)
          gru_row_backward(dg + r * columns, dg_hidden + r * columns, g, state(out, l.h0), dstate, n.hidden);
        else
          plain_row_backward(dg + r * columns, out.as<T>() + (at + r) * n.outputs, dstate, n.hidden,
                             l.cell == Cell::Relu);
      }
      if (i > 0 || d.initial) weight.multiply(count, dg_hidden, columns, gru ? T(1) : T(0), dh, n.outputs);
    }
  });
}

template <class T>
void previous(const Sequence& s, View to, View out, View h0) {
  const int64_t n = to.shape[1];
  const Running order{s};
  for (int64_t i = 0; i < s.steps; ++i) {
    const int64_t t = order.step(i);
    for (int64_t b = 0; b < s.sizes[t]; ++b) {
      const int64_t before = order.previous(i, b);
      T* row = to.as<T>() + (s.offsets[t] + b) * n;
      if (before >= 0) std::copy_n(out.as<T>() + before * n, n, row);
      else copy_or_zero(row, h0, b * n, n);
    }
  }
}

}  // namespace

void recurrent_forward(const RecurrentLayer& layer, View x, View weight_ih, View out, View hn, View cn, View gates,
                       View cells) {
  if (out.dtype == DType::Float64) forward<double>(layer, x, weight_ih, out, hn, cn, gates, cells);
  else forward<float>(layer, x, weight_ih, out, hn, cn, gates, cells);
}
void recurrent_backward(const RecurrentLayer& layer, const RecurrentGradients& grads, View out, View gates,
                        View cells) {
  if (out.dtype == DType::Float64) backward<double>(layer, grads, out, gates, cells);
  else backward<float>(layer, grads, out, gates, cells);
}
void recurrent_previous(const Sequence& sequence, View to, View out, View h0) {
  if (to.dtype == DType::Float64) previous<double>(sequence, to, out, h0);
  else previous<float>(sequence, to, out, h0);
}
GENESIS_KERNEL(recurrent_forward)
GENESIS_KERNEL(recurrent_backward)
GENESIS_KERNEL(recurrent_previous)

}  // namespace genesis::kernels::GENESIS_ISA
