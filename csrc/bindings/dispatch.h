// Dispatch of a call: overrides (__torch_function__), autocast, observers, devices, vmap.
//
// Every call of a function, method or Python operator parses its arguments and then checks one thread-local word. If
// none of these features is active, the word is zero and the operator runs immediately. Overrides by the class of an
// argument are detected while the arguments are parsed: plain tensors have none, and other types are looked up in a
// small table of types without overrides.
#pragma once

#include <cstdint>
#include <span>

#include "bindings/object.h"

namespace genesis::py {

enum DispatchBit : uint32_t {
  kUnknown = 1,          // a new thread: the bits that apply to all threads have not been read
  kObserve = 2,          // an observer is active (observe.cpp)
  kAutocastBlock = 4,    // an autocast block is open, or set_autocast_enabled() was called
  kAutocastFlag = 8,     // genesis.enable_autocast is set
  kModes = 16,           // an override mode is active (overrides.cpp)
  kMapping = 32,         // a function runs under vmap, which determines random numbers (batched.cpp)
  kMeta = 64,            // there are tensors on the meta device
  kDefaultDevice = 128,  // by default, tensors are created on another device than the CPU
};
inline thread_local constinit uint32_t dispatch_word = kUnknown;

// Clears kUnknown and returns the word.
uint32_t read_dispatch_word();
void set_dispatch_bit(DispatchBit bit, bool on);             // for this thread
void set_dispatch_bit_everywhere(DispatchBit bit, bool on);  // for all threads

inline bool anything_on() { return dispatch_word != 0; }
// Whether a bit is set; for calls that are not operators.
inline bool dispatch_bit(uint32_t bits) { return anything_on() && (read_dispatch_word() & bits); }
constexpr uint32_t kAutocast = kAutocastBlock | kAutocastFlag;

// ---- devices ----------------------------------------------------------------------------------------------------

// The devices of the tensors among the arguments, including those in lists and dicts.
struct Devices {
  bool meta = false;
  bool cpu = false;     // with at least one dimension
  bool number = false;  // 0-dimensional on the CPU: can be combined with tensors of any device
  void add(PyObject* o, int depth = 0);
};
[[noreturn]] void fail_devices(const char* op);
// Called before tensors are created on the meta device: from now on, calls check the devices of their arguments.
void note_meta_tensors();
// Whether tensors are created on the meta device by default (device.cpp).
bool meta_by_default();
// Whether an argument is on the meta device; for calls that are not operators (indexing, iteration).
inline bool any_on_meta(std::span<PyObject* const> args) {
  Devices seen;
  if (dispatch_bit(kMeta))
    for (PyObject* o : args) seen.add(o);
  return seen.meta;
}

// ---- overrides --------------------------------------------------------------------------------------------------

struct KnownType {
  PyTypeObject* type;
  unsigned version;  // of its attributes
};
inline KnownType plain_types[64];
// Checks the attributes of a type, and stores it in the table if it has no override.
bool find_override(PyTypeObject* type);
inline bool type_overrides(PyTypeObject* type) {
  if (type == TensorType) return false;
  const KnownType& known = plain_types[reinterpret_cast<uintptr_t>(type) / 32 % 64];
  if (known.type == type && known.version == type->tp_version_tag) [[likely]]
    return false;
  return find_override(type);
}
// Whether the class of an object has __torch_function__ or __genesis_function__.
inline bool overrides(PyObject* o) { return type_overrides(Py_TYPE(o)); }
// Whether overrides by the class of an argument are enabled in this thread.
bool class_overrides_on();

// A call from Python: self (may be null), positional arguments, then the values of the keywords.
struct Invocation {
  PyObject* self;
  PyObject* const* args;
  Py_ssize_t n;
  PyObject* kwnames;  // may be null
};
Object tuple_of(const Invocation& call);  // self and the positional arguments
Object dict_of(const Invocation& call);   // the keyword arguments
// Passes the call to a mode, to the classes of its arguments, or to the batching rules; returns null without an error
// if none of them applies. `function` is the callable that the user called. `name` is the operator or the attribute;
// null for a function that is written in Python, whose operators are batched individually.
PyObject* call_override(PyObject* function, const Invocation& call, const char* name);

// For slots and properties of Tensor, which have a name but no signature: f(), unless an argument overrides it. `name`
// is the attribute of Tensor, and `part` that of the property: "__get__".
PyObject* override_slot(const char* name, const char* part, std::span<PyObject* const> args);
inline bool slot_overridden(PyObject* self) { return anything_on() || overrides(self); }

// ---- vmap ---------------------------------------------------------------------------------------------------------

// The class of tensors that vmap maps over (batched.cpp); null until vmap is first used.
inline PyTypeObject* BatchedType = nullptr;
inline bool is_batched(PyObject* o) { return Py_TYPE(o) == BatchedType && BatchedType; }
// Whether an attribute depends on shape and dtype only, which a batched tensor provides itself.
bool known_without_values(const char* name);
// Raises for a batched tensor, whose values differ between the elements of the batch.
void require_values(const Tensor& t, const char* name);
// Passes the call to the batching rules.
PyObject* call_batched(PyObject* function, PyObject* args, PyObject* kwargs);

}  // namespace genesis::py
