"""What stands beside models: data, and the states of training runs."""

from __future__ import annotations

import importlib
from typing import Any

_SUBMODULES = ("data", "training")


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"genesis.utils.{name}")
    raise AttributeError(f"module 'genesis.utils' has no attribute {name!r}")
