// op_info(): the definition of every bound function, for stubs, reference pages, tests and tools that need to know
// which operators exist, what they accept and what they return.
#include <algorithm>

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static Object text_of(std::string_view s) {
  return Object(PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())));
}

static void put(PyObject* dict, const char* key, const Object& value) {
  if (PyDict_SetItemString(dict, key, value.get()) < 0) throw_python();
}
static void put(PyObject* dict, const char* key, bool value) {
  put(dict, key, Object::borrow(value ? Py_True : Py_False));
}

static Object describe(const Param& p) {
  const Object dict(PyDict_New());
  put(dict.get(), "name", text_of(p.name));
  put(dict.get(), "type", text_of(p.type));
  put(dict.get(), "default", p.fallback.empty() ? Object::borrow(Py_None) : text_of(p.fallback));
  put(dict.get(), "keyword_only", p.keyword_only);
  put(dict.get(), "variadic", p.variadic);
  return dict;
}

static Object describe(const Operator& op) {
  const Object dict(PyDict_New()), params(PyList_New(0));
  for (const Param& p : op.sig.params)
    if (PyList_Append(params.get(), describe(p).get()) < 0) throw_python();
  put(dict.get(), "name", text_of(op.sig.name));
  put(dict.get(), "signature", text_of(op.sig.typed));
  put(dict.get(), "params", params);
  put(dict.get(), "returns", text_of(op.sig.returns));
  put(dict.get(), "doc", op.doc ? text_of(op.doc) : Object::borrow(Py_None));
  put(dict.get(), "function", (op.where & kFunction) != 0);
  put(dict.get(), "method", (op.where & kMethod) != 0);
  put(dict.get(), "tool", op.tool());
  put(dict.get(), "overridable", op.overridable);
  put(dict.get(), "kind", text_of(name_of(op.traits.kind)));
  put(dict.get(), "autocast", text_of(name_of(op.traits.autocast)));
  put(dict.get(), "flops", text_of(name_of(op.traits.flops)));
  put(dict.get(), "batch", text_of(name_of(op.traits.batch)));
  put(dict.get(), "also", op.traits.also ? text_of(op.traits.also) : Object::borrow(Py_None));
  put(dict.get(), "takes", text_of(name_of(op.traits.takes)));
  put(dict.get(), "page", op.traits.page ? text_of(op.traits.page) : Object::borrow(Py_None));
  return dict;
}

// The type of the named tuple that an operator returns; null if it returns something else.
static PyTypeObject* returned_type(const Operator& op) {
  std::string text(op.sig.returns);
  text.erase(0, std::min(text.find('('), text.size()));  // "Tensor|(Tensor values, Tensor indices)"
  if (text.find(' ') == text.npos) return nullptr;
  auto* names = new std::vector<std::string>;  // the type refers to them
  for (size_t at = 0; at != text.npos; at = text.find(',', at + 1)) {
    const size_t end = std::min(text.find(',', at + 1), text.size() - 1), begin = text.rfind(' ', end) + 1;
    names->push_back(text.substr(begin, end - begin));
  }
  const auto name = [&](size_t i) { return (*names)[i].c_str(); };
  switch (names->size()) {
    case 2: return return_type(op.sig.name.c_str(), {name(0), name(1)});
    case 3: return return_type(op.sig.name.c_str(), {name(0), name(1), name(2)});
    case 4: return return_type(op.sig.name.c_str(), {name(0), name(1), name(2), name(3)});
    default: return nullptr;
  }
}

static const Family family([] {
  def<"_return_type(str name) -> Any", [](Args& a) -> PyObject* {
    const std::string name = a.string(0);
    for (const Operator* op : operators())
      if (op->sig.name == name)
        if (PyTypeObject* type = returned_type(*op)) return Py_NewRef(reinterpret_cast<PyObject*>(type));
    Py_RETURN_NONE;
  }>(kFunction | kTool, "The type of the named tuple that a function returns, or None.");
  def<"op_info() -> list",
      [](Args&) {
        Object list(PyList_New(0));
        for (const Operator* op : operators())
          if (PyList_Append(list.get(), describe(*op).get()) < 0) throw_python();
        return list;
      }>(kFunction | kTool,
         "A dict for each bound function: its name, typed signature, parameters, result, documentation, forms and "
         "traits. A "
         "default "
         "is the text of a Python literal, or None where there is none.");
  def<"_namespace(str module) -> dict", [](Args& a) {
    const std::string module = a.string(0), prefix = module + "_", place = module + ".";
    Object dict(PyDict_New());
    for (const Operator* op : operators()) {
      if (!op->function || op->sig.returns == "Self") continue;
      const auto add = [&](std::string_view name) {
        if (PyDict_SetItem(dict.get(), text_of(name).get(), op->function) < 0) throw_python();
      };
      if (op->sig.name.starts_with(prefix)) add(std::string_view(op->sig.name).substr(prefix.size()));
      std::string_view names = op->traits.also ? op->traits.also : "";
      while (!names.empty()) {
        const std::string_view name = names.substr(0, names.find(' '));
        if (name.starts_with(place)) add(name.substr(place.size()));
        names.remove_prefix(std::min(names.size(), name.size() + 1));
      }
    }
    return dict;
  }>(kFunction | kTool, "The functions of genesis.<module> by name: those of the prefix, and those that say so.");
  // The path of every definition when the module is initialized; for tests of its checks.
  def<"_publish(str signature) -> None",
      [](Args& a) -> PyObject* {
        const auto* text = new std::string(a.string(0));  // operators are never destroyed
        publish(*text, [](PyObject*, PyObject* const*, Py_ssize_t, PyObject*) -> PyObject* { Py_RETURN_NONE; }, nullptr,
                kBoth | kTool, nullptr, {});
        Py_RETURN_NONE;
      }>(kFunction | kTool,
         "Binds a function that does nothing; raises if its name is taken or its signature is malformed.");
});

}  // namespace genesis::py
