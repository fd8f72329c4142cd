"""Exponential families, whose entropy follows from the log normalizer."""

from __future__ import annotations

import genesis
from genesis import Tensor
from genesis.distributions.distribution import Distribution
from genesis.distributions.utils import sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Densities of the form ``h(x) exp(<t(x), theta> - F(theta))`` with natural parameters
    ``theta``.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        """F(theta)."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        """The expectation of log h(x)."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """F(theta) - <theta, F'(theta)> - E[log h(x)], where F' comes from backward."""
        params = [p.detach().requires_grad_() for p in self._natural_params]
        with genesis.enable_grad():
            log_normalizer = self._log_normalizer(*params)
            slopes = genesis.autograd.grad(log_normalizer.sum(), params, create_graph=True)
        result = log_normalizer - self._mean_carrier_measure
        for param, slope in zip(params, slopes, strict=True):
            term = param * slope
            result = result - sum_rightmost(term, term.dim() - len(self._batch_shape))
        return result
