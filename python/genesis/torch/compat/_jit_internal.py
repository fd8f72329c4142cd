"""What TorchScript's decorators leave behind; here they change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from genesis.jit import export, ignore, is_scripting, unused
from genesis.jit.annotations import BroadcastingList1, BroadcastingList2, BroadcastingList3

__all__ = [
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Final",
    "boolean_dispatch",
    "export",
    "ignore",
    "is_scripting",
    "unused",
]

T = TypeVar("T")


def _copy_to_script_wrapper(fn: T) -> T:
    return fn


_overload = _overload_method = weak_module = weak_script_method = _copy_to_script_wrapper


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Any, if_false: Any, *args: Any
) -> Callable[..., Any]:
    """A function that is one of two, by the value of one argument."""

    def choose(*values: Any, **named: Any) -> Any:
        flag = values[arg_index] if arg_index < len(values) else named.get(arg_name, default)
        return (if_true if flag else if_false)(*values, **named)

    return choose


def is_tracing() -> bool:
    """Whether this code is traced: never."""
    return False
