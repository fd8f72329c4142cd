"""The error for a name that a module does not have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["MissingName"]


class MissingName(AttributeError):
    """An attribute that a module does not have.

    The nearest name is looked up when the error is shown: most such errors are answers to
    ``hasattr``, which nobody sees.
    """

    def __init__(self, module: str, name: str, known: Iterable[str], advice: str = "") -> None:
        super().__init__(f"module {module!r} has no attribute {name!r}", name=name)
        self._known = known
        self._advice = advice

    def __str__(self) -> str:
        import difflib

        near = difflib.get_close_matches(str(self.name), list(self._known), 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"{self.args[0]}{hint}{self._advice}"

    def __reduce__(self) -> tuple[Any, ...]:
        return AttributeError, (str(self),)
