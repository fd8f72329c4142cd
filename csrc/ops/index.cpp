// Every index is converted to one list of places: resolve() turns indices and masks into positions in the indexed
// dimensions, merged into one (row-major). Reading (take), its gradient (spread) and writing share that list.
#include "ops/index.h"

#include <algorithm>
#include <numeric>

#include "kernels/elementwise/select.h"
#include "kernels/index/index.h"
#include "ops/create.h"
#include "ops/inplace.h"
#include "ops/masked.h"
#include "ops/operand.h"

namespace genesis::ops {

namespace {

// The position of a list of places in a tensor. With the list itself (a tensor, which is saved separately), it is all
// that a rule needs.
struct Layout {
  Dims whole;     // the shape that is indexed
  Dims dims;      // the indexed dimensions, ascending
  Dims index;     // the shape of the list
  int at;         // position of the list's dimensions in the result
  bool distinct;  // whether no place occurs twice

  Dims result() const {
    Dims shape;
    int next = 0, kept = 0;
    for (int d = 0; d <= whole.size(); ++d) {
      const bool indexed = next < dims.size() && dims[next] == d;
      if (indexed) ++next;
      if (indexed || d == whole.size()) continue;
      if (kept++ == at) append(shape);
      shape.push_back(whole[d]);
    }
    if (kept <= at) append(shape);
    return shape;
  }

 private:
  void append(Dims& shape) const {
    for (int64_t s : index) shape.push_back(s);
  }
};

// The positions of the elements of `mask` that are true, as a vector.
Tensor positions_of(const Tensor& mask) {
  const WithGradMode off(false);
  const Tensor bits = contiguous(cast(mask, DType::Bool));
  const int64_t n = bits.numel();
  std::vector<int64_t> counts(static_cast<size_t>(n / kernels::kMaskBlock + 1));
  if (on_meta) fail_no_data();
  kernels::count_true(counts.data(), bits.address<uint8_t>(), n);
  int64_t total = 0;
  for (int64_t& c : counts) {
    const int64_t before = total;
    total += c;
    c = before;
  }
  Tensor positions = empty({total}, DType::Int64);
  kernels::true_positions(positions.address<int64_t>(), bits.address<uint8_t>(), n, counts.data());
  return positions;
}

[[noreturn]] void out_of_range(const Tensor& index, int dim, int64_t size) {
  const WithGradMode off(false);
  const Tensor plain = contiguous(cast(index, DType::Int64));
  for (int64_t i = 0; i < plain.numel(); ++i) {
    const int64_t value = plain.data<int64_t>()[i];
    require<IndexError>(value >= -size && value < size, "index ", value, " is out of range for dimension ", dim,
                        " of size ", size, "; valid: ", -size, "..", size - 1);
  }
  fail<IndexError>("an index is out of range for dimension ", dim, " of size ", size);
}

struct Resolved {
  Tensor places;
  Layout layout;
};

// One index, and the dimensions of the tensor that it indexes, merged into one: a mask may index several.
struct IndexGroup {
  Tensor index;
  int dim;       // the first of the dimensions
  int64_t size;  // the product of their sizes
};
using IndexGroups = InlineVec<IndexGroup, 4>;

// Checks the indices against the shape of x, and sets the fields of `layout` that do not depend on the values of the
// indices.
IndexGroups group_indices(const Tensor& x, std::span<const Tensor> indices, Layout& layout) {
  IndexGroups groups;
  int dim = 0, kept = 0;
  bool parted = false, gap = false;
  for (const Tensor& index : indices) {
    if (!index.defined()) {
      gap = gap || !groups.empty();
      ++dim;
      ++kept;
      continue;
    }
    require<IndexError>(is_integral(index.dtype()), "index: an index must be of integers or bools, got ", index.dtype(),
                        " of shape ", index.shape(), "; use .long()");
    if (groups.empty()) layout.at = kept;
    parted = parted || gap;
    const bool mask = index.dtype() == DType::Bool;
    const int width = mask ? index.dim() : 1;
    require<IndexError>(dim + width <= x.dim(), "index: too many indices for a tensor of shape ", x.shape());
    int64_t size = 1;
    for (int d = 0; d < width; ++d) {
      layout.dims.push_back(dim + d);
      size *= x.size(dim + d);
      require<IndexError>(!mask || index.size(d) == x.size(dim + d), "index: a mask of shape ", index.shape(),
                          " does not fit a tensor of shape ", x.shape(), ": dimension ", dim + d, " has size ",
                          x.size(dim + d), ", the mask's ", index.size(mask ? d : 0));
    }
    groups.push_back(IndexGroup{mask ? positions_of(index) : index, dim, size});
    layout.distinct = mask;
    dim += width;
  }
  require<IndexError>(dim <= x.dim(), "index: too many indices for a tensor of shape ", x.shape());
  require<IndexError>(!groups.empty(), "index: at least one index is needed");
  if (parted) layout.at = 0;
  if (groups.size() > 1) layout.distinct = false;
  return groups;
}

// The indices of all groups as flat positions in the indexed dimensions.
Tensor linear_positions(const IndexGroups& groups, const Dims& shape) {
  Tensor places = empty(shape, DType::Int64);
  View so_far = Operand(0).view();
  const Scalar zero(0);
  so_far.data = const_cast<int64_t*>(&zero.i);
  for (const IndexGroup& g : groups) {
    if (!kernels::linearize(places.view(), so_far, g.index.view(), g.size)) out_of_range(g.index, g.dim, g.size);
    so_far = places.view();
  }
  return places;
}

Resolved resolve(const Tensor& x, std::span<const Tensor> indices) {
  Resolved r{{}, {x.shape(), {}, {}, 0, false}};
  Layout& layout = r.layout;
  const IndexGroups groups = group_indices(x, indices, layout);
  try {
    for (const IndexGroup& g : groups) layout.index = broadcast_shapes("index", layout.index, g.index.shape());
  } catch (const ShapeError& e) {
    fail<IndexError>("the indices do not fit each other: ", e.what());
  }
  r.places = layout.distinct ? groups[0].index : linear_positions(groups, layout.index);
  return r;
}

// The arguments of the kernels: the table without the indexed dimensions, the values with the list as one dimension.
struct Access {
  Dims table_shape, table_strides, values_shape, values_strides;
  Tensor offsets;  // in memory, if the indexed dimensions cannot be merged
  Tensor values_kept;
  const int64_t* places;
  int64_t step = 0, num_places = 1;
  View table, values;

  Access(const Tensor& x, const Tensor& list, const Layout& layout, Tensor v) : places(list.address<int64_t>()) {
    int next = 0;
    for (int d = 0; d < x.dim(); ++d) {
      if (next < layout.dims.size() && layout.dims[next] == d) {
        ++next;
        continue;
      }
      table_shape.push_back(x.size(d));
      table_strides.push_back(x.stride(d));
    }
    table = {x->data, x.dtype(), table_shape.size(), table_shape.data(), table_strides.data()};

    bool merged = true;
    for (int i = 0; i < layout.dims.size(); ++i) {
      const int d = static_cast<int>(layout.dims[i]);
      const int64_t stride = x.stride(d);
      if (i > 0 && x.size(d) != 0) merged = merged && step == stride * x.size(d);
      step = stride;
      num_places *= x.size(d);
    }
    if (!merged) {
      offsets = empty({list.numel()}, DType::Int64);
      Dims sizes, strides;
      for (int64_t d : layout.dims) {
        sizes.push_back(x.size(static_cast<int>(d)));
        strides.push_back(x.stride(static_cast<int>(d)));
      }
      int64_t* out = on_meta ? nullptr : offsets.data<int64_t>();
      for (int64_t k = 0; !on_meta && k < list.numel(); ++k) {
        int64_t rest = places[k], sum = 0;
        for (int i = sizes.size() - 1; i >= 0; --i) {
          sum += rest % sizes[i] * strides[i];
          rest /= sizes[i];
        }
        out[k] = sum;
      }
      places = out;
      step = 1;
      num_places = 1;
      for (int i = 0; i < sizes.size(); ++i) num_places += (sizes[i] - 1) * strides[i];
    }

    int64_t stride;
    if (!list_stride(v, layout, stride)) {
      v = contiguous(v);
      list_stride(v, layout, stride);
    }
    values_kept = v;
    for (int d = 0; d < v.dim() - layout.index.size() + 1; ++d) {
      if (d == layout.at) {
        values_shape.push_back(list.numel());
        values_strides.push_back(stride);
        continue;
      }
      const int from = d < layout.at ? d : d + layout.index.size() - 1;
      values_shape.push_back(v.size(from));
      values_strides.push_back(v.stride(from));
    }
    values = {v->data, v.dtype(), values_shape.size(), values_shape.data(), values_strides.data()};
  }

 private:
  // The stride of v's list dimensions merged into one; false if they cannot be merged.
  static bool list_stride(const Tensor& v, const Layout& layout, int64_t& stride) {
    stride = 0;
    bool any = false;
    for (int i = 0; i < layout.index.size(); ++i) {
      const int d = layout.at + i;
      if (v.size(d) == 1) continue;
      if (any && stride != v.stride(d) * v.size(d)) return false;
      stride = v.stride(d);
      any = true;
    }
    return true;
  }
};

Tensor spread(const Tensor& dy, const Tensor& places, const Layout& layout);

// x at the places.
Tensor take(const Tensor& x, const Tensor& places, const Layout& layout) {
  Tensor y = empty(layout.result(), x.dtype());
  const Access a(x, places, layout, y);
  kernels::index_get(a.values, a.table, layout.at, a.places, a.step);
  return record("index", y, inputs(x), save(places),
                [layout](const Tensor& dy, const Saved& saved) { return Grads{spread(dy, saved[0], layout)}; });
}

// Zeros, with dy added at the places: the transpose of take.
Tensor spread(const Tensor& dy, const Tensor& places, const Layout& layout) {
  Tensor dx;
  {
    // Half precision is summed in float32: many small terms may be added at one place.
    const WithGradMode off(false);
    const DType dtype = is_half(dy.dtype()) ? DType::Float32 : dy.dtype();
    dx = zeros(layout.whole, dtype);
    const Access a(dx, places, layout, cast(dy, dtype));
    if (layout.distinct) kernels::index_put(a.table, a.values, layout.at, a.places, a.step, a.num_places, true);
    else kernels::index_add(a.table, a.values, layout.at, a.places, a.step, a.num_places);
    dx = cast(dx, dy.dtype());
  }
  return record("index_backward", dx, inputs(dy), save(places),
                [layout](const Tensor& ddx, const Saved& saved) { return Grads{take(ddx, saved[0], layout)}; });
}

// x with zeros at the places.
Tensor without(const Tensor& x, const Tensor& places, const Layout& layout) {
  // A gradient without other references is changed in place.
  Tensor y = x;
  if (grad_mode.enabled || !x.exclusive()) {
    const WithGradMode off(false);
    y = alias(clone(x));
  }
  {
    const WithGradMode off(false);
    const Access a(y, places, layout, expand(zeros({}, x.dtype()), layout.result()));
    kernels::index_put(a.table, a.values, layout.at, a.places, a.step, a.num_places, layout.distinct);
  }
  return record("index_put", y, inputs(x), save(places),
                [layout](const Tensor& dy, const Saved& saved) { return Grads{without(dy, saved[0], layout)}; });
}

// Which entries of the list are overwritten by a later entry with the same place; undefined if none is.
Tensor overwritten(const Tensor& places, const Layout& layout) {
  if (layout.distinct || on_meta) return Tensor();
  const int64_t n = places.numel();
  const int64_t* at = places.data<int64_t>();
  int64_t size = 1;
  for (int64_t d : layout.dims) size *= layout.whole[static_cast<int>(d)];
  std::vector<int64_t> later;
  if (n < size / 16) {
    // Few places out of many: sort them, keeping the entries of a place in order.
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::sort(order.begin(), order.end(),
              [at](int64_t a, int64_t b) { return at[a] != at[b] ? at[a] < at[b] : a < b; });
    for (size_t i = 1; i < order.size(); ++i)
      if (at[order[i - 1]] == at[order[i]]) later.push_back(order[i - 1]);
  } else {
    std::vector<int64_t> last(static_cast<size_t>(size), -1);
    for (int64_t k = 0; k < n; ++k) {
      int64_t& before = last[static_cast<size_t>(at[k])];
      if (before >= 0) later.push_back(before);
      before = k;
    }
  }
  if (later.empty()) return Tensor();
  // As a mask that broadcasts to the values.
  Dims shape = layout.index;
  for (int d = layout.at + layout.dims.size(); d < layout.whole.size(); ++d) shape.push_back(1);
  Tensor mask = zeros(shape, DType::Bool);
  for (int64_t k : later) mask.data<bool>()[k] = true;
  return mask;
}

// Sets x to `value` where the mask, which indexes x's first dimensions, is true.
void fill_masked(const Tensor& x, const Tensor& mask, Scalar value) {
  Dims shape = mask.shape(), strides = mask.strides();
  while (shape.size() < x.dim()) {
    shape.push_back(1);
    strides.push_back(0);
  }
  const View where{mask->data, mask.dtype(), shape.size(), shape.data(), strides.data()};
  kernels::where(x.view(), where, Operand(value).view(), x.view());
}
Tensor without_masked(const Tensor& x, const Tensor& mask) {
  Tensor y = x;
  if (grad_mode.enabled || !x.exclusive()) {
    const WithGradMode off(false);
    y = alias(clone(x));
  }
  fill_masked(y, mask, 0);
  return record("masked_fill", y, inputs(x), save(mask),
                [](const Tensor& dy, const Saved& saved) { return Grads{without_masked(dy, saved[0])}; });
}

// `value` with x's dtype and `shape`; additional leading dimensions of size 1 are allowed, as in NumPy.
Tensor fitted(const Tensor& value, const Tensor& x, const Dims& shape) {
  Tensor v = cast(value, x.dtype());
  if (v.dim() > shape.size()) {
    Dims rest = v.shape();
    while (rest.size() > shape.size() && rest[0] == 1) rest.erase(0);
    if (rest.size() < v.dim()) v = reshape(v, rest);
  }
  bool fits = v.dim() <= shape.size();
  for (int d = 0; d < v.dim() && fits; ++d) {
    const int64_t have = v.size(d), wanted = shape[d + shape.size() - v.dim()];
    fits = have == wanted || have == 1;
  }
  require(fits, "index: a value of shape ", value.shape(), " does not broadcast to the indexed shape ", shape);
  // Memory that will be written must be read first.
  if (v->storage == x->storage) v = clone(v);
  return expand(v, shape);
}

}  // namespace

Tensor index(const Tensor& x, std::span<const Tensor> indices) {
  const Resolved r = resolve(x, indices);
  return take(x, r.places, r.layout);
}

Tensor index_put_(const Tensor& x, std::span<const Tensor> indices, const Value& value, bool accumulate) {
  const Scalar* number = std::get_if<Scalar>(&value);
  const Tensor* tensor = std::get_if<Tensor>(&value);
  const bool masks = indices.size() == 1 && indices[0].defined() && indices[0].dtype() == DType::Bool;
  if (tensor && tensor->dim() == 0 && masks && !accumulate) require_fits("index_put_", *tensor, x.dtype());
  else
    require<DTypeError>(!tensor || tensor->dtype() == x.dtype(), "index_put_: the values are ",
                        tensor ? tensor->dtype() : x.dtype(), " but the tensor is ", x.dtype(),
                        "; convert them, e.g. values.to(x.dtype)");
  if (number && !accumulate && masks) {
    const Tensor& mask = indices[0];
    bool fits = mask.dim() <= x.dim();
    for (int d = 0; d < mask.dim() && fits; ++d) fits = mask.size(d) == x.size(d);
    if (fits && !shows_twice(x)) {
      require_representable("index_put_", *number, x.dtype());
      // The rule needs the mask unchanged: copy it if it is in the memory that is written or in an array of the caller.
      const Tensor own = mask->storage == x->storage || mask->storage->owner ? clone(mask) : mask;
      return overwrite(
          "index_put_", x, {}, [&] { fill_masked(x, own, *number); },
          [&](const Tensor& input, const Tensor& y) {
            return record("index_put", y, inputs(input), save(own),
                          [](const Tensor& dy, const Saved& saved) { return Grads{without_masked(dy, saved[0])}; });
          });
    }
  }
  const auto [places, layout] = resolve(x, indices);
  const Tensor v = number ? expand(scalar_tensor(*number, x.dtype()), layout.result())
                          : fitted(std::get<Tensor>(value), x, layout.result());
  return overwrite(
      "index_put_", x, {&v},
      [&, &places = places, &layout = layout] {
        const Access a(x, places, layout, v);
        if (accumulate) kernels::index_add(a.table, a.values, layout.at, a.places, a.step, a.num_places);
        else
          kernels::index_put(a.table, a.values, layout.at, a.places, a.step, a.num_places,
                             layout.distinct && !shows_twice(x));
      },
      [&, &places = places, &layout = layout](const Tensor& input, const Tensor& y) {
        const Tensor lost = accumulate || !needs_grad(v) ? Tensor() : overwritten(places, layout);
        return record("index_put", y, inputs(input, v), save(places, lost),
                      [layout, accumulate](const Tensor& dy, const Saved& saved) {
                        // The values first, because the gradient may be changed in place.
                        Tensor dv = saved.needs(1) ? take(dy, saved[0], layout) : Tensor();
                        if (const Tensor lost = saved[1]; lost.defined() && dv.defined()) dv = masked_fill(dv, lost, 0);
                        if (!saved.needs(0)) return Grads{Tensor(), dv};
                        return Grads{accumulate ? dy : without(dy, saved[0], layout), dv};
                      });
      },
      accumulate ? Overlap::None : Overlap::Expanded);
}

Tensor index_put(const Tensor& x, std::span<const Tensor> indices, const Value& value, bool accumulate) {
  return index_put_(clone(x), indices, value, accumulate);
}

void basic_put_(const Tensor& x, const BasicIndex& index, const Value& value) {
  const Tensor* tensor = std::get_if<Tensor>(&value);
  const bool graph = grad_mode.enabled && (needs_grad(x) || needs_grad(base_of(x)) || (tensor && needs_grad(*tensor)));
  const Tensor part = graph ? basic_index(x, index) : basic_index_alias(x, index);
  if (!tensor) {
    fill_(part, std::get<Scalar>(value));
    return;
  }
  // x[i] += 1 assigns x[i] to itself: nothing is left to do.
  const Tensor& v = *tensor;
  if (v->data == part->data && v.dtype() == part.dtype() && v.shape() == part.shape() &&
      v.strides() == part.strides() && base_of(v).same(base_of(x)) && !(graph && !grad_fn(x)))
    return;
  copy_(part, fitted(v, part, part.shape()));
}

Tensor nonzero(const Tensor& x) {
  const Tensor positions = positions_of(x);
  Tensor y = empty({positions.numel(), x.dim()}, DType::Int64);
  if (x.dim() > 0)
    kernels::unravel(y.address<int64_t>(), positions.address<int64_t>(), positions.numel(), x.shape().data(), x.dim());
  return untracked(std::move(y));
}

std::vector<Tensor> nonzero_tuple(const Tensor& x) {
  return unbind(x.dim() > 0 ? nonzero(x) : nonzero(reshape(detach(x), {1})), 1);
}

}  // namespace genesis::ops
