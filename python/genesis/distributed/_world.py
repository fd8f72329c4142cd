"""The ranks of the job: starting and ending, groups, and who is who."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from genesis import _C
from genesis.distributed import _environment, _mpiexec, _status, _threads
from genesis.distributed._group import ProcessGroup
from genesis.distributed._watchdog import Watchdog, abort_on_exception

default_pg_timeout = timedelta(minutes=30)
_BACKENDS = ("mpi", "gloo", "nccl", "ucc", "xccl")


class Backend(str):
    """The name of a backend, in lower case: ``Backend("NCCL") == "nccl"``.

    >>> Backend("GLOO") == Backend.GLOO
    True
    """

    UNDEFINED = "undefined"
    MPI = "mpi"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    XCCL = "xccl"

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend: the name must be a str, got {type(name).__name__}")
        return super().__new__(cls, name.lower())


class _NotAMember:
    """What `new_group` returns on ranks that are not in the group."""

    def __repr__(self) -> str:
        return "GroupMember.NON_GROUP_MEMBER"


class GroupMember:
    """Marks for groups: ``WORLD`` is the default one."""

    NON_GROUP_MEMBER: Any = _NotAMember()
    WORLD: Any = None


class group:
    """``group.WORLD`` is the group of all ranks."""

    WORLD: Any = None


class _State:
    def __init__(self) -> None:
        self.world: ProcessGroup | None = None
        self.mpi: Any = None
        self.watchdog: Watchdog | None = None
        self.backend = "mpi"
        self.local_rank = 0
        self.local_size = 1
        self.groups = 0
        self.local_groups: dict[tuple[int, ...], int] = {}  # how often each was made by its members
        self.noted: set[str] = set()


_state = _State()


def is_available() -> bool:
    """Whether this module can be used: always.

    Under the name of PyTorch only in a process that a launcher started: packages import more of
    PyTorch's internals where they find it available.

    >>> is_available()
    True
    """
    return not _C._is_exact_torch() or _state.world is not None or _environment.position().launched


def is_mpi_available() -> bool:
    """Whether mpi4py is installed. It is not imported."""
    import importlib.util

    return importlib.util.find_spec("mpi4py") is not None


def is_gloo_available() -> bool:
    """False: "gloo" is accepted as a name for MPI."""
    return False


def is_nccl_available() -> bool:
    """False: "nccl" is accepted as a name for MPI."""
    return False


def is_initialized() -> bool:
    """Whether `init_process_group` has been called.

    >>> is_initialized()
    False
    """
    return _state.world is not None


def is_torchelastic_launched() -> bool:
    """Whether ``genesis run`` (or torchrun) started this process."""
    return "TORCHELASTIC_RESTART_COUNT" in os.environ


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | float | None = None,
    world_size: int | None = -1,
    rank: int | None = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    *,
    deterministic: bool = True,
) -> None:
    """Join the ranks of the job; every rank calls this once.

    Ranks are started by ``genesis run``, ``mpiexec`` or ``srun``; a script that is started on its
    own has world size 1 and needs no MPI. ``backend`` may be "mpi", and "gloo" or "nccl", which
    mean MPI too. MPI knows rank and size: ``rank`` and ``world_size`` are checked, an
    ``init_method`` other than "env://" needs both of them, and a ``store``, ``pg_options`` or
    another ``device_id`` than the CPU is refused. After ``timeout`` (30 minutes) of waiting in one
    operation the job ends. With ``deterministic`` reductions add in the order of the ranks.

    >>> init_process_group()
    >>> get_rank(), get_world_size()
    (0, 1)
    >>> destroy_process_group()
    """
    if _state.world is not None:
        raise RuntimeError(
            "init_process_group: it was called before; call destroy_process_group() first"
        )
    seconds = seconds_of(timeout)
    name = _check_backend(backend)
    _check_rendezvous(init_method, store, rank, world_size)
    _refuse_options("init_process_group", pg_options, device_id)
    place = _environment.position()
    mpi, comm = _start_mpi(place)
    mine, size = (0, 1) if comm is None else (comm.Get_rank(), comm.Get_size())
    for what, given, actual in (("rank", rank, mine), ("world_size", world_size, size)):
        if given is not None and given not in (-1, actual):
            raise ValueError(
                f"init_process_group: {what}={given}, but this process is rank {mine} of {size}; "
                "start the ranks with `genesis run -n N script.py`, and leave this argument out"
            )
    status = _status.current or _status.Status(mine)
    _status.current = status
    _state.mpi = mpi
    _state.backend = name
    _state.local_rank, _state.local_size = place.local_rank, place.local_size
    if comm is not None:
        local = comm.Split_type(mpi.COMM_TYPE_SHARED)
        if place.local_rank < 0 or place.local_size < 1:
            _state.local_rank, _state.local_size = local.Get_rank(), local.Get_size()
        _threads.divide_by_affinity(local)
        local.Free()
    _environment.publish(
        _environment.Position(mine, size, _state.local_rank, _state.local_size, place.launched)
    )
    world = ProcessGroup(comm, mpi, tuple(range(size)), mine, status, deterministic, group_name)
    if size > 1:
        if not any(name.startswith("mpi4py.run") for name in sys.modules):
            abort_on_exception(mpi)
        _state.watchdog = Watchdog(status, mine, seconds)
        _state.watchdog.start()
    _state.world = world
    group.WORLD = GroupMember.WORLD = world


def seconds_of(timeout: timedelta | float | None, op: str = "init_process_group") -> float:
    value = default_pg_timeout if timeout is None else timeout
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if not seconds > 0:
        raise ValueError(f"{op}: timeout must be positive, got {timeout!r}")
    return seconds


def only_cpu(op: str, argument: str, given: Any) -> None:
    """Raise unless an argument that chooses devices is None or names the CPU."""
    for one in given if isinstance(given, (list, tuple)) else [given]:
        kind = one.type if isinstance(one, _C.device) else one
        if kind is not None and not (isinstance(kind, str) and kind.split(":")[0] == "cpu"):
            raise ValueError(
                f"{op}: {argument}={given!r}, but a rank computes on its CPU; leave {argument} out"
            )


def _refuse_options(op: str, pg_options: Any, device_id: Any) -> None:
    if pg_options is not None:
        raise ValueError(
            f"{op}: pg_options={pg_options!r} are options of another backend; MPI has none, so "
            "leave them out"
        )
    only_cpu(op, "device_id", device_id)


def _check_rendezvous(init_method: Any, store: Any, rank: Any, world_size: Any) -> None:
    if store is not None:
        raise ValueError(
            "init_process_group: MPI brings the ranks together and uses no store; start them with "
            "`genesis run -n N script.py`, and leave store out"
        )
    if init_method is None:
        return
    if not isinstance(init_method, str):
        raise TypeError(
            f"init_process_group: init_method must be a str, got {type(init_method).__name__}"
        )
    scheme, found, where = init_method.partition("://")
    if not found or scheme not in ("env", "tcp", "file", "mpi") or (scheme != "env" and not where):
        raise ValueError(
            f"init_process_group: init_method={init_method!r} is no address; use 'env://', or "
            "leave it out"
        )
    given = all(isinstance(n, int) and n >= 0 for n in (rank, world_size))
    if scheme in ("tcp", "file") and not given:
        raise ValueError(
            f"init_process_group: init_method={init_method!r} needs rank= and world_size=, which "
            "must be those of MPI; or leave all three out"
        )


def _check_backend(backend: str | None) -> str:
    if backend is None:
        return "mpi"
    if not isinstance(backend, str):
        raise TypeError(f"init_process_group: backend must be a str, got {backend!r}")
    names = [part.split(":")[-1] for part in backend.lower().split(",")]
    unknown = [name for name in names if name not in _BACKENDS]
    if unknown:
        raise ValueError(
            f"init_process_group: there is no backend {unknown[0]!r}; use 'mpi' "
            "('gloo' and 'nccl' mean the same here)"
        )
    for name in names:
        if name != "mpi" and name not in _state.noted:
            _state.noted.add(name)
            if _environment.position().rank == 0:
                print(
                    f"genesis.distributed: backend {name!r} is MPI here",
                    file=sys.stderr,
                    flush=True,
                )
    return backend.lower()


def _start_mpi(place: _environment.Position) -> tuple[Any, Any]:
    """The module mpi4py.MPI and the communicator of all ranks; None for a process on its own."""
    loaded = sys.modules.get("mpi4py.MPI")
    if not place.launched or place.size == 1:
        if loaded is not None and loaded.Is_initialized() and loaded.COMM_WORLD.Get_size() > 1:
            return loaded, loaded.COMM_WORLD  # a launcher whose variables are not known
        if not place.launched and _environment.asked_size() > 1:
            raise RuntimeError(
                f"init_process_group: WORLD_SIZE is {_environment.asked_size()}, but no MPI "
                "launcher started this process; use `genesis run -n N script.py` (or mpiexec, "
                "srun) in place of torchrun, or unset WORLD_SIZE"
            )
        return None, None
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise RuntimeError(
            f"init_process_group: this process is rank {place.rank} of {place.size}, but mpi4py "
            f"cannot be imported ({error}); install it with {_mpiexec.INSTALL}"
        ) from error
    if MPI.COMM_WORLD.Get_size() != place.size:
        raise RuntimeError(
            f"init_process_group: the launcher started {place.size} ranks, but MPI "
            f"({MPI.Get_library_version().splitlines()[0]}) sees {MPI.COMM_WORLD.Get_size()}: the "
            "mpiexec belongs to another MPI than mpi4py uses; start with `genesis run`"
        )
    return MPI, MPI.COMM_WORLD


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Forget the groups. Operations are no longer possible.

    It does not wait for other ranks, so that it may be called while an exception passes.
    """
    if group is not None and group is not _state.world:
        return
    if _state.watchdog is not None:
        _state.watchdog.stopped.set()
        _state.watchdog = None
    _state.world = None
    GroupMember.WORLD = None
    globals()["group"].WORLD = None


def default_group(name: str) -> ProcessGroup:
    """The group of all ranks, for an operation of this name."""
    if _state.world is None:
        raise RuntimeError(
            f"{name}: Default process group has not been initialized; call "
            "genesis.distributed.init_process_group() first"
        )
    return _state.world


def member(group: Any, name: str) -> ProcessGroup | None:
    """The group that an argument means; None if this rank is not in it."""
    if group is None:
        return _state.world or default_group(name)
    if isinstance(group, _NotAMember):
        return None
    if isinstance(group, ProcessGroup):
        return group
    inner = getattr(group, "get_group", None)  # a device mesh
    if inner is not None:
        return member(inner(), name)
    raise TypeError(f"{name}: group must be a ProcessGroup or None, got {type(group).__name__}")


def get_rank(group: Any = None) -> int:
    """The rank of this process: in the job, or in a group (-1 outside of it)."""
    found = member(group, "get_rank")
    return -1 if found is None else found.rank()


def get_world_size(group: Any = None) -> int:
    """The number of ranks: of the job, or of a group (-1 outside of it)."""
    found = member(group, "get_world_size")
    return -1 if found is None else found.size()


def get_local_rank() -> int:
    """The rank among those on the same host; 0 before `init_process_group`."""
    return (
        _state.local_rank
        if _state.world is not None
        else max(0, _environment.position().local_rank)
    )


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The rank among those on the same host, from ``LOCAL_RANK``."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    return get_local_rank() if fallback_rank is None else fallback_rank


def get_backend(group: Any = None) -> str:
    """The name that was given to `init_process_group`, "mpi" by default."""
    default_group("get_backend")
    return _state.backend


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The ranks in the job of the members of a group."""
    found = member(group, "get_process_group_ranks")
    return [] if found is None else list(found.ranks)


def get_group_rank(group: Any, global_rank: int) -> int:
    """The rank in the group of a rank of the job."""
    found = member(group, "get_group_rank")
    ranks = () if found is None else found.ranks
    if global_rank not in ranks:
        raise ValueError(f"get_group_rank: rank {global_rank} is not in the group {list(ranks)}")
    return ranks.index(global_rank)


def get_global_rank(group: Any, group_rank: int) -> int:
    """The rank in the job of a rank of the group."""
    found = member(group, "get_global_rank")
    ranks = () if found is None else found.ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"get_global_rank: the group {list(ranks)} has no rank {group_rank}")
    return ranks[group_rank]


def _group_tag(ranks: tuple[int, ...], local: bool) -> int:
    """A number that the members of a group that is being made agree on."""
    if not local:  # all ranks have made the same groups
        _state.groups += 1
        return _state.groups % 1000
    _state.local_groups[ranks] = made = _state.local_groups.get(ranks, 0) + 1
    return 1000 + (zlib.crc32(repr(ranks).encode()) + made) % 30000  # tags up to 32767 are allowed


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> Any:
    """A group of some ranks. All ranks call this, in the same order.

    Ranks that are not in it get ``GroupMember.NON_GROUP_MEMBER``. With
    ``use_local_synchronization`` only its members call it. ``timeout`` holds for operations of the
    group in place of that of the job.
    """
    world = default_group("new_group")
    chosen = tuple(range(world.size())) if ranks is None else tuple(sorted(int(r) for r in ranks))
    wrong = [r for r in chosen if not 0 <= r < world.size()]
    if wrong or not chosen or len(set(chosen)) != len(chosen):
        raise ValueError(
            f"new_group: ranks must be different numbers from 0 to {world.size() - 1}, got {ranks}"
        )
    if backend is not None:
        _check_backend(backend)
    _refuse_options("new_group", pg_options, device_id)
    status: Any = _status.current
    if timeout is not None:
        status = _status.LimitedStatus(status, seconds_of(timeout, "new_group"))
    tag = _group_tag(chosen, use_local_synchronization)
    if world.rank() not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    comm = None
    if world.size() > 1 and len(chosen) > 1:
        inner = world.comm.Get_group().Incl(list(chosen))
        comm = world.comm.Create_group(inner, tag)
    return ProcessGroup(
        comm,
        world.mpi,
        chosen,
        chosen.index(world.rank()),
        status,
        world.deterministic,
        group_desc or f"group {_state.groups}",
    )
