// The observer (autograd/observe.h): one object for the profiler, the checks for NaN and Inf, and anomaly mode.
//
// Forward operations are reported by the one place that dispatches calls (dispatch.cpp), backward nodes by the engine.
// Problems are reported in Python (genesis/autograd/_anomaly.py), which computes the statistics and raises; meanwhile,
// this thread is not observed.
#include "autograd/observe.h"

#include <Python.h>
#include <frameobject.h>  // PyFrame_GetBack of Python 3.10

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "autograd/meta.h"
#include "bindings/module.h"
#include "bindings/node.h"
#include "bindings/observed.h"
#include "bindings/recording.h"
#include "ops/reduce.h"

namespace genesis::py {

namespace {

// ---- active observers -----------------------------------------------------------------------------------------------

struct Finite {  // per thread
  bool nan = false, inf = false, forward = false, backward = false;
  bool on() const { return nan || inf; }
};
struct Region {
  uint64_t recording;  // whose event, or 0
  size_t event;
  PyObject* scope;  // the path of a module, owned; null for a plain region
};

thread_local constinit Finite finite;
thread_local constinit bool busy = false;
thread_local std::vector<Region> regions;

auto& recording = *new std::unique_ptr<Recording>;  // never destroyed: at exit the interpreter no longer exists
bool anomaly = false, anomaly_nan = false;
int num_checking = 0;  // number of threads that check
int num_tracing = 0;   // other users of the origins of nodes

struct Write {
  uint32_t version;
  Object origin;
};
// Where memory was last written, while nodes are traced. Never destroyed.
auto& writes = *new std::unordered_map<const Storage*, Write>;

PyObject* scope() {
  for (auto r = regions.rbegin(); r != regions.rend(); ++r)
    if (r->scope) return r->scope;
  return nullptr;
}

bool tracing() { return anomaly || num_tracing > 0 || finite.on(); }

// ---- Python frames --------------------------------------------------------------------------------------------------

bool inside_package(PyCodeObject* code) {
  // An editable installation has the native module and the Python files in different directories.
  static const std::vector<std::string> folders = [] {
    const Object package(PyImport_ImportModule("genesis"));
    const Object paths(PySequence_List(Object(PyObject_GetAttrString(package.get(), "__path__")).get()));
    std::vector<std::string> list;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(paths.get()); ++i)
      list.push_back(std::string(PyUnicode_AsUTF8(PyList_GET_ITEM(paths.get(), i))) + "/");
    return list;
  }();
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (!file) {
    PyErr_Clear();
    return false;
  }
  return std::any_of(folders.begin(), folders.end(),
                     [&](const std::string& folder) { return !std::strncmp(file, folder.c_str(), folder.size()); });
}

// Calls f(code, line) for each Python frame, innermost first, until it returns false.
template <class F>
void walk_frames(F&& f) {
  Object frame = Object::maybe(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  while (frame) {
    auto* raw = reinterpret_cast<PyFrameObject*>(frame.get());
    const Object code(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
    if (!f(reinterpret_cast<PyCodeObject*>(code.get()), PyFrame_GetLineNumber(raw))) return;
    frame = Object::maybe(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
}

// (path of the module or None, ((code, line), ...)), innermost frame first.
Object origin() {
  static constexpr Py_ssize_t kDeepest = 64;
  const Object frames(PyList_New(0));
  walk_frames([&](PyCodeObject* code, int line) {
    const Object frame(Py_BuildValue("(Oi)", code, line));
    return PyList_Append(frames.get(), frame.get()) == 0 && PyList_GET_SIZE(frames.get()) < kDeepest;
  });
  const Object tuple(PyList_AsTuple(frames.get()));
  PyObject* module = scope();
  return Object(PyTuple_Pack(2, module ? module : Py_None, tuple.get()));
}

PyObject* origin_key() {
  static PyObject* key = PyUnicode_InternFromString("origin");
  return key;
}
PyObject* origin_of(const Node& node) {  // borrowed, null if unknown
  NodeExtras* extras = node.extras_if_any();
  if (!extras || !extras->metadata) return nullptr;
  return PyDict_GetItem(static_cast<PyObject*>(extras->metadata), origin_key());
}

void note(Node* node, PyObject* where) {
  const Object metadata(node_metadata(node));
  if (PyDict_SetItem(metadata.get(), origin_key(), where) < 0) throw_python();
}

// Graphs are freed: the newest live node may be far older than the newest node created.
uint64_t next_sequence() {
  static uint64_t last = 0;
  if (const Node* newest = Node::newest()) last = std::max(last, newest->sequence);
  return last + 1;
}

// A node stores only the shape of its first output; the others are stored in its metadata.
void note_shapes(PyObject* tuple, uint64_t first) {
  static PyObject* const key = PyUnicode_InternFromString("shapes");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    if (!is_tensor(PyTuple_GET_ITEM(tuple, i))) continue;
    const Tensor& t = unwrap(PyTuple_GET_ITEM(tuple, i));
    Node* node = genesis::node_of(t);
    if (!node || node->sequence < first || t->output_index == 0) continue;
    const Object metadata(node_metadata(node)), index(PyLong_FromLong(static_cast<long>(t->output_index)));
    const Object shape(to_python(t.shape()));
    PyObject* shapes = PyDict_GetItem(metadata.get(), key);
    const Object fresh = shapes ? Object::borrow(shapes) : Object(PyDict_New());
    if (PyDict_SetItem(fresh.get(), index.get(), shape.get()) < 0) throw_python();
    if (!shapes && PyDict_SetItem(metadata.get(), key, fresh.get()) < 0) throw_python();
  }
}

struct Version {
  Object tensor;
  const Storage* storage;  // only compared: it may have been freed
  uint32_t version;
};
using Versions = std::vector<Version>;

// For all tensors among the arguments, including those in lists.
Versions versions_of(std::span<PyObject* const> args) {
  Versions all;
  const auto add = [&](PyObject* o) {
    if (o && is_tensor(o)) all.push_back({Object::borrow(o), unwrap(o)->storage, unwrap(o)->storage->version});
  };
  for (PyObject* o : args) {
    if (o && (PyTuple_Check(o) || PyList_Check(o)))
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) add(PySequence_Fast_GET_ITEM(o, i));
    else add(o);
  }
  return all;
}

// Stores the current origin for each node recorded since `first`, and for memory written meanwhile.
void trace(uint64_t first, const Versions& before, PyObject* result) {
  Object here;
  for (Node* node = Node::newest(); node && node->sequence >= first; node = node->next()) {
    if (node->thread != this_thread() || node->is_leaf() || origin_of(*node)) continue;
    if (!here) here = origin();
    note(node, here.get());
  }
  if (PyTuple_Check(result)) note_shapes(result, first);
  for (const Version& b : before) {
    const Storage* storage = unwrap(b.tensor.get())->storage;
    if (storage == b.storage && storage->version == b.version) continue;
    if (writes.size() > 100000) writes.clear();  // most entries are for freed memory
    if (!here) here = origin();
    writes.insert_or_assign(storage, Write{storage->version, here});
  }
}

// ---- errors ---------------------------------------------------------------------------------------------------------

class Busy {
 public:
  Busy() { busy = true; }
  ~Busy() { busy = false; }
};

// Calls a function of genesis.autograd._anomaly.
template <class... A>
Object tell(const char* function, const char* format, A... args) {
  const Busy quiet;
  const WithGradMode off(false);
  const Object module(PyImport_ImportModule("genesis.autograd._anomaly"));
  const Object callable(PyObject_GetAttrString(module.get(), function));
  const Object arguments(Py_BuildValue(format, args...));
  return Object(in_python([&] { return PyObject_Call(callable.get(), arguments.get(), nullptr); }));
}

bool wrong(const Tensor& t, bool nan, bool inf) {
  if (!t.defined() || !is_differentiable(t.dtype()) || t.numel() == 0) return false;
  const WithGradMode off(false);
  // Any value that is not finite makes the sum so; the converse does not hold.
  const std::complex<double> sum = tensor_item(ops::sum(t, {}, false)).to_complex();
  if (std::isfinite(sum.real()) && std::isfinite(sum.imag())) return false;
  return (nan && ops::has_nan(t)) || (inf && ops::has_inf(t));
}
bool wrong(PyObject* o, bool nan, bool inf) {
  if (is_tensor(o)) return wrong(unwrap(o), nan, inf);
  if (!PyTuple_Check(o) && !PyList_Check(o)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(o, i);
    if (is_tensor(item) && wrong(unwrap(item), nan, inf)) return true;
  }
  return false;
}

bool uninitialised(const char* name) { return std::strstr(name, "empty") || std::strstr(name, "resize_"); }

Object list_of(const Grads& grads) {
  Object list(PyList_New(0));
  for (const Tensor& g : grads) {
    const Object item(to_python(g));
    if (PyList_Append(list.get(), item.get()) < 0) throw_python();
  }
  return list;
}

// ---- backward -------------------------------------------------------------------------------------------------------

struct Open {
  uint64_t recording;
  size_t event;
};
thread_local std::vector<Open> open_events;  // of passes and nodes

void open_event(Event::Kind kind, const char* name, uint64_t sequence, PyObject* around) {
  if (!recording || busy) {
    open_events.push_back({0, 0});
    return;
  }
  const size_t number = recording->open(kind, name, around);
  if (kind == Event::kBackward) recording->event(number).first = recording->event(number).last = sequence;
  open_events.push_back({recording->id, number});
}
void close_event() noexcept {
  if (open_events.empty()) return;
  const Open open = open_events.back();
  open_events.pop_back();
  if (recording && recording->id == open.recording) recording->close(open.event);
}

class Watch final : public Observer {
 public:
  void begin_pass(const char* caller) override { open_event(Event::kPass, caller, 0, scope()); }
  void end_pass() noexcept override { close_event(); }
  void begin_node(const Node& node) override {
    PyObject* o = origin_of(node);
    PyObject* around = o && PyTuple_GET_ITEM(o, 0) != Py_None ? PyTuple_GET_ITEM(o, 0) : scope();
    open_event(Event::kBackward, recording ? recording->keep(node.name()) : node.op, node.sequence, around);
  }
  void end_node() noexcept override { close_event(); }
  Grads apply(Node& node, Grads&& dy) override;
};

// Appended to the message of an error in a rule: where the forward operation ran, and what wrote to the saved tensors.
std::string explain(const Node& node) {
  PyObject* o = origin_of(node);
  if (!o) return str("\nWhere '", node.op, "' ran is not known: anomaly mode was off when it was recorded.");
  PyObject *writer = Py_None, *recorded = o;
  for (const SavedTensor& s : node.saved()) {
    if (!s.tensor.defined() || s.tensor->storage->version == s.version) continue;
    const auto w = writes.find(s.tensor->storage);
    if (w != writes.end() && w->second.version == s.tensor->storage->version) writer = w->second.origin.get();
    break;
  }
  const Object text = tell("explain", "(sOO)", node.op, recorded, writer);
  return PyUnicode_AsUTF8(text.get());
}

Grads Watch::apply(Node& node, Grads&& dy) {
  if (busy) return node.apply(std::move(dy));
  const bool nan = (anomaly && anomaly_nan) || (finite.backward && finite.nan), inf = finite.backward && finite.inf;
  if (recording && recording->with_shapes() && !open_events.empty() && open_events.back().recording == recording->id)
    recording->event(open_events.back().event).inputs = recording->shapes(dy);
  const uint64_t first = next_sequence();
  const Grads seen = nan || inf ? dy : Grads{};
  Grads dx;
  try {
    dx = node.apply(std::move(dy));
  } catch (const GraphError& e) {
    if (!tracing()) throw;
    throw GraphError(e.what() + explain(node));
  } catch (const PythonError&) {  // the same error, raised in the backward of a Function
    if (!tracing() || !PyErr_ExceptionMatches(PyExc_RuntimeError)) throw;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    const Object text = Object::maybe(PyObject_Str(value));
    const char* said = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    const std::string message = said && !std::strncmp(said, "backward: ", 10) ? said : "";
    if (message.empty()) {
      PyErr_Restore(type, value, traceback);
      throw;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    throw GraphError(message + explain(node));
  }
  if (recording && recording->with_shapes() && !open_events.empty() && open_events.back().recording == recording->id)
    recording->event(open_events.back().event).outputs = recording->shapes(dx);
  if (tracing()) {  // nodes of a second derivative get the origin of their forward operation
    if (PyObject* o = origin_of(node))
      for (Node* made = Node::newest(); made && made->sequence >= first; made = made->next())
        if (made->thread == this_thread() && !made->is_leaf() && !origin_of(*made)) note(made, o);
  }
  for (int i = 0; (nan || inf) && i < dx.size(); ++i) {
    if (static_cast<size_t>(i) < node.edges().size() && !node.edges()[static_cast<size_t>(i)].node) continue;
    if (!wrong(dx[i], nan, inf)) continue;
    const Object in = list_of(seen), out = list_of(dx), object(node_object(&node));
    PyObject* o = origin_of(node);
    tell("stop_backward", "(OOOiO)", object.get(), in.get(), out.get(), i, o ? o : Py_None);
  }
  return dx;
}

Watch watch;

void changed() {
  const bool traced = anomaly || num_checking > 0 || num_tracing > 0;
  if (!traced) writes.clear();
  observer = recording || traced ? &watch : nullptr;
  set_dispatch_bit_everywhere(kObserve, observer != nullptr);
}

// ---- forward --------------------------------------------------------------------------------------------------------

template <class F>
PyObject* observe_call(const char* name, std::span<PyObject* const> args, F&& run) noexcept {
  return guarded([&]() -> PyObject* {
    const bool traced = tracing();
    const Versions before = traced ? versions_of(args) : Versions{};
    const uint64_t first = next_sequence();
    uint64_t id = 0;
    size_t number = 0;
    if (recording) {
      id = recording->id;
      const size_t inputs = recording->with_shapes() ? recording->shapes(args) : 0;
      number = recording->open(Event::kForward, name, scope());
      recording->event(number).inputs = inputs;
    }
    Object result = Object::maybe(run());
    if (recording && recording->id == id) {
      recording->close(number);
      Event& e = recording->event(number);
      e.first = first;
      e.last = next_sequence() - 1;
      // Names with an underscore are private to the package: operations, or other functions.
      e.dropped = name[0] == '_' && result && !is_tensor(result.get()) && !PyTuple_Check(result.get());
      if (result && recording->with_shapes()) {
        PyObject* made = result.get();
        e.outputs = recording->shapes({&made, 1});
      }
      if (recording->with_stack()) {
        walk_frames([&](PyCodeObject* code, int line) {
          if (inside_package(code)) return true;
          Py_INCREF(code);
          e.code = code;
          e.line = line;
          return false;
        });
      }
    }
    if (!result) return nullptr;
    if (traced) trace(first, before, result.get());
    if (finite.forward && !uninitialised(name) && wrong(result.get(), finite.nan, finite.inf)) {
      const Object inputs(PyTuple_New(static_cast<Py_ssize_t>(args.size())));
      for (size_t i = 0; i < args.size(); ++i)
        PyTuple_SET_ITEM(inputs.get(), static_cast<Py_ssize_t>(i),
                         Object::borrow(args[i] ? args[i] : Py_None).release());
      const Object here = origin();
      tell("stop_forward", "(sOOO)", name, inputs.get(), result.get(), here.get());
    }
    return result.release();
  });
}

}  // namespace

PyObject* observed_run(const char* name, std::span<PyObject* const> args, PyObject* (*run)(void*), void* context) {
  if (busy) return run(context);
  return observe_call(name, args, [&] { return run(context); });
}

// ---- for genesis.profiler, genesis.autograd and genesis.debug -------------------------------------------------------

static PyObject* end_region() {
  require<GraphError>(!regions.empty(), "_end_region: no region is open in this thread");
  const Region region = regions.back();
  regions.pop_back();
  if (recording && recording->id == region.recording) recording->close(region.event);
  Py_XDECREF(region.scope);
  Py_RETURN_NONE;
}

static PyObject* set_finite(Args& a) {
  const Finite before = finite;
  finite = {a.boolean(0), a.boolean(1), a.boolean(2), a.boolean(3)};
  num_checking += finite.on() - before.on();
  changed();
  const auto truth = [](bool b) { return b ? Py_True : Py_False; };
  return PyTuple_Pack(4, truth(before.nan), truth(before.inf), truth(before.forward), truth(before.backward));
}

// (op, dtype, shape or None, released, origin or None, saved), saved of (dtype, shape, bytes, address of the memory).
static PyObject* node_info(Args& a) {
  if (!is_node(a[0])) a.fail(0, "a Node");
  const Node& node = *node_of(a[0]);
  OutputInfo info = node.output_info;
  if (node.is_leaf()) info.set(static_cast<const AccumulateGrad&>(node).leaf);
  Object shape = Object::borrow(Py_None);
  if (info.dims != OutputInfo::kUnknown) shape = Object(to_python(Dims(info.sizes, info.sizes + info.dims)));
  const Object saved(PyList_New(0));
  for (const SavedTensor& s : node.saved()) {
    if (!s.tensor.defined()) continue;
    const Object size(to_python(s.tensor.shape()));
    const Object item(Py_BuildValue("(OOLK)", dtype_object(s.tensor.dtype()), size.get(),
                                    static_cast<long long>(s.tensor.numel() * itemsize(s.tensor.dtype())),
                                    reinterpret_cast<unsigned long long>(s.tensor->storage->data)));
    if (PyList_Append(saved.get(), item.get()) < 0) throw_python();
  }
  PyObject* where = origin_of(node);
  return Py_BuildValue("(sOOOOO)", node.op, dtype_object(info.dtype), shape.get(), node.released ? Py_True : Py_False,
                       where ? where : Py_None, saved.get());
}

static const Family family([] {
  def<"_profile_start(bool record_shapes, bool with_stack) -> None", [](Args& a) -> PyObject* {
    require<GraphError>(!recording, "profile: a profile is running already; leave it before entering another");
    recording = std::make_unique<Recording>(a.boolean(0), a.boolean(1));
    changed();
    Py_RETURN_NONE;
  }>(kFunction | kTool);
  def<"_profile_stop() -> list", [](Args&) {
    require<GraphError>(static_cast<bool>(recording), "profile: no profile is running");
    const std::unique_ptr<Recording> done = std::move(recording);
    changed();
    return done->list();
  }>(kFunction | kTool);
  def<"_begin_region(str name, bool module) -> None", [](Args& a) -> PyObject* {
    Region region{0, 0, nullptr};
    const bool module = a.boolean(1);
    const std::string name = a.string(0);
    if (recording && !busy)
      region = {recording->id,
                recording->open(module ? Event::kModule : Event::kRegion, recording->keep(name), scope()), nullptr};
    if (module) region.scope = Object::borrow(a[0]).release();
    regions.push_back(region);
    Py_RETURN_NONE;
  }>(kFunction | kTool);
  def<"_end_region() -> None", [](Args&) { return end_region(); }>(kFunction | kTool);
  def<"_current_scope() -> str?", [](Args&) { return Object::borrow(scope() ? scope() : Py_None); }>(kFunction | kTool);
  def<"_set_anomaly(bool mode, bool check_nan) -> (bool, bool)", [](Args& a) -> PyObject* {
    PyObject* before = PyTuple_Pack(2, anomaly ? Py_True : Py_False, anomaly_nan ? Py_True : Py_False);
    anomaly = a.boolean(0);
    anomaly_nan = a.boolean(1);
    changed();
    return before;
  }>(kFunction | kTool);
  def<"_get_anomaly() -> (bool, bool)", [](Args&) {
    return PyTuple_Pack(2, anomaly ? Py_True : Py_False, anomaly_nan ? Py_True : Py_False);
  }>(kFunction | kTool);
  def<"_set_finite(bool nan, bool inf, bool forward, bool backward) -> (bool, bool, bool, bool)", set_finite>(
      kFunction | kTool);
  def<"_trace_nodes(bool on) -> None", [](Args& a) -> PyObject* {
    num_tracing += a.boolean(0) ? 1 : -1;
    changed();
    Py_RETURN_NONE;
  }>(kFunction | kTool);
  def<"_live_nodes() -> list[Node]", [](Args&) {
    // keeps them alive: creating Python objects may run the collector, which may destroy nodes
    std::vector<Ref<Node>> nodes;
    for (Node* node = Node::newest(); node; node = node->next())
      if (node->thread == this_thread()) nodes.emplace_back(node);
    Object list(PyList_New(0));
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      const Object item(node_object(node->get()));
      if (PyList_Append(list.get(), item.get()) < 0) throw_python();
    }
    return list;
  }>(kFunction | kTool);
  def<"_node_info(Node node) -> tuple", node_info>(kFunction | kTool);
});

}  // namespace genesis::py
