// genesis.compile: captures and the plans made of them, as python/genesis/_compile uses them.
#include "plan/plan.h"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bindings/args.h"
#include "bindings/autocast.h"
#include "bindings/compiled.h"
#include "bindings/dispatch.h"
#include "bindings/module.h"
#include "core/exact.h"
#include "core/parallel.h"
#include "core/promote.h"

namespace genesis::py {

namespace {

thread_local constinit Compiled* capturing = nullptr;  // per thread
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
// The plan of the capture, or the reason why there is none.
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
  // Only gradients that are used are kept; other tensors are all kept, since the function may have read their shapes.
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

// For visualization: the steps, and the lifetimes of blocks.
PyObject* steps(Args& a) {
  const plan::Plan& p = *compiled(a[0]).plan;
  Object list(PyList_New(0));
  // Blocks that calls write, or read only; those that live in tiles have no place.
  const auto touched = [&](std::span<const uint32_t> calls, bool written) {
    std::map<uint32_t, bool> found;
    for (const uint32_t c : calls)
      for (const plan::Reference& r : p.recording->calls[c].references)
        if (p.homes[r.place.block] != plan::Home::Nowhere) found[r.place.block] |= r.written;
    std::string names;
    for (const auto& [block, writes] : found)
      if (writes == written) names += str(names.empty() ? "b" : " b", block);
    return names;
  };
  for (uint32_t i = 0; i < p.steps.size(); ++i) {
    const plan::Step& s = p.steps[i];
    const bool host = s.kind == plan::Step::Host, group = s.kind == plan::Step::Tiles;
    const std::span<const uint32_t> calls = host    ? std::span<const uint32_t>()
                                            : group ? std::span<const uint32_t>(p.groups[s.index].calls)
                                                    : std::span<const uint32_t>(&s.index, 1);
    std::string names;
    for (const uint32_t c : calls) names += str(names.empty() ? "" : " ", p.recording->calls[c].name);
    const Object item(Py_BuildValue("(ssLssi)",
                                    host    ? "host"
                                    : group ? "group"
                                            : "kernel",
                                    names.c_str(), static_cast<long long>(group ? p.groups[s.index].total : s.index),
                                    touched(calls, true).c_str(), touched(calls, false).c_str(),
                                    static_cast<int>(i >= p.second_part)));
    if (PyList_Append(list.get(), item.get()) < 0) throw_python();
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

}  // namespace

bool is_capturing() { return capturing != nullptr; }

int64_t plan_modes() {
  if (grad_mode.recorder || grad_mode.saved_hooks || dispatch_bit(kObserve | kModes) || meta_by_default()) return -1;
  return int64_t{grad_mode.enabled} | int64_t{grad_mode.inference} << 1 | int64_t{autocast_on()} << 2 |
         int64_t{exact_torch} << 3 | static_cast<int64_t>(default_dtype) << 4 | int64_t{get_num_threads()} << 12;
}

static const Family family({.kind = Kind::Tool, .page = "settings"}, [] {
  def<"_capture_begin(Any arguments, Any fixed, Any interrupted) -> None", begin>(kFunction | kTool);
  def<"_capture_end(Any returned, bool fuse=True) -> Any", end>(kFunction | kTool);
  def<"_capturing() -> bool", [](Args&) { return is_capturing(); }>(kFunction | kTool);
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
  def<"_plan_text(Any plan) -> str", [](Args& a) { return PyUnicode_FromString(compiled(a[0]).plan->text().c_str()); }>(
      kFunction | kTool);
  def<"_plan_steps(Any plan) -> Any", steps>(
      kFunction | kTool,
      "(kind, names, elements or number, blocks written, blocks read, whether in backward) of each step.");
  def<"_plan_blocks(Any plan) -> Any", blocks>(kFunction | kTool,
                                               "(number, bytes, home, offset, first step, last step) of each block.");
  def<"_plan_memory(Any plan) -> int", [](Args& a) { return compiled(a[0]).plan->arena_bytes; }>(kFunction | kTool);
  def<"_plan_modes() -> int", [](Args&) { return plan_modes(); }>(
      kFunction | kTool, "The modes of this thread that a plan depends on, -1 if nothing can be captured in them.");
  def<"_plan_uses(Any plan) -> Any", [](Args& a) {
    const Compiled& c = compiled(a[0]);
    return Py_BuildValue("(LL)", static_cast<long long>(c.uses), static_cast<long long>(c.last_use));
  }>(kFunction | kTool, "How often a plan has run, and a number that grows with the time of its last use.");
  def<"_plan_used(Tensor input) -> bool", [](Args& a) {
    const Tensor& t = a.tensor(0);
    return requires_grad(t) && t->grad_fn && grad_fn(t)->released;
  }>(kFunction | kTool, "Whether a backward pass has gone through the graph of a tensor.");
});

}  // namespace genesis::py
