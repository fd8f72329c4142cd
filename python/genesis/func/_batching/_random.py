"""Rules of random numbers: ``randomness`` of the vmap decides whether elements share them."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.func._batching._elementwise import elementwise
from genesis.func._batching._tensor import (
    Call,
    batch_of,
    caller,
    is_at,
    left,
    operator_infos,
    rule,
    slices,
    stacked,
    wrap,
)


def draw(call: Call) -> Any:
    """The operator with one draw for all elements, or one for each."""
    level = call.level
    if level.randomness == "error":
        raise RuntimeError(
            f"vmap: {call.op.name}() at {caller()} draws random numbers; say with "
            "vmap(..., randomness='different') that each element of the batch has its own, with "
            "'same' that all share them, or draw them outside vmap"
        )
    mapped = [a for a in (*call.args, *call.kwargs.values()) if is_at(a, level)]
    if (
        call.op.in_place
        and not is_at(call.args[0], level)
        and (mapped or level.randomness == "different")
    ):
        raise RuntimeError(
            f"vmap: {call.op.name} would write different numbers for each element of the batch "
            "into a tensor that vmap does not map over; use the function that returns a new tensor"
        )
    with left(level):
        return _same(call, mapped) if level.randomness == "same" else _different(call)


def _same(call: Call, mapped: list[Any]) -> Any:
    if not mapped:
        return call.op.func(*call.args, **call.kwargs)
    level = call.level
    source = call.kwargs.get("generator") or _C.default_generator
    state = source.get_state()
    results = []
    for i in range(level.size):
        source.set_state(state)
        results.append(
            call.op.func(
                *(slices(a, level, i) for a in call.args),
                **{k: slices(v, level, i) for k, v in call.kwargs.items()},
            )
        )
    return call.args[0] if call.op.in_place else stacked(results, level)


_BY_ELEMENT = frozenset(
    {"rand_like", "randn_like", "randint_like", "bernoulli", "poisson", "binomial", "normal",
     "_standard_gamma", "_log_standard_gamma", "dropout"}
)  # fmt: skip


def _different(call: Call) -> Any:
    level, func = call.level, call.op.func
    if call.op.in_place:
        return elementwise(call)
    args, kwargs = call.args, dict(call.kwargs)
    if call.op.name in _BY_ELEMENT and any(isinstance(a, Tensor) for a in args):
        tensors = _C.broadcast_tensors(*[a for a in args if isinstance(a, Tensor)])
        each = iter(tensors)
        made = [batch_of(next(each), level) if isinstance(a, Tensor) else a for a in args]
        return wrap(func(*made, **kwargs), level)
    if call.op.name in ("rand", "randn"):
        size = call.bind()["size"]
        kwargs.pop("size", None)
        return wrap(func(level.size, *size, **kwargs), level)
    results = [
        func(
            *(slices(a, level, i) for a in args),
            **{k: slices(v, level, i) for k, v in kwargs.items()},
        )
        for i in range(level.size)
    ]
    return stacked(results, level)


@rule("dropout")
def dropout(call: Call) -> Any:
    bound = call.bind()
    x = bound["input"]
    if not bound.get("training", True) or bound.get("p", 0.5) == 0.0:
        if not is_at(x, call.level):
            with left(call.level):
                return call.op.func(*call.args, **call.kwargs)
        return wrap(call.op.func(x._value, *call.args[1:], **call.kwargs), call.level)
    if call.level.randomness == "same" and is_at(x, call.level):
        with left(call.level):
            mask = _C.dropout(_C.ones(x.shape, dtype=x.dtype), bound.get("p", 0.5))
        return x * mask
    return draw(call)


for _name, _info in operator_infos().items():
    if _info["kind"] == "random" and _name not in ("dropout", "_standard_gamma_grad"):
        rule(_name)(draw)
