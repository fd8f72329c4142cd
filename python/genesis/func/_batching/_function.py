"""How :class:`genesis.autograd.Function` is mapped over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from genesis._C import Tensor
from genesis._pytree import tree_flatten, tree_map, tree_unflatten
from genesis.func._batching._tensor import (
    Call,
    Level,
    Operator,
    entered,
    innermost,
    is_at,
    left,
    loop,
    looped,
    rule,
    wrap,
)


class VmapInfo(NamedTuple):
    """The first argument of the ``vmap`` static method of a Function."""

    batch_size: int
    randomness: str


@rule("Function.apply")
def apply(call: Call) -> Any:
    cls, level = call.op.func.__self__, call.level
    args = call.args
    if call.kwargs:
        raise TypeError(f"{cls.__name__}: pass arguments by position inside vmap")
    own = cls.__dict__.get("vmap") or getattr(cls, "vmap", None)
    from genesis.autograd.function import Function

    written = own is not None and cls.vmap is not Function.vmap
    generate = getattr(cls, "generate_vmap_rule", False)
    if written and generate:
        raise RuntimeError(
            f"{cls.__name__}: has both a vmap static method and generate_vmap_rule=True; keep one"
        )
    if not written and not generate:
        if level.replicas:  # a Jacobian, for which the user did not request vmap
            return looped(call)
        raise RuntimeError(
            f"vmap: {cls.__name__} cannot be mapped over; write its vmap static method, "
            "vmap(info, in_dims, *args), or set generate_vmap_rule = True if forward and backward "
            "are made of genesis operators"
        )
    if generate:
        return _generated(cls, level, args)
    return _by_rule(cls.__name__, cls.vmap, level, args)


def apply_operator(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A custom operator of :mod:`genesis.library` by its own rule, or element by element."""
    level = innermost((*args, *kwargs.values()))
    assert level is not None
    if op._vmap is None or kwargs:
        return loop(Call(Operator(op, op._qualname, None), level, args, kwargs))
    return _by_rule(op._qualname, op._vmap, level, args)


def _by_rule(name: str, rule: Callable[..., Any], level: Level, args: tuple[Any, ...]) -> Any:
    in_dims = tree_map(lambda x: 0 if is_at(x, level) else None, args)
    inside = tree_map(lambda x: x._value if is_at(x, level) else x, args)
    with left(level):
        result = rule(VmapInfo(level.size, level.randomness), in_dims, *inside)
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(f"{name}.vmap must return (output, out_dims), got {result!r}")
    output, out_dims = result
    leaves, spec = tree_flatten(output)
    if out_dims is None or isinstance(out_dims, int):
        places: list[Any] = [out_dims] * len(leaves)
    else:
        places = tree_flatten(out_dims)[0]
    if len(places) != len(leaves):
        raise RuntimeError(f"{name}.vmap: out_dims {out_dims!r} does not fit {len(leaves)} outputs")
    made = [
        x if d is None or not isinstance(x, Tensor) else wrap(x.movedim(d, 0), level)
        for x, d in zip(leaves, places, strict=True)
    ]
    return tree_unflatten(made, spec)


def _generated(cls: Any, level: Level, args: tuple[Any, ...]) -> Any:
    """Forward and backward both run under vmap."""
    from genesis.autograd.function import Function

    mapped = [is_at(a, level) for a in args]
    separate = cls.setup_context is not Function.setup_context
    shapes: dict[str, Any] = {}

    class Mapped(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(ctx: Any, *values: Any) -> Any:
            inner = Level(level.size, level.randomness, level.replicas)
            inner.depth = level.depth
            outer = _Context(ctx, inner)
            inside = [wrap(v, inner) if m else v for v, m in zip(values, mapped, strict=True)]
            with entered(inner):
                if separate:
                    output = cls.forward(*inside)
                    cls.setup_context(outer, tuple(inside), output)
                else:
                    output = cls.forward(outer, *inside)
            ctx.outer = outer
            leaves, spec = tree_flatten(output)
            shapes["spec"] = spec
            shapes["mapped"] = [is_at(x, inner) for x in leaves]
            outer.mapped_outputs = shapes["mapped"]
            outer.finish()
            plain = [x._value if is_at(x, inner) else x for x in leaves]
            return plain[0] if len(plain) == 1 else tuple(plain)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            outer = ctx.outer.bound_to(ctx)
            inner = outer.level
            inside = [
                wrap(g, inner) if m and g is not None else g
                for g, m in zip(grads, outer.mapped_outputs, strict=True)
            ]
            with entered(inner):
                found = cls.backward(outer, *inside)
            found = found if isinstance(found, (tuple, list)) else (found,)
            return tuple(_own_gradient(g, m, inner) for g, m in zip(found, mapped, strict=False))

    Mapped.__name__ = Mapped.__qualname__ = cls.__name__
    values = [a._value if m else a for a, m in zip(args, mapped, strict=True)]
    with left(level):
        out = Mapped.apply(*values)
    leaves = list(out) if isinstance(out, tuple) else [out]
    made = [wrap(x, level) if m else x for x, m in zip(leaves, shapes["mapped"], strict=True)]
    return tree_unflatten(made, shapes["spec"])


def _own_gradient(g: Any, mapped: bool, level: Level) -> Any:
    if g is None:
        return None
    if mapped:
        return g._value if is_at(g, level) else g.expand(level.size, *g.shape)
    return g._value.sum(0) if is_at(g, level) else g * level.size


class _Context:
    """The context of a Function under vmap: batched tensors are kept as their batches."""

    def __init__(self, ctx: Any, level: Level) -> None:
        object.__setattr__(self, "_ctx", ctx)
        object.__setattr__(self, "level", level)
        object.__setattr__(self, "_mapped", [])
        object.__setattr__(self, "_saved", None)
        object.__setattr__(self, "_attributes", {})

    def save_for_backward(self, *tensors: Any) -> None:
        object.__setattr__(self, "_mapped", [is_at(t, self.level) for t in tensors])
        self._ctx.save_for_backward(*(t._value if is_at(t, self.level) else t for t in tensors))

    save_for_forward = save_for_backward

    def finish(self) -> None:
        object.__setattr__(self, "_ctx", None)  # it refers to this object

    def bound_to(self, ctx: Any) -> _Context:
        object.__setattr__(self, "_ctx", ctx)
        return self

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        saved = self._ctx.saved_tensors
        return tuple(
            wrap(t, self.level) if m else t for t, m in zip(saved, self._mapped, strict=True)
        )

    def mark_dirty(self, *tensors: Any) -> None:
        raise RuntimeError("vmap: a Function with generate_vmap_rule cannot write its inputs")

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._ctx.mark_non_differentiable(
            *(t._value if is_at(t, self.level) else t for t in tensors)
        )

    def set_materialize_grads(self, value: bool) -> None:
        self._ctx.set_materialize_grads(value)

    @property
    def needs_input_grad(self) -> Any:
        return self._ctx.needs_input_grad

    def __setattr__(self, name: str, value: Any) -> None:
        self._attributes[name] = value

    def __getattr__(self, name: str) -> Any:
        try:
            return object.__getattribute__(self, "_attributes")[name]
        except KeyError:
            raise AttributeError(name) from None
