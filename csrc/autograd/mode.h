// Whether operations are recorded: state of each thread.
#pragma once

#include <cstdint>

namespace genesis {

class Recorder;    // autograd/recorder.h
class SavedHooks;  // autograd/node.h

struct GradMode {
  bool enabled = true;                // no_grad, enable_grad, set_grad_enabled
  bool inference = false;             // inference_mode: results can never enter a graph
  Recorder* recorder = nullptr;       // the innermost tape; it records all floating tensors
  SavedHooks* saved_hooks = nullptr;  // the innermost pair of hooks for saved tensors
  uint32_t thread = 0;                // this thread's number from 1 on, 0 until it first records
};

inline thread_local constinit GradMode grad_mode;

inline uint32_t this_thread() {
  static constinit uint32_t threads = 0;  // counted with the GIL held
  if (!grad_mode.thread) [[unlikely]]
    grad_mode.thread = ++threads;
  return grad_mode.thread;
}

class WithGradMode {
 public:
  explicit WithGradMode(bool enabled) : before_(grad_mode.enabled) { grad_mode.enabled = enabled; }
  ~WithGradMode() { grad_mode.enabled = before_; }
  WithGradMode(const WithGradMode&) = delete;
  WithGradMode& operator=(const WithGradMode&) = delete;

 private:
  bool before_;
};

}  // namespace genesis
