// Gradients of a Python class that implements their addition: sparse tensors (python/genesis/sparse).
#include "bindings/args.h"
#include "bindings/module.h"
#include "engine/backward.h"

namespace genesis::py {

static PyTypeObject* special_class = nullptr;
static PyObject* special_add = nullptr;

static bool is_special(const Tensor& grad) {
  auto* o = static_cast<PyObject*>(grad->foreign());
  return o && PyObject_TypeCheck(o, special_class);
}

static Tensor add_special(const Tensor& x, const Tensor& y) {
  const Object a(wrap(x)), b(wrap(y));
  const Object sum(PyObject_CallFunctionObjArgs(special_add, a.get(), b.get(), nullptr));
  return unwrap(sum.get());
}

static const Family family([] {
  def<"_set_special_gradients(type cls, Any add) -> None", [](Args& a) -> PyObject* {
    require<DTypeError>(PyType_Check(a[0]), "_set_special_gradients: cls must be a class");
    special_class = reinterpret_cast<PyTypeObject*>(Py_NewRef(a[0]));
    special_add = Py_NewRef(a[1]);
    engine::special_gradients = {is_special, add_special};
    Py_RETURN_NONE;
  }>(kFunction | kTool, "Gradients of this class are added by add(x, y) in backward().");
});

}  // namespace genesis::py
