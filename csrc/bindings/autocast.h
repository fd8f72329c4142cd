// Mixed precision: inside an autocast block, or everywhere if genesis.enable_autocast is set, operators called from
// Python cast their arguments according to their traits. Rules of the backward pass call operators directly and are not
// affected: they use the dtypes of the forward pass.
#pragma once

#include <vector>

#include "bindings/args.h"

namespace genesis::py {

// Whether this thread casts, and whether it does so because of the flag, outside of blocks.
bool autocast_on();
bool autocast_by_flag();

// Casts the tensors among the arguments of a function. `keep` owns new tensors; slots borrow them.
void autocast_arguments(const Operator& op, PyObject** slots, std::vector<Tensor>& keep);
// The same for a list.
void autocast_list(const Operator& op, std::vector<Tensor>& list);

// The arguments of a user's Function: half precision, also in lists and tuples, becomes float32.
class WideArguments {
 public:
  WideArguments(PyObject* const* args, Py_ssize_t n);
  PyObject* const* data() const { return pointers_.data(); }

 private:
  std::vector<Object> owned_;
  std::vector<PyObject*> pointers_;
};
// Whether a user's Function receives float32: inside a block, or by genesis.enable_autocast.
bool functions_are_wide();
// Disables autocast for a scope.
class WithoutAutocast {
 public:
  WithoutAutocast();
  ~WithoutAutocast();
  WithoutAutocast(const WithoutAutocast&) = delete;
  WithoutAutocast& operator=(const WithoutAutocast&) = delete;

 private:
  bool enabled_, suspended_;
};

}  // namespace genesis::py
