"""The number of threads of a rank: the ranks of a host share its processors."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import genesis

VARIABLE = "GENESIS_NUM_THREADS"


def divide(local_size: int) -> None:
    """Use an equal part of the processors of this host, unless the user chose a number."""
    if VARIABLE not in os.environ:
        _use(genesis.get_num_threads() // max(1, local_size))


def divide_by_affinity(local: Any) -> None:
    """The same for ranks of an MPI communicator of one host, which a launcher may have bound.

    A processor counts for a rank in equal parts with the others that may run on it. A number that
    differs from the rank's processors is the user's choice and stays.
    """
    if not hasattr(os, "sched_getaffinity"):
        divide(local.Get_size())
        return
    mine = sorted(os.sched_getaffinity(0))
    sets = local.allgather(mine)
    if VARIABLE not in os.environ and genesis.get_num_threads() == len(mine):
        _use(share(mine, sets))


def share(mine: Sequence[int], sets: Sequence[Sequence[int]]) -> int:
    """Threads for a rank that may run on ``mine``, where ``sets`` are those of all ranks.

    >>> share([0, 1, 2, 3], [[0, 1, 2, 3], [0, 1, 2, 3]])
    2
    >>> share([0, 1], [[0, 1], [2, 3]])
    2
    """
    users = Counter(cpu for cpus in sets for cpu in cpus)
    return int(sum(Fraction(1, users[cpu]) for cpu in mine))


def _use(threads: int) -> None:
    threads = max(1, threads)
    os.environ[VARIABLE] = str(threads)  # for processes that this rank starts
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))
    genesis.set_num_threads(threads)
