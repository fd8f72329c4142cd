#include "ops/view.h"

#include <algorithm>

#include "kernels/convert.h"
#include "kernels/stride_add.h"
#include "ops/create.h"

namespace genesis::ops {

// A tensor over new memory with the layout of g (which starts at 0 there).
static Tensor empty_with_geometry(const Geometry& g, DType dtype) {
  int64_t last = 0;
  for (int d = 0; d < g.shape.size(); ++d) last += (g.shape[d] - 1) * g.strides[d];
  return alias(empty({numel(g.shape) == 0 ? 0 : last + 1}, dtype), g.shape, g.strides);
}

Tensor clone_with_geometry(const Tensor& x, const Geometry& g) {
  Tensor y = empty_with_geometry(g, x.dtype());
  kernels::copy(y.view(), x.view());
  return record("clone", y, inputs(x), save(), [](const Tensor& dy, const Saved&) { return Grads{dy}; });
}

Tensor with_geometry(const Tensor& x, const Geometry& g) {
  return x.strides() == g.strides ? x : clone_with_geometry(x, g);
}

// The transpose of as_strided: zeros of the shape of x, with dy added at the places that the view shows. An element
// that the view shows twice receives both.
static Tensor as_strided_backward(const Tensor& dy, const Geometry& x, const Geometry& y) {
  int64_t last = 0;
  for (int d = 0; d < x.shape.size(); ++d) last += (x.shape[d] - 1) * x.strides[d];
  const int64_t start = std::min(x.offset, y.offset);
  int64_t end = x.offset + last + 1, y_last = y.offset;
  for (int d = 0; d < y.shape.size(); ++d) y_last += (y.shape[d] - 1) * y.strides[d];
  end = std::max(end, y_last + 1);
  const bool none = numel(x.shape) == 0;
  Tensor buffer = zeros({none ? 0 : end - start}, dy.dtype());
  if (!none && dy.numel() > 0)
    kernels::stride_add(alias(buffer, y.shape, y.strides, y.offset - start).view(), dy.view());
  Tensor dx = none ? zeros(x.shape, dy.dtype()) : alias(buffer, x.shape, x.strides, x.offset - start);
  return record("as_strided_backward", dx, inputs(dy), save(), [x, y](const Tensor& ddx, const Saved&) {
    return Grads{as_strided(with_geometry(ddx, x), y.shape, y.strides, y.offset - x.offset)};
  });
}

Tensor as_strided(const Tensor& x, const Dims& shape, const Dims& strides, int64_t offset) {
  require(shape.size() == strides.size(), "as_strided: ", shape.size(), " sizes but ", strides.size(), " strides");
  for (int d = 0; d < shape.size(); ++d)
    require(shape[d] >= 0 && strides[d] >= 0, "as_strided: sizes and strides must not be negative, got ", shape, " and ", strides);
  Tensor y = alias(x, shape, strides, offset);
  link_view(y, x);
  return record("as_strided", y, inputs(x), save(),
                [from = geometry(x), to = geometry(y)](const Tensor& dy, const Saved&) {
    return Grads{as_strided_backward(dy, from, to)};
  });
}

// A view whose base was written through another: its history is now that of the base.
static void regenerate(const Tensor& view) {
  TensorMeta& m = meta(view);
  const Tensor base = m.base;
  m.base_generation = meta(base).generation;
  const WithGradMode on(true);
  const Geometry part = geometry(view);
  const Tensor fresh = as_strided(base, part.shape, part.strides, part.offset - base.offset());
  view->grad_fn = fresh->grad_fn;
  view->output_index = 0;
  view->requires_grad = fresh->requires_grad;
}
[[maybe_unused]] static const bool installed = (regenerate_view = regenerate, true);

Tensor permute(const Tensor& x, const Dims& dims) {
  require(dims.size() == x.dim(), "permute: got ", dims.size(), " dims for a tensor of shape ", x.shape());
  Dims shape(dims.size()), strides(dims.size()), order(dims.size()), inverse(dims.size(), -1);
  for (int d = 0; d < dims.size(); ++d) {
    const int from = wrap_dim("permute", dims[d], x.dim());
    require(inverse[from] == -1, "permute: dim ", from, " appears twice in ", dims);
    order[d] = from;
    inverse[from] = d;
    shape[d] = x.size(from);
    strides[d] = x.stride(from);
  }
  Tensor y = alias(x, shape, strides);
  link_view(y, x);
  return record("permute", y, inputs(x), save(),
                [inverse](const Tensor& dy, const Saved&) { return Grads{permute(dy, inverse)}; });
}

Tensor transpose(const Tensor& x, int64_t dim0, int64_t dim1) {
  const int a = wrap_dim("transpose", dim0, x.dim()), b = wrap_dim("transpose", dim1, x.dim());
  Dims shape = x.shape(), strides = x.strides();
  if (x.dim() > 0) {
    std::swap(shape[a], shape[b]);
    std::swap(strides[a], strides[b]);
  }
  Tensor y = alias(x, shape, strides);
  link_view(y, x);
  return record("transpose", y, inputs(x), save(),
                [a, b](const Tensor& dy, const Saved&) { return Grads{transpose(dy, a, b)}; });
}

Tensor expand(const Tensor& x, const Dims& wanted) {
  const int lead = wanted.size() - x.dim();
  require(lead >= 0, "expand: shape ", wanted, " has fewer dimensions than the tensor of shape ", x.shape());
  Dims shape = wanted, strides(wanted.size(), 0);
  for (int d = 0; d < wanted.size(); ++d) {
    const int64_t have = d < lead ? 1 : x.size(d - lead);
    if (shape[d] == -1 && d >= lead) shape[d] = have;
    require(shape[d] == have || (have == 1 && shape[d] >= 0), "expand: shape ", x.shape(), " cannot be expanded to ", wanted,
            ": dimension ", d, " is ", have, ", and only 1 can grow");
    if (d >= lead && shape[d] == have) strides[d] = x.stride(d - lead);
  }
  Tensor y = alias(x, shape, strides);
  link_view(y, x);
  return record("expand", y, broadcast(x), save(), [](const Tensor& dy, const Saved&) { return Grads{dy}; });
}

// zeros of `shape` with dy in place of one part: the transpose of select and slice.
template <class Part>
static Tensor embed(const char* op, const Tensor& dy, const Dims& shape, Part part) {
  Tensor dx = zeros(shape, dy.dtype());
  {
    const WithGradMode off(false);
    kernels::copy(part(dx).view(), dy.view());
  }
  return record(op, dx, inputs(dy), save(), [part](const Tensor& ddx, const Saved&) { return Grads{part(ddx)}; });
}

Tensor select(const Tensor& x, int64_t dim, int64_t index) {
  require<IndexError>(x.dim() > 0, "select: a 0-d tensor has no dimension to index; use item() to get its value");
  const int d = wrap_dim("select", dim, x.dim());
  const int64_t n = x.size(d);
  require<IndexError>(index >= -n && index < n, "index ", index, " is out of range for dimension ", d, " of size ", n);
  if (index < 0) index += n;
  Dims shape = x.shape(), strides = x.strides();
  const int64_t offset = index * strides[d];
  shape.erase(d);
  strides.erase(d);
  Tensor y = alias(x, shape, strides, offset);
  link_view(y, x);
  return record("select", y, inputs(x), save(), [whole = x.shape(), d, index](const Tensor& dy, const Saved&) {
    return Grads{embed("select_backward", dy, whole, [d, index](const Tensor& t) { return select(t, d, index); })};
  });
}

Tensor slice(const Tensor& x, int64_t dim, int64_t start, int64_t end, int64_t step) {
  const int d = wrap_dim("slice", dim, x.dim());
  require(step > 0, "slice: step must be positive, got ", step, "; use flip() to reverse");
  start = std::clamp<int64_t>(start, 0, x.size(d));
  end = std::clamp(end, start, x.size(d));
  Dims shape = x.shape(), strides = x.strides();
  shape[d] = (end - start + step - 1) / step;
  const int64_t offset = start * strides[d];
  strides[d] *= step;
  Tensor y = alias(x, shape, strides, offset);
  link_view(y, x);
  return record("slice", y, inputs(x), save(), [whole = x.shape(), d, start, end, step](const Tensor& dy, const Saved&) {
    return Grads{embed("slice_backward", dy, whole,
                       [d, start, end, step](const Tensor& t) { return slice(t, d, start, end, step); })};
  });
}

// The strides that show x's memory in another shape, or none if no strides can.
static bool view_strides(const Tensor& x, const Dims& shape, Dims& strides) {
  if (x.contiguous()) {
    strides = contiguous_strides(shape);
    return true;
  }
  strides.resize(shape.size());
  // From the back: take dimensions of x that are contiguous among themselves, and split them into those of shape.
  int to = shape.size() - 1;
  int64_t have = 1, used = 1;
  int64_t base = x.dim() ? x.stride(x.dim() - 1) : 1;
  for (int from = x.dim() - 1; from >= 0; --from) {
    have *= x.size(from);
    const bool chunk_ends = from == 0 || (x.size(from - 1) != 1 && x.stride(from - 1) != have * base);
    if (!chunk_ends) continue;
    while (to >= 0 && (used < have || shape[to] == 1)) {
      strides[to] = used * base;
      used *= shape[to];
      --to;
    }
    if (used != have) return false;
    if (from > 0) {
      base = x.stride(from - 1);
      have = used = 1;
    }
  }
  return to == -1;
}

static Dims infer_shape(const char* op, const Tensor& x, const Dims& wanted) {
  Dims shape = wanted;
  int unknown = -1;
  int64_t known = 1;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == -1) {
      require(unknown < 0, op, ": only one size can be -1, got ", wanted);
      unknown = d;
    } else {
      require(shape[d] >= 0, op, ": negative size in ", wanted);
      require(!__builtin_mul_overflow(known, shape[d], &known), op, ": shape ", wanted, " is too large");
    }
  }
  if (unknown >= 0) {
    require(known > 0 && x.numel() % known == 0, op, ": ", x.numel(), " elements of shape ", x.shape(),
            " cannot be arranged as ", wanted);
    shape[unknown] = x.numel() / known;
  } else {
    require(known == x.numel(), op, ": ", x.numel(), " elements of shape ", x.shape(), " cannot be arranged as ", wanted,
            ", which has ", known);
  }
  return shape;
}

static Tensor view_as(const char* op, const Tensor& x, const Dims& shape, const Dims& strides) {
  Tensor y = alias(x, shape, strides);
  link_view(y, x);
  return record(op, y, inputs(x), save(),
                [from = x.shape()](const Tensor& dy, const Saved&) { return Grads{reshape(dy, from)}; });
}

Tensor view(const Tensor& x, const Dims& wanted) {
  const Dims shape = infer_shape("view", x, wanted);
  Dims strides;
  require(view_strides(x, shape, strides), "view: a tensor of shape ", x.shape(), " and strides ", x.strides(),
          " cannot be seen as ", shape, " without a copy; use reshape()");
  return view_as("view", x, shape, strides);
}

Tensor reshape(const Tensor& x, const Dims& wanted) {
  const Dims shape = infer_shape("reshape", x, wanted);
  Dims strides;
  if (view_strides(x, shape, strides)) return view_as("reshape", x, shape, strides);
  const Tensor y = contiguous(x);
  return view_as("reshape", y, shape, contiguous_strides(shape));
}

Tensor squeeze(const Tensor& x) {
  Dims dims;
  for (int d = 0; d < x.dim(); ++d)
    if (x.size(d) == 1) dims.push_back(d);
  return squeeze(x, dims);
}

Tensor squeeze(const Tensor& x, const Dims& dims) {
  Dims shape = x.shape(), strides = x.strides();
  InlineVec<bool, 8> drop(std::max(x.dim(), 1), false);
  for (int64_t dim : dims) drop[wrap_dim("squeeze", dim, x.dim())] = true;
  for (int d = x.dim() - 1; d >= 0; --d)
    if (drop[d] && shape[d] == 1) {
      shape.erase(d);
      strides.erase(d);
    }
  return view_as("squeeze", x, shape, strides);
}

Tensor unsqueeze(const Tensor& x, int64_t dim) {
  const int d = wrap_dim("unsqueeze", dim, x.dim() + 1);
  Dims shape = x.shape(), strides = x.strides();
  strides.insert(d, d < x.dim() ? shape[d] * strides[d] : 1);
  shape.insert(d, 1);
  return view_as("unsqueeze", x, shape, strides);
}

Tensor detach(const Tensor& x) { return alias(x); }

}  // namespace genesis::ops
