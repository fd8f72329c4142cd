// The matrix exponential: matrices are scaled down so that 16 terms of the series suffice, then squared repeatedly.
#include <cmath>
#include <map>
#include <vector>

#include "autograd/record.h"
#include "ops/create.h"
#include "ops/extreme.h"
#include "ops/gather.h"
#include "ops/linalg.h"
#include "ops/matmul.h"
#include "ops/matrix.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace genesis::ops {

namespace {

// exp(a), as exp(a / 2^halvings) squared that many times.
Tensor series(const Tensor& a, int halvings) {
  double inverse_factorial[17] = {1};
  for (int k = 1; k <= 16; ++k) inverse_factorial[k] = inverse_factorial[k - 1] / k;
  const Tensor eye = identity(a.size(-1), a.dtype());
  const Tensor x = a * std::ldexp(1.0, -halvings), x2 = matmul(x, x), x3 = matmul(x2, x), x4 = matmul(x2, x2);
  const auto four_terms = [&](int k) {
    const double* c = inverse_factorial + k;
    return eye * c[0] + x * c[1] + x2 * c[2] + x3 * c[3];
  };
  Tensor y = four_terms(12) + x4 * inverse_factorial[16];
  for (int k = 8; k >= 0; k -= 4) y = matmul(y, x4) + four_terms(k);
  for (int i = 0; i < halvings; ++i) y = matmul(y, y);
  return y;
}

// The number of halvings of each matrix of a stack. A matrix with NaN or inf has none: its result is NaN.
std::vector<int> halvings_of(const Tensor& stack) {
  const Tensor norms = cast(amax(sum(abs(stack), {-2}, false), {-1}, false), DType::Float64);
  // Up to this norm, the truncation error of the series is below rounding.
  const double most = real_type(stack.dtype()) == DType::Float64 ? 0.75 : 2;
  std::vector<int> result(static_cast<size_t>(stack.size(0)));
  for (size_t i = 0; !on_meta && i < result.size(); ++i) {
    const double norm = norms.data<double>()[i];
    result[i] = std::isfinite(norm) && norm > most ? static_cast<int>(std::ceil(std::log2(norm / most))) : 0;
  }
  return result;
}

Tensor exponentials(const Tensor& a) {
  const WithGradMode off(false);
  const Tensor stack = reshape(a, {numel(batch_shape(a)), a.size(-2), a.size(-1)});
  // matrices by number of halvings: unnecessary squarings would cost accuracy
  std::map<int, std::vector<int64_t>> groups;
  const std::vector<int> halvings = halvings_of(stack);
  for (size_t i = 0; i < halvings.size(); ++i) groups[halvings[i]].push_back(static_cast<int64_t>(i));
  if (groups.size() == 1) return reshape(series(stack, groups.begin()->first), a.shape());
  const Tensor y = empty(stack.shape(), stack.dtype());
  for (const auto& [count, members] : groups) {
    const Tensor index = empty({static_cast<int64_t>(members.size())}, DType::Int64);
    std::copy(members.begin(), members.end(), index.data<int64_t>());
    const Tensor part = series(index_select(stack, 0, index), count);
    for (size_t i = 0; i < members.size(); ++i)
      copy_(narrow(y, 0, members[i], 1), narrow(part, 0, static_cast<int64_t>(i), 1));
  }
  return reshape(y, a.shape());
}

}  // namespace

Tensor linalg_matrix_exp(const char* op, const Tensor& a) {
  if (is_half(a.dtype())) return cast(linalg_matrix_exp(op, cast(a, DType::Float32)), a.dtype());
  require_square(op, "A", a);
  Tensor y = a.numel() == 0 ? empty(a.shape(), a.dtype()) : exponentials(a);
  return record("linalg_matrix_exp", y, inputs(a), save(a), [op](const Tensor& dy, const Saved& saved) {
    // The derivative of exp at a^H in the direction dy is a block of the exponential of [[a^H, dy], [0, a^H]].
    const Tensor at = adjoint(saved[0]);
    const int64_t n = at.size(-1);
    const Tensor top[] = {at, dy}, bottom[] = {zeros(at.shape(), at.dtype()), at};
    const Tensor rows[] = {cat(top, -1), cat(bottom, -1)};
    return Grads{narrow(narrow(linalg_matrix_exp(op, cat(rows, -2)), -2, 0, n), -1, n, n)};
  });
}

}  // namespace genesis::ops
