#include "ops/gather.h"

#include <cstring>

#include "autograd/record.h"
#include "core/checked.h"
#include "kernels/elementwise/convert.h"
#include "kernels/index/gather.h"
#include "ops/create.h"
#include "ops/indices.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/scatter.h"
#include "ops/view.h"

namespace genesis::ops {

// dx = 0, then dx[index] += dy, for dx of `shape`. Half precision is summed in float32.
static Tensor transposed(const Tensor& dy, const Dims& shape, View index, int dim) {
  const WithGradMode off(false);
  const DType type = is_half(dy.dtype()) ? DType::Float32 : dy.dtype();
  const Tensor from = cast(dy, type);
  const Tensor dx = empty(shape, type);
  kernels::gather_transposed(line(dx), line(from), index, dim);
  return cast(dx, dy.dtype());
}

// ---- gather ------------------------------------------------------------------------------------------------------

Tensor gather_backward(const Tensor& dy, const Dims& shape, int dim, const Tensor& index) {
  Tensor dx = index.numel() ? transposed(dy, shape, line(index), dim) : zeros(shape, dy.dtype());
  return record("gather_backward", std::move(dx), inputs(dy), save(index),
                [dim](const Tensor& ddx, const Saved& saved) { return Grads{gather(ddx, dim, saved[0])}; });
}

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index_in) {
  const int d = wrap_dim("gather", dim, x.dim());
  require_index_fits("gather", x, d, index_in);
  const Tensor index = as_indices("gather", index_in);
  Tensor y = empty(index.shape(), x.dtype());
  if (index.numel() > 0 && !kernels::gather_along(line(y), line(x), line(index), d))
    index_out_of_range("gather", index, d, line(x).shape[d]);
  return record("gather", std::move(y), inputs(x), save(index),
                [d, shape = x.shape()](const Tensor& dy, const Saved& saved) {
                  return Grads{gather_backward(dy, shape, d, saved[0])};
                });
}

// ---- index_select ------------------------------------------------------------------------------------------------

static Tensor index_select_backward(const Tensor& dy, const Dims& shape, int dim, const Tensor& index) {
  Tensor dx = transposed(dy, shape, IndexAlong(index, dy.shape(), dim).view(), dim);
  return record("index_select_backward", std::move(dx), inputs(dy), save(index),
                [dim](const Tensor& ddx, const Saved& saved) { return Grads{index_select(ddx, dim, saved[0])}; });
}

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index_in) {
  const int d = wrap_dim("index_select", dim, x.dim());
  require(index_in.dim() <= 1, "index_select: index must have one dimension, got shape ", index_in.shape(),
          "; use index.reshape(-1), or gather() for an index for each element");
  require(x.dim() > 0 || index_in.numel() == 1, "index_select: a 0-d tensor has one element, but index has ",
          index_in.numel());
  const Tensor index = as_indices("index_select", index_in);
  Dims shape = x.shape();
  if (x.dim() > 0) shape[d] = index.numel();
  Tensor y = empty(shape, x.dtype());
  if (y.numel() == 0) checked_indices("index_select", index, d, line(x).shape[d]);
  else if (!kernels::gather_along(line(y), line(x), IndexAlong(index, shape, d).view(), d))
    index_out_of_range("index_select", index, d, line(x).shape[d]);
  return record("index_select", std::move(y), inputs(x), save(index),
                [d, from = x.shape()](const Tensor& dy, const Saved& saved) {
                  return Grads{index_select_backward(dy, from, d, saved[0])};
                });
}

// ---- flat indices ------------------------------------------------------------------------------------------------

Tensor take(const Tensor& x, const Tensor& index_in) {
  const Tensor index = checked_indices("take", index_in, 0, x.numel(), true);
  return reshape(index_select(reshape(x, {-1}), 0, reshape(index, {-1})), index.shape());
}

Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> dim) {
  if (!dim) return take(x, reshape(index, {-1}));
  require(x.dim() == index.dim(), "take_along_dim: input and indices must have as many dimensions, got shapes ",
          x.shape(), " and ", index.shape(), "; leave out dim to index into the flattened input");
  const int d = wrap_dim("take_along_dim", *dim, x.dim());
  if (x.dim() == 0) return gather(x, 0, checked_indices("take_along_dim", index, 0, 1, true));
  // The indexed dimension is not broadcast.
  Dims one = x.shape(), other = index.shape();
  one[d] = other[d] = 1;
  Dims shape = broadcast_shapes("take_along_dim", one, other);
  Dims of_x = shape, of_index = shape;
  of_x[d] = x.size(d);
  of_index[d] = index.size(d);
  return gather(expand(x, of_x), d, expand(checked_indices("take_along_dim", index, d, x.size(d), true), of_index));
}

// ---- embedding ---------------------------------------------------------------------------------------------------

// For each element of `index`, 1 / the number of occurrences of that index.
static Tensor inverse_frequency(const Tensor& index, int64_t rows, DType dtype) {
  const WithGradMode off(false);
  const Tensor flat = reshape(index, {-1});
  const Tensor counts = transposed(ones({flat.numel()}, DType::Float32), {rows}, flat.view(), 0);
  return cast(div(1.0, reshape(index_select(counts, 0, flat), index.shape())), dtype);
}

static Tensor embedding_backward(const Tensor& dy, const Tensor& index, int64_t rows, int64_t padding, bool by_freq) {
  const int64_t width = dy.size(-1);
  Tensor dx;
  {
    const WithGradMode off(false);
    const Tensor scaled = by_freq ? dy * unsqueeze(inverse_frequency(index, rows, dy.dtype()), -1) : dy;
    const Tensor flat = reshape(index, {index.numel()}), rows_of_dy = reshape(scaled, {index.numel(), width});
    dx = transposed(rows_of_dy, {rows, width}, IndexAlong(flat, rows_of_dy.shape(), 0).view(), 0);
    if (padding >= 0) kernels::copy(narrow(dx, 0, padding, 1).view(), Operand(0).view());
  }
  return record("embedding_backward", std::move(dx), inputs(dy), save(index),
                [rows, padding, by_freq](const Tensor& ddx, const Saved& saved) {
                  Tensor kept = ddx;
                  if (padding >= 0) kept = index_fill(kept, 0, full({}, padding, DType::Int64), 0);
                  Tensor ddy = embedding(saved[0], kept, {}, false);
                  if (by_freq) ddy = ddy * unsqueeze(inverse_frequency(saved[0], rows, ddy.dtype()), -1);
                  return Grads{ddy};
                });
}

Tensor embedding(const Tensor& index_in, const Tensor& weight, std::optional<int64_t> padding_idx,
                 bool scale_grad_by_freq) {
  require(weight.dim() == 2, "embedding: weight must have two dimensions (rows, width), got shape ", weight.shape());
  const int64_t rows = weight.size(0), width = weight.size(1);
  int64_t padding = -1;
  if (padding_idx) {
    require<IndexError>(*padding_idx >= -rows && *padding_idx < rows, "embedding: padding_idx ", *padding_idx,
                        " is out of range for a weight of ", rows, " rows");
    padding = *padding_idx < 0 ? *padding_idx + rows : *padding_idx;
  }
  const Tensor index = as_indices("embedding", index_in);
  const Tensor flat = index.contiguous() ? alias(index, {index.numel()}, {1}) : reshape(index, {index.numel()});
  const Dims flat_shape{index.numel(), width};
  Tensor y = empty(flat_shape, weight.dtype());
  if (y.numel() == 0) checked_indices("embedding", index, 0, rows);
  else if (!kernels::gather_along(y.view(), weight.view(), IndexAlong(flat, flat_shape, 0).view(), 0))
    index_out_of_range("embedding", index, 0, rows);
  if (index.dim() != 1) {
    Dims shape = index.shape();
    shape.push_back(width);
    y = alias(y, shape, contiguous_strides(shape));
  }
  return record("embedding", std::move(y), inputs(weight), save(index),
                [rows, padding, scale_grad_by_freq](const Tensor& dy, const Saved& saved) {
                  return Grads{embedding_backward(dy, saved[0], rows, padding, scale_grad_by_freq)};
                });
}

Tensor embedding_bag(const Tensor& index_in, const Tensor& weight_in, bool mean, bool scale_grad_by_freq) {
  require(weight_in.dim() == 2 && index_in.dim() == 2 && index_in.size(1) > 0,
          "embedding_bag: needs a weight (rows, width) and indices (bags, size) of at least one, got shapes ",
          weight_in.shape(), " and ", index_in.shape());
  require<DTypeError>(weight_in.dtype() == DType::Float32 || weight_in.dtype() == DType::Float64,
                      "embedding_bag: weight must be float32 or float64, got ", weight_in.dtype());
  const Tensor index = contiguous(as_indices("embedding_bag", index_in)), weight = contiguous(weight_in);
  const int64_t rows = weight.size(0), size = index.size(1);
  const double scale = mean ? 1.0 / static_cast<double>(size) : 1.0;
  Tensor y = empty({index.size(0), weight.size(1)}, weight.dtype());
  if (y.numel() == 0) checked_indices("embedding_bag", index, 0, rows);
  else if (!kernels::sum_rows(y.view(), weight.view(), index.address<int64_t>(), size, scale))
    index_out_of_range("embedding_bag", index, 0, rows);
  return record("embedding_bag", std::move(y), inputs(weight), save(index),
                [rows, size, scale, scale_grad_by_freq](const Tensor& dy, const Saved& saved) {
                  const Tensor scaled = scale == 1 ? dy : mul(dy, scale);
                  const Tensor each = expand(unsqueeze(scaled, 1), {dy.size(0), size, dy.size(1)});
                  return Grads{embedding_backward(each, saved[0], rows, -1, scale_grad_by_freq)};
                });
}

Tensor one_hot(const Tensor& index, int64_t num_classes) {
  require<DTypeError>(index.dtype() == DType::Int64, "one_hot: input must be int64, got ", index.dtype(),
                      "; use input.long()");
  const Tensor flat = contiguous(index);
  const int64_t* data = num_classes == -1 ? flat.data<int64_t>() : flat.address<int64_t>();
  if (num_classes == -1) {
    require(index.numel() > 0, "one_hot: the number of classes cannot be taken from an empty tensor; pass num_classes");
    int64_t largest = 0;
    for (int64_t i = 0; i < flat.numel(); ++i) largest = std::max(largest, data[i]);
    num_classes = checked::add("one_hot", largest, 1);
  }
  require(num_classes > 0, "one_hot: num_classes must be positive, or -1 to take it from the input, got ", num_classes);
  const int64_t outside = kernels::find_outside(flat.view(), 0, num_classes);
  require<IndexError>(outside < 0, "one_hot: class ", outside < 0 ? 0 : data[outside], " is out of range for ",
                      num_classes, " classes; valid: 0..", num_classes - 1, "; pass a larger num_classes, or -1");
  Dims shape = index.shape();
  shape.push_back(num_classes);
  Tensor y = zeros(shape, DType::Int64);
  if (flat.numel() == 0) return y;
  const Tensor rows = alias(y, {flat.numel(), num_classes}, {num_classes, 1});
  const Tensor places = alias(flat, {flat.numel(), 1}, {1, 1});
  const Tensor one = expand(full({1, 1}, int64_t{1}, DType::Int64), {flat.numel(), 1});
  kernels::scatter_along(rows.view(), one.view(), places.view(), 1, kernels::Combine::Set, false);
  return y;
}

bool all_true(const Tensor& x) {
  const WithGradMode off(false);
  return kernels::find_outside(cast(all(x, {}, false), DType::Int64).view(), 1, 2) < 0;
}

}  // namespace genesis::ops
