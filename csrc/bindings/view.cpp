#include "ops/view.h"

#include "bindings/args.h"
#include "bindings/memory_format.h"
#include "bindings/module.h"
#include "ops/create.h"
#include "ops/inplace_view.h"
#include "ops/shape.h"

namespace genesis::py {

// x.transpose(): two dims are swapped, more are a permutation, none swaps the last two.
static Tensor transpose(Args& a, const Tensor& x) {
  Dims dims = a.has(1) ? a.dims(1) : Dims();
  if (a.has(2) || a.has(3)) {
    if (a.has(2)) dims.insert(0, a.integer(2));
    if (a.has(3)) dims.push_back(a.integer(3));
    if (dims.size() != 2) throw_type_error("transpose(): expected dim0 and dim1");
  }
  if (dims.empty()) return x.dim() < 2 ? ops::reshape(x, x.shape()) : ops::transpose(x, -2, -1);
  if (dims.size() == 2) return ops::transpose(x, dims[0], dims[1]);
  return ops::permute(x, dims);
}

static Tensor t(const Tensor& x) {
  require(x.dim() <= 2, "t: needs at most 2 dimensions, got shape ", x.shape(), "; use transpose() or mT");
  return x.dim() < 2 ? ops::reshape(x, x.shape()) : ops::transpose(x, 0, 1);
}

static Tensor squeeze(Args& a, const Tensor& x) { return a.has(1) ? ops::squeeze(x, a.dims(1)) : ops::squeeze(x); }

static Tensor as_strided(Args& a, const Tensor& x) {
  return ops::as_strided(x, a.dims(1), a.dims(2), a.has(3) ? a.integer(3) - x.offset() : 0);
}

static Tensor swap_dims(Args& a, const Tensor& x) { return ops::transpose(x, a.integer(1), a.integer(2)); }

// Name(parameters) for F(arguments, input), a view, and Name_(parameters), which turns its input into that view.
template <FixedString Name, FixedString Params, auto F>
static void def_view(int where, const char* doc, Traits traits = {}) {
  def<join<Name, join<Params, " -> Tensor">()>(), [](Args& a) { return F(a, a.tensor(0)); }>(where, doc, traits);
  def<join<Name, join<join<"_", Params>(), " -> Self">()>(), [](Args& a) {
    return ops::inplace_view(a.name(), a.tensor(0), [&](const Tensor& x) { return F(a, x); });
  }>(kMethod, "In-place form: the tensor itself is seen in another shape.", traits);
}

static Tensor view(Args& a) {
  const Tensor& x = a.tensor(0);
  if (a.has(2)) return ops::view_dtype(x, a.dtype(2));
  PyObject* first = a[1];
  if (!first) a.fail(1, "a shape or a dtype");
  const bool sizes = PyIndex_Check(first) || PyTuple_Check(first) || PyList_Check(first);
  return sizes ? ops::view(x, a.dims(1)) : ops::view_dtype(x, to_dtype(first));
}

static Tensor narrow(Args& a) { return ops::narrow(a.tensor(0), a.integer(1), a.integer(2), a.integer(3)); }

static Tensor slice(Args& a) {
  const Tensor& x = a.tensor(0);
  const int64_t dim = a.integer(1), step = a.integer(4);
  require<IndexError>(x.dim() > 0, "slice: a 0-d tensor has no dimension to slice");
  const int64_t n = x.size(wrap_dim("slice", dim, x.dim()));
  const auto bound = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  return ops::slice(x, dim, bound(a.integer(2, 0)), bound(a.integer(3, n)), step);
}

// A list of sizes, or the size of each part.
static std::vector<Tensor> split(Args& a) {
  const int64_t dim = a.integer(2);
  if (PyTuple_Check(a[1]) || PyList_Check(a[1])) return ops::split_sizes(a.tensor(0), a.dims(1), dim);
  return ops::split(a.tensor(0), a.integer(1), dim);
}

static std::vector<Tensor> split_at(Args& a, int64_t dim) {
  const Tensor& x = a.tensor(0);
  PyObject* o = a[1];
  if (is_tensor(o) && unwrap(o).dim() > 0) {
    const Tensor& given = unwrap(o);
    require(given.dim() == 1 && !is_floating(given.dtype()), a.name(),
            ": indices must be a 1-d tensor of integers, got ", given.dtype(), " of shape ", given.shape());
    Dims cuts;
    for (const Tensor& cut : ops::unbind(given, 0)) cuts.push_back(tensor_item(cut).to_int());
    return ops::tensor_split(x, cuts, dim);
  }
  const bool many = !is_tensor(o) && PySequence_Check(o) != 0;
  return many ? ops::tensor_split(x, a.dims(1), dim) : ops::tensor_split(x, a.integer(1), dim);
}
// hsplit, vsplit and dsplit differ in that an int must divide the size.
static std::vector<Tensor> even_split(Args& a, int64_t dim, int at_least) {
  const Tensor& x = a.tensor(0);
  require(x.dim() >= at_least, a.name(), ": needs a tensor of at least ", at_least, " dimension",
          at_least > 1 ? "s" : "", ", got shape ", x.shape());
  PyObject* o = a[1];
  if (PyLong_Check(o)) {
    const int64_t n = a.integer(1), size = x.size(static_cast<int>(dim));
    require(n > 0 && size % n == 0, a.name(), ": ", n, " parts of equal size cannot be made of dimension ", dim,
            " of size ", size);
  }
  return split_at(a, dim);
}

// A copy of x with `part` of it replaced by src.
template <class Part>
static Tensor written(const char* op, const Tensor& x, const Tensor& src, Part part) {
  const Tensor y = ops::clone(x);
  const Tensor place = part(y);
  require(place.shape() == src.shape(), op, ": src must have the shape of the place that it is written to, ",
          place.shape(), ", got ", src.shape());
  ops::copy_(place, src);
  return y;
}

static const Family shapes({.kind = Kind::View, .page = "shape"}, [] {
  def<"reshape(Tensor input, int *shape) -> Tensor", [](Args& a) { return ops::reshape(a.tensor(0), a.dims(1)); }>(
      kBoth, "The same elements in another shape: a view where the memory allows it, else a copy.");
  def<"reshape_as(Tensor input, Tensor other) -> Tensor", [](Args& a) {
    return ops::reshape(a.tensor(0), a.tensor(1).shape());
  }>(kMethod, "reshape() to the shape of other.");
  def<"resize_(Tensor input, int *size, MemoryFormat? memory_format=None) -> Self", [](Args& a) {
    return ops::resize_("resize_", a.tensor(0), a.dims(1), memory_format(a, 2, ops::MemoryFormat::Contiguous));
  }>(kMethod, "Another shape over the same memory, or over more of it, which is not initialised.");
  def<"resize_as_(Tensor input, Tensor the_template, *, MemoryFormat? memory_format=None) -> Self", [](Args& a) {
    const Tensor like = a.tensor(1);
    return ops::resize_("resize_as_", a.tensor(0), like.shape(), memory_format(a, 2, ops::MemoryFormat::Contiguous));
  }>(kBoth, "resize_() to the shape of another tensor.");
  def<"view(Tensor input, int *shape, DType? dtype=None) -> Tensor", view>(
      kMethod, "The same memory in another shape, or its bytes as another dtype.");
  def<"view_as(Tensor input, Tensor other) -> Tensor",
      [](Args& a) { return ops::view(a.tensor(0), a.tensor(1).shape()); }>(kMethod, "view() with the shape of other.");
  def<"flatten(Tensor input, int start_dim=0, int end_dim=-1) -> Tensor", [](Args& a) {
    return ops::flatten(a.tensor(0), a.integer(1), a.integer(2));
  }>(kBoth, "Dimensions start_dim to end_dim as one.");
  def<"unflatten(Tensor input, int dim, int[] sizes) -> Tensor",
      [](Args& a) { return ops::unflatten(a.tensor(0), a.integer(1), a.dims(2)); }>(kBoth, "One dimension as several.");
  def<"ravel(Tensor input) -> Tensor", [](Args& a) { return ops::reshape(a.tensor(0), {-1}); }>(
      kBoth, "All elements in one dimension.");
  def_view<"squeeze", "(Tensor input, int[]? dim=None)", squeeze>(
      kBoth, "Without dimensions of size 1: all of them, or those named.");
  def_view<"unsqueeze", "(Tensor input, int dim)", [](Args& a, const Tensor& x) {
    return ops::unsqueeze(x, a.integer(1));
  }>(kBoth, "With a new dimension of size 1.");
  def_view<"transpose", "(Tensor input, int *dims, int? dim0=None, int? dim1=None)", transpose>(
      kBoth, "Two dims swap; more are an order for all; none swaps the last two.");
  def_view<"swapaxes", "(Tensor input, int axis0, int axis1)", swap_dims>(kBoth, "Two dimensions swapped.");
  def_view<"swapdims", "(Tensor input, int dim0, int dim1)", swap_dims>(kBoth, "Two dimensions swapped.");
  def_view<"t", "(Tensor input)", [](Args&, const Tensor& x) { return t(x); }>(kBoth, "The transpose of a matrix.");
  def<"permute(Tensor input, int *dims) -> Tensor", [](Args& a) { return ops::permute(a.tensor(0), a.dims(1)); }>(
      kBoth, "The dimensions in another order.");
  def<"movedim(Tensor input, int[] source, int[] destination) -> Tensor", [](Args& a) {
    return ops::movedim(a.tensor(0), a.dims(1), a.dims(2));
  }>(kBoth, "Dimensions moved to other places, the others in their order.");
  def<"moveaxis(Tensor input, int[] source, int[] destination) -> Tensor", [](Args& a) {
    return ops::movedim(a.tensor(0), a.dims(1), a.dims(2));
  }>(kBoth, "Dimensions moved to other places, the others in their order.");
  def<"expand(Tensor input, int *sizes) -> Tensor", [](Args& a) { return ops::expand(a.tensor(0), a.dims(1)); }>(
      kMethod, "Dimensions of size 1 seen as larger ones, without a copy; -1 keeps a size.");
  def<"expand_as(Tensor input, Tensor other) -> Tensor", [](Args& a) {
    return ops::expand(a.tensor(0), a.tensor(1).shape());
  }>(kMethod, "expand() to the shape of other.");
  def<"broadcast_to(Tensor input, int *size) -> Tensor", [](Args& a) { return ops::expand(a.tensor(0), a.dims(1)); }>(
      kBoth, "Dimensions of size 1 seen as larger ones, without a copy.");
});

// A copy with one part replaced.
static const Family scatters({.kind = Kind::View, .page = "shape"}, [] {
  def<"select_scatter(Tensor input, Tensor src, int dim, int index) -> Tensor", [](Args& a) {
    return written("select_scatter", a.tensor(0), a.tensor(1),
                   [&](const Tensor& y) { return ops::select(y, a.integer(2), a.integer(3)); });
  }>(kBoth, "A copy of input whose select(dim, index) is src.", {.kind = Kind::Move});
  def<"slice_scatter(Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
      [](Args& a) {
        return written("slice_scatter", a.tensor(0), a.tensor(1), [&](const Tensor& y) {
          const int64_t dim = wrap_dim("slice_scatter", a.integer(2), y.dim());
          return ops::slice(y, dim, a.integer(3, 0), a.integer(4, y.size(static_cast<int>(dim))), a.integer(5));
        });
      }>(kBoth, "A copy of input in which src stands at start:end:step along dim.", {.kind = Kind::Move});
  def<"diagonal_scatter(Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor", [](Args& a) {
    return written("diagonal_scatter", a.tensor(0), a.tensor(1),
                   [&](const Tensor& y) { return ops::diagonal(y, a.integer(2), a.integer(3), a.integer(4)); });
  }>(kBoth, "A copy of input whose diagonal is src.", {.kind = Kind::Move});
  def<"as_strided_scatter(Tensor input, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor",
      [](Args& a) {
        const Tensor &x = a.tensor(0), &src = a.tensor(1);
        const Tensor y = ops::clone_with_geometry(x, ops::geometry(x));
        const Tensor place = ops::as_strided(y, a.dims(2), a.dims(3), a.integer(4, x.offset()) - x.offset());
        require(place.shape() == src.shape(), "as_strided_scatter: src must have the shape of the place that it is ",
                "written to, ", place.shape(), ", got ", src.shape());
        ops::copy_(place, src);
        return y;
      }>(kBoth, "A copy of input whose as_strided(size, stride, storage_offset) is src.", {.kind = Kind::Move});
});

static const Family parts({.kind = Kind::View, .page = "shape"}, [] {
  def<"select(Tensor input, int dim, int index) -> Tensor", [](Args& a) {
    return ops::select(a.tensor(0), a.integer(1), a.integer(2));
  }>(kBoth, "One element of a dimension, which goes away.");
  def<"slice(Tensor input, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor", slice>(
      kMethod, "x[start:end:step] along dim.");
  def<"narrow(Tensor input, int dim, int start, int length) -> Tensor", narrow>(
      kBoth, "length elements of a dimension, from start on.");
  def<"diagonal(Tensor input, int offset=0, int dim1=0, int dim2=1) -> Tensor", [](Args& a) {
    return ops::diagonal(a.tensor(0), a.integer(1), a.integer(2), a.integer(3));
  }>(kBoth, "The diagonal of two dimensions, as the last dimension.");
  def<"unfold(Tensor input, int dimension, int size, int step) -> Tensor", [](Args& a) {
    return ops::unfold(a.tensor(0), a.integer(1), a.integer(2), a.integer(3));
  }>(kMethod, "Windows of a dimension, as a new last dimension.");
  def_view<"as_strided", "(Tensor input, int[] size, int[] stride, int? storage_offset=None)", as_strided>(
      kBoth, "The memory of a tensor through any sizes and strides.");
});

static const Family splits({.kind = Kind::View, .page = "shape"}, [] {
  def<"split(Tensor input, int[] split_size_or_sections, int dim=0) -> Tensor[]", split>(
      kBoth, "Parts of a size, or of the sizes of a list.");
  def<"split_with_sizes(Tensor input, int[] split_sizes, int dim=0) -> Tensor[]", [](Args& a) {
    return ops::split_sizes(a.tensor(0), a.dims(1), a.integer(2));
  }>(kBoth, "Parts of the given sizes.");
  def<"chunk(Tensor input, int chunks, int dim=0) -> Tensor[]", [](Args& a) {
    return ops::chunk(a.tensor(0), a.integer(1), a.integer(2));
  }>(kBoth, "At most that many parts of one size; the last may be smaller.");
  def<"tensor_split(Tensor input, Tensor|int[] indices_or_sections, int dim=0) -> Tensor[]", [](Args& a) {
    return split_at(a, a.integer(2));
  }>(kBoth, "Parts of nearly equal size, or cut at the given indices.");
  def<"hsplit(Tensor input, Tensor|int[] indices_or_sections) -> Tensor[]",
      [](Args& a) { return even_split(a, a.tensor(0).dim() > 1 ? 1 : 0, 1); }>(kBoth, "tensor_split() by columns.");
  def<"vsplit(Tensor input, Tensor|int[] indices_or_sections) -> Tensor[]",
      [](Args& a) { return even_split(a, 0, 2); }>(kBoth, "tensor_split() by rows.");
  def<"dsplit(Tensor input, Tensor|int[] indices_or_sections) -> Tensor[]",
      [](Args& a) { return even_split(a, 2, 3); }>(kBoth, "tensor_split() by depth.");
  def<"unbind(Tensor input, int dim=0) -> Tensor[]", [](Args& a) { return ops::unbind(a.tensor(0), a.integer(1)); }>(
      kBoth, "All elements of a dimension, as a tuple.");
});

}  // namespace genesis::py
