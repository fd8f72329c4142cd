"""TensorBoard's log files, written by the package tensorboardX where it is installed."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["FileWriter", "SummaryWriter"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        tensorboardX = importlib.import_module("tensorboardX")
    except ImportError:
        raise ImportError(
            f"utils.tensorboard.{name} needs the package tensorboardX: pip install tensorboardX"
        ) from None
    return getattr(tensorboardX, name)
