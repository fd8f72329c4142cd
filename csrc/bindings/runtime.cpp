// Threads, memory, and properties of this build.
#include <csignal>

#include "autograd/node.h"
#include "bindings/args.h"
#include "bindings/module.h"
#include "core/allocator.h"
#include "core/exact.h"
#include "core/isa.h"
#include "core/parallel.h"
#include "core/promote.h"

namespace genesis::py {

// Whether Ctrl-C is pending and will be handled by the default handler, which raises KeyboardInterrupt: an operation
// cannot be aborted for a handler that returns. The handler runs when the operation returns (errors.cpp).
static bool interrupted() {
  static PyObject* module = PyImport_ImportModule("_signal");
  static PyObject* getsignal = module ? PyObject_GetAttrString(module, "getsignal") : nullptr;
  static PyObject* usual = module ? PyObject_GetAttrString(module, "default_int_handler") : nullptr;
  static PyObject* number = PyLong_FromLong(SIGINT);
  if (!PyGILState_Check() || PyErr_Occurred() || !getsignal || !usual || !number) return false;
  if (!PyOS_InterruptOccurred()) return false;  // always false in threads other than the main thread
  PyErr_SetInterrupt();
  PyObject* handler = PyObject_CallOneArg(getsignal, number);
  const bool raises = handler == usual;
  Py_XDECREF(handler);
  PyErr_Clear();
  return raises;
}

static const Family family({.kind = Kind::Tool, .page = "settings"}, [] {
  set_unlock_hooks(
      {[]() -> void* { return PyGILState_Check() ? PyEval_SaveThread() : nullptr; },
       [](void* state) { in_python([&] { return PyEval_RestoreThread(static_cast<PyThreadState*>(state)); }); },
       interrupted});
  def<"get_num_threads() -> int", [](Args&) { return static_cast<int64_t>(get_num_threads()); }>(
      kFunction | kTool, "How many threads an operation may use.");
  def<"set_num_threads(int n) -> None", [](Args& a) -> PyObject* {
    const int64_t n = a.integer(0);
    require(n >= 1 && n <= kMaxThreads, "set_num_threads: n must be between 1 and ", kMaxThreads, ", got ", n);
    set_num_threads(static_cast<int>(n));
    Py_RETURN_NONE;
  }>(kFunction | kTool, "Sets how many threads an operation may use; results do not depend on it.");
  def<"_memory_allocated() -> int", [](Args&) { return static_cast<int64_t>(memory_allocated()); }>(kFunction | kTool);
  def<"_memory_peak() -> int", [](Args&) { return static_cast<int64_t>(memory_peak()); }>(kFunction | kTool);
  def<"_memory_cached() -> int", [](Args&) { return static_cast<int64_t>(memory_cached()); }>(kFunction | kTool);
  def<"_memory_reset_peak() -> None", [](Args&) -> PyObject* {
    reset_memory_peak();
    Py_RETURN_NONE;
  }>(kFunction | kTool);
  def<"_memory_empty_cache() -> None", [](Args&) -> PyObject* {
    empty_cache();
    Py_RETURN_NONE;
  }>(kFunction | kTool);
  def<"_fail_allocations(int first, int last) -> int",
      [](Args& a) { return fail_allocations(a.integer(0), a.integer(1)); }>(kFunction | kTool);
  def<"get_default_dtype() -> dtype", [](Args&) {
    PyObject* o = dtype_object(default_dtype);
    Py_INCREF(o);
    return o;
  }>(kFunction | kTool, "The dtype of Python floats and of results that turn integers into floats.");
  def<"set_default_dtype(DType d) -> None", [](Args& a) -> PyObject* {
    const DType t = a.dtype(0);
    require<DTypeError>(is_floating(t), "set_default_dtype: must be floating, got ", t);
    default_dtype = t;
    Py_RETURN_NONE;
  }>(kFunction | kTool);
  def<"_set_exact_torch(bool exact) -> None", [](Args& a) -> PyObject* {
    exact_torch = a.boolean(0);
    Py_RETURN_NONE;
  }>(kFunction | kTool, "Follows PyTorch where the specification differs from it.");
  def<"_is_exact_torch() -> bool", [](Args&) { return exact_torch; }>(kFunction | kTool);
  def<"_isa() -> str", [](Args&) { return PyUnicode_FromString(isa_name(isa())); }>(kFunction | kTool);
});

}  // namespace genesis::py
