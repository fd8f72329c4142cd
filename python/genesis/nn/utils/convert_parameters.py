"""Conversion between parameters and a single vector."""

from __future__ import annotations

from collections.abc import Iterable

from genesis import _C
from genesis._C import Tensor
from genesis._named_errors import name_errors

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """A vector of all elements of ``parameters``. It is differentiable.

    >>> parameters_to_vector(genesis.nn.Linear(2, 3).parameters()).shape
    genesis.Size([9])
    """
    return _C.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set ``parameters`` to consecutive parts of a vector, as views of its memory.

    >>> layer = genesis.nn.Linear(1, 1)
    >>> vector_to_parameters(genesis.tensor([2.0, 3.0]), layer.parameters())
    >>> layer.weight.item(), layer.bias.item()
    (2.0, 3.0)
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"vector_to_parameters: expected a tensor, got {type(vec).__name__}")
    parameters = list(parameters)
    wanted = sum(p.numel() for p in parameters)
    if vec.ndim != 1 or vec.numel() != wanted:
        raise _C.ShapeError(
            f"vector_to_parameters: vec must be 1-d with {wanted} elements, as many as the "
            f"parameters, got shape {tuple(vec.shape)}"
        )
    at = 0
    for p in parameters:
        p.data = vec[at : at + p.numel()].view(p.shape).data
        at += p.numel()


name_errors(__all__, globals())
