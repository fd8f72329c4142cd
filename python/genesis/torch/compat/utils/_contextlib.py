"""Blocks that are decorators too."""

from __future__ import annotations

import contextlib
from typing import Any

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager"]


class _DecoratorContextManager(contextlib.ContextDecorator):
    """A block that is a decorator too; ``clone`` makes one for each call."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> Any:
        raise NotImplementedError

    def clone(self) -> Any:
        """Another block of the same kind."""
        return type(self)()

    def _recreate_cm(self) -> Any:
        return self.clone()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """A block without arguments: ``@block`` is ``@block()``."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)
