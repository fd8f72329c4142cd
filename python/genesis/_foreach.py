"""The functions ``_foreach_*``: one operation on each tensor of a list.

``_foreach_add(xs, ys)`` is ``[x + y for ...]``; the second argument is a list of tensors, a list of
numbers, one number or one 0-d tensor. Names that end in an underscore change the tensors.
"""

from __future__ import annotations

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


def _others(name: str, xs: Sequence[Any], other: Any) -> Sequence[Any]:
    if isinstance(other, (list, tuple)):
        if len(other) != len(xs):
            raise RuntimeError(
                f"_foreach_{name}: tensor lists must have the same number of tensors, got "
                f"{len(xs)} and {len(other)}"
            )
        return other
    return [other] * len(xs)


def _unary(name: str) -> Callable[[Sequence[Tensor]], list[Tensor]]:
    function = getattr(_C, name)
    return lambda self: [function(x) for x in self]


def _unary_(name: str) -> Callable[[Sequence[Tensor]], None]:
    method = getattr(Tensor, f"{name}_")

    def change(self: Sequence[Tensor]) -> None:
        for x in self:
            method(x)

    return change


def _number_or_tensor(name: str, x: Tensor, y: Any) -> Any:
    """maximum and minimum of a number: the operators want tensors."""
    if name in ("maximum", "minimum") and not isinstance(y, Tensor):
        return _C.full((), y, dtype=x.dtype)
    return y


def _binary(name: str, operator: str) -> Callable[..., list[Tensor]]:
    function = getattr(_C, operator)

    def compute(self: Any, other: Any, *, alpha: Any = None) -> list[Tensor]:
        if name == "pow" and not isinstance(self, (list, tuple)):  # a number to the power of each
            return [_C.pow(self, y) for y in other]
        pairs = zip(self, _others(name, self, other), strict=True)
        if alpha is not None:
            return [function(x, y, alpha=alpha) for x, y in pairs]
        return [function(x, _number_or_tensor(operator, x, y)) for x, y in pairs]

    return compute


def _binary_(name: str, operator: str) -> Callable[..., None]:
    in_place = getattr(Tensor, f"{operator}_", None)
    function = getattr(_C, operator)

    def change(self: Sequence[Tensor], other: Any, *, alpha: Any = None) -> None:
        for x, y in zip(self, _others(name, self, other), strict=True):
            if in_place is None:
                x.copy_(function(x, _number_or_tensor(operator, x, y)))
            elif alpha is not None:
                in_place(x, y, alpha=alpha)
            else:
                in_place(x, y)

    return change


def _values(scalars: Any, count: int) -> Sequence[Any]:
    if isinstance(scalars, Tensor):
        return scalars.tolist()  # type: ignore[no-any-return]
    return scalars if isinstance(scalars, (list, tuple)) else [scalars] * count


def _ternary(name: str) -> Callable[..., list[Tensor]]:
    function = getattr(_C, name)

    def compute(
        self: Sequence[Tensor], tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None
    ) -> list[Tensor]:
        values = _values(value if scalars is None else scalars, len(self))
        rows = zip(self, tensor1, tensor2, values, strict=True)
        return [function(x, a, b, value=v) for x, a, b, v in rows]

    return compute


def _ternary_(name: str) -> Callable[..., None]:
    method = getattr(Tensor, f"{name}_")

    def change(
        self: Sequence[Tensor], tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None
    ) -> None:
        values = _values(value if scalars is None else scalars, len(self))
        for x, a, b, v in zip(self, tensor1, tensor2, values, strict=True):
            method(x, a, b, value=v)

    return change


def _foreach_lerp(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Any) -> list[Tensor]:
    weights = _others("lerp", self, weight)
    return [_C.lerp(x, y, w) for x, y, w in zip(self, tensors1, weights, strict=True)]


def _foreach_lerp_(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Any) -> None:
    for x, y, w in zip(self, tensors1, _others("lerp", self, weight), strict=True):
        x.lerp_(y, w)


def _foreach_norm(self: Sequence[Tensor], ord: float = 2, dtype: Any = None) -> list[Tensor]:
    from genesis import linalg

    return [linalg.vector_norm(x, ord, dtype=dtype) for x in self]


def _foreach_copy_(
    self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False
) -> None:
    for x, y in zip(self, _others("copy_", self, src), strict=True):
        x.copy_(y)


def _foreach_clone(self: Sequence[Tensor], *, memory_format: Any = None) -> list[Tensor]:
    return [x.clone() for x in self]


def _foreach_max(self: Sequence[Tensor]) -> list[Tensor]:
    return [x.max() for x in self]


def _foreach_mm(self: Sequence[Tensor], mat2: Sequence[Tensor]) -> list[Tensor]:
    return [_C.mm(x, y) for x, y in zip(self, mat2, strict=True)]


def _foreach_zero_(self: Sequence[Tensor]) -> None:
    for x in self:
        x.zero_()


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
