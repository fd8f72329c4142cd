// How plans run with the tensors of a call.
#include <chrono>
#include <cstring>
#include <string_view>

#include "bindings/args.h"
#include "bindings/compiled.h"
#include "bindings/module.h"
#include "core/allocator.h"
#include "core/parallel.h"

namespace genesis::py {

namespace {

constexpr const char* kRun = "genesis.run";
// Plans that run for less time than this keep the interpreter lock: others wait as long for many calls of NumPy, and
// giving it up and taking it back costs as much as a small kernel.
constexpr std::chrono::microseconds kBrief{50};

// One run. A plan with a second part keeps it until that has run.
struct Run {
  Object owner;  // the plan
  Compiled& c;
  std::unique_ptr<Workspace> w;
  size_t next_event = 0;

  explicit Run(PyObject* capsule) : owner(Object::borrow(capsule)), c(compiled(capsule)) {
    if (c.workspaces.empty()) {
      w = std::make_unique<Workspace>(*c.plan);
    } else {
      w = std::move(c.workspaces.back());
      c.workspaces.pop_back();
    }
  }
  ~Run() {
    for (uint32_t i = 0; i < w->segments.size(); ++i) end_segment(i);
    for (size_t i = 0; i < next_event; ++i)
      if (c.plan->events[i].kind == plan::Event::Output) w->outputs[c.plan->events[i].index].reset();
    w->arguments.clear();
    w->externals.clear();
    w->versions.clear();
    w->made.clear();
    if (c.workspaces.size() < 4) c.workspaces.push_back(std::move(w));
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Takes the tensors of this call; false if they are not as they were when captured. The second part has those of the
  // first already.
  bool bind(bool second = false) {
    const std::vector<Tensor>& arguments = w->arguments;
    const size_t from = second ? c.first_arguments : 0, to = arguments.size();
    const auto concerned = [&](const Source& s) {
      return s.kind == Source::Argument ? s.index >= from && s.index < to : !second;
    };
    for (const Leaf& leaf : c.leaves) {
      if (leaf.source.kind == Source::Argument && !concerned(leaf.source)) continue;
      Source s = leaf.source;
      const Tensor& t = c.tensor(s, arguments);
      if (!requires_grad(t) || t->grad_fn) return false;
      if (has_hooks(t)) return false;
      s.gradient = true;
      if (c.gradients_matter && c.tensor(s, arguments).defined() != leaf.had_grad) return false;
    }
    std::vector<size_t> moved;
    for (size_t i = 0; i < c.externals.size(); ++i) {
      const External& e = c.externals[i];
      if (!concerned(e.source)) continue;
      const Tensor& t = c.tensor(e.source, arguments);
      if (!t.defined() || t.meta() || t.dtype() != e.dtype || t.shape() != e.shape ||
          requires_grad(t) != e.requires_grad)
        return false;
      // Gradients are contiguous, but strides of dimensions of size 1 are arbitrary.
      if (second ? !t.contiguous() : t.strides() != e.strides) return false;
      if (e.bytes > 0 && w->instance.set_base(e.block, t->data)) moved.push_back(i);
      w->externals.push_back(t);
      w->versions.push_back(t->storage->version);
    }
    return moved.empty() || apart(moved);
  }
  // Blocks are different memory if one is written, and tensors of one block are the same memory.
  bool apart(const std::vector<size_t>& moved) const {
    for (const size_t i : moved) {
      const External& a = c.externals[i];
      const char* begin = w->externals[i]->data;
      for (size_t k = 0; k < w->externals.size(); ++k) {
        const External& b = c.externals[k];
        const char* other = w->externals[k]->data;
        if (i == k) continue;
        if (a.block == b.block ? begin != other
                               : (a.written || b.written) && begin < other + b.bytes && other < begin + a.bytes)
          return false;
      }
    }
    return true;
  }
  void end_segment(uint32_t i) {
    if (char* const p = std::exchange(w->segments[i], nullptr))
      deallocate(p, static_cast<size_t>(c.plan->segments[i].bytes));
  }
  void happen(const plan::Event& e) {
    const plan::Plan& p = *c.plan;
    switch (e.kind) {
      case plan::Event::Begin:
        w->segments[e.index] = static_cast<char*>(allocate(static_cast<size_t>(p.segments[e.index].bytes)));
        w->instance.set_segment(e.index, w->segments[e.index]);
        break;
      case plan::Event::End: end_segment(e.index); break;
      case plan::Event::Output:
        w->outputs[e.index] = StorageRef(Storage::allocate(static_cast<size_t>(p.recording->blocks[e.index].bytes)));
        w->instance.set_base(e.index, w->outputs[e.index].get()->data);
        break;
      case plan::Event::Gradients:
        for (const Source& s : c.replaced) {
          Tensor old;
          std::swap(meta(c.tensor(s, w->arguments)).grad, old);
        }
        break;
    }
  }
  // Runs steps up to `end` or a host action; returns where it stopped, or Instance::kFailed.
  uint32_t advance(uint32_t step, uint32_t end) {
    using Clock = std::chrono::steady_clock;
    const Completes completes;
    const auto begin = c.brief ? Clock::time_point() : Clock::now();
    const std::vector<plan::Event>& events = c.plan->events;
    for (;;) {
      while (next_event < events.size() && events[next_event].step <= step) happen(events[next_event++]);
      if (step >= end) break;
      const uint32_t stop = next_event < events.size() ? std::min(end, events[next_event].step) : end;
      if (c.brief) {
        step = w->instance.run(step, stop);
      } else {
        const Unlocked unlocked;
        step = w->instance.run(step, stop);
      }
      if (step != stop) break;
    }
    if (!c.brief) c.brief = Clock::now() - begin < kBrief && c.uses > 0;
    return step;
  }
  Tensor make(const Result& r) const {
    const auto number = static_cast<size_t>(&r - c.results.data());
    const auto first = static_cast<size_t>(r.twin);
    if (r.twin >= 0 && first < w->made.size() && w->made[first].defined()) return w->made[first];
    Tensor t = new_result(r);
    if (r.shared) {
      if (w->made.size() <= number) w->made.resize(number + 1);
      w->made[number] = t;
    }
    return t;
  }
  Tensor new_result(const Result& r) const {
    if (r.kind == Result::Same) return c.tensor(r.source, w->arguments);
    if (numel(r.shape) == 0) return empty(r.shape, r.dtype);
    Storage* storage = nullptr;
    char* base = nullptr;
    if (r.kind == Result::Alias) {
      for (const External& e : c.externals)
        if (e.block == r.block) {
          const Tensor& t = c.tensor(e.source, w->arguments);
          storage = t->storage;
          base = t->data;
          break;
        }
    } else {
      storage = w->outputs[r.block].get();
      base = storage->data;
    }
    TensorImpl* impl = TensorImpl::create(storage, base + r.offset, r.dtype);
    impl->shape = r.shape;
    impl->strides = r.strides;
    impl->geometry_changed();
    impl->inference = grad_mode.inference;
    return Tensor::adopt(impl);
  }
  void apply(const std::vector<GradEffect>& effects) const {
    for (const GradEffect& e : effects) {
      const Tensor& leaf = c.tensor(e.leaf, w->arguments);
      Tensor grad = e.result < 0 ? Tensor() : make(c.results[static_cast<size_t>(e.result)]);
      std::swap(meta(leaf).grad, grad);
    }
  }
  void bump_versions() {
    for (size_t i = 0; i < w->externals.size(); ++i)
      if (c.externals[i].written) {
        w->externals[i]->storage->written("a compiled function");
        w->versions[i] = w->externals[i]->storage->version;
      }
  }
  // The tensors that a call returns: those of one part.
  std::span<const Result> returned(bool second = false) const {
    const std::span<const Result> all(c.results.data() + (c.results.size() - c.returned), c.returned);
    if (second) return all.subspan(c.first_returned);
    return c.second_part < 0 ? all : all.first(c.first_returned);
  }

  // Runs the first part with the arguments in the workspace; what did not match, null if everything did.
  const char* run(PyObject* actions);
};

// Copies of memory that is restored if a check fails.
class Restore {
 public:
  explicit Restore(const Run& run) {
    for (const uint32_t b : run.c.plan->restored)
      for (size_t i = 0; i < run.w->externals.size(); ++i)
        if (run.c.externals[i].block == b) {
          const char* data = run.w->externals[i]->data;
          copies_.push_back({run.w->externals[i]->data, std::vector<char>(data, data + run.c.externals[i].bytes)});
          break;
        }
  }
  void apply() const {
    for (const auto& [data, copy] : copies_) std::memcpy(data, copy.data(), copy.size());
  }

 private:
  std::vector<std::pair<char*, std::vector<char>>> copies_;
};

const char* Run::run(PyObject* actions) {
  if (w->arguments.size() != c.first_arguments || !bind()) return "tensors";
  plan::Instance& instance = w->instance;
  if (!instance.run_checks()) return instance.failed;
  const Restore restore(*this);
  Generator& generator = default_generator();
  const uint64_t first = generator.reserve(c.plan->recording->draws);
  instance.set_draws(generator.seed, first);
  const uint32_t last = c.plan->second_part;
  size_t host = 0;
  for (uint32_t step = 0; step < last; ++step) {
    step = advance(step, last);
    if (step == plan::Instance::kFailed) {
      restore.apply();
      generator.offset = first;
      return instance.failed;
    }
    if (step >= last) break;
    apply(c.effects[host++]);
    PyObject* action = PyList_GetItem(actions, static_cast<Py_ssize_t>(c.plan->steps[step].index));
    if (!action) throw_python();
    bump_versions();
    const Object done(PyObject_CallNoArgs(action));
  }
  bump_versions();
  if (c.second_part < 0) apply(c.effects.back());
  static int64_t time = 0;
  c.last_use = ++time;
  return nullptr;
}

Object list_of(const Run& run, std::span<const Result> results) {
  Object list(PyList_New(static_cast<Py_ssize_t>(results.size())));
  for (size_t i = 0; i < results.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Object(wrap(run.make(results[i]))).release());
  return list;
}

// [results..., run] or the name of the mismatch.
PyObject* run(Args& a) {
  auto r = std::make_unique<Run>(a[0]);
  append_tensors(a[1], r->w->arguments);
  if (const char* reason = r->run(a[2])) return PyUnicode_FromString(reason);
  r->c.uses += !a.boolean(3);
  Object list(list_of(*r, r->returned()));
  if (r->c.second_part < 0) return list.release();
  Run* raw = r.release();
  Object capsule(
      PyCapsule_New(raw, kRun, [](PyObject* o) { delete static_cast<Run*>(PyCapsule_GetPointer(o, kRun)); }));
  if (PyList_Append(list.get(), capsule.get()) < 0) throw_python();
  return list.release();
}

// ---- calls ---------------------------------------------------------------------------------------------------------

// Whether the class of a tensor is one of the library: others may override operations.
bool is_own(PyObject* o) {
  static PyTypeObject* last = nullptr;  // that was found to be one; such classes live as long as the process
  PyTypeObject* const type = Py_TYPE(o);
  if (type == TensorType || type == last) return true;
  const Object module(Object::maybe(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__module__")));
  const char* name = module.get() && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8(module.get()) : nullptr;
  if (!name) return PyErr_Clear(), false;
  const std::string_view top = std::string_view(name).substr(0, std::string_view(name).find('.'));
  const bool own = top == "genesis" || top == "torch";  // the second under the import shim
  if (own) last = type;
  return own;
}

// A plan that is ready to replace calls of its function, as Python stores it.
class Ready {
 public:
  // How the result is made of the tensors that the plan computes; `build` calls a function.
  enum Form : long { kTensor, kTuple, kConstant, kBuild };

  explicit Ready(PyObject* tuple) : tuple_(Object::borrow(tuple)) {}
  // Whether it fits, as far as tensors are not concerned.
  bool fits(int64_t modes, PyObject* arguments) const {
    if (PyLong_AsLongLong(item(0)) != modes) return false;
    PyObject* const constants = item(1);
    const Py_ssize_t n = PyTuple_GET_SIZE(constants);
    if (PyTuple_GET_SIZE(arguments) != n) return false;
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject *now = PyTuple_GET_ITEM(arguments, i), *then = PyTuple_GET_ITEM(constants, i);
      if (then == reinterpret_cast<PyObject*>(TensorType) ? !is_tensor(now) || !is_own(now)
                                                          : is_tensor(now) || !same_value(now, then))
        return false;
    }
    return failing_guard(item(2)) < 0;
  }
  PyObject* plan() const { return item(3); }
  PyObject* actions() const { return item(4); }
  PyObject* result(const Run& run, PyObject* arguments) const {
    switch (PyLong_AsLong(item(5))) {
      case kTensor: return wrap(run.make(run.returned()[0]));
      case kTuple: {
        const auto results = run.returned();
        Object tuple(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
        for (size_t i = 0; i < results.size(); ++i)
          PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Object(wrap(run.make(results[i]))).release());
        return tuple.release();
      }
      case kConstant: return Object::borrow(item(6)).release();
      default: return PyObject_CallFunctionObjArgs(item(6), list_of(run, run.returned()).get(), arguments, nullptr);
    }
  }

 private:
  PyObject* item(Py_ssize_t i) const { return PyTuple_GET_ITEM(tuple_.get(), i); }
  Object tuple_;
};

// The result of the first plan that fits; NotImplemented if none does.
PyObject* call(Args& a) {
  PyObject *const list = a[0], *const arguments = a[1];
  const int64_t modes = is_capturing() ? -1 : plan_modes();
  for (Py_ssize_t i = 0; modes >= 0 && i < PyList_GET_SIZE(list); ++i) {
    const Ready ready(PyList_GET_ITEM(list, i));
    if (!ready.fits(modes, arguments)) continue;
    Run r(ready.plan());
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(arguments); ++k)
      if (PyObject* o = PyTuple_GET_ITEM(arguments, k); is_tensor(o)) r.w->arguments.push_back(unwrap(o));
    const char* const reason = r.run(ready.actions());
    if (!reason) {
      ++r.c.uses;
      PyObject* const result = ready.result(r, arguments);
      if (!result) throw_python();
      return result;
    }
    if (std::strcmp(reason, "tensors") != 0) break;
  }
  Py_RETURN_NOTIMPLEMENTED;
}

// The second part: the gradients of a run's arguments.
PyObject* run_backward(Args& a) {
  void* p = PyCapsule_GetPointer(a[0], kRun);
  if (!p) throw_python();
  Run& r = *static_cast<Run*>(p);
  const Compiled& c = r.c;
  Workspace& w = *r.w;
  w.arguments = tensors_of(a[1]);
  for (size_t i = 0; i < w.externals.size() && i < w.versions.size(); ++i)
    require(!c.externals[i].late || w.externals[i]->storage->version == w.versions[i],
            "backward: a tensor that a compiled function read was changed in place since, by ",
            w.externals[i]->storage->writer ? w.externals[i]->storage->writer : "an operation",
            "; call backward() before, or clone() it");
  if (!r.bind(true)) return PyUnicode_FromString("tensors");
  const auto end = static_cast<uint32_t>(c.plan->steps.size());
  const uint32_t stopped = r.advance(c.plan->second_part, end);
  require(stopped == end, "backward: a compiled function did not run to its end");
  return list_of(r, r.returned(true)).release();
}

}  // namespace

void append_tensors(PyObject* list, std::vector<Tensor>& tensors) {
  const Object items(PySequence_Fast(list, "expected a list of tensors"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* o = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!is_tensor(o)) throw_type_error("expected a list of tensors");
    tensors.push_back(unwrap(o));
  }
}

static const Family family({.kind = Kind::Tool, .page = "settings"}, [] {
  def<"_plan_run(Any plan, Any arguments, Any hosts, bool check=False) -> Any", run>(kFunction | kTool);
  def<"_plan_call(Any ready, Any arguments) -> Any", call>(
      kFunction | kTool, "Runs the first plan of a list that fits a call; NotImplemented if none does.");
  def<"_plan_backward(Any run, Any arguments) -> Any", run_backward>(kFunction | kTool);
});

}  // namespace genesis::py
