"""Errors of functions that are written in Python name the function, as those of native ones do."""

from __future__ import annotations

import functools
import os
import types
from collections.abc import Callable, Iterable
from typing import Any

from genesis import _C

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NUMBER = (int, float, _C.Tensor)
# Accepted types for an annotation; NumPy arrays and scalars are accepted too.
_KINDS: dict[str, tuple[type, ...]] = {
    "Tensor": (_C.Tensor,),
    "int": (int, _C.Tensor),
    "float": _NUMBER,
    "str": (str,),
}


def named(f: types.FunctionType) -> types.FunctionType:
    """``f``, with its name in its errors. While there are none, it costs one call."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except Exception as error:
            better = explained(f, error, args, kwargs)
            if better is not error:
                raise better from None
            raise

    explained = explain
    # The globals are those of f, so that tools that inspect a function find its own module.
    here = types.FunctionType(call.__code__, f.__globals__, f.__name__, None, call.__closure__)
    return functools.wraps(f)(here)  # type: ignore[return-value]


def name_errors(names: Iterable[str], namespace: dict[str, Any]) -> None:
    """Replace the functions with these names by their wrappers from `named`."""
    for name in names:
        if isinstance(function := namespace.get(name), types.FunctionType):
            namespace[name] = named(function)


def explain(
    f: Callable[..., Any], error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Exception:
    """The error to raise: another one, or the same, with the name in front of its text."""
    if not _ours(error):
        return error
    op = f.__name__
    if isinstance(error, (TypeError, AttributeError)) and (text := _wrong_type(f, args, kwargs)):
        return TypeError(f"{op}(): {text}")
    stem = op.strip("_")
    if len(error.args) != 1 or not isinstance(error.args[0], str) or stem in error.args[0]:
        return error
    text = f"{op}: {error.args[0]}"
    if isinstance(error, AttributeError):
        return TypeError(text)
    error.args = (text,)
    return error


def _ours(error: Exception) -> bool:
    """Whether it was raised in this package, and not by a function that the user passed."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and last.tb_frame.f_code.co_filename.startswith(_PACKAGE)


def _wrong_type(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """What is wrong with the first argument that its annotation rules out."""
    import inspect  # takes longer to load than the rest of the package

    signature = inspect.signature(f)
    try:
        given = signature.bind_partial(*args, **kwargs).arguments
    except TypeError as error:
        return f"{error}; signature: {f.__name__}{signature}"
    for name, value in given.items():
        wanted = str(signature.parameters[name].annotation).split(" | ")
        kinds = [kind for part in wanted for kind in _KINDS.get(part, ())]
        if any(part not in _KINDS and part != "None" for part in wanted):
            continue
        if isinstance(value, tuple(kinds)) or (value is None and "None" in wanted):
            continue
        if type(value).__module__ == "numpy" and "str" not in wanted:
            continue
        what = {"Tensor": "a Tensor", "int": "an int", "float": "a number", "str": "a str"}
        expected = " or ".join(what.get(part, part) for part in wanted)
        return f"argument '{name}' must be {expected}, got {type(value).__name__}"
    return None
