"""A function run on copies of its inputs, so that one backward pass gives all rows of a Jacobian.

The gradient of a batch of outputs is the batch of gradients. With ``n`` copies of the inputs, copy
``i`` of the output can be multiplied with row ``i`` of the identity, and one backward pass computes
all rows. Operators inside run once, on all copies, by the rules of :func:`genesis.func.vmap`; since
the copies are equal, values may be read, and random numbers are the same in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._pytree import tree_map
from genesis.func import _level
from genesis.func._level import Level, gradients


class Replicas:
    """``func`` on ``n`` copies of the inputs that a transform differentiates."""

    def __init__(self, name: str, n: int, randomness: str = "same") -> None:
        from genesis.func import _batching

        self.batching = _batching
        self.map = _batching.Level(n, randomness, replicas=True)
        with _batching.entered(self.map):
            self.level = Level(name)

    def run(
        self,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: _level.Argnums,
    ) -> Any:
        with self.batching.entered(self.map):
            chosen, places = _level.select(self.level.name, args, argnums)
            inside = _level.replaced(args, places, self.level.enter(chosen), argnums)
            return self.level.run(func, inside, kwargs)

    def seeds(self, like: Sequence[Tensor], start: int) -> list[Tensor]:
        """Rows ``start`` to ``start + n`` of the identity over all elements of ``like``."""
        made, before, k = [], 0, self.map.size
        for y in like:
            n = y.numel()
            rows = _C.zeros(k, n, dtype=y.dtype)
            row, column = max(0, before - start), max(0, start - before)
            count = min(k - row, n - column)
            if count > 0:
                rows.narrow(0, row, count).narrow(1, column, count).fill_diagonal_(1)
            made.append(_C._batched(rows.reshape(k, *y.shape), self.map))
            before += n
        return made

    def batch(self, x: Any) -> Any:
        """The results of all copies, stacked."""
        return self.batching.batch_of(x, self.map)

    def first(self, tree: Any) -> Any:
        """The result of one copy, which are all equal."""

        def one(x: Any) -> Any:
            if not isinstance(x, Tensor):
                return x
            return self.batch(x).select(0, 0) if self.batching.is_at(x, self.map) else x

        return tree_map(one, tree)

    def pull(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        seeds: Sequence[Tensor] | None,
        *,
        create_graph: bool,
    ) -> list[Tensor | None]:
        """The gradients of all copies."""
        with self.batching.entered(self.map):
            return gradients(outputs, inputs, seeds, create_graph=create_graph, retain_graph=True)

    def batches(self, grads: Sequence[Tensor | None], like: Sequence[Tensor]) -> list[Tensor]:
        """Gradients as batches, zeros where there is none."""
        return [
            _C.zeros(self.map.size, *x.shape, dtype=x.dtype) if g is None else self.batch(g)
            for g, x in zip(grads, like, strict=True)
        ]


def split(rows: Tensor, outputs: Sequence[Tensor]) -> list[Tensor]:
    """The rows of a Jacobian by output: of shape ``output.shape + input.shape`` each."""
    found, before = [], 0
    for y in outputs:
        part = rows.narrow(0, before, y.numel())
        found.append(part.reshape(*y.shape, *rows.shape[1:]))
        before += y.numel()
    return found


def chunks(n: int, chunk_size: int | None) -> Iterator[tuple[int, int]]:
    """Where chunks of ``n`` rows start, and how many rows each has."""
    step = n if chunk_size is None else chunk_size
    for start in range(0, n, max(step, 1)):
        yield start, min(step, n - start)
