// The Python object of a tensor, and conversion between the two.
//
// `Tensor` is a CPython extension type: wrapping a result takes an object from a free list. A TensorImpl gets its
// Python object when it is first returned to Python and keeps it (core/counted.h), so identity, attributes and
// subclasses are preserved through the graph.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cxxabi.h>
#include <structmember.h>

#include "core/tensor.h"

namespace genesis {
class Node;
}

namespace genesis::py {

struct PyTensor {
  PyObject_HEAD union {
    Tensor tensor;  // not counted: the Python object owns the TensorImpl
  };
  PyObject* dict;
  PyObject* weakrefs;
};

extern PyTypeObject* TensorType;

inline bool is_tensor(PyObject* o) { return Py_TYPE(o) == TensorType || PyType_IsSubtype(Py_TYPE(o), TensorType); }
inline const Tensor& unwrap(PyObject* o) { return reinterpret_cast<PyTensor*>(o)->tensor; }

// The Python object of `t`, created if there is none yet. A new reference.
PyObject* wrap(Tensor t);
// The Python object of a subclass for a tensor that has none yet.
PyObject* wrap_as(PyTypeObject* type, Tensor t);

// A Python error that propagates through C++ code: the interpreter's error indicator is set.
struct PythonError {};
[[noreturn]] inline void throw_python() { throw PythonError{}; }
// Sets the interpreter's error from the C++ exception being handled; returns null.
PyObject* translate_exception();
// The same for an error of the operation `op`, whose name is prepended if the message lacks it.
PyObject* translate_exception(const char* op);
PyObject* raise(PyObject* type, const std::string& text);  // sets the error, returns null
[[noreturn]] void throw_type_error(const std::string& text);

// An owned reference.
class Object {
 public:
  Object() = default;
  explicit Object(PyObject* owned) : o_(owned) {
    if (!owned) throw_python();
  }
  static Object borrow(PyObject* o) {
    Py_XINCREF(o);
    Object r;
    r.o_ = o;
    return r;
  }
  static Object maybe(PyObject* owned) {  // null allowed
    Object r;
    r.o_ = owned;
    return r;
  }
  Object(const Object& x) : o_(x.o_) { Py_XINCREF(o_); }
  Object(Object&& x) noexcept : o_(std::exchange(x.o_, nullptr)) {}
  Object& operator=(Object x) noexcept {
    std::swap(o_, x.o_);
    return *this;
  }
  ~Object() { Py_XDECREF(o_); }
  PyObject* get() const { return o_; }
  PyObject* release() { return std::exchange(o_, nullptr); }
  explicit operator bool() const { return o_ != nullptr; }

 private:
  PyObject* o_ = nullptr;
};

// Never returns. Before Python 3.14, a daemon thread that requests the GIL while the interpreter shuts down is ended by
// pthread_exit, which unwinds the stack: that would terminate the process at the first noexcept function, and drop
// references without the GIL. We therefore stop the thread when we detect this.
[[noreturn]] void stop_thread();

// Calls f(), which calls functions of CPython only, from code that owns resources.
template <class F>
auto in_python(F&& f) {
  try {
    return f();
#ifdef __GLIBCXX__
  } catch (const abi::__forced_unwind&) {
#else
  } catch (...) {  // libc++ has no type for the unwinding, and CPython throws nothing else
#endif
    stop_thread();
  }
}

// Runs f and converts C++ exceptions to Python's. For functions that CPython calls.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    return translate_exception();
  }
}
// The same for the operation `op`.
template <class F>
PyObject* guarded_as(const char* op, F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    return translate_exception(op);
  }
}
template <class F>
int guarded_int(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    translate_exception();
    return -1;
  }
}

// Slots of the type (tensor.cpp).
void tensor_dealloc(PyObject* o);
int tensor_traverse(PyObject* o, visitproc visit, void* arg);
int tensor_clear(PyObject* o);

int traverse_tensor(TensorImpl* impl, visitproc visit, void* arg);
int traverse_node(Node* node, visitproc visit, void* arg);

void init_collector();
void init_errors(PyObject* module);
void init_tensor_type(PyObject* module);

}  // namespace genesis::py
