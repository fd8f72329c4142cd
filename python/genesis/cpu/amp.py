"""Mixed precision on the CPU: the old names."""

from __future__ import annotations

from genesis import amp
from genesis._C import bfloat16, dtype
from genesis._missing import explain

__all__ = ["GradScaler", "autocast"]

GradScaler = amp.GradScaler


class autocast(amp.autocast):
    """A block of mixed precision."""

    def __init__(
        self, enabled: bool = True, dtype: dtype = bfloat16, cache_enabled: bool = True
    ) -> None:
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


explain(globals())
