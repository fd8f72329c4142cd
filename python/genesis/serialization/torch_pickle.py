"""Reads objects of any class from PyTorch's files, by running their pickle.

Only programs written for PyTorch get here (``genesis.torch``), and only if they ask for it: with
``weights_only=False`` everything that a file names is called, as in PyTorch; with ``allowed``, only
the classes and functions that the program has declared safe.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable
from typing import Any

from genesis.serialization.errors import FileFormatError
from genesis.serialization.unpickle import Name


class Reader:
    """Runs one pickle of ``data``, from ``start``; `end` is where it stopped.

    ``calls`` are our functions for names of PyTorch, ``names`` are those that stay names.
    """

    def __init__(
        self,
        data: bytes,
        calls: dict[str, Callable[..., Any]],
        names: Iterable[str],
        persistent: Callable[[Any], Any],
        start: int,
        allowed: list[Any] | None,
        module: Any,
        options: dict[str, Any],
    ) -> None:
        self.file = io.BytesIO(data)
        self.file.seek(start)
        self.end = start
        safe = None if allowed is None else _by_name(allowed)

        class Unpickler(module.Unpickler):  # type: ignore[misc]
            def find_class(self, place: str, name: str) -> Any:
                text = f"{place}.{name}"
                if text in calls and place.partition(".")[0] == "torch":
                    return calls[text]
                if text in names:
                    return Name(text)
                if safe is None:
                    return super().find_class(place, name)
                if text in safe:
                    return safe[text]
                if text in calls:
                    return calls[text]
                raise pickle.UnpicklingError(
                    f"it holds an object of {text}, which add_safe_globals() was not called with"
                )

            def persistent_load(self, pid: Any) -> Any:
                return persistent(pid)

        self.unpickler = Unpickler(self.file, **options)

    def run(self) -> Any:
        """The object."""
        try:
            found = self.unpickler.load()
        except (pickle.UnpicklingError, EOFError) as error:
            raise FileFormatError(f"the pickle in it cannot be read: {error}") from error
        self.end = self.file.tell()
        return found


def _by_name(allowed: list[Any]) -> dict[str, Any]:
    """Classes and functions by the names that pickles have for them."""
    found = {}
    for entry in allowed:
        value, name = entry if isinstance(entry, tuple) else (entry, None)
        found[name or f"{value.__module__}.{value.__qualname__}"] = value
    return found
