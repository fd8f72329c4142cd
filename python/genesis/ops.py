"""Operators by namespace: ``ops.aten.add.Tensor`` is ``genesis.add``, others are custom operators.

An operator of ``aten`` can be called with or without the name of an overload; the arguments decide.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import genesis
from genesis._C import Tensor

__all__ = ["OpOverload", "OpOverloadPacket"]


class OpOverload:
    """An operator under the name of one overload, such as ``aten.add.Tensor``."""

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket = self._packet = packet
        self._overloadname = overload
        self.__name__ = f"{packet.__name__}.{overload}"
        self.namespace = packet._namespace

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._packet(*args, **kwargs)

    def name(self) -> str:
        """The full name, such as 'aten::add.Tensor'."""
        dot = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self._packet._qualified_op_name}{dot}"

    def __repr__(self) -> str:
        return (
            f"<OpOverload(op='{self._packet._qualified_op_name}', overload='{self._overloadname}')>"
        )

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"


class OpOverloadPacket:
    """An operator; its attributes are its overloads."""

    def __init__(self, namespace: str, name: str, function: Callable[..., Any]) -> None:
        self._namespace = namespace
        self._qualified_op_name = f"{namespace}::{name}"
        self.__name__ = name
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__") or name[:1] == "_":
            raise AttributeError(name)
        overload = OpOverload(self, name)
        setattr(self, name, overload)
        return overload

    def overloads(self) -> list[str]:
        """The names of the requested overloads."""
        return [n for n, value in vars(self).items() if isinstance(value, OpOverload)]

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"


# Operators of aten that are methods or have another name in the API.
def _special(name: str) -> Callable[..., Any] | None:
    table: dict[str, Callable[..., Any]] = {
        "_to_copy": lambda x, **kwargs: x.to(**{**kwargs, "copy": True}),
        "alias": lambda x: x.view(x.shape),
        "slice": lambda x, dim=0, start=None, end=None, step=1: _slice(x, dim, start, end, step),
        "index": lambda x, indices: x[tuple(slice(None) if i is None else i for i in indices)],
        "_softmax": lambda x, dim, half_to_float=False: genesis.softmax(x, dim),
        "_log_softmax": lambda x, dim, half_to_float=False: genesis.log_softmax(x, dim),
        "_unsafe_view": lambda x, size: x.reshape(size),
        "lift_fresh": lambda x: x,
        "convolution": _convolution,
        "_convolution": _convolution,
        "sym_size": lambda x, dim=None: x.size() if dim is None else x.size(dim),
    }
    return table.get(name)


def _convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    *flags: bool,  # of _convolution: which libraries may be used
) -> Tensor:
    transpose = "_transpose" if transposed else ""
    function = getattr(genesis.nn.functional, f"conv{transpose}{weight.ndim - 2}d")
    more: tuple[Any, ...]
    if transposed:
        more = (stride, padding, output_padding, groups, dilation)
    else:
        more = (stride, padding, dilation, groups)
    result: Tensor = function(input, weight, bias, *more)
    return result


# Operators that packages name, to say what theirs does instead, and that are not here.
_ABSENT = {"_pin_memory", "_sparse_addmm", "_sparse_mm_reduce_impl"}


def _absent(name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"aten.{name}: Genesis does not have this operator")

    return call


def _slice(x: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    index = [slice(None)] * x.ndim
    index[dim] = slice(start, end, step)
    return x[tuple(index)]


def _aten(name: str) -> Callable[..., Any] | None:
    function = _special(name)
    if function is not None:
        return function
    if name in _ABSENT:
        return _absent(name)
    for place in (genesis, genesis.nn.functional, genesis.linalg, genesis.special, Tensor):
        found = getattr(place, name, None)
        if callable(found) and not isinstance(found, type):
            return found  # type: ignore[no-any-return]
    return None


class _Namespace(ModuleType):
    """The operators of one namespace."""

    def __init__(self, name: str) -> None:
        super().__init__(f"genesis.ops.{name}")
        self.name = name

    def __getattr__(self, op: str) -> Any:
        if op.startswith("__"):
            raise AttributeError(op)
        if self.name in ("aten", "prims", "prim"):
            function = _aten(op)
        else:
            from genesis.library import _operators

            function = _operators.get(f"{self.name}::{op}")
            if function is not None:
                return function
        if function is None:
            raise AttributeError(
                f"'_OpNamespace' {self.name!r} object has no attribute {op!r}; Genesis does not "
                "have this operator",
                name=op,
            )
        packet = OpOverloadPacket(self.name, op, function)
        setattr(self, op, packet)
        return packet


def load_library(path: str) -> None:
    """Raises: libraries of operators are compiled for PyTorch's own C++ classes."""
    raise OSError(f"ops.load_library: {path} is compiled for PyTorch; Genesis cannot load it")


loaded_libraries: set[str] = set()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    namespace = _Namespace(name)
    setattr(sys.modules[__name__], name, namespace)
    return namespace
