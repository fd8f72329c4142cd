"""Copies of a module for several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from genesis.nn.modules.module import Module

__all__ = ["replicate"]


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """The module once for each device; on one CPU they share their parameters."""
    if any(str(device) != "cpu" for device in devices):
        raise RuntimeError(f"replicate: there are no devices beside the CPU, got {list(devices)}")
    return [network] * len(devices)
