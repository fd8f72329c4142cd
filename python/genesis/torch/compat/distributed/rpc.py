"""Calls of functions in other processes: not there."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """Whether functions of other processes can be called: no."""
    return False


def _is_current_rpc_agent_set() -> bool:
    return False
