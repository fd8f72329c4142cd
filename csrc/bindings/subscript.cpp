#include "bindings/subscript.h"

#include "bindings/args.h"
#include "bindings/module.h"
#include "core/exact.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/index.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace genesis::py {

namespace {

// An item between the brackets.
struct Item {
  enum Kind : uint8_t { Integer, Slice, NewAxis, Ellipsis, Array } kind;
  int64_t integer = 0;
  PyObject* slice = nullptr;
  Tensor array = {};  // of integers or bools; a bool with no dimensions is a mask too

  int width() const {  // the number of dimensions of x that it indexes
    if (kind == NewAxis || kind == Ellipsis) return 0;
    return kind == Array && array.dtype() == DType::Bool ? array.dim() : 1;
  }
};

Item array_item(Tensor t) {
  if (t.dim() == 0 && t.dtype() != DType::Bool && is_integral(t.dtype()))
    return {Item::Integer, tensor_item(t).to_int()};
  if (t.numel() == 0 && is_floating(t.dtype())) t = ops::cast(t, DType::Int64);  // x[[]]
  require<IndexError>(is_integral(t.dtype()), "index: an index must be of integers or bools, got ", t.dtype(),
                      " of shape ", t.shape(), "; use .long()");
  return {Item::Array, 0, nullptr, std::move(t)};
}

// PyTorch reads uint8 tensors as masks, which comparisons returned before it had bool.
Tensor byte_mask(Tensor t) {
  if (!exact_torch || t.dtype() != DType::UInt8) return t;
  if (PyErr_WarnEx(PyExc_UserWarning,
                   "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.", 1) < 0)
    throw_python();
  return ops::cast(t, DType::Bool);
}

// PyTorch reads a short list that holds sequences, tensors, slices, None or ... as the tuple of its elements.
Object tuple_of(PyObject* key) {
  if (!exact_torch || !PyList_Check(key) || PyList_GET_SIZE(key) >= 32) return Object::borrow(key);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(key); ++i) {
    PyObject* const item = PyList_GET_ITEM(key, i);
    if (!PySequence_Check(item) && !PySlice_Check(item) && item != Py_None && item != Py_Ellipsis) continue;
    if (PyErr_WarnEx(PyExc_UserWarning,
                     "Using a non-tuple sequence for multidimensional indexing is deprecated; "
                     "use x[tuple(seq)] instead of x[seq]",
                     1) < 0)
      throw_python();
    return Object(PyList_AsTuple(key));
  }
  return Object::borrow(key);
}

// Raises IndexError if it does not fit in int64.
int64_t position(PyObject* o) {
  const Py_ssize_t i = PyNumber_AsSsize_t(o, PyExc_IndexError);
  if (i == -1 && PyErr_Occurred()) throw_python();
  return i;
}

Item classify(PyObject* o) {
  if (PyBool_Check(o)) return {Item::Array, 0, nullptr, ops::scalar_tensor(o == Py_True, DType::Bool)};
  if (PyLong_Check(o)) return {Item::Integer, position(o)};
  if (PySlice_Check(o)) return {Item::Slice, 0, o};
  if (o == Py_None) return {Item::NewAxis};
  if (o == Py_Ellipsis) return {Item::Ellipsis};
  if (is_tensor(o)) return array_item(byte_mask(unwrap(o)));
  if (is_ndarray(o)) return array_item(byte_mask(from_ndarray(o)));
  const bool text = PyUnicode_Check(o) || PyBytes_Check(o);
  if (is_numpy_scalar(o) || (PySequence_Check(o) && !text)) return array_item(from_data(o, nullptr));
  if (PyIndex_Check(o)) return {Item::Integer, position(o)};
  fail<IndexError>(
      "index: expected integers, slices, None, ..., or tensors, arrays and lists of integers or bools, got ",
      Py_TYPE(o)->tp_name);
}

ops::IndexItem sliced(PyObject* slice, int64_t n) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(slice, &start, &stop, &step) < 0) throw_python();
  require(step > 0, "index: a slice step must be positive, got ", step, "; use flip() to reverse");
  const Py_ssize_t count = PySlice_AdjustIndices(n, &start, &stop, step);
  return {ops::IndexItem::Slice, start, count, step};
}

// An index for the shape of x: first the integers and slices, which form a view, then the arrays on that view.
struct Index {
  ops::BasicIndex basic;
  std::vector<Tensor>
      arrays;         // one for each dimension of the view (a mask counts for several); empty if there are none
  bool whole = true;  // the view is x itself

  Index(const Tensor& x, PyObject* given) {
    const Object held = tuple_of(given);
    PyObject* key = held.get();
    PyObject* const* keys = &key;
    Py_ssize_t n = 1;
    if (PyTuple_Check(key)) {
      keys = &PyTuple_GET_ITEM(key, 0);
      n = PyTuple_GET_SIZE(key);
    }
    InlineVec<Item, 4> items;
    int used = 0, ellipses = 0;
    for (Py_ssize_t i = 0; i < n; ++i) {
      items.push_back(classify(keys[i]));
      used += items.back().width();
      ellipses += items.back().kind == Item::Ellipsis;
      any_array_ = any_array_ || items.back().kind == Item::Array;
    }
    require<IndexError>(ellipses <= 1, "index: only one ... can be used");
    require<IndexError>(used <= x.dim(), "index: too many indices for a tensor of shape ", x.shape(), ": ", used,
                        " for ", x.dim(), " dimension", x.dim() == 1 ? "" : "s",
                        "; leave some out, or unsqueeze() first");
    int d = 0;
    for (const Item& item : items) {
      switch (item.kind) {
        case Item::Integer:
          basic.push_back(ops::IndexItem{ops::IndexItem::Select, item.integer});
          whole = false;
          ++d;
          break;
        case Item::Slice:
          keep(sliced(item.slice, x.size(d)));
          whole = whole && basic.back().count == x.size(d);
          ++d;
          break;
        case Item::NewAxis:
          keep({ops::IndexItem::NewAxis});
          whole = false;
          break;
        case Item::Ellipsis:
          for (int left = x.dim() - used; left > 0; --left, ++d) keep({ops::IndexItem::Slice, 0, x.size(d)});
          break;
        case Item::Array:
          for (int i = 0; i < item.width(); ++i, ++d)
            basic.push_back(ops::IndexItem{ops::IndexItem::Slice, 0, x.size(d)});
          arrays.push_back(item.array);
          break;
      }
    }
  }

 private:
  bool any_array_ = false;
  void keep(ops::IndexItem item) {
    basic.push_back(item);
    if (any_array_) arrays.push_back(Tensor());
  }
};

Tensor get(const Tensor& x, PyObject* key) {
  if (PyLong_CheckExact(key)) return ops::select(x, 0, position(key));
  const Index index(x, key);
  if (index.arrays.empty()) return ops::basic_index(x, index.basic);
  return ops::index(index.whole ? x : ops::basic_index(x, index.basic), index.arrays);
}

ops::Value value_of(PyObject* o, DType dtype) {
  if (is_tensor(o)) return unwrap(o);
  if (PyFloat_Check(o)) return Scalar(PyFloat_AS_DOUBLE(o));
  if (is_number(o)) return to_scalar(o);
  // An array or a list is converted to the dtype of the target.
  return ops::cast(is_ndarray(o) ? from_ndarray(o) : from_data(o, nullptr), dtype);
}

}  // namespace

PyObject* tensor_subscript(PyObject* self, PyObject* key) {
  return guarded_as("index", [&] { return to_python(get(unwrap(self), key)); });
}

int tensor_ass_subscript(PyObject* self, PyObject* key, PyObject* value) {
  try {
    if (!value) throw_type_error("elements of a tensor cannot be deleted");
    const Tensor& x = unwrap(self);
    if (key == Py_False) return 0;  // selects nothing, so nothing is written
    const Index index(x, key);
    const ops::Value v = value_of(value, x.dtype());
    // A parameter may be changed in place, also in part, by values outside the graph.
    const Tensor* from = std::get_if<Tensor>(&v);
    const bool untracked = x->parameter && x->requires_grad && !x->grad_fn && !(from && needs_grad(*from));
    const WithGradMode mode(grad_mode.enabled && !untracked);
    if (index.arrays.empty()) ops::basic_put_(x, index.basic, v);
    else ops::index_put_(index.whole ? x : ops::basic_index(x, index.basic), index.arrays, v, false);
    return 0;
  } catch (...) {
    translate_exception("index_put_");
    return -1;
  }
}

PyObject* tensor_iter(PyObject* self) {
  return guarded([&]() -> PyObject* {
    const Tensor& x = unwrap(self);
    if (x.dim() == 0)
      throw_type_error("iteration over a 0-d tensor, which has no dimension; use x.item() for its number");
    const Object rows(to_python(ops::unbind(x, 0)));
    return PyObject_GetIter(rows.get());
  });
}

int tensor_contains(PyObject* self, PyObject* value) {
  return guarded_int([&] {
    if (!is_tensor(value) && !is_ndarray(value) && !is_number(value))
      throw_type_error(str("in: expected a number or a tensor, got ", Py_TYPE(value)->tp_name));
    const WithGradMode off(false);
    const Tensor& x = unwrap(self);
    const ops::Value v = is_number(value) || is_tensor(value) ? value_of(value, x.dtype()) : from_ndarray(value);
    const Tensor* tensor = std::get_if<Tensor>(&v);
    const Tensor equal = tensor ? ops::eq(unwrap(self), *tensor) : ops::eq(unwrap(self), std::get<Scalar>(v));
    return static_cast<int>(tensor_item(ops::any(equal, {}, false)).to_bool());
  });
}

PyObject* tensor_item_at(PyObject* self, Py_ssize_t i) {
  return guarded([&] { return to_python(ops::select(unwrap(self), 0, i)); });
}

// A list of indices for index_put: None keeps a dimension.
static std::vector<Tensor> index_list(Args& a, int i) {
  if (!PyTuple_Check(a[i]) && !PyList_Check(a[i])) a.fail(i, "a tuple of tensors");
  const Object sequence(PySequence_Fast(a[i], "a sequence of tensors"));
  std::vector<Tensor> list;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(sequence.get()); ++k) {
    PyObject* item = PySequence_Fast_GET_ITEM(sequence.get(), k);
    if (item != Py_None && !is_tensor(item)) a.fail(i, "a tuple of tensors");
    list.push_back(item == Py_None ? Tensor() : unwrap(item));
  }
  return list;
}

static PyObject* nonzero(Args& a) {
  const Tensor& x = a.tensor(0);
  return a.boolean(1) ? to_python(ops::nonzero_tuple(x)) : to_python(ops::nonzero(x));
}

static const Family family({.kind = Kind::Index, .page = "shape"}, [] {
  def<"index_put(Tensor input, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", [](Args& a) {
    return ops::index_put(a.tensor(0), index_list(a, 1), a.tensor(2), a.boolean(3));
  }>(kBoth, "A copy of input with values put, or added, where the indices say.");
  def<"index_put_(Tensor input, Tensor?[] indices, Tensor values, bool accumulate=False) -> Self", [](Args& a) {
    return ops::index_put_(a.tensor(0), index_list(a, 1), a.tensor(2), a.boolean(3));
  }>(kBoth, "Puts values, or adds them, where the indices say.");
  def<"nonzero(Tensor input, *, bool as_tuple=False, Tensor? out=None) -> Tensor|Tensor[]", nonzero>(
      kBoth, "Where input is not zero, as rows of indices or as a vector for each dimension.", {.page = "comparison"});
  def<"argwhere(Tensor input) -> Tensor", [](Args& a) { return ops::nonzero(a.tensor(0)); }>(
      kBoth, "Where input is not zero, as rows of indices.", {.page = "comparison"});
});

}  // namespace genesis::py
