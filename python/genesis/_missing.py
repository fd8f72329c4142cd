"""The error for a name that a module does not have."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, NoReturn

__all__ = ["AbsentMember", "MissingName", "explain"]


class MissingName(AttributeError):
    """``MissingName(module, name)``: an attribute that a module does not have.

    The message (why a name of PyTorch is absent, or the nearest name) is computed when the error is
    displayed: most such errors answer ``hasattr`` and are never displayed. For the same reason
    there is no ``__init__``. The interpreter sets ``name``; ``obj`` stays unset, or it would add a
    suggestion of its own.
    """

    known: Iterable[str] | None = None  # names to suggest; those of the module if None
    advice = ""
    obj = property(lambda self: None, lambda self, value: None)

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


class MissingMember(AttributeError):
    """``MissingMember(type, name)``: an attribute of PyTorch's tensors that Genesis lacks."""

    obj = property(lambda self: None, lambda self, value: None)

    def __str__(self) -> str:
        from genesis.torch import names

        kind, name = self.args
        return f"{kind!r} object has no attribute {name!r}: {names.answer(f'torch.Tensor.{name}')}"

    def __reduce__(self) -> tuple[Any, ...]:
        return AttributeError, (str(self),)


class AbsentMember:
    """A member of a class that is not there: reading it raises an error that says why.

    Only these names pay for the explanation. ``__getattr__`` would make every attribute slower.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        raise MissingMember(owner.__name__, self.name)


def explain(module: dict[str, Any]) -> None:
    """Give a module, by its ``globals()``, a ``__getattr__`` that explains missing names."""
    place = module["__name__"]

    def __getattr__(name: str) -> NoReturn:
        raise MissingName(place, name)

    module["__getattr__"] = __getattr__
