// The interface of tapes (bindings/tape.cpp), which are informed of recorded nodes. Tapes form a list, innermost first.
#pragma once

#include "autograd/node.h"

namespace genesis {

class Recorder {
 public:
  // Whether operations on x are recorded although x does not require grad.
  virtual bool watches(const Tensor& x) const = 0;
  // Whether x was computed on this tape, so that its history is part of what is recorded now.
  virtual bool made(const Tensor& x) const = 0;
  // y is output `index` of `node`, whose edges are set. Called once for each output of a node.
  virtual void recorded(Node& node, const Tensor& y, uint32_t index) = 0;

  Recorder* outer = nullptr;

 protected:
  ~Recorder() = default;
};

}  // namespace genesis
