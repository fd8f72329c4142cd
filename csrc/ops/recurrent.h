// Recurrent layers: one layer in one direction over a sequence.
#pragma once

#include <string>
#include <vector>

#include "core/tensor.h"

namespace genesis::ops {

struct RecurrentState {
  Tensor out, h, c;  // c for an LSTM only
};

struct RecurrentWeights {
  Tensor ih, hh;            // (gates * hidden, inputs), (gates * hidden, outputs)
  Tensor bias_ih, bias_hh;  // (gates * hidden,), or undefined
  Tensor hr;                // for an LSTM with a projection: (outputs, hidden)
};

/// `mode` is RNN_TANH, RNN_RELU, LSTM or GRU. x is (steps, batch, inputs), or (rows, inputs) with the number of rows of
/// each step in `sizes`, which do not grow. h0 and c0, (batch, ...), may be undefined: zero. `reverse` runs from the
/// last step to the first. The output has the rows of x; h and c are the last states of each sequence.
RecurrentState recurrent_layer(const std::string& mode, const Tensor& x, const std::vector<int64_t>& sizes,
                               const Tensor& h0, const Tensor& c0, const RecurrentWeights& weights, bool reverse);

}  // namespace genesis::ops
