"""Reductions of tensors that came from several ranks, always in the same order.

The order is that of the ranks, in pairs: (0 + 1) + (2 + 3). A rank that adds parts of its own in
the same way (`Tree`) gets the same bits as several ranks that share these parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from genesis import _C
from genesis._C import Tensor
from genesis.distributed import _call


class _RedOpType(int):
    """A kind of reduction."""

    def __repr__(self) -> str:
        return f"ReduceOp.{_call.REDUCTIONS[self].upper()}"


class ReduceOp:
    """The kinds of reduction: ``SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR``.

    >>> ReduceOp.SUM
    ReduceOp.SUM
    """

    SUM = _RedOpType(0)
    PRODUCT = _RedOpType(1)
    MIN = _RedOpType(2)
    MAX = _RedOpType(3)
    AVG = _RedOpType(4)
    BAND = _RedOpType(5)
    BOR = _RedOpType(6)
    BXOR = _RedOpType(7)
    RedOpType = _RedOpType


_Combine = Callable[[Tensor, Tensor], Tensor]
_NUMBERS: tuple[_Combine, ...] = (
    lambda a, b: a.add_(b),
    lambda a, b: a.mul_(b),
    lambda a, b: _C.minimum(a, b, out=a),
    lambda a, b: _C.maximum(a, b, out=a),
    lambda a, b: a.add_(b),
    lambda a, b: a.bitwise_and_(b),
    lambda a, b: a.bitwise_or_(b),
    lambda a, b: a.bitwise_xor_(b),
)
_TRUTHS: tuple[_Combine, ...] = (
    lambda a, b: a.logical_or_(b),
    lambda a, b: a.logical_and_(b),
    lambda a, b: a.logical_and_(b),
    lambda a, b: a.logical_or_(b),
    lambda a, b: a.logical_or_(b),
    *_NUMBERS[5:],
)
AVG = int(ReduceOp.AVG)


def reduction_of(name: str, op: object, dtype: _C.dtype) -> int:
    """The number of a reduction, checked against the dtype."""
    if isinstance(op, str) and op.lower() in _call.REDUCTIONS:
        op = _call.REDUCTIONS.index(op.lower())
    if not isinstance(op, int) or isinstance(op, bool) or not 0 <= op < len(_call.REDUCTIONS):
        raise TypeError(f"{name}: op must be a ReduceOp such as ReduceOp.SUM, got {op!r}")
    number = int(op)
    if dtype in _call.STORAGE:
        raise TypeError(f"{name}: {dtype} is a format for storing numbers only; convert it first")
    if dtype.is_complex and number not in (0, 1, AVG):
        raise TypeError(
            f"{name}: {_RedOpType(number)!r} is not defined for complex numbers, got {dtype}; "
            "reduce genesis.view_as_real(x)"
        )
    if dtype.is_complex:
        return number
    if number == AVG and not dtype.is_floating_point:
        raise TypeError(
            f"{name}: ReduceOp.AVG needs a floating dtype, got {dtype}; use SUM and divide"
        )
    if number > AVG and dtype.is_floating_point:
        raise TypeError(f"{name}: {_RedOpType(number)!r} needs integers or bool, got {dtype}")
    return number


def combiner(reduction: int, dtype: _C.dtype) -> _Combine:
    """A function that reduces its second argument into its first."""
    return (_TRUTHS if dtype == _C.bool else _NUMBERS)[reduction]


def combine(parts: Sequence[Tensor], reduction: int) -> Tensor:
    """All parts in one, in pairs; their memory is used for it."""
    into = combiner(reduction, parts[0].dtype)
    level = list(parts)
    while len(level) > 1:
        pairs = [into(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[len(level) & ~1 :]
    return level[0]


class Tree:
    """Adds tensors one after the other in the order of `combine`, with few of them in memory.

    >>> tree = Tree()
    >>> for x in (1.0, 2.0, 3.0):
    ...     tree.add(genesis.tensor([x]))
    >>> tree.total()
    tensor([6.])
    """

    def __init__(self) -> None:
        self.stack: list[tuple[int, Tensor]] = []

    def add(self, part: Tensor) -> None:
        """Take one more; its memory may be written to."""
        level = 0
        while self.stack and self.stack[-1][0] == level:
            part = self.stack.pop()[1].add_(part)
            level += 1
        self.stack.append((level, part))

    def total(self) -> Tensor:
        """The sum of all, after which the tree is empty."""
        part = self.stack.pop()[1]
        while self.stack:
            part = self.stack.pop()[1].add_(part)
        return part
