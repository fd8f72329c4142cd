// Observers of operations: the profiler, the checks for NaN, anomaly mode (bindings/observe.cpp).
//
// Forward operations are observed in one place (the call from Python, bindings/observed.h), backward nodes in another
// (engine/backward.cpp). `observer` is null unless an observer is active, so a node pays for a load and a branch.
#pragma once

#include "autograd/node.h"

namespace genesis {

class Observer {
 public:
  virtual void begin_pass(const char* caller) = 0;
  virtual void end_pass() noexcept = 0;
  virtual void begin_node(const Node& node) = 0;
  virtual void end_node() noexcept = 0;
  // Calls node.apply(dy) and observes it.
  virtual Grads apply(Node& node, Grads&& dy) = 0;

 protected:
  ~Observer() = default;
};

// Accessed with the GIL held. The object is never destroyed.
inline constinit Observer* observer = nullptr;

class ObservedPass {
 public:
  explicit ObservedPass(const char* caller) : observer_(observer) {
    if (observer_) observer_->begin_pass(caller);
  }
  ~ObservedPass() {
    if (observer_) observer_->end_pass();
  }
  ObservedPass(const ObservedPass&) = delete;
  ObservedPass& operator=(const ObservedPass&) = delete;

 private:
  Observer* observer_;
};

class ObservedNode {
 public:
  explicit ObservedNode(const Node& node) : observer_(observer) {
    if (observer_) observer_->begin_node(node);
  }
  ~ObservedNode() {
    if (observer_) observer_->end_node();
  }
  ObservedNode(const ObservedNode&) = delete;
  ObservedNode& operator=(const ObservedNode&) = delete;

 private:
  Observer* observer_;
};

}  // namespace genesis
