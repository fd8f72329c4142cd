// How a capture (plan/recorder.h) sees what runs: kernel calls, the memory of tensors, and everything that a
// plan could not repeat.
#pragma once

namespace genesis {

struct Storage;

namespace capture {

class Observer {
 public:
  virtual void allocated(Storage& storage) = 0;
  virtual void freed(Storage& storage) = 0;
  // Something happens that a plan cannot repeat.
  virtual void interrupt(const char* reason) = 0;

 protected:
  ~Observer() = default;
};

// Null unless a capture is under way, and null while a kernel runs. Interpreter lock held.
inline constinit Observer* observer = nullptr;

// Ends a capture, if there is one: the function continues, but no plan is made.
inline void interrupt(const char* reason) {
  if (observer) [[unlikely]]
    observer->interrupt(reason);
}

}  // namespace capture
}  // namespace genesis
