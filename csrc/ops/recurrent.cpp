// The contribution of the input to the gates is one product for the whole sequence, or computed step by step if that is
// as fast and the weights stay in the cache. The kernel runs the steps. Its gradient provides that of the gates of all
// rows; the gradients of weights and inputs are then one product each.
#include "ops/recurrent.h"

#include <algorithm>

#include "autograd/record.h"
#include "kernels/gemm/gemm.h"
#include "kernels/recurrent/recurrent.h"
#include "ops/create.h"
#include "ops/matmul.h"
#include "ops/operand.h"
#include "ops/pointwise.h"
#include "ops/recurrent_unfused.h"
#include "ops/reduce.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace genesis::ops {

namespace {

using kernels::Cell;

View view_of(const Tensor& x) { return x.defined() ? x.view() : View{nullptr, DType::Float32, 0, nullptr, nullptr}; }
Tensor dense(const Tensor& x) { return x.defined() ? contiguous(x) : x; }

// The properties of a layer that rules keep, without its tensors.
struct Plan {
  const char* op;
  Cell cell;
  std::vector<int64_t> sizes, offsets;
  bool reverse, uniform;  // uniform: all sequences have the same length

  int64_t batch() const { return sizes[0]; }
  int64_t rows() const { return offsets.back(); }
  kernels::Sequence sequence() const {
    return {sizes.data(), offsets.data(), static_cast<int64_t>(sizes.size()), reverse};
  }
};

Plan make_plan(const std::string& mode, const Tensor& x, const std::vector<int64_t>& sizes, bool reverse) {
  Plan p;
  if (mode == "LSTM") p.op = "lstm", p.cell = Cell::Lstm;
  else if (mode == "GRU") p.op = "gru", p.cell = Cell::Gru;
  else if (mode == "RNN_TANH") p.op = "rnn_tanh", p.cell = Cell::Tanh;
  else if (mode == "RNN_RELU") p.op = "rnn_relu", p.cell = Cell::Relu;
  else fail("recurrent: mode must be LSTM, GRU, RNN_TANH or RNN_RELU, got '", mode, "'");
  require_floating(p.op, "input", x);
  if (x.dim() == 3) p.sizes.assign(static_cast<size_t>(x.size(0)), x.size(1));
  else p.sizes = sizes;
  require(x.dim() == 3 || x.dim() == 2, p.op,
          ": input must have 3 dimensions (steps, batch, inputs), or 2 and batch sizes, got ", x.shape());
  require(!p.sizes.empty(), p.op, ": the sequence must have at least one step, got input of shape ", x.shape());
  p.offsets.push_back(0);
  for (size_t t = 0; t < p.sizes.size(); ++t) {
    require(p.sizes[t] >= (x.dim() == 3 ? 0 : 1) && (t == 0 || p.sizes[t] <= p.sizes[t - 1]), p.op,
            ": batch sizes must be positive and must not grow, got ", p.sizes[t], " at step ", t);
    p.offsets.push_back(p.offsets.back() + p.sizes[t]);
  }
  require(x.dim() == 3 || p.rows() == x.size(0), p.op, ": batch sizes add up to ", p.rows(),
          " rows, but input has shape ", x.shape());
  p.reverse = reverse;
  p.uniform = p.sizes.front() == p.sizes.back();
  return p;
}

void require_shape(const Plan& p, const char* argument, const Tensor& t, const Dims& shape, const Tensor& x) {
  if (!t.defined()) return;
  require(t.shape() == shape, p.op, ": ", argument, " must have shape ", shape, ", got ", t.shape());
  require<DTypeError>(t.dtype() == x.dtype(), p.op, ": ", argument, " is ", t.dtype(), " but input is ", x.dtype());
}

constexpr int64_t kRowsOfTiles = 16;         // rows of a step that fill the tiles of a product
constexpr int64_t kCachedWeights = 1 << 20;  // size of weights that stay in the cache
constexpr int64_t kBlockBytes = 512 << 10;   // size of gradients of gates that do
constexpr int64_t kBlockRows = 64;           // minimum number of rows for which packing pays off

// z = x @ y + beta z for matrices, outside any graph.
void product(const Tensor& z, const Tensor& x, const Tensor& y, double beta) {
  const int64_t m = x.size(0), n = y.size(1), k = x.size(1);
  if (z.dtype() == DType::Float64)
    kernels::dgemm(m, n, k, 1, {x.address<double>(), x.stride(0), x.stride(1)},
                   {y.address<double>(), y.stride(0), y.stride(1)}, beta, {}, z.address<double>(), z.stride(0),
                   z.stride(1));
  else
    kernels::sgemm(m, n, k, 1, {x.address<float>(), x.stride(0), x.stride(1)},
                   {y.address<float>(), y.stride(0), y.stride(1)}, static_cast<float>(beta), {}, z.address<float>(),
                   z.stride(0), z.stride(1));
}
Tensor transposed(const Tensor& x) { return transpose(x, 0, 1); }

kernels::RecurrentLayer layer_of(const Plan& p, const Tensor& h0, const Tensor& c0, const RecurrentWeights& w,
                                 const Tensor& bias = {}) {
  return {p.cell,
          p.sequence(),
          view_of(h0),
          view_of(c0),
          w.hh.view(),
          view_of(bias),
          view_of(p.cell == Cell::Gru ? w.bias_hh : Tensor()),
          view_of(w.hr)};
}

// Sums over rows, by blocks of steps, while the gradients of their gates are in the cache.
class WeightGradients {
 public:
  WeightGradients(const Plan& p, const Tensor& x, const Tensor& h0, const RecurrentWeights& w, const Tensor& out,
                  const Tensor& gates, const Tensor& cells, const Saved& saved, Grads& grads)
      : p_(p), x_(x), h0_(h0), w_(w), out_(out), gates_(gates), cells_(cells), saved_(saved), grads_(grads) {
    if (saved.needs(0)) dx_ = empty({p.rows(), w.ih.size(1)}, x.dtype());
    if (saved.needs(3)) grads[3] = zeros(w.ih.shape(), x.dtype());
    if (saved.needs(4)) grads[4] = zeros(w.hh.shape(), x.dtype());
    if (saved.needs(5)) grads[5] = zeros(w.bias_ih.shape(), x.dtype());
    if (saved.needs(6)) grads[6] = zeros(w.bias_hh.shape(), x.dtype());
    if (saved.needs(7)) grads[7] = zeros(w.hr.shape(), x.dtype());
    if (!p.uniform && saved.needs(4)) {
      before_ = empty(out.shape(), out.dtype());
      kernels::recurrent_previous(p.sequence(), before_.view(), out.view(), view_of(h0));
    }
  }
  // Adds rows [begin, end); the gradients contain only those rows.
  void add(int64_t begin, int64_t end, const Tensor& dgates, const Tensor& dhidden, const Tensor& dprojected) {
    const int64_t rows = end - begin;
    if (saved_.needs(0)) product(narrow(dx_, 0, begin, rows), dgates, w_.ih, 0);
    if (saved_.needs(3)) product(grads_[3], transposed(dgates), narrow(x_, 0, begin, rows), 1);
    if (saved_.needs(4)) add_hidden(begin, rows, dhidden);
    if (saved_.needs(5)) add_(grads_[5], sum(dgates, {0}, false));
    if (saved_.needs(6) && !(shares_bias() && saved_.needs(5))) add_(grads_[6], sum(dhidden, {0}, false));
    if (saved_.needs(7)) {
      const int64_t hidden = w_.hr.size(1);
      const Tensor shown = narrow(narrow(gates_, 1, 3 * hidden, hidden), 0, begin, rows);
      product(grads_[7], transposed(dprojected), mul(shown, tanh(narrow(cells_, 0, begin, rows))), 1);
    }
  }
  void finish(const Dims& shape) {
    if (saved_.needs(0)) grads_[0] = reshape(dx_, shape);
    if (saved_.needs(6) && shares_bias() && saved_.needs(5)) grads_[6] = grads_[5];
  }

 private:
  bool shares_bias() const { return p_.cell != Cell::Gru; }
  // For sequences of the same length, the previous states are the rows of `out` one step earlier, or h0.
  void add_hidden(int64_t begin, int64_t rows, const Tensor& dhidden) {
    if (!p_.uniform) return product(grads_[4], transposed(dhidden), narrow(before_, 0, begin, rows), 1);
    const int64_t batch = p_.batch(), shift = p_.reverse ? batch : -batch;
    const int64_t from = std::max<int64_t>(0, begin + shift), to = std::min(p_.rows(), begin + rows + shift);
    if (to > from)
      product(grads_[4], transposed(narrow(dhidden, 0, from - shift - begin, to - from)),
              narrow(out_, 0, from, to - from), 1);
    const int64_t start = p_.reverse ? p_.rows() - batch : 0;  // the rows of the first executed step
    if (h0_.defined() && begin <= start && start < begin + rows)
      product(grads_[4], transposed(narrow(dhidden, 0, start - begin, batch)), h0_, 1);
  }

  const Plan& p_;
  const Tensor x_, h0_;
  const RecurrentWeights& w_;
  const Tensor out_, gates_, cells_;
  const Saved& saved_;
  Grads& grads_;
  Tensor dx_, before_;
};

Grads backward_kernel(const Plan& p, const Grads& dy, const Tensor& x, const Tensor& h0, const Tensor& c0,
                      const RecurrentWeights& w, const Tensor& out, const Tensor& gates, const Tensor& cells,
                      const Saved& saved) {
  const int64_t rows = p.rows(), columns = w.hh.size(0), outputs = w.hh.size(1), batch = p.batch();
  const int64_t hidden = columns / kernels::gates_of(p.cell), steps = static_cast<int64_t>(p.sizes.size());
  const bool gru = p.cell == Cell::Gru, lstm = p.cell == Cell::Lstm;
  const DType type = x.dtype();
  const Tensor flat_out = reshape(out, {rows, outputs});
  const Tensor dout = dy[0].defined() ? reshape(contiguous(dy[0]), {rows, outputs}) : Tensor();
  const auto carried = [&](const Tensor& d, int64_t n) {
    return d.defined() ? clone(contiguous(d)) : zeros({batch, n}, type);
  };
  const Tensor dh = carried(dy[1], outputs), dc = lstm ? carried(dy[2], hidden) : Tensor();

  Grads grads(8);
  WeightGradients sums(p, reshape(contiguous(x), {rows, x.size(-1)}), h0, w, flat_out, gates, cells, saved, grads);
  const int64_t block_rows = std::max<int64_t>(kBlockRows, kBlockBytes / (columns * itemsize(type)));
  const int64_t block = std::max<int64_t>(1, block_rows / std::max<int64_t>(1, batch)),
                most = std::min(rows, block * batch);
  const Tensor dgates = empty({most, columns}, type), dhidden = gru ? empty({most, columns}, type) : dgates;
  const Tensor dprojected = w.hr.defined() ? empty({most, outputs}, type) : Tensor();
  for (int64_t end = steps; end > 0 && rows > 0; end -= block) {
    const int64_t first = std::max<int64_t>(0, end - block);
    const int64_t from = p.offsets[static_cast<size_t>(p.reverse ? steps - end : first)];
    const int64_t to = p.offsets[static_cast<size_t>(p.reverse ? steps - first : end)], count = to - from;
    kernels::recurrent_backward(layer_of(p, h0, c0, w),
                                {first, end, from, end < steps, view_of(dout), dh.view(), view_of(dc), saved.needs(1),
                                 dgates.view(), dhidden.view(), view_of(dprojected)},
                                flat_out.view(), gates.view(), view_of(cells));
    const auto part = [&](const Tensor& t) { return t.defined() ? narrow(t, 0, 0, count) : t; };
    sums.add(from, to, part(dgates), part(dhidden), part(dprojected));
  }
  sums.finish(x.shape());
  if (saved.needs(1)) grads[1] = dh;
  if (saved.needs(2)) grads[2] = dc;
  return grads;
}

RecurrentState run(const Plan& p, const Tensor& x, const Tensor& h0, const Tensor& c0, const RecurrentWeights& w) {
  const int64_t rows = p.rows(), outputs = w.hh.size(1), hidden = w.hh.size(0) / kernels::gates_of(p.cell),
                batch = p.batch();
  const bool lstm = p.cell == Cell::Lstm, gru = p.cell == Cell::Gru;
  const DType type = x.dtype();
  RecurrentState y;
  Dims shape(x.shape().begin(), x.shape().end() - 1);
  shape.push_back(outputs);
  y.out = empty(shape, type);
  y.h = empty({batch, outputs}, type);
  if (lstm) y.c = empty({batch, hidden}, type);
  const Tensor gates = empty({rows, (gru ? 4 : kernels::gates_of(p.cell)) * hidden}, type);
  const Tensor cells = lstm ? empty({rows, hidden}, type) : Tensor();
  if (rows > 0) {
    const WithGradMode off(false);
    const Tensor flat_x = reshape(contiguous(x), {rows, x.size(-1)}),
                 flat_out = alias(y.out, {rows, outputs}, {outputs, 1});
    const RecurrentWeights d{dense(w.ih), dense(w.hh), dense(w.bias_ih), dense(w.bias_hh), dense(w.hr)};
    const Tensor bias = gru || !d.bias_hh.defined() ? d.bias_ih
                        : d.bias_ih.defined()       ? add(d.bias_ih, d.bias_hh)
                                                    : d.bias_hh;
    const Tensor h = dense(h0), c = dense(c0);
    const int64_t weights = w.hh.size(0) * (flat_x.size(1) + outputs) * itemsize(type);
    const bool by_step = batch >= kRowsOfTiles && weights <= kCachedWeights;
    if (!by_step) product(gates, flat_x, transposed(d.ih), 0);
    const Tensor none;
    kernels::recurrent_forward(layer_of(p, h, c, d, bias), view_of(by_step ? flat_x : none),
                               view_of(by_step ? d.ih : none), flat_out.view(), y.h.view(), view_of(y.c), gates.view(),
                               view_of(cells));
  }
  const Tensor ys[] = {y.out, y.h, y.c};
  record_outputs(p.op, std::span<const Tensor>(ys, lstm ? 3 : 2),
                 inputs(x, h0, c0, w.ih, w.hh, w.bias_ih, w.bias_hh, w.hr),
                 save(x, h0, c0, w.ih, w.hh, w.bias_ih, w.bias_hh, w.hr, output(y.out), gates, cells),
                 [p](const Grads& dy, const Saved& saved) {
                   const Tensor x = saved[0], h0 = saved[1], c0 = saved[2];
                   const RecurrentWeights w{saved[3], saved[4], saved[5], saved[6], saved[7]};
                   if (grad_mode.enabled) return recurrent_gradients_openly(p.cell, p.sequence(), dy, x, h0, c0, w);
                   const RecurrentWeights d{w.ih, dense(w.hh), w.bias_ih, dense(w.bias_hh), dense(w.hr)};
                   return backward_kernel(p, dy, x, dense(h0), dense(c0), d, saved[8], saved[9], saved[10], saved);
                 });
  return y;
}

Tensor wide(const Tensor& x) { return x.defined() ? cast(x, DType::Float32) : x; }

}  // namespace

RecurrentState recurrent_layer(const std::string& mode, const Tensor& x, const std::vector<int64_t>& sizes,
                               const Tensor& h0, const Tensor& c0, const RecurrentWeights& w, bool reverse) {
  const Plan p = make_plan(mode, x, sizes, reverse);
  require(w.ih.dim() == 2 && w.hh.dim() == 2, p.op, ": weights must be matrices, got shapes ", w.ih.shape(), " and ",
          w.hh.shape());
  const int64_t gates = kernels::gates_of(p.cell), columns = w.hh.size(0), outputs = w.hh.size(1),
                hidden = columns / gates;
  require(columns % gates == 0 && hidden > 0 && (w.hr.defined() || outputs == hidden), p.op,
          ": weight_hh must have shape (", gates, " * hidden, ", w.hr.defined() ? "proj_size" : "hidden", "), got ",
          w.hh.shape());
  require(!w.hr.defined() || p.cell == Cell::Lstm, p.op, ": only an LSTM has a projection");
  require_shape(p, "weight_ih", w.ih, {columns, w.ih.size(1)}, x);
  require(x.size(-1) == w.ih.size(1), p.op, ": input of shape ", x.shape(), " has ", x.size(-1),
          " features, weight_ih of shape ", w.ih.shape(), " takes ", w.ih.size(1));
  require_shape(p, "weight_hh", w.hh, w.hh.shape(), x);
  require_shape(p, "bias_ih", w.bias_ih, {columns}, x);
  require_shape(p, "bias_hh", w.bias_hh, {columns}, x);
  require_shape(p, "weight_hr", w.hr, {outputs, hidden}, x);
  require_shape(p, "the hidden state", h0, {p.batch(), outputs}, x);
  require_shape(p, "the cell state", c0, {p.batch(), hidden}, x);
  if (!is_half(x.dtype())) return run(p, x, h0, c0, w);
  const RecurrentState y =
      run(p, wide(x), wide(h0), wide(c0), {wide(w.ih), wide(w.hh), wide(w.bias_ih), wide(w.bias_hh), wide(w.hr)});
  return {cast(y.out, x.dtype()), cast(y.h, x.dtype()), y.c.defined() ? cast(y.c, x.dtype()) : y.c};
}

}  // namespace genesis::ops
