"""Optimizers and schedules from the arguments of a trainer."""

from __future__ import annotations

from typing import Any

from genesis import optim
from genesis.nn import Module
from genesis.optim import lr_scheduler
from genesis.training._schedule import NAMED


def optimizer(request: Any, model: Module) -> Any:
    """The optimizer that was passed, or made from the parameters of the model."""
    if request is None:
        request = optim.AdamW
    if hasattr(request, "param_groups"):
        return request
    if callable(request):
        made = request([p for p in model.parameters() if p.requires_grad])
        if hasattr(made, "param_groups"):
            return made
    raise TypeError(
        "Trainer: optimizer must be an Optimizer, or a function of the parameters that returns "
        f"one, got {request!r}"
    )


def schedule(request: Any, optimizer: Any, every: str, steps: int | None, epochs: int) -> Any:
    """A schedule from its name or from a function; None if there is to be none.

    ``steps`` are the updates of an epoch, None if that is not known.
    """
    if request is None:
        return None
    if not isinstance(request, str) and not callable(request):
        raise TypeError(
            "Trainer: schedule must be an LRScheduler, a name, or a function(optimizer, steps) "
            f"that returns an LRScheduler, got {request!r}"
        )
    if isinstance(request, str) and request not in NAMED:
        raise ValueError(f"Trainer: there is no schedule {request!r}; there are {sorted(NAMED)}")
    if every == "step" and steps is None:
        raise ValueError(
            "Trainer: schedule needs the number of steps, but data has no length; pass an "
            "LRScheduler, or schedule_every='epoch'"
        )
    total = epochs if steps is None or every == "epoch" else steps * epochs
    if isinstance(request, str):
        factor = NAMED[request](total, warmup=max(1, total // 20))
        return lr_scheduler.LambdaLR(optimizer, factor)
    made = request(optimizer, total)
    if not hasattr(made, "step") or not hasattr(made, "state_dict"):
        raise TypeError(f"Trainer: the function of schedule= returned {made!r}, no LRScheduler")
    return made


def schedule_name(made: Any, request: Any) -> str | None:
    """The name of a schedule, for logs."""
    if isinstance(request, str):
        return request
    return None if made is None else type(made).__name__
