#include "ops/softmax.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family(
    {.kind = Kind::Activation,
     .autocast = Cast::Wide,
     .batch = Batch::Dims,
     .takes = Takes::Complex,  // converted by `dtype`
     .page = "reduction"},
    [] {
      def<"softmax(Tensor input, int dim, DType? dtype=None, *, Tensor? out=None) -> Tensor", [](Args& a) {
        return ops::softmax(a.tensor(0), a.integer(1), a.optional_dtype(2));
      }>(kBoth, "exp(x) / sum(exp(x)) along `dim`.", {.flops = Flops::FiveInput, .also = "special.softmax"});
      def<"log_softmax(Tensor input, int dim, DType? dtype=None, *, Tensor? out=None) -> Tensor",
          [](Args& a) { return ops::log_softmax(a.tensor(0), a.integer(1), a.optional_dtype(2)); }>(
          kBoth, "log(softmax(x)), computed as x - logsumexp(x).",
          {.flops = Flops::FiveInput, .also = "special.log_softmax"});
      def<"softmin(Tensor input, int dim, DType? dtype=None) -> Tensor", [](Args& a) {
        return ops::softmin(a.tensor(0), a.integer(1), a.optional_dtype(2));
      }>(kBoth, "softmax(-x) along `dim`.");
    });

}  // namespace genesis::py
