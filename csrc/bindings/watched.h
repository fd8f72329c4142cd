// Slots of the type Tensor that an observer can look at: watched<"add", slot> in the place of slot.
#pragma once

#include <initializer_list>
#include <span>

#include "bindings/args.h"

namespace genesis::py {

// run(context), which is the operation `name` on these arguments, under the eyes of the observer (observe.cpp).
PyObject* observed_run(const char* name, std::span<PyObject* const> args, PyObject* (*run)(void*), void* context);

template <class F>
PyObject* observed_as(const char* name, std::span<PyObject* const> args, F&& f) {
  return observed_run(
      name, args, [](void* context) { return (*static_cast<std::remove_reference_t<F>*>(context))(); }, &f);
}

template <class F>
PyObject* observed_as(const char* name, std::initializer_list<PyObject*> args, F&& f) {
  return observed_as(name, std::span<PyObject* const>(args.begin(), args.size()), std::forward<F>(f));
}

template <FixedString Name, auto Slot>
PyObject* watched(PyObject* a, PyObject* b) {
  if (observer) [[unlikely]]
    return observed_as(Name.text, {a, b}, [&] { return Slot(a, b); });
  return Slot(a, b);
}
template <FixedString Name, auto Slot>
PyObject* watched_unary(PyObject* a) {
  if (observer) [[unlikely]]
    return observed_as(Name.text, {a}, [&] { return Slot(a); });
  return Slot(a);
}

}  // namespace genesis::py
