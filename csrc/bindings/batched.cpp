// Tensors that vmap maps over. This file passes calls to the batching rules in Python (genesis/func/_batching).
//
// A batched tensor is an instance of one class, created here: `_value` is a tensor whose first dimension is the mapped
// one, and `_level` identifies the vmap that maps it. The object itself has the shape and the dtype of one element of
// the batch, so that queries about these need no rule and no memory: all its elements are one NaN.
#include <cmath>
#include <string_view>
#include <unordered_set>

#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/create.h"
#include "ops/view.h"

namespace genesis::py {

namespace {

PyObject *handler = nullptr, *refusal = nullptr;
PyObject *value_name, *level_name;

const Tensor& element(DType dtype) {
  static Tensor elements[64];
  Tensor& t = elements[static_cast<size_t>(dtype)];
  if (!t.defined()) t = ops::full({}, is_floating(dtype) ? Scalar(std::nan("")) : Scalar(int64_t{0}), dtype);
  return t;
}

PyObject* make_batched(Args& a) {
  const Tensor& value = a.tensor(0);
  require(value.dim() > 0, "vmap: a 0-d tensor has no dimension to map over");
  Dims shape, strides;
  for (int d = 1; d < value.dim(); ++d) {
    shape.push_back(value.size(d));
    strides.push_back(0);
  }
  const Tensor logical = alias(element(value.dtype()), shape, strides);
  if (a.has(2)) {
    unwrap(a[2]).impl()->take_contents(*logical.impl());
    if (PyObject_GenericSetAttr(a[2], value_name, a[0]) < 0) throw_python();
    return Py_NewRef(a[2]);
  }
  Object self(wrap_as(BatchedType, logical));
  if (PyObject_GenericSetAttr(self.get(), value_name, a[0]) < 0 ||
      PyObject_GenericSetAttr(self.get(), level_name, a[1]) < 0)
    throw_python();
  return self.release();
}

/// The tensor whose elements `o` maps over; an error in Python if there is none.
Object value_of(PyObject* o) { return Object(PyObject_GenericGetAttr(o, value_name)); }

PyObject* physical(Args& a) {
  Object x = Object::borrow(a[0]);
  while (is_batched(x.get())) x = value_of(x.get());
  return x.release();
}

PyObject* levels_of(Args& a) {
  Object found(PyList_New(0));
  for (Object x = Object::borrow(a[0]); is_batched(x.get()); x = value_of(x.get())) {
    const Object level(PyObject_GenericGetAttr(x.get(), level_name));
    if (PyList_Append(found.get(), level.get()) < 0) throw_python();
  }
  if (PyList_Reverse(found.get()) < 0) throw_python();
  return found.release();
}

Tensor repeated(Args& a) {
  const Tensor& x = a.tensor(0);
  Dims shape = a.dims(1);
  for (int d = 0; d < x.dim(); ++d) shape.push_back(x.size(d));
  return ops::expand(x, shape);
}

}  // namespace

bool known_without_values(const char* name) {
  static const std::unordered_set<std::string_view> names{
      "shape",        "size",       "ndim",         "dtype",      "device",
      "itemsize",     "nbytes",     "is_cpu",       "is_cuda",    "is_meta",
      "is_sparse",    "layout",     "numel",        "nelement",   "dim",
      "ndimension",   "is_signed",  "element_size", "is_complex", "is_floating_point",
      "is_same_size", "cpu",        "storage_type", "can_cast",   "get_device",
      "is_pinned",    "pin_memory", "result_type",  "__len__"};
  return names.contains(name);
}

void require_values(const Tensor& t, const char* name) {
  if (!BatchedType || t->storage != element(t.dtype())->storage) return;
  const Object text(PyUnicode_FromString(name));
  const Object never(PyObject_CallOneArg(refusal, text.get()));  // raises
}

PyObject* call_batched(PyObject* function, PyObject* args, PyObject* kwargs) {
  PyObject* parts[] = {function, args, kwargs};
  return PyObject_Vectorcall(handler, parts, 3, nullptr);
}

static const Family family([] {
  value_name = PyUnicode_InternFromString("_value");
  level_name = PyUnicode_InternFromString("_level");
  def<"_set_batching(type cls, Any handler, Any refusal) -> None",
      [](Args& a) -> PyObject* {
        if (!PyType_Check(a[0]) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(a[0]), TensorType))
          a.fail(0, "a subclass of Tensor");
        BatchedType = reinterpret_cast<PyTypeObject*>(Py_NewRef(a[0]));
        handler = Py_NewRef(a[1]);
        refusal = Py_NewRef(a[2]);
        Py_RETURN_NONE;
      }>(kFunction | kTool,
         "Says which class batched tensors are of, who handles calls with them, and what raises where one is read.");
  def<"_batched(Tensor value, Any level, Tensor? replaced=None) -> Tensor", make_batched>(
      kFunction | kTool,
      "The tensor whose elements along the first dimension of `value` vmap maps over; `replaced` with that value.");
  def<"_physical(Any object) -> Any", physical>(
      kFunction | kTool, "The plain tensor behind a batched one: dimensions of all levels, then its own.");
  def<"_levels_of(Any object) -> list", levels_of>(kFunction | kTool,
                                                   "The levels at which an object is batched, the outermost first.");
  def<"_repeated(Tensor x, int[] sizes) -> Tensor", repeated>(kFunction | kTool,
                                                              "`x` expanded by new first dimensions of these sizes.");
  def<"_is_batched(Any object) -> bool", [](Args& a) { return is_batched(a[0]); }>(
      kFunction | kTool, "Whether vmap maps over the object.");
});

}  // namespace genesis::py
