#include "ops/search.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static DType index_type(Args& a, int i) { return a.boolean(i, false) ? DType::Int32 : DType::Int64; }

static const Family family({.kind = Kind::Sort, .page = "comparison"}, [] {
  def<"searchsorted(Tensor sorted_sequence, Operand input, *, bool out_int32=False, bool right=False, str? "
      "side=None, "
      "Tensor? sorter=None, Tensor? out=None) -> Tensor",
      [](Args& a) {
        bool right = a.boolean(3);
        if (a.has(4)) {
          const std::string side = a.string(4);
          require(side == "left" || side == "right", "searchsorted: side must be 'left' or 'right', got '", side, "'");
          require(!(right && side == "left"), "searchsorted: side='left' contradicts right=True");
          right = side == "right";
        }
        return ops::searchsorted(a.tensor(0), a.operand(1), right, a.optional_tensor(5), index_type(a, 2));
      }>(kFunction, "Where each element of input would be put into sorted_sequence to keep it in order.");
  def<"bucketize(Operand input, Tensor boundaries, *, bool out_int32=False, bool right=False, Tensor? out=None) -> "
      "Tensor",
      [](Args& a) {
        const Tensor& boundaries = a.tensor(1);
        require(boundaries.dim() == 1, "bucketize: boundaries must have one dimension, got shape ", boundaries.shape());
        return ops::searchsorted(boundaries, a.operand(0), a.boolean(3), Tensor(), index_type(a, 2));
      }>(kFunction, "The number of the bucket between boundaries that each element of input falls into.");
  def<"isin(Operand elements, Operand test_elements, *, bool assume_unique=False, bool invert=False, Tensor? "
      "out=None) "
      "-> Tensor",
      [](Args& a) { return ops::isin(a.operand(0), a.operand(1), a.boolean(3)); }>(
      kFunction, "Whether each element is among test_elements; with invert, whether it is not.");
  def<"bincount(Tensor input, Tensor? weights=None, int minlength=0) -> Tensor",
      [](Args& a) { return ops::bincount(a.tensor(0), a.optional_tensor(1), a.integer(2)); }>(
      kBoth, "How often each of 0, 1, 2, ... occurs in input, or the sum of its weights.",
      {.kind = Kind::Reduction, .page = "reduction"});
  def<"histc(Tensor input, int bins=100, float min=0, float max=0, *, Tensor? out=None) -> Tensor",
      [](Args& a) { return ops::histc(a.tensor(0), a.integer(1), a.number(2), a.number(3)); }>(
      kBoth, "The number of elements in each of `bins` equal parts of [min, max], or of the range of input.",
      {.kind = Kind::Reduction, .flops = Flops::Output, .page = "reduction"});
});

}  // namespace genesis::py
