#include "ops/scan.h"

#include "bindings/args.h"
#include "bindings/module.h"

namespace genesis::py {

static const Family family({.kind = Kind::Scan, .takes = Takes::Complex, .page = "reduction"}, [] {
  def<"cumsum(Tensor input, int dim, *, DType? dtype=None, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::cumsum(a.tensor(0), a.integer(1), a.optional_dtype(2));
  }>(kBoth, "Running sums along `dim`.", {.autocast = Cast::Wide});
  def<"cumprod(Tensor input, int dim, *, DType? dtype=None, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::cumprod(a.tensor(0), a.integer(1), a.optional_dtype(2));
  }>(kBoth, "Running products along `dim`.", {.autocast = Cast::Wide});
  def<"cumsum_(Tensor input, int dim, *, DType? dtype=None) -> Self", [](Args& a) {
    return ops::cumsum_(a.tensor(0), a.integer(1), a.optional_dtype(2));
  }>(kMethod, "cumsum() in place.");
  def<"cumprod_(Tensor input, int dim, *, DType? dtype=None) -> Self", [](Args& a) {
    return ops::cumprod_(a.tensor(0), a.integer(1), a.optional_dtype(2));
  }>(kMethod, "cumprod() in place.");
  def<"cummax(Tensor input, int dim, *, Tensor[]? out=None) -> (Tensor values, Tensor indices)", [](Args& a) {
    static PyTypeObject* const type = return_type("cummax", {"values", "indices"});
    const auto y = ops::cummax(a.tensor(0), a.integer(1));
    return named(type, {y.values, y.indices});
  }>(kBoth, "(values, indices) of the largest element so far, along `dim`.");
  def<"cummin(Tensor input, int dim, *, Tensor[]? out=None) -> (Tensor values, Tensor indices)", [](Args& a) {
    static PyTypeObject* const type = return_type("cummin", {"values", "indices"});
    const auto y = ops::cummin(a.tensor(0), a.integer(1));
    return named(type, {y.values, y.indices});
  }>(kBoth, "(values, indices) of the smallest element so far, along `dim`.");
  def<"logcumsumexp(Tensor input, int dim, *, Tensor? out=None) -> Tensor", [](Args& a) {
    return ops::logcumsumexp(a.tensor(0), a.integer(1));
  }>(kBoth, "log(cumsum(exp(x))) along `dim`, without overflow.", {.autocast = Cast::Wide});
});

}  // namespace genesis::py
