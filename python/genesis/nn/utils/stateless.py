"""Calls of modules with replaced parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from genesis import func
from genesis._missing import explain

if TYPE_CHECKING:
    from genesis import Tensor
    from genesis.nn import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The deprecated name of :func:`genesis.func.functional_call`."""
    return func.functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


explain(globals())
