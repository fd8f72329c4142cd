"""A plan of a compiled function: when it may be used, and how its results are put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import genesis
from genesis import _C, _pytree
from genesis._C import Tensor
from genesis._compile.guards import Walk

PLAIN = (int, float, bool, str, bytes, complex, type(None))
_LEAVES = (Tensor, *PLAIN)
_OWN = ("genesis", "torch")  # modules of our classes; the second under the import shim


def is_own(t: Tensor) -> bool:
    """Whether the class of a tensor is one of the library: others may override operations."""
    return type(t) is Tensor or type(t).__module__.partition(".")[0] in _OWN


@dataclass
class Break:
    """Why there is no plan, and the line of Python that caused it."""

    reason: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.reason} ({self.where})" if self.where else self.reason


@dataclass
class Entry:
    """A plan, and when it may be used."""

    key: Any  # structure of the arguments, numbers among them, modes
    walk: Walk
    guards: Any
    only_tensors: bool = False  # among the arguments
    symbols: tuple[int, ...] = ()  # numbers among the arguments that are passed as tensors
    plan: Any = None  # None: eager
    reason: Break | None = None
    hosts: list[tuple[Any, Callable[[], Any]]] = field(default_factory=list)
    actions: list[Callable[[], Any]] = field(default_factory=list)
    spec: Any = None
    leaves: list[Any] = field(
        default_factory=list
    )  # of the result; Tensor where the plan gives one
    wanted: list[Any] | None = None  # inputs of its backward pass: numbers of arguments, or tensors
    differentiable: list[int] = field(default_factory=list)  # numbers of results
    reached: list[bool] = field(default_factory=list)  # which of them have a gradient
    changed: list[Any] = field(default_factory=list)  # in place: numbers of arguments, or tensors
    form: int = 3  # of the result: a tensor, a tuple of tensors, a constant, or anything
    checked: bool = False

    @property
    def uses(self) -> int:
        """How often the plan was replayed."""
        return 0 if self.plan is None else _C._plan_uses(self.plan)[0]

    @property
    def last_use(self) -> int:
        """Larger for plans that were used later."""
        return 0 if self.plan is None else _C._plan_uses(self.plan)[1]

    def ready(self) -> tuple[Any, ...] | None:
        """What replays calls with plain arguments without Python; None if the plan needs it."""
        modes, spec, constants = self.key
        if self.plan is None or not self.checked or self.wanted is not None or self.symbols:
            return None
        if type(modes) is not int or type(spec) is not int:
            return None
        last = self.leaves[0] if self.form == 2 else self._build_plain
        return modes, tuple(constants), self.guards, self.plan, self.actions, self.form, last

    def _build_plain(self, computed: list[Tensor], arguments: tuple[Any, ...]) -> Any:
        return build(self, computed, [x for x in arguments if isinstance(x, Tensor)])


@dataclass(frozen=True)
class Argument:
    """A result that is an argument itself: the number of its tensor."""

    number: int


@dataclass(frozen=True)
class Again:
    """A result that is returned before: its number among those that are computed."""

    number: int


def build(entry: Entry, computed: list[Tensor], arguments: list[Tensor]) -> Any:
    queue = iter(computed)
    leaves = [
        next(queue)
        if x is Tensor
        else arguments[x.number]
        if type(x) is Argument
        else computed[x.number]
        if type(x) is Again
        else x
        for x in entry.leaves
    ]
    return leaves[0] if entry.spec.kind is None else _pytree.tree_unflatten(leaves, entry.spec)


def computed_of(entry: Entry, result: Any) -> list[Tensor]:
    """The tensors of a result that a plan gives, as opposed to arguments and fixed tensors."""
    flat = _pytree.tree_leaves(result)
    return [x for x, leaf in zip(flat, entry.leaves, strict=True) if leaf is Tensor]


def flatten(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    """The leaves of arguments, and their structure; a number if they are leaves themselves."""
    if not kwargs:
        for x in args:
            if not isinstance(x, _LEAVES):
                break
        else:
            return list(args), len(args)
    return _pytree.tree_flatten((args, kwargs))


def unflatten(leaves: list[Any], spec: Any) -> Any:
    if type(spec) is int:
        return tuple(leaves), {}
    return _pytree.tree_unflatten(leaves, spec)


def symbol(x: Any) -> Tensor:
    return genesis.tensor(x, dtype=genesis.float64 if type(x) is float else genesis.int64)


def equal(now: Any, then: Any) -> bool:
    """Whether values of one type are equal; 0.0 is not -0.0, and NaN is NaN."""
    inexact = isinstance(now, (float, complex, np.inexact))
    return repr(now) == repr(then) if inexact else bool(now == then)


def same(entry: Entry, leaves: list[Any]) -> bool:
    for i, (now, then) in enumerate(zip(leaves, entry.key[2], strict=True)):
        if then is Tensor:
            if not isinstance(now, Tensor):
                return False
        elif now is not then and not (
            type(now) is type(then)
            and (type(now) in PLAIN or isinstance(now, np.generic))
            and (equal(now, then) or i in entry.symbols)
        ):
            return False
    return True
