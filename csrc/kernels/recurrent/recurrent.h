// A recurrent layer over a sequence, in one direction, and its gradient.
//
// Sequences of different lengths are packed: step t has sizes[t] rows, never more than the previous step, which are the
// first sizes[t] of the batch. A matrix "of all rows" contains those of step 0, then those of step 1, and so on. All
// views are contiguous and float32 or float64. A View without data is zero as an input, and not needed as a result.
#pragma once

#include "core/view.h"
#include "kernels/kernel.h"

namespace genesis::kernels {

enum class Cell { Tanh, Relu, Lstm, Gru };
inline int64_t gates_of(Cell cell) { return cell == Cell::Lstm ? 4 : cell == Cell::Gru ? 3 : 1; }

struct Sequence {
  const int64_t* sizes;
  const int64_t* offsets;  // row at which step t begins
  int64_t steps;
  bool reverse;  // runs from the last step to the first

  template <class A>
  void arguments(A& a) {
    a.array(sizes, steps);
    a.array(offsets, steps + 1);
  }
};

struct RecurrentLayer {
  Cell cell;
  Sequence sequence;
  View h0, c0;     // (batch, outputs), (batch, hidden); c0 for an LSTM
  View weight_hh;  // (gates * hidden, outputs)
  View bias;       // (gates * hidden,): of the inputs for a GRU, otherwise of all
  View bias_hh;    // for a GRU: (3 * hidden,)
  View weight_hr;  // for an LSTM with a projection: (outputs, hidden)

  template <class A>
  void arguments(A& a) {
    a.visit(sequence);
    for (View* x : {&h0, &c0, &weight_hh, &bias, &bias_hh, &weight_hr}) a.read(*x);
  }
};

// x is (rows, inputs), weight_ih (gates * hidden, inputs). If they are absent, `gates` contains their product on entry.
// On return, it contains the data for the gradient, for all rows: for an LSTM, the gates i, f, g, o; for a GRU, r, z, n
// and the hidden part of n, so it needs room for one more. `cells` (LSTM) and `out` are for all rows, too. hn and cn
// are the last states of each sequence.
inline constinit Kernel<void(const RecurrentLayer& layer, View x, View weight_ih, View out, View hn, View cn,
                             View gates, View cells)>
    recurrent_forward{.writes = 0b1111100};

// The gradient runs backward through steps [first, end) in execution order, so that its results can be used while they
// are in the cache. Their rows start at `row`.
struct RecurrentGradients {
  int64_t first, end, row;
  bool packed;         // the previous call on this thread was for later steps of the same layer: the weights are packed
  View dout;           // for all rows; may be absent
  View dh, dc;         // (batch, ...): on entry, of the states after these steps; on return, of those before
  bool initial;        // whether the gradient of the initial state is needed
  View dgates;         // for the rows of these steps: of the contributions of the inputs, (gates * hidden)
  View dgates_hidden;  // for a GRU: of the contributions of the hidden state
  View dprojected;     // for an LSTM with a projection: of its results

  template <class A>
  void arguments(A& a) {
    a.read(dout);
    for (View* x : {&dh, &dc, &dgates, &dgates_hidden, &dprojected}) a.written(*x);
  }
};
inline constinit Kernel<void(const RecurrentLayer& layer, const RecurrentGradients& grads, View out, View gates,
                             View cells)>
    recurrent_backward{.writes = 0b111};

// The hidden state before each row, for all rows.
inline constinit Kernel<void(const Sequence& sequence, View previous, View out, View h0)> recurrent_previous;

}  // namespace genesis::kernels
