#include "ops/recurrent_unfused.h"

#include "ops/activation.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace genesis::ops {

namespace {

using kernels::Cell;

// The intermediate results of a step, for its rows.
struct Step {
  Tensor h0, c0;         // the states before
  Tensor h, c;           // and after
  Tensor gate[4];        // LSTM: i, f, g, o; GRU: r, z, n, and the hidden part of n
  Tensor tanh_c, inner;  // LSTM: tanh(c), and what is projected
};

Tensor transposed(const Tensor& x) { return transpose(x, 0, 1); }
Tensor complement(const Tensor& x) { return sub(1, x); }
Tensor joined(const Tensor& x, const Tensor& y) {
  const Tensor both[] = {x, y};
  return cat(both, 1);
}
// `state` with its first rows replaced.
Tensor with_rows(const Tensor& rows, const Tensor& state) {
  if (rows.size(0) == state.size(0)) return rows;
  const Tensor both[] = {rows, narrow(state, 0, rows.size(0), state.size(0) - rows.size(0))};
  return cat(both, 0);
}
Tensor first_rows(const Tensor& x, int64_t n) { return x.size(0) == n ? x : narrow(x, 0, 0, n); }

class Layer {
 public:
  Layer(Cell cell, const RecurrentWeights& w) : cell_(cell), w_(w), hidden_(w.hh.size(0) / kernels::gates_of(cell)) {}
  int64_t hidden() const { return hidden_; }

  // Computes a step from the contribution of the input to the gates.
  Step forward(const Tensor& input, const Tensor& h, const Tensor& c) const {
    Step s;
    s.h0 = h;
    s.c0 = c;
    const Tensor state = linear(h, w_.hh, w_.bias_hh);
    if (cell_ == Cell::Gru) {
      s.gate[0] = sigmoid(part(input, 0) + part(state, 0));
      s.gate[1] = sigmoid(part(input, 1) + part(state, 1));
      s.gate[3] = part(state, 2);
      s.gate[2] = tanh(part(input, 2) + s.gate[0] * s.gate[3]);
      s.h = s.gate[2] + s.gate[1] * (h - s.gate[2]);
      return s;
    }
    const Tensor all = input + state;
    if (cell_ != Cell::Lstm) {
      s.h = cell_ == Cell::Relu ? relu(all) : tanh(all);
      return s;
    }
    for (int k = 0; k < 4; ++k) s.gate[k] = k == 2 ? tanh(part(all, k)) : sigmoid(part(all, k));
    s.c = s.gate[1] * c + s.gate[0] * s.gate[2];
    s.tanh_c = tanh(s.c);
    s.inner = s.gate[3] * s.tanh_c;
    s.h = w_.hr.defined() ? linear(s.inner, w_.hr, Tensor()) : s.inner;
    return s;
  }

  struct Gradient {
    Tensor input, state;  // of the gates, with respect to the input and the previous state
    Tensor h0, c0;        // of the previous states, excluding the path through the gates
  };
  Gradient backward(const Step& s, const Tensor& dh, const Tensor& dc) const {
    Gradient g;
    if (cell_ == Cell::Gru) {
      const Tensor &r = s.gate[0], &z = s.gate[1], &n = s.gate[2];
      const Tensor dn = dh * complement(z) * complement(n * n);
      const Tensor dz = dh * (s.h0 - n) * z * complement(z), dr = dn * s.gate[3] * r * complement(r);
      const Tensor both = joined(dr, dz);
      g.input = joined(both, dn);
      g.state = joined(both, dn * r);
      g.h0 = dh * z;
      return g;
    }
    if (cell_ != Cell::Lstm) {
      g.input = cell_ == Cell::Relu ? dh * cast(gt(s.h, 0), dh.dtype()) : dh * complement(s.h * s.h);
      g.state = g.input;
      return g;
    }
    const Tensor &i = s.gate[0], &f = s.gate[1], &m = s.gate[2], &o = s.gate[3];
    const Tensor dinner = w_.hr.defined() ? matmul(dh, w_.hr) : dh;
    const Tensor d = dc + dinner * o * complement(s.tanh_c * s.tanh_c);
    const Tensor first = joined(d * m * i * complement(i), d * s.c0 * f * complement(f));
    g.input = joined(first, joined(d * i * complement(m * m), dinner * s.tanh_c * o * complement(o)));
    g.state = g.input;
    g.c0 = d * f;
    return g;
  }

 private:
  Tensor part(const Tensor& gates, int k) const { return narrow(gates, 1, k * hidden_, hidden_); }
  Cell cell_;
  const RecurrentWeights& w_;
  int64_t hidden_;
};

}  // namespace

Grads recurrent_gradients_openly(Cell cell, const kernels::Sequence& s, const Grads& dy, const Tensor& x,
                                 const Tensor& h0, const Tensor& c0, const RecurrentWeights& w) {
  const Layer layer(cell, w);
  const bool lstm = cell == Cell::Lstm;
  const int64_t rows = s.offsets[s.steps], batch = s.sizes[0], outputs = w.hh.size(1);
  const auto or_zeros = [&](const Tensor& t, int64_t n, int64_t m) {
    return t.defined() ? t : zeros({n, m}, x.dtype());
  };
  const auto step_at = [&](int64_t i) { return s.reverse ? s.steps - 1 - i : i; };

  const Tensor flat_x = reshape(x, {rows, x.size(-1)}), input = linear(flat_x, w.ih, w.bias_ih);
  std::vector<Step> steps(static_cast<size_t>(s.steps));
  Tensor h = or_zeros(h0, batch, outputs), c = or_zeros(c0, batch, layer.hidden());
  for (int64_t i = 0; i < s.steps; ++i) {
    const int64_t t = step_at(i), n = s.sizes[t];
    Step& step = steps[static_cast<size_t>(t)];
    step = layer.forward(narrow(input, 0, s.offsets[t], n), first_rows(h, n), first_rows(c, n));
    h = with_rows(step.h, h);
    if (lstm) c = with_rows(step.c, c);
  }

  const Tensor dout = dy[0].defined() ? reshape(dy[0], {rows, outputs}) : Tensor();
  Tensor dh = or_zeros(dy[1], batch, outputs), dc = or_zeros(lstm ? dy[2] : Tensor(), batch, layer.hidden());
  std::vector<Tensor> dinput(steps.size()), dstate(steps.size()), before(steps.size()), inner(steps.size()),
      dinner(steps.size());
  for (int64_t i = s.steps - 1; i >= 0; --i) {
    const int64_t t = step_at(i), n = s.sizes[t];
    const size_t at = static_cast<size_t>(t);
    Tensor d = first_rows(dh, n);
    if (dout.defined()) d = d + narrow(dout, 0, s.offsets[t], n);
    const Layer::Gradient g = layer.backward(steps[at], d, first_rows(dc, n));
    dinput[at] = g.input;
    dstate[at] = g.state;
    before[at] = steps[at].h0;
    inner[at] = steps[at].inner;
    dinner[at] = d;
    const Tensor through = matmul(g.state, w.hh);
    dh = with_rows(g.h0.defined() ? g.h0 + through : through, dh);
    if (lstm) dc = with_rows(g.c0, dc);
  }

  const Tensor di = cat(dinput, 0), ds = cat(dstate, 0);
  Grads grads(8);
  grads[0] = reshape(matmul(di, w.ih), x.shape());
  if (h0.defined()) grads[1] = dh;
  if (c0.defined()) grads[2] = dc;
  grads[3] = matmul(transposed(di), flat_x);
  grads[4] = matmul(transposed(ds), cat(before, 0));
  if (w.bias_ih.defined()) grads[5] = sum(di, {0}, false);
  if (w.bias_hh.defined()) grads[6] = sum(ds, {0}, false);
  if (w.hr.defined()) grads[7] = matmul(transposed(cat(dinner, 0)), cat(inner, 0));
  return grads;
}

}  // namespace genesis::ops
