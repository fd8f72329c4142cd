"""Gradient clipping."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from genesis import _C
from genesis._C import Tensor
from genesis._named_errors import name_errors

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]


def _grads(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    if hasattr(parameters, "parameters"):
        raise TypeError(
            "clip_grad: parameters must be an iterable of tensors, got the module "
            f"{type(parameters).__name__}; pass model.parameters()"
        )
    return [p.grad for p in parameters if p.grad is not None]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors, taken as one vector. ``foreach`` has no effect.

    >>> get_total_norm([genesis.tensor([3.0]), genesis.tensor([4.0])])
    tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return _C.tensor(0.0)
    with _C.no_grad():
        norms = [_C.linalg_vector_norm(t, norm_type) for t in tensors]
        dtype = norms[0].dtype
        for n in norms[1:]:
            dtype = _C.promote_types(dtype, n.dtype)
        total = _C.linalg_vector_norm(_C.stack([n.to(dtype) for n in norms]), norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite "
            f"({total.item()}), so it cannot be clipped. To scale the gradients by it anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale gradients by ``max_norm / total_norm`` if that is below 1, in place.

    >>> p = genesis.nn.Parameter(genesis.zeros(1))
    >>> p.grad = genesis.tensor([4.0])
    >>> clip_grads_with_norm_([p], 1.0, genesis.tensor(4.0))
    >>> p.grad
    tensor([1.0000])
    """
    with _C.no_grad():
        scale = (float(max_norm) / (total_norm + 1e-6)).clamp_(max=1.0)
        for grad in _grads(parameters):
            grad.mul_(scale.to(grad.dtype))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of ``parameters`` in place to a total norm of at most ``max_norm``.

    Returns the total norm before clipping. ``foreach`` has no effect.

    >>> p = genesis.nn.Parameter(genesis.zeros(2))
    >>> p.grad = genesis.tensor([3.0, 4.0])
    >>> clip_grad_norm_([p], max_norm=1.0)
    tensor(5.)
    >>> p.grad
    tensor([0.6000, 0.8000])
    """
    if isinstance(parameters, Iterator):
        parameters = list(parameters)  # it is gone through twice
    total = get_total_norm(_grads(parameters), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Clamp the gradients to the range from ``-clip_value`` to ``clip_value``, in place.

    >>> p = genesis.nn.Parameter(genesis.zeros(2))
    >>> p.grad = genesis.tensor([3.0, -4.0])
    >>> clip_grad_value_([p], 2.0)
    >>> p.grad
    tensor([ 2., -2.])
    """
    bound = float(clip_value)
    with _C.no_grad():
        for grad in _grads(parameters):
            grad.clamp_(-bound, bound)


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """An alias of ``clip_grad_norm_``."""
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """An alias of ``clip_grad_value_``."""
    clip_grad_value_(parameters, clip_value, foreach)


name_errors(__all__, globals())
