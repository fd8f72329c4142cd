"""Batched tensors, the levels of vmap, and the place where calls find their batching rule."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from genesis import _C
from genesis._C import Tensor

Rule = Callable[["Call"], Any]


class BatchedTensor(Tensor):
    """A tensor with one dimension more than it shows, over which vmap maps.

    It has the shape and dtype of one element of the batch; ``_value`` holds the batch, whose first
    dimension is the mapped one, and ``_level`` says which vmap maps it.
    """

    _value: Tensor
    _level: Level

    def __copy__(self) -> Any:
        return _C._batched(self._value, self._level)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return _C._batched(self._value.detach().clone(), self._level)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise RuntimeError(
            f"vmap: pickle at {caller()} reads values of a tensor that vmap maps over; save the "
            "results of vmap instead"
        )


class Level:
    """One vmap that is running."""

    __slots__ = ("depth", "randomness", "replicas", "size")

    def __init__(self, size: int, randomness: str = "error", replicas: bool = False) -> None:
        self.size = size
        self.randomness = randomness
        self.replicas = replicas  # all elements are equal: values may be read
        self.depth = len(levels())


def levels() -> tuple[Level, ...]:
    """The levels of this thread, the outermost first."""
    return _C._levels()


def entered(level: Level) -> _C._Levels:
    """Run a block inside ``level``."""
    return _C._Levels((*levels(), level))


def left(level: Level) -> _C._Levels:
    """Run a block outside ``level``, as its rules do."""
    return _C._Levels(levels()[: level.depth])


def wrap(value: Any, level: Level) -> Any:
    """``value``, a tensor or lists and tuples of them, with its first dimension mapped."""
    if isinstance(value, Tensor):
        return _C._batched(value, level)
    if isinstance(value, tuple):
        made = [wrap(v, level) for v in value]
        if hasattr(type(value), "_fields"):
            return type(value)(*made)
        return type(value)(made)
    if isinstance(value, list):
        return [wrap(v, level) for v in value]
    return value


def is_at(x: Any, level: Level) -> bool:
    return type(x) is BatchedTensor and x._level is level


def batch_of(x: Any, level: Level) -> Any:
    """The tensor behind ``x`` at ``level``: batched values, repeated if ``x`` is not mapped."""
    if type(x) is BatchedTensor and x._level is level:
        return x._value
    if isinstance(x, Tensor):
        return x.expand(level.size, *x.shape)
    return x


def innermost(values: Any) -> Level | None:
    """The innermost level of the tensors among ``values`` and in lists and tuples of them."""
    found: Level | None = None
    for x in values:
        if type(x) is BatchedTensor:
            level = x._level
        elif type(x) is tuple or type(x) is list:
            inner = innermost(x)
            if inner is None:
                continue
            level = inner
        else:
            continue
        if found is None or level.depth > found.depth:
            found = level
    return found


levels_of: Callable[[Any], list[Level]] = _C._levels_of
physical: Callable[[Any], Any] = _C._physical


def rewrap(x: Tensor, where: Sequence[Level]) -> Tensor:
    """The opposite of :func:`physical`."""
    for level in where:
        x = _C._batched(x, level)
    return x


def expand_to(x: Tensor, where: Sequence[Level]) -> Tensor:
    """``x`` repeated at those of the levels at which it is not batched."""
    if type(x) is BatchedTensor:
        own = levels_of(x)
        if all([level in own for level in where]):
            return x
    return rewrap(*expanded(x, where))


def expanded(x: Tensor, where: Sequence[Level]) -> tuple[Tensor, Sequence[Level]]:
    """What is :func:`physical` in ``expand_to(x, where)``, and the levels of that."""
    if type(x) is not BatchedTensor:
        return _C._repeated(x, [level.size for level in where]), where
    own = levels_of(x)
    missing = [level for level in where if level not in own]
    value = physical(x)
    if not missing:
        return value, own
    wanted = sorted({*own, *missing}, key=lambda level: level.depth)
    for i, level in enumerate(wanted):
        if level in missing:
            value = value.unsqueeze(i)
    sizes = [level.size for level in wanted]
    return value.expand(*sizes, *x.shape), wanted


# NumPy's names of parameters.
_ALIASES = {"axis": "dim", "keepdims": "keepdim", "x1": "input", "x2": "other"}


class Operator:
    """A bound function as batching rules see it."""

    def __init__(self, func: Any, name: str, info: dict[str, Any] | None) -> None:
        self.func = func
        self.name = name
        params = info["params"] if info else []
        self.names = [p["name"] for p in params if not p["variadic"]]
        self.params = {p["name"]: p for p in params}
        self.variadic = next((p["name"] for p in params if p["variadic"]), None)
        self.in_place = info is not None and info["returns"] == "Self"
        self.kind = info["kind"] if info else ""
        self.batch = info["batch"] if info else "loop"


class Call:
    """A call with a batched argument: the operator, the level, and the arguments."""

    __slots__ = ("args", "kwargs", "level", "op")

    def __init__(
        self, op: Operator, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.op = op
        self.level = level
        self.args = args
        self.kwargs = kwargs

    def bind(self) -> dict[str, Any]:
        """The arguments by name, those that were not given left out; the variadic one a tuple."""
        bound = {
            _ALIASES[k] if k in _ALIASES and k not in self.op.params else k: v
            for k, v in self.kwargs.items()
        }
        names = self.op.names
        if self.op.variadic is None:
            for name, value in zip(names, self.args, strict=False):
                bound[name] = value
            return bound
        params = list(self.op.params)
        at = params.index(self.op.variadic)
        for name, value in zip(params[:at], self.args, strict=False):
            bound[name] = value
        rest = self.args[at:]
        if self.op.variadic not in bound:
            alone = len(rest) == 1 and isinstance(rest[0], (list, tuple))
            bound[self.op.variadic] = tuple(rest[0]) if alone else rest
        return bound

    def result(self, value: Any) -> Any:
        """``value`` as the result; for an operator in place, its first argument."""
        if self.op.in_place:
            return self.args[0]
        return wrap(value, self.level)


_rules: dict[str, Rule] = {}  # by the name of the operator or slot
_sorts: dict[str, Rule] = {}  # by the trait `batch`
_found: dict[Any, tuple[Operator, Rule]] = {}
_infos: dict[str, dict[str, Any]] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the batching rule of operators, by name."""

    def register(function: Rule) -> Rule:
        for name in names:
            _rules[name] = function
        return function

    return register


def sort_rule(name: str) -> Callable[[Rule], Rule]:
    """Register the batching rule of operators with a trait."""

    def register(function: Rule) -> Rule:
        _sorts[name] = function
        return function

    return register


def operator_infos() -> dict[str, dict[str, Any]]:
    """What is known about operators, by name."""
    if not _infos:
        _infos.update((info["name"], info) for info in _C.op_info())
    return _infos


def rule_of(name: str) -> Rule:
    """The rule that an operator of this name has."""
    if name in _rules:
        return _rules[name]
    info = operator_infos().get(name)
    return _sorts[info["batch"] if info else "loop"]


def _resolve(func: Any) -> tuple[Operator, Rule]:
    name = func.__name__
    if name in ("__get__", "__set__") and hasattr(func, "__self__"):
        name = f"{func.__self__.__name__}.{name}"
    elif name == "apply" and isinstance(getattr(func, "__self__", None), type):
        return Operator(func, name, None), _rules["Function.apply"]
    found = (Operator(func, name, operator_infos().get(name)), rule_of(name))
    _found[func] = found
    return found


def handle(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Called by the bindings for every call with a batched argument, and for random numbers."""
    found = _found.get(func)
    op, batching = found if found is not None else _resolve(func)
    level = innermost(args)
    if kwargs:
        inner = innermost(kwargs.values())
        if inner is not None and (level is None or inner.depth > level.depth):
            level = inner
        if kwargs.get("out") is not None:
            return _into(func, args, dict(kwargs))
    if op.kind == "random":
        level = levels()[-1]
    assert level is not None
    return batching(Call(op, level, args, kwargs))


def _into(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    out = kwargs.pop("out")
    result = func(*args, **kwargs)
    if isinstance(out, Tensor):
        out.copy_(result)
    else:
        for o, r in zip(out, result, strict=True):
            o.copy_(r)
    return out


_warned: set[str] = set()


def slices(x: Any, level: Level, i: int) -> Any:
    """``x`` for element ``i`` of the batch."""
    if type(x) is BatchedTensor:
        return x._value.select(0, i) if x._level is level else x
    if type(x) is list:
        return [slices(v, level, i) for v in x]
    if type(x) is tuple:
        return tuple(slices(v, level, i) for v in x)
    return x


def stacked(results: list[Any], level: Level) -> Any:
    """Results of the elements of a batch as one batched result."""
    first = results[0]
    if isinstance(first, Tensor):
        return _C._batched(_C.stack(results), level)
    if isinstance(first, (tuple, list)):
        parts = [stacked([r[i] for r in results], level) for i in range(len(first))]
        return type(first)(*parts) if hasattr(type(first), "_fields") else type(first)(parts)
    return first


@sort_rule("loop")
def loop(call: Call) -> Any:
    """The operator called once for each element of the batch."""
    name = call.op.name
    if name not in _warned:
        _warned.add(name)
        warnings.warn(
            f"vmap: {name} has no batching rule and is called once for each of the "
            f"{call.level.size} elements of the batch, which is slow",
            UserWarning,
            stacklevel=4,
        )
    return looped(call)


def looped(call: Call) -> Any:
    level, func = call.level, call.op.func
    if level.size == 0:
        raise RuntimeError(
            f"vmap: {call.op.name} has no batching rule and cannot map over a dimension of size 0"
        )
    with left(level):
        results = [
            func(
                *(slices(a, level, i) for a in call.args),
                **{k: slices(v, level, i) for k, v in call.kwargs.items()},
            )
            for i in range(level.size)
        ]
    return call.args[0] if call.op.in_place else stacked(results, level)


def caller() -> str:
    """Where the user's code is: the file and the line, for messages."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
