#include "ops/view.h"

#include <algorithm>

#include "kernels/elementwise/convert.h"
#include "kernels/index/stride_add.h"
#include "ops/complex.h"
#include "ops/create.h"
#include "ops/pointwise.h"
#include "ops/shape.h"

namespace genesis::ops {

// The number of elements of memory that g spans.
static int64_t extent(const Geometry& g) {
  if (numel(g.shape) == 0) return 0;
  int64_t last = 0;
  for (int d = 0; d < g.shape.size(); ++d) last += (g.shape[d] - 1) * g.strides[d];
  return last + 1;
}

// Sorted by stride, a dimension starts before the smaller ones end.
bool may_overlap(const Dims& shape, const Dims& strides) {
  InlineVec<int, 6> order;
  for (int d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) order.push_back(d);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return strides[a] < strides[b]; });
  int64_t last = 0;
  for (int d : order) {
    if (strides[d] <= last) return true;
    last += (shape[d] - 1) * strides[d];
  }
  return false;
}

bool overlaps(const Dims& shape, const Dims& strides) {
  if (!may_overlap(shape, strides)) return false;
  const int64_t n = numel(shape), places = extent({shape, strides, 0});
  if (n > places) return true;
  // Strides such as (3, 2) interleave without overlap: check every element.
  std::vector<bool> taken(static_cast<size_t>(places));
  Dims at(shape.size(), 0);
  int64_t place = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (taken[static_cast<size_t>(place)]) return true;
    taken[static_cast<size_t>(place)] = true;
    for (int d = shape.size() - 1; d >= 0; --d) {
      place += strides[d];
      if (++at[d] < shape[d]) break;
      place -= strides[d] * shape[d];
      at[d] = 0;
    }
  }
  return false;
}

Tensor clone_with_geometry(const Tensor& x, const Geometry& g) {
  const int64_t n = extent(g);
  Tensor y = alias(n == x.numel() ? empty({n}, x.dtype()) : zeros({n}, x.dtype()), g.shape, g.strides);
  kernels::copy(y.view(), x.view());
  return record("clone", y, inputs(x), save(), [](const Tensor& dy, const Saved&) { return Grads{dy}; });
}

Tensor with_geometry(const Tensor& x, const Geometry& g) {
  return x.strides() == g.strides && extent(g) == x.numel() ? x : clone_with_geometry(x, g);
}

// x, with layout `from`, is added into zeros and read with layout `to`. Values at one position are added, and positions
// that `to` contains twice are read twice: the transpose swaps `from` and `to`.
static Tensor restride(const Tensor& x, const Geometry& from, const Geometry& to) {
  const int64_t start = std::min(from.offset, to.offset);
  const int64_t end = std::max(from.offset + extent(from), to.offset + extent(to));
  const Tensor memory = zeros({end - start}, x.dtype());
  capture::interrupt("gradients are added outside a kernel");
  if (x.numel() > 0) kernels::stride_add(alias(memory, from.shape, from.strides, from.offset - start).view(), x.view());
  Tensor y = alias(memory, to.shape, to.strides, to.offset - start);
  return record("restride", y, inputs(x), save(),
                [from, to](const Tensor& dy, const Saved&) { return Grads{restride(dy, to, from)}; });
}

Tensor as_strided(const Tensor& x, const Dims& shape, const Dims& strides, int64_t offset) {
  require(shape.size() == strides.size(), "as_strided: ", shape.size(), " sizes but ", strides.size(), " strides");
  for (int d = 0; d < shape.size(); ++d)
    require(shape[d] >= 0 && strides[d] >= 0, "as_strided: sizes and strides must not be negative, got ", shape,
            " and ", strides);
  numel(shape, "as_strided");
  Tensor y = alias(x, shape, strides, offset);
  link_view(y, x);
  return record("as_strided", y, inputs(x), save(),
                [from = geometry(x), to = geometry(y)](const Tensor& dy, const Saved&) {
                  Tensor dx = restride(dy, to, from);
                  // Elements of x at the same position (x was expanded) share its gradient.
                  if (may_overlap(from.shape, from.strides))
                    dx = dx / restride(ones(from.shape, dy.dtype()), from, from);
                  return Grads{dx};
                });
}

// A view whose base was written through another view: its history is now that of the base.
static void regenerate(const Tensor& view) {
  TensorMeta& m = meta(view);
  const Tensor base = m.base;
  m.base_version = view->storage->version;
  m.base_generation = meta(base).generation;
  const WithGradMode on(true);
  move_to_place_of(part_of(base, geometry(base), geometry(view), view.dtype()), view);
}

// In the same layout, unless there are large gaps between the elements.
static Tensor cloned_values(const Tensor& t) {
  const WithGradMode off(false);
  const Geometry g = geometry(t);
  return extent(g) <= 2 * t.numel() ? clone_with_geometry(alias(t), g) : contiguous(clone(alias(t)));
}
[[maybe_unused]] static const bool installed = (regenerate_view = regenerate, clone_values = cloned_values, true);

Tensor permute(const Tensor& x, const Dims& dims) {
  require(dims.size() == x.dim(), "permute: got ", dims.size(), " dims for a tensor of shape ", x.shape(),
          "; name each of its ", x.dim(), " dimensions once");
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

Tensor movedim(const Tensor& x, const Dims& source, const Dims& destination) {
  require(source.size() == destination.size(), "movedim: source ", source, " and destination ", destination,
          " must name as many dimensions");
  Dims order(x.dim(), -1);
  InlineVec<bool, 8> moved(std::max(x.dim(), 1), false);
  for (int i = 0; i < source.size(); ++i) {
    const int from = wrap_dim("movedim", source[i], x.dim()), to = wrap_dim("movedim", destination[i], x.dim());
    if (x.dim() == 0) continue;
    require(!moved[from], "movedim: dim ", from, " appears twice in source ", source);
    require(order[to] == -1, "movedim: dim ", to, " appears twice in destination ", destination);
    moved[from] = true;
    order[to] = from;
  }
  int next = 0;  // the others keep their order
  for (int d = 0; d < x.dim(); ++d) {
    if (order[d] != -1) continue;
    while (moved[next]) ++next;
    order[d] = next++;
  }
  return permute(x, order);
}

Tensor expand(const Tensor& x, const Dims& wanted) {
  const int lead = wanted.size() - x.dim();
  require(lead >= 0, "expand: shape ", wanted, " has fewer dimensions than the tensor of shape ", x.shape());
  Dims shape = wanted, strides(wanted.size(), 0);
  for (int d = 0; d < wanted.size(); ++d) {
    const int64_t have = d < lead ? 1 : x.size(d - lead);
    if (shape[d] == -1 && d >= lead) shape[d] = have;
    require(shape[d] == have || (have == 1 && shape[d] >= 0), "expand: shape ", x.shape(), " cannot be expanded to ",
            wanted, ": dimension ", d, " is ", have, ", and only 1 can grow");
    if (d >= lead && shape[d] == have) strides[d] = x.stride(d - lead);
  }
  numel(shape, "expand");
  Tensor y = alias(x, shape, strides);
  link_view(y, x);
  return record("expand", y, broadcast(x), save(), [](const Tensor& dy, const Saved&) { return Grads{dy}; });
}

// Zeros of `shape` with dy in place of one part: the transpose of select and slice.
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
  require<IndexError>(index >= -n && index < n, "index ", index, " is out of range for dimension ", d, " of size ", n,
                      " in a tensor of shape ", x.shape(), "; valid: ", -n, "..", n - 1);
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
  step = std::min(step, std::max<int64_t>(x.size(d), 1));  // a longer step exceeds the end, too
  Dims shape = x.shape(), strides = x.strides();
  shape[d] = (end - start + step - 1) / step;
  const int64_t offset = start * strides[d];
  strides[d] *= step;
  Tensor y = alias(x, shape, strides, offset);
  link_view(y, x);
  return record("slice", y, inputs(x), save(),
                [whole = x.shape(), d, start, end, step](const Tensor& dy, const Saved&) {
                  return Grads{embed("slice_backward", dy, whole,
                                     [d, start, end, step](const Tensor& t) { return slice(t, d, start, end, step); })};
                });
}

Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  require(x.dim() > 0, "narrow: a 0-d tensor has no dimension to narrow");
  const int d = wrap_dim("narrow", dim, x.dim());
  const int64_t n = x.size(d);
  require<IndexError>(start >= -n && start <= n, "narrow: start ", start, " is out of range for dimension ", d,
                      " of size ", n);
  if (start < 0) start += n;
  require(length >= 0 && length <= n - start, "narrow: ", length, " elements from ", start, " do not fit in dimension ",
          d, " of size ", n);
  return slice(x, d, start, start + length, 1);
}

Tensor basic_index_alias(const Tensor& x, const BasicIndex& index) {
  Dims shape, strides;
  int64_t offset = 0;
  int d = 0;
  for (const IndexItem& item : index) {
    if (item.kind == IndexItem::NewAxis) {
      shape.push_back(1);
      strides.push_back(d < x.dim() ? x.size(d) * x.stride(d) : 1);
      continue;
    }
    const int64_t n = x.size(d), stride = x.stride(d);
    if (item.kind == IndexItem::Select) {
      require<IndexError>(item.start >= -n && item.start < n, "index ", item.start, " is out of range for dimension ",
                          d, " of size ", n, " in a tensor of shape ", x.shape(), "; valid: ", -n, "..", n - 1);
      offset += (item.start < 0 ? item.start + n : item.start) * stride;
    } else {
      offset += item.start * stride;
      shape.push_back(item.count);
      strides.push_back(stride * item.step);
    }
    ++d;
  }
  for (; d < x.dim(); ++d) {
    shape.push_back(x.size(d));
    strides.push_back(x.stride(d));
  }
  return alias(x, shape, strides, offset);
}

Tensor basic_index(const Tensor& x, const BasicIndex& index) {
  Tensor y = basic_index_alias(x, index);
  link_view(y, x);
  return record("index", y, inputs(x), save(), [whole = x.shape(), index](const Tensor& dy, const Saved&) {
    return Grads{embed("index_backward", dy, whole, [index](const Tensor& t) { return basic_index(t, index); })};
  });
}

// The strides of a view of x's memory with another shape, or none if there are none.
static bool view_strides(const Tensor& x, const Dims& shape, Dims& strides) {
  if (x.contiguous()) {
    strides = contiguous_strides(shape);
    return true;
  }
  strides.resize(shape.size());
  // From the back: take dimensions of x that are contiguous with each other, and split them into those of shape.
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

// Suggests -1 where it fits: reshape(4, 2) of 6 elements was probably meant as reshape(-1, 2).
[[noreturn, gnu::cold]] static void fail_arrangement(const char* op, const Tensor& x, const Dims& wanted,
                                                     int64_t known) {
  std::string way = "; the sizes must multiply to the number of elements";
  for (int d = 0; d < wanted.size(); ++d) {
    const int64_t others = wanted[d] ? known / wanted[d] : 0;
    if (others == 0 || x.numel() % others != 0) continue;
    Dims open = wanted;
    open[d] = -1;
    way = str("; ", open, " would make it ", x.numel() / others, " in dimension ", d);
    break;
  }
  fail(op, ": ", x.numel(), " elements of shape ", x.shape(), " cannot be arranged as ", wanted, ", which has ", known,
       way);
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
            " cannot be arranged as ", wanted, ": the other sizes make ", known, ", which must divide ", x.numel());
    shape[unknown] = x.numel() / known;
  } else {
    if (known != x.numel()) [[unlikely]]
      fail_arrangement(op, x, wanted, known);
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

Tensor view_dtype(const Tensor& x, DType dtype) {
  const int64_t from = itemsize(x.dtype()), to = itemsize(dtype);
  Dims shape = x.shape(), strides = x.strides();
  if (from != to) {
    require(x.dim() > 0, "view: a 0-d ", x.dtype(), " tensor cannot be seen as ", dtype,
            ", whose elements have another size");
    const int last = x.dim() - 1;
    require(strides[last] == 1 || shape[last] <= 1, "view: to see ", x.dtype(), " as ", dtype,
            " the last dimension must be contiguous, but its stride is ", strides[last], "; use contiguous()");
    bool fits = true;
    if (from > to) {
      shape[last] *= from / to;
      for (int d = 0; d < last; ++d) strides[d] *= from / to;
    } else {
      const int64_t ratio = to / from;
      fits = shape[last] % ratio == 0 && x.offset() % ratio == 0;
      shape[last] /= ratio;
      for (int d = 0; d < last; ++d) {
        fits = fits && (strides[d] % ratio == 0 || shape[d] == 1);
        strides[d] /= ratio;
      }
    }
    strides[last] = 1;
    require(fits && reinterpret_cast<uintptr_t>(x->data) % static_cast<size_t>(to) == 0, "view: a ", x.dtype(),
            " tensor of shape ", x.shape(), ", strides ", x.strides(), " and offset ", x.offset(),
            " cannot be cut into ", dtype, " elements");
  }
  TensorImpl* impl = TensorImpl::create(x->storage, x->data, dtype);
  Tensor y = Tensor::adopt(impl);
  impl->shape = shape;
  impl->strides = strides;
  impl->geometry_changed();
  impl->inference = x->inference;
  return untracked(std::move(y));
}

Tensor flatten(const Tensor& x, int64_t start_dim, int64_t end_dim) {
  const int start = wrap_dim("flatten", start_dim, x.dim()), end = wrap_dim("flatten", end_dim, x.dim());
  require(start <= end, "flatten: start_dim ", start_dim, " comes after end_dim ", end_dim);
  if (x.dim() == 0) return reshape(x, {1});
  if (start == end) return x;
  Dims shape;
  int64_t merged = 1;
  for (int d = 0; d < x.dim(); ++d) {
    if (d < start || d > end) {
      shape.push_back(x.size(d));
      continue;
    }
    merged *= x.size(d);
    if (d == end) shape.push_back(merged);
  }
  return reshape(x, shape);
}

Tensor unflatten(const Tensor& x, int64_t dim, const Dims& sizes) {
  require(x.dim() > 0, "unflatten: a 0-d tensor has no dimension to split");
  const int at = wrap_dim("unflatten", dim, x.dim());
  require(!sizes.empty(), "unflatten: sizes must not be empty");
  Dims parts = sizes;
  int unknown = -1;
  int64_t known = 1;
  for (int i = 0; i < parts.size(); ++i) {
    if (parts[i] == -1 && unknown < 0) unknown = i;
    else
      require(parts[i] >= 0 && !__builtin_mul_overflow(known, parts[i], &known), "unflatten: sizes ", sizes,
              " must not be negative, except for one -1");
  }
  const int64_t n = x.size(at);
  if (unknown >= 0 && known > 0 && n % known == 0) parts[unknown] = n / known, known = n;
  require(known == n && (unknown < 0 || parts[unknown] >= 0), "unflatten: dimension ", at, " of size ", n,
          " cannot be split into ", sizes);
  Dims shape;
  for (int d = 0; d < x.dim(); ++d) {
    if (d != at) shape.push_back(x.size(d));
    else
      for (int64_t s : parts) shape.push_back(s);
  }
  return reshape(x, shape);
}

Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  require(x.dim() >= 2, "diagonal: needs a tensor of at least 2 dimensions, got shape ", x.shape());
  const int a = wrap_dim("diagonal", dim1, x.dim()), b = wrap_dim("diagonal", dim2, x.dim());
  require(a != b, "diagonal: dim1 and dim2 are both ", a);
  const int64_t rows = x.size(a), cols = x.size(b);
  const int64_t down = offset < 0 ? -std::max(offset, -rows) : 0, right = std::clamp<int64_t>(offset, 0, cols);
  Dims shape, strides;
  for (int d = 0; d < x.dim(); ++d) {
    if (d == a || d == b) continue;
    shape.push_back(x.size(d));
    strides.push_back(x.stride(d));
  }
  shape.push_back(std::max<int64_t>(std::min(rows - down, cols - right), 0));
  strides.push_back(x.stride(a) + x.stride(b));
  Tensor y = alias(x, shape, strides, shape.back() > 0 ? down * x.stride(a) + right * x.stride(b) : 0);
  link_view(y, x);
  return record("diagonal", y, inputs(x), save(), [whole = x.shape(), offset, a, b](const Tensor& dy, const Saved&) {
    return Grads{
        embed("diagonal_backward", dy, whole, [offset, a, b](const Tensor& t) { return diagonal(t, offset, a, b); })};
  });
}

// The transpose of unfold: an element in several windows receives the gradients of all of them.
static Tensor unfold_backward(const Tensor& dy, const Dims& shape, int dim, int64_t size, int64_t step) {
  Tensor dx = zeros(shape, dy.dtype());
  {
    const WithGradMode off(false);
    capture::interrupt("gradients are added outside a kernel");
    kernels::stride_add(unfold(dx, dim, size, step).view(), dy.view());
  }
  return record("unfold_backward", dx, inputs(dy), save(),
                [dim, size, step](const Tensor& ddx, const Saved&) { return Grads{unfold(ddx, dim, size, step)}; });
}

Tensor unfold(const Tensor& x, int64_t dim, int64_t size, int64_t step) {
  const int d = wrap_dim("unfold", dim, x.dim());
  const int64_t n = x.dim() == 0 ? 1 : x.size(d), stride = x.dim() == 0 ? 1 : x.stride(d);
  require(size >= 0 && size <= n, "unfold: a window of ", size, " does not fit in dimension ", d, " of size ", n);
  require(step > 0, "unfold: step must be positive, got ", step);
  Dims shape = x.shape(), strides = x.strides();
  if (x.dim() > 0) {
    shape[d] = (n - size) / step + 1;
    strides[d] = stride * std::min(step, std::max<int64_t>(n, 1));
  }
  shape.push_back(size);
  strides.push_back(stride);
  Tensor y = alias(x, shape, strides);
  link_view(y, x);
  return record("unfold", y, inputs(x), save(), [whole = x.shape(), d, size, step](const Tensor& dy, const Saved&) {
    return Grads{unfold_backward(dy, whole, d, size, step)};
  });
}

std::vector<Tensor> split_sizes(const Tensor& x, const Dims& sizes, int64_t dim) {
  require(x.dim() > 0, "split: a 0-d tensor cannot be split");
  const int d = wrap_dim("split", dim, x.dim());
  int64_t total = 0;
  for (int64_t s : sizes) {
    require(s >= 0, "split: sizes must not be negative, got ", sizes);
    require(!__builtin_add_overflow(total, s, &total), "split: the sizes are too large");
  }
  require(total == x.size(d), "split: the sizes ", sizes, " add up to ", total, ", but dimension ", d, " has size ",
          x.size(d));
  std::vector<Tensor> ys;
  ys.reserve(static_cast<size_t>(sizes.size()));
  Dims shape = x.shape();
  int64_t at = 0;
  Pace pace(1 << 16);
  for (int64_t s : sizes) {
    shape[d] = s;
    ys.push_back(alias(x, shape, x.strides(), s > 0 ? at * x.stride(d) : 0));
    link_view(ys.back(), x);
    pace.spend(1);
    at += s;
  }
  record_outputs("split", ys, inputs(x), save(), [whole = x.shape(), sizes, d](const Grads& dy, const Saved&) {
    std::vector<Tensor> parts;
    DType dtype = DType::Float32;
    for (const Tensor& g : dy)
      if (g.defined()) dtype = g.dtype();
    Dims shape = whole;
    for (int i = 0; i < sizes.size(); ++i) {
      shape[d] = sizes[i];
      parts.push_back(i < dy.size() && dy[i].defined() ? dy[i] : zeros(shape, dtype));
    }
    return Grads{cat(parts, d)};
  });
  return ys;
}

std::vector<Tensor> unbind(const Tensor& x, int64_t dim) {
  require(x.dim() > 0, "unbind: a 0-d tensor cannot be taken apart; use item() to get its value");
  const int d = wrap_dim("unbind", dim, x.dim());
  const int64_t n = x.size(d), stride = x.stride(d);
  Dims shape = x.shape(), strides = x.strides();
  shape.erase(d);
  strides.erase(d);
  const bool none = numel(shape) == 0;
  std::vector<Tensor> ys;
  ys.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    ys.push_back(alias(x, shape, strides, none ? 0 : i * stride));
    link_view(ys.back(), x);
  }
  record_outputs("unbind", ys, inputs(x), save(), [shape, n, d](const Grads& dy, const Saved&) {
    std::vector<Tensor> parts;
    Tensor zero;
    for (const Tensor& g : dy)
      if (g.defined() && !zero.defined()) zero = zeros(shape, g.dtype());
    for (int64_t i = 0; i < n; ++i) {
      const int k = static_cast<int>(i);
      parts.push_back(k < dy.size() && dy[k].defined() ? dy[k] : zero);
    }
    return Grads{stack(parts, d)};
  });
  return ys;
}

Tensor detach(const Tensor& x) { return alias(x); }

}  // namespace genesis::ops
