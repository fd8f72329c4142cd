"""Functions of ``torch.xpu`` that query a device that does not exist."""

from __future__ import annotations

from typing import Any

from genesis.torch.compat._absent import absent_function

__all__ = ["is_bf16_supported", "max_memory_allocated", "memory_allocated"]


def memory_allocated(device: Any = None) -> int:
    """Bytes of memory of a device: 0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing: no memory of a device is used."""


def is_bf16_supported() -> bool:
    """Whether the device computes in bfloat16: there is none."""
    return False


def get_rng_state_all() -> list[Any]:
    """The states of the generators of all devices: there are none."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Nothing: there are no generators of devices."""


current_device, get_device_name, get_device_properties, get_device_capability, set_device = (
    absent_function(f"xpu.{name}", "there is no XPU device; ask xpu.is_available() first")
    for name in (
        "current_device", "get_device_name", "get_device_properties", "get_device_capability",
        "set_device",
    )
)  # fmt: skip
get_rng_state, set_rng_state, mem_get_info, device, Event, Stream = (
    absent_function(f"xpu.{name}", "there is no XPU device; ask xpu.is_available() first")
    for name in ("get_rng_state", "set_rng_state", "mem_get_info", "device", "Event", "Stream")
)
