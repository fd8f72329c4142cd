"""Calls that every replay makes again as they are: the steps of optimizers and schedulers.

They read learning rates and count steps in Python, and compute in one kernel call for all
parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from genesis import _C

# The calls of the capture that runs, with the object each belongs to; None while such a call runs.
hosts: list[tuple[Any, Callable[[], Any]]] | None = None


def repeated(owner: Any, function: Callable[[], Any]) -> Any:
    """``function()``, which is to be called again in every replay of the capture that runs."""
    global hosts
    if hosts is None:
        return function()
    here, hosts = hosts, None
    here.append((owner, function))
    _C._capture_host(len(here) - 1)
    try:
        result = function()
    finally:
        _C._capture_pause(False)
        hosts = here
    if result is not None:
        _C._capture_interrupt(f"the result of {type(owner).__name__}.step() is used")
    return result
