#include "ops/recurrent.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family({.kind = Kind::Recurrent, .autocast = Cast::Low, .page = "neural"}, [] {
  def<"_recurrent_layer(str mode, Tensor input, int[]? batch_sizes=None, Tensor? h0=None, Tensor? c0=None, Tensor? "
      "weight_ih=None, Tensor? weight_hh=None, Tensor? bias_ih=None, Tensor? bias_hh=None, Tensor? weight_hr=None, "
      "bool reverse=False) -> Tensor[]",
      [](Args& a) {
        const Dims sizes = a.optional_dims(2);
        const ops::RecurrentState y = ops::recurrent_layer(
            a.string(0), a.tensor(1), std::vector<int64_t>(sizes.begin(), sizes.end()), a.optional_tensor(3),
            a.optional_tensor(4),
            {a.tensor(5), a.tensor(6), a.optional_tensor(7), a.optional_tensor(8), a.optional_tensor(9)},
            a.boolean(10));
        return std::vector<Tensor>{y.out, y.h, y.c};
      }>(kFunction, "One layer of an RNN, LSTM or GRU in one direction over a sequence: its output and last states.");
});

}  // namespace genesis::py
