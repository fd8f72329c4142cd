"""Tensors in groups for ``_foreach_*``."""

from __future__ import annotations

from typing import Any

__all__ = ["_group_tensors_by_device_and_dtype"]


def _get_foreach_kernels_supported_devices() -> list[str]:
    return ["cpu"]


_get_fused_kernels_supported_devices = _get_foreach_kernels_supported_devices


def _device_has_foreach_support(device: Any) -> bool:
    return bool(device.type == "cpu")


def _has_foreach_support(tensors: Any, device: Any) -> bool:
    return _device_has_foreach_support(device)


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Parallel lists, divided by device and dtype of the first."""
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for i, first in enumerate(tensorlistlist[0]):
        key = (first.device, first.dtype)
        lists, indices = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for part, whole in zip(lists, tensorlistlist, strict=True):
            if whole:
                part.append(whole[i])
        if with_indices:
            indices.append(i)
    return groups
