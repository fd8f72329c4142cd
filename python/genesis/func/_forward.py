"""Transforms that go forward: Jacobian-vector products and columns of Jacobians.

The vector-Jacobian product ``u -> u J`` is linear in ``u``; its own backward pass at ``t`` is
therefore ``J t``. Two backward passes replace a forward mode, and since every rule is
differentiable, they nest like everything else.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._pytree import tree_flatten, tree_unflatten
from genesis.func import _level, _replicas
from genesis.func._level import Argnums, Level, gradients, or_zeros
from genesis.func._vmap import check_chunk_size, check_randomness

__all__ = ["jacfwd", "jvp", "linearize"]


_recording = threading.local()


def is_recording_jvp() -> bool:
    """Whether the derivative that is computed now is a Jacobian-vector product."""
    return getattr(_recording, "depth", 0) > 0


@contextlib.contextmanager
def recording_jvp() -> Iterator[None]:
    """A block in which a :class:`genesis.autograd.Function` uses its ``jvp``."""
    _recording.depth = getattr(_recording, "depth", 0) + 1
    try:
        yield
    finally:
        _recording.depth -= 1


class Pushforward:
    """``J t`` for any ``t``, where J is the Jacobian of ``outputs`` at the inputs of a level."""

    def __init__(self, level: Level, outputs: Sequence[Tensor]) -> None:
        self.level = level
        self.outputs = outputs
        self.cotangents = [level.dummy(y) for y in outputs]
        with recording_jvp():
            self.pulled = gradients(outputs, level.inputs, self.cotangents, create_graph=True)

    def independent(self) -> list[int]:
        """The inputs that no output depends on."""
        return [i for i, g in enumerate(self.pulled) if g is None]

    def __call__(self, tangents: dict[int, Tensor], create_graph: bool) -> list[Tensor]:
        """The product with ``tangents``, given by the number of their input; others are zero."""
        used = [(g, t) for i, t in tangents.items() if (g := self.pulled[i]) is not None]
        products = gradients(
            [g for g, _ in used],
            self.cotangents,
            [t for _, t in used],
            create_graph=create_graph,
            retain_graph=True,
        )
        return or_zeros(products, self.outputs)


def jvp(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """The output ``func(*primals)`` and the product of its Jacobian with ``tangents``.

    ``tangents`` has the structure of ``primals``. With ``strict``, an input that the output does
    not depend on raises an error. With ``has_aux``, ``func`` returns ``(output, aux)`` and the
    result is ``(output, product, aux)``.

    >>> jvp(lambda x: x**2, (genesis.tensor([1.0, 2.0]),), (genesis.tensor([1.0, 10.0]),))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    if not isinstance(primals, tuple) or not isinstance(tangents, tuple):
        raise TypeError(
            "jvp: primals and tangents must be tuples, one entry for each argument of the "
            f"function, got {type(primals).__name__} and {type(tangents).__name__}; write (x,)"
        )
    level = Level("jvp")
    inside = level.enter(primals)
    vectors = _level.matching("jvp", "tangents", tangents, level.inputs, level.spec)
    result, aux = _level.split_aux("jvp", level.run(func, inside, {}), has_aux)
    outputs, spec = _level.tensors("jvp", result)
    push = Pushforward(level, outputs)
    if strict and (unused := push.independent()):
        raise RuntimeError(
            f"jvp: no output depends on input {unused[0]}; use it, or pass strict=False for zeros"
        )
    create_graph = level.seen_outside(*outputs, *vectors)
    products = push(dict(enumerate(vectors)), create_graph)
    product = level.leave(tree_unflatten(products, spec))
    value = level.leave(result)
    return (value, product, level.leave(aux)) if has_aux else (value, product)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The output ``func(*primals)`` and its derivative ``jvp_fn``, a linear function of tangents.

    ``func`` is called once; each call of ``jvp_fn(*tangents)`` costs one backward pass.

    >>> y, jvp_fn = linearize(lambda x: x**2, genesis.tensor([1.0, 2.0]))
    >>> jvp_fn(genesis.tensor([1.0, 0.0])), jvp_fn(genesis.tensor([0.0, 1.0]))
    (tensor([2., 0.]), tensor([0., 4.]))
    """
    level = Level("linearize")
    result = level.run(func, level.enter(primals), {})
    outputs, spec = _level.tensors("linearize", result)
    push = Pushforward(level, outputs)

    def jvp_fn(*tangents: Any) -> Any:
        vectors = _level.matching("jvp_fn", "tangents", tangents, level.inputs, level.spec)
        create_graph = level.seen_outside(*outputs, *vectors)
        return level.leave(tree_unflatten(push(dict(enumerate(vectors)), create_graph), spec))

    return level.leave(result), jvp_fn


def jacfwd(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: int | None = None,
    randomness: str = "error",
) -> Callable[..., Any]:
    """A function that computes the Jacobian of ``func`` by Jacobian-vector products.

    The result has the structure of that of :func:`jacrev`. All columns are computed at once, on
    copies of the inputs; ``chunk_size`` limits their number, and thus the memory. Random numbers in
    ``func`` are the same for all columns unless ``randomness`` is ``"different"``.

    >>> jacfwd(lambda x: x**2)(genesis.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    check_randomness("jacfwd", randomness)
    check_chunk_size("jacfwd", chunk_size)
    numbers = "different" if randomness == "different" else "same"

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen, _ = _level.select("jacfwd", args, argnums)
        n = sum(x.numel() if isinstance(x, Tensor) else 1 for x in tree_flatten(chosen)[0])
        state = _C._rng_position()
        parts: list[list[Tensor]] = []
        for start, k in _replicas.chunks(max(n, 1), chunk_size):
            _C._rng_return(state)
            copies = _replicas.Replicas("jacfwd", k, numbers)
            level = copies.level
            value = copies.run(func, args, kwargs, argnums)
            result, aux = _level.split_aux("jacfwd", value, has_aux)
            outputs, spec = _level.tensors("jacfwd", result)
            with copies.batching.entered(copies.map):
                outputs = [copies.batching.expand_to(y, [copies.map]) for y in outputs]
                push = Pushforward(level, outputs)
                seeds = dict(enumerate(copies.seeds(level.inputs, start)))
                products = push(seeds, level.seen_outside(*outputs))
            parts.append([level.leave(copies.batch(p)) for p in products])
        whole = [_C.cat(part) if len(part) > 1 else part[0] for part in zip(*parts, strict=True)]
        blocks = [columns(y, level.inputs, w, n) for y, w in zip(outputs, whole, strict=True)]
        trees = [tree_unflatten(block, level.spec) for block in blocks]
        tree = level.leave(tree_unflatten(trees, spec))
        return (tree, level.leave(copies.first(aux))) if has_aux else tree

    return jacobian


def one_by_one(push: Pushforward, create_graph: bool) -> list[list[Tensor]]:
    """For each output, its Jacobian for each input, by a pass for each element of the inputs."""
    blocks: list[list[Tensor]] = [[] for _ in push.outputs]
    for i, x in enumerate(push.level.inputs):
        n = x.numel()
        found: list[list[Tensor]] = [[] for _ in push.outputs]
        for k in range(n):
            unit = _C.zeros(n, dtype=x.dtype)
            unit[k] = 1
            products = push({i: unit.view(x.shape)}, create_graph)
            for column, product in zip(found, products, strict=True):
                column.append(product)
        for block, column, y in zip(blocks, found, push.outputs, strict=True):
            shape = (*y.shape, *x.shape)
            block.append(
                _C.stack(column, -1).reshape(shape) if n else _C.zeros(shape, dtype=y.dtype)
            )
    return blocks


def columns(y: Tensor, inputs: Sequence[Tensor], products: Tensor, n: int) -> list[Tensor]:
    """The Jacobian of ``y`` for each input, of shape ``y.shape + input.shape``."""
    found, before = [], 0
    turned = products.movedim(0, -1)
    for x in inputs:
        part = turned.narrow(-1, before, x.numel()) if n else turned.narrow(-1, 0, 0)
        found.append(part.reshape(*y.shape, *x.shape))
        before += x.numel()
    return found
