"""Private names of ``torch.amp.grad_scaler``."""

from __future__ import annotations

import enum
from typing import Any

__all__ = ["OptState"]


class OptState(enum.Enum):
    """What has been done with the gradients of an optimizer."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}
