"""Names that packages import and query, and that raise when they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["absent_class", "absent_function"]


def absent_function(name: str, instead: str) -> Callable[..., NoReturn]:
    """A function that raises; ``name`` is below ``torch.``."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{name}: Genesis does not have it; {instead}")

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"Raises: {instead}."
    return function


def absent_class(name: str, instead: str) -> type[Any]:
    """A class without instances: making one raises."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"{name}: Genesis does not have it; {instead}")

    return type(
        name.rpartition(".")[2], (), {"__init__": __init__, "__doc__": f"Raises: {instead}."}
    )
