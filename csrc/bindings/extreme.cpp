#include "ops/extreme.h"

#include "bindings/args.h"
#include "bindings/module.h"
#include "core/exact.h"
#include "ops/select.h"

namespace genesis::py {

static PyObject* pair(PyTypeObject* type, const ops::WithIndices& y) { return named(type, {y.values, y.indices}); }

// x.max() is the largest element, x.max(y) the larger of two, x.max(dim) values and indices; x.max(axis=...) returns
// only the values, as in NumPy, unless PyTorch is followed exactly.
template <auto All, auto Along, auto Values, auto OfTwo>
static PyObject* extreme(Args& a, PyTypeObject* type) {
  const int other = a.has(3) ? 3 : a.has(1) && (is_tensor(a[1]) || is_ndarray(a[1])) ? 1 : 0;
  if (other) return to_python(OfTwo(a.operand(0), a.operand(other), {}));
  const Tensor& x = a.tensor(0);
  if (a.aliased(1) && !exact_torch) return to_python(Values(x, a.optional_dims(1), a.boolean(2)));
  if (a.has(1)) return pair(type, Along(x, a.integer(1), a.boolean(2)));
  if (a.boolean(2)) return to_python(Values(x, {}, true));
  return to_python(All(x));
}

template <auto All, auto Along>
static PyObject* middle(Args& a, PyTypeObject* type) {
  if (!a.has(1)) return to_python(All(a.tensor(0)));
  return pair(type, Along(a.tensor(0), a.integer(1), a.boolean(2)));
}

using One = Tensor (*)(const Tensor&);
using Dim = ops::WithIndices (*)(const Tensor&, int64_t, bool);

static const Family family({.kind = Kind::Reduction, .page = "reduction"}, [] {
  def<"max(Tensor input, Tensor|int[]? dim=None, bool keepdim=False, *, Operand? other=None, Tensor|Tensor[]? "
      "out=None) "
      "-> "
      "Tensor|(Tensor values, Tensor indices)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("max", {"values", "indices"});
        return extreme<static_cast<One>(ops::max), static_cast<Dim>(ops::max), ops::amax, ops::maximum>(a, type);
      }>(kBoth, "The largest element; with `dim`, (values, indices); with `axis`, values; max(x, y) is maximum(x, y).");
  def<"min(Tensor input, Tensor|int[]? dim=None, bool keepdim=False, *, Operand? other=None, Tensor|Tensor[]? "
      "out=None) "
      "-> "
      "Tensor|(Tensor values, Tensor indices)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("min", {"values", "indices"});
        return extreme<static_cast<One>(ops::min), static_cast<Dim>(ops::min), ops::amin, ops::minimum>(a, type);
      }>(kBoth,
         "The smallest element; with `dim`, (values, indices); with `axis`, values; min(x, y) is minimum(x, y).");
  def<"amax(Tensor input, int[]? dim=None, bool keepdim=False, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::amax(a.tensor(0), a.optional_dims(1), a.boolean(2));
  }>(kBoth, "The largest elements. Elements that tie share the gradient.");
  def<"amin(Tensor input, int[]? dim=None, bool keepdim=False, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::amin(a.tensor(0), a.optional_dims(1), a.boolean(2));
  }>(kBoth, "The smallest elements. Elements that tie share the gradient.");
  def<"aminmax(Tensor input, *, int? dim=None, bool keepdim=False, Tensor[]? out=None) -> (Tensor min, Tensor max)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("aminmax", {"min", "max"});
        const auto y = ops::aminmax(a.tensor(0), a.optional_integer(1), a.boolean(2));
        return named(type, {y.first, y.second});
      }>(kBoth, "(min, max): smallest and largest elements.");
  def<"argmax(Tensor input, int? dim=None, bool keepdim=False, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::argmax(a.tensor(0), a.optional_integer(1), a.boolean(2));
  }>(kBoth, "The index of the first largest element, of the flattened input or along `dim`.");
  def<"argmin(Tensor input, int? dim=None, bool keepdim=False, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::argmin(a.tensor(0), a.optional_integer(1), a.boolean(2));
  }>(kBoth, "The index of the first smallest element, of the flattened input or along `dim`.");
  def<"median(Tensor input, int[]? dim=None, bool keepdim=False, *, Tensor|Tensor[]? out=None) -> Tensor|(Tensor "
      "values, Tensor indices)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("median", {"values", "indices"});
        return middle<static_cast<One>(ops::median), static_cast<Dim>(ops::median)>(a, type);
      }>(kBoth, "The middle element, the lower of two; with `dim`, (values, indices). NaN if any element is.");
  def<"nanmedian(Tensor input, int[]? dim=None, bool keepdim=False, *, Tensor|Tensor[]? out=None) -> "
      "Tensor|(Tensor "
      "values, Tensor indices)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("nanmedian", {"values", "indices"});
        return middle<static_cast<One>(ops::nanmedian), static_cast<Dim>(ops::nanmedian)>(a, type);
      }>(kBoth, "median() of the elements that are not NaN.");
  def<"mode(Tensor input, int dim=-1, bool keepdim=False, *, Tensor[]? out=None) -> (Tensor values, Tensor "
      "indices)",
      [](Args& a) {
        static PyTypeObject* const type = return_type("mode", {"values", "indices"});
        return pair(type, ops::mode(a.tensor(0), a.integer(1), a.boolean(2)));
      }>(kBoth, "(values, indices) of the most frequent element along `dim`, the smallest of several.");
});

}  // namespace genesis::py
