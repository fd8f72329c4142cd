#include "bindings/memory_format.h"
#include "bindings/module.h"

#include <nanobind/nanobind.h>

#include "bindings/args.h"
#include "bindings/hooks.h"
#include "bindings/size.h"

namespace genesis::py {

static PyObject* module_;

static std::vector<void (*)()>& families() {
  static std::vector<void (*)()> list;
  return list;
}
Family::Family(void (*init)()) { families().push_back(init); }

PyObject* current_module() { return module_; }
PyObject* module_name() {
  static PyObject* name = PyUnicode_InternFromString("genesis");
  return name;
}

}  // namespace genesis::py

NB_MODULE(_C, m) {
  using namespace genesis::py;
  module_ = m.ptr();
  try {
    init_errors(m.ptr());
    init_dtype(m.ptr());
    init_size(m.ptr());
    init_memory_format(m.ptr());
    init_node_type(m.ptr());
    init_hooks(m.ptr());
    init_tensor_type(m.ptr());
    init_collector();
    for (void (*init)() : families()) init();
    m.def("op_names", [] {
      nanobind::list names;
      for (const std::string& n : op_names()) names.append(n.c_str());
      return names;
    }, "The names of all operators, for the tests of completeness.");
  } catch (const PythonError&) {
    throw nanobind::python_error();
  }
}
