// A plan with the tensors that it works on, as genesis.compile uses it.
//
// A capture knows the tensors that exist before it as sources: an argument, a fixed tensor (a parameter, say), or the
// gradient of one of them. What a call leaves behind is results: tensors that it returns, and gradients.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "autograd/meta.h"
#include "bindings/object.h"
#include "core/capture.h"
#include "plan/plan.h"

namespace genesis::py {

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
  bool written = false, late = false;  // by the plan; used by its second part
  Tensor captured;                     // while captured
};
struct Result {
  enum Kind : uint8_t { Same, Alias, New } kind = New;
  Source source{};  // of Same
  uint32_t block = 0;
  int64_t offset = 0;
  DType dtype = DType::Float32;
  Dims shape, strides;
  int twin = -1;        // the number of an earlier result that is the same tensor
  bool shared = false;  // there is a twin
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

// Whether a backward pass calls functions of the user when it reaches a tensor.
inline bool has_hooks(const Tensor& t) {
  if (t->grad_fn) {
    const NodeExtras* extras = grad_fn(t)->extras_if_any();
    return extras && std::any_of(extras->output_hooks.begin(), extras->output_hooks.end(),
                                 [](const auto& h) { return h.hook->object() != nullptr; });
  }
  const TensorMeta* m = meta_if_any(t);
  if (!m) return false;
  const auto live = [](const Ref<Hook>& hook) { return hook->object() != nullptr; };
  return std::any_of(m->hooks.begin(), m->hooks.end(), live) ||
         std::any_of(m->post_accumulate_hooks.begin(), m->post_accumulate_hooks.end(), live);
}

// The size of the memory that a tensor spans.
inline int64_t extent(const Tensor& t) {
  if (t.numel() == 0) return 0;
  int64_t last = 0;
  for (int d = 0; d < t.dim(); ++d) last += (t.size(d) - 1) * t.stride(d);
  return (last + 1) * itemsize(t.dtype());
}

// A storage that is kept.
class StorageRef {
 public:
  StorageRef() = default;
  explicit StorageRef(Storage* storage) : storage_(storage) { storage->retain(); }
  StorageRef(StorageRef&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  StorageRef& operator=(StorageRef&& other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~StorageRef() { reset(); }
  void reset() {
    if (Storage* const s = std::exchange(storage_, nullptr)) s->release();
  }
  Storage* get() const { return storage_; }

 private:
  Storage* storage_ = nullptr;
};

// What one run needs; it is used again by later ones.
struct Workspace {
  explicit Workspace(const plan::Plan& plan)
      : instance(plan), segments(plan.segments.size()), outputs(plan.homes.size()) {}
  plan::Instance instance;
  std::vector<char*> segments;      // of the arena
  std::vector<StorageRef> outputs;  // of blocks
  std::vector<Tensor> arguments;
  std::vector<Tensor> externals;  // as they were
  std::vector<uint32_t> versions;
  std::vector<Tensor> made;  // results that are shared
};

class Compiled {
 public:
  std::vector<Tensor> fixed;
  std::vector<External> externals;
  std::vector<Leaf> leaves;
  std::vector<Result> results;                   // returned ones first
  size_t returned = 0, first_returned = 0;       // of both parts, of the first
  std::vector<std::vector<GradEffect>> effects;  // before each host action, and at the end
  std::vector<Source> replaced;                  // leaves whose gradient the plan replaces without reading it
  size_t first_arguments = 0;                    // of the first part
  bool gradients_matter = false;                 // those that leaves have before a call
  std::unique_ptr<plan::Plan> plan;
  std::vector<std::unique_ptr<Workspace>> workspaces;  // that no run uses
  int64_t second_part = -1;
  bool brief = false;              // runs take so little time that they keep the interpreter lock
  int64_t uses = 0, last_use = 0;  // number of runs, and when the last was

  // While captured.
  std::vector<Tensor> arguments;
  std::vector<Tensor> kept;  // results, so that their memory is not reused

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
    if (!requires_grad(t)) return;
    if (has_hooks(t)) capture::interrupt("a tensor has hooks");
    if (t->grad_fn) return;
    s.gradient = true;
    const Tensor& grad = tensor(s, arguments);
    add_external(s, grad);
    s.gradient = false;
    leaves.push_back({s, grad, grad.defined()});
  }
  // Records what happened to gradients since the previous call.
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
    for (size_t i = 0; i < kept.size(); ++i)
      if (kept[i].impl() == t.impl()) {
        Result twin = results[i];
        if (twin.twin < 0) twin.twin = static_cast<int>(i);
        results[static_cast<size_t>(twin.twin)].shared = true;
        twin.shared = false;
        return push_result(t, std::move(twin));
      }
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
    return push_result(t, std::move(r));
  }
  int push_result(const Tensor& t, Result r) {
    kept.push_back(t);
    results.push_back(std::move(r));
    return static_cast<int>(results.size()) - 1;
  }
};

inline constexpr const char* kPlan = "genesis.plan";
inline Compiled& compiled(PyObject* capsule) {
  void* p = PyCapsule_GetPointer(capsule, kPlan);
  if (!p) throw_python();
  return *static_cast<Compiled*>(p);
}
// Whether this thread captures.
bool is_capturing();
// The modes of this thread that a plan depends on, -1 if nothing can be captured in them.
int64_t plan_modes();
// Appends the tensors of a list.
void append_tensors(PyObject* list, std::vector<Tensor>& tensors);
inline std::vector<Tensor> tensors_of(PyObject* list) {
  std::vector<Tensor> tensors;
  append_tensors(list, tensors);
  return tensors;
}

// Whether two objects are the same, or equal numbers or strings.
bool same_value(PyObject* now, PyObject* then);
// The number of the first guard that fails, -1 if none does.
int64_t failing_guard(PyObject* guards);

}  // namespace genesis::py
