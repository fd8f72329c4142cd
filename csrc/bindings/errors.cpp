// C++ exceptions as Python's. Shape errors are ValueError and RuntimeError at once, dtype errors TypeError and
// RuntimeError, so that code written for NumPy's or for PyTorch's habits catches them.
#include "bindings/object.h"
#include "core/allocator.h"

namespace genesis::py {

static PyObject *ShapeErrorType, *DTypeErrorType, *DivisionErrorType, *LinAlgErrorType;

PyObject* raise(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  return nullptr;
}
void throw_type_error(const std::string& text) {
  PyErr_SetString(PyExc_TypeError, text.c_str());
  throw_python();
}

PyObject* translate_exception() {
  try {
    throw;
  } catch (const PythonError&) {
    return nullptr;
  } catch (const ShapeError& e) {
    return raise(ShapeErrorType, e.what());
  } catch (const DTypeError& e) {
    return raise(DTypeErrorType, e.what());
  } catch (const DivisionError& e) {
    return raise(DivisionErrorType, e.what());
  } catch (const LinAlgError& e) {
    return raise(LinAlgErrorType, e.what());
  } catch (const std::out_of_range& e) {
    return raise(PyExc_IndexError, e.what());
  } catch (const std::invalid_argument& e) {
    return raise(PyExc_ValueError, e.what());
  } catch (const std::bad_alloc& e) {
    return raise(PyExc_MemoryError, e.what());
  } catch (const std::exception& e) {
    return raise(PyExc_RuntimeError, e.what());
  } catch (...) {
    return raise(PyExc_SystemError, "genesis: an unknown error in the native core");
  }
}

static PyObject* make(PyObject* module, const char* name, PyObject* a, PyObject* b, const char* doc) {
  const Object bases(PyTuple_Pack(2, a, b));
  const std::string full = std::string("genesis.") + name;
  PyObject* type = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.get(), nullptr);
  if (!type) throw_python();
  PyModule_AddObjectRef(module, name, type);
  return type;
}

void init_errors(PyObject* module) {
  ShapeErrorType = make(module, "ShapeError", PyExc_ValueError, PyExc_RuntimeError,
                        "Shapes or values of arguments do not fit; a ValueError and a RuntimeError at once.");
  DTypeErrorType = make(module, "DTypeError", PyExc_TypeError, PyExc_RuntimeError,
                        "An argument has the wrong dtype; a TypeError and a RuntimeError at once.");
  DivisionErrorType = make(module, "DivisionError", PyExc_ZeroDivisionError, PyExc_RuntimeError,
                           "An integer was divided by zero; a ZeroDivisionError and a RuntimeError at once.");
  LinAlgErrorType =
      PyErr_NewExceptionWithDoc("genesis.linalg.LinAlgError",
                                "A matrix is singular, not positive definite, or its decomposition did not converge.",
                                PyExc_RuntimeError, nullptr);
  if (!LinAlgErrorType) throw_python();
  PyModule_AddObjectRef(module, "_LinAlgError", LinAlgErrorType);  // genesis.linalg shows it
}

}  // namespace genesis::py
