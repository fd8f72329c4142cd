"""Signals: named scopes of a program, whose settings a configuration gives (`genesis.config`).

>>> with genesis.signals.context("layer1"):
...     genesis.signals.current_signal()
'layer1'
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from genesis import config
from genesis._C import Tensor

__all__ = [
    "SignalScope",
    "SignalStack",
    "context",
    "current_backward_signal",
    "current_signal",
    "enter",
    "exit",
    "get_signal_stack",
    "tensor",
]


@dataclass
class SignalScope:
    """The name of a scope, and the one that its backward pass has."""

    name: str
    backward_name: str | None = None


class SignalStack:
    """The scopes that a thread is in, each thread on its own.

    >>> stack = SignalStack()
    >>> stack.push(SignalScope("layer1"))
    >>> stack.current_name()
    'layer1'
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def _scopes(self) -> list[SignalScope]:
        scopes: list[SignalScope] = self._local.__dict__.setdefault("scopes", [])
        return scopes

    def push(self, scope: SignalScope) -> None:
        """Enter a scope."""
        self._scopes().append(scope)

    def pop(self) -> SignalScope | None:
        """Leave the innermost scope and return it; None if there is none."""
        scopes = self._scopes()
        return scopes.pop() if scopes else None

    def current(self) -> SignalScope | None:
        """The innermost scope."""
        scopes = self._scopes()
        return scopes[-1] if scopes else None

    def current_name(self) -> str | None:
        """The name of the innermost scope."""
        scope = self.current()
        return None if scope is None else scope.name

    def current_backward_name(self) -> str | None:
        """The name that the backward pass of the innermost scope has."""
        scope = self.current()
        return None if scope is None else scope.backward_name


_stack = SignalStack()


def get_signal_stack() -> SignalStack:
    """The stack that the functions of this module use."""
    return _stack


def current_signal() -> str | None:
    """The name of the scope that this thread is in."""
    return _stack.current_name()


def current_backward_signal() -> str | None:
    """The name that the backward pass of the scope has that this thread is in."""
    return _stack.current_backward_name()


_noted: set[str] = set()


def _scope(name: str, backward: str | None) -> SignalScope:
    """A scope with the settings that the configuration has for it."""
    settings = config.get_signal_config(name)
    if settings is None:
        return SignalScope(name, backward)
    without = []
    shard = settings.shard
    if shard is not None and not shard.replicated and len(shard.workers or [0]) > 1:
        without.append(f"shard: the tensors of its {len(shard.workers or [])} workers are whole")
    if settings.compile:
        without.append("compile: its operations run one by one; use genesis.compile")
    if without and name not in _noted:
        _noted.add(name)
        warnings.warn(
            f"signal {name!r}: these settings change nothing with one worker: {'; '.join(without)}",
            UserWarning,
            stacklevel=4,
        )
    return SignalScope(name, settings.backward_signal if backward is None else backward)


@contextlib.contextmanager
def context(name: str, backward: str | None = None) -> Iterator[None]:
    """Be in a scope for a ``with`` block."""
    _stack.push(_scope(name, backward))
    try:
        yield
    finally:
        _stack.pop()


def enter(name: str, backward: str | None = None) -> None:
    """Enter a scope, to be left by `exit`."""
    _stack.push(_scope(name, backward))


def exit(name: str) -> None:
    """Leave the scope ``name``, which must be the innermost one."""
    current = _stack.current_name()
    if current is None:
        raise RuntimeError(f"exit: there is no scope to leave; enter({name!r}) comes first")
    if current != name:
        raise RuntimeError(
            f"exit: the innermost scope is {current!r}, not {name!r}; leave it first"
        )
    _stack.pop()


def tensor(tensor_arg: Tensor, name: str, backward_name: str | None = None) -> Tensor:
    """Mark a tensor as one of a scope, and return it.

    >>> genesis.signals.tensor(genesis.ones(1), "layer1")._signal_name
    'layer1'
    """
    scope = _scope(name, backward_name)
    tensor_arg._signal_name = name  # type: ignore[attr-defined]
    tensor_arg._backward_signal_name = scope.backward_name  # type: ignore[attr-defined]
    return tensor_arg
