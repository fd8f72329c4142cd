// Questions about dtypes and shapes, without computing anything.
#include "bindings/args.h"
#include "bindings/module.h"
#include "bindings/size.h"

namespace genesis::py {

static PyObject* new_dtype(DType t) {
  PyObject* o = dtype_object(t);
  Py_INCREF(o);
  return o;
}

// Within a kind everything goes; between kinds only upwards: bool, integer, floating.
static bool can_cast(DType from, DType to) {
  const auto kind = [](DType t) { return t == DType::Bool ? 0 : is_floating(t) ? 2 : 1; };
  return kind(from) <= kind(to);
}

static PyObject* broadcast_of(Args& a) {
  Dims shape;
  for (PyObject* item : a.rest()) {
    Dims other;
    if (PyLong_Check(item)) {
      other.push_back(to_index(item, "broadcast_shapes"));
    } else {
      const Object list(PySequence_Fast(item, "broadcast_shapes: expected ints or tuples of ints"));
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
        other.push_back(to_index(PySequence_Fast_GET_ITEM(list.get(), i), "broadcast_shapes"));
    }
    for (int64_t s : other) require(s >= 0, "broadcast_shapes: negative size in ", other);
    shape = broadcast_shapes("broadcast_shapes", shape, other);
  }
  return size_tuple(shape);
}

static const Family family([] {
  def<"result_type(tensor1, tensor2)", [](Args& a) { return new_dtype(result_type({a.operand(0), a.operand(1)})); }>(
      kFunction | kTool, "The dtype of an operation on two tensors or numbers.");
  def<"promote_types(type1, type2)", [](Args& a) { return new_dtype(promote(a.dtype(0), a.dtype(1))); }>(
      kFunction | kTool, "The smallest dtype that two dtypes can be converted to.");
  def<"can_cast(from_, to)", [](Args& a) { return can_cast(a.dtype(0), a.dtype(1)); }>(
      kFunction | kTool, "Whether an in-place operation may store one dtype in another.");
  def<"broadcast_shapes(*shapes)", broadcast_of>(kFunction | kTool, "The shape that shapes broadcast to.");
  def<"_as_dtype(dtype)", [](Args& a) { return new_dtype(a.dtype(0)); }>(kFunction);
});

}  // namespace genesis::py
