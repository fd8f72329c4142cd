// One backward pass. Start reading at Pass::run.
//
// 1. discover() traverses the graph from the roots, iteratively, and counts how many gradients each node will receive.
//    If the gradients of particular tensors are requested, it also marks the nodes that lead to them.
// 2. run() takes nodes whose gradients have all arrived, newest first, calls their rule, and passes the results on. The
//    order depends on the graph only, so a sum of gradients is always computed in the same order.
//
// The bookkeeping of a node is a Slot. The node stores the index of its slot; if another pass is running (a backward
// inside a hook, or in another thread), a map is used instead, because a node has fields for one pass only.
#include "engine/backward.h"

#include <algorithm>
#include <unordered_map>

#include "autograd/observe.h"
#include "core/parallel.h"
#include "engine/rows.h"
#include "ops/create.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/view.h"

namespace genesis::engine {

namespace {

// Where a pass begins or ends. This includes tensors that only a tape recorded, also after the tape has stopped.
Edge recorded_edge(const Tensor& x) {
  Node* node = grad_fn(x);
  if (!node) return gradient_edge(x);
  Edge edge;
  edge.dtype = x.dtype();
  edge.node = Ref<Node>(node);
  edge.index = x->output_index;
  return edge;
}

struct Slot {
  Node* node;
  uint32_t pending = 0;     // gradients that have not arrived yet
  uint32_t next_child = 0;  // of the traversal in discover()
  bool needed = true;
  bool captured = false;
  Grads grads = {};  // one for each output of the node
};

class Pass {
 public:
  Pass(std::span<const Tensor> wanted, Options options) : wanted_(wanted), options_(options), id_(++last_id) {
    results_.resize(wanted.size());
    for (const Tensor& t : wanted) targets_.push_back(recorded_edge(t));
    exclusive_ = running++ == 0;
    outer_ = std::exchange(current, this);
    outer_unwanted_ = std::exchange(unwanted_inputs, 0);
  }
  ~Pass() {
    --running;
    current = outer_;
    unwanted_inputs = outer_unwanted_;
  }

  void add_root(Edge edge, Tensor grad) {
    discover(edge.node.get());
    roots_.push_back({std::move(edge), std::move(grad)});
  }
  std::vector<Tensor> run();

  uint64_t id() const { return id_; }
  bool runs(Node* node) {
    const Slot* slot = find(node);
    return slot && slot->needed;
  }
  static inline thread_local constinit Pass* current = nullptr;

 private:
  Slot* find(Node* node) {
    if (exclusive_) return node->pass_id == id_ ? &slots_[node->pass_slot] : nullptr;
    auto it = map_.find(node);
    return it == map_.end() ? nullptr : &slots_[it->second];
  }
  uint32_t make_slot(Node* node);
  void discover(Node* root);
  void deliver(Slot& slot, uint32_t index, Tensor&& grad);
  void run_node(uint32_t number);
  void run_tensor_hooks(Node* node, Grads& grads);
  Grads apply(Node& node, Grads&& grads);
  Grads apply_to_rows(Node& node, const Grads& grads);
  void run_leaf(AccumulateGrad& node, Grads& grads);
  void ready(uint32_t number) {
    const Node* node = slots_[number].node;
    heap_.push_back({node->is_leaf() ? UINT64_MAX : node->sequence, number});
    std::push_heap(heap_.begin(), heap_.end());
  }

  std::span<const Tensor> wanted_;
  Options options_;
  uint64_t id_;
  bool exclusive_;
  Pass* outer_;  // the pass of this thread during which this one runs, in a hook or a rule
  uint64_t outer_unwanted_;
  std::vector<Slot> slots_;
  std::unordered_map<Node*, uint32_t> map_;
  std::vector<std::pair<Edge, Tensor>> roots_;
  std::vector<Edge> targets_;
  std::vector<Tensor> results_;
  std::vector<std::pair<uint64_t, uint32_t>> heap_;

  static inline uint64_t last_id = 0;
  static inline int running = 0;
};

uint32_t Pass::make_slot(Node* node) {
  const auto number = static_cast<uint32_t>(slots_.size());
  Slot slot{.node = node};
  if (!wanted_.empty()) {
    slot.needed = false;
    for (const Edge& target : targets_)
      if (target.node.get() == node) slot.needed = slot.captured = true;
  }
  slots_.push_back(std::move(slot));
  if (exclusive_) {
    node->pass_id = id_;
    node->pass_slot = number;
  } else {
    map_[node] = number;
  }
  return number;
}

void Pass::discover(Node* root) {
  if (find(root)) return;
  std::vector<uint32_t> path{make_slot(root)};
  while (!path.empty()) {
    const uint32_t number = path.back();
    const std::span<Edge> edges = slots_[number].node->edges();
    if (slots_[number].next_child == edges.size()) {
      path.pop_back();
      if (!wanted_.empty())
        for (const Edge& edge : edges)
          if (edge.node && find(edge.node.get())->needed) slots_[number].needed = true;
      continue;
    }
    Node* child = edges[slots_[number].next_child++].node.get();
    if (!child) continue;
    Slot* slot = find(child);
    if (!slot) {
      path.push_back(make_slot(child));
      slot = &slots_[path.back()];
    }
    ++slot->pending;
  }
}

// Whether x or y is a gradient that is not dense.
bool special(const Tensor& x, const Tensor& y) {
  if (!special_gradients.is_one) [[likely]]
    return false;
  return special_gradients.is_one(x) || (y.defined() && special_gradients.is_one(y));
}

// Adds to `sum`, which is undefined at first.
void add_gradient(Tensor& sum, Tensor&& grad, bool create_graph) {
  if (!sum.defined()) {
    sum = std::move(grad);
  } else if (special(sum, grad)) [[unlikely]] {
    sum = special_gradients.add(sum, grad);
  } else if (!create_graph && sum.exclusive() && sum.dtype() == grad.dtype()) {
    ops::add_into(sum, sum, grad);
  } else if (!create_graph && grad.exclusive() && sum.dtype() == grad.dtype()) {
    ops::add_into(grad, sum, grad);
    sum = std::move(grad);
  } else {
    sum = ops::add(sum, grad);
  }
}

void Pass::deliver(Slot& slot, uint32_t index, Tensor&& grad) {
  if (slot.grads.size() < static_cast<int>(slot.node->num_outputs))
    slot.grads.resize(static_cast<int>(slot.node->num_outputs));
  add_gradient(slot.grads[static_cast<int>(index)], std::move(grad), options_.create_graph);
}

// Gradients that are passed to a hook, which may change their values, but not their shapes or dtypes.
class Shown {
 public:
  explicit Shown(const Grads& grads) : grads_(grads) {
    for (const Tensor& g : grads_) infos_.push_back(g.defined() ? GradInfo{g.shape(), g.dtype()} : GradInfo{});
  }
  void require_same(const char* what) const {
    for (int i = 0; i < grads_.size(); ++i) {
      const Tensor& g = grads_[i];
      if (!g.defined()) continue;
      const GradInfo& before = infos_[static_cast<size_t>(i)];
      require<GraphError>(g.shape() == before.shape && g.dtype() == before.dtype, what, " made a gradient of shape ",
                          before.shape, " and dtype ", before.dtype, " one of shape ", g.shape(), " and dtype ",
                          g.dtype(), " in place (by resize_ or .data); return a new tensor of the same shape instead");
    }
  }

 private:
  struct GradInfo {
    Dims shape;
    DType dtype = DType::Float32;
  };
  Grads grads_;
  std::vector<GradInfo> infos_;
};

Tensor call_hook(Hook& hook, Tensor grad, bool create_graph) {
  if (!hook.object()) return grad;  // removed, perhaps by the previous hook
  capture::interrupt("a hook of a tensor runs");
  if (!create_graph && !grad.exclusive() && !grad->foreign()) grad = ops::clone(grad);  // the hook may write to it
  const Shown shown(Grads{grad});
  Tensor replaced = hook.call(grad);
  shown.require_same("register_hook: the hook");
  if (!replaced.defined()) return grad;
  require<GraphError>(replaced.shape() == grad.shape(), "register_hook: the hook returned a gradient of shape ",
                      replaced.shape(), " in place of one of shape ", grad.shape());
  return replaced;
}

// Copies the lists, because a hook may add and remove hooks.
void run_before(Node& node, Grads& grads) {
  NodeExtras* extras = node.extras_if_any();
  if (!extras || extras->pre_hooks.empty()) return;
  const auto hooks = extras->pre_hooks;
  for (const Ref<NodeHook>& hook : hooks)
    if (hook->object()) {
      const Shown shown(grads);
      hook->call(grads, Grads{});
      shown.require_same("register_prehook: the hook");
    }
}
void run_after(Node& node, Grads& out, const Grads& seen) {
  NodeExtras* extras = node.extras_if_any();
  if (!extras || extras->post_hooks.empty()) return;
  const auto hooks = extras->post_hooks;
  for (const Ref<NodeHook>& hook : hooks)
    if (hook->object()) {
      const Shown made(out), received(seen);
      hook->call(out, seen);
      made.require_same("register_hook: the hook of a node");
      received.require_same("register_hook: the hook of a node");
    }
}

void Pass::run_tensor_hooks(Node* node, Grads& grads) {
  if (node->is_leaf()) {
    TensorMeta* m = meta_if_any(static_cast<AccumulateGrad*>(node)->leaf);
    if (!m || m->hooks.empty() || !grads[0].defined()) return;
    const auto hooks = m->hooks;
    for (const Ref<Hook>& hook : hooks) grads[0] = call_hook(*hook, grads[0], options_.create_graph);
    return;
  }
  NodeExtras* extras = node->extras_if_any();
  if (!extras) return;
  const auto output_hooks = extras->output_hooks;
  for (const auto& h : output_hooks) {
    Tensor& grad = grads[static_cast<int>(h.index)];
    if (grad.defined()) grad = call_hook(*h.hook, grad, options_.create_graph);
  }
  for (size_t i = 0; i < extras->retained.size(); ++i) {  // the destructor of a tensor removes it from the list
    const Tensor tensor(extras->retained[i].tensor);
    Tensor& grad = grads[static_cast<int>(extras->retained[i].index)];
    if (grad.defined()) accumulate_grad(tensor, grad, options_.create_graph);
  }
}

void Pass::run_leaf(AccumulateGrad& node, Grads& grads) {
  const Tensor leaf = node.leaf;
  // A tape also receives gradients of tensors that do not require grad, but only those that require grad store them.
  if (!leaf->requires_grad) return;
  run_before(node, grads);
  const bool hooked = node.extras_if_any() && !node.extras_if_any()->post_hooks.empty();
  const Grads seen = hooked ? grads : Grads{};
  if (grads[0].defined()) accumulate_grad(leaf, std::move(grads[0]), options_.create_graph);
  if (TensorMeta* m = meta_if_any(leaf); m && !m->post_accumulate_hooks.empty()) {
    const auto hooks = m->post_accumulate_hooks;
    for (const Ref<Hook>& hook : hooks)
      if (hook->object()) hook->call(leaf);
    if (const Tensor& kept = m->grad; kept.defined())
      require<GraphError>(kept.shape() == leaf.shape(),
                          "register_post_accumulate_grad_hook: the hook left a gradient of shape ", kept.shape(),
                          " with a tensor of shape ", leaf.shape(), "; do not resize it");
  }
  Grads none;
  run_after(node, none, seen);
}

bool has_tensor_hooks(const Node& node) {
  if (node.is_leaf()) {
    const TensorMeta* m = meta_if_any(static_cast<const AccumulateGrad&>(node).leaf);
    return m && !m->hooks.empty();
  }
  const NodeExtras* extras = node.extras_if_any();
  return extras && !(extras->output_hooks.empty() && extras->retained.empty());
}

Grads Pass::apply(Node& node, Grads&& grads) {
  NodeExtras* extras = node.extras_if_any();
  if (!extras) [[likely]]
    return observer ? observer->apply(node, std::move(grads)) : node.apply(std::move(grads));
  struct Forget {
    Node& node;
    ~Forget() { node.forget_unpacked(); }
  } const forget{node};
  run_before(node, grads);
  const Grads seen = extras->post_hooks.empty() ? Grads{} : grads;
  Grads out = observer ? observer->apply(node, std::move(grads)) : node.apply(std::move(grads));
  run_after(node, out, seen);
  return out;
}

Grads Pass::apply_to_rows(Node& node, const Grads& grads) {
  const RowRule how = node.extras_if_any() ? RowRule::EachRow : options_.row_rule(node);
  if (how != RowRule::EachRow) {
    Grads out = apply(node, Grads(grads));
    if (how == RowRule::Elementwise)
      for (int i = 0; i < out.size(); ++i)
        if (out[i].defined()) out[i] = with_rows(out[i], grads[0], node.edges()[static_cast<size_t>(i)].shape.get());
    return out;
  }
  std::vector<Grads> rows;
  for (int64_t i = 0; i < options_.rows; ++i) rows.push_back(apply(node, row(grads, i)));
  return stack_rows(rows);
}

void Pass::run_node(uint32_t number) {
  Ref<Node> node(slots_[number].node);
  Grads grads = std::move(slots_[number].grads);
  bool any = false;
  for (const Tensor& g : grads) any = any || g.defined();
  if (any && slots_[number].needed) {
    if (options_.rows == 0) {
      run_tensor_hooks(node.get(), grads);
    } else if (has_tensor_hooks(*node)) {
      std::vector<Grads> rows;
      for (int64_t i = 0; i < options_.rows; ++i) run_tensor_hooks(node.get(), rows.emplace_back(row(grads, i)));
      grads = stack_rows(rows);
    }
  }
  if (any && slots_[number].captured)
    for (size_t i = 0; i < targets_.size(); ++i)
      if (targets_[i].node.get() == node.get()) results_[i] = grads[static_cast<int>(targets_[i].index)];
  if (any && options_.sink) options_.sink->arrived(*node, grads);

  if (node->is_leaf()) {
    if (any && options_.accumulate && slots_[number].needed) run_leaf(static_cast<AccumulateGrad&>(*node), grads);
    return;
  }

  const std::span<Edge> edges = node->edges();
  bool wanted_below = false;
  if (wanted_.empty()) {
    for (const Edge& edge : edges) wanted_below = wanted_below || edge.node;
  } else {
    unwanted_inputs = 0;
    for (size_t i = 0; i < edges.size(); ++i) {
      if (!edges[i].node) continue;
      if (find(edges[i].node.get())->needed) wanted_below = true;
      else if (i < 64) unwanted_inputs |= uint64_t{1} << i;
    }
  }
  Grads out;
  if (any && wanted_below) {
    out = options_.rows == 0 ? apply(*node, std::move(grads)) : apply_to_rows(*node, grads);
    if (!options_.retain_graph) node->release_saved();
  }
  for (size_t i = 0; i < edges.size(); ++i) {
    const Edge& edge = edges[i];
    if (!edge.node) continue;
    Slot& below = *find(edge.node.get());
    if (static_cast<int>(i) < out.size() && out[static_cast<int>(i)].defined() && below.needed) {
      Tensor g = std::move(out[static_cast<int>(i)]);
      if (edge.shape) g = options_.rows == 0 ? ops::sum_to(g, *edge.shape) : sum_rows_to(g, *edge.shape);
      if (g.dtype() != edge.dtype) g = ops::cast(g, edge.dtype);
      deliver(below, edge.index, std::move(g));
    }
    if (--below.pending == 0) ready(static_cast<uint32_t>(&below - slots_.data()));
  }
}

std::vector<Tensor> Pass::run() {
  const WithGradMode mode(options_.create_graph);
  for (auto& [edge, grad] : roots_) deliver(*find(edge.node.get()), edge.index, std::move(grad));
  for (auto& [edge, grad] : roots_) {
    Slot* slot = find(edge.node.get());
    const auto number = static_cast<uint32_t>(slot - slots_.data());
    // A root below another root waits for it; a repeated root starts once.
    if (slot->pending == 0) {
      slot->pending = UINT32_MAX;
      ready(number);
    }
  }
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const uint32_t number = heap_.back().second;
    heap_.pop_back();
    if (!observer) [[likely]] {
      run_node(number);
    } else {
      const ObservedNode observed(*slots_[number].node);
      run_node(number);
    }
  }
  return std::move(results_);
}

}  // namespace

uint64_t current_pass() { return Pass::current ? Pass::current->id() : 0; }
bool runs(Node* node) { return Pass::current && Pass::current->runs(node); }

// The first gradient of a leaf: a buffer that is not shared, with the layout of the leaf.
static Tensor first_grad(const Tensor& leaf, Tensor&& grad) {
  auto lies_as = [&](const Tensor& other) {
    for (int d = 0; d < grad.dim(); ++d)
      if (grad.size(d) != 1 && grad.stride(d) != other.stride(d)) return false;
    return true;
  };
  if (!lies_as(leaf)) [[unlikely]] {
    const Tensor own = empty_like(leaf);
    if (!lies_as(own)) return ops::copy_(own, grad);
  }
  return grad.exclusive() ? std::move(grad) : ops::clone(grad);
}

void accumulate_grad(const Tensor& leaf, Tensor grad, bool create_graph) {
  if (grad.dtype() != leaf.dtype()) grad = ops::cast(grad, leaf.dtype());
  // Two threads may add gradients to the same leaf: reading the old sum and storing the new one must be atomic.
  const KeepLocked locked;
  TensorMeta& m = meta(leaf);
  if (special(grad, m.grad)) [[unlikely]] {
    m.grad = m.grad.defined() ? special_gradients.add(m.grad, grad) : std::move(grad);
  } else if (!m.grad.defined()) {
    m.grad = create_graph ? std::move(grad) : first_grad(leaf, std::move(grad));
  } else if (create_graph || requires_grad(m.grad)) {
    m.grad = ops::add(m.grad, grad);
  } else {
    ops::add_into(m.grad, m.grad, grad);
    m.grad->storage->written("backward");
  }
}

std::vector<Tensor> backward(const char* caller, std::span<const Tensor> roots, std::span<const Tensor> grads,
                             std::span<const Tensor> wanted, Options options) {
  const ObservedPass observed(caller);
  Pass pass(wanted, options);
  for (size_t i = 0; i < roots.size(); ++i) {
    const Tensor& root = roots[i];
    Tensor grad = i < grads.size() ? grads[i] : Tensor();
    Edge edge = recorded_edge(root);
    require<GraphError>(
        static_cast<bool>(edge.node), caller, ": tensor ", i, " of shape ", root.shape(),
        " does not require grad and has no grad_fn; call requires_grad_() on an input before computing it");
    if (!grad.defined()) {
      require<GraphError>(root.numel() == 1, caller, ": the tensor has shape ", root.shape(),
                          "; pass gradient= of that shape, or reduce it to a scalar first, e.g. with .sum()");
      require<GraphError>(!is_complex(root.dtype()), caller, ": the tensor is ", root.dtype(),
                          ", and only real numbers have a gradient by themselves; pass gradient=, or make the loss "
                          "real, e.g. with .abs()");
      grad = ops::ones(root.shape(), root.dtype());
      if (options.rows > 0) grad = ops::expand(grad, batch_of(options.rows, root.shape()));
    } else if (options.rows > 0) {
      require(grad.shape() == batch_of(options.rows, root.shape()), caller, ": with is_grads_batched=True, gradient ",
              i, " has shape ", grad.shape(), ", expected (", options.rows, ", *", root.shape(),
              "): a batch of gradients of the tensor's shape");
      if (grad.dtype() != root.dtype()) grad = ops::cast(grad, root.dtype());
    } else {
      require(grad.shape() == root.shape(), caller, ": gradient has shape ", grad.shape(), " but the tensor has shape ",
              root.shape(), "; pass a gradient of the tensor's shape");
      if (grad.dtype() != root.dtype()) grad = ops::cast(grad, root.dtype());
    }
    pass.add_root(std::move(edge), std::move(grad));
  }
  return pass.run();
}

}  // namespace genesis::engine
