"""Gradients of batched tensors: those of their batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.func._batching import Level, expanded, levels_of, physical, rewrap


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
    levels = list(map(levels_of, inputs))
    wanted = _union(levels)
    of_seeds = _union([levels_of(s) for s in seeds if s is not None])
    if beyond := [v for v in of_seeds if v not in wanted]:
        return _row_by_row(beyond[-1], outputs, inputs, seeds, create_graph, allow_unused)
    _check_independent(outputs, inputs, levels)
    flat, flat_seeds = [], []
    for y, s in zip(outputs, seeds, strict=True):
        value, own = expanded(y, wanted)
        flat.append(value)
        if s is not None:
            s = s if s.dtype == y.dtype else s.to(y.dtype)
            flat_seeds.append(expanded(s, own)[0])
        elif y.numel() == 1:
            flat_seeds.append(_C.ones(value.shape, dtype=value.dtype))
        else:
            raise RuntimeError(
                f"grad: an output of shape {tuple(y.shape)} needs a gradient in grad_outputs"
            )
    flat_inputs = list(map(physical, inputs))
    found = _C._grad(flat, flat_inputs, flat_seeds, retain_graph, create_graph, allow_unused)
    return tuple(
        [None if g is None else rewrap(g, own) for g, own in zip(found, levels, strict=True)]
    )


def _check_independent(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], levels: list[list[Level]]
) -> None:
    """Every output must be mapped only at levels at which the inputs that it depends on are."""
    for y in outputs:
        own = levels_of(y)
        if levels.count(own) == len(levels) or not physical(y).requires_grad:
            continue
        for x, there in zip(inputs, levels, strict=True):
            if all(level in there for level in own) or not _reaches(y, x):
                continue
            raise RuntimeError(
                "grad: vmap maps over the output but not over the input, so the gradient would be "
                "the sum over the batch; use genesis.func.grad, which differentiates with "
                "respect to each element, or map over the input"
            )


def _reaches(y: Tensor, x: Tensor) -> bool:
    target = physical(x)
    found = _C._grad([physical(y).sum()], [target], None, True, False, True)
    return found[0] is not None


def _union(levels: list[list[Level]]) -> list[Level]:
    """All of the levels, the outermost first."""
    if not levels or levels.count(levels[0]) == len(levels):
        return levels[0] if levels else []
    return sorted({level for own in levels for level in own}, key=lambda level: level.depth)


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
