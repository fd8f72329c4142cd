#include "ops/create.h"

#include "autograd/record.h"
#include "bindings/args.h"
#include "bindings/memory_format.h"
#include "bindings/module.h"
#include "ops/pointwise.h"
#include "ops/view.h"

namespace genesis::py {

// The keyword arguments that every factory ends in: dtype, device, requires_grad at slots i, i+1, i+2.
static Tensor finish(Args& a, int i, Tensor t) {
  a.device(i + 1);
  if (a.boolean(i + 2, false)) set_requires_grad(t, true);
  return t;
}
static DType dtype_or(Args& a, int i, DType absent) { return a.optional_dtype(i).value_or(absent); }

// Requires a shape: zeros() is more likely a mistake than a 0-d tensor.
static Dims sizes(Args& a, int i) {
  if (!a[i]) a.fail(i, "an int or a tuple of ints");
  return a.dims(i);
}

// A 0-d tensor is accepted as a number.
static DType number_dtype(Args& a, int i) {
  return a[i] && is_tensor(a[i]) ? unwrap(a[i]).dtype() : scalar_dtype(a.scalar(i));
}

constexpr ops::MemoryFormat kContiguous = ops::MemoryFormat::Contiguous, kPreserve = ops::MemoryFormat::Preserve;

// Memory for a tensor like the input; `dtype` is the index of that argument, the memory format follows three later.
static Tensor like(Args& a, int dtype) {
  const Tensor& x = a.tensor(0);
  const ops::MemoryFormat format = memory_format(a, dtype + 3, kPreserve);
  const DType type = dtype_or(a, dtype, x.dtype());
  return format == kPreserve ? empty_like(x, type) : ops::empty_in_format(a.name(), x.shape(), type, format);
}
static Tensor filled_like(Args& a, Scalar value, int dtype) {
  if (!a.has(dtype + 3)) return ops::full_like(a.tensor(0), value, dtype_or(a, dtype, a.tensor(0).dtype()));
  const Tensor y = like(a, dtype);
  ops::require_representable(a.name(), value, y.dtype());
  return ops::fill_(y, value);
}

static Tensor arange(Args& a) {
  // arange(end), arange(start, end), arange(start, end, step)
  const bool end_only = !a.has(1);
  if (end_only && !a.has(0)) a.fail(1, "a number");
  const Scalar start = end_only ? Scalar(0) : a.scalar(0), end = a.scalar(end_only ? 0 : 1), step = a.scalar(2);
  const bool floating = start.is_float() || end.is_float() || step.is_float();
  return finish(a, 3, ops::arange(start, end, step, dtype_or(a, 3, floating ? default_dtype : DType::Int64)));
}

// A view of the elements x[i, i, ...].
static Tensor main_diagonal(const Tensor& x, bool wrap) {
  require(x.dim() >= 2, "fill_diagonal_: needs at least 2 dimensions, got shape ", x.shape());
  int64_t stride = 0, length = x.size(0);
  for (int d = 0; d < x.dim(); ++d) {
    require(x.dim() == 2 || x.size(d) == x.size(0),
            "fill_diagonal_: more than 2 dimensions must have one size, got shape ", x.shape());
    stride += x.stride(d);
    length = std::min(length, x.size(d));
  }
  const bool again = wrap && x.dim() == 2 && x.size(0) > x.size(1) + 1;
  if (!again) return ops::as_strided(x, {length}, {stride}, 0);
  require(x.contiguous(), "fill_diagonal_: wrap=True needs a contiguous matrix; call contiguous() first");
  return ops::as_strided(x, {(x.numel() + x.size(1)) / (x.size(1) + 1)}, {x.size(1) + 1}, 0);
}

static const Family by_shape({.kind = Kind::Create, .page = "creation"}, [] {
  def<"zeros(int *size, DType? dtype=None, Device? device=None, bool requires_grad=False, Tensor? out=None) -> "
      "Tensor",
      [](Args& a) { return finish(a, 1, ops::zeros(sizes(a, 0), dtype_or(a, 1, default_dtype))); }>(
      kFunction, "A tensor of zeros.");
  def<"ones(int *size, DType? dtype=None, Device? device=None, bool requires_grad=False, Tensor? out=None) -> "
      "Tensor",
      [](Args& a) { return finish(a, 1, ops::ones(sizes(a, 0), dtype_or(a, 1, default_dtype))); }>(kFunction,
                                                                                                   "A tensor of ones.");
  def<"empty(int *size, DType? dtype=None, Device? device=None, bool requires_grad=False, MemoryFormat? "
      "memory_format=None, Tensor? out=None) -> Tensor",
      [](Args& a) {
        const DType dtype = dtype_or(a, 1, default_dtype);
        return finish(a, 1,
                      untracked(ops::empty_in_format("empty", sizes(a, 0), dtype, memory_format(a, 4, kContiguous))));
      }>(kFunction, "A tensor whose memory is not initialised.");
  def<"full(int[] size, Scalar fill_value, *, DType? dtype=None, Device? device=None, bool requires_grad=False, "
      "Tensor? out=None) -> Tensor",
      [](Args& a) { return finish(a, 2, ops::full(a.dims(0), a.scalar(1), dtype_or(a, 2, number_dtype(a, 1)))); }>(
      kFunction, "A tensor of one value; its dtype is inferred from the value.");
  def<"empty_strided(int[] size, int[] stride, *, DType? dtype=None, Device? device=None, bool "
      "requires_grad=False) -> "
      "Tensor",
      [](Args& a) { return finish(a, 2, ops::empty_strided(a.dims(0), a.dims(1), dtype_or(a, 2, default_dtype))); }>(
      kFunction, "A tensor with given strides, whose memory is not initialised.");
  def<"scalar_tensor(Scalar s, *, DType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
      [](Args& a) { return finish(a, 1, ops::scalar_tensor(a.scalar(0), dtype_or(a, 1, default_dtype))); }>(
      kFunction, "A 0-d tensor.");
});

static const Family like_others({.kind = Kind::Create, .page = "creation"}, [] {
  def<"zeros_like(Tensor input, *, DType? dtype=None, Device? device=None, bool requires_grad=False, MemoryFormat? "
      "memory_format=None) -> Tensor",
      [](Args& a) { return finish(a, 1, filled_like(a, 0, 1)); }>(kFunction,
                                                                  "Zeros of the shape and dtype of `input`.");
  def<"ones_like(Tensor input, *, DType? dtype=None, Device? device=None, bool requires_grad=False, MemoryFormat? "
      "memory_format=None) -> Tensor",
      [](Args& a) { return finish(a, 1, filled_like(a, 1, 1)); }>(kFunction, "Ones of the shape and dtype of `input`.");
  def<"empty_like(Tensor input, *, DType? dtype=None, Device? device=None, bool requires_grad=False, MemoryFormat? "
      "memory_format=None) -> Tensor",
      [](Args& a) { return finish(a, 1, untracked(like(a, 1))); }>(
      kFunction, "Memory for a tensor like `input`, not initialised.");
  def<"full_like(Tensor input, Scalar fill_value, *, DType? dtype=None, Device? device=None, bool "
      "requires_grad=False, "
      "MemoryFormat? memory_format=None) -> Tensor",
      [](Args& a) { return finish(a, 2, filled_like(a, a.scalar(1), 2)); }>(
      kFunction, "One value in the shape and dtype of `input`.");

  def<"new_zeros(Tensor input, int *size, DType? dtype=None, Device? device=None, bool requires_grad=False) -> "
      "Tensor",
      [](Args& a) { return finish(a, 2, ops::zeros(sizes(a, 1), dtype_or(a, 2, a.tensor(0).dtype()))); }>(
      kMethod, "Zeros of this tensor's dtype.");
  def<"new_ones(Tensor input, int *size, DType? dtype=None, Device? device=None, bool requires_grad=False) -> "
      "Tensor",
      [](Args& a) { return finish(a, 2, ops::ones(sizes(a, 1), dtype_or(a, 2, a.tensor(0).dtype()))); }>(
      kMethod, "Ones of this tensor's dtype.");
  def<"new_empty(Tensor input, int *size, DType? dtype=None, Device? device=None, bool requires_grad=False) -> "
      "Tensor",
      [](Args& a) { return finish(a, 2, untracked(empty(sizes(a, 1), dtype_or(a, 2, a.tensor(0).dtype())))); }>(
      kMethod, "Memory of this tensor's dtype, not initialised.");
  def<"new_full(Tensor input, int[] size, Scalar fill_value, *, DType? dtype=None, Device? device=None, bool "
      "requires_grad=False) -> Tensor",
      [](Args& a) { return finish(a, 3, ops::full(a.dims(1), a.scalar(2), dtype_or(a, 3, a.tensor(0).dtype()))); }>(
      kMethod, "One value in this tensor's dtype.");
  def<"new_empty_strided(Tensor input, int[] size, int[] stride, *, DType? dtype=None, Device? device=None, bool "
      "requires_grad=False) -> Tensor",
      [](Args& a) {
        return finish(a, 3, ops::empty_strided(a.dims(1), a.dims(2), dtype_or(a, 3, a.tensor(0).dtype())));
      }>(kMethod, "Memory of this tensor's dtype with given strides, not initialised.");
  def<"new_tensor(Tensor input, Any data, *, DType? dtype=None, Device? device=None, bool requires_grad=False) -> "
      "Tensor",
      [](Args& a) {
        PyObject* type = a.has(2) ? a[2] : dtype_object(a.tensor(0).dtype());
        return finish(a, 2, from_data(a[1], type));
      }>(kMethod, "A copy of `data` in this tensor's dtype.", {.kind = Kind::Move});
});

static const Family sequences({.kind = Kind::Create, .page = "creation"}, [] {
  def<"arange(Scalar start=0, Scalar? end=None, Scalar step=1, *, DType? dtype=None, Device? device=None, bool "
      "requires_grad=False, Tensor? out=None) -> Tensor",
      arange>(kFunction, "start, start + step, ... before end; arange(end) begins at 0.");
  def<"linspace(Scalar start, Scalar end, int steps, *, DType? dtype=None, Device? device=None, bool "
      "requires_grad=False, Tensor? out=None) -> Tensor",
      [](Args& a) {
        const Scalar start = a.scalar(0), end = a.scalar(1);
        if (!start.is_complex() && !end.is_complex())
          return finish(a, 3, ops::linspace(a.number(0), a.number(1), a.integer(2), dtype_or(a, 3, default_dtype)));
        const DType dtype = dtype_or(a, 3, complex_type(default_dtype));
        require<DTypeError>(is_complex(dtype), "linspace: dtype must be complex for complex ends, got ", dtype);
        const Tensor part = ops::linspace(0, 1, a.integer(2), real_type(dtype));
        const Scalar way(end.to_complex() - start.to_complex());
        return finish(a, 3, ops::cast(ops::add(ops::mul(part, way), start), dtype));
      }>(kFunction, "`steps` evenly spaced numbers from start to end, both included.");
  def<"logspace(float start, float end, int steps, float base=10.0, *, DType? dtype=None, Device? device=None, "
      "bool "
      "requires_grad=False, Tensor? out=None) -> Tensor",
      [](Args& a) {
        return finish(
            a, 4, ops::logspace(a.number(0), a.number(1), a.integer(2), a.number(3), dtype_or(a, 4, default_dtype)));
      }>(kFunction, "base ** linspace(start, end, steps).");
  def<"eye(int n, int? m=None, *, DType? dtype=None, Device? device=None, bool requires_grad=False, Tensor? "
      "out=None) "
      "-> Tensor",
      [](Args& a) {
        return finish(a, 2, ops::eye(a.integer(0), a.integer(1, a.integer(0)), dtype_or(a, 2, default_dtype)));
      }>(kFunction, "Ones on the diagonal of an n x m matrix of zeros.");
});

static const Family copies({.kind = Kind::Create, .page = "creation"}, [] {
  def<"clone(Tensor input, *, MemoryFormat? memory_format=None) -> Tensor", [](Args& a) {
    return ops::clone_to_format("clone", a.tensor(0), memory_format(a, 1, kPreserve));
  }>(kBoth, "A copy, differentiable.", {.kind = Kind::Move, .page = "shape"});
  def<"contiguous(Tensor input, MemoryFormat? memory_format=None) -> Tensor", [](Args& a) {
    return ops::to_format("contiguous", a.tensor(0), memory_format(a, 1, kContiguous));
  }>(kMethod, "The tensor itself if its memory is contiguous, else a contiguous copy.", {.kind = Kind::View});
  def<"zero_(Tensor input) -> Self", [](Args& a) { return ops::zero_(a.tensor(0)); }>(kBoth,
                                                                                      "Fills the tensor with zeros.");
  def<"fill_(Tensor input, Operand value) -> Self", [](Args& a) {
    return is_tensor(a[1]) ? ops::fill_(a.tensor(0), a.tensor(1)) : ops::fill_(a.tensor(0), a.scalar(1));
  }>(kBoth, "Fills the tensor with one value.");
  def<"fill(Tensor input, Operand value) -> Tensor", [](Args& a) {
    const Tensor y = ops::clone(a.tensor(0));
    return is_tensor(a[1]) ? ops::fill_(y, a.tensor(1)) : ops::fill_(y, a.scalar(1));
  }>(kFunction, "A tensor like input, filled with one value.");
  def<"fill_diagonal_(Tensor input, Scalar fill_value, bool wrap=False) -> Self",
      [](Args& a) {
        ops::fill_(main_diagonal(a.tensor(0), a.boolean(2)), a.scalar(1));
        return a.tensor(0);
      }>(kMethod,
         "Fills the elements whose indices are all equal; with wrap, a tall matrix begins again after its last "
         "column.");
  def<"copy_(Tensor input, Tensor|ndarray src, bool non_blocking=False) -> Self",
      [](Args& a) { return ops::copy_(a.tensor(0), a.tensor(1)); }>(
      kMethod, "Copies src into this tensor, broadcasting and converting; on a CPU there is nothing that could block.",
      {.kind = Kind::Move});
});

}  // namespace genesis::py
