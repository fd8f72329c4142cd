// Queries about dtypes and shapes.
#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static PyObject* new_dtype(DType t) {
  PyObject* o = dtype_object(t);
  Py_INCREF(o);
  return o;
}

// Within a kind, all casts are allowed; between kinds, only upwards: bool, integer, floating, complex.
static bool can_cast(DType from, DType to) {
  const auto kind = [](DType t) { return t == DType::Bool ? 0 : is_integral(t) ? 1 : is_floating(t) ? 2 : 3; };
  return kind(from) <= kind(to);
}

static const Family family({.kind = Kind::Query, .page = "settings"}, [] {
  def<"result_type(Operand tensor1, Operand tensor2) -> dtype", [](Args& a) {
    return new_dtype(result_type({a.operand(0), a.operand(1)}));
  }>(kFunction | kTool, "The dtype of an operation on two tensors or numbers.");
  def<"promote_types(DType type1, DType type2) -> dtype", [](Args& a) {
    return new_dtype(promote(a.dtype(0), a.dtype(1)));
  }>(kFunction | kTool, "The smallest dtype that two dtypes can be converted to.");
  def<"can_cast(DType from_, DType to) -> bool", [](Args& a) { return can_cast(a.dtype(0), a.dtype(1)); }>(
      kFunction | kTool, "Whether an in-place operation may store one dtype in another.");
  def<"_as_dtype(DType dtype) -> dtype", [](Args& a) { return new_dtype(a.dtype(0)); }>(kFunction | kTool);
});

}  // namespace genesis::py
