#include "ops/random.h"

#include <cmath>

#include "autograd/record.h"
#include "kernels/elementwise/convert.h"
#include "kernels/random/random.h"
#include "kernels/random/sampling.h"
#include "ops/complex.h"
#include "ops/create.h"
#include "ops/inplace.h"
#include "ops/operand.h"
#include "ops/pointwise.h"
#include "ops/special.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace genesis::ops {

using kernels::Draw;

// Counters for n elements that use `words` words each.
static Draw reserve(Generator& g, int64_t n, int words) { return {g.seed, g.reserve(kernels::counters_for(n, words))}; }
static int words_for(DType t) { return t == DType::Float64 ? 2 : 1; }

static void require_floating_dtype(const char* op, DType t) {
  require<DTypeError>(is_floating(t), op, ": the dtype must be floating, got ", t);
}
static void require_probability(const char* op, double p) {
  require(p >= 0 && p <= 1, op, ": p must be between 0 and 1, got ", p);
}

// The same for both parts of complex numbers.
static Dims pairs(Dims shape) {
  shape.push_back(2);
  return shape;
}

Tensor rand(const Dims& shape, DType dtype, Generator& g) {
  if (is_complex(dtype)) return complex_of_pairs(rand(pairs(shape), real_type(dtype), g));
  require_floating_dtype("rand", dtype);
  Tensor y = empty(shape, dtype);
  kernels::uniform(y.view(), reserve(g, y.numel(), words_for(dtype)), 0, 1);
  return untracked(std::move(y));
}

Tensor randn(const Dims& shape, DType dtype, Generator& g) {
  if (is_complex(dtype)) {  // with variance 1, half of it in each part
    const Tensor parts = randn(pairs(shape), real_type(dtype), g);
    return complex_of_pairs(mul_(parts, std::sqrt(0.5)));
  }
  require_floating_dtype("randn", dtype);
  Tensor y = empty(shape, dtype);
  kernels::normal(y.view(), reserve(g, y.numel(), words_for(dtype)), 0, 1);
  return untracked(std::move(y));
}

Tensor randint(int64_t low, int64_t high, const Dims& shape, DType dtype, Generator& g) {
  require(low < high, "randint: low must be below high, got ", low, " and ", high);
  require_representable("randint", low, dtype);
  require_representable("randint", high - 1, dtype);
  Tensor y = empty(shape, dtype);
  kernels::integers(y.view(), reserve(g, y.numel(), 2), low, static_cast<uint64_t>(high) - static_cast<uint64_t>(low));
  return untracked(std::move(y));
}

Tensor randperm(int64_t n, DType dtype, Generator& g) {
  require(n >= 0, "randperm: n must not be negative, got ", n);
  if (n > 0) require_representable("randperm", n - 1, dtype);
  const int64_t exact = dtype == DType::Float16    ? 2048
                        : dtype == DType::BFloat16 ? 256
                        : dtype == DType::Float32  ? 1 << 24
                                                   : INT64_MAX;
  require(n - 1 <= exact, "randperm: ", dtype, " does not hold every integer below ", n, "; use int64");
  Tensor y = empty({n}, DType::Int64);
  kernels::permutation(y.view(), reserve(g, n, 2));
  return untracked(cast(y, dtype));
}

// x as a contiguous float64 tensor outside the graph, for the parameters of a draw.
static Tensor parameters(const Tensor& x) { return contiguous(cast(detach(x), DType::Float64)); }

Tensor normal(const Tensor& mean, const Tensor& std, double mean_value, double std_value, Generator& g) {
  const Tensor &first = mean.defined() ? mean : std, &other = std.defined() ? std : mean;
  const bool complex = mean.defined() && is_complex(mean.dtype());
  if (!complex) require_floating("normal", mean.defined() ? "mean" : "std", first);
  if (std.defined() || !complex) require_floating("normal", std.defined() ? "std" : "mean", other);
  const WithGradMode off(false);
  if (std.defined()) {
    const Tensor s = parameters(std);
    for (int64_t i = 0; !on_meta && i < s.numel(); ++i)
      require(s.data<double>()[i] >= 0, "normal: std must not be negative, got ", s.data<double>()[i]);
  } else {
    require(std_value >= 0, "normal: std must not be negative, got ", std_value);
  }
  const Dims shape = broadcast_shapes("normal", first.shape(), other.shape());
  const DType dtype = result_type({first, other});
  Tensor y = randn(shape, dtype, g);
  y = std.defined() ? mul(y, detach(std)) : mul(y, std_value);
  return untracked(mean.defined() ? add(y, detach(mean)) : add(y, mean_value));
}

static Tensor probabilities(const char* op, const Tensor& p, const Dims& shape) {
  const WithGradMode off(false);
  require_floating(op, "p", p);
  const Tensor small = parameters(p);
  for (int64_t i = 0; !on_meta && i < small.numel(); ++i) {
    const double q = small.data<double>()[i];
    require(q >= 0 && q <= 1, op, ": every p must be between 0 and 1, got ", q);
  }
  return contiguous(expand(small, shape));
}

Tensor bernoulli(const Tensor& p, Generator& g) {
  const Tensor each = probabilities("bernoulli", p, p.shape());
  Tensor y = empty(p.shape(), p.dtype());
  kernels::bernoulli_each(y.view(), each.view(), reserve(g, y.numel(), 1));
  return untracked(std::move(y));
}

Tensor bernoulli(const Tensor& like, double p, Generator& g) {
  require_probability("bernoulli", p);
  Tensor y = empty(like.shape(), like.dtype());
  kernels::bernoulli(y.view(), reserve(g, y.numel(), 1), p);
  return untracked(std::move(y));
}

Tensor multinomial(const Tensor& input, int64_t num_samples, bool replacement, Generator& g) {
  require(input.dim() == 1 || input.dim() == 2, "multinomial: input must have 1 or 2 dimensions, got shape ",
          input.shape());
  require_floating("multinomial", "input", input);
  require(num_samples > 0, "multinomial: num_samples must be positive, got ", num_samples);
  const int64_t rows = input.dim() == 2 ? input.size(0) : 1, k = input.size(-1);
  require(k > 0, "multinomial: there is nothing to draw from in shape ", input.shape());
  require(replacement || num_samples <= k, "multinomial: cannot draw ", num_samples, " of ", k,
          " categories without replacement; pass replacement=True");
  const WithGradMode off(false);
  const Tensor weights = reshape(parameters(input), {rows, k});
  for (int64_t r = 0; !on_meta && r < rows; ++r) {
    int64_t positive = 0;
    double sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      const double w = weights.data<double>()[r * k + i];
      require(w >= 0 && std::isfinite(w), "multinomial: weights must be finite and not negative, got ", w);
      positive += w > 0;
      sum += w;
    }
    require(positive > 0 && std::isfinite(sum), "multinomial: the weights of row ", r, " sum to ", sum);
    require(replacement || positive >= num_samples, "multinomial: cannot draw ", num_samples,
            " without replacement from ", positive, " categories of positive weight");
  }
  Tensor y = empty({rows, num_samples}, DType::Int64);
  const uint64_t per_row = kernels::counters_for(replacement ? num_samples : k, 2);
  kernels::multinomial(y.view(), weights.view(), {g.seed, g.reserve(per_row * static_cast<uint64_t>(rows))},
                       replacement);
  return untracked(input.dim() == 2 ? y : alias(y, {num_samples}, {1}));
}

// Raises for the first value that is not valid.
template <class F>
static void require_each(const Tensor& values, F valid, const char* message) {
  for (int64_t i = 0; !on_meta && i < values.numel(); ++i) {
    const double v = values.data<double>()[i];
    require(valid(v), message, v);
  }
}

Tensor poisson(const Tensor& rate, Generator& g) {
  require_floating("poisson", "input", rate);
  const WithGradMode off(false);
  const Tensor each = parameters(rate);
  require_each(
      each, [](double r) { return r >= 0 && std::isfinite(r); },
      "poisson: every rate must be finite and not negative, got ");
  Tensor y = empty(rate.shape(), rate.dtype());
  kernels::poisson(y.view(), each.view(), {g.seed, g.reserve(static_cast<uint64_t>(y.numel()))});
  return untracked(std::move(y));
}

Tensor binomial(const Tensor& count, const Tensor& prob, Generator& g) {
  require_floating("binomial", "count", count);
  require_floating("binomial", "prob", prob);
  require<DTypeError>(count.dtype() == prob.dtype(), "binomial: count and prob must have the same dtype, got ",
                      count.dtype(), " and ", prob.dtype());
  const WithGradMode off(false);
  const Dims shape = broadcast_shapes("binomial", count.shape(), prob.shape());
  const Tensor n = parameters(expand(count, shape)), p = parameters(expand(prob, shape));
  require_each(
      n, [](double v) { return v >= 0 && std::isfinite(v) && v == std::floor(v); },
      "binomial: every count must be a nonnegative integer, got ");
  require_each(p, [](double v) { return v >= 0 && v <= 1; }, "binomial: every prob must be between 0 and 1, got ");
  Tensor y = empty(shape, count.dtype());
  kernels::binomial(y.view(), n.view(), p.view(), {g.seed, g.reserve(static_cast<uint64_t>(y.numel()))});
  return untracked(std::move(y));
}

// The logarithms in float64, which both gamma samplers use.
static Tensor gamma_logarithms(const char* op, const Tensor& shape, Generator& g) {
  require_floating(op, "input", shape);
  const WithGradMode off(false);
  const Tensor each = parameters(shape);
  require_each(
      each, [](double a) { return a >= 0 && std::isfinite(a); },
      "_standard_gamma: every concentration must be finite and not negative, got ");
  Tensor y = empty(shape.shape(), DType::Float64);
  kernels::log_gamma_variate(y.view(), each.view(), {g.seed, g.reserve(static_cast<uint64_t>(y.numel()))});
  return untracked(std::move(y));
}

Tensor standard_gamma(const Tensor& shape, Generator& g) {
  const Tensor logs = gamma_logarithms("_standard_gamma", shape, g);
  Tensor y = untracked(cast(exp(logs), shape.dtype()));
  return record("_standard_gamma", y, inputs(shape), save(detach(shape), logs),
                [](const Tensor& dy, const Saved& saved) {
                  const Tensor logs = saved[1];
                  return Grads{dy * cast(exp(logs) * log_gamma_slope(saved[0], logs), dy.dtype())};
                });
}

Tensor standard_gamma_grad(const Tensor& shape, const Tensor& variate) {
  require_floating("_standard_gamma_grad", "input", shape);
  require_floating("_standard_gamma_grad", "output", variate);
  const WithGradMode off(false);
  return untracked(variate * cast(log_gamma_slope(shape, log(cast(variate, DType::Float64))), variate.dtype()));
}

Tensor log_standard_gamma(const Tensor& shape, Generator& g) {
  const Tensor logs = gamma_logarithms("_log_standard_gamma", shape, g);
  Tensor y = untracked(cast(logs, shape.dtype()));
  return record("_log_standard_gamma", y, inputs(shape), save(detach(shape), logs),
                [](const Tensor& dy, const Saved& saved) {
                  return Grads{dy * cast(log_gamma_slope(saved[0], saved[1]), dy.dtype())};
                });
}

// x.op_(): `draw` fills contiguous memory. The result does not depend on the previous values of x.
template <class F>
static Tensor refill(const char* op, const Tensor& x, F draw) {
  const auto write = [&] {
    if (x.contiguous()) return draw(x.view());
    const Tensor y = empty(x.shape(), x.dtype());
    draw(y.view());
    kernels::copy(x.view(), y.view());
  };
  return overwrite(op, x, {}, write, [&](const Tensor& input, const Tensor& y) {
    return record(op, y, inputs(replaced(x, input)), save(),
                  [](const Tensor& dy, const Saved&) { return Grads{zeros(dy.shape(), dy.dtype())}; });
  });
}

Tensor uniform_(const Tensor& x, double from, double to, Generator& g) {
  if (is_complex(x.dtype())) {
    const WithGradMode off(false);
    uniform_(view_as_real(x), from, to, g);
    return x;
  }
  require_floating_dtype("uniform_", x.dtype());
  require(from <= to && std::isfinite(to - from), "uniform_: the range must be finite and not empty, got from ", from,
          " to ", to);
  return refill("uniform_", x,
                [&](View y) { kernels::uniform(y, reserve(g, x.numel(), words_for(x.dtype())), from, to); });
}

Tensor normal_(const Tensor& x, double mean, double std, Generator& g) {
  if (is_complex(x.dtype())) {
    const WithGradMode off(false);
    normal_(view_as_real(x), mean, std * std::sqrt(0.5), g);
    return x;
  }
  require_floating_dtype("normal_", x.dtype());
  require(std >= 0, "normal_: std must not be negative, got ", std);
  return refill("normal_", x,
                [&](View y) { kernels::normal(y, reserve(g, x.numel(), words_for(x.dtype())), mean, std); });
}

Tensor log_normal_(const Tensor& x, double mean, double std, Generator& g) {
  require_floating_dtype("log_normal_", x.dtype());
  require(std > 0, "log_normal_: std must be positive, got ", std);
  return refill("log_normal_", x,
                [&](View y) { kernels::log_normal(y, reserve(g, x.numel(), words_for(x.dtype())), mean, std); });
}

Tensor exponential_(const Tensor& x, double rate, Generator& g) {
  require_floating_dtype("exponential_", x.dtype());
  require(rate > 0, "exponential_: lambd must be positive, got ", rate);
  return refill("exponential_", x,
                [&](View y) { kernels::exponential(y, reserve(g, x.numel(), words_for(x.dtype())), rate); });
}

Tensor cauchy_(const Tensor& x, double median, double sigma, Generator& g) {
  require_floating_dtype("cauchy_", x.dtype());
  require(sigma > 0, "cauchy_: sigma must be positive, got ", sigma);
  return refill("cauchy_", x, [&](View y) { kernels::cauchy(y, reserve(g, x.numel(), 2), median, sigma); });
}

Tensor geometric_(const Tensor& x, double p, Generator& g) {
  require(p > 0 && p < 1, "geometric_: p must be between 0 and 1, got ", p);
  return refill("geometric_", x, [&](View y) { kernels::geometric(y, reserve(g, x.numel(), 2), p); });
}

Tensor bernoulli_(const Tensor& x, double p, Generator& g) {
  require_probability("bernoulli_", p);
  return refill("bernoulli_", x, [&](View y) { kernels::bernoulli(y, reserve(g, x.numel(), 1), p); });
}

Tensor bernoulli_(const Tensor& x, const Tensor& p, Generator& g) {
  require(broadcast_shapes("bernoulli_", x.shape(), p.shape()) == x.shape(), "bernoulli_: p of shape ", p.shape(),
          " does not broadcast to ", x.shape());
  const Tensor each = probabilities("bernoulli_", p, x.shape());
  return refill("bernoulli_", x, [&](View y) { kernels::bernoulli_each(y, each.view(), reserve(g, x.numel(), 1)); });
}

Tensor random_(const Tensor& x, int64_t from, int64_t to, Generator& g) {
  require(from < to, "random_: from must be below to, got ", from, " and ", to);
  require_representable("random_", from, x.dtype());
  require_representable("random_", to - 1, x.dtype());
  return refill("random_", x, [&](View y) {
    kernels::integers(y, reserve(g, x.numel(), 2), from, static_cast<uint64_t>(to) - static_cast<uint64_t>(from));
  });
}

Tensor random_(const Tensor& x, Generator& g) {
  // 0 .. the maximum; for floating dtypes, the largest integer below which all integers are exact
  constexpr int bits[kNumDTypes] = {1, 8, 7, 15, 31, 63, 11, 8, 24, 53};
  const int b = bits[static_cast<int>(x.dtype())];
  const uint64_t range = (uint64_t{1} << b) + is_floating(x.dtype());
  return refill("random_", x, [&](View y) { kernels::integers(y, reserve(g, x.numel(), 2), 0, range); });
}

// Applies the mask of a dropout to another tensor of that shape.
static Tensor dropout_again(const Tensor& input, const Tensor& kept, double p) {
  const Tensor x = contiguous(input);
  Tensor y = empty(x.shape(), x.dtype());
  kernels::dropout_again(y.view(), x.view(), kept.address<uint32_t>(), p);
  return record("dropout_backward", y, inputs(x), save(kept),
                [p](const Tensor& dy, const Saved& saved) { return Grads{dropout_again(dy, saved[0], p)}; });
}

// Backward needs one bit per element. (Repeating the draw instead takes longer than everything else.)
static Tensor dropout_at(const Tensor& input, double p, Draw draw, Out out = {}) {
  const Tensor x = contiguous(input);
  Tensor y = out && out.tensor->contiguous() ? *out.tensor : empty(x.shape(), x.dtype());
  const Tensor kept = tracked(x) ? empty({(x.numel() + 31) / 32}, DType::Int32) : Tensor();
  kernels::dropout(y.view(), x.view(), kept.defined() ? kept.address<uint32_t>() : nullptr, draw, p);
  if (out) return deliver("dropout_", y, out);
  return record("dropout", y, inputs(x), save(kept),
                [p](const Tensor& dy, const Saved& saved) { return Grads{dropout_again(dy, saved[0], p)}; });
}

Tensor dropout(const Tensor& x, double p, Generator& g) {
  require_probability("dropout", p);
  if (is_complex(x.dtype())) return x * dropout(full(x.shape(), 1.0, real_type(x.dtype())), p, g);
  require_floating("dropout", "input", x);
  return dropout_at(x, p, reserve(g, x.numel(), 1));
}

Tensor dropout_(const Tensor& x, double p, Generator& g) {
  require_probability("dropout_", p);
  if (is_complex(x.dtype())) return mul_(x, dropout(full(x.shape(), 1.0, real_type(x.dtype())), p, g));
  require_floating("dropout_", "input", x);
  const Draw draw = reserve(g, x.numel(), 1);
  return inplace("dropout_", x, {}, [&](const Tensor& input, Out out) { return dropout_at(input, p, draw, out); });
}

}  // namespace genesis::ops
