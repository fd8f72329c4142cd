#include "ops/pad.h"

#include <algorithm>

#include "autograd/record.h"
#include "kernels/elementwise/convert.h"
#include "ops/create.h"

namespace genesis::ops {

Tensor constant_pad(const Tensor& x, const Dims& pad, Scalar value) {
  require(pad.size() % 2 == 0, "pad: the number of paddings must be even, two for each dimension, got ", pad.size());
  require(pad.size() <= 2 * x.dim(), "pad: ", pad.size(), " paddings are for ", pad.size() / 2,
          " dimensions, but the input has shape ", x.shape());
  // As in PyTorch, the number is a float, so a negative one has no unsigned counterpart.
  if (x.dtype() != DType::Int64 && !is_complex(x.dtype())) require_fits("pad", value.to_double(), x.dtype());
  Dims shape = x.shape(), inner = x.shape();
  int64_t from = 0, to = 0;  // the first element that stays, in the input and in the result
  bool grows = false;
  Dims steps = x.strides();
  Dims before;
  for (int d = 0; d < x.dim(); ++d) before.push_back(0);
  for (int i = 0; i < pad.size() / 2; ++i) {
    const int d = x.dim() - 1 - i;
    const int64_t low = pad[2 * i], high = pad[2 * i + 1];
    int64_t size;
    require(!__builtin_add_overflow(x.size(d), low, &size) && !__builtin_add_overflow(size, high, &size) && size >= 0,
            "pad: paddings ", low, " and ", high, " leave nothing of dimension ", d, ", which has size ", x.size(d));
    shape[d] = size;
    inner[d] = std::max<int64_t>(0, x.size(d) + std::min<int64_t>(low, 0) + std::min<int64_t>(high, 0));
    from += std::max<int64_t>(-low, 0) * steps[d];
    before[d] = std::max<int64_t>(low, 0);
    grows = grows || low > 0 || high > 0;
  }
  Tensor y = grows ? full(shape, value, x.dtype()) : empty(shape, x.dtype());
  for (int d = 0; d < x.dim(); ++d) to += before[d] * y.stride(d);
  if (numel(inner) > 0) kernels::copy(alias(y, inner, y.strides(), to).view(), alias(x, inner, steps, from).view());
  Dims back = pad;
  for (int i = 0; i < back.size(); ++i) back[i] = -back[i];
  return record("constant_pad_nd", y, inputs(x), save(),
                [back](const Tensor& dy, const Saved&) { return Grads{constant_pad(dy, back, 0.0)}; });
}

}  // namespace genesis::ops
