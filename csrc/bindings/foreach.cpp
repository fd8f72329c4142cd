// The loop of the functions _foreach_*: one operator for each tensor of a list, in one call from Python.
#include <vector>

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

// Column i contains argument i of every call, as a list or tuple, or is that argument for all of them.
static PyObject* call_each(Args& a) {
  PyObject* function = a[0];
  const bool by_name = a.has(1);  // the last column
  const Object keyword = by_name ? Object(PyTuple_Pack(1, a[1])) : Object();
  std::vector<Object> columns;  // copies: a call may change a list
  Py_ssize_t count = -1;
  for (PyObject* column : a.rest()) {
    const bool listed = PyList_Check(column) || PyTuple_Check(column);
    columns.push_back(listed ? Object(PySequence_Tuple(column)) : Object::borrow(column));
    if (!listed) continue;
    const Py_ssize_t n = PyTuple_GET_SIZE(columns.back().get());
    require<GraphError>(count < 0 || n == count, "_foreach: tensor lists must have the same number of tensors, got ",
                        count, " and ", n);
    count = n;
  }
  require<GraphError>(count >= 0, "_foreach: expected a list of tensors");
  std::vector<PyObject*> row(columns.size());
  Object results(PyList_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < columns.size(); ++k) {
      PyObject* column = columns[k].get();
      row[k] = PyTuple_Check(column) ? PyTuple_GET_ITEM(column, i) : column;
    }
    PyObject* result = PyObject_Vectorcall(function, row.data(), row.size() - (by_name ? 1 : 0), keyword.get());
    if (!result) throw_python();
    PyList_SET_ITEM(results.get(), i, result);
  }
  return results.release();
}

static const Family family([] {
  def<"_call_each(Any function, str? keyword, Any *columns) -> list", call_each>(
      kFunction | kTool, "function(*row) for each row of the columns; `keyword` names the last argument.");
});

}  // namespace genesis::py
