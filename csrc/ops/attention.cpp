// Inputs of any number of dimensions become (batch, heads, rows, dim); attend() then works in blocks, keeping only the
// logarithm of each row's sum. When its gradient is itself to be differentiated, or that of the mask is wanted, the
// weights are written out in differentiable operations instead: Weights.
#include "ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/record.h"
#include "kernels/attention.h"
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

// Rows of contiguous elements, as the kernels want them; outside the graph.
Tensor with_rows(const Tensor& x) {
  const WithGradMode off(false);
  return x.size(-1) == 1 || x.stride(-1) == 1 ? x : contiguous(x);
}

// Memory for (batch, heads, rows, dim) whose dimensions lie in the order of those of `like`: what was split into heads by
// a transpose will be joined again by one.
Tensor empty_heads(const Tensor& like, int64_t dim) {
  InlineVec<int, 4> order{0, 1, 2};
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return like.stride(a) > like.stride(b); });
  Dims strides(4);
  int64_t step = dim;
  strides[3] = 1;
  for (int i = 2; i >= 0; --i) {
    strides[order[i]] = step;
    step *= like.size(order[i]);
  }
  return empty_strided({like.size(0), like.size(1), like.size(2), dim}, strides, like.dtype());
}

// Heads of k or v, each repeated for the heads of q that it serves; and the sum of gradients over those.
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
    if (mask.defined()) score = mask.dtype() == DType::Bool ? masked_fill(score, logical_not(mask), none) : score + mask;
    if (o.causal) {
      const Tensor query = reshape(arange(0, queries, 1, DType::Int64), {queries, 1});
      score = masked_fill(score, gt(arange(0, keys, 1, DType::Int64), query), none);
    }
    if (mask.defined()) {  // a row without keys: softmax would make NaN of it
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

Grads gradients_openly(const Tensor& dy, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                       const Options& o) {
  const int64_t heads = query.size(1);
  const Tensor dout = wide(dy), q = wide(query), k = repeat_heads(wide(key), heads), v = repeat_heads(wide(value), heads);
  const Weights w(q, k, mask, o);
  const Tensor dw = w.dropped(matmul(dout, transposed(v)));
  const Tensor ds = mul(w.kept * (dw - sum(w.kept * dw, {-1}, true)), o.scale);
  return {matmul(ds, k), sum_heads(matmul(transposed(ds), q), key.size(1)),
          sum_heads(matmul(transposed(w.dropped(w.kept)), dout), value.size(1))};
}

// On four dimensions.
Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const Options& o) {
  if (q.numel() == 0 || k.numel() == 0 || v.numel() == 0 || (mask.defined() && tracked(mask)))
    return attend_openly(q, k, v, mask, o);
  Tensor out = empty_heads(q, v.size(3));
  Tensor lse = empty({q.size(0), q.size(1), q.size(2)}, is_half(q.dtype()) ? DType::Float32 : q.dtype());
  {
    const Tensor qr = with_rows(q), kr = with_rows(k), vr = with_rows(v);
    kernels::attention(out.view(), lse.view(), qr.view(), kr.view(), vr.view(), view_of(mask), o);
  }
  return record(kName, out, inputs(q, k, v), save(q, k, v, mask, output(out), lse), [o](const Tensor& dy, const Saved& saved) {
    const Tensor q = saved[0], k = saved[1], v = saved[2], mask = saved[3];
    if (grad_mode.enabled) return gradients_openly(dy, q, k, v, mask, o);
    Grads grads(3);
    if (saved.needs(0)) grads[0] = empty_heads(q, q.size(3));
    if (saved.needs(1)) grads[1] = empty_heads(k, k.size(3));
    if (saved.needs(2)) grads[2] = empty_heads(v, v.size(3));
    const Tensor dout = with_rows(dy), qr = with_rows(q), kr = with_rows(k), vr = with_rows(v), out = saved[4], lse = saved[5];
    kernels::attention_backward(view_of(grads[0]), view_of(grads[1]), view_of(grads[2]), dout.view(), out.view(), lse.view(),
                                qr.view(), kr.view(), vr.view(), view_of(mask), o);
    return grads;
  });
}

Dims lead_of(const Tensor& x, int last) { return Dims(x.shape().begin(), x.shape().end() - last); }
Dims joined(Dims lead, std::initializer_list<int64_t> sizes) {
  for (int64_t n : sizes) lead.push_back(n);
  return lead;
}

// x, which ends in (rows, cols), with the dimensions before those expanded to `lead`, as four dimensions.
Tensor four_dims(const Tensor& x, const Dims& lead) {
  const int64_t rows = x.size(-2), cols = x.size(-1);
  const Dims shape = joined(lead, {rows, cols});
  const Tensor full = x.shape() == shape ? x : expand(x, shape);
  if (full.dim() == 4) return full;
  if (full.dim() == 3) return unsqueeze(full, 0);
  if (full.dim() == 2) return unsqueeze(unsqueeze(full, 0), 0);
  return reshape(full, {numel(Dims(lead.begin(), lead.end() - 1)), lead.back(), rows, cols});
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, double dropout,
                                    bool causal, std::optional<double> scale, bool gqa, Generator& g) {
  require_floating(kName, "query", q);
  require<DTypeError>(q.dtype() == k.dtype() && q.dtype() == v.dtype(), kName, ": query, key and value must have one dtype, got ",
                      q.dtype(), ", ", k.dtype(), " and ", v.dtype());
  require(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2, kName, ": query, key and value need at least 2 dimensions, got shapes ",
          q.shape(), ", ", k.shape(), " and ", v.shape());
  require(q.size(-1) == k.size(-1), kName, ": query of shape ", q.shape(), " and key of shape ", k.shape(),
          " must agree in the last dimension");
  require(k.size(-2) == v.size(-2), kName, ": key of shape ", k.shape(), " and value of shape ", v.shape(),
          " must have the same number of rows (dimension -2)");
  require(dropout >= 0 && dropout <= 1, kName, ": dropout_p must be between 0 and 1, got ", dropout);
  require(!(causal && mask.defined()), kName, ": attn_mask and is_causal=True exclude each other; put the causal part into attn_mask");
  if (mask.defined())
    require<DTypeError>(mask.dtype() == DType::Bool || is_floating(mask.dtype()), kName, ": attn_mask must be bool or floating, got ",
                        mask.dtype());
  Dims lead, key_lead;
  if (gqa) {
    require(q.dim() >= 3 && k.dim() >= 3 && v.dim() >= 3, kName, ": enable_gqa needs a dimension of heads (-3), got shapes ",
            q.shape(), ", ", k.shape(), " and ", v.shape());
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
    require(mask.dim() <= full.size() && broadcast_shapes(kName, mask.shape(), full) == full, kName, ": attn_mask of shape ",
            mask.shape(), " does not broadcast to the weights' shape ", full);
    mask_4d = four_dims(expand(mask, full), lead);
  }
  const Tensor out = attend(four_dims(q, lead), four_dims(k, key_lead), four_dims(v, key_lead), mask_4d, o);
  const Dims shape = joined(lead, {q.size(-2), v.size(-1)});
  return out.shape() == shape ? out : reshape(out, shape);
}

}  // namespace genesis::ops
