#include "ops/scatter.h"

#include <cmath>
#include <numeric>

#include "autograd/record.h"
#include "kernels/elementwise/compare.h"
#include "kernels/elementwise/convert.h"
#include "kernels/index/gather.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/gather.h"
#include "ops/index.h"
#include "ops/indices.h"
#include "ops/masked.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/select.h"
#include "ops/view.h"

namespace genesis::ops {

using kernels::Combine;

void require_index_fits(const char* op, const Tensor& x, int dim, const Tensor& index) {
  if (index.numel() == 0) return;  // of any shape
  require(std::max(x.dim(), 1) == std::max(index.dim(), 1), op, ": index of shape ", index.shape(),
          " must have as many dimensions as the input of shape ", x.shape(), "; unsqueeze(", dim, ") adds one");
  for (int d = 0; d < std::min(x.dim(), index.dim()); ++d)
    require(d == dim || index.size(d) <= x.size(d), op, ": index of shape ", index.shape(), " is larger in dimension ",
            d, " than the input of shape ", x.shape(), "; only dimension ", dim, " may be larger");
}

static void require_same_dtype(const char* op, const Tensor& x, const char* name, const Tensor& src) {
  require<DTypeError>(x.dtype() == src.dtype(), op, ": ", name, " is ", src.dtype(), " but the input is ", x.dtype(),
                      "; use ", name, ".to(input.dtype)");
}

// Inputs must not change while the operator writes to `out`.
static Tensor apart(const Tensor& t, Out out) {
  if (!out || out.tensor->impl()->storage != t->storage) return t;
  const WithGradMode off(false);
  return clone(t);
}

// An operator that writes to existing memory checks all indices first; new memory is simply discarded if the kernel
// finds an invalid index.
static Tensor indices_to_write(const char* op, const Tensor& index, int dim, const Tensor& x, Out out) {
  return out ? apart(checked_indices(op, index, dim, line(x).shape[dim]), out) : as_indices(op, index);
}

// x with src written into it, in new memory or in `out`; `places` is the index for the kernel. Half precision is summed
// in float32.
static Tensor written(const char* op, const Tensor& x, const Tensor& src, const Tensor& index, View places, int dim,
                      Combine how, Out out) {
  const WithGradMode off(false);
  Tensor y = x;
  if (!out || !out.tensor->same(x)) {
    y = destination(op, x.shape(), x.dtype(), out);
    kernels::copy(y.view(), x.view());
  }
  if (src.numel() == 0) {
    checked_indices(op, index, dim, line(x).shape[dim]);
    return y;
  }
  const bool half = how != Combine::Set && is_half(x.dtype());
  const Tensor to = half ? cast(y, DType::Float32) : y, from = half ? cast(src, DType::Float32) : src;
  if (!kernels::scatter_along(line(to), line(from), places, dim, how, !out))
    index_out_of_range(op, index, dim, line(x).shape[dim]);
  if (half) kernels::copy(y.view(), to.view());
  return y;
}

// True for elements that a later one overwrites; index has one element for each.
static Tensor overwritten(const Dims& x_shape, View index, const Dims& shape, int dim) {
  const WithGradMode off(false);
  if (numel(shape) == 0) return empty(shape, DType::Bool);
  const int64_t n = index.shape[dim];
  const Tensor order = empty({n}, DType::Int64);
  if (!on_meta) std::iota(order.data<int64_t>(), order.data<int64_t>() + n, 0);
  const IndexAlong positions(order, shape, dim);
  const Tensor last = empty(x_shape, DType::Int64), winner = empty(shape, DType::Int64),
               lost = empty(shape, DType::Bool);
  kernels::scatter_along(line(last), positions.view(), index, dim, Combine::Set, false);
  kernels::gather_along(line(winner), line(last), index, dim);
  kernels::ne(line(lost), line(winner), positions.view(), DType::Int64);
  return lost;
}

// ---- an index for each element -----------------------------------------------------------------------------------

// The part of src that has an index.
static Tensor indexed_part(const char* op, const Tensor& src, const Tensor& index) {
  if (src.dim() == 0) return expand(src, index.shape());
  require(src.dim() == std::max(index.dim(), 1), op, ": src of shape ", src.shape(),
          " must have as many dimensions as index of shape ", index.shape());
  Tensor part = src;
  for (int d = 0; d < src.dim(); ++d) {
    const int64_t n = index.dim() ? index.size(d) : 1;
    require(src.size(d) >= n, op, ": src of shape ", src.shape(), " is smaller in dimension ", d,
            " than index of shape ", index.shape());
    if (src.size(d) > n) part = slice(part, d, 0, n, 1);
  }
  return part.dim() == index.dim() ? part : reshape(part, index.shape());
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index_in, const Operand& src_in, Out out) {
  const int d = wrap_dim("scatter", dim, x.dim());
  require_index_fits("scatter", x, d, index_in);
  const Tensor index = indices_to_write("scatter", index_in, d, x, out);
  if (src_in.is_scalar()) {
    require_fits("scatter", src_in, x.dtype());
    const Tensor value = expand(full({}, src_in.scalar, x.dtype()), index.shape());
    Tensor y = written("scatter", x, value, index, line(index), d, Combine::Set, out);
    return record("scatter", std::move(y), inputs(x), save(index),
                  [d](const Tensor& dy, const Saved& saved) { return Grads{scatter(dy, d, saved[0], 0)}; });
  }
  require_same_dtype("scatter", x, "src", *src_in.tensor);
  const Tensor src = indexed_part("scatter", *src_in.tensor, index);
  Tensor y = written("scatter", x, apart(src, out), index, line(index), d, Combine::Set, out);
  return record("scatter", std::move(y), inputs(x, src), save(index), [d](const Tensor& dy, const Saved& saved) {
    const Tensor at = saved[0];
    Grads grads{saved.needs(0) ? scatter(dy, d, at, 0) : Tensor(), Tensor()};
    if (saved.needs(1)) grads[1] = masked_fill(gather(dy, d, at), overwritten(dy.shape(), line(at), at.shape(), d), 0);
    return grads;
  });
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index_in, const Tensor& src_in, Out out) {
  const int d = wrap_dim("scatter_add", dim, x.dim());
  require_index_fits("scatter_add", x, d, index_in);
  require_same_dtype("scatter_add", x, "src", src_in);
  const Tensor index = indices_to_write("scatter_add", index_in, d, x, out);
  const Tensor src = indexed_part("scatter_add", src_in, index);
  Tensor y = written("scatter_add", x, apart(src, out), index, line(index), d, Combine::Add, out);
  return record("scatter_add", std::move(y), inputs(x, src), save(index), [d](const Tensor& dy, const Saved& saved) {
    return Grads{dy, saved.needs(1) ? gather(dy, d, saved[0]) : Tensor()};
  });
}

// ---- combined ----------------------------------------------------------------------------------------------------

Reduce reduce_named(const char* op, const std::string& name) {
  if (name == "sum") return Reduce::Sum;
  if (name == "prod") return Reduce::Prod;
  if (name == "mean") return Reduce::Mean;
  if (name == "amax") return Reduce::Amax;
  if (name == "amin") return Reduce::Amin;
  fail(op, ": reduce must be 'sum', 'prod', 'mean', 'amax' or 'amin', got '", name, "'");
}

// The neutral element: the initial value if the existing element is excluded.
static Scalar neutral(Reduce reduce, DType dtype) {
  if (reduce == Reduce::Prod) return 1;
  if (reduce == Reduce::Sum || reduce == Reduce::Mean) return 0;
  const bool high = reduce == Reduce::Amin;
  if (is_floating(dtype)) return high ? INFINITY : -INFINITY;
  switch (dtype) {
    case DType::Bool: return high;
    case DType::UInt8: return high ? UINT8_MAX : 0;
    case DType::Int8: return high ? INT8_MAX : INT8_MIN;
    case DType::Int16: return high ? INT16_MAX : INT16_MIN;
    case DType::Int32: return high ? INT32_MAX : INT32_MIN;
    default: return high ? INT64_MAX : INT64_MIN;
  }
}

// The number of values that contribute to each element of `shape`, at least 1.
static Tensor contributions(const Dims& shape, int dim, const Tensor& index, bool include_self, DType dtype) {
  const WithGradMode off(false);
  const Tensor none = full(shape, include_self ? 1 : 0, dtype), one = expand(ones({}, dtype), index.shape());
  return clamp(scatter_add(none, dim, index, one), Operand(1), {});
}

// y / n rounded down, in place.
static void floor_divide(const Tensor& y, const Tensor& n) {
  const Tensor sum = contiguous(cast(y, DType::Int64)), by = contiguous(n);
  const Tensor mean = empty(sum.shape(), DType::Int64);
  for (int64_t i = 0; !on_meta && i < sum.numel(); ++i) {
    const int64_t a = sum.data<int64_t>()[i], b = by.data<int64_t>()[i], q = a / b;
    mean.data<int64_t>()[i] = q - (a % b < 0);
  }
  kernels::copy(y.view(), mean.view());
}

// Not recorded. Half precision is computed in float32.
static Tensor reduced(const Tensor& x, const Tensor& src, const Tensor& index, int dim, Reduce reduce,
                      bool include_self, Out out) {
  const WithGradMode off(false);
  if (is_half(x.dtype())) {
    const Tensor wide =
        reduced(cast(x, DType::Float32), cast(src, DType::Float32), index, dim, reduce, include_self, {});
    if (!out) return cast(wide, x.dtype());
    return deliver("scatter_reduce", wide, out);
  }
  constexpr Combine how[] = {Combine::Add, Combine::Mul, Combine::Add, Combine::Max, Combine::Min};
  const View places = line(index);
  Tensor y;
  if (include_self) {
    y = written("scatter_reduce", x, src, index, places, dim, how[static_cast<int>(reduce)], out);
  } else {
    const Tensor nothing = expand(full({}, neutral(reduce, x.dtype()), x.dtype()), index.shape());
    y = written("scatter_reduce", x, nothing, index, places, dim, Combine::Set, out);
    y = written("scatter_reduce", y, src, index, places, dim, how[static_cast<int>(reduce)], Out{&y});
  }
  if (reduce == Reduce::Mean) {
    const bool floating = is_differentiable(y.dtype());
    const Tensor n = contributions(y.shape(), dim, index, include_self, floating ? y.dtype() : DType::Int64);
    if (floating) div(y, n, Out{&y});
    else floor_divide(y, n);
  }
  return y;
}

// If a product has a factor of 0, its derivative by that factor is the product of the others, which cannot be computed
// by division: the product is recomputed with 1 in place of a single 0.
static Grads prod_backward(const Tensor& dy, const Tensor& x, const Tensor& src, const Tensor& y, int dim,
                           const Tensor& index, bool include_self, const Saved& saved) {
  Grads grads{Tensor(), Tensor()};
  if (saved.needs(0)) {
    if (include_self) {
      const Tensor factor = masked_fill(x, eq(x, 0), 1);
      grads[0] = dy * scatter_reduce(factor, dim, index, src, Reduce::Prod) / factor;
    } else {
      grads[0] = scatter(dy, dim, index, 0);
    }
  }
  if (saved.needs(1)) {
    const Tensor zero = eq(src, 0);
    Tensor alone, several;
    {
      const WithGradMode off(false);
      const Tensor among =
          gather(scatter_add(zeros(x.shape(), DType::Int64), dim, index, cast(zero, DType::Int64)), dim, index);
      alone = logical_and(zero, eq(among, 1));
      several = gt(among, 1);
    }
    if (grad_mode.enabled && !on_meta)
      require<GraphError>(
          sum(several, {}, false).data<int64_t>()[0] == 0,
          "scatter_reduce: the second derivative of a product with several factors of 0 is not supported");
    const Tensor others = scatter_reduce(x, dim, index, masked_fill(src, alone, 1), Reduce::Prod, include_self);
    grads[1] = where(alone, gather(dy * others, dim, index), gather(dy * y, dim, index) / masked_fill(src, zero, 1));
  }
  return grads;
}

static Grads extreme_backward(const Tensor& dy, const Tensor& x, const Tensor& src, const Tensor& y, int dim,
                              const Tensor& index, bool include_self, const Saved& saved) {
  Tensor from_x, from_src, sharing;
  {
    const WithGradMode off(false);
    from_x = include_self ? cast(eq(x, y), dy.dtype()) : zeros(x.shape(), dy.dtype());
    from_src = cast(eq(src, gather(y, dim, index)), dy.dtype());
    sharing = clamp(scatter_add(from_x, dim, index, from_src), Operand(1), {});
  }
  const Tensor share = dy / sharing;
  Tensor dx;
  if (saved.needs(0)) dx = include_self ? share * from_x : scatter(dy, dim, index, 0);
  return Grads{dx, saved.needs(1) ? gather(share, dim, index) * from_src : Tensor()};
}

Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index_in, const Operand& src_in, Reduce reduce,
                      bool include_self, Out out) {
  const int d = wrap_dim("scatter_reduce", dim, x.dim());
  require_index_fits("scatter_reduce", x, d, index_in);
  const Tensor index = indices_to_write("scatter_reduce", index_in, d, x, out);
  const Tensor value = src_in.is_scalar() ? full({}, src_in.scalar, x.dtype()) : *src_in.tensor;
  require_same_dtype("scatter_reduce", x, "src", value);
  const Tensor src = indexed_part("scatter_reduce", value, index);
  Tensor y = reduced(x, apart(src, out), index, d, reduce, include_self, out);
  if (reduce == Reduce::Sum || reduce == Reduce::Mean)
    return record("scatter_reduce", std::move(y), inputs(x, src), save(index),
                  [d, include_self, mean = reduce == Reduce::Mean](const Tensor& dy, const Saved& saved) {
                    const Tensor at = saved[0];
                    const Tensor g = mean ? dy / contributions(dy.shape(), d, at, include_self, dy.dtype()) : dy;
                    Tensor dx;
                    if (saved.needs(0)) dx = include_self ? g : scatter(dy, d, at, 0);
                    return Grads{dx, saved.needs(1) ? gather(g, d, at) : Tensor()};
                  });
  const auto backward = reduce == Reduce::Prod ? prod_backward : extreme_backward;
  return record("scatter_reduce", y, inputs(x, src), save(x, src, index, output(y)),
                [d, include_self, backward](const Tensor& dy, const Saved& saved) {
                  return backward(dy, saved[0], saved[1], saved[3], d, saved[2], include_self, saved);
                });
}

// ---- a 1-d index for slices --------------------------------------------------------------------------------------

static int require_slices(const char* op, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  const int d = wrap_dim(op, dim, x.dim());
  require(index.dim() <= 1, op, ": index must have one dimension, got shape ", index.shape());
  require_same_dtype(op, x, "source", source);
  Dims expected = x.shape();
  if (x.dim() > 0) expected[d] = index.numel();
  require(source.shape() == expected && (x.dim() > 0 || index.numel() == 1), op, ": source of shape ", source.shape(),
          " does not fit an input of shape ", x.shape(), " indexed along dimension ", d, " by ", index.numel(),
          " indices; expected shape ", expected);
  return d;
}

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index_in, const Tensor& source, Scalar alpha, Out out) {
  const int d = require_slices("index_add", x, dim, index_in, source);
  require<DTypeError>(!alpha.is_float() || is_differentiable(x.dtype()),
                      "index_add: alpha is a float but the input is ", x.dtype(), "; use an int");
  const Tensor index = indices_to_write("index_add", index_in, d, x, out);
  const Tensor scaled = alpha == Scalar(1) ? source : mul(source, alpha);
  const IndexAlong places(index, source.shape(), d);
  Tensor y = written("index_add", x, apart(scaled, out), index, places.view(), d, Combine::Add, out);
  return record("index_add", std::move(y), inputs(x, scaled), save(index), [d](const Tensor& dy, const Saved& saved) {
    return Grads{dy, saved.needs(1) ? index_select(dy, d, saved[0]) : Tensor()};
  });
}

Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index_in, const Tensor& source_in, Out out) {
  const Tensor source = source_in.dim() == 0 && x.dim() == 1 ? reshape(source_in, {1}) : source_in;
  const int d = require_slices("index_copy", x, dim, index_in, source);
  const Tensor index = indices_to_write("index_copy", index_in, d, x, out);
  const IndexAlong places(index, source.shape(), d);
  Tensor y = written("index_copy", x, apart(source, out), index, places.view(), d, Combine::Set, out);
  return record("index_copy", std::move(y), inputs(x, source), save(index), [d](const Tensor& dy, const Saved& saved) {
    const Tensor at = saved[0];
    Grads grads{saved.needs(0) ? index_fill(dy, d, at, 0) : Tensor(), Tensor()};
    if (saved.needs(1)) {
      Dims along(std::max(dy.dim(), 1), 1);
      along[d] = at.numel();
      if (dy.dim() == 0) along.clear();
      const Tensor lost = overwritten({line(dy).shape[d]}, line(at), {at.numel()}, 0);
      grads[1] = masked_fill(index_select(dy, d, at), reshape(lost, along), 0);
    }
    return grads;
  });
}

Tensor index_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Reduce reduce,
                    bool include_self, Out out) {
  require(reduce != Reduce::Sum,
          "index_reduce: reduce must be 'prod', 'mean', 'amax' or 'amin'; for sums use index_add()");
  const int d = require_slices("index_reduce", x, dim, index, source);
  const Tensor checked = checked_indices("index_reduce", index, d, line(x).shape[d]);
  Dims along(x.dim(), 1);
  if (x.dim() > 0) along[d] = index.numel();
  return scatter_reduce(x, d, expand(reshape(checked, along), source.shape()), source, reduce, include_self, out);
}

Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index_in, const Operand& value, Out out) {
  const int d = wrap_dim("index_fill", dim, x.dim());
  require(index_in.dim() <= 1, "index_fill: index must have one dimension, got shape ", index_in.shape());
  require(value.is_scalar() || value.tensor->dim() == 0,
          "index_fill: value must be a number or a 0-d tensor, got shape ", value.shape(),
          "; use index_copy() for several values");
  require_fits("index_fill", value, x.dtype());
  const Tensor index = apart(checked_indices("index_fill", index_in, d, line(x).shape[d], true), out);
  Dims shape = x.dim() > 0 ? x.shape() : Dims{1};
  shape[d] = index.numel();
  Tensor fill;
  {
    const WithGradMode off(false);
    fill = value.is_scalar() ? full({}, value.scalar, x.dtype()) : cast(*value.tensor, x.dtype());
    fill = expand(apart(fill, out), shape);
  }
  Tensor y = written("index_fill", x, fill, index, IndexAlong(index, shape, d).view(), d, Combine::Set, out);
  return record("index_fill", std::move(y), inputs(x, value.or_undefined()), save(index),
                [d](const Tensor& dy, const Saved& saved) {
                  const Tensor dx = index_fill(dy, d, saved[0], 0);
                  return Grads{dx,
                               saved.needs(1) ? sum(dy - dx, {}, false) : Tensor()};  // counts a repeated index once
                });
}

Tensor put(const Tensor& x, const Tensor& index_in, const Tensor& source, bool accumulate, Out out) {
  require(source.numel() == index_in.numel(), "put_: source has ", source.numel(), " elements but index ",
          index_in.numel());
  const Tensor index = reshape(checked_indices("put_", index_in, 0, x.numel(), true), {index_in.numel()});
  const Tensor flat = reshape(x, {x.numel()}), values = reshape(source, {source.numel()});
  const Tensor y = accumulate ? scatter_add(flat, 0, index, values) : scatter(flat, 0, index, values);
  return deliver("put_", reshape(y, x.shape()), out);
}

// ---- in place ----------------------------------------------------------------------------------------------------

Tensor scatter_(const Tensor& x, int64_t dim, const Tensor& index, const Operand& src) {
  return inplace("scatter_", x, {&src.or_undefined()},
                 [&](const Tensor& input, Out out) { return scatter(input, dim, index, src, out); });
}
Tensor scatter_add_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  return inplace("scatter_add_", x, {&src},
                 [&](const Tensor& input, Out out) { return scatter_add(input, dim, index, src, out); });
}
Tensor scatter_reduce_(const Tensor& x, int64_t dim, const Tensor& index, const Operand& src, Reduce reduce,
                       bool include_self) {
  return inplace("scatter_reduce_", x, {&src.or_undefined()}, [&](const Tensor& input, Out out) {
    return scatter_reduce(input, dim, index, src, reduce, include_self, out);
  });
}
Tensor index_reduce_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Reduce reduce,
                     bool include_self) {
  return inplace("index_reduce_", x, {&source}, [&](const Tensor& input, Out out) {
    return index_reduce(input, dim, index, source, reduce, include_self, out);
  });
}
Tensor put_(const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate) {
  return inplace("put_", x, {&source},
                 [&](const Tensor& input, Out out) { return put(input, index, source, accumulate, out); });
}
Tensor index_add_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source, Scalar alpha) {
  return inplace("index_add_", x, {&source},
                 [&](const Tensor& input, Out out) { return index_add(input, dim, index, source, alpha, out); });
}
Tensor index_copy_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return inplace("index_copy_", x, {&source},
                 [&](const Tensor& input, Out out) { return index_copy(input, dim, index, source, out); });
}
Tensor index_fill_(const Tensor& x, int64_t dim, const Tensor& index, const Operand& value) {
  if (value.is_scalar() && shows_twice(x)) {  // only the elements that the index selects may be written
    require_fits("index_fill_", value, x.dtype());
    std::vector<Tensor> where(static_cast<size_t>(wrap_dim("index_fill_", dim, x.dim())));
    where.push_back(index);
    return index_put_(x, where, value.scalar, false);
  }
  return inplace("index_fill_", x, {&value.or_undefined()},
                 [&](const Tensor& input, Out out) { return index_fill(input, dim, index, value, out); });
}

}  // namespace genesis::ops
