// Random numbers. Every draw takes its counters from a generator (core/random.h) and has no gradient, except dropout
// and gamma variates.
#pragma once

#include "core/random.h"
#include "core/scalar.h"
#include "core/tensor.h"

namespace genesis::ops {

Tensor rand(const Dims& shape, DType dtype, Generator& g);                                // uniform on [0, 1)
Tensor randn(const Dims& shape, DType dtype, Generator& g);                               // standard normal
Tensor randint(int64_t low, int64_t high, const Dims& shape, DType dtype, Generator& g);  // high is excluded
Tensor randperm(int64_t n, DType dtype, Generator& g);
// mean + std * randn with broadcasting. Undefined tensors mean 0 and 1.
Tensor normal(const Tensor& mean, const Tensor& std, double mean_value, double std_value, Generator& g);
Tensor bernoulli(const Tensor& p, Generator& g);
Tensor bernoulli(const Tensor& like, double p, Generator& g);
Tensor multinomial(const Tensor& weights, int64_t num_samples, bool replacement, Generator& g);
Tensor poisson(const Tensor& rate, Generator& g);
Tensor binomial(const Tensor& count, const Tensor& prob, Generator& g);
// Gamma variates of scale 1, and their logarithms, differentiable with respect to the shape (implicit
// reparameterization).
Tensor standard_gamma(const Tensor& shape, Generator& g);
Tensor standard_gamma_grad(const Tensor& shape, const Tensor& variate);
Tensor log_standard_gamma(const Tensor& shape, Generator& g);

// Fills an existing tensor. No gradient flows to its previous values.
Tensor uniform_(const Tensor& x, double from, double to, Generator& g);
Tensor normal_(const Tensor& x, double mean, double std, Generator& g);
Tensor log_normal_(const Tensor& x, double mean, double std, Generator& g);
Tensor exponential_(const Tensor& x, double rate, Generator& g);
Tensor cauchy_(const Tensor& x, double median, double sigma, Generator& g);
Tensor geometric_(const Tensor& x, double p, Generator& g);
Tensor bernoulli_(const Tensor& x, double p, Generator& g);
Tensor bernoulli_(const Tensor& x, const Tensor& p, Generator& g);
Tensor random_(const Tensor& x, int64_t from, int64_t to, Generator& g);  // from <= value < to
Tensor random_(const Tensor& x, Generator& g);  // all integers that the dtype represents exactly

// Zeroes elements with probability p and scales the others by 1 / (1 - p).
Tensor dropout(const Tensor& x, double p, Generator& g);
Tensor dropout_(const Tensor& x, double p, Generator& g);

}  // namespace genesis::ops
