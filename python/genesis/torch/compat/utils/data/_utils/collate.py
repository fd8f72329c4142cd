"""The functions that ``default_collate`` uses for each type of samples."""

from __future__ import annotations

from typing import Any

from genesis.data.collate import default_collate


def _collate(batch: Any, *, collate_fn_map: Any = None) -> Any:
    return default_collate(batch)


collate_tensor_fn = collate_numpy_array_fn = collate_numpy_scalar_fn = _collate
collate_float_fn = collate_int_fn = _collate


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """The strings themselves."""
    return batch
