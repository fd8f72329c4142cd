"""Gradients of batched tensors: those of their batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.func._batching import Level, expand_to, levels_of, physical, rewrap


def grad(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    seeds: Sequence[Tensor | None] | None,
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool,
    rows: int = 0,
) -> tuple[Any, ...]:
    """``_C._grad`` of tensors of which some are batched.

    Elements of a batch are independent of each other, so the gradient of a batch of outputs with
    respect to a batch of inputs is the batch of gradients.
    """
    if rows:
        return _of_rows(rows, outputs, inputs, seeds, create_graph, allow_unused)
    seeds = [None] * len(outputs) if seeds is None else list(seeds)
    wanted = _union(inputs)
    beyond = [v for v in _union([s for s in seeds if s is not None]) if v not in wanted]
    if beyond:
        return _row_by_row(beyond[-1], outputs, inputs, seeds, create_graph, allow_unused)
    for y in outputs:
        if not physical(y).requires_grad:
            continue
        own = levels_of(y)
        for x in inputs:
            there = levels_of(x)
            if all(level in there for level in own) or not _reaches(y, x):
                continue
            raise RuntimeError(
                "grad: vmap maps over the output but not over the input, so the gradient would be "
                "the sum over the batch; use genesis.func.grad, which differentiates with "
                "respect to each element, or map over the input"
            )
    grown = [expand_to(y, wanted) for y in outputs]
    flat = []
    for y, s in zip(grown, seeds, strict=True):
        if s is None:
            if y.numel() != 1:
                raise RuntimeError(
                    f"grad: an output of shape {tuple(y.shape)} needs a gradient in grad_outputs"
                )
            flat.append(_C.ones_like(physical(y).detach()))
        else:
            own = levels_of(y)
            flat.append(physical(expand_to(s.to(y.dtype) if s.dtype != y.dtype else s, own)))
    found = _C._grad(
        [physical(y) for y in grown],
        [physical(x) for x in inputs],
        flat,
        retain_graph,
        create_graph,
        allow_unused,
    )
    return tuple(
        None if g is None else rewrap(g, levels_of(x)) for g, x in zip(found, inputs, strict=True)
    )


def _reaches(y: Tensor, x: Tensor) -> bool:
    target = physical(x)
    found = _C._grad([physical(y).sum()], [target], None, True, False, True)
    return found[0] is not None


def _union(tensors: Sequence[Tensor]) -> list[Level]:
    found: list[Level] = []
    for x in tensors:
        found += [level for level in levels_of(x) if level not in found]
    return sorted(found, key=lambda level: level.depth)


def _row_by_row(
    level: Level,
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    seeds: Sequence[Tensor | None],
    create_graph: bool,
    allow_unused: bool,
) -> tuple[Any, ...]:
    """Several gradients of outputs that were computed once: a pass for each."""
    rows = []
    for i in range(level.size):
        part = [s if s is None else _element(s, level, i) for s in seeds]
        rows.append(grad(outputs, inputs, part, True, create_graph, allow_unused))
    made = []
    for column in zip(*rows, strict=True):
        made.append(None if column[0] is None else rewrap(_C.stack(column), [level]))
    return tuple(made)


def _of_rows(
    n: int,
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    seeds: Sequence[Tensor | None] | None,
    create_graph: bool,
    allow_unused: bool,
) -> tuple[Any, ...]:
    """The gradients of a batch of seeds, which is none of vmap's."""
    found = [
        grad(
            outputs,
            inputs,
            None if seeds is None else [s if s is None else s[i] for s in seeds],
            True,
            create_graph,
            allow_unused,
        )
        for i in range(n)
    ]
    return tuple(
        None if column[0] is None else _C.stack(column) for column in zip(*found, strict=True)
    )


def _element(s: Tensor, level: Level, i: int) -> Tensor:
    own = levels_of(s)
    if level not in own:
        return s
    rest = [v for v in own if v is not level]
    return rewrap(physical(s).select(own.index(level), i), rest)
