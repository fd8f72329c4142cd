"""The old place of the profiler."""

from __future__ import annotations

from typing import Any

from genesis._missing import explain
from genesis.profiler import Averages, Event, record_function
from genesis.profiler import profile as _profile

__all__ = ["EventList", "FunctionEvent", "emit_itt", "emit_nvtx", "profile", "record_function"]

EventList = Averages
FunctionEvent = Event


class profile(_profile):
    """A block whose operations are timed; the options for GPUs must be off."""

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        **kwargs: Any,
    ) -> None:
        if use_cuda or use_device not in (None, "cpu"):
            raise RuntimeError("autograd.profiler.profile: there is no device beside the CPU")
        self._enabled = enabled
        super().__init__(
            record_shapes=record_shapes, with_flops=with_flops, profile_memory=profile_memory,
            with_stack=with_stack,
        )  # fmt: skip

    def __enter__(self) -> profile:
        if self._enabled:
            super().__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._enabled:
            super().__exit__(*exception)


class emit_nvtx:
    """A block whose operations NVIDIA's profiler sees; raises when it is entered."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_nvtx:
        if self.enabled:
            raise RuntimeError(f"{type(self).__name__}: there is no such profiler here")
        return self

    def __exit__(self, *exception: object) -> None: ...


class emit_itt(emit_nvtx):
    """A block whose operations Intel's profiler sees; raises when it is entered."""


explain(globals())
