"""Parametrizations of weights."""

from __future__ import annotations

from typing import Any, TypeVar

from genesis import _C
from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn.modules.module import Module
from genesis.nn.utils.parametrize import register_parametrization
from genesis.nn.utils.spectral_norm import as_matrix, power_iteration
from genesis.nn.utils.weight_norm import norm_except_dim

__all__ = ["spectral_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, self.dim), weight


class _OldKeys:
    """Reads ``<name>_g`` and ``<name>_v``, as the hook of nn.utils.weight_norm saves them."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        old = [f"{prefix}{self.name}_{part}" for part in "gv"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                new = f"{prefix}parametrizations.{self.name}.original{i}"
                state_dict[new] = state_dict.pop(key)


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """A weight as length (``original0``) times direction (``original1``).

    Lengths are those of the slices along ``dim``, or with None that of the whole.

    >>> layer = weight_norm(genesis.nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.shape
    genesis.Size([40, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(_OldKeys(name))
    return module


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"spectral_norm: dim {dim} is out of range for a weight of shape "
                f"{tuple(weight.shape)}"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"spectral_norm: n_power_iterations must be positive, got {n_power_iterations}"
            )
        self.dim = dim % weight.ndim
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if weight.ndim > 1:
            matrix = as_matrix(weight.detach(), self.dim)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                vector = _C.randn(size, dtype=weight.dtype)
                self.register_buffer(name, F.normalize(vector, dim=0, eps=eps))
            self._improve(matrix, 15)

    def _improve(self, matrix: Tensor, times: int) -> None:
        # Here PyTorch begins with u, in the hook with v.
        power_iteration(matrix.T, self._v, self._u, times, self.eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._improve(matrix.detach(), self.n_power_iterations)
        # The graph keeps these; the next step changes the buffers.
        u, v = self._u.clone(), self._v.clone()
        return weight / _C.dot(u, _C.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """A weight divided by an estimate of its largest singular value.

    The weight is seen as a matrix whose rows are its slices along ``dim``: 1 for transposed
    convolutions, else 0. The estimate gets better with each use in training mode.

    >>> layer = spectral_norm(genesis.nn.Linear(20, 40))
    >>> abs(float(genesis.linalg.matrix_norm(layer.weight, 2)) - 1) < 0.3
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(
            f"spectral_norm: {type(module).__name__} has no parameter or buffer {name!r}"
        )
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, dim, eps)
    )
