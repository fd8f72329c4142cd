// Those who look on while operations run: the profiler, the checks for NaN, anomaly mode (bindings/observe.cpp).
//
// There is one place where forward operations are seen (the call from Python, bindings/observed.h) and one for backward
// (engine/backward.cpp). `observer` is null unless somebody looks, so an operation pays a load and a branch.
#pragma once

#include "autograd/node.h"

namespace genesis {

class Observer {
 public:
  virtual void begin_pass(const char* caller) = 0;
  virtual void end_pass() noexcept = 0;
  virtual void begin_node(const Node& node) = 0;
  virtual void end_node() noexcept = 0;
  // node.apply(dy), looked at.
  virtual Grads apply(Node& node, Grads&& dy) = 0;

 protected:
  ~Observer() = default;
};

// Read and written with the interpreter lock held. What it points to lives for ever.
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
