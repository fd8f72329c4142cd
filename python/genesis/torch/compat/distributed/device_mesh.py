"""Arrangements of processes."""

from __future__ import annotations

from typing import Any

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Processes in rows and columns; raises, as there is one process."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("DeviceMesh: Genesis does not arrange processes in a mesh")


def init_device_mesh(device_type: str, mesh_shape: Any, **kwargs: Any) -> DeviceMesh:
    """Raises, as there is one process."""
    return DeviceMesh(device_type, mesh_shape)
