// What a capture (plan/recorder.h) observes: kernel calls, the memory of tensors, and everything that a plan could not
// repeat.
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

// The capture of this thread; null while a kernel runs. One per thread: kernels of other threads, which read it, run
// without the GIL, and what other threads compute is not part of the capture.
inline thread_local constinit Observer* observer = nullptr;

// The capture of any thread, which must be notified of memory that other threads free. Accessed with the GIL held.
inline constinit Observer* any_observer = nullptr;

// Ends a capture, if there is one: the function continues, but no plan is made.
inline void interrupt(const char* reason) {
  if (observer) [[unlikely]]
    observer->interrupt(reason);
}

}  // namespace capture
}  // namespace genesis
