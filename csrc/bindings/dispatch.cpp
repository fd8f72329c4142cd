#include "bindings/dispatch.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "bindings/args.h"
#include "bindings/autocast.h"
#include "bindings/observed.h"

namespace genesis::py {

namespace {

// The words of all threads that have called an operator. Threads end without the GIL, hence the mutex.
struct Words {
  std::mutex mutex;
  std::vector<uint32_t*> list;
  uint32_t everywhere = 0;
};
Words* make_words();
Words& words() {
  static Words* const w = make_words();  // never destroyed: threads may end after static destructors have run
  return *w;
}
Words* make_words() {
  // A fork waits until no ending thread holds the mutex. The words of other threads do not exist in the child: the
  // memory of their stacks is reused or freed there.
  pthread_atfork([] { words().mutex.lock(); }, [] { words().mutex.unlock(); },
                 [] {
                   std::erase_if(words().list, [](const uint32_t* word) { return word != &dispatch_word; });
                   words().mutex.unlock();
                 });
  return new Words;
}

struct Registration {
  Registration() {
    const std::lock_guard lock(words().mutex);
    words().list.push_back(&dispatch_word);
    dispatch_word = (dispatch_word & ~uint32_t{kUnknown}) | words().everywhere;
  }
  ~Registration() {
    const std::lock_guard lock(words().mutex);
    std::erase(words().list, &dispatch_word);
    dispatch_word = kUnknown;
  }
};

void set_bit(uint32_t& word, DispatchBit bit, bool on) { word = on ? word | bit : word & ~uint32_t{bit}; }

}  // namespace

uint32_t read_dispatch_word() {
  if (dispatch_word & kUnknown) {
    thread_local const Registration registration;
    (void)registration;
  }
  return dispatch_word;
}

void set_dispatch_bit(DispatchBit bit, bool on) {
  read_dispatch_word();
  set_bit(dispatch_word, bit, on || (words().everywhere & bit));
}

void set_dispatch_bit_everywhere(DispatchBit bit, bool on) {
  read_dispatch_word();
  const std::lock_guard lock(words().mutex);
  set_bit(words().everywhere, bit, on);
  for (uint32_t* word : words().list) set_bit(*word, bit, on);
}

void Devices::add(PyObject* o, int depth) {
  if (is_tensor(o)) {
    const Tensor& t = unwrap(o);
    (t.meta() ? meta : t.dim() > 0 ? cpu : number) = true;
    return;
  }
  if (depth == 3) return;
  if (PyDict_Check(o)) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(o, &at, &key, &value)) add(value, depth + 1);
  } else if (PyTuple_Check(o) || PyList_Check(o)) {
    // A list that starts with a number contains numbers only.
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(o, i);
      if (PyLong_Check(item) || PyFloat_Check(item)) return;
      add(item, depth + 1);
    }
  }
}

void fail_devices(const char* op) {
  fail<GraphError>(op,
                   ": expected all tensors to be on the same device, but found at least two devices, cpu and meta; ",
                   "move them to one of them, e.g. with x.to('meta')");
}

void note_meta_tensors() {
  if (!(read_dispatch_word() & kMeta)) set_dispatch_bit_everywhere(kMeta, true);
}

PyObject* dispatch(const Operator& op, Args& a, const Invocation& call, PyObject* function) {
  uint32_t word = read_dispatch_word();
  if ((word & kMeta) && Storage::num_without_memory() == 0) {
    set_dispatch_bit_everywhere(kMeta, false);
    word = dispatch_word;
  }
  if (op.overridable && ((word & kModes) || a.overridden())) {
    if (!function) function = call.self || !op.function ? op.method : op.function;
    if (PyObject* result = call_override(function, call, op.sig.name.c_str())) return result;
  }
  if ((word & kMapping) && op.traits.kind == Kind::Random && op.overridable) {
    if (!function) function = call.self || !op.function ? op.method : op.function;
    const Object args = tuple_of(call), kwargs = dict_of(call);
    PyObject* result = call_batched(function, args.get(), kwargs.get());
    if (!result) throw_python();
    return result;
  }
  const OnDevice device(a.on_meta_device());
  if (word & kAutocast) a.autocast();
  if (!(word & kObserve) || op.tool()) return op.body(a);
  PyObject* all[kMaxArgs + 1];
  size_t count = 0;
  if (call.self) all[count++] = call.self;
  const Py_ssize_t given = call.n + (call.kwnames ? PyTuple_GET_SIZE(call.kwnames) : 0);
  for (Py_ssize_t i = 0; i < given && count < std::size(all); ++i) all[count++] = call.args[i];
  return observed_as(op.sig.name.c_str(), std::span<PyObject* const>(all, count),
                     [&] { return guarded([&] { return op.body(a); }); });
}

}  // namespace genesis::py
