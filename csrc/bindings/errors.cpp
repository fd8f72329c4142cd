// Converts C++ exceptions to Python's. Shape errors are both ValueError and RuntimeError, dtype errors both TypeError
// and RuntimeError, so that code written for NumPy or for PyTorch catches them.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>

#include "bindings/object.h"
#include "core/allocator.h"
#include "core/parallel.h"

namespace genesis::py {

[[noreturn]] void stop_thread() {
  for (;;) pause();
}

static PyObject *ShapeErrorType, *DTypeErrorType, *IndexErrorType, *RangeErrorType, *DivisionErrorType,
    *LinAlgErrorType;

PyObject* raise(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  return nullptr;
}
void throw_type_error(const std::string& text) {
  PyErr_SetString(PyExc_TypeError, text.c_str());
  throw_python();
}

// Not raise(): there may be no memory for a std::string.
static PyObject* set_error(PyObject* type, const char* text) {
  PyErr_SetString(type, text);
  return nullptr;
}

PyObject* translate_exception() {
  try {
    throw;
  } catch (const PythonError&) {
    return nullptr;
  } catch (const Interrupted&) {
    if (PyErr_CheckSignals() == 0) PyErr_SetNone(PyExc_KeyboardInterrupt);
    return nullptr;
  } catch (const ShapeError& e) {
    return set_error(ShapeErrorType, e.what());
  } catch (const RangeError& e) {
    return set_error(RangeErrorType, e.what());
  } catch (const DTypeError& e) {
    return set_error(DTypeErrorType, e.what());
  } catch (const DivisionError& e) {
    return set_error(DivisionErrorType, e.what());
  } catch (const NoDataError& e) {
    return set_error(PyExc_NotImplementedError, e.what());
  } catch (const LinAlgError& e) {
    return set_error(LinAlgErrorType, e.what());
  } catch (const std::out_of_range& e) {
    return set_error(IndexErrorType, e.what());
  } catch (const std::invalid_argument& e) {
    return set_error(PyExc_ValueError, e.what());
  } catch (const OutOfMemory& e) {
    return set_error(PyExc_MemoryError, e.what());
  } catch (const std::bad_alloc&) {
    return set_error(PyExc_MemoryError, "out of memory for working space; delete tensors or use smaller ones");
  } catch (const std::length_error&) {
    return set_error(PyExc_MemoryError, "out of memory: working space for these arguments is larger than any memory");
  } catch (const std::exception& e) {
    return set_error(PyExc_RuntimeError, e.what());
  } catch (...) {
    if (!std::current_exception()) stop_thread();  // not of C++: pthread_exit
    return set_error(PyExc_SystemError, "genesis: an unknown error in the native core");
  }
}

// ---- the name of the operation --------------------------------------------------------------------------------------

// Whether `text` names the operation: "conv1d: ...", "conv1d(): ...", "... in conv1d(...)".
static bool names(std::string_view text, std::string_view op) {
  const auto part_of_word = [](char c) { return c == '_' || (std::isalnum(static_cast<unsigned char>(c)) != 0); };
  while (op.size() > 1 && op.back() == '_') op.remove_suffix(1);
  for (size_t at = text.find(op); at != std::string_view::npos; at = text.find(op, at + 1)) {
    size_t end = at + op.size();
    if (at > 0 && part_of_word(text[at - 1])) continue;
    while (end < text.size() && text[end] == '_') ++end;
    if (end == text.size() || text[end] == ':' || text[end] == '(' || (at == 0 && !part_of_word(text[end])))
      return true;
  }
  return false;
}

// The public name: linalg.svd for linalg_svd, without the underscore of a function that nn.functional wraps.
static std::string public_name(const char* op) {
  std::string name = op + (op[0] == '_');
  for (const char* part : {"linalg_", "special_"})
    if (name.starts_with(part)) name[std::strlen(part) - 1] = '.';
  return name;
}

// Prepends the name to our own errors and those of CPython's conversions if they lack it. Errors with a traceback are
// not changed: they are from Python code, such as a hook or an argument's method.
static void name_operation(const char* op) {
  PyObject* const ours[] = {PyExc_TypeError,   PyExc_ValueError,   PyExc_IndexError, PyExc_OverflowError,
                            PyExc_MemoryError, PyExc_RuntimeError, ShapeErrorType,   DTypeErrorType,
                            RangeErrorType,    DivisionErrorType,  LinAlgErrorType,  IndexErrorType};
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* text = nullptr;
  if (type && value && !traceback && std::find(std::begin(ours), std::end(ours), type) != std::end(ours)) {
    text = PyObject_Str(value);
    const char* utf8 = text ? PyUnicode_AsUTF8(text) : nullptr;
    // A function of nn.functional uses its own name, which its native part does not know.
    const char* colon = utf8 ? std::strchr(utf8, ':') : nullptr;
    const bool wrapped = op[0] == '_' && (type == PyExc_RuntimeError ||
                                          (colon && std::none_of(utf8, colon, [](char c) { return c == ' '; })));
    if (utf8 && !wrapped && !names(utf8, public_name(op))) {
      PyErr_Format(type, "%s: %s", public_name(op).c_str(), utf8);
      Py_DECREF(type);
      Py_DECREF(value);
      Py_DECREF(text);
      return;
    }
    Py_XDECREF(text);
    PyErr_Clear();
  }
  PyErr_Restore(type, value, traceback);
}

PyObject* translate_exception(const char* op) {
  translate_exception();
  try {
    name_operation(op);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  return nullptr;
}

static PyObject* make(PyObject* module, const char* name, std::initializer_list<PyObject*> kinds, const char* doc) {
  const Object bases(PyTuple_New(static_cast<Py_ssize_t>(kinds.size())));
  Py_ssize_t i = 0;
  for (PyObject* kind : kinds) PyTuple_SET_ITEM(bases.get(), i++, Py_NewRef(kind));
  const std::string full = std::string("genesis.") + name;
  PyObject* type = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.get(), nullptr);
  if (!type) throw_python();
  PyModule_AddObjectRef(module, name, type);
  return type;
}

void init_errors(PyObject* module) {
  ShapeErrorType = make(module, "ShapeError", {PyExc_ValueError, PyExc_RuntimeError},
                        "Shapes or values of arguments do not fit; a ValueError and a RuntimeError at once.");
  DTypeErrorType = make(module, "DTypeError", {PyExc_TypeError, PyExc_RuntimeError},
                        "An argument has the wrong dtype; a TypeError and a RuntimeError at once.");
  IndexErrorType = make(module, "OutOfRangeError", {PyExc_IndexError, PyExc_RuntimeError},
                        "An index or a dimension is out of range; an IndexError and a RuntimeError at once.");
  RangeErrorType = make(module, "RangeError", {PyExc_OverflowError, PyExc_ValueError, PyExc_RuntimeError},
                        "A number does not fit the dtype that is to hold it; an OverflowError, a ValueError and a "
                        "RuntimeError at once.");
  DivisionErrorType = make(module, "DivisionError", {PyExc_ZeroDivisionError, PyExc_RuntimeError},
                           "An integer was divided by zero; a ZeroDivisionError and a RuntimeError at once.");
  LinAlgErrorType =
      PyErr_NewExceptionWithDoc("genesis.linalg.LinAlgError",
                                "A matrix is singular, not positive definite, or its decomposition did not converge.",
                                PyExc_RuntimeError, nullptr);
  if (!LinAlgErrorType) throw_python();
  PyModule_AddObjectRef(module, "_LinAlgError", LinAlgErrorType);  // public as genesis.linalg.LinAlgError
}

}  // namespace genesis::py
