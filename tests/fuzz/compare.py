"""Arrays of either library, and where two of them disagree."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_array(t: Any) -> np.ndarray:
    t = t.detach()
    return (t.float() if str(t.dtype).endswith("float16") else t).numpy().copy()


def differs(ours: np.ndarray, theirs: np.ndarray, tolerance: float) -> np.ndarray:
    """Where two arrays of one shape disagree, measured by the size of what is in them."""
    with np.errstate(all="ignore"):
        a, b = ours.astype(np.float64), theirs.astype(np.float64)
        finite = np.abs(b[np.isfinite(b)])
        scale = finite.max() if finite.size else 0.0
        close = np.abs(a - b) <= tolerance * (1 + scale)
        return ~(close | (a == b) | (np.isnan(a) & np.isnan(b)))
