"""Blocks in which ranks may have different numbers of batches."""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import Any, Protocol

from genesis._missing import explain

__all__ = ["Join", "Joinable"]


class Joinable(Protocol):
    """What can take part: it has a ``join`` as `DistributedDataParallel` has."""

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> contextlib.AbstractContextManager[None]: ...


class Join:
    """``with Join([model]):`` is ``with model.join():``, for several models at once."""

    def __init__(
        self,
        joinables: list[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("Join: joinables is empty; pass the models that take part")
        for x in joinables:
            if not hasattr(x, "join"):
                raise TypeError(
                    f"Join: {type(x).__name__} has no join(); pass DistributedDataParallel models"
                )
        self._joinables = joinables
        self._options = dict(
            enable=enable, throw_on_early_termination=throw_on_early_termination, **kwargs
        )
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> None:
        with contextlib.ExitStack() as stack:
            for x in self._joinables:
                stack.enter_context(x.join(**self._options))
            self._stack = stack.pop_all()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        return bool(self._stack.__exit__(kind, value, traceback))


explain(globals())
