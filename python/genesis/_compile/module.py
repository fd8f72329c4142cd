"""Compiled modules."""

from __future__ import annotations

from typing import Any

from genesis.nn import Module


class OptimizedModule(Module):
    """A module whose calls are compiled. Everything else is that of the module, ``_orig_mod``."""

    def __init__(self, module: Module, call: Any) -> None:
        super().__init__()
        self._orig_mod = module
        self.__dict__["_compiled"] = call
        self.train(module.training)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)

    @property
    def plan(self) -> Any:
        """The plans made so far."""
        return self._compiled.plan

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(
                self.__dict__["_modules"]["_orig_mod"]
                if "_modules" in self.__dict__ and "_orig_mod" in self.__dict__["_modules"]
                else self.__dict__["_orig_mod"],
                name,
            )
