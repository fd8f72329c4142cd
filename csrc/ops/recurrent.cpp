// The input's part of all gates is one product for the whole sequence; the kernel then runs through the steps. Its
// gradient gives that of the gates of all rows, from which those of weights and inputs are one product each.
#include "ops/recurrent.h"

#include <array>

#include "autograd/record.h"
#include "kernels/convert.h"
#include "kernels/gemm.h"
#include "kernels/recurrent.h"
#include "ops/create.h"
#include "ops/matmul.h"
#include "ops/operand.h"
#include "ops/pointwise.h"
#include "ops/recurrent_open.h"
#include "ops/reduce.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace genesis::ops {

namespace {

using kernels::Cell;

View view_of(const Tensor& x) { return x.defined() ? x.view() : View{nullptr, DType::Float32, 0, nullptr, nullptr}; }
Tensor dense(const Tensor& x) { return x.defined() ? contiguous(x) : x; }

// Everything about a layer but its tensors, as rules keep it.
struct Plan {
  const char* op;
  Cell cell;
  std::vector<int64_t> sizes, offsets;
  bool reverse, uniform;  // uniform: all sequences are equally long

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
  require(x.dim() == 3 || x.dim() == 2, p.op, ": input must have 3 dimensions (steps, batch, inputs), or 2 and batch sizes, got ",
          x.shape());
  require(!p.sizes.empty(), p.op, ": the sequence must have at least one step, got input of shape ", x.shape());
  p.offsets.push_back(0);
  for (size_t t = 0; t < p.sizes.size(); ++t) {
    require(p.sizes[t] >= (x.dim() == 3 ? 0 : 1) && (t == 0 || p.sizes[t] <= p.sizes[t - 1]), p.op,
            ": batch sizes must be positive and must not grow, got ", p.sizes[t], " at step ", t);
    p.offsets.push_back(p.offsets.back() + p.sizes[t]);
  }
  require(x.dim() == 3 || p.rows() == x.size(0), p.op, ": batch sizes add up to ", p.rows(), " rows, but input has shape ", x.shape());
  p.reverse = reverse;
  p.uniform = p.sizes.front() == p.sizes.back();
  return p;
}

void require_shape(const Plan& p, const char* argument, const Tensor& t, const Dims& shape, const Tensor& x) {
  if (!t.defined()) return;
  require(t.shape() == shape, p.op, ": ", argument, " must have shape ", shape, ", got ", t.shape());
  require<DTypeError>(t.dtype() == x.dtype(), p.op, ": ", argument, " is ", t.dtype(), " but input is ", x.dtype());
}

// to (rows, columns of a wider matrix) = x @ weight^T + bias
void project(const Tensor& to, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const int64_t m = x.size(0), n = weight.size(0), k = x.size(1);
  const Tensor target = alias(to, {m, n}, to.strides());
  if (bias.defined()) kernels::copy(target.view(), bias.view());
  const double beta = bias.defined() ? 1 : 0;
  if (to.dtype() == DType::Float64)
    kernels::dgemm(m, n, k, 1, {x.data<double>(), x.stride(0), x.stride(1)},
                   {weight.data<double>(), weight.stride(1), weight.stride(0)}, beta, to.data<double>(), to.stride(0), 1);
  else
    kernels::sgemm(m, n, k, 1, {x.data<float>(), x.stride(0), x.stride(1)},
                   {weight.data<float>(), weight.stride(1), weight.stride(0)}, static_cast<float>(beta), to.data<float>(),
                   to.stride(0), 1);
}

kernels::RecurrentLayer layer_of(const Plan& p, const Tensor& h0, const Tensor& c0, const RecurrentWeights& w) {
  return {p.cell, p.sequence(), view_of(h0), view_of(c0), w.hh.view(), view_of(p.cell == Cell::Gru ? w.bias_hh : Tensor()),
          view_of(w.hr)};
}

// dgates^T @ (the state before each row).
Tensor hidden_weight_gradient(const Plan& p, const Tensor& dgates, const Tensor& out, const Tensor& h0) {
  const int64_t rows = p.rows(), batch = p.batch();
  if (!p.uniform) {
    const Tensor before = empty(out.shape(), out.dtype());
    kernels::recurrent_previous(p.sequence(), before.view(), out.view(), view_of(h0));
    return matmul(transpose(dgates, 0, 1), before);
  }
  // The rows of `out` are those of the states before, one step later.
  const int64_t from = p.reverse ? batch : 0, to = p.reverse ? 0 : batch, rest = rows - batch;
  const Tensor dw = matmul(transpose(narrow(dgates, 0, to, rest), 0, 1), narrow(out, 0, from, rest));
  if (!h0.defined()) return dw;
  return addmm(dw, transpose(narrow(dgates, 0, p.reverse ? rest : 0, batch), 0, 1), h0);
}

Grads backward_kernel(const Plan& p, const Grads& dy, const Tensor& x, const Tensor& h0, const Tensor& c0,
                      const RecurrentWeights& w, const Tensor& out, const Tensor& gates, const Tensor& cells,
                      const Saved& saved) {
  const int64_t rows = p.rows(), columns = w.hh.size(0), outputs = w.hh.size(1), batch = p.batch();
  const int64_t hidden = columns / kernels::gates_of(p.cell);
  const Tensor flat_out = reshape(out, {rows, outputs});
  const Tensor dout = dy[0].defined() ? reshape(contiguous(dy[0]), {rows, outputs}) : Tensor();
  const Tensor dhn = dense(dy[1]), dcn = dy.size() > 2 ? dense(dy[2]) : Tensor();
  const DType type = x.dtype();
  Grads grads(8);
  const Tensor dgates = empty({rows, columns}, type);
  const Tensor dhidden = p.cell == Cell::Gru ? empty({rows, columns}, type) : dgates;
  const Tensor dprojected = w.hr.defined() ? empty({rows, outputs}, type) : Tensor();
  if (saved.needs(1)) grads[1] = empty({batch, outputs}, type);
  if (saved.needs(2)) grads[2] = empty({batch, hidden}, type);
  if (rows > 0)
    kernels::recurrent_backward(layer_of(p, h0, c0, w),
                                {view_of(dout), view_of(dhn), view_of(dcn), dgates.view(), dhidden.view(),
                                 view_of(dprojected), view_of(grads[1]), view_of(grads[2])},
                                flat_out.view(), gates.view(), view_of(cells));
  if (saved.needs(0)) grads[0] = reshape(matmul(dgates, w.ih), x.shape());
  if (saved.needs(3)) grads[3] = matmul(transpose(dgates, 0, 1), reshape(contiguous(x), {rows, x.size(-1)}));
  if (saved.needs(4)) grads[4] = hidden_weight_gradient(p, dhidden, flat_out, h0);
  if (saved.needs(5)) grads[5] = sum(dgates, {0}, false);
  if (saved.needs(6)) grads[6] = p.cell != Cell::Gru && grads[5].defined() ? grads[5] : sum(dhidden, {0}, false);
  if (saved.needs(7))
    grads[7] = matmul(transpose(dprojected, 0, 1), mul(narrow(gates, 1, 3 * hidden, hidden), tanh(cells)));
  return grads;
}

RecurrentState run(const Plan& p, const Tensor& x, const Tensor& h0, const Tensor& c0, const RecurrentWeights& w) {
  const int64_t rows = p.rows(), outputs = w.hh.size(1), hidden = w.hh.size(0) / kernels::gates_of(p.cell), batch = p.batch();
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
    const Tensor flat_x = reshape(contiguous(x), {rows, x.size(-1)}), flat_out = alias(y.out, {rows, outputs}, {outputs, 1});
    const RecurrentWeights d{w.ih, dense(w.hh), w.bias_ih, dense(w.bias_hh), dense(w.hr)};
    const Tensor bias = gru || !d.bias_hh.defined() ? d.bias_ih : d.bias_ih.defined() ? add(d.bias_ih, d.bias_hh) : d.bias_hh;
    const Tensor h = dense(h0), c = dense(c0);
    project(gates, flat_x, w.ih, bias);
    kernels::recurrent_forward(layer_of(p, h, c, d), flat_out.view(), y.h.view(), view_of(y.c), gates.view(), view_of(cells));
  }
  const Tensor ys[] = {y.out, y.h, y.c};
  record_outputs(p.op, std::span<const Tensor>(ys, lstm ? 3 : 2), inputs(x, h0, c0, w.ih, w.hh, w.bias_ih, w.bias_hh, w.hr),
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

RecurrentState recurrent_layer(const std::string& mode, const Tensor& x, const std::vector<int64_t>& sizes, const Tensor& h0,
                               const Tensor& c0, const RecurrentWeights& w, bool reverse) {
  const Plan p = make_plan(mode, x, sizes, reverse);
  require(w.ih.dim() == 2 && w.hh.dim() == 2, p.op, ": weights must be matrices, got shapes ", w.ih.shape(), " and ", w.hh.shape());
  const int64_t gates = kernels::gates_of(p.cell), columns = w.hh.size(0), outputs = w.hh.size(1), hidden = columns / gates;
  require(columns % gates == 0 && hidden > 0 && (w.hr.defined() || outputs == hidden), p.op, ": weight_hh must have shape (",
          gates, " * hidden, ", w.hr.defined() ? "proj_size" : "hidden", "), got ", w.hh.shape());
  require(!w.hr.defined() || p.cell == Cell::Lstm, p.op, ": only an LSTM has a projection");
  require_shape(p, "weight_ih", w.ih, {columns, w.ih.size(1)}, x);
  require(x.size(-1) == w.ih.size(1), p.op, ": input of shape ", x.shape(), " has ", x.size(-1), " features, weight_ih of shape ",
          w.ih.shape(), " takes ", w.ih.size(1));
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
