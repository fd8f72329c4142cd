// Observed operations.
#pragma once

#include <initializer_list>
#include <span>

#include "bindings/args.h"

namespace genesis::py {

// Runs run(context), the operation `name` on these arguments, and reports it to the observer (observe.cpp).
PyObject* observed_run(const char* name, std::span<PyObject* const> args, PyObject* (*run)(void*), void* context);

template <class F>
PyObject* observed_as(const char* name, std::span<PyObject* const> args, F&& f) {
  return observed_run(
      name, args, [](void* context) { return (*static_cast<std::remove_cvref_t<F>*>(context))(); },
      const_cast<std::remove_cvref_t<F>*>(&f));
}

template <class F>
PyObject* observed_as(const char* name, std::initializer_list<PyObject*> args, F&& f) {
  return observed_as(name, std::span<PyObject* const>(args.begin(), args.size()), std::forward<F>(f));
}

}  // namespace genesis::py
