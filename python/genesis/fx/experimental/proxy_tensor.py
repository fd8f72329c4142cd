"""Traces of operators, which only a compiler makes."""

from __future__ import annotations

__all__ = ["get_proxy_mode"]


def get_proxy_mode() -> None:
    """The trace that is being made: none."""
