#include "bindings/args.h"

#include <cstring>
#include <map>

#include "autograd/meta.h"
#include "bindings/autocast.h"
#include "bindings/module.h"
#include "core/exact.h"
#include "ops/create.h"

namespace genesis::py {

// Alternative names of parameters: NumPy's, those of older programs, and those of PyTorch's other overloads. A
// parameter's own name takes precedence.
static constexpr std::pair<const char*, const char*> kKeywordAliases[] = {
    {"axis", "dim"},
    {"axes", "dim"},
    {"keepdims", "keepdim"},
    {"self", "input"},
    {"x", "input"},
    {"a", "input"},
    {"tensor", "input"},
    {"b", "other"},
    {"y", "other"},
    {"shape", "size"},
    {"min_val", "min"},
    {"max_val", "max"},
    {"k", "diagonal"},
    {"split_size", "split_size_or_sections"},
    {"split_sizes", "split_size_or_sections"},
    {"sections", "indices_or_sections"},
    {"indices", "indices_or_sections"},
    {"tensor_indices_or_sections", "indices_or_sections"},
    {"element", "elements"},
    {"test_element", "test_elements"},
    {"ndarray", "array"},
    {"num", "n"},
    {"other", "src"},
    {"input", "A"},
    {"b", "exponent"},
    {"indices", "input"},
    {"state", "new_state"},
};

// A name, or a signature, without the underscore of a function that nn.functional wraps.
static const char* shown(const std::string& text) { return text.c_str() + (text[0] == '_'); }

static int find_keyword(const Signature& sig, PyObject* key) {
  const int n = static_cast<int>(sig.params.size());
  for (int i = 0; i < n; ++i)
    if (sig.param(i).key == key) return i;
  const char* text = PyUnicode_AsUTF8(key);
  if (!text) throw_python();
  const auto find = [&](const char* name) {
    for (int i = 0; i < n; ++i)
      if (sig.param(i).name == name) return i;
    return -1;
  };
  int at = find(text);
  for (const auto& [other, own] : kKeywordAliases)
    if (at < 0 && !std::strcmp(text, other)) at = find(own);
  const bool along = !std::strcmp(text, "dim") || !std::strcmp(text, "axis") || !std::strcmp(text, "axes");
  return at < 0 && along ? find("dims") : at;
}

// The scalar that PyTorch's old order puts before the tensors, x.add_(alpha, y) and x.addcmul_(value, a, b): the index
// of its parameter, or -1 if these arguments are not in that order.
static int old_order(const Signature& sig, bool method, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs + (method ? 1 : 0) != sig.positional + 1 || !is_number(args[method ? 0 : 1])) return -1;
  for (size_t p = static_cast<size_t>(sig.positional); p < sig.params.size(); ++p)
    if (sig.params[p].name == "alpha" || sig.params[p].name == "value") return static_cast<int>(p);
  return -1;
}

// Options of PyTorch's factories that have one valid value here: a dense tensor in ordinary memory.
static bool has_only_meaning(const Signature& sig, PyObject* key, PyObject* value) {
  bool factory = false;
  for (const auto& param : sig.params) factory = factory || param.name == "device";
  if (!factory) return false;
  const std::string_view name = PyUnicode_AsUTF8(key);
  if (name == "layout") {
    const Object text(PyObject_Str(value));
    const std::string_view layout = PyUnicode_AsUTF8(text.get());
    require(value == Py_None || layout.ends_with("strided"), sig.name, ": layout must be strided, got ", layout,
            "; for others use sparse_coo_tensor(), sparse_csr_tensor() or x.to_sparse()");
    return true;
  }
  if (name == "pin_memory") {
    require(value == Py_None || PyObject_IsTrue(value) != 1, sig.name,
            ": pin_memory=True needs an accelerator, and there is none; leave it out");
    return true;
  }
  return false;
}

// Takes the positional arguments from args[i] on, which exceed the positional parameters: they belong to the variadic
// parameter, or all arguments are in PyTorch's old order.
[[gnu::always_inline]] inline void Args::take_rest(PyObject* self, PyObject* const* args, Py_ssize_t nargs,
                                                   Py_ssize_t i) {
  if (sig_.variadic >= 0) {
    rest_ = args + i;
    num_rest_ = nargs - i;
    slot_[sig_.variadic] = args[i];
    return;
  }
  const int before = old_order(sig_, self, args, nargs);
  if (before < 0)
    throw_type_error(str(shown(sig_.name), "(): takes at most ", sig_.positional, " positional arguments, got ",
                         nargs + (self ? 1 : 0), "; signature: ", shown(sig_.text)));
  const Py_ssize_t first = self ? 0 : 1;
  slot_[before] = args[first];
  int at = 1;
  for (i = first + 1; i < nargs; ++i, ++at) {
    slot_[at] = args[i];
    look_for_overrides(sig_.param(at), args[i]);
  }
}

[[gnu::always_inline]] inline void Args::take_keywords(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const Py_ssize_t n = PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t k = 0; k < n; ++k) {
    PyObject* key = PyTuple_GET_ITEM(kwnames, k);
    const int p = find_keyword(sig_, key);
    if (p < 0 && has_only_meaning(sig_, key, args[nargs + k])) continue;
    if (p < 0)
      throw_type_error(str(shown(sig_.name), "(): unexpected keyword argument '", PyUnicode_AsUTF8(key),
                           "'; signature: ", shown(sig_.text)));
    const Param& param = sig_.param(p);
    if (slot_[p]) throw_type_error(str(shown(sig_.name), "(): argument '", param.name, "' given twice"));
    slot_[p] = args[nargs + k];
    look_for_overrides(param, slot_[p]);
    if (key != param.key && PyUnicode_Compare(key, param.key) != 0) aliased_ |= 1u << p;
    if (p == sig_.variadic) {
      rest_ = args + nargs + k;
      num_rest_ = 1;
    }
  }
}

// Raises if a required argument is missing, and looks for overrides in sequences of tensors.
inline void Args::check_all() {
  for (size_t p = 0; p < sig_.params.size(); ++p) {
    const Param& param = sig_.params[p];
    if (param.required && !slot_[p])
      throw_type_error(str(shown(sig_.name), "(): missing argument '", param.name, "'; signature: ", shown(sig_.text)));
    if (!param.tensors || !slot_[p]) continue;
    if (PyList_Check(slot_[p]) || PyTuple_Check(slot_[p]))
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(slot_[p]); ++k)
        look_for_overrides(param, PySequence_Fast_GET_ITEM(slot_[p], k));
    if (param.variadic)
      for (PyObject* o : rest()) look_for_overrides(param, o);
  }
}

Args::Args(const Operator& op, PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames)
    : op_(op), sig_(op.sig) {
  const Signature& sig = op.sig;
  int at = 0;
  if (self) {
    slot_[at++] = self;
    overridden_ = type_overrides(Py_TYPE(self));
  }
  const int fixed = sig.variadic >= 0 ? sig.variadic : sig.positional;
  Py_ssize_t i = 0;
  for (; i < nargs && at < fixed; ++i, ++at) {
    slot_[at] = args[i];
    look_for_overrides(sig.param(at), args[i]);
  }
  if (i < nargs) take_rest(self, args, nargs, i);
  if (kwnames) take_keywords(args, nargs, kwnames);
  if (at < sig.checked) [[unlikely]]
    check_all();
}

void Args::autocast() { autocast_arguments(op_, slot_, converted_); }

// How to fix an argument of the wrong type; empty if there is no likely fix.
static std::string way_out(PyObject* o, std::string_view expected) {
  const bool ints = expected.find("int") != std::string_view::npos;
  if (!o) return "";
  if (expected.find("list of tensors") != std::string_view::npos && is_tensor(o))
    return "; put the tensors in a list: [x, y]";
  if (expected.starts_with("a Tensor") && PyList_Check(o)) return "; make one with genesis.tensor(...)";
  if (expected.starts_with("a Tensor") && PyTuple_Check(o))
    return "; take one of its elements (recurrent layers return output and state), or make a tensor with "
           "genesis.tensor(...)";
  if (ints && is_tensor(o)) return str(" of shape ", unwrap(o).shape(), "; several tensors go into a list: [x, y]");
  if (ints && PyFloat_Check(o)) return "; use int(...), or // instead of /";
  return "";
}

void Args::fail(int i, const char* expected) const {
  PyObject* o = slot_[i];
  std::string got = o ? Py_TYPE(o)->tp_name : "nothing";
  if (o && std::string_view(expected).find("int") != std::string_view::npos && (PyTuple_Check(o) || PyList_Check(o)))
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k)
      if (PyObject* item = PySequence_Fast_GET_ITEM(o, k); !PyIndex_Check(item)) {
        const Object text(PyObject_Repr(item));
        got = str("the ", Py_TYPE(item)->tp_name, " ", PyUnicode_AsUTF8(text.get()), " in it");
        o = item;
        break;
      }
  throw_type_error(str(shown(sig_.name), "(): argument '", sig_.param(i).name, "' must be ", expected, ", got ", got,
                       way_out(o, expected)));
}

const Tensor& Args::other_tensor(int i) {
  PyObject* o = slot_[i];
  if (o && is_tensor(o)) return unwrap(o);
  if (o && is_ndarray(o)) {
    const Tensor& t = converted(o);
    if (t.dtype() != DType::Float64) return t;
    // An array in NumPy's default precision next to our tensors, as in layer(array): use the dtype of the tensors.
    for (PyObject* other : slot_)
      if (other && is_tensor(other) && is_floating(unwrap(other).dtype()) && unwrap(other).dtype() != DType::Float64) {
        converted_.back() = ops::cast(t, unwrap(other).dtype());
        break;
      }
    return converted_.back();
  }
  fail(i, "a Tensor");
}

void Args::check_dtype(int i, DType dtype) const {
  if (is_common(dtype) || op_.traits.takes == Takes::Any) return;
  if (is_complex(dtype)) {
    if (op_.traits.takes == Takes::Complex) return;
    genesis::fail<DTypeError>(shown(sig_.name), ": not defined for complex numbers, and '", sig_.param(i).name, "' is ",
                              dtype, "; apply it to x.real or x.imag");
  }
  genesis::fail<DTypeError>(shown(sig_.name), ": '", sig_.param(i).name, "' is ", dtype,
                            ", which is a format for storing numbers only; convert it first, e.g. with ",
                            is_floating(dtype) ? "float()" : "long()");
}

const Tensor& Args::converted(PyObject* array) {
  if (on_meta) fail_devices(shown(sig_.name));
  converted_.reserve(kMaxArgs);  // references to its elements must stay valid
  converted_.push_back(from_ndarray(array));
  return converted_.back();
}

bool Args::on_meta_device() const {
  const uint32_t word = read_dispatch_word();
  if (!meta_given_ && !(word & (kMeta | kDefaultDevice))) return false;
  Devices seen;
  for (int i = 0; i < static_cast<int>(sig_.params.size()); ++i)
    if (slot_[i]) seen.add(slot_[i]);
  for (Py_ssize_t i = 0; i < num_rest_; ++i) seen.add(rest_[i]);
  bool meta = seen.meta;
  if (sig_.device >= 0 && has(sig_.device)) {
    meta = is_meta_device(slot_[sig_.device]);
  } else if (meta) {
    const Kind kind = op_.traits.kind;
    const bool moves = op_.tool() || kind == Kind::View || kind == Kind::Create || sig_.name == "copy_" ||
                       sig_.name == "to" || sig_.name == "type_as";
    const bool indexed = kind == Kind::Index && is_tensor(slot_[0]) && unwrap(slot_[0]).meta();
    if (seen.cpu && !moves && !indexed) fail_devices(shown(sig_.name));
  } else if (!seen.cpu && !seen.number && sig_.device >= 0) {
    meta = meta_by_default();
  }
  meta = meta || meta_given_;  // to("meta")
  if (meta) note_meta_tensors();
  return meta;
}

Tensor Args::optional_tensor(int i) { return has(i) ? tensor(i) : Tensor(); }

bool is_huge(PyObject* o) {
  int overflow = 0;
  if (PyLong_Check(o)) PyLong_AsLongLongAndOverflow(o, &overflow);
  return overflow != 0;
}

static Scalar huge_as_float(PyObject* o) {
  const double value = PyLong_AsDouble(o);
  if (value == -1 && PyErr_Occurred()) throw_python();
  return Scalar(value);
}

static bool is_comparison(const Operator& op) {
  return op.traits.page && std::string_view(op.traits.page) == "comparison";
}

Operand Args::other_operand(int i) {
  PyObject* o = slot_[i];
  if (o && is_huge(o)) {
    PyObject* other = slot_[i == 0 ? 1 : 0];
    const bool floating = other && is_tensor(other) && is_differentiable(unwrap(other).dtype());
    if (floating || (std::string_view(sig_.name).starts_with("div") && !has(2))) return huge_as_float(o);
    // Every integer of a tensor is on the same side of an int beyond int64.
    if (is_comparison(op_)) {
      const double infinity = std::numeric_limits<double>::infinity();
      return Scalar(huge_as_float(o).f > 0 ? infinity : -infinity);
    }
  }
  if (o && !is_tensor(o) && is_number(o)) return to_scalar(o);
  if (o && (is_tensor(o) || is_ndarray(o))) {
    const Tensor& t = is_tensor(o) ? unwrap(o) : converted(o);
    check_dtype(i, t.dtype());
    return t;
  }
  fail(i, "a Tensor or a number");
}

std::vector<Tensor> Args::tensors(int i) {
  PyObject* o = slot_[i];
  if (i == sig_.variadic && num_rest_ > 0 && (num_rest_ > 1 || is_tensor(o))) {
    std::vector<Tensor> list;
    for (Py_ssize_t k = 0; k < num_rest_; ++k) {
      if (!is_tensor(rest_[k])) fail(i, "tensors");
      list.push_back(unwrap(rest_[k]));
      check_dtype(i, list.back().dtype());
    }
    if (dispatch_bit(kAutocast)) [[unlikely]]
      autocast_list(op_, list);
    return list;
  }
  if (!o || is_tensor(o) || !PySequence_Check(o)) fail(i, "a tuple or list of tensors");
  const Object sequence(PySequence_Fast(o, "a sequence of tensors"));
  std::vector<Tensor> list;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(sequence.get());
  for (Py_ssize_t k = 0; k < n; ++k) {
    PyObject* item = PySequence_Fast_GET_ITEM(sequence.get(), k);
    if (!is_tensor(item))
      throw_type_error(str(shown(sig_.name), "(): element ", k, " of '", sig_.param(i).name, "' must be a Tensor, got ",
                           Py_TYPE(item)->tp_name));
    list.push_back(unwrap(item));
    check_dtype(i, list.back().dtype());
  }
  if (dispatch_bit(kAutocast)) [[unlikely]]
    autocast_list(op_, list);
  return list;
}

Scalar Args::given_scalar(int i) const {
  PyObject* o = slot_[i];
  if (!has(i) && sig_.param(i).numeric) return sig_.param(i).value;
  if (o && is_huge(o) && slot_[0] && is_tensor(slot_[0]) && is_differentiable(unwrap(slot_[0]).dtype()))
    return huge_as_float(o);
  if (o && (is_number(o) || (is_tensor(o) && unwrap(o).numel() == 1))) return to_scalar(o);
  fail(i, "a number");
}

int64_t Args::integer(int i) const {
  PyObject* o = slot_[i];
  if (o && PyLong_CheckExact(o)) [[likely]]
    return to_index(o, shown(sig_.name));
  if (!has(i) && sig_.param(i).numeric) return sig_.param(i).value.to_int();
  if (!o || PyFloat_Check(o) || !PyIndex_Check(o)) fail(i, "an int");
  if (is_tensor(o) && (unwrap(o).numel() != 1 || is_floating(unwrap(o).dtype()))) fail(i, "an int");
  return to_index(o, shown(sig_.name));
}
std::optional<int64_t> Args::optional_integer(int i) const {
  return has(i) ? std::optional<int64_t>(integer(i)) : std::nullopt;
}

bool Args::given_boolean(int i) const {
  if (!has(i)) {
    if (!sig_.param(i).numeric) fail(i, "a bool");
    return sig_.param(i).value.to_bool();
  }
  const int truth = PyObject_IsTrue(slot_[i]);
  if (truth < 0) throw_python();
  return truth != 0;
}

std::string_view Args::text(int i) const {
  if (!has(i)) {
    const std::string_view fallback = sig_.param(i).fallback;
    if (fallback.starts_with('\'')) return fallback.substr(1, fallback.size() - 2);
  }
  if (!slot_[i] || !PyUnicode_Check(slot_[i])) fail(i, "a str");
  Py_ssize_t size;
  const char* utf8 = PyUnicode_AsUTF8AndSize(slot_[i], &size);
  if (!utf8) throw_python();
  return {utf8, static_cast<size_t>(size)};
}

static void append_ints(Dims& dims, PyObject* o, const Args& args, int i) {
  if (PyLong_Check(o) || (PyIndex_Check(o) && !PySequence_Check(o)) || is_tensor(o)) {
    dims.push_back(to_index(o, args.name()));
    return;
  }
  if (!PyTuple_Check(o) && !PyList_Check(o)) {
    if (PyFloat_Check(o) || PyUnicode_Check(o) || !PySequence_Check(o)) args.fail(i, "an int or a tuple of ints");
  }
  const Object sequence(PySequence_Fast(o, "a sequence of ints"));
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(sequence.get());
  for (Py_ssize_t k = 0; k < n; ++k) {
    PyObject* item = PySequence_Fast_GET_ITEM(sequence.get(), k);
    if (!PyIndex_Check(item)) args.fail(i, "an int or a tuple of ints");
    dims.push_back(to_index(item, args.name()));
  }
}

Dims Args::dims(int i) const {
  Dims dims;
  if (i == sig_.variadic) {
    if (num_rest_ == 1) append_ints(dims, rest_[0], *this, i);
    else
      for (Py_ssize_t k = 0; k < num_rest_; ++k) {
        if (!PyIndex_Check(rest_[k]) || PyFloat_Check(rest_[k]))
          throw_type_error(str(shown(sig_.name), "(): argument '", sig_.params[static_cast<size_t>(i)].name,
                               "' must be ints, got ", Py_TYPE(rest_[k])->tp_name, way_out(rest_[k], "ints")));
        dims.push_back(to_index(rest_[k], name()));
      }
    return dims;
  }
  const Param& param = sig_.param(i);
  if (!has(i) && (param.numeric || param.fallback.starts_with('('))) return default_dims(param);
  if (!slot_[i]) fail(i, "an int or a tuple of ints");
  append_ints(dims, slot_[i], *this, i);
  return dims;
}

DType Args::dtype(int i) const { return to_dtype(slot_[i]); }
std::optional<DType> Args::optional_dtype(int i) const {
  return has(i) ? std::optional<DType>(to_dtype(slot_[i])) : std::nullopt;
}
void Args::device(int i) const {
  if (has(i)) check_device(slot_[i]);
}
PyObject* to_python(const Dims& shape) {
  Object tuple(PyTuple_New(shape.size()));
  for (int i = 0; i < shape.size(); ++i) PyTuple_SET_ITEM(tuple.get(), i, PyLong_FromLongLong(shape[i]));
  return tuple.release();
}
PyObject* to_python(const std::vector<Tensor>& list) {
  Object tuple(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), to_python(list[i]));
  return tuple.release();
}

PyTypeObject* return_type(const char* name, std::initializer_list<const char*> fields) {
  static std::map<std::string, PyTypeObject*> made;
  PyTypeObject*& type = made[name];
  if (type) return type;
  // The type keeps pointers to these for the life of the process.
  auto* list = new std::vector<PyStructSequence_Field>;
  for (const char* field : fields) list->push_back({field, nullptr});
  list->push_back({nullptr, nullptr});
  auto* full = new std::string(std::string("genesis.return_types.") + name);
  auto* desc = new PyStructSequence_Desc{full->c_str(), nullptr, list->data(), static_cast<int>(fields.size())};
  type = PyStructSequence_NewType(desc);
  if (!type) throw_python();
  type->tp_repr = [](PyObject* self) -> PyObject* {
    return guarded([&]() -> PyObject* {
      const Object match(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(self)), "__match_args__"));
      std::string text = str(package_name(), std::strchr(Py_TYPE(self)->tp_name, '.'));
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
        const Object value(PyObject_Repr(PyTuple_GET_ITEM(self, i)));
        text += str(i == 0 ? "(\n" : ",\n", PyUnicode_AsUTF8(PyTuple_GET_ITEM(match.get(), i)), "=",
                    PyUnicode_AsUTF8(value.get()));
      }
      return PyUnicode_FromString((text + ")").c_str());
    });
  };
  return type;
}
PyObject* named(PyTypeObject* type, std::initializer_list<Tensor> values) {
  Object tuple(PyStructSequence_New(type));
  Py_ssize_t i = 0;
  for (const Tensor& t : values) PyStructSequence_SetItem(tuple.get(), i++, wrap(t));
  return tuple.release();
}

bool is_number(PyObject* o) {
  if (PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o)) return true;
  return is_numpy_scalar(o);
}

Scalar to_scalar(PyObject* o) {
  if (PyFloat_Check(o)) return PyFloat_AS_DOUBLE(o);
  if (PyBool_Check(o)) return o == Py_True;
  if (PyLong_Check(o)) {
    int overflow;
    const long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
    require<RangeError>(overflow == 0, "a Python int does not fit into int64; use a float");
    return static_cast<int64_t>(value);
  }
  if (PyComplex_Check(o)) return std::complex<double>(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
  if (is_tensor(o)) return tensor_item(unwrap(o));
  const Object plain(PyObject_CallMethod(o, "item", nullptr));  // a NumPy scalar
  return to_scalar(plain.get());
}

int64_t to_index(PyObject* o, const char* what) {
  const Py_ssize_t i = PyNumber_AsSsize_t(o, PyExc_OverflowError);
  if (i != -1 || !PyErr_Occurred()) return i;
  if (!PyErr_ExceptionMatches(PyExc_OverflowError)) throw_python();
  PyErr_Clear();
  fail<RangeError>(what, ": an int argument does not fit into int64; use a smaller number");
}

// ---- publishing --------------------------------------------------------------------------------------------------

static std::vector<Operator*>& published() {
  static std::vector<Operator*> list;
  return list;
}
const std::vector<Operator*>& operators() { return published(); }

// Otherwise the definition in use would depend on the link order.
static void require_free(PyObject* dict, const char* owner, const Operator& op) {
  const Object name(PyUnicode_InternFromString(op.sig.name.c_str()));
  if (PyDict_Contains(dict, name.get()))
    fail(owner, op.sig.name, " is bound twice; the second signature is ", op.sig.typed);
}

Operator* publish(std::string_view typed, Call* entry, PyObject* (*body)(Args&), int where, const char* doc,
                  Traits traits) {
  const Traits& family = family_traits();
  if (traits.kind == Kind::Unset) traits.kind = where & kTool ? Kind::Tool : family.kind;
  if (traits.autocast == Cast::ByFamily) traits.autocast = family.autocast;
  if (traits.flops == Flops::ByKind)
    traits.flops = family.flops == Flops::ByKind ? flops_of(traits.kind) : family.flops;
  if (traits.batch == Batch::ByKind)
    traits.batch = family.batch == Batch::ByKind ? batch_of(traits.kind) : family.batch;
  if (traits.takes == Takes::ByKind) traits.takes = family.takes;
  if (traits.takes == Takes::ByKind) traits.takes = takes_of(traits.kind);
  if (!traits.page) traits.page = family.page;
  if (typed.ends_with("-> Self") || traits.autocast == Cast::ByFamily) traits.autocast = Cast::AsIs;
  auto* op = new Operator{Signature(typed), entry, body, where, doc, traits, false};
  if (static_cast<int>(op->sig.params.size()) > kMaxArgs) fail("too many parameters: ", typed);
  // Tools with an underscore are private to the package.
  op->overridable = !(op->tool() && op->sig.name[0] == '_');
  op->text = op->sig.text + "\n--\n\n" + (doc ? doc : "");
  const auto function = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry));
  op->definition = {op->sig.name.c_str(), function, METH_FASTCALL | METH_KEYWORDS, op->text.c_str()};
  if (where & kFunction) require_free(PyModule_GetDict(current_module()), "genesis._C.", *op);
  if (where & kMethod) require_free(TensorType->tp_dict, "genesis.Tensor.", *op);
  published().push_back(op);
  if (where & kFunction) {
    op->function = Object(PyCFunction_NewEx(&op->definition, nullptr, module_name())).release();
    if (PyModule_AddObjectRef(current_module(), op->sig.name.c_str(), op->function) < 0) throw_python();
  }
  if (where & kMethod) {
    op->method = Object(PyDescr_NewMethod(TensorType, &op->definition)).release();
    if (PyDict_SetItemString(TensorType->tp_dict, op->sig.name.c_str(), op->method) < 0) throw_python();
  }
  return op;
}

const Operator& operator_named(const char* name) {
  for (const Operator* op : published())
    if (op->method && op->sig.name == name) return *op;
  fail("there is no operator ", name);
}

}  // namespace genesis::py
