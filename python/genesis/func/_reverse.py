"""Reverse-mode transforms: gradients, vector-Jacobian products and Jacobians."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._pytree import tree_flatten, tree_unflatten
from genesis.func import _level, _replicas
from genesis.func._level import Argnums, Level, gradients, or_zeros
from genesis.func._vmap import check_chunk_size

__all__ = ["grad", "grad_and_value", "hessian", "hvp", "jacrev", "value_and_grad", "vjp"]


def grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that computes the gradient of ``func``, which must return a scalar tensor.

    ``argnums`` selects the arguments to differentiate: an int, or a tuple for a tuple of gradients.
    An argument is a tensor or nested dicts, lists and tuples of tensors; its gradient has the same
    structure. With ``has_aux``, ``func`` returns ``(output, aux)`` and the result is
    ``(gradient, aux)``. ``.grad`` attributes do not change.

    >>> grad(lambda x: x.sin())(genesis.tensor(0.0))
    tensor(1.)
    >>> grad(grad(lambda x: x**3))(genesis.tensor(2.0))
    tensor(12.)
    >>> grad(lambda p, x: (p["w"] * x + p["b"]).sum())(
    ...     {"w": genesis.tensor(1.0), "b": genesis.tensor(0.0)}, genesis.tensor([1.0, 2.0])
    ... )
    {'w': tensor(3.), 'b': tensor(2.)}
    """

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        grads, _, aux = _differentiate("grad", func, argnums, has_aux, args, kwargs)
        return (grads, aux) if has_aux else grads

    return gradient


def grad_and_value(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Like :func:`grad`, but the function returns ``(gradient, output)``.

    With ``has_aux``: ``(gradient, (output, aux))``.

    >>> grad_and_value(lambda x: x**2)(genesis.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        grads, value, aux = _differentiate("grad_and_value", func, argnums, has_aux, args, kwargs)
        return (grads, (value, aux)) if has_aux else (grads, value)

    return gradient_and_value


def value_and_grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Like :func:`grad`, but the function returns ``(output, gradient)``.

    With ``has_aux``: ``((output, aux), gradient)``.

    >>> value_and_grad(lambda x: x**2)(genesis.tensor(3.0))
    (tensor(9.), tensor(6.))
    """

    @functools.wraps(func)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        grads, value, aux = _differentiate("value_and_grad", func, argnums, has_aux, args, kwargs)
        return ((value, aux), grads) if has_aux else (value, grads)

    return value_and_gradient


def _differentiate(
    name: str,
    func: Callable[..., Any],
    argnums: Argnums,
    has_aux: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Any, Any, Any]:
    level = Level(name)
    chosen, places = _level.select(name, args, argnums)
    inside = _level.replaced(args, places, level.enter(chosen), argnums)
    result, aux = _level.split_aux(name, level.run(func, inside, kwargs), has_aux)
    value = _level.scalar(name, result)
    outside = level.seen_outside(value)
    # aux may share the graph, which a later call on it must find intact
    grads = gradients(
        [value], level.inputs, None, create_graph=outside, retain_graph=outside or has_aux
    )
    found = or_zeros(grads, level.inputs)
    tree = tree_unflatten(found if outside is False else level.leave(found), level.spec)
    return tree, None if name == "grad" else level.leave(value), level.leave(aux)


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The output ``func(*primals)`` and a function that computes vector-Jacobian products.

    ``vjp_fn(cotangents)`` takes cotangents with the structure of the output and returns a tuple
    with a gradient for each primal. It may be called repeatedly. With ``has_aux``, ``func`` returns
    ``(output, aux)`` and the result is ``(output, vjp_fn, aux)``.

    >>> y, vjp_fn = vjp(lambda x: x**2, genesis.tensor([1.0, 2.0]))
    >>> vjp_fn(genesis.tensor([1.0, 10.0]))
    (tensor([ 2., 40.]),)
    """
    level = Level("vjp")
    inside = level.enter(primals)
    state = _C._rng_position()
    result, aux = _level.split_aux("vjp", level.run(func, inside, {}), has_aux)
    outputs, spec = _level.tensors("vjp", result)

    def vjp_fn(cotangents: Any) -> Any:
        seeds = _level.matching("vjp_fn", "cotangents", cotangents, outputs, spec)
        if levels := _level.further_levels(seeds, level.inputs):
            return _vjp_of_batch(func, primals, has_aux, state, seeds, levels)
        outside = level.seen_outside(*outputs, *seeds)
        grads = gradients(outputs, level.inputs, seeds, create_graph=outside, retain_graph=True)
        return level.leave(tree_unflatten(or_zeros(grads, level.inputs), level.spec))

    value = level.leave(result)
    return (value, vjp_fn, level.leave(aux)) if has_aux else (value, vjp_fn)


def _vjp_of_batch(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    has_aux: bool,
    state: Any,
    seeds: list[Tensor],
    levels: list[Any],
) -> Any:
    """``vmap(vjp_fn)``: one backward pass for all cotangents, from as many copies of the inputs."""
    from genesis.func import _batching as batching

    sizes = [v.size for v in levels]
    after = _C._rng_position()
    with batching.left(levels[0]):
        copies = _replicas.Replicas("vjp", math.prod(sizes))
        flat = []
        for s in seeds:
            value: Any = batching.expand_to(s, levels)
            for _ in levels:
                value = value._value
            rest = value.shape[len(levels) :]
            flat.append(_C._batched(value.reshape(copies.map.size, *rest), copies.map))
        _C._rng_return(state)
        value = copies.run(func, primals, {}, tuple(range(len(primals))))
        _C._rng_return(after)
        outputs, _ = _level.tensors("vjp", _level.split_aux("vjp", value, has_aux)[0])
        inner = copies.level
        grads = copies.pull(
            outputs, inner.inputs, flat, create_graph=inner.seen_outside(*outputs, *flat)
        )
        found = [inner.leave(g) for g in copies.batches(grads, inner.inputs)]
        found = [g.reshape(*sizes, *g.shape[1:]) for g in found]
    for v in levels:
        found = [_C._batched(g, v) for g in found]
    return tree_unflatten(found, inner.spec)


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that computes the Jacobian of ``func`` in reverse mode.

    The Jacobian of an output of shape ``S`` with respect to an argument of shape ``T`` has shape
    ``S + T``. The result has the structure of the output, with the structure of the arguments in
    place of each tensor. All rows are computed at once, on copies of the inputs; ``chunk_size``
    limits their number, and thus the memory.

    >>> jacrev(lambda x: x**2)(genesis.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    check_chunk_size("jacrev", chunk_size)

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        level = Level("jacrev")
        chosen, places = _level.select("jacrev", args, argnums)
        inside = _level.replaced(args, places, level.enter(chosen), argnums)
        state = _C._rng_position()
        result, aux = _level.split_aux("jacrev", level.run(func, inside, kwargs), has_aux)
        outputs, spec = _level.tensors("jacrev", result)
        outside = level.seen_outside(*outputs)
        live = [y for y in outputs if y.requires_grad]
        n = sum(y.numel() for y in live)
        if n <= 1 or chunk_size == 1:
            columns = [rows(y, level.inputs, create_graph=outside) for y in outputs]
        else:
            _C._rng_return(state)
            found = iter(_all_rows(func, args, kwargs, argnums, has_aux, n, chunk_size, outside))
            columns = [
                next(found) if y.requires_grad else rows(y, level.inputs, create_graph=False)
                for y in outputs
            ]
        blocks = [tree_unflatten(column, level.spec) for column in columns]
        tree = level.leave(tree_unflatten(blocks, spec))
        return (tree, level.leave(aux)) if has_aux else tree

    return jacobian


def _all_rows(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    argnums: Argnums,
    has_aux: bool,
    n: int,
    chunk_size: int | None,
    create_graph: bool,
) -> list[list[Tensor]]:
    """For each output that depends on the inputs, its Jacobian for each input."""
    state = _C._rng_position()
    parts: list[list[Tensor]] = []
    live: list[Tensor] = []
    for start, k in _replicas.chunks(n, chunk_size):
        _C._rng_return(state)
        copies = _replicas.Replicas("jacrev", k)
        result, _ = _level.split_aux("jacrev", copies.run(func, args, kwargs, argnums), has_aux)
        outputs, _ = _level.tensors("jacrev", result)
        live = [y for y in outputs if y.requires_grad]
        inputs = copies.level.inputs
        grads = copies.pull(live, inputs, copies.seeds(live, start), create_graph=create_graph)
        parts.append([copies.level.leave(g) for g in copies.batches(grads, inputs)])
    whole = [_C.cat(part) if len(part) > 1 else part[0] for part in zip(*parts, strict=True)]
    by_input = [_replicas.split(g, live) for g in whole]
    return [list(column) for column in zip(*by_input, strict=True)]


def rows(y: Tensor, inputs: Sequence[Tensor], *, create_graph: bool) -> list[Tensor]:
    """The Jacobian of ``y`` for each input, of shape ``y.shape + input.shape``."""
    shapes = [(*y.shape, *x.shape) for x in inputs]
    n = y.numel()
    if n == 0 or not y.requires_grad:
        return [_C.zeros(shape, dtype=x.dtype) for shape, x in zip(shapes, inputs, strict=True)]
    found: list[list[Tensor]] = [[] for _ in inputs]
    for i in range(n):
        seed = _C.zeros(n, dtype=y.dtype)
        seed[i] = 1
        grads = gradients(
            [y], inputs, [seed.view(y.shape)], create_graph=create_graph, retain_graph=True
        )
        for row, g in zip(found, or_zeros(grads, inputs), strict=True):
            row.append(g)
    return [_C.stack(row).reshape(shape) for row, shape in zip(found, shapes, strict=True)]


def hessian(
    func: Callable[..., Any], argnums: Argnums = 0, *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """A function that computes the Hessian of ``func``: the Jacobian of its Jacobian.

    All rows are computed at once; ``chunk_size`` limits their number, and thus the memory.

    >>> hessian(lambda x: (x**3).sum())(genesis.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """

    check_chunk_size("hessian", chunk_size)

    @functools.wraps(func)
    def second(*args: Any, **kwargs: Any) -> Any:
        chosen, _ = _level.select("hessian", args, argnums)
        n = sum(x.numel() for x in tree_flatten(chosen)[0] if isinstance(x, Tensor))
        if chunk_size is not None and chunk_size < n:
            return jacrev(jacrev(func, argnums), argnums, chunk_size=chunk_size)(*args, **kwargs)
        copies = _replicas.Replicas("hessian", n)
        state = _C._rng_position()
        value = copies.run(func, args, kwargs, argnums) if n else None
        if not isinstance(value, Tensor) or value.numel() != 1:  # a Hessian for each output
            _C._rng_return(state)
            return jacrev(jacrev(func, argnums), argnums)(*args, **kwargs)
        level = copies.level
        ones = _C.ones_like(value.detach())
        slopes = copies.pull([value], level.inputs, [ones], create_graph=True)
        used = [g for g in slopes if g is not None and g.requires_grad]
        outside = level.seen_outside(value)
        seeds = copies.seeds(level.inputs, 0)
        chosen_seeds = [
            s for s, g in zip(seeds, slopes, strict=True) if g is not None and g.requires_grad
        ]
        curved = copies.pull(used, level.inputs, chosen_seeds, create_graph=outside)
        columns = [
            _replicas.split(batch, level.inputs) for batch in copies.batches(curved, level.inputs)
        ]
        blocks = [
            tree_unflatten([block.reshape(*value.shape, *block.shape) for block in row], level.spec)
            for row in zip(*columns, strict=True)
        ]
        return level.leave(tree_unflatten(blocks, level.spec))

    return second


def hvp(func: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """The product of the Hessian of the scalar function ``func`` at ``primals`` with ``tangents``.

    It equals ``jvp(grad(func), primals, tangents)[1]`` and costs two backward passes. ``primals``
    is a tuple of arguments, for which the result is a tuple, or a single argument.

    >>> x, v = genesis.tensor([1.0, 2.0]), genesis.tensor([1.0, 0.0])
    >>> hvp(lambda x: (x**3).sum(), x, v)
    tensor([6., 0.])
    """
    if not isinstance(primals, tuple):
        primals, tangents = (primals,), (tangents,)
    level = Level("hvp")
    inside = level.enter(primals)
    vectors = _level.matching("hvp", "tangents", tangents, level.inputs, level.spec)
    value = _level.scalar("hvp", level.run(func, inside, {}))
    grads = gradients([value], level.inputs, None, create_graph=True)
    used = [(g, v) for g, v in zip(grads, vectors, strict=True) if g is not None]
    outside = level.seen_outside(value, *vectors)
    products = gradients(
        [g for g, _ in used], level.inputs, [v for _, v in used], create_graph=outside
    )
    tree = level.leave(tree_unflatten(or_zeros(products, level.inputs), level.spec))
    return tree[0] if len(primals) == 1 else tree
