#include "ops/shape.h"

#include "bindings/args.h"
#include "bindings/module.h"
#include "bindings/size.h"

namespace genesis::py {

// The tensors are read first, so that cat(x, y) asks for a list.
static Tensor cat(Args& a) {
  const auto tensors = a.tensors(0);
  return ops::cat(tensors, a.integer(1));
}

// One tensor in, one out; several in, a tuple out.
template <int N>
static PyObject* atleast(Args& a) {
  if (a.rest().size() == 1 && is_tensor(a[0])) return to_python(ops::atleast_nd(a.tensor(0), N));
  std::vector<Tensor> out;
  for (const Tensor& x : a.tensors(0)) out.push_back(ops::atleast_nd(x, N));
  return to_python(out);
}

static std::vector<Tensor> meshgrid(Args& a) {
  const std::string indexing = a.string(1);
  require(indexing == "ij" || indexing == "xy", "meshgrid: indexing must be 'ij' or 'xy', got '", indexing, "'");
  return ops::meshgrid(a.tensors(0), indexing == "xy");
}

static Tensor repeat_interleave(Args& a) {
  const Tensor& x = a.tensor(0);
  const std::optional<int64_t> dim = a.optional_integer(2);
  if (!a.has(1)) return ops::repeat_positions(x);
  Tensor y = is_tensor(a[1]) || is_ndarray(a[1]) ? ops::repeat_interleave(x, a.tensor(1), dim)
                                                 : ops::repeat_interleave(x, a.integer(1), dim);
  const int64_t made = dim ? y.size(static_cast<int>(*dim)) : y.numel();
  require(!a.has(3) || a.integer(3) == made, "repeat_interleave: output_size is ", a.integer(3, 0),
          ", but the repeats make ", made);
  return y;
}

static Tensor roll(Args& a) { return ops::roll(a.tensor(0), a.dims(1), a.optional_dims(2)); }

static PyObject* broadcast_shapes_of(Args& a) {
  Dims shape;
  for (PyObject* item : a.rest()) {
    Dims one;
    if (PyLong_Check(item)) one.push_back(to_index(item, "broadcast_shapes"));
    else if (PyTuple_Check(item) || PyList_Check(item))
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(item); ++k)
        one.push_back(to_index(PySequence_Fast_GET_ITEM(item, k), "broadcast_shapes"));
    else a.fail(0, "shapes");
    for (int64_t s : one) require(s >= 0, "broadcast_shapes: negative size in ", one);
    shape = broadcast_shapes("broadcast_shapes", shape, one);
  }
  return size_tuple(shape);
}

static const Family family({.kind = Kind::Move, .page = "shape"}, [] {
  def<"cat(Tensor[] tensors, int dim=0, *, Tensor? out=None) -> Tensor", cat>(kFunction,
                                                                              "Tensors joined along a dimension.");
  def<"concat(Tensor[] tensors, int dim=0, *, Tensor? out=None) -> Tensor", cat>(kFunction, "Another name of cat().");
  def<"concatenate(Tensor[] tensors, int dim=0, *, Tensor? out=None) -> Tensor", cat>(kFunction,
                                                                                      "Another name of cat().");
  def<"stack(Tensor[] tensors, int dim=0, *, Tensor? out=None) -> Tensor", [](Args& a) {
    const auto tensors = a.tensors(0);
    return ops::stack(tensors, a.integer(1));
  }>(kFunction, "Tensors of one shape joined along a new dimension.");
  def<"hstack(Tensor[] tensors, *, Tensor? out=None) -> Tensor", [](Args& a) { return ops::hstack(a.tensors(0)); }>(
      kFunction, "Joined by columns.");
  def<"vstack(Tensor[] tensors, *, Tensor? out=None) -> Tensor", [](Args& a) { return ops::vstack(a.tensors(0)); }>(
      kFunction, "Joined by rows.");
  def<"row_stack(Tensor[] tensors, *, Tensor? out=None) -> Tensor", [](Args& a) { return ops::vstack(a.tensors(0)); }>(
      kFunction, "Another name of vstack().");
  def<"dstack(Tensor[] tensors, *, Tensor? out=None) -> Tensor", [](Args& a) { return ops::dstack(a.tensors(0)); }>(
      kFunction, "Joined by depth.");
  def<"column_stack(Tensor[] tensors, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::column_stack(a.tensors(0)); }>(kFunction, "Vectors as the columns of a matrix.");
  def<"block_diag(Tensor *tensors) -> Tensor", [](Args& a) { return ops::block_diag(a.tensors(0)); }>(
      kFunction, "Matrices along the diagonal of a larger one.");
  def<"cartesian_prod(Tensor *tensors) -> Tensor", [](Args& a) { return ops::cartesian_prod(a.tensors(0)); }>(
      kFunction, "All combinations of the elements of vectors, as rows.", {.page = "creation"});
  def<"meshgrid(Tensor *tensors, str indexing='ij') -> Tensor[]", meshgrid>(
      kFunction, "The coordinates of a grid spanned by vectors.", {.page = "creation"});
  def<"broadcast_tensors(Tensor *tensors) -> Tensor[]", [](Args& a) { return ops::broadcast_tensors(a.tensors(0)); }>(
      kFunction, "Views of all tensors in their common shape.", {.kind = Kind::View});
  def<"broadcast_shapes(int[] *shapes) -> Size", broadcast_shapes_of>(kFunction, "The shape to which shapes broadcast.",
                                                                      {.kind = Kind::Query});
  def<"atleast_1d(Tensor *tensors) -> Tensor|Tensor[]", atleast<1>>(kFunction, "Views of at least 1 dimension.",
                                                                    {.kind = Kind::View});
  def<"atleast_2d(Tensor *tensors) -> Tensor|Tensor[]", atleast<2>>(kFunction, "Views of at least 2 dimensions.",
                                                                    {.kind = Kind::View});
  def<"atleast_3d(Tensor *tensors) -> Tensor|Tensor[]", atleast<3>>(kFunction, "Views of at least 3 dimensions.",
                                                                    {.kind = Kind::View});

  def<"repeat(Tensor input, int *repeats) -> Tensor", [](Args& a) { return ops::repeat(a.tensor(0), a.dims(1)); }>(
      kMethod, "Copies side by side, a number for each dimension.");
  def<"tile(Tensor input, int *dims) -> Tensor", [](Args& a) { return ops::tile(a.tensor(0), a.dims(1)); }>(
      kBoth, "Copies side by side; missing numbers are 1.");
  def<"repeat_interleave(Tensor input, Tensor|int? repeats=None, int? dim=None, *, int? output_size=None) -> "
      "Tensor",
      repeat_interleave>(kBoth, "Each element several times in a row.");
  def<"flip(Tensor input, int *dims) -> Tensor", [](Args& a) { return ops::flip(a.tensor(0), a.dims(1)); }>(
      kBoth, "A copy with some dimensions reversed.");
  def<"fliplr(Tensor input) -> Tensor", [](Args& a) {
    require(a.tensor(0).dim() >= 2, "fliplr: needs a tensor of at least 2 dimensions, got shape ", a.tensor(0).shape());
    return ops::flip(a.tensor(0), {1});
  }>(kBoth, "The columns in reverse order.");
  def<"flipud(Tensor input) -> Tensor", [](Args& a) {
    require(a.tensor(0).dim() >= 1, "flipud: needs a tensor of at least 1 dimension");
    return ops::flip(a.tensor(0), {0});
  }>(kBoth, "The rows in reverse order.");
  def<"roll(Tensor input, int[] shifts, int[]? dims=None) -> Tensor", roll>(
      kBoth, "Elements moved along dims; what falls off comes in again.");
  def<"rot90(Tensor input, int k=1, int[] dims=(0, 1)) -> Tensor", [](Args& a) {
    return ops::rot90(a.tensor(0), a.integer(1), a.dims(2));
  }>(kBoth, "Turned k times by 90 degrees, from the first of dims to the second.");
  def<"diag(Tensor input, int diagonal=0, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::diag(a.tensor(0), a.integer(1));
  }>(kBoth, "A vector as a diagonal matrix, or the diagonal of a matrix.");
  def<"diag_embed(Tensor input, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", [](Args& a) {
    return ops::diag_embed(a.tensor(0), a.integer(1), a.integer(2), a.integer(3));
  }>(kBoth, "The last dimension as the diagonal of two.");
  def<"diagflat(Tensor input, int offset=0) -> Tensor", [](Args& a) {
    return ops::diag(ops::flatten(a.tensor(0)), a.integer(1));
  }>(kBoth, "All elements as a diagonal matrix.");
  def<"tril(Tensor input, int diagonal=0, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::tril(a.tensor(0), a.integer(1));
  }>(kBoth, "The lower triangle, zero above the diagonal.");
  def<"triu(Tensor input, int diagonal=0, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::triu(a.tensor(0), a.integer(1));
  }>(kBoth, "The upper triangle, zero below the diagonal.");
  def<"tril_(Tensor input, int diagonal=0) -> Self", [](Args& a) { return ops::tril_(a.tensor(0), a.integer(1)); }>(
      kMethod);
  def<"triu_(Tensor input, int diagonal=0) -> Self", [](Args& a) { return ops::triu_(a.tensor(0), a.integer(1)); }>(
      kMethod);
  def<"tril_indices(int row, int col, int offset=0, *, DType? dtype=None, Device? device=None) -> Tensor", [](Args& a) {
    a.device(4);
    return ops::triangle_indices(a.integer(0), a.integer(1), a.integer(2), false,
                                 a.optional_dtype(3).value_or(DType::Int64));
  }>(kFunction, "Rows and columns of the lower triangle.", {.kind = Kind::Create, .page = "creation"});
  def<"triu_indices(int row, int col, int offset=0, *, DType? dtype=None, Device? device=None) -> Tensor", [](Args& a) {
    a.device(4);
    return ops::triangle_indices(a.integer(0), a.integer(1), a.integer(2), true,
                                 a.optional_dtype(3).value_or(DType::Int64));
  }>(kFunction, "Rows and columns of the upper triangle.", {.kind = Kind::Create, .page = "creation"});
});

}  // namespace genesis::py
