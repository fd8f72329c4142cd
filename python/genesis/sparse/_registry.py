"""The table of operations that are defined for sparse tensors, and the dispatch to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from genesis.overrides import DisableTorchFunctionSubclass

_FUNCTIONS: dict[str, Callable[..., Any]] = {}


def define(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the implementation of the operations of these names."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        _FUNCTIONS.update(dict.fromkeys(names, function))
        return function

    return keep


def missing(name: str) -> RuntimeError:
    return RuntimeError(f"{name}: not supported for sparse tensors; convert them with x.to_dense()")


def wrapped(op: str, dim: int, ndim: int) -> int:
    """The dimension, counted from 0."""
    if not -ndim <= dim < ndim:
        raise IndexError(f"{op}: dim {dim} is out of range for a tensor with {ndim} dimensions")
    return dim % ndim


# Attributes and methods of Tensor that do not access elements.
_INHERITED = {
    "_base", "_is_parameter", "_version", "_writer", "as_subclass", "backward", "creator", "device",
    "dtype", "grad", "grad_fn", "hooks", "inputs", "is_cpu", "is_cuda", "is_leaf", "is_meta",
    "itemsize", "ndim", "output_nr", "register_hook", "register_post_accumulate_grad_hook",
    "requires_grad", "requires_grad_", "retain_grad", "retains_grad", "shape", "size",
}  # fmt: skip


_ALIASES = {"axis": "dim", "keepdims": "keepdim"}  # NumPy's parameter names


def dispatch(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = getattr(func, "__name__", repr(func))
    if name in ("__get__", "__set__", "__delete__"):  # of a property
        name = func.__self__.__name__
    if name in _INHERITED:
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)
    found = _FUNCTIONS.get(name)
    if found is None:
        raise missing(name)
    kwargs = {_ALIASES.get(key, key): value for key, value in kwargs.items()}
    try:
        return found(*args, **kwargs)
    except TypeError as error:
        # Raised by the call itself, not inside: there is no such argument.
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            raise missing(f"{name} with these arguments") from None
        raise
