#include "ops/sort.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static PyObject* pair(PyTypeObject* type, const ops::Sorted& y) { return named(type, {y.values, y.indices}); }

// The requested results of unique: one tensor, or a tuple.
static PyObject* asked(const ops::Unique& y, bool inverse, bool counts) {
  if (!inverse && !counts) return to_python(y.values);
  std::vector<Tensor> list{y.values};
  if (inverse) list.push_back(y.inverse);
  if (counts) list.push_back(y.counts);
  return to_python(list);
}

static const Family family({.kind = Kind::Sort, .page = "comparison"}, [] {
  def<"sort(Tensor input, int dim=-1, bool descending=False, bool stable=False, *, Tensor[]? out=None) -> (Tensor "
      "values, Tensor indices)",
      [](Args& a) {
        static PyTypeObject* type = return_type("sort", {"values", "indices"});
        return pair(type, ops::sort(a.tensor(0), a.integer(1), a.boolean(2)));
      }>(kBoth, "input in order along dim, and where each element stood. Always stable; NaN is the largest.");
  def<"argsort(Tensor input, int dim=-1, bool descending=False, bool stable=False) -> Tensor", [](Args& a) {
    return ops::argsort(a.tensor(0), a.integer(1), a.boolean(2));
  }>(kBoth, "The indices that sort input along dim. Always stable.");
  def<"msort(Tensor input, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::sort(a.tensor(0), 0, false).values;
  }>(kBoth, "input in order along its first dimension.");
  def<"topk(Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True, *, Tensor[]? out=None) -> "
      "(Tensor "
      "values, Tensor indices)",
      [](Args& a) {
        static PyTypeObject* type = return_type("topk", {"values", "indices"});
        return pair(type, ops::topk(a.tensor(0), a.integer(1), a.integer(2), a.boolean(3)));
      }>(kBoth, "The k largest (or smallest) elements along dim, always in order, and where they stood.");
  def<"kthvalue(Tensor input, int k, int dim=-1, bool keepdim=False, *, Tensor[]? out=None) -> (Tensor values, "
      "Tensor "
      "indices)",
      [](Args& a) {
        static PyTypeObject* type = return_type("kthvalue", {"values", "indices"});
        return pair(type, ops::kthvalue(a.tensor(0), a.integer(1), a.integer(2), a.boolean(3)));
      }>(kBoth, "The k-th smallest element along dim, counted from 1, and where it stood.");
  def<"unique(Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None) "
      "-> "
      "Tensor|Tensor[]",
      [](Args& a) { return asked(ops::unique(a.tensor(0), a.optional_integer(4)), a.boolean(2), a.boolean(3)); }>(
      kBoth, "The different elements (or slices along dim) of input, always sorted.");
  def<"unique_consecutive(Tensor input, bool return_inverse=False, bool return_counts=False, int? dim=None) -> "
      "Tensor|Tensor[]",
      [](Args& a) {
        return asked(ops::unique_consecutive(a.tensor(0), a.optional_integer(3)), a.boolean(1), a.boolean(2));
      }>(kBoth, "input without the elements (or slices along dim) that repeat the one before.");
});

}  // namespace genesis::py
