// genesis.device: identifies a device, whether or not this build can compute on it.
#include <charconv>
#include <vector>

#include "bindings/args.h"
#include "bindings/block.h"
#include "bindings/dispatch.h"
#include "bindings/module.h"

namespace genesis::py {

namespace {

constexpr const char* kKinds[] = {"cpu", "cuda", "meta", "mps", "xpu", "xla", "hpu", "mtia"};
constexpr int kCpu = 0, kCuda = 1, kMetaKind = 2;

struct PyDevice {
  PyObject_HEAD int kind;  // index in kKinds
  int64_t index;           // -1 for none
};

PyTypeObject* DeviceType;
PyObject *cpu, *meta;

// Where this thread creates tensors: the default, followed by the open `with device:` blocks.
thread_local std::vector<bool> meta_places{false};

void default_changed() { set_dispatch_bit(kDefaultDevice, meta_places.back()); }

const PyDevice& get(PyObject* o) { return *reinterpret_cast<PyDevice*>(o); }

PyObject* make(int kind, int64_t index) {
  auto* o = PyObject_New(PyDevice, DeviceType);
  if (!o) throw_python();
  o->kind = kind;
  o->index = index;
  return reinterpret_cast<PyObject*>(o);
}

std::string text_of(const PyDevice& d) {
  return d.index < 0 ? std::string(kKinds[d.kind]) : str(kKinds[d.kind], ":", d.index);
}

int64_t checked_index(PyObject* o) {
  if (!PyIndex_Check(o)) throw_type_error(str("device: index must be an int, got ", Py_TYPE(o)->tp_name));
  const int64_t index = to_index(o, "device");
  require(index >= 0, "device: index must not be negative, got ", index);
  return index;
}

// Parses "cuda" or "cuda:1"; returns false if it names no kind of device.
bool parse(std::string_view text, int& kind, int64_t& index) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  kind = -1;
  for (int i = 0; i < static_cast<int>(std::size(kKinds)); ++i)
    if (name == kKinds[i]) kind = i;
  index = -1;
  if (kind < 0 || colon == std::string_view::npos) return kind >= 0;
  const std::string_view digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  return error == std::errc() && end == digits.data() + digits.size() && index >= 0;
}

PyObject* device_new(PyTypeObject* cls, PyObject* args, PyObject* kwargs) {
  PyObject* const self = reinterpret_cast<PyObject*>(cls);
  static const char* names[] = {"type", "index", nullptr};
  PyObject *type, *index = Py_None;
  if (kwargs && PyTuple_GET_SIZE(args) == 0 && PyDict_GET_SIZE(kwargs) == 1)  // names that older programs use
    for (const char* name : {"device_input", "device_str"})
      if (PyObject* given = PyDict_GetItemString(kwargs, name)) return PyObject_CallOneArg(self, given);
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &type, &index))
    return nullptr;
  return guarded([&]() -> PyObject* {
    if (Py_TYPE(type) == DeviceType) {
      Py_INCREF(type);
      return type;
    }
    if (PyLong_Check(type) && !PyBool_Check(type)) return make(kCuda, checked_index(type));
    if (!PyUnicode_Check(type))
      throw_type_error(str("device: type must be a str, an int or a device, got ", Py_TYPE(type)->tp_name));
    int kind;
    int64_t number;
    const std::string text = PyUnicode_AsUTF8(type);
    require(parse(text, kind, number), "device: '", text, "' names no device; use e.g. 'cpu', 'cuda' or 'cuda:0'");
    if (index != Py_None) {
      require(number < 0, "device: the index is given twice, in '", text, "' and as an argument");
      number = checked_index(index);
    }
    if (kind == kCpu && number < 0) {
      Py_INCREF(cpu);
      return cpu;
    }
    return make(kind, number);
  });
}

// There is one CPU, with or without an index.
bool same(const PyDevice& a, const PyDevice& b) {
  return a.kind == b.kind && (a.index == b.index || (a.kind == kCpu && a.index <= 0 && b.index <= 0));
}
PyObject* compare(PyObject* self, PyObject* other, int op) {
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  bool equal = false;
  if (Py_TYPE(other) == DeviceType) {
    equal = same(get(self), get(other));
  } else if (PyUnicode_Check(other)) {
    PyDevice named = get(self);
    equal = parse(PyUnicode_AsUTF8(other), named.kind, named.index) && same(get(self), named);
  }
  return PyBool_FromLong(equal == (op == Py_EQ));
}
Py_hash_t hash(PyObject* self) {
  const PyDevice& d = get(self);
  return d.kind * 1009 + (d.kind == kCpu ? std::max<int64_t>(d.index, 0) : d.index + 1) + 7;
}
PyObject* repr(PyObject* self) {
  const PyDevice& d = get(self);
  if (d.index < 0) return PyUnicode_FromFormat("device(type='%s')", kKinds[d.kind]);
  return PyUnicode_FromFormat("device(type='%s', index=%lld)", kKinds[d.kind], static_cast<long long>(d.index));
}
PyObject* index_of(PyObject* self, void*) {
  if (get(self).index < 0) Py_RETURN_NONE;
  return PyLong_FromLongLong(get(self).index);
}
PyObject* reduce(PyObject* self, PyObject*) {
  const Object text(PyUnicode_FromString(text_of(get(self)).c_str()));
  return Py_BuildValue("O(O)", DeviceType, text.get());
}
PyObject* enter(PyObject* self, PyObject*) {
  return guarded([&] {
    check_device(self);
    before_block();
    meta_places.push_back(get(self).kind == kMetaKind);
    default_changed();
    Py_INCREF(self);
    return self;
  });
}
PyObject* leave(PyObject*, PyObject*) {
  if (meta_places.size() > 1) meta_places.pop_back();
  default_changed();
  Py_RETURN_NONE;
}

template <int Kind>
PyObject* is_kind(PyObject* self, PyObject*) {
  return PyBool_FromLong(get(self).kind == Kind);
}

PyGetSetDef getset[] = {{"type", [](PyObject* o, void*) { return PyUnicode_FromString(kKinds[get(o).kind]); }, nullptr,
                         "The kind of device, e.g. 'cpu'.", nullptr},
                        {"index", index_of, nullptr, "Which of several, or None.", nullptr},
                        {}};
PyMethodDef methods[] = {
    {"is_cpu", is_kind<kCpu>, METH_NOARGS, "is_cpu($self)\n--\n\nWhether it is the CPU."},
    {"is_cuda", is_kind<kCuda>, METH_NOARGS, "is_cuda($self)\n--\n\nWhether it is a CUDA device."},
    {"enabled", is_kind<kCpu>, METH_NOARGS, "enabled($self)\n--\n\nWhether this build can compute there."},
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", leave, METH_VARARGS, nullptr},
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {}};

}  // namespace

PyObject* device_object(bool of_meta) { return of_meta ? meta : cpu; }
bool meta_by_default() { return meta_places.back(); }
bool is_meta_device(PyObject* o) {
  if (Py_TYPE(o) == DeviceType) return get(o).kind == kMetaKind;
  int kind;
  int64_t index;
  return PyUnicode_Check(o) && parse(PyUnicode_AsUTF8(o), kind, index) && kind == kMetaKind;
}

void check_device(PyObject* o) {
  if (o == cpu || o == Py_None || is_meta_device(o)) return;
  const Object text(PyObject_Str(o));
  const std::string s = PyUnicode_AsUTF8(text.get());
  if (s == "cpu" || s == "cpu:0") return;
  fail<GraphError>("device: '", s,
                   "' is not available; this build of genesis computes on 'cpu', and 'meta' has shapes without memory: "
                   "leave the device out, or choose it with ",
                   "'cuda' if genesis.cuda.is_available() else 'cpu'");
}

bool is_device(PyObject* o) { return Py_TYPE(o) == DeviceType || (PyUnicode_Check(o) && !names_dtype(o)); }

void init_device(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(device_new)},
      {Py_tp_repr, reinterpret_cast<void*>(repr)},
      {Py_tp_str, reinterpret_cast<void*>(+[](PyObject* o) { return PyUnicode_FromString(text_of(get(o)).c_str()); })},
      {Py_tp_hash, reinterpret_cast<void*>(hash)},
      {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
      {Py_tp_getset, getset},
      {Py_tp_methods, methods},
      {Py_tp_doc, const_cast<char*>("device(type, index=None)\n--\n\nNames where tensors live. Any device can be "
                                    "named; this build computes on 'cpu'.")},
      {0, nullptr}};
  static PyType_Spec spec{"genesis.device", sizeof(PyDevice), 0, Py_TPFLAGS_DEFAULT, slots};
  DeviceType = reinterpret_cast<PyTypeObject*>(Object(PyType_FromSpec(&spec)).release());
  PyModule_AddObjectRef(module, "device", reinterpret_cast<PyObject*>(DeviceType));
  cpu = make(kCpu, -1);
  meta = make(kMetaKind, -1);
}

static const Family family([] {
  def<"_set_default_device(Device? device) -> None", [](Args& a) {
    a.device(0);
    meta_places.front() = a.has(0) && is_meta_device(a[0]);
    default_changed();
    return Tensor();
  }>(kFunction | kTool);
  def<"_default_device() -> Device", [](Args&) { return Object::borrow(device_object(meta_by_default())); }>(kFunction |
                                                                                                             kTool);
});

}  // namespace genesis::py
