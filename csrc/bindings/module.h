// The parts of the extension module, one init function for each file of bindings/.
#pragma once

#include <string>
#include <vector>

#include "bindings/object.h"
#include "bindings/traits.h"
#include "core/scalar.h"

namespace genesis::py {

PyObject* current_module();  // while the module is being initialized
PyObject* module_name();

// dtype.cpp
bool names_dtype(PyObject* o);  // a dtype, or an object that denotes one
// device.cpp
void check_device(PyObject* o);         // raises unless it is supported
bool is_device(PyObject* o);            // a device, or a str that does not name a dtype
PyObject* device_object(bool of_meta);  // borrowed: the CPU, or the meta device
// numpy.cpp: memory shared with NumPy and with other buffers
bool is_numpy_scalar(PyObject* o);
// Shares memory if possible; otherwise copies or raises.
Tensor from_ndarray(PyObject* array, bool may_copy = true, bool* copied = nullptr);
PyObject* to_ndarray(const Tensor& t);
// convert.cpp: between Python data and tensors
Tensor from_data(PyObject* data, PyObject* dtype);
Scalar tensor_item(const Tensor& t);
PyObject* scalar_to_python(Scalar s);

void init_dtype(PyObject* module);
void init_device(PyObject* module);
void init_node_type(PyObject* module);
PyObject* node_object(Node* node);  // new reference, None for null
PyObject* node_inputs(Node* node);  // a list, empty for null

// A family of operators. Each file of bindings/ has one, `static const Family family({traits}, [] { def<...>(...); ...
// });`, which runs when the module is initialized.
struct Family {
  // `traits` are the defaults of its operators.
  Family(Traits traits, void (*init)());
  explicit Family(void (*init)()) : Family({}, init) {}
};
// The traits of the family whose operators are being defined.
const Traits& family_traits();

}  // namespace genesis::py
