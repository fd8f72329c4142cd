"""How tensors are printed."""

from __future__ import annotations

from typing import Any

from genesis._printing import get_printoptions, printoptions, set_printoptions, tensor_str

__all__ = ["PRINT_OPTS", "printoptions", "set_printoptions"]


class _Options:
    """The options as attributes, read on access."""

    def __getattr__(self, name: str) -> Any:
        options = get_printoptions()
        if name not in options:
            raise AttributeError(f"PRINT_OPTS has no option {name!r}; there are {sorted(options)}")
        return options[name]


PRINT_OPTS = _Options()


def _str(self: Any, *, tensor_contents: str | None = None) -> str:
    return tensor_str(self) if tensor_contents is None else tensor_contents


_tensor_str = tensor_str
