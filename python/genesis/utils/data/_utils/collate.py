"""Batches of samples."""

from __future__ import annotations

import re
from typing import Any

from genesis.data.collate import default_collate, default_convert

__all__ = ["collate", "default_collate", "default_convert"]

np_str_obj_array_pattern = re.compile(r"[SaUO]")
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)
default_collate_fn_map: dict[Any, Any] = {}


def collate(batch: Any, *, collate_fn_map: dict[Any, Any] | None = None) -> Any:
    """``default_collate``, with functions of one's own for some types of samples."""
    sample = batch[0]
    for kind, function in (collate_fn_map or {}).items():
        if isinstance(sample, kind):
            return function(batch, collate_fn_map=collate_fn_map)
    if collate_fn_map and isinstance(sample, dict):
        return {k: collate([b[k] for b in batch], collate_fn_map=collate_fn_map) for k in sample}
    if collate_fn_map and isinstance(sample, (list, tuple)):
        columns = [collate(c, collate_fn_map=collate_fn_map) for c in zip(*batch, strict=True)]
        return sample._make(columns) if hasattr(sample, "_make") else columns
    return default_collate(batch)
