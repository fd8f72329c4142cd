"""GT's graph as an object: a view of the graph that every tensor here belongs to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor, no_grad
from genesis.autograd.function import Function

__all__ = ["AutogradGraph", "get_graph", "no_grad"]

GradFn = Callable[[Tensor], Sequence[Tensor | None]]


class _Recorded(Function):
    """Gives a tensor that exists the history that it was made by ``grad_fn``'s operation."""

    @staticmethod
    def forward(ctx: Any, output: Tensor, grad_fn: GradFn, *inputs: Tensor) -> Tensor:
        ctx.mark_dirty(output)
        ctx.grad_fn_of_user = grad_fn
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, *ctx.grad_fn_of_user(grad)


class AutogradGraph:
    """The graph of this thread.

    >>> graph, x = AutogradGraph(), genesis.tensor([3.0], requires_grad=True)
    >>> y = x.detach() ** 2
    >>> graph.record(y, [x], lambda grad: [grad * 2 * x])
    >>> graph.backward(y.sum())
    >>> x.grad
    tensor([6.])
    """

    @property
    def enabled(self) -> bool:
        """Whether operations are recorded now."""
        return _C.is_grad_enabled()

    @property
    def tape(self) -> Any:
        """The operations whose results are alive, in order."""
        from genesis.debug import get_tape

        return get_tape()

    def record(self, output: Tensor, inputs: Sequence[Tensor], grad_fn: GradFn) -> None:
        """Note that ``output`` was made from ``inputs``.

        ``grad_fn`` turns the gradient of ``output`` into a list of those of ``inputs``. Operations
        of the package need no such call.
        """
        if not self.enabled:
            return
        if output.grad_fn is not None:
            raise RuntimeError(
                f"record: the output was made by {output.grad_fn}, which is recorded already; "
                "detach() it first"
            )
        _Recorded.apply(output, grad_fn, *inputs)

    def backward(self, loss: Tensor) -> None:
        """Add the gradients of ``loss`` to the ``grad`` of leaves."""
        loss.backward()

    def no_grad(self) -> no_grad:
        """A block in which nothing is recorded."""
        return no_grad()


_graph = AutogradGraph()


def get_graph() -> AutogradGraph:
    """The graph of this thread.

    >>> get_graph().enabled
    True
    """
    return _graph
