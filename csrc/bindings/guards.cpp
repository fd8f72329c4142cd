// What a compiled function read when it was captured, and must still find.
#include <cstring>
#include <memory>
#include <vector>

#include "bindings/args.h"
#include "bindings/compiled.h"
#include "bindings/module.h"

namespace genesis::py {

namespace {

// The references are those of the list that the guards were made from: the cycle collector must see them.
struct Guard {
  enum Kind { Item, Cell, Element, Length, Attribute, Contents } kind;
  PyObject *container, *key, *value;
  Py_ssize_t number = 0;  // of an element; a length
  bool dict = false;      // a length of a dict
  // Of the length of a dict: how many guards of its items follow, if they are all; and the version of the dict when
  // all were found to hold.
  Py_ssize_t items = 0;
  mutable uint64_t version = 0;
};
using Guards = std::vector<Guard>;
constexpr const char* kGuards = "genesis.guards";

// A set against a frozenset, a sequence against a tuple, or a buffer against bytes.
bool same_contents(PyObject* now, PyObject* then) {
  if (PyBytes_Check(then)) {
    const Object bytes(Object::maybe(PyObject_CallMethod(now, "tobytes", nullptr)));
    if (!bytes.get()) PyErr_Clear();
    return bytes.get() && PyObject_RichCompareBool(bytes.get(), then, Py_EQ) == 1;
  }
  if (PyAnySet_Check(now)) {
    if (PySet_GET_SIZE(now) != PySet_GET_SIZE(then)) return false;
    const int equal = PyObject_RichCompareBool(now, then, Py_EQ);
    if (equal < 0) PyErr_Clear();
    return equal == 1;
  }
  const Object items(Object::maybe(PySequence_Fast(now, "expected a sequence")));
  if (!items.get()) return PyErr_Clear(), false;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
  if (n != PyTuple_GET_SIZE(then)) return false;
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!same_value(PySequence_Fast_GET_ITEM(items.get(), i), PyTuple_GET_ITEM(then, i))) return false;
  return true;
}

bool holds(const Guard& g) {
  switch (g.kind) {
    case Guard::Item: {
      PyObject* now = PyDict_GetItemWithError(g.container, g.key);
      if (!now) PyErr_Clear();
      return same_value(now, g.value);
    }
    case Guard::Cell: return same_value(PyCell_GET(g.container), g.value);
    case Guard::Element: {
      PyObject* list = g.container;
      return g.number < PyList_GET_SIZE(list) && same_value(PyList_GET_ITEM(list, g.number), g.value);
    }
    case Guard::Length: {
      if (g.dict) return PyDict_GET_SIZE(g.container) == g.number;
      const Py_ssize_t n = PyObject_Size(g.container);
      if (n < 0) PyErr_Clear();
      return n == g.number;
    }
    case Guard::Attribute: {
      PyObject* now = PyObject_GetAttr(g.container, g.key);
      if (!now) PyErr_Clear();
      const bool same = same_value(now, g.value);
      Py_XDECREF(now);
      return same;
    }
    case Guard::Contents: return same_contents(g.container, g.value);
  }
  return false;
}

// A number that changes with a dict, 0 if this Python does not count.
uint64_t version_of([[maybe_unused]] PyObject* dict) {
#if PY_VERSION_HEX < 0x030C0000
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  return 0;
#endif
}

// Whether a dict has the very items that it had, in the same order: a comparison without lookups.
bool unchanged(const Guard* g) {
  const uint64_t version = version_of(g->container);
  if (version != 0 && version == g->version) return true;
  Py_ssize_t at = 0;
  PyObject *key, *value;
  for (Py_ssize_t i = 1; i <= g->items; ++i)
    if (!PyDict_Next(g->container, &at, &key, &value) || key != g[i].key || value != g[i].value) return false;
  g->version = version;
  return true;
}

PyObject* make_guards(Args& a) {
  auto guards = std::make_unique<Guards>();
  const Object items(PySequence_Fast(a[0], "expected a list"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* t = PySequence_Fast_GET_ITEM(items.get(), i);
    const auto kind = static_cast<Guard::Kind>(PyLong_AsLong(PyTuple_GET_ITEM(t, 0)));
    Guard g{kind, PyTuple_GET_ITEM(t, 1), PyTuple_GET_ITEM(t, 2), PyTuple_GET_ITEM(t, 3)};
    if (g.value == a[1]) g.value = nullptr;
    g.dict = kind == Guard::Length && PyDict_Check(g.container) &&
             Py_TYPE(g.container)->tp_as_mapping->mp_length == PyDict_Type.tp_as_mapping->mp_length;
    if (kind == Guard::Element || kind == Guard::Length) g.number = PyLong_AsSsize_t(g.key);
    guards->push_back(g);
  }
  for (size_t i = 0; i < guards->size(); ++i) {
    Guard& g = (*guards)[i];
    if (!g.dict) continue;
    size_t end = i + 1;
    while (end < guards->size() && (*guards)[end].kind == Guard::Item && (*guards)[end].container == g.container) ++end;
    const auto n = static_cast<Py_ssize_t>(end - i - 1);
    if (n == g.number) g.items = n;
  }
  PyObject* capsule = PyCapsule_New(guards.get(), kGuards,
                                    [](PyObject* o) { delete static_cast<Guards*>(PyCapsule_GetPointer(o, kGuards)); });
  if (!capsule) throw_python();
  guards.release();
  return capsule;
}

}  // namespace

bool same_value(PyObject* now, PyObject* then) {
  if (now == then) return true;
  if (!now || !then || Py_TYPE(now) != Py_TYPE(then)) return false;
  if (PyFloat_CheckExact(now)) {  // 0.0 is not -0.0
    const double a = PyFloat_AS_DOUBLE(now), b = PyFloat_AS_DOUBLE(then);
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
  if (!PyLong_CheckExact(now) && !PyUnicode_CheckExact(now)) return false;
  const int equal = PyObject_RichCompareBool(now, then, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal == 1;
}

int64_t failing_guard(PyObject* capsule) {
  const auto* guards = static_cast<Guards*>(PyCapsule_GetPointer(capsule, kGuards));
  if (!guards) throw_python();
  for (size_t i = 0; i < guards->size(); ++i) {
    const Guard& g = (*guards)[i];
    if (!holds(g)) return static_cast<int64_t>(i);
    if (g.items > 0 && unchanged(&g)) i += static_cast<size_t>(g.items);
  }
  return -1;
}

static const Family family({.kind = Kind::Tool, .page = "settings"}, [] {
  def<"_guards(Any guards, Any absent) -> Any", make_guards>(
      kFunction | kTool, "Guards, ready to be checked; `absent` stands for a value that must not be there.");
  def<"_guards_fail(Any guards) -> int", [](Args& a) { return failing_guard(a[0]); }>(
      kFunction | kTool, "The number of the first guard that fails, -1 if none does.");
});

}  // namespace genesis::py
