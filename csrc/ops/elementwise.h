// Shared by the elementwise operators: allocation of the result, and the call of a kernel.
#pragma once

#include "autograd/record.h"
#include "ops/inplace.h"
#include "ops/operand.h"

namespace genesis::ops {

// result_type of two operands; the cases that occur in loops come first.
inline DType common_type(const Operand& x, const Operand& y) {
  if (x.tensor) {
    const DType t = x.tensor->dtype();
    if (y.tensor ? t == y.tensor->dtype() : is_floating(t) && !y.scalar.is_complex()) return t;
  }
  return result_type({x, y});
}

// An operand that takes part weakly in promotion, a number or a 0-d tensor, may not fit the result's integer dtype. If
// wrapping after the operation differs from wrapping before it (extrema, quotients), it is wrapped first.
class Fitted {
 public:
  Fitted(const Operand& x, DType dtype) : operand_(x) {
    if (is_integral(dtype) && (x.is_scalar() || (x.tensor->dim() == 0 && x.tensor->dtype() != dtype))) fit(dtype);
  }
  operator const Operand&() const { return operand_; }

 private:
  void fit(DType dtype);
  Operand operand_;
  Tensor cast_;
};

// Memory for a result of `dtype` with the broadcast shape, in the layout of the operands if they agree.
inline Tensor result_memory(const char* op, const Operand& x, const Operand& y, DType dtype, Out out) {
  if (out) return destination(op, broadcast_shapes(op, x.shape(), y.shape()), dtype, out);
  if (x.tensor && (!y.tensor || y.tensor->dim() == 0 || x.shape() == y.shape())) return empty_like(*x.tensor, dtype);
  if (y.tensor && (!x.tensor || x.tensor->dim() == 0)) return empty_like(*y.tensor, dtype);
  return empty(broadcast_shapes(op, x.shape(), y.shape()), dtype);
}
inline Tensor result_memory(const char* op, const Tensor& x, DType dtype, Out out) {
  return out ? destination(op, x.shape(), dtype, out) : empty_like(x, dtype);
}
Tensor result_memory(const char* op, const Operand& x, const Operand& y, const Operand& z, DType dtype, Out out);

// An operand as the kernel reads it: its own memory, or a copy if the result overlaps it in another layout, as in
// x[1:].add_(x[:-1]), where it must be read before it is written.
class Source {
 public:
  Source(const Operand& x, const Tensor& result) : view_(x.view()) {
    if (x.tensor && (*x.tensor)->storage == result->storage) separate(*x.tensor, result);
  }
  operator View() const { return view_; }

 private:
  void separate(const Tensor& x, const Tensor& result);
  Tensor copy_;
  View view_;
};

// The kernels for complex results, selected by the name of the operator; they raise if there is none (complex.cpp).
void complex_map(const char* op, View y, View x);
void complex_zip(const char* op, View z, View x, View y);
[[noreturn]] void refuse_complex(const char* op, DType dtype);

// kernel(result, x) and kernel(result, x, y), computed in `dtype`.
template <class Kernel>
Tensor map(const char* op, const Kernel& kernel, const Tensor& x, DType dtype, Out out) {
  Tensor y = result_memory(op, x, dtype, out);
  if (is_complex(dtype)) [[unlikely]]
    complex_map(op, y.view(), Source(x, y));
  else kernel(y.view(), Source(x, y));
  return deliver(op, std::move(y), out);
}
template <class Kernel>
Tensor zip(const char* op, const Kernel& kernel, const Operand& x, const Operand& y, DType dtype, Out out) {
  Tensor z = result_memory(op, x, y, dtype, out);
  if (is_complex(dtype)) [[unlikely]]
    complex_zip(op, z.view(), Source(x, z), Source(y, z));
  else kernel(z.view(), Source(x, z), Source(y, z));
  return deliver(op, std::move(z), out);
}
template <class Kernel>
Tensor zip(const char* op, const Kernel& kernel, const Operand& a, const Operand& b, const Operand& c, DType dtype,
           Out out) {
  if (is_complex(dtype)) [[unlikely]]
    refuse_complex(op, dtype);
  Tensor z = result_memory(op, a, b, c, dtype, out);
  kernel(z.view(), Source(a, z), Source(b, z), Source(c, z));
  return deliver(op, std::move(z), out);
}

// An operand as the rule of its operator reads it. A tensor is read, and its version checked, when the rule first uses
// it: tensors that a rule does not need may have been changed since.
class Kept {
 public:
  Kept(const Saved& saved, int index, Scalar number) : saved_(saved), index_(index), number_(number) {}
  operator Operand() const {
    if (!tensor_.defined()) tensor_ = saved_[index_];
    return tensor_.defined() ? Operand(tensor_) : Operand(number_);
  }
  // A bool as a number of `dtype`, for rules that subtract.
  Operand number(DType dtype) const;

 private:
  const Saved& saved_;
  int index_;
  Scalar number_;
  mutable Tensor tensor_;
};

// Records an operator whose operands may be numbers. The rule is called with (dz, x, y, saved), or (dz, a, b, c,
// saved), with the original operands.
template <class Rule>
Tensor record_zip(const char* op, Tensor z, const Operand& x, const Operand& y, Rule rule) {
  return record(op, std::move(z), broadcast(x.or_undefined(), y.or_undefined()),
                save(x.or_undefined(), y.or_undefined()),
                [rule, s = x.scalar, t = y.scalar](const Tensor& dz, const Saved& saved) {
                  return rule(dz, Kept(saved, 0, s), Kept(saved, 1, t), saved);
                });
}
template <class Rule>
Tensor record_zip(const char* op, Tensor z, const Operand& a, const Operand& b, const Operand& c, Rule rule) {
  return record(op, std::move(z), broadcast(a.or_undefined(), b.or_undefined(), c.or_undefined()),
                save(a.or_undefined(), b.or_undefined(), c.or_undefined()),
                [rule, s = a.scalar, t = b.scalar, u = c.scalar](const Tensor& dz, const Saved& saved) {
                  return rule(dz, Kept(saved, 0, s), Kept(saved, 1, t), Kept(saved, 2, u), saved);
                });
}

// In-place forms of operators with one, two and three operands. If an argument is x itself (x *= x), the operator must
// receive the substitute for x in the graph instead.
template <auto Op, Overlap Allowed = Overlap::None>
Tensor inplace_map(const char* op, const Tensor& x) {
  return inplace(op, x, {}, [](const Tensor& input, Out out) { return Op(input, out); }, Allowed);
}
template <auto Op>
Tensor inplace_zip(const char* op, const Tensor& x, const Operand& y) {
  return inplace(op, x, {&y.or_undefined()}, [&](const Tensor& input, Out out) {
    return Op(input, y.tensor && y.tensor->same(x) ? Operand(input) : y, out);
  });
}
template <auto Op>
Tensor inplace_zip(const char* op, const Tensor& x, const Operand& y, const Operand& z) {
  return inplace(op, x, {&y.or_undefined(), &z.or_undefined()}, [&](const Tensor& input, Out out) {
    return Op(input, y.tensor && y.tensor->same(x) ? Operand(input) : y,
              z.tensor && z.tensor->same(x) ? Operand(input) : z, out);
  });
}

// The gradient of functions that are constant almost everywhere (sign, floor).
Tensor zeros_like(const Tensor& x);

}  // namespace genesis::ops
