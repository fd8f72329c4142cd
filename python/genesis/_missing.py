"""The error for a name that a module does not have."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, NoReturn

__all__ = ["MissingName", "explain"]


class MissingName(AttributeError):
    """``MissingName(module, name, name=name)``: an attribute that a module does not have.

    What to say about it (why a name of PyTorch is absent, or the nearest name) is looked up when
    the error is shown: most such errors are answers to ``hasattr``, which nobody sees. For the same
    reason there is no ``__init__``.
    """

    known: Iterable[str] | None = None  # names to suggest; those of the module if None
    advice = ""

    def __str__(self) -> str:
        module, name = self.args
        return f"module {module!r} has no attribute {name!r}{self._hint()}{self.advice}"

    def _hint(self) -> str:
        import difflib

        from genesis.torch import names

        module, name = self.args
        known = dir(sys.modules[module]) if self.known is None else self.known
        absent = names.answer(f"torch.{module.partition('.')[2]}.{name}".replace("..", "."))
        if absent is not None:
            return f": {absent}"
        near = difflib.get_close_matches(name, list(known), 1)
        return f"; did you mean {near[0]!r}?" if near else ""

    def __reduce__(self) -> tuple[Any, ...]:
        return AttributeError, (str(self),)


def explain(module: dict[str, Any]) -> None:
    """Give a module, by its ``globals()``, a ``__getattr__`` that says what is missing."""
    place = module["__name__"]

    def __getattr__(name: str) -> NoReturn:
        raise MissingName(place, name, name=name)

    module["__getattr__"] = __getattr__
