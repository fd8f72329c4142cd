// The device that this thread's operators compute on.
//
// Tensors of the meta device have a shape, strides and a dtype but no memory. While `on_meta` is set, new tensors are
// of that device, kernels return without computing (kernels/kernel.h), and reading values on the host raises
// (Tensor::data). The bindings set it for a call whose arguments are on the meta device.
#pragma once

namespace genesis {

inline thread_local constinit bool on_meta = false;

class OnDevice {
 public:
  explicit OnDevice(bool meta) : before_(on_meta) { on_meta = meta; }
  ~OnDevice() { on_meta = before_; }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  bool before_;
};

// Raises NoDataError.
[[noreturn]] void fail_no_data();

}  // namespace genesis
