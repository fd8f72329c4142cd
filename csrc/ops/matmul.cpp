#include "ops/matmul.h"

#include "autograd/record.h"
#include "kernels/gemm.h"
#include "ops/create.h"
#include "ops/view.h"

namespace genesis::ops {

template <class T>
static kernels::GemmMatrix<T> matrix(const Tensor& x) {
  return {x.data<T>(), x.stride(0), x.stride(1)};
}

static Tensor mm(const Tensor& x, const Tensor& y) {
  const int64_t m = x.size(0), k = x.size(1), n = y.size(1);
  Tensor z = empty({m, n}, x.dtype());
  if (x.dtype() == DType::Float64)
    kernels::dgemm(m, n, k, 1.0, matrix<double>(x), matrix<double>(y), 0.0, z.data<double>(), n, 1);
  else
    kernels::sgemm(m, n, k, 1.0f, matrix<float>(x), matrix<float>(y), 0.0f, z.data<float>(), n, 1);
  return z;
}

Tensor matmul(const Tensor& x, const Tensor& y) {
  require(x.dim() == 2 && y.dim() == 2 && x.size(1) == y.size(0), "matmul: inner dimensions differ: x is ", x.shape(),
          ", y is ", y.shape(), "; expected x.shape[-1] == y.shape[-2]");
  Tensor z = mm(x, y);
  return record("matmul", std::move(z), inputs(x, y), save(x, y), [](const Tensor& dz, const Saved& saved) {
    return Grads{saved.needs(0) ? matmul(dz, transpose(saved[1], 0, 1)) : Tensor(),
                 saved.needs(1) ? matmul(transpose(saved[0], 0, 1), dz) : Tensor()};
  });
}

}  // namespace genesis::ops
