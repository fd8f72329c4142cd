// Inputs with any number of dimensions are reshaped to (batch, heads, rows, dim). attend() works in blocks and stores
// only the logarithm of the sum of each row. So do attend_backward(), its gradient, and second(), the gradient of that.
// From the third derivative on, differentiable operations on the full weights are used: Weights.
#include "ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "autograd/record.h"
#include "kernels/attention/attention.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/masked.h"
#include "ops/matmul.h"
#include "ops/operand.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "ops/view.h"

namespace genesis::ops {

namespace {

constexpr const char* kName = "scaled_dot_product_attention";
using Options = kernels::AttentionOptions;

Tensor wide(const Tensor& x) { return is_half(x.dtype()) ? cast(x, DType::Float32) : x; }
Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }
View view_of(const Tensor& x) { return x.defined() ? x.view() : View{nullptr, DType::Bool, 0, nullptr, nullptr}; }

// Returns x with contiguous rows, as the kernels require; outside the graph.
Tensor with_rows(const Tensor& x) {
  const WithGradMode off(false);
  return x.size(-1) == 1 || x.stride(-1) == 1 ? x : contiguous(x);
}

// Memory for (batch, heads, rows, dim) with the dimension order of `like`: heads that were split by a transpose are
// joined again without a copy.
Tensor empty_heads(const Tensor& like, int64_t dim) {
  InlineVec<int, 4> order{0, 1, 2};
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return std::pair(-like.stride(a), a) < std::pair(-like.stride(b), b); });
  Dims strides(4);
  int64_t step = dim;
  strides[3] = 1;
  for (int i = 2; i >= 0; --i) {
    strides[order[i]] = step;
    step *= like.size(order[i]);
  }
  return empty_strided({like.size(0), like.size(1), like.size(2), dim}, strides, like.dtype());
}

// Repeats the heads of k or v for the heads of q that share them; and the sum of gradients over those.
Tensor repeat_heads(const Tensor& x, int64_t heads) {
  const int64_t b = x.size(0), h = x.size(1), n = x.size(2), dim = x.size(3);
  if (h == heads) return x;
  return reshape(expand(unsqueeze(x, 2), {b, h, heads / h, n, dim}), {b, heads, n, dim});
}
Tensor sum_heads(const Tensor& dx, int64_t heads) {
  if (dx.size(1) == heads) return dx;
  return sum(reshape(dx, {dx.size(0), heads, dx.size(1) / heads, dx.size(2), dx.size(3)}), {2}, false);
}

// The weights of all pairs, before and after dropout.
struct Weights {
  Tensor kept, factors;
  Weights(const Tensor& q, const Tensor& k, const Tensor& mask, const Options& o) {
    constexpr double none = -std::numeric_limits<double>::infinity();
    Tensor score = matmul(mul(q, o.scale), transposed(k));
    const int64_t queries = score.size(-2), keys = score.size(-1);
    if (mask.defined())
      score = mask.dtype() == DType::Bool ? masked_fill(score, logical_not(mask), none) : score + mask;
    if (o.causal) {
      const Tensor query = reshape(arange(0, queries, 1, DType::Int64), {queries, 1});
      score = masked_fill(score, gt(arange(0, keys, 1, DType::Int64), query), none);
    }
    if (mask.defined()) {  // a row without keys: softmax would yield NaN
      const Tensor empty_row = all(eq(score, none), {-1}, true);
      kept = masked_fill(softmax(masked_fill(score, empty_row, 0), -1), empty_row, 0);
    } else {
      kept = softmax(score, -1);
    }
    if (o.dropout > 0) {
      factors = empty(kept.shape(), kept.dtype());
      kernels::attention_dropout(factors.view(), o.dropout, o.draw);
    }
  }
  Tensor dropped(const Tensor& w) const { return factors.defined() ? w * factors : w; }
};

Tensor attend_openly(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const Options& o) {
  const Weights w(wide(q), repeat_heads(wide(k), q.size(1)), mask, o);
  return cast(matmul(w.dropped(w.kept), repeat_heads(wide(v), q.size(1))), q.dtype());
}

// The computation of kernels/attention/second.cpp in differentiable operations, with the same names.
Grads second_openly(const Grads& arrived, const Tensor& dy, const Tensor& query, const Tensor& key, const Tensor& value,
                    const Tensor& mask, const Options& o) {
  const int64_t heads = query.size(1);
  const auto of_keys = [&](const Tensor& x) { return repeat_heads(wide(x), heads); };
  const Tensor dout = wide(dy), q = wide(query), k = of_keys(key), v = of_keys(value);
  const Weights w(q, k, mask, o);
  const Tensor &p = w.kept, fp = w.dropped(p);
  const Tensor x = w.dropped(matmul(dout, transposed(v))), d = sum(p * x, {-1}, true), ds = p * (x - d);
  const Tensor zero = zeros({}, p.dtype());
  Tensor a = zero, b = zero;
  if (arrived[0].defined()) a = a + mul(matmul(wide(arrived[0]), transposed(k)), o.scale);
  if (arrived[1].defined()) a = a + mul(matmul(q, transposed(of_keys(arrived[1]))), o.scale);
  if (arrived[3].defined()) a = a + wide(arrived[3]);
  if (arrived[2].defined()) b = w.dropped(matmul(dout, transposed(of_keys(arrived[2]))));
  const Tensor sum_a = sum(p * a, {-1}, true), g = a * (x - d) - sum_a * x + b;
  const Tensor u = w.dropped(p * (a - sum_a)), z = p * (g - sum(p * g, {-1}, true));
  Tensor ddout = matmul(u, v), dq = matmul(z, k), dk = matmul(transposed(z), q);
  if (arrived[2].defined()) ddout = ddout + matmul(fp, of_keys(arrived[2]));
  if (arrived[1].defined()) dq = dq + matmul(ds, of_keys(arrived[1]));
  if (arrived[0].defined()) dk = dk + matmul(transposed(ds), wide(arrived[0]));
  return {ddout, mul(dq, o.scale), sum_heads(mul(dk, o.scale), key.size(1)),
          sum_heads(matmul(transposed(u), dout), value.size(1)),
          mask.defined() && is_floating(mask.dtype()) ? sum_to(z, mask.shape()) : Tensor()};
}

// Expands a mask, which has size 1 in broadcast dimensions, or its gradient to all pairs; outside the graph.
Tensor for_pairs(const Tensor& mask, const Tensor& q, const Tensor& k) {
  const WithGradMode off(false);
  return mask.defined() ? expand(mask, {q.size(0), q.size(1), q.size(2), k.size(2)}) : mask;
}
DType computed_in(const Tensor& x) { return is_half(x.dtype()) ? DType::Float32 : x.dtype(); }

// The gradients of dy, q, k, v and the mask that `wanted` selects, from the gradients with respect to those of q, k, v
// and the mask.
Grads second(const Grads& arrived, const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v,
             const Tensor& mask, const Tensor& lse, const Options& o, const bool (&wanted)[5]) {
  const auto rows = [](const Tensor& x) { return x.defined() ? with_rows(x) : x; };
  const Tensor dout = with_rows(dy), qr = with_rows(q), kr = with_rows(k), vr = with_rows(v),
               pairs = for_pairs(mask, q, k);
  const Tensor gq = rows(arrived[0]), gk = rows(arrived[1]), gv = rows(arrived[2]), gmask = for_pairs(arrived[3], q, k);
  Grads grads(5);
  if (wanted[0]) grads[0] = empty_heads(dy, dy.size(3));
  if (wanted[1]) grads[1] = empty_heads(q, q.size(3));
  if (wanted[2]) grads[2] = empty_heads(k, k.size(3));
  if (wanted[3]) grads[3] = empty_heads(v, v.size(3));
  if (wanted[4]) grads[4] = zeros(mask.shape(), computed_in(q));
  kernels::attention_second(
      {view_of(grads[0]), view_of(grads[1]), view_of(grads[2]), view_of(grads[3]), view_of(grads[4])},
      {dout.view(), lse.view(), qr.view(), kr.view(), vr.view(), view_of(pairs)},
      {true, view_of(gq), view_of(gk), view_of(gv), view_of(gmask)}, o);
  return grads;
}

// The gradients of q, k, v and the mask that `wanted` selects.
Grads attend_backward(const Tensor& dy, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                      const Tensor& out, const Tensor& lse, const Options& o, const bool (&wanted)[4]) {
  Grads grads(4);
  {
    const Tensor dout = with_rows(dy), qr = with_rows(q), kr = with_rows(k), vr = with_rows(v),
                 pairs = for_pairs(mask, q, k);
    if (wanted[0]) grads[0] = empty_heads(q, q.size(3));
    if (wanted[1]) grads[1] = empty_heads(k, k.size(3));
    if (wanted[2]) grads[2] = empty_heads(v, v.size(3));
    if (wanted[0] || wanted[1] || wanted[2])
      kernels::attention_backward(view_of(grads[0]), view_of(grads[1]), view_of(grads[2]), dout.view(), out.view(),
                                  lse.view(), qr.view(), kr.view(), vr.view(), view_of(pairs), o);
    if (wanted[3]) {
      grads[3] = zeros(mask.shape(), computed_in(q));
      kernels::attention_mask_backward(grads[3].view(), out.view(),
                                       {dout.view(), lse.view(), qr.view(), kr.view(), vr.view(), pairs.view()}, o);
    }
  }
  if (!grad_mode.enabled) return grads;
  const Tensor made[] = {grads[0], grads[1], grads[2], grads[3]};
  record_outputs("scaled_dot_product_attention_backward", made, inputs(dy, q, k, v, mask), save(dy, q, k, v, mask, lse),
                 [o](const Grads& arrived, const Saved& saved) {
                   const Tensor dy = saved[0], q = saved[1], k = saved[2], v = saved[3], mask = saved[4];
                   if (grad_mode.enabled) return second_openly(arrived, dy, q, k, v, mask, o);
                   return second(arrived, dy, q, k, v, mask, saved[5], o,
                                 {saved.needs(0), saved.needs(1), saved.needs(2), saved.needs(3), saved.needs(4)});
                 });
  return grads;
}

// For four dimensions; the mask has size 1 in broadcast dimensions.
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const Options& o) {
  if (q.numel() == 0 || k.numel() == 0 || v.numel() == 0) return attend_openly(q, k, v, mask, o);
  Tensor out = empty_heads(q, v.size(3));
  Tensor lse = empty({q.size(0), q.size(1), q.size(2)}, computed_in(q));
  {
    const Tensor qr = with_rows(q), kr = with_rows(k), vr = with_rows(v), pairs = for_pairs(mask, q, k);
    kernels::attention(out.view(), lse.view(), qr.view(), kr.view(), vr.view(), view_of(pairs), o);
  }
  return record(kName, out, inputs(q, k, v, mask), save(kept(q), kept(k), kept(v), mask, kept_output(out), lse),
                [o](const Tensor& dy, const Saved& saved) {
                  return attend_backward(dy, saved[0], saved[1], saved[2], saved[3], saved[4], saved[5], o,
                                         {saved.needs(0), saved.needs(1), saved.needs(2), saved.needs(3)});
                });
}

Dims lead_of(const Tensor& x, int last) { return Dims(x.shape().begin(), x.shape().end() - last); }
Dims joined(Dims lead, std::initializer_list<int64_t> sizes) {
  for (int64_t n : sizes) lead.push_back(n);
  return lead;
}

// x (..., rows, cols) in four dimensions, with the leading ones expanded to `lead`.
Tensor four_dims(const Tensor& x, const Dims& lead) {
  const int64_t rows = x.size(-2), cols = x.size(-1);
  const Dims shape = joined(lead, {rows, cols});
  const Tensor full = x.shape() == shape ? x : expand(x, shape);
  if (full.dim() == 4) return full;
  if (full.dim() == 3) return unsqueeze(full, 0);
  if (full.dim() == 2) return unsqueeze(unsqueeze(full, 0), 0);
  return reshape(full, {numel(Dims(lead.begin(), lead.end() - 1)), lead.back(), rows, cols});
}

// The mask in four dimensions, with size 1 in broadcast dimensions.
Tensor four_dims_of_mask(const Tensor& mask, const Dims& lead) {
  Dims shape(static_cast<int>(std::max(lead.size() + 2, 4)), 1);
  std::copy(mask.shape().begin(), mask.shape().end(), shape.end() - mask.dim());
  const int more = shape.size() - 4;  // dimensions that are merged with the first
  if (more == 0) return mask.shape() == shape ? mask : reshape(mask, shape);
  const bool same = std::all_of(shape.begin(), shape.begin() + more + 1, [](int64_t n) { return n == 1; });
  const Tensor padded = reshape(mask, shape);
  if (!same) std::copy(lead.begin(), lead.begin() + more + 1, shape.begin());
  const Dims first(shape.begin(), shape.begin() + more + 1);
  return reshape(same ? padded : expand(padded, shape),
                 {numel(first), shape[more + 1], shape[more + 2], shape[more + 3]});
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                                    double dropout, bool causal, std::optional<double> scale, bool gqa, Generator& g) {
  require_floating(kName, "query", q);
  require<DTypeError>(q.dtype() == k.dtype() && q.dtype() == v.dtype(), kName,
                      ": query, key and value must have one dtype, got ", q.dtype(), ", ", k.dtype(), " and ",
                      v.dtype());
  require(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2, kName,
          ": query, key and value need at least 2 dimensions, got shapes ", q.shape(), ", ", k.shape(), " and ",
          v.shape());
  require(q.size(-1) == k.size(-1), kName, ": query of shape ", q.shape(), " and key of shape ", k.shape(),
          " must agree in the last dimension");
  require(k.size(-2) == v.size(-2), kName, ": key of shape ", k.shape(), " and value of shape ", v.shape(),
          " must have the same number of rows (dimension -2)");
  require(dropout >= 0 && dropout <= 1, kName, ": dropout_p must be between 0 and 1, got ", dropout);
  require(!(causal && mask.defined()), kName,
          ": attn_mask and is_causal=True exclude each other; put the causal part into attn_mask");
  if (mask.defined())
    require<DTypeError>(mask.dtype() == DType::Bool || is_floating(mask.dtype()), kName,
                        ": attn_mask must be bool or floating, got ", mask.dtype());
  Dims lead, key_lead;
  if (gqa) {
    require(q.dim() >= 3 && k.dim() >= 3 && v.dim() >= 3, kName,
            ": enable_gqa needs a dimension of heads (-3), got shapes ", q.shape(), ", ", k.shape(), " and ",
            v.shape());
    const int64_t heads = q.size(-3), key_heads = k.size(-3);
    require(key_heads == v.size(-3) && key_heads > 0 && heads % key_heads == 0, kName, ": enable_gqa: the ", heads,
            " heads of query must be a multiple of those of key and value, which are ", key_heads, " and ", v.size(-3));
    const Dims outer = broadcast_shapes(kName, broadcast_shapes(kName, lead_of(q, 3), lead_of(k, 3)), lead_of(v, 3));
    lead = joined(outer, {heads});
    key_lead = joined(outer, {key_heads});
  } else {
    lead = key_lead = broadcast_shapes(kName, broadcast_shapes(kName, lead_of(q, 2), lead_of(k, 2)), lead_of(v, 2));
  }
  Options o{scale.value_or(q.size(-1) > 0 ? 1 / std::sqrt(static_cast<double>(q.size(-1))) : 1), causal, dropout, {}};
  if (dropout > 0) {
    const int64_t rows = numel(lead) * q.size(-2), per_row = (k.size(-2) + 3) / 4;
    o.draw = {g.seed, g.reserve(static_cast<uint64_t>(rows * per_row))};
  }
  Tensor mask_4d;
  if (mask.defined()) {
    const Dims full = joined(lead, {q.size(-2), k.size(-2)});
    require(mask.dim() <= full.size() && broadcast_shapes(kName, mask.shape(), full) == full, kName,
            ": attn_mask of shape ", mask.shape(), " does not broadcast to the weights' shape ", full);
    mask_4d = four_dims_of_mask(mask, lead);
  }
  const Tensor out = attend(four_dims(q, lead), four_dims(k, key_lead), four_dims(v, key_lead), mask_4d, o);
  const Dims shape = joined(lead, {q.size(-2), v.size(-1)});
  return out.shape() == shape ? out : reshape(out, shape);
}

}  // namespace genesis::ops
