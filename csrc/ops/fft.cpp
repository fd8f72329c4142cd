#include "ops/fft.h"

#include "autograd/record.h"
#include "kernels/fft/fft.h"
#include "ops/create.h"
#include "ops/pointwise.h"

namespace genesis::ops {

Tensor fft(const Tensor& x, const Dims& dims, bool inverse, double scale) {
  require<DTypeError>(is_complex(x.dtype()), "fft: input must be complex, got ", x.dtype());
  Dims wrapped;
  for (const int64_t d : dims) wrapped.push_back(wrap_dim("fft", d, x.dim()));
  Tensor y = x;
  for (int i = wrapped.size() - 1; i >= 0; --i) {
    const int d = static_cast<int>(wrapped[i]);
    require(x.size(d) > 0, "fft: dimension ", d, " of shape ", x.shape(),
            " is empty; a transform needs a length of at "
            "least 1");
    const Tensor from = y;
    y = empty(x.shape(), x.dtype());
    if (y.numel() > 0) kernels::fft(y.view(), from.view(), d, inverse, i == 0 ? scale : 1);
  }
  if (wrapped.empty()) return mul(x, scale);
  return record("fft", y, inputs(x), save(), [wrapped, inverse, scale](const Tensor& dy, const Saved&) {
    return Grads{fft(dy, wrapped, !inverse, scale)};
  });
}

// Elements that represent two values, k and n - k, are multiplied by `twice`; those at 0 and n / 2 represent
// themselves.
static Tensor weighted(const Tensor& x, int dim, int64_t n, double twice) {
  Tensor w = full({x.size(dim)}, twice, real_type(x.dtype()));
  fill_(alias(w, {1}, {1}), 1);
  if (n % 2 == 0) fill_(alias(w, {1}, {1}, n / 2), 1);
  Dims shape(x.dim(), 1);
  shape[dim] = x.size(dim);
  return mul(x, alias(w, shape, contiguous_strides(shape)));
}

Tensor fft_real(const Tensor& x, int64_t dim, double scale) {
  require<DTypeError>(x.dtype() == DType::Float32 || x.dtype() == DType::Float64,
                      "rfft: input must be float32 or float64, got ", x.dtype());
  const int d = wrap_dim("rfft", dim, x.dim());
  const int64_t n = x.size(d);
  require(n > 0, "rfft: dimension ", d, " of shape ", x.shape(), " is empty; a transform needs a length of at least 1");
  Dims shape = x.shape();
  shape[d] = n / 2 + 1;
  Tensor y = empty(shape, complex_type(x.dtype()));
  if (y.numel() > 0) kernels::fft_real(y.view(), x.view(), d, scale);
  return record("rfft", y, inputs(x), save(), [d, n, scale](const Tensor& dy, const Saved&) {
    return Grads{fft_to_real(weighted(dy, d, n, 0.5), d, n, scale)};
  });
}

Tensor fft_to_real(const Tensor& x, int64_t dim, int64_t n, double scale) {
  require<DTypeError>(is_complex(x.dtype()), "irfft: input must be complex, got ", x.dtype());
  const int d = wrap_dim("irfft", dim, x.dim());
  require(n > 0 && x.size(d) == n / 2 + 1, "irfft: a result of length ", n, " needs ", n / 2 + 1,
          " values along dimension ", d, ", got shape ", x.shape());
  Dims shape = x.shape();
  shape[d] = n;
  Tensor y = empty(shape, real_type(x.dtype()));
  if (y.numel() > 0) kernels::fft_to_real(y.view(), x.view(), d, scale);
  return record("irfft", y, inputs(x), save(), [d, n, scale](const Tensor& dy, const Saved&) {
    return Grads{weighted(fft_real(dy, d, scale), d, n, 2)};
  });
}

}  // namespace genesis::ops
