// Who watches what is recorded: tapes (bindings/tape.cpp), innermost first.
#pragma once

#include "autograd/node.h"

namespace genesis {

class Recorder {
 public:
  // Whether operations on x are to be recorded though x does not require grad.
  virtual bool watches(const Tensor& x) const = 0;
  // Whether x was computed on this tape, so that its history counts for what is recorded now.
  virtual bool made(const Tensor& x) const = 0;
  // y is output `index` of `node`; its edges are in place. A node with several outputs is told once for each.
  virtual void recorded(Node& node, const Tensor& y, uint32_t index) = 0;

  Recorder* outer = nullptr;

 protected:
  ~Recorder() = default;
};

}  // namespace genesis
