// A recurrent layer over a whole sequence, in one direction, and its gradient.
//
// Sequences of different lengths lie packed: step t has sizes[t] rows, never more than the step before, which are the
// first sizes[t] of the batch. A matrix "of all rows" has those of step 0, then those of step 1, and so on. Everything
// is contiguous and float32 or float64. A View without data is zero as an input, and unwanted as a result.
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
  View h0, c0;     // (batch, outputs), (batch, hidden); c0 of an LSTM
  View weight_hh;  // (gates * hidden, outputs)
  View bias;       // (gates * hidden,): of the inputs in a GRU, else of all
  View bias_hh;    // of a GRU: (3 * hidden,)
  View weight_hr;  // of an LSTM with a projection: (outputs, hidden)

  template <class A>
  void arguments(A& a) {
    a.visit(sequence);
    for (View* x : {&h0, &c0, &weight_hh, &bias, &bias_hh, &weight_hr}) a.read(*x);
  }
};

// x is (rows, inputs), weight_ih (gates * hidden, inputs); if they are absent, `gates` comes with their product. It
// leaves as what the gradient needs, of all rows: for an LSTM the gates i, f, g, o; for a GRU r, z, n and the hidden
// part of n, so that it has room for one more. Also of all rows: `cells`, an LSTM's, and `out`. hn and cn are the last
// states of each sequence.
inline constinit Kernel<void(const RecurrentLayer& layer, View x, View weight_ih, View out, View hn, View cn,
                             View gates, View cells)>
    recurrent_forward{.writes = 0b1111100};

// The gradient runs back through the steps number [first, end) in the order of running, so that what it leaves can be
// used while it is in the cache. Their rows are `row` and those after it.
struct RecurrentGradients {
  int64_t first, end, row;
  bool packed;         // the call before, on this thread, was for later steps of the same layer: weights are at hand
  View dout;           // of all rows; may be absent
  View dh, dc;         // (batch, ...): of the states after these steps, and then of those before
  bool initial;        // whether those before step 0 are wanted
  View dgates;         // of the rows of these steps: of what the inputs contribute, (gates * hidden)
  View dgates_hidden;  // of a GRU: of what the hidden state contributes
  View dprojected;     // of an LSTM with a projection: of its results

  template <class A>
  void arguments(A& a) {
    a.read(dout);
    for (View* x : {&dh, &dc, &dgates, &dgates_hidden, &dprojected}) a.written(*x);
  }
};
inline constinit Kernel<void(const RecurrentLayer& layer, const RecurrentGradients& grads, View out, View gates,
                             View cells)>
    recurrent_backward{.writes = 0b111};

// The hidden state before each row, of all rows.
inline constinit Kernel<void(const Sequence& sequence, View previous, View out, View h0)> recurrent_previous;

}  // namespace genesis::kernels
