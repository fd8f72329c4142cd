#include "bindings/subscript.h"

#include "bindings/args.h"
#include "bindings/module.h"
#include "ops/create.h"
#include "ops/view.h"

namespace genesis::py {

static Tensor basic_index(const Tensor& x, PyObject* key) {
  if (PyLong_Check(key)) return ops::select(x, 0, to_index(key, "index"));
  if (PySlice_Check(key)) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key, &start, &stop, &step) < 0) throw_python();
    require(step > 0, "index: slice step must be positive, got ", step, "; use flip() to reverse");
    PySlice_AdjustIndices(x.size(0), &start, &stop, step);
    return ops::slice(x, 0, start, stop, step);
  }
  throw_type_error(str("index: unsupported ", Py_TYPE(key)->tp_name));
}

PyObject* tensor_subscript(PyObject* self, PyObject* key) {
  return guarded([&] { return to_python(basic_index(unwrap(self), key)); });
}
int tensor_ass_subscript(PyObject* self, PyObject* key, PyObject* value) {
  return guarded_int([&] {
    const Tensor target = basic_index(unwrap(self), key);
    ops::copy_(target, is_tensor(value) ? unwrap(value) : from_data(value, nullptr));
    return 0;
  });
}
PyObject* tensor_item_at(PyObject* self, Py_ssize_t i) {
  return guarded([&] { return to_python(ops::select(unwrap(self), 0, i)); });
}

}  // namespace genesis::py
