// Whether operations are recorded: state of each thread.
#pragma once

namespace genesis {

struct GradMode {
  bool enabled = true;     // no_grad, enable_grad, set_grad_enabled
  bool inference = false;  // inference_mode: results can never enter a graph
  int tapes = 0;           // tapes recording: every floating tensor is watched
};

inline thread_local constinit GradMode grad_mode;

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
