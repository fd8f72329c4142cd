"""CUDA devices: this build has none, and queries say so.

What only waits, counts or frees has nothing to do and does nothing. What needs a device raises.
The module can be called: ``genesis.cuda()`` names a device, whether or not there is one.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NoReturn

from genesis import _C
from genesis._C import Tensor
from genesis._missing import explain
from genesis.cuda import amp as amp

__all__ = [
    "CUDAGraph",
    "Event",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "amp",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]


class _NoDevice(RuntimeError, AssertionError):
    """There is no CUDA device; PyTorch without CUDA raises an AssertionError."""


def _no_device(what: str) -> NoReturn:
    raise _NoDevice(
        f"cuda.{what}: there is no CUDA device; this build of Genesis computes on the CPU. Ask "
        "cuda.is_available() first"
    )


class OutOfMemoryError(RuntimeError):
    """Memory of a device is exhausted. There is no device, so it is never raised."""


class Stream:
    """A queue of work on a device; without one, work is done synchronously."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        self.device = device
        self.priority = priority

    def synchronize(self) -> None:
        """Nothing: no work is waiting."""

    def wait_stream(self, stream: Stream) -> None:
        """Nothing: no work is waiting."""

    def wait_event(self, event: Event) -> None:
        """Nothing: no work is waiting."""

    def query(self) -> bool:
        """Whether all work is done: yes."""
        return True

    def record_event(self, event: Event | None = None) -> Event:
        """An event, recorded now."""
        event = event or Event(enable_timing=True)
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exception: object) -> None: ...


ExternalStream = Stream


class Event:
    """A moment; on a CPU the moment when it is recorded."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self._timing = enable_timing
        self._time: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Note the time."""
        import time

        self._time = time.perf_counter()

    def wait(self, stream: Stream | None = None) -> None:
        """Nothing: no work is waiting."""

    def synchronize(self) -> None:
        """Nothing: no work is waiting."""

    def query(self) -> bool:
        """Whether the moment is past: yes."""
        return True

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between two events."""
        if self._time is None or end_event._time is None:
            raise RuntimeError("Event.elapsed_time: both events must be recorded before")
        if not (self._timing and end_event._timing):
            raise RuntimeError("Event.elapsed_time: create both events with enable_timing=True")
        return (end_event._time - self._time) * 1e3


@contextlib.contextmanager
def stream(stream: Stream | None) -> Iterator[Stream | None]:
    """A block in which nothing is different."""
    yield stream


class StreamContext:
    """A block in which nothing is different."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...


class device:
    """A block on a device: None or a negative index is no device and does nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None or device == "cpu" else device

    def __enter__(self) -> None:
        if not (isinstance(self.idx, int) and self.idx < 0):
            _no_device(f"device({self.idx!r})")

    def __exit__(self, *exception: object) -> None: ...


class device_of(device):
    """A block on the device of a tensor; those of the CPU do nothing."""

    def __init__(self, obj: Tensor) -> None:
        super().__init__(None)


class CUDAGraph:
    """Recorded work of a device; raises, as there is none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_device("CUDAGraph")


class graph:
    """A block that records the work of a device; raises, as there is none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_device("graph")

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...


def is_available() -> bool:
    """Whether tensors can be on a CUDA device: no."""
    return False


def device_count() -> int:
    """How many CUDA devices there are for us: none."""
    return 0


_initialized = False  # read by packages


def is_initialized() -> bool:
    """Whether CUDA is in use: no."""
    return False


def is_current_stream_capturing() -> bool:
    """Whether work is being recorded: no."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a CUDA device computes with bfloat16: there is none."""
    return False


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether one device reads the memory of another: there is none."""
    return False


def get_arch_list() -> list[str]:
    """The architectures of this build: none."""
    return []


def init() -> None:
    """Raises: there is no CUDA device."""
    _no_device("init")


_lazy_init = init


def current_device() -> int:
    """Raises: there is no CUDA device."""
    _no_device("current_device")


def current_stream(device: Any = None) -> Stream:
    """Raises: there is no CUDA device."""
    _no_device("current_stream")


def default_stream(device: Any = None) -> Stream:
    """Raises: there is no CUDA device."""
    _no_device("default_stream")


def set_device(device: Any) -> None:
    """Raises: there is no CUDA device."""
    _no_device("set_device")


def set_stream(stream: Stream) -> None:
    """Raises: there is no CUDA device."""
    _no_device("set_stream")


def get_device_name(device: Any = None) -> str:
    """Raises: there is no CUDA device."""
    _no_device("get_device_name")


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Raises: there is no CUDA device."""
    _no_device("get_device_capability")


def get_device_properties(device: Any = None) -> Any:
    """Raises: there is no CUDA device."""
    _no_device("get_device_properties")


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Raises: there is no CUDA device."""
    _no_device("mem_get_info")


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Raises: there is no CUDA device."""
    _no_device("set_per_process_memory_fraction")


def synchronize(device: Any = None) -> None:
    """Nothing: no work is waiting."""


def empty_cache() -> None:
    """Nothing: no memory of a device is kept."""


def ipc_collect() -> None:
    """Nothing: no memory of a device is shared."""


def manual_seed(seed: int) -> None:
    """Nothing: there is no generator of a device."""


def manual_seed_all(seed: int) -> None:
    """Nothing: there is no generator of a device."""


def seed() -> None:
    """Nothing: there is no generator of a device."""


def seed_all() -> None:
    """Nothing: there is no generator of a device."""


def initial_seed() -> int:
    """Raises: there is no CUDA device."""
    _no_device("initial_seed")


def get_rng_state(device: Any = "cuda") -> Tensor:
    """Raises: there is no CUDA device."""
    _no_device("get_rng_state")


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Raises: there is no CUDA device."""
    _no_device("set_rng_state")


def get_rng_state_all() -> list[Tensor]:
    """The states of the generators of all devices: none."""
    return []


def set_rng_state_all(new_states: list[Tensor]) -> None:
    """Set the states of the generators of all devices: an empty list."""
    if new_states:
        _no_device("set_rng_state_all")


def memory_allocated(device: Any = None) -> int:
    """Bytes in use on a device: 0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated
memory_cached = max_memory_cached = memory_allocated


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing: there is nothing to count."""


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats
reset_accumulated_memory_stats = reset_peak_memory_stats


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Counts of the allocator of a device: none."""
    return {}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Raises: there is no CUDA device."""
    _no_device("memory_summary")


class _CallableModule(ModuleType):
    def __call__(self, device_id: int = 0) -> _C.device:
        return _C.device("cuda") if device_id == 0 else _C.device("cuda", device_id)


sys.modules[__name__].__class__ = _CallableModule

explain(globals())
