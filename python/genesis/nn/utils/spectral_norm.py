"""Spectral normalization by a hook. The newer form is in ``parametrizations``."""

from __future__ import annotations

from typing import Any, TypeVar

from genesis import _C
from genesis._C import Tensor
from genesis._named_errors import name_errors
from genesis.nn import functional as F
from genesis.nn.modules.module import Module
from genesis.nn.parameter import Parameter

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]

M = TypeVar("M", bound=Module)


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight as a matrix, with dimension ``dim`` as rows."""
    if dim != 0:
        weight = weight.movedim(dim, 0)
    return weight.reshape(weight.shape[0], -1)


def power_iteration(matrix: Tensor, u: Tensor, v: Tensor, times: int, eps: float) -> None:
    """Update u and v, the estimates of the first singular vectors, by power iteration, in place."""
    with _C.no_grad():
        for _ in range(times):
            v.copy_(F.normalize(_C.mv(matrix.T, u), dim=0, eps=eps))
            u.copy_(F.normalize(_C.mv(matrix, v), dim=0, eps=eps))


class SpectralNorm:
    """The hook that divides a weight by an estimate of its largest singular value."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"spectral_norm: n_power_iterations must be positive, got {n_power_iterations}"
            )
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        """The normalized weight; in training, after an update of the estimate."""
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            power_iteration(matrix.detach(), u, v, self.n_power_iterations, self.eps)
            u, v = u.clone(), v.clone()  # the graph keeps these; the next step changes those
        sigma = _C.dot(u, _C.mv(matrix, v))
        result: Tensor = weight / sigma
        return result

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> M:
    """Divide a weight by an estimate of its largest singular value before each forward call.

    The weight is seen as a matrix whose rows are its slices along ``dim``: 1 for transposed
    convolutions, else 0. The estimate gets better in each forward in training mode.

    >>> layer = spectral_norm(genesis.nn.Linear(20, 40))
    >>> sorted(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if any(
        isinstance(h, SpectralNorm) and h.name == name for h in module._forward_pre_hooks.values()
    ):
        raise RuntimeError(f"spectral_norm: parameter {name!r} has a spectral norm already")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters.get(name)
    if weight is None:
        raise ValueError(f"spectral_norm: {type(module).__name__} has no parameter {name!r}")
    rows, columns = as_matrix(weight.detach(), dim).shape
    u = F.normalize(_C.randn(rows, dtype=weight.dtype, device=weight.device), dim=0, eps=eps)
    v = F.normalize(_C.randn(columns, dtype=weight.dtype, device=weight.device), dim=0, eps=eps)
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Remove the hook, and replace the weight by the normalized weight.

    >>> layer = remove_spectral_norm(spectral_norm(genesis.nn.Linear(2, 3)))
    >>> sorted(layer.state_dict())
    ['bias', 'weight']
    """
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            with _C.no_grad():
                weight = hook.compute_weight(module, False)
            for attribute in (name, name + "_u", name + "_v", name + "_orig"):
                delattr(module, attribute)
            module.register_parameter(name, Parameter(weight.detach()))
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")


name_errors(__all__, globals())
