// Tape: while it is active, it records operations on floating tensors, whether or not they require grad.
//
// A tape does not own any part of the graph. It identifies a tensor by the sequence number of its node and the index of
// the output, which are never reused, and accesses tensors through weak references.
#include <unordered_map>
#include <unordered_set>

#include "autograd/meta.h"
#include "autograd/recorder.h"
#include "bindings/args.h"
#include "bindings/module.h"
#include "engine/backward.h"
#include "ops/create.h"
#include "ops/view.h"

namespace genesis::py {

namespace {

struct Place {
  uint64_t sequence;
  uint32_t index;
  bool operator==(const Place&) const = default;
};
struct PlaceHash {
  size_t operator()(const Place& p) const { return p.sequence * 0x9e3779b97f4a7c15u + p.index; }
};

bool alive(const Object& weak) { return PyWeakref_GetObject(weak.get()) != Py_None; }

// A set of tensors that does not keep them alive.
class WeakSet {
 public:
  void add(PyObject* o) { members_[unwrap(o).impl()] = Object(PyWeakref_NewRef(o, nullptr)); }
  void remove(PyObject* o) { members_.erase(unwrap(o).impl()); }
  bool has(const Tensor& t) const {
    if (members_.empty()) return false;
    const auto it = members_.find(t.impl());
    return it != members_.end() && alive(it->second);
  }

 private:
  std::unordered_map<TensorImpl*, Object> members_;
};

class Tape final : public Recorder {
 public:
  // Its inputs, outputs and their shapes are in the lists of the tape, up to the start of the next operation.
  struct Operation {
    uint64_t sequence;
    const char* name;
    size_t first_input, first_output;
  };
  struct Known {
    int64_t number;
    Object weak;  // null for tensors that were not created while the tape recorded
  };

  bool watches(const Tensor& x) const override {
    if (abandoned) return false;
    return watch_all ? !excluded.has(x) : included.has(x) || (made(x) && !excluded.has(x));
  }
  bool made(const Tensor& x) const override {
    const Node* node = node_of(x);
    return node && !abandoned && tensors.contains({node->sequence, x->output_index});
  }
  void recorded(Node& node, const Tensor& y, uint32_t index) override {
    if (abandoned) return;
    if (operations.empty() || operations.back().sequence != node.sequence) {
      operations.push_back({node.sequence, node.op, inputs.size(), outputs.size()});
      for (const Edge& edge : node.edges())
        inputs.push_back(edge.node ? known({edge.node->sequence, edge.index}).number : -1);
    }
    const Object object(wrap(y));
    Known& entry = known({node.sequence, index});
    entry.weak = Object(PyWeakref_NewRef(object.get(), nullptr));
    outputs.push_back(entry.number);
    shapes.push_back(y.shape());
  }
  Known& known(Place place) {
    return tensors.try_emplace(place, static_cast<int64_t>(tensors.size()), Object()).first->second;
  }
  // The tensor at a place, borrowed, if it still exists.
  PyObject* living(Place place) const {
    const auto it = tensors.find(place);
    return it != tensors.end() && it->second.weak && alive(it->second.weak) ? PyWeakref_GetObject(it->second.weak.get())
                                                                            : nullptr;
  }
  void forget() {
    operations.clear();
    inputs.clear();
    outputs.clear();
    shapes.clear();
    tensors.clear();
    used = false;
  }

  bool recording() const { return home != nullptr; }
  void start() {
    if (used) forget();
    home = &grad_mode;
    outer = grad_mode.recorder;
    grad_mode.recorder = this;
    for (const auto& [place, entry] : tensors) require_grad(entry, true);
  }
  void stop() {
    Recorder** at = &grad_mode.recorder;  // tapes may be stopped in any order
    while (*at != this) at = &(*at)->outer;
    *at = outer;
    home = nullptr;
    for (const auto& [place, entry] : tensors) require_grad(entry, false);
  }

  // A result that only tapes recorded requires grad while one of them records, and not otherwise: later computations
  // with it are not recorded.
  static void require_grad(const Known& entry, bool on) {
    if (!entry.weak || !alive(entry.weak)) return;
    const Tensor& t = unwrap(PyWeakref_GetObject(entry.weak.get()));
    const Node* node = node_of(t);
    if (!node || !node->taped) return;
    for (const Recorder* r = grad_mode.recorder; r && !on; r = r->outer) on = r->made(t);
    t->requires_grad = on;
  }

  bool watch_all = true;
  bool used = false;  // a backward pass has freed the graph: the next recording starts anew
  bool abandoned = false;
  GradMode* home = nullptr;  // of the thread that records
  WeakSet included, excluded;
  std::vector<Operation> operations;
  std::vector<int64_t> inputs, outputs;  // numbers of tensors; -1 if there is no gradient
  std::vector<Dims> shapes;              // of the outputs
  std::unordered_map<Place, Known, PlaceHash> tensors;
};

struct PyTape {
  PyObject_HEAD Tape* tape;
};
Tape& get(PyObject* o) { return *reinterpret_cast<PyTape*>(o)->tape; }

// ---- gradients ----------------------------------------------------------------------------------------------------

// Gradients of leaves, and of results that still exist.
class Collected final : public engine::Sink {
 public:
  struct Entry {
    Place place;
    Tensor leaf;  // undefined for a result
    Tensor grad;
  };
  explicit Collected(const Tape& tape) : tape_(tape) {}
  void arrived(Node& node, const Grads& grads) override {
    if (node.is_leaf()) {
      const Tensor& leaf = static_cast<AccumulateGrad&>(node).leaf;
      const bool wanted = tape_.watch_all ? !tape_.excluded.has(leaf) : leaf->requires_grad || tape_.included.has(leaf);
      if (wanted) entries.push_back({{node.sequence, 0}, leaf, grads[0]});
      return;
    }
    for (int i = 0; i < grads.size(); ++i) {
      const Place place{node.sequence, static_cast<uint32_t>(i)};
      if (!grads[i].defined()) continue;
      PyObject* tensor = tape_.living(place);
      if (tensor && !tape_.excluded.has(unwrap(tensor))) entries.push_back({place, Tensor(), grads[i]});
    }
  }
  // Copies gradients that share memory, because the user may write to them.
  void separate() {
    std::unordered_set<const Storage*> taken;
    for (Entry& e : entries)
      if (!taken.insert(e.grad->storage).second || !e.grad.contiguous()) e.grad = ops::clone(e.grad);
  }
  std::vector<Entry> entries;

 private:
  const Tape& tape_;
};

// (loss, gradient, retain_graph, create_graph) -> [(number, leaf or None, place, gradient)]
PyObject* gradients(PyObject* o, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *loss, *gradient;
    int retain, create;
    if (!PyArg_ParseTuple(args, "OOpp", &loss, &gradient, &retain, &create)) throw_python();
    if (!is_tensor(loss)) throw_type_error(str("Tape.backward: loss must be a Tensor, got ", Py_TYPE(loss)->tp_name));
    const Tensor root = unwrap(loss);
    require<GraphError>(grad_fn(root) != nullptr || requires_grad(root), "Tape.backward: the loss of shape ",
                        root.shape(), " was not computed while a tape was recording; compute it inside `with tape:`");
    if (gradient != Py_None && !is_tensor(gradient))
      throw_type_error(str("Tape.backward: gradient must be a Tensor or None, got ", Py_TYPE(gradient)->tp_name));
    const Tensor grad = gradient == Py_None ? Tensor() : unwrap(gradient);
    Tape& tape = get(o);
    Collected collected(tape);
    {
      // The computation of the gradients is differentiable with respect to all tensors that the tape watches.
      struct Recording {
        Tape* tape;
        ~Recording() {
          if (tape) tape->stop();
        }
      } recording{nullptr};
      if (create && !tape.recording()) {
        tape.start();
        recording.tape = &tape;
      }
      engine::backward(
          "Tape.backward", {&root, 1}, {&grad, 1}, {},
          {.retain_graph = retain != 0, .create_graph = create != 0, .accumulate = false, .sink = &collected});
    }
    if (!create) {
      const WithGradMode off(false);
      collected.separate();
    }
    if (!retain) tape.used = true;
    Object list(PyList_New(0));
    for (const auto& e : collected.entries) {
      const Object leaf(to_python(e.leaf)), value(wrap(e.grad));
      const Object item(Py_BuildValue("(LO(KI)O)", static_cast<long long>(tape.known(e.place).number), leaf.get(),
                                      static_cast<unsigned long long>(e.place.sequence), e.place.index, value.get()));
      if (PyList_Append(list.get(), item.get()) < 0) throw_python();
    }
    return list.release();
  });
}

// ---- the type -----------------------------------------------------------------------------------------------------

PyObject* tape_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"watch_all", nullptr};
  int watch_all = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:Tape", const_cast<char**>(names), &watch_all)) return nullptr;
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) return nullptr;
  reinterpret_cast<PyTape*>(o)->tape = new Tape;
  get(o).watch_all = watch_all != 0;
  return o;
}
void tape_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  Tape* tape = reinterpret_cast<PyTape*>(o)->tape;
  if (tape->recording() && tape->home == &grad_mode) tape->stop();
  if (tape->recording()) tape->abandoned = true;  // another thread's list still refers to it
  else delete tape;
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* start(PyObject* o, PyObject*) {
  if (get(o).recording())
    return PyErr_Format(PyExc_RuntimeError, "Tape.start_recording: the tape is recording already");
  get(o).start();
  Py_RETURN_NONE;
}
PyObject* stop(PyObject* o, PyObject*) {
  Tape& tape = get(o);
  if (!tape.recording()) return PyErr_Format(PyExc_RuntimeError, "Tape.stop_recording: the tape is not recording");
  if (tape.home != &grad_mode)
    return PyErr_Format(PyExc_RuntimeError,
                        "Tape.stop_recording: the tape was started in another thread and must be stopped there");
  tape.stop();
  Py_RETURN_NONE;
}
PyObject* reset(PyObject* o, PyObject*) {
  get(o).forget();
  Py_RETURN_NONE;
}

template <bool Watch>
PyObject* set_watched(PyObject* o, PyObject* tensors) {
  return guarded([&]() -> PyObject* {
    const char* name = Watch ? "Tape.watch" : "Tape.stop_watching";
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
      PyObject* t = PyTuple_GET_ITEM(tensors, i);
      if (!is_tensor(t)) throw_type_error(str(name, ": expected tensors, got ", Py_TYPE(t)->tp_name));
      require<DTypeError>(is_differentiable(unwrap(t).dtype()), name, ": only floating tensors have gradients, got ",
                          unwrap(t).dtype(), "; use x.float()");
      (Watch ? get(o).included : get(o).excluded).add(t);
      (Watch ? get(o).excluded : get(o).included).remove(t);
    }
    Py_RETURN_NONE;
  });
}

PyObject* numbers(std::span<const int64_t> list) {
  Object tuple(PyTuple_New(static_cast<Py_ssize_t>(list.size())));
  for (size_t i = 0; i < list.size(); ++i) {
    PyObject* item = list[i] < 0 ? Object::borrow(Py_None).release() : PyLong_FromLongLong(list[i]);
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), item);
  }
  return tuple.release();
}
// [(name, inputs, outputs, shapes of the outputs)]
PyObject* operations(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Tape& tape = get(o);
    Object list(PyList_New(0));
    for (size_t k = 0; k < tape.operations.size(); ++k) {
      const Tape::Operation& op = tape.operations[k];
      const bool last = k + 1 == tape.operations.size();
      const size_t end_input = last ? tape.inputs.size() : tape.operations[k + 1].first_input;
      const size_t end_output = last ? tape.outputs.size() : tape.operations[k + 1].first_output;
      Object shapes(PyTuple_New(static_cast<Py_ssize_t>(end_output - op.first_output)));
      for (size_t i = op.first_output; i < end_output; ++i)
        PyTuple_SET_ITEM(shapes.get(), static_cast<Py_ssize_t>(i - op.first_output),
                         Object(to_python(tape.shapes[i])).release());
      const std::span<const int64_t> in(tape.inputs), out(tape.outputs);
      const Object inputs(numbers(in.subspan(op.first_input, end_input - op.first_input)));
      const Object outputs(numbers(out.subspan(op.first_output, end_output - op.first_output)));
      const Object item(Py_BuildValue("(sOOO)", op.name, inputs.get(), outputs.get(), shapes.get()));
      if (PyList_Append(list.get(), item.get()) < 0) throw_python();
    }
    return list.release();
  });
}
PyObject* is_recording(PyObject* o, void*) { return PyBool_FromLong(get(o).recording()); }
PyObject* num_operations(PyObject* o, void*) { return PyLong_FromSize_t(get(o).operations.size()); }

const Family family([] {
  static PyMethodDef methods[] = {
      {"start_recording", start, METH_NOARGS,
       "start_recording($self)\n--\n\nRecord operations of this thread from now on."},
      {"stop_recording", stop, METH_NOARGS, "stop_recording($self)\n--\n\nRecord no further."},
      {"reset", reset, METH_NOARGS, "reset($self)\n--\n\nForget what was recorded."},
      {"watch", set_watched<true>, METH_VARARGS,
       "watch($self, *tensors)\n--\n\nRecord operations on these tensors, though they do not require grad."},
      {"stop_watching", set_watched<false>, METH_VARARGS,
       "stop_watching($self, *tensors)\n--\n\nTreat these tensors as constants, and return no gradients for them."},
      {"_gradients", gradients, METH_VARARGS, nullptr},
      {"_operations", operations, METH_NOARGS, nullptr},
      {}};
  static PyGetSetDef getset[] = {{"recording", is_recording, nullptr, "Whether it records now.", nullptr},
                                 {"_num_operations", num_operations, nullptr, nullptr, nullptr},
                                 {}};
  static PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(tape_new)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(tape_dealloc)},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, getset},
                                {0, nullptr}};
  static PyType_Spec spec{"genesis._C._Tape", sizeof(PyTape), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  const Object type(PyType_FromSpec(&spec));
  PyModule_AddObjectRef(current_module(), "_Tape", type.get());
  def<"_tapes_recording() -> int", [](Args&) {
    int64_t n = 0;
    for (const Recorder* r = grad_mode.recorder; r; r = r->outer) ++n;
    return n;
  }>(kFunction | kTool);
  // The place of a tensor in the graph: (sequence number of its node, output index), or None for a leaf.
  def<"_graph_place(Tensor tensor) -> (int, int)?", [](Args& a) -> PyObject* {
    const Tensor& t = a.tensor(0);
    Node* node = grad_fn(t);
    if (!node || node->is_leaf()) Py_RETURN_NONE;
    return Py_BuildValue("(KI)", static_cast<unsigned long long>(node->sequence), t->output_index);
  }>(kFunction | kTool);
});

}  // namespace

}  // namespace genesis::py
