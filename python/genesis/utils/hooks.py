"""Handles of hooks."""

from __future__ import annotations

from typing import Any

from genesis._missing import explain
from genesis.nn.modules._hooks import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Any) -> Any:
    """Mark a hook as not to be pickled with its tensor. Genesis never pickles hooks."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn that the hooks of a tensor are not pickled with it."""
    import warnings

    hooks = getattr(tensor, "hooks", None)
    if hooks:
        warnings.warn(f"the {len(hooks)} hooks of this tensor are not saved with it", stacklevel=2)


explain(globals())
