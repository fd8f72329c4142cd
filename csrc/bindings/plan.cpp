// genesis.compile: captures, plans and guards, as python/genesis/compiler uses them.
//
// A capture knows the tensors that exist before it as sources: an argument, a fixed tensor (a parameter, say), or the
// gradient of one of them. What a call leaves behind is results: tensors that it returns, and gradients.
#include "plan/plan.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "autograd/meta.h"
#include "bindings/args.h"
#include "bindings/autocast.h"
#include "bindings/dispatch.h"
#include "bindings/module.h"
#include "core/allocator.h"
#include "core/exact.h"
#include "core/parallel.h"
#include "core/promote.h"

namespace genesis::py {

namespace {

struct Source {
  enum Kind : uint8_t { Argument, Fixed } kind;
  uint32_t index;
  bool gradient = false;
};
struct External {
  Source source;
  uint32_t block;
  DType dtype;
  Dims shape, strides;
  bool requires_grad;
  int64_t bytes;
  bool written = false, late = false;  // by the plan; touched by its second part
  Tensor captured;                     // while captured
};
struct Result {
  enum Kind : uint8_t { Same, Alias, New } kind = New;
  Source source{};  // of Same
  uint32_t block = 0;
  int64_t offset = 0;
  DType dtype = DType::Float32;
  Dims shape, strides;
};
struct GradEffect {
  Source leaf;
  int result;  // -1: none
};
struct Leaf {
  Source source;
  Tensor grad;  // while captured
  bool had_grad;
};

// From the first to the last byte that a tensor shows.
int64_t extent(const Tensor& t) {
  if (t.numel() == 0) return 0;
  int64_t last = 0;
  for (int d = 0; d < t.dim(); ++d) last += (t.size(d) - 1) * t.stride(d);
  return (last + 1) * itemsize(t.dtype());
}

class Compiled {
 public:
  std::vector<Tensor> fixed;
  std::vector<External> externals;
  std::vector<Leaf> leaves;
  std::vector<Result> results;                   // those that are returned first
  size_t returned = 0, first_returned = 0;       // of both parts, of the first
  std::vector<std::vector<GradEffect>> effects;  // before each action of the host, and at the end
  std::vector<Source> replaced;                  // leaves whose gradient the plan replaces and does not read
  size_t first_arguments = 0;                    // of the first part
  bool gradients_matter = false;                 // those that leaves have before a call
  std::unique_ptr<plan::Plan> plan;
  std::vector<std::unique_ptr<plan::Instance>> free_instances;
  int64_t second_part = -1;

  // While captured.
  std::vector<Tensor> arguments;
  std::vector<Tensor> kept;  // results, so that their memory is not used again

  const Tensor& tensor(const Source& s, const std::vector<Tensor>& arguments) const {
    const Tensor& t = s.kind == Source::Argument ? arguments[s.index] : fixed[s.index];
    if (!s.gradient) return t;
    static const Tensor none;
    const TensorMeta* m = meta_if_any(t);
    return m ? m->grad : none;
  }
  void add_external(const Source& s, const Tensor& t) {
    if (!t.defined()) return;
    const int64_t bytes = extent(t);
    const uint32_t block = bytes == 0 ? plan::kNoBlock : plan::add_external(t->storage, t->data, bytes);
    if (block == plan::kNoBlock && bytes > 0) capture::interrupt("tensors that the function uses overlap in memory");
    externals.push_back({s, block, t.dtype(), t.shape(), t.strides(), requires_grad(t), bytes, false, false, t});
  }
  void add_source(Source s) {
    const Tensor& t = tensor(s, arguments);
    add_external(s, t);
    if (!requires_grad(t) || t->grad_fn) return;
    s.gradient = true;
    const Tensor& grad = tensor(s, arguments);
    add_external(s, grad);
    s.gradient = false;
    leaves.push_back({s, grad, grad.defined()});
  }
  // What happened to gradients since the last call of this.
  void note_effects() {
    auto& list = effects.emplace_back();
    for (Leaf& leaf : leaves) {
      Source s = leaf.source;
      s.gradient = true;
      const Tensor& now = tensor(s, arguments);
      if (now.impl() == leaf.grad.impl()) continue;
      leaf.grad = now;
      list.push_back({leaf.source, now.defined() ? add_result(now) : -1});
    }
  }
  int add_result(const Tensor& t) {
    Result r;
    const plan::Recording* recording = plan::current();
    for (const External& e : externals)
      if (e.captured.impl() == t.impl()) {
        if (e.source.gradient) capture::interrupt("a gradient that was replaced is used again");
        r.kind = Result::Same;
        r.source = e.source;
      }
    r.dtype = t.dtype();
    r.shape = t.shape();
    r.strides = t.strides();
    if (r.kind == Result::New && t.numel() > 0) {
      const plan::Place place = recording->find(t->data);
      if (place.block == plan::kNoBlock) capture::interrupt("a result is in memory of no known tensor");
      else if (recording->blocks[place.block].external) r.kind = Result::Alias;
      r.block = place.block;
      r.offset = place.offset;
    }
    kept.push_back(t);
    results.push_back(std::move(r));
    return static_cast<int>(results.size()) - 1;
  }
};

thread_local constinit Compiled* capturing = nullptr;  // of this thread
PyObject* interrupt_callback = nullptr;

void tell_interrupt(const char* reason) {
  if (!interrupt_callback || !PyGILState_Check()) return;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* done = PyObject_CallFunction(interrupt_callback, "s", reason);
  if (!done) PyErr_Clear();
  Py_XDECREF(done);
  PyErr_Restore(type, value, trace);
}

constexpr const char* kPlan = "genesis.plan";
constexpr const char* kRun = "genesis.run";
Compiled& compiled(PyObject* capsule) {
  void* p = PyCapsule_GetPointer(capsule, kPlan);
  if (!p) throw_python();
  return *static_cast<Compiled*>(p);
}

// Memory of a run: segments of the arena, and that of results.
struct Run {
  Object owner;  // the plan
  Compiled& c;
  std::unique_ptr<plan::Instance> instance;
  std::vector<char*> segments;
  size_t next_event = 0;
  std::vector<Tensor> memory;     // of output blocks
  std::vector<Tensor> externals;  // as they were
  std::vector<uint32_t> versions;

  explicit Run(PyObject* capsule) : owner(Object::borrow(capsule)), c(compiled(capsule)) {
    if (c.free_instances.empty()) {
      instance = std::make_unique<plan::Instance>(*c.plan);
    } else {
      instance = std::move(c.free_instances.back());
      c.free_instances.pop_back();
    }
    segments.resize(c.plan->segments.size());
    memory.resize(c.plan->homes.size());
  }
  ~Run() {
    for (uint32_t i = 0; i < segments.size(); ++i) end_segment(i);
    if (c.free_instances.size() < 4) c.free_instances.push_back(std::move(instance));
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Takes the tensors of this call; false if they are not as they were when captured. `from` and `to` are numbers of
  // arguments. The second part has those of the first already.
  bool bind(const std::vector<Tensor>& arguments, size_t from, size_t to, bool second = false) {
    for (const Leaf& leaf : c.leaves) {
      if (leaf.source.kind == Source::Argument && (leaf.source.index < from || leaf.source.index >= to)) continue;
      Source s = leaf.source;
      const Tensor& t = c.tensor(s, arguments);
      if (!requires_grad(t) || t->grad_fn) return false;
      const TensorMeta* m = meta_if_any(t);
      if (m && !m->hooks.empty()) return false;
      s.gradient = true;
      if (c.gradients_matter && c.tensor(s, arguments).defined() != leaf.had_grad) return false;
    }
    std::vector<size_t> moved;
    for (size_t i = 0; i < c.externals.size(); ++i) {
      const External& e = c.externals[i];
      if (e.source.kind == Source::Argument ? e.source.index < from || e.source.index >= to : second) continue;
      const Tensor& t = c.tensor(e.source, arguments);
      if (!t.defined() || t.dtype() != e.dtype || t.shape() != e.shape || requires_grad(t) != e.requires_grad)
        return false;
      // Gradients are contiguous, but strides of their dimensions of size 1 may be anything.
      if (second ? !t.contiguous() : t.strides() != e.strides) return false;
      if (e.bytes > 0 && instance->set_base(e.block, t->data)) moved.push_back(i);
      externals.push_back(t);
      versions.push_back(t->storage->version);
    }
    return apart(moved);
  }
  // Blocks are different memory where one is written, and tensors of one block are the same memory.
  bool apart(const std::vector<size_t>& moved) const {
    for (const size_t i : moved) {
      const External& a = c.externals[i];
      const char* begin = externals[i]->data;
      for (size_t k = 0; k < externals.size(); ++k) {
        const External& b = c.externals[k];
        const char* other = externals[k]->data;
        if (i == k) continue;
        if (a.block == b.block ? begin != other
                               : (a.written || b.written) && begin < other + b.bytes && other < begin + a.bytes)
          return false;
      }
    }
    return true;
  }
  void end_segment(uint32_t i) {
    if (char* const p = std::exchange(segments[i], nullptr))
      deallocate(p, static_cast<size_t>(c.plan->segments[i].bytes));
  }
  void happen(const plan::Event& e, const std::vector<Tensor>& arguments) {
    const plan::Plan& p = *c.plan;
    switch (e.kind) {
      case plan::Event::Begin:
        segments[e.index] = static_cast<char*>(allocate(static_cast<size_t>(p.segments[e.index].bytes)));
        instance->set_segment(e.index, segments[e.index]);
        break;
      case plan::Event::End: end_segment(e.index); break;
      case plan::Event::Output:
        memory[e.index] = empty({p.recording->blocks[e.index].bytes}, DType::UInt8);
        instance->set_base(e.index, memory[e.index]->data);
        break;
      case plan::Event::Gradients:
        for (const Source& s : c.replaced) {
          Tensor old;
          std::swap(meta(c.tensor(s, arguments)).grad, old);
        }
        break;
    }
  }
  // Runs steps up to `end` or an action of the host; returns where it stopped, or Instance::kFailed.
  uint32_t advance(uint32_t step, uint32_t end, const std::vector<Tensor>& arguments) {
    const std::vector<plan::Event>& events = c.plan->events;
    for (;;) {
      while (next_event < events.size() && events[next_event].step <= step) happen(events[next_event++], arguments);
      if (step >= end) return step;
      const uint32_t stop = next_event < events.size() ? std::min(end, events[next_event].step) : end;
      step = instance->run(step, stop);
      if (step != stop) return step;
    }
  }
  Tensor make(const Result& r, const std::vector<Tensor>& arguments) const {
    if (r.kind == Result::Same) return c.tensor(r.source, arguments);
    if (numel(r.shape) == 0) {
      Tensor t = empty(r.shape, r.dtype);
      return t;
    }
    Storage* storage = nullptr;
    char* base = nullptr;
    if (r.kind == Result::Alias) {
      for (const External& e : c.externals)
        if (e.block == r.block) {
          const Tensor& t = c.tensor(e.source, arguments);
          storage = t->storage;
          base = t->data;
          break;
        }
    } else {
      storage = memory[r.block]->storage;
      base = storage->data;
    }
    TensorImpl* impl = TensorImpl::create(storage, base + r.offset, r.dtype);
    impl->shape = r.shape;
    impl->strides = r.strides;
    impl->geometry_changed();
    impl->inference = grad_mode.inference;
    return Tensor::adopt(impl);
  }
  void apply(const std::vector<GradEffect>& effects, const std::vector<Tensor>& arguments) const {
    for (const GradEffect& e : effects) {
      const Tensor& leaf = c.tensor(e.leaf, arguments);
      Tensor grad = e.result < 0 ? Tensor() : make(c.results[static_cast<size_t>(e.result)], arguments);
      std::swap(meta(leaf).grad, grad);
    }
  }
  void bump_versions() {
    for (size_t i = 0; i < externals.size(); ++i)
      if (c.externals[i].written) {
        externals[i]->storage->written("a compiled function");
        versions[i] = externals[i]->storage->version;
      }
  }
};

std::vector<Tensor> tensors_of(PyObject* list) {
  const Object items(PySequence_Fast(list, "expected a list of tensors"));
  std::vector<Tensor> tensors;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* o = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!is_tensor(o)) throw_type_error("expected a list of tensors");
    tensors.push_back(unwrap(o));
  }
  return tensors;
}
PyObject* list_of(const std::vector<Tensor>& tensors) {
  Object list(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Object(wrap(tensors[i])).release());
  return list.release();
}

PyObject* begin(Args& a) {
  require(!capturing, "compile: a capture is under way already");
  capturing = new Compiled;
  interrupt_callback = a[2] == Py_None ? nullptr : a[2];
  Py_XINCREF(interrupt_callback);
  capturing->arguments = tensors_of(a[0]);
  capturing->fixed = tensors_of(a[1]);
  plan::on_interrupt = tell_interrupt;
  plan::begin();
  for (uint32_t i = 0; i < capturing->arguments.size(); ++i) capturing->add_source({Source::Argument, i});
  for (uint32_t i = 0; i < capturing->fixed.size(); ++i) capturing->add_source({Source::Fixed, i});
  capturing->first_arguments = capturing->arguments.size();
  Py_RETURN_NONE;
}
// The plan of what was captured, or the reason why there is none.
PyObject* end(Args& a) {
  require(capturing, "compile: no capture is under way");
  std::unique_ptr<Compiled> c(std::exchange(capturing, nullptr));
  std::vector<Tensor> returned;
  const bool drop = !a.has(0);
  if (!drop) {
    returned = tensors_of(a[0]);
    c->note_effects();
    c->returned = returned.size();
    for (const Tensor& t : returned) c->add_result(t);
  }
  std::unique_ptr<plan::Recording> recording = plan::finish();
  Py_CLEAR(interrupt_callback);
  if (drop) Py_RETURN_NONE;
  if (!recording->broken.empty()) return PyUnicode_FromString(recording->broken.c_str());
  plan::Options options;
  options.fuse = a.boolean(1);
  if (c->second_part >= 0) options.second_part = static_cast<uint32_t>(c->second_part);
  for (const Result& r : c->results)
    if (r.kind == Result::New && numel(r.shape) > 0) options.outputs.push_back(r.block);
  c->plan = std::make_unique<plan::Plan>(std::move(recording), std::move(options));
  c->arguments.clear();
  c->kept.clear();
  for (Leaf& leaf : c->leaves) leaf.grad = Tensor();
  if (!c->plan->broken.empty()) return PyUnicode_FromString(c->plan->broken.c_str());
  // Of gradients, only those that are used are kept; of other tensors all are, since the function may have read shapes.
  std::vector<External> used;
  for (External& e : c->externals) {
    bool used_block = false;
    for (const Result& r : c->results) used_block |= r.kind == Result::Alias && r.block == e.block;
    if (e.bytes > 0) {
      used_block |= c->plan->homes[e.block] == plan::Home::External;
      for (const uint32_t b : c->plan->written) e.written |= b == e.block;
      e.late = c->plan->late[e.block];
    }
    if (e.source.gradient && !used_block) continue;
    e.captured = Tensor();
    c->gradients_matter |= e.source.gradient;
    used.push_back(std::move(e));
  }
  c->externals = std::move(used);
  for (const GradEffect& effect : c->effects[0]) {
    const auto reads = [&](const External& e) {
      return e.source.gradient && e.source.kind == effect.leaf.kind && e.source.index == effect.leaf.index;
    };
    if (std::none_of(c->externals.begin(), c->externals.end(), reads)) c->replaced.push_back(effect.leaf);
  }
  for (const auto& list : c->effects) c->gradients_matter |= !list.empty();
  if (c->second_part >= 0 && (c->gradients_matter || c->effects.size() > 1))
    return PyUnicode_FromString("it runs a backward pass or an optimizer, and returns a tensor that requires grad");
  Compiled* raw = c.release();
  PyObject* capsule =
      PyCapsule_New(raw, kPlan, [](PyObject* o) { delete static_cast<Compiled*>(PyCapsule_GetPointer(o, kPlan)); });
  if (!capsule) {
    delete raw;
    throw_python();
  }
  return capsule;
}

// Copies of memory that a check may send back.
class Restore {
 public:
  explicit Restore(const Run& run) {
    for (const uint32_t b : run.c.plan->restored)
      for (size_t i = 0; i < run.externals.size(); ++i)
        if (run.c.externals[i].block == b) {
          const char* data = run.externals[i]->data;
          copies_.push_back({run.externals[i]->data, std::vector<char>(data, data + run.c.externals[i].bytes)});
          break;
        }
  }
  void apply() const {
    for (const auto& [data, copy] : copies_) std::memcpy(data, copy.data(), copy.size());
  }

 private:
  std::vector<std::pair<char*, std::vector<char>>> copies_;
};

// [results..., run] or the name of what did not match.
PyObject* run(Args& a) {
  const std::vector<Tensor> arguments = tensors_of(a[1]);
  auto r = std::make_unique<Run>(a[0]);
  Compiled& c = r->c;
  if (arguments.size() != c.first_arguments || !r->bind(arguments, 0, arguments.size()))
    return PyUnicode_FromString("tensors");
  if (!r->instance->run_checks()) return PyUnicode_FromString(r->instance->failed);
  const Restore restore(*r);
  Generator& generator = default_generator();
  const uint64_t first = generator.reserve(c.plan->recording->draws);
  r->instance->set_draws(generator.seed, first);
  uint32_t step = 0;
  const uint32_t last = c.plan->second_part;
  size_t host = 0;
  while (step < last) {
    step = r->advance(step, last, arguments);
    if (step == plan::Instance::kFailed) {
      restore.apply();
      generator.offset = first;
      return PyUnicode_FromString(r->instance->failed);
    }
    if (step >= last) break;
    r->apply(c.effects[host++], arguments);
    PyObject* action = PyList_GetItem(a[2], static_cast<Py_ssize_t>(c.plan->steps[step].index));
    if (!action) throw_python();
    r->bump_versions();
    const Object done(PyObject_CallNoArgs(action));
    ++step;
  }
  r->bump_versions();
  if (c.second_part < 0) r->apply(c.effects.back(), arguments);
  std::vector<Tensor> results;
  const size_t begin = c.results.size() - c.returned;
  const size_t end = c.second_part < 0 ? c.results.size() : begin + c.first_returned;
  for (size_t i = begin; i < end; ++i) results.push_back(r->make(c.results[i], arguments));
  Object list(list_of(results));
  if (c.second_part < 0) return list.release();
  Run* raw = r.release();
  Object capsule(
      PyCapsule_New(raw, kRun, [](PyObject* o) { delete static_cast<Run*>(PyCapsule_GetPointer(o, kRun)); }));
  if (PyList_Append(list.get(), capsule.get()) < 0) throw_python();
  return list.release();
}

// The second part: the gradients of a run's arguments.
PyObject* run_backward(Args& a) {
  void* p = PyCapsule_GetPointer(a[0], kRun);
  if (!p) throw_python();
  Run& r = *static_cast<Run*>(p);
  Compiled& c = r.c;
  std::vector<Tensor> arguments = tensors_of(a[1]);
  for (size_t i = 0; i < r.externals.size() && i < r.versions.size(); ++i)
    require(!c.externals[i].late || r.externals[i]->storage->version == r.versions[i],
            "backward: a tensor that a compiled function read was changed in place since, by ",
            r.externals[i]->storage->writer ? r.externals[i]->storage->writer : "an operation",
            "; call backward() before, or clone() it");
  if (!r.bind(arguments, c.first_arguments, arguments.size(), true)) return PyUnicode_FromString("tensors");
  const auto end = static_cast<uint32_t>(c.plan->steps.size());
  const uint32_t stopped = r.advance(c.plan->second_part, end, arguments);
  require(stopped == end, "backward: a compiled function did not run to its end");
  std::vector<Tensor> results;
  const size_t begin = c.results.size() - c.returned;
  for (size_t i = begin + c.first_returned; i < c.results.size(); ++i)
    results.push_back(r.make(c.results[i], arguments));
  return list_of(results);
}

// For pictures: what steps do, and where blocks are when.
PyObject* steps(Args& a) {
  const plan::Plan& p = *compiled(a[0]).plan;
  Object list(PyList_New(0));
  const auto add = [&](const char* kind, const std::string& names, int64_t elements) {
    const Object item(Py_BuildValue("(ssL)", kind, names.c_str(), static_cast<long long>(elements)));
    if (PyList_Append(list.get(), item.get()) < 0) throw_python();
  };
  for (const plan::Step& s : p.steps) {
    if (s.kind == plan::Step::Host) {
      add("host", "optimizer or scheduler", 0);
    } else if (s.kind == plan::Step::Kernel) {
      add("kernel", p.recording->calls[s.index].name, 0);
    } else {
      std::string names;
      for (const uint32_t c : p.groups[s.index].calls)
        names += std::string(names.empty() ? "" : " ") + p.recording->calls[c].name;
      add("group", names, p.groups[s.index].total);
    }
  }
  return list.release();
}
PyObject* blocks(Args& a) {
  const plan::Plan& p = *compiled(a[0]).plan;
  static constexpr const char* kHomes[] = {"tiles", "arena", "external", "output"};
  Object list(PyList_New(0));
  for (size_t b = 0; b < p.homes.size(); ++b) {
    if (p.lives[b].first == UINT32_MAX) continue;
    const Object item(Py_BuildValue("(nLsLII)", static_cast<Py_ssize_t>(b),
                                    static_cast<long long>(p.recording->blocks[b].bytes),
                                    kHomes[static_cast<int>(p.homes[b])], static_cast<long long>(p.offsets[b]),
                                    p.lives[b].first, p.lives[b].second));
    if (PyList_Append(list.get(), item.get()) < 0) throw_python();
  }
  return list.release();
}

// ---- guards --------------------------------------------------------------------------------------------------------

// What a function read when it was captured, and must still find. The references are those of the list that the guards
// were made from: the cycle collector must see them.
struct Guard {
  enum Kind { Item, Cell, Element, Length, Attribute } kind;
  PyObject *container, *key, *value;
};
constexpr const char* kGuards = "genesis.guards";

bool same_value(PyObject* now, PyObject* then) {
  if (now == then) return true;
  if (!now || !then || Py_TYPE(now) != Py_TYPE(then)) return false;
  if (!PyLong_CheckExact(now) && !PyFloat_CheckExact(now) && !PyUnicode_CheckExact(now) && !PyBool_Check(now))
    return false;
  const int equal = PyObject_RichCompareBool(now, then, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal == 1;
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
      const Py_ssize_t i = PyLong_AsSsize_t(g.key);
      PyObject* list = g.container;
      return i < PyList_GET_SIZE(list) && same_value(PyList_GET_ITEM(list, i), g.value);
    }
    case Guard::Length: {
      const Py_ssize_t n = PyObject_Size(g.container);
      if (n < 0) PyErr_Clear();
      return n == PyLong_AsSsize_t(g.key);
    }
    case Guard::Attribute: {
      PyObject* now = PyObject_GetAttr(g.container, g.key);
      if (!now) PyErr_Clear();
      const bool same = same_value(now, g.value);
      Py_XDECREF(now);
      return same;
    }
  }
  return false;
}
PyObject* make_guards(Args& a) {
  auto guards = std::make_unique<std::vector<Guard>>();
  const Object items(PySequence_Fast(a[0], "expected a list"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* t = PySequence_Fast_GET_ITEM(items.get(), i);
    const auto kind = static_cast<Guard::Kind>(PyLong_AsLong(PyTuple_GET_ITEM(t, 0)));
    PyObject* value = PyTuple_GET_ITEM(t, 3);
    guards->push_back({kind, PyTuple_GET_ITEM(t, 1), PyTuple_GET_ITEM(t, 2), value});
  }
  PyObject* capsule = PyCapsule_New(guards.get(), kGuards, [](PyObject* o) {
    delete static_cast<std::vector<Guard>*>(PyCapsule_GetPointer(o, kGuards));
  });
  if (!capsule) throw_python();
  guards.release();
  return capsule;
}

}  // namespace

static const Family family({.kind = Kind::Tool, .page = "settings"}, [] {
  def<"_capture_begin(Any arguments, Any fixed, Any interrupted) -> None", begin>(kFunction | kTool);
  def<"_capture_end(Any returned, bool fuse=True) -> Any", end>(kFunction | kTool);
  def<"_capturing() -> bool", [](Args&) { return capturing != nullptr; }>(kFunction | kTool);
  def<"_capture_interrupt(str reason) -> None", [](Args& a) -> PyObject* {
    capture::interrupt(a.string(0).c_str());
    Py_RETURN_NONE;
  }>(kFunction | kTool);
  def<"_capture_host(int number) -> None", [](Args& a) -> PyObject* {
    require(capturing, "compile: no capture is under way");
    capturing->note_effects();
    plan::mark_host(static_cast<int>(a.integer(0)));
    plan::pause(true);
    Py_RETURN_NONE;
  }>(kFunction | kTool);
  def<"_capture_pause(bool on) -> None", [](Args& a) -> PyObject* {
    if (capturing) plan::pause(a.boolean(0));
    Py_RETURN_NONE;
  }>(kFunction | kTool);
  def<"_capture_backward(Any returned, Any arguments) -> None", [](Args& a) -> PyObject* {
    require(capturing, "compile: no capture is under way");
    Compiled& c = *capturing;
    c.first_returned = tensors_of(a[0]).size();
    c.second_part = static_cast<int64_t>(plan::current()->calls.size());
    for (const Tensor& t : tensors_of(a[1])) {
      c.arguments.push_back(t);
      c.add_source({Source::Argument, static_cast<uint32_t>(c.arguments.size() - 1)});
    }
    Py_RETURN_NONE;
  }>(kFunction | kTool);
  def<"_plan_run(Any plan, Any arguments, Any hosts) -> Any", run>(kFunction | kTool);
  def<"_plan_backward(Any run, Any arguments) -> Any", run_backward>(kFunction | kTool);
  def<"_plan_text(Any plan) -> str", [](Args& a) { return PyUnicode_FromString(compiled(a[0]).plan->text().c_str()); }>(
      kFunction | kTool);
  def<"_plan_steps(Any plan) -> Any", steps>(kFunction | kTool, "(kind, names, elements) of each step.");
  def<"_plan_blocks(Any plan) -> Any", blocks>(kFunction | kTool,
                                               "(number, bytes, home, offset, first step, last step) of each block.");
  def<"_plan_memory(Any plan) -> int", [](Args& a) { return compiled(a[0]).plan->arena_bytes; }>(kFunction | kTool);
  def<"_plan_modes() -> int", [](Args&) -> int64_t {
    if (grad_mode.recorder || grad_mode.saved_hooks || dispatch_bit(kObserve | kModes)) return -1;
    return int64_t{grad_mode.enabled} | int64_t{grad_mode.inference} << 1 | int64_t{autocast_on()} << 2 |
           int64_t{exact_torch} << 3 | static_cast<int64_t>(default_dtype) << 4 | int64_t{get_num_threads()} << 12;
  }>(kFunction | kTool, "The modes of this thread that a plan depends on, -1 if nothing can be captured in them.");
  def<"_plan_used(Tensor input) -> bool", [](Args& a) {
    const Tensor& t = a.tensor(0);
    return requires_grad(t) && t->grad_fn && grad_fn(t)->released;
  }>(kFunction | kTool, "Whether a backward pass has gone through the graph of a tensor.");
  def<"_guards(Any guards) -> Any", make_guards>(kFunction | kTool);
  def<"_guards_fail(Any guards) -> int", [](Args& a) -> int64_t {
    const auto* guards = static_cast<std::vector<Guard>*>(PyCapsule_GetPointer(a[0], kGuards));
    if (!guards) throw_python();
    for (size_t i = 0; i < guards->size(); ++i)
      if (!holds((*guards)[i])) return static_cast<int64_t>(i);
    return -1;
  }>(kFunction | kTool, "The number of the first guard that fails, -1 if none does.");
});

}  // namespace genesis::py
