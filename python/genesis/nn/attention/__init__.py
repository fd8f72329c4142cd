"""Attention as functions, and which kernel computes it: there is one, others can be chosen."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import IntEnum

from genesis._missing import explain
from genesis.nn.attention._causal import fused_attention, scaled_dot_product_attention

__all__ = ["SDPBackend", "fused_attention", "scaled_dot_product_attention", "sdpa_kernel"]


class SDPBackend(IntEnum):
    """Kernels of ``scaled_dot_product_attention``; on the CPU there is one, for any choice."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_chosen: list[SDPBackend] = [
    SDPBackend.MATH,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
]


@contextlib.contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[list[SDPBackend]]:
    """A block in which these kernels may compute attention; results are the same."""
    global _chosen
    wanted = [backends] if isinstance(backends, SDPBackend) else list(backends)
    for backend in wanted:
        if not isinstance(backend, SDPBackend):
            raise TypeError(f"sdpa_kernel: expected SDPBackend, got {backend!r}")
    if not wanted:
        raise ValueError("sdpa_kernel: backends must not be empty")
    before, _chosen = _chosen, wanted
    try:
        yield wanted
    finally:
        _chosen = before


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    return list(_chosen)


explain(globals())
