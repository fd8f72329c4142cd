"""``torch.overrides`` without overriding: no class or mode replaces functions here.

A mode raises when it is entered, instead of being ignored.
"""

from __future__ import annotations

from typing import Any

from genesis._C import Tensor

__all__ = [
    "TorchFunctionMode",
    "get_overridable_functions",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
]


class TorchFunctionMode:
    """A block in which every function is replaced; raises when it is entered."""

    def __enter__(self) -> TorchFunctionMode:
        raise RuntimeError(
            f"{type(self).__name__}: this build of Genesis does not let a mode replace functions"
        )

    def __exit__(self, *exception: object) -> None: ...

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


BaseTorchFunctionMode = TorchFunctionMode


def has_torch_function(relevant_args: Any) -> bool:
    """Whether an argument replaces functions: no class does."""
    return False


def has_torch_function_unary(tensor: Any) -> bool:
    """Whether an argument replaces functions: no class does."""
    return False


def has_torch_function_variadic(*args: Any) -> bool:
    """Whether an argument replaces functions: no class does."""
    return False


def handle_torch_function(public_api: Any, relevant_args: Any, *args: Any, **kwargs: Any) -> Any:
    """What ``__torch_function__`` of the first argument that has one returns."""
    types = tuple({type(a) for a in relevant_args if hasattr(type(a), "__torch_function__")})
    for argument in relevant_args:
        method = getattr(type(argument), "__torch_function__", None)
        if method is not None:
            result = argument.__torch_function__(public_api, types, args, kwargs)
            if result is not NotImplemented:
                return result
    raise TypeError(f"no implementation found for {public_api!r} on these types: {list(types)}")


def is_tensor_like(inp: Any) -> bool:
    """Whether this is a tensor, or has ``__torch_function__`` as one would."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether this is a method or property of ``Tensor``."""
    return getattr(Tensor, getattr(func, "__name__", ""), None) is func


def get_overridable_functions() -> dict[Any, list[Any]]:
    """Functions that classes can replace: none."""
    return {}


def resolve_name(f: Any) -> str | None:
    """The public name of a function."""
    module, name = getattr(f, "__module__", None), getattr(f, "__qualname__", None)
    return None if module is None or name is None else f"{module}.{name}"


def get_default_nowrap_functions() -> set[Any]:
    """Functions whose results are not wrapped again: none."""
    return set()
