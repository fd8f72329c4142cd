"""Private names of ``torch.utils.data._utils.worker``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

__all__ = ["ManagerWatchdog"]

_worker_info: Any = None  # get_worker_info() says which worker this is


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four numbers of 32 bits for generators, by a seed and a worker."""
    import numpy as np

    return [int(n) for n in np.random.SeedSequence((base_seed, worker_id)).generate_state(4)]


class ManagerWatchdog:
    """Whether the process that started this one still runs."""

    def __init__(self) -> None:
        self.manager_pid = os.getppid()

    def is_alive(self) -> bool:
        """Whether the parent is the same."""
        return os.getppid() == self.manager_pid


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """The stream of a worker has ended."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """An epoch begins again."""

    seed: int | None = None
