"""TorchScript's names. Genesis runs Python directly: a function is its own compiled form.

``script`` and ``trace`` return what they are given, decorators change nothing, and what needs a
compiled program (saving one, looking at its graph) raises when it is called.
"""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn, TypeVar

from genesis._missing import explain
from genesis.futures import Future
from genesis.nn.modules.module import Module

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "run_frozen_optimizations",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

T = TypeVar("T")


class Error(RuntimeError):
    """An error in a compiled program. There is none, so it is never raised."""


class ScriptModule(Module):
    """The class of compiled modules. ``script`` never makes one, so no module is an instance."""


class ScriptFunction:
    """The class of compiled functions. ``script`` never makes one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_program("ScriptFunction")


RecursiveScriptModule = ScriptModule
TracedModule = TopLevelTracedModule = ScriptModule


def _no_program(what: str) -> NoReturn:
    raise RuntimeError(
        f"jit.{what}: Genesis runs Python functions as they are and has no compiled programs; save "
        "the state_dict of a module with genesis.save() and keep its class in Python"
    )


def script(obj: T, *args: Any, **kwargs: Any) -> T:
    """``obj`` itself.

    >>> genesis.jit.script(abs) is abs
    True
    """
    return obj


def trace(func: T, *args: Any, **kwargs: Any) -> T:
    """``func`` itself; the example inputs are not needed."""
    return func


def trace_module(mod: T, *args: Any, **kwargs: Any) -> T:
    """``mod`` itself."""
    return mod


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A decorator that changes nothing; also ``@ignore(drop=True)``."""
    return drop if callable(drop) else lambda function: function


def export(fn: T) -> T:
    """A decorator that changes nothing."""
    return fn


unused = script_method = script_if_tracing = interface = _overload = _overload_method = export
_script_if_tracing = script_if_tracing


def annotate(the_type: Any, the_value: T) -> T:
    """``the_value``."""
    return the_value


class Attribute:
    """A value with a type, for the compiler that is not there."""

    def __init__(self, value: Any, type: Any) -> None:
        self.value = value
        self.type = type


def is_scripting() -> bool:
    """Whether this code is compiled: never."""
    return False


def is_tracing() -> bool:
    """Whether this code is traced: never."""
    return False


def isinstance(obj: Any, target_type: Any) -> bool:
    """The builtin ``isinstance``, which also takes generic types such as ``List[int]``."""
    types = target_type if builtins.isinstance(target_type, tuple) else (target_type,)
    return builtins.isinstance(obj, tuple(getattr(t, "__origin__", None) or t for t in types))


def freeze(mod: T, *args: Any, **kwargs: Any) -> T:
    """``mod`` itself."""
    return mod


optimize_for_inference = freeze


def run_frozen_optimizations(mod: Any, *args: Any, **kwargs: Any) -> None:
    """Nothing: there is nothing to optimize."""


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Raises: there is no compiled program to save."""
    _no_program("save")


def load(f: Any, map_location: Any = None, _extra_files: Any = None) -> Any:
    """Raises: Genesis cannot run compiled programs."""
    _no_program("load")


def _get_trace_graph(f: Any, *args: Any, **kwargs: Any) -> Any:
    _no_program("_get_trace_graph")


class CompilationUnit:
    """A compiled source text; raises, as there is no compiler."""

    def __init__(self, lang: Any = None, _frames_up: int = 0) -> None:
        _no_program("CompilationUnit")


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """A future with the result of ``func``, which is called at once."""
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[Any]) -> Any:
    """What a future of ``fork`` holds."""
    return future.wait()


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block in which nothing is different."""
    yield


class strict_fusion:
    """A block in which nothing is different: nothing is fused."""

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """The strategy before this call: none, as nothing is fused."""
    return []


def enable_onednn_fusion(enabled: bool) -> None:
    """Nothing: there is nothing to fuse."""


def onednn_fusion_enabled() -> bool:
    """Whether oneDNN fuses operators: no."""
    return False


explain(globals())
