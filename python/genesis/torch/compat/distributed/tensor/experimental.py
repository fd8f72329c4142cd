"""Functions that PyTorch may still change."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from genesis.torch.compat._absent import absent_function

__all__ = ["context_parallel", "implicit_replication"]

context_parallel = absent_function(
    "distributed.tensor.experimental.context_parallel", "divide the batch instead"
)


@contextlib.contextmanager
def implicit_replication() -> Iterator[None]:
    """A block in which plain tensors and DTensors are combined; plain ones count as replicated."""
    yield
