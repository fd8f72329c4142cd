"""Where this process stands in a job, read from the variables that a launcher sets.

Nothing here touches MPI, so the position is known before MPI starts and where it is not installed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

# (rank, size, local rank, local size), per launcher; a local name may be missing from a job.
_LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ("PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"),
)  # fmt: skip
_TORCHRUN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


@dataclass(frozen=True)
class Position:
    """The rank and size of a process in its job; local ones are -1 if no launcher sets them."""

    rank: int
    size: int
    local_rank: int
    local_size: int
    launched: bool  # by something that can start MPI


def _number(text: str | None, default: int) -> int:
    """An integer; Slurm writes "2(x3)" for two tasks on each of three nodes."""
    digits = ""
    for letter in text or "":
        if not letter.isdigit():
            break
        digits += letter
    return int(digits) if digits else default


def position(environ: Mapping[str, str] | None = None) -> Position:
    """The position of this process; rank 0 of 1 where no launcher started it.

    >>> position({"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "4"})
    Position(rank=1, size=4, local_rank=1, local_size=4, launched=True)
    """
    env = os.environ if environ is None else environ
    for names in _LAUNCHERS:
        rank, size, local_rank, local_size = (env.get(name) for name in names)
        if rank is None or size is None:
            continue
        if names[0] == "SLURM_PROCID" and _number(size, 1) == 1:
            continue  # a shell inside an allocation
        return Position(
            _number(rank, 0),
            _number(size, 1),
            _number(local_rank, -1),
            _number(local_size, -1),
            True,
        )
    return Position(0, 1, 0, 1, False)


def asked_size(environ: Mapping[str, str] | None = None) -> int:
    """The number of processes that torchrun's variables name, 1 without them."""
    env = os.environ if environ is None else environ
    return _number(env.get("WORLD_SIZE"), 1)


def publish(place: Position) -> None:
    """Set torchrun's variables, which existing scripts read."""
    values = (place.rank, place.size, place.local_rank, place.local_size)
    for name, value in zip(_TORCHRUN, values, strict=True):
        os.environ[name] = str(max(value, 0 if name.endswith("RANK") else 1))
    if place.local_size > 0:
        os.environ.setdefault("GROUP_RANK", str(place.rank // place.local_size))
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "29500")
