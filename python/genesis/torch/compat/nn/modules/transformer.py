"""Private names of ``torch.nn.modules.transformer``."""

from __future__ import annotations

import copy
from typing import Any

from genesis import nn

__all__ = ["_get_activation_fn", "_get_clones"]


def _get_activation_fn(activation: str) -> Any:
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(nn.functional, activation)


def _get_clones(module: nn.Module, N: int) -> nn.ModuleList:
    return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])
