"""Other names of constructor arguments, which earlier programs use."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

Init = TypeVar("Init", bound=Callable[..., Any])


def also_called(names: dict[str, str], **defaults: Any) -> Callable[[Init], Init]:
    """Decorates ``__init__``: with ``{"dim": "num_features"}`` callers may write ``dim=``.

    ``defaults`` hold for callers who use such a name, or give no argument at all.
    """

    def decorate(init: Init) -> Init:
        @functools.wraps(init)
        def renamed(self: Any, *args: Any, **kwargs: Any) -> None:
            used = [name for name in names if name in kwargs]
            for other in used:
                own = names[other]
                if own in kwargs:
                    raise TypeError(
                        f"{type(self).__name__}: {other} and {own} are two names of one argument; "
                        "pass one of them"
                    )
                kwargs[own] = kwargs.pop(other)
            if used or not (args or kwargs):
                kwargs = {**defaults, **kwargs}
            init(self, *args, **kwargs)

        return renamed  # type: ignore[return-value]

    return decorate
