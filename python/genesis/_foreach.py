"""The functions ``_foreach_*``: one operation on each tensor of a list.

``_foreach_add(xs, ys)`` is the tuple of ``x + y``; the second argument is a list of tensors, a
list of numbers, one number or one 0-d tensor. Names that end in an underscore change the tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor

__all__: list[str] = []

_UNARY = [
    "abs",
    "acos",
    "asin",
    "atan",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "floor",
    "frac",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "neg",
    "reciprocal",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]
# Second operands: the name of the operator, and that of its method.
_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "div": "div", "pow": "pow",
    "maximum": "maximum", "minimum": "minimum", "clamp_max": "minimum", "clamp_min": "maximum",
}  # fmt: skip
_TERNARY = ("addcmul", "addcdiv")


def _unary(name: str) -> Callable[[Sequence[Tensor]], list[Tensor]]:
    function = getattr(_C, name)
    return lambda self: _C._call_each(function, None, self)


def _unary_(name: str) -> Callable[[Sequence[Tensor]], None]:
    method = getattr(Tensor, f"{name}_")

    def change(self: Sequence[Tensor]) -> None:
        _C._call_each(method, None, self)

    return change


def _operands(operator: str, self: Sequence[Tensor], other: Any) -> Any:
    """maximum and minimum of numbers: the operators require tensors."""
    if operator not in ("maximum", "minimum") or isinstance(other, Tensor):
        return other
    if not isinstance(other, (list, tuple)):
        other = [other] * len(self)
    return [
        y if isinstance(y, Tensor) else _C.full((), y, dtype=x.dtype, device=x.device)
        for x, y in zip(self, other, strict=True)
    ]


def _binary(name: str, operator: str) -> Callable[..., list[Tensor]]:
    function = getattr(_C, operator)

    def compute(self: Any, other: Any, *, alpha: Any = None) -> list[Tensor]:
        if alpha is not None:
            return _C._call_each(function, "alpha", self, other, alpha)
        return _C._call_each(function, None, self, _operands(operator, self, other))

    return compute


def _binary_(name: str, operator: str) -> Callable[..., None]:
    in_place = getattr(Tensor, f"{operator}_", None)
    function = getattr(_C, operator)

    def change(self: Sequence[Tensor], other: Any, *, alpha: Any = None) -> None:
        if in_place is None:
            results = _C._call_each(function, None, self, _operands(operator, self, other))
            _C._call_each(Tensor.copy_, None, self, results)
        elif alpha is not None:
            _C._call_each(in_place, "alpha", self, other, alpha)
        else:
            _C._call_each(in_place, None, self, other)

    return change


def _values(value: Any, scalars: Any) -> Any:
    chosen = value if scalars is None else scalars
    return chosen.tolist() if isinstance(chosen, Tensor) else chosen


def _ternary(name: str) -> Callable[..., list[Tensor]]:
    function = getattr(_C, name)

    def compute(
        self: Sequence[Tensor], tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None
    ) -> list[Tensor]:
        return _C._call_each(function, "value", self, tensor1, tensor2, _values(value, scalars))

    return compute


def _ternary_(name: str) -> Callable[..., None]:
    method = getattr(Tensor, f"{name}_")

    def change(
        self: Sequence[Tensor], tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None
    ) -> None:
        _C._call_each(method, "value", self, tensor1, tensor2, _values(value, scalars))

    return change


def _foreach_lerp(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Any) -> list[Tensor]:
    return _C._call_each(_C.lerp, None, self, tensors1, weight)


def _foreach_lerp_(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Any) -> None:
    _C._call_each(Tensor.lerp_, None, self, tensors1, weight)


def _foreach_norm(self: Sequence[Tensor], ord: float = 2, dtype: Any = None) -> list[Tensor]:
    if dtype is not None:
        self = _C._call_each(Tensor.to, None, self, dtype)
    return _C._call_each(_C.norm, None, self, ord)


def _foreach_powsum(self: Sequence[Tensor], ord: float = 2, dtype: Any = None) -> list[Tensor]:
    if dtype is not None:
        self = _C._call_each(Tensor.to, None, self, dtype)
    return [x.abs().pow(ord).sum() for x in self]


def _foreach_copy_(
    self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False
) -> None:
    _C._call_each(Tensor.copy_, None, self, src)


def _foreach_clone(self: Sequence[Tensor], *, memory_format: Any = None) -> list[Tensor]:
    return _C._call_each(_C.clone, "memory_format", self, memory_format)


def _foreach_max(self: Sequence[Tensor]) -> list[Tensor]:
    return _C._call_each(_C.max, None, self)


def _foreach_mm(self: Sequence[Tensor], mat2: Sequence[Tensor]) -> list[Tensor]:
    return _C._call_each(_C.mm, None, self, mat2)


def _foreach_zero_(self: Sequence[Tensor]) -> None:
    _C._call_each(Tensor.zero_, None, self)


def _named(name: str, function: Callable[..., Any]) -> None:
    function.__name__ = function.__qualname__ = f"_foreach_{name}"
    globals()[f"_foreach_{name}"] = function


for _name in _UNARY:
    _named(_name, _unary(_name))
    if hasattr(Tensor, f"{_name}_"):
        _named(f"{_name}_", _unary_(_name))
for _name, _operator in _BINARY.items():
    _named(_name, _binary(_name, _operator))
    _named(f"{_name}_", _binary_(_name, _operator))
for _name in _TERNARY:
    _named(_name, _ternary(_name))
    _named(f"{_name}_", _ternary_(_name))


def _checked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as PyTorch has it: lists are not empty; results are a tuple, or the list."""

    @functools.wraps(function)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, (list, tuple)) and not self:
            raise RuntimeError(f"{name}: the list of tensors is empty; it needs at least one")
        results = function(self, *args, **kwargs)
        return list(self) if results is None else tuple(results)

    return call


for _name, _function in list(globals().items()):
    if _name.startswith("_foreach_"):
        globals()[_name] = _checked(_name, _function)
