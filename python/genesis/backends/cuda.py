"""CUDA: not there. Its flags can be set, and change nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

__all__ = [
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "is_built",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_linalg_library",
    "sdp_kernel",
]


class _MatMul:
    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    fp32_precision = "none"


matmul = _MatMul()
_enabled = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def is_built() -> bool:
    """Whether this is a build with CUDA: no."""
    return False


def flash_sdp_enabled() -> bool:
    """Whether attention may use FlashAttention on a GPU."""
    return _enabled["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Let attention use FlashAttention on a GPU, or not."""
    _enabled["flash"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention may use the memory-efficient kernel on a GPU."""
    return _enabled["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Let attention use the memory-efficient kernel on a GPU, or not."""
    _enabled["mem_efficient"] = enabled


def math_sdp_enabled() -> bool:
    """Whether attention may be computed with plain operators on a GPU."""
    return _enabled["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Let attention be computed with plain operators on a GPU, or not."""
    _enabled["math"] = enabled


def cudnn_sdp_enabled() -> bool:
    """Whether attention may use cuDNN on a GPU."""
    return _enabled["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Let attention use cuDNN on a GPU, or not."""
    _enabled["cudnn"] = enabled


def preferred_linalg_library(backend: Any = None) -> str:
    """The library of linear algebra on a GPU: the default."""
    return "default"


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """A block with other choices for attention on a GPU."""
    before = dict(_enabled)
    _enabled.update(
        flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn
    )
    try:
        yield
    finally:
        _enabled.update(before)
