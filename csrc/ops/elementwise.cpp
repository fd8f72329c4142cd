#include "ops/elementwise.h"

#include "ops/create.h"

namespace genesis::ops {

Tensor result_memory(const char* op, const Operand& x, const Operand& y, const Operand& z, DType dtype, Out out) {
  if (!out && x.tensor)
    if ((!y.tensor || y.shape() == x.shape()) && (!z.tensor || z.shape() == x.shape()))
      return empty_like(*x.tensor, dtype);
  return destination(op, broadcast_shapes(op, broadcast_shapes(op, x.shape(), y.shape()), z.shape()), dtype, out);
}

void Fitted::fit(DType dtype) {
  const WithGradMode off(false);
  if (operand_.tensor) {
    cast_ = cast(*operand_.tensor, dtype);
    operand_.tensor = &cast_;
    return;
  }
  int64_t& i = operand_.scalar.i;
  switch (dtype) {
    case DType::UInt8: i = static_cast<uint8_t>(i); break;
    case DType::Int8: i = static_cast<int8_t>(i); break;
    case DType::Int16: i = static_cast<int16_t>(i); break;
    case DType::Int32: i = static_cast<int32_t>(i); break;
    default: break;  // the number is already that wide
  }
}

Operand Kept::number(DType dtype) const {
  const Operand operand = *this;
  if (operand.tensor && tensor_.dtype() == DType::Bool) tensor_ = cast(tensor_, dtype);
  if (!operand.tensor && number_.kind == Scalar::Bool) return Operand(Scalar(number_.to_int()));
  return *this;
}

// The address range between the first and the last element.
static std::pair<const char*, const char*> extent(const Tensor& x) {
  int64_t last = 0;
  for (int d = 0; d < x.dim(); ++d) last += (x.size(d) - 1) * x.stride(d);
  return {x->data, x->data + (last + 1) * itemsize(x.dtype())};
}

void Source::separate(const Tensor& x, const Tensor& result) {
  if (x->data == result->data && x.shape() == result.shape() && x.strides() == result.strides()) return;
  if (x.numel() == 0 || result.numel() == 0) return;
  const auto [begin, end] = extent(x);
  const auto [result_begin, result_end] = extent(result);
  if (end <= result_begin || result_end <= begin) return;
  const WithGradMode off(false);
  copy_ = clone(x);
  view_ = copy_.view();
}

Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype()); }

}  // namespace genesis::ops
