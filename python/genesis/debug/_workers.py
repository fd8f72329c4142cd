"""What the worker has done. There is one, this process."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from genesis import _C


def get_worker_stats() -> dict[str, Any]:
    """By worker: its threads, and the memory of its tensors.

    >>> list(genesis.debug.get_worker_stats())
    ['local']
    """
    from genesis import memory

    return {
        "local": {
            "threads": _C.get_num_threads(),
            "memory": {"allocated": memory.allocated(), "peak": memory.peak()},
        }
    }


def print_worker_stats(file: TextIO | None = None) -> None:
    """Print what `get_worker_stats` returns.

    >>> genesis.debug.print_worker_stats()  # doctest: +SKIP
    """
    out = sys.stdout if file is None else file
    for name, stats in get_worker_stats().items():
        print(f"Worker {name}: {stats['threads']} threads", file=out)
        for kind, amount in stats["memory"].items():
            print(f"  memory {kind}: {amount} bytes", file=out)
