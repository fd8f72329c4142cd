"""Tape: gradients of the operations that it recorded, returned rather than stored."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, ValuesView
from typing import NamedTuple, TypeVar, overload

from genesis import _C
from genesis._C import Tensor

__all__ = ["Gradients", "Operation", "Tape", "accumulate_gradients"]

_D = TypeVar("_D")


class Operation(NamedTuple):
    """What a tape noted of one operation.

    Tensors are known by numbers, the same that :meth:`Gradients.items` shows; the number of an
    input that has no gradient is None.
    """

    name: str
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]  # of the outputs


class Gradients:
    """What :meth:`Tape.backward` returns: gradients by tensor.

    There is one for every leaf that the loss depends on, and for every result on the way that
    somebody still holds. Each has memory of its own.

    >>> x, tape = genesis.tensor([3.0]), genesis.Tape()
    >>> with tape:
    ...     y = x * x
    >>> grads = tape.backward(y)
    >>> grads[x], x in grads, len(grads)
    (tensor([6.]), True, 2)
    """

    def __init__(self, found: Iterable[tuple[int, Tensor | None, tuple[int, int], Tensor]]) -> None:
        self._by_number: dict[int, Tensor] = {}
        self._by_place: dict[tuple[int, int], Tensor] = {}
        # A leaf may outlive its place in the graph, so it is known by itself.
        self._leaves: dict[int, tuple[Tensor, Tensor]] = {}
        for number, leaf, place, grad in found:
            self._by_number[number] = grad
            if leaf is None:
                self._by_place[place] = grad
            else:
                self._leaves[id(leaf)] = leaf, grad

    @overload
    def get(self, tensor: Tensor) -> Tensor | None: ...
    @overload
    def get(self, tensor: Tensor, default: _D) -> Tensor | _D: ...
    def get(self, tensor: Tensor, default: _D | None = None) -> Tensor | _D | None:
        """The gradient of ``tensor``, or ``default`` if the loss does not depend on it."""
        if not isinstance(tensor, Tensor):
            raise TypeError(f"Gradients: expected a Tensor, got {type(tensor).__name__}")
        place = _C._graph_place(tensor)
        if place in self._by_place:
            return self._by_place[place]
        return self._leaves.get(id(tensor), (None, default))[1]

    def __getitem__(self, tensor: Tensor) -> Tensor:
        grad = self.get(tensor)
        if grad is None:
            raise KeyError(
                f"Gradients: none for a tensor of shape {tuple(tensor.shape)}; the loss does not "
                "depend on it, or the tape did not watch it"
            )
        return grad

    def __contains__(self, tensor: Tensor) -> bool:
        return self.get(tensor) is not None

    def __len__(self) -> int:
        return len(self._by_number)

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_number)

    def items(self) -> ItemsView[int, Tensor]:
        """Pairs of a tensor's number on the tape and its gradient."""
        return self._by_number.items()

    def values(self) -> ValuesView[Tensor]:
        """The gradients."""
        return self._by_number.values()

    def leaves(self) -> list[tuple[Tensor, Tensor]]:
        """Pairs of a tensor that was not computed on the tape and its gradient."""
        return list(self._leaves.values())

    def __repr__(self) -> str:
        return f"<Gradients of {len(self)} tensors>"


class Tape(_C._Tape):
    """Records operations, on tensors with or without ``requires_grad``, to differentiate them.

    While a tape records, every floating tensor is watched; with ``watch_all=False`` only those that
    require grad or were given to ``watch``. A tape writes no ``grad`` attributes, can be used again
    and again, and can be nested in another. It belongs to the thread that starts it.

    >>> x, w = genesis.ones(2, 3), genesis.ones(3, 1)
    >>> tape = Tape()
    >>> with tape:
    ...     loss = (x @ w).sum()
    >>> tape.backward(loss).get(w)
    tensor([[2.],
            [2.],
            [2.]])
    """

    def __enter__(self) -> Tape:
        self.start_recording()
        return self

    def __exit__(self, *args: object) -> None:
        self.stop_recording()

    def backward(
        self,
        loss: Tensor,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool | None = None,
    ) -> Gradients:
        """The gradients of ``loss`` with respect to everything recorded that it depends on.

        A loss of more than one element needs a ``gradient`` of its shape. With ``create_graph``
        (the default while another tape records) the gradients can be differentiated in turn.
        ``retain_graph`` is ``create_graph`` unless given; without it the graph is emptied.

        >>> x, tape = genesis.tensor(2.0), Tape()
        >>> with tape:
        ...     y = x**3
        >>> first = tape.backward(y, create_graph=True)[x]
        >>> tape.backward(first)[x]
        tensor(12.)
        """
        if create_graph is None:
            create_graph = _C._tapes_recording() > self.recording
        if retain_graph is None:
            retain_graph = create_graph
        return Gradients(self._gradients(loss, gradient, retain_graph, create_graph))

    @property
    def operations(self) -> list[Operation]:
        """What was recorded, in order.

        >>> tape = Tape()
        >>> with tape:
        ...     y = (genesis.ones(2, 3) * 2).sum()
        >>> [(op.name, op.inputs, op.outputs, op.shapes) for op in tape.operations]
        [('mul', (0,), (1,), ((2, 3),)), ('sum', (1,), (2,), ((),))]
        """
        return [Operation(*entry) for entry in self._operations()]

    def __len__(self) -> int:
        return self._num_operations

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        state = ", recording" if self.recording else ""
        return f"<Tape of {len(self)} operations{state}>"


def accumulate_gradients(grads: Gradients, tensors: Iterable[Tensor] | None = None) -> None:
    """Add what :meth:`Tape.backward` returned to the ``grad`` of ``tensors``.

    Without ``tensors``, those are the leaves that require grad or, if none does, all leaves.

    >>> w = genesis.nn.Parameter(genesis.ones(2))
    >>> tape = genesis.Tape()
    >>> for _ in range(3):
    ...     with tape:
    ...         loss = (w * w).sum()
    ...     accumulate_gradients(tape.backward(loss))
    >>> w.grad
    tensor([6., 6.])
    """
    if tensors is None:
        leaves = [tensor for tensor, _ in grads.leaves()]
        tensors = [tensor for tensor in leaves if tensor.requires_grad] or leaves
    with _C.no_grad():
        for tensor in tensors:
            grad = grads[tensor].detach()
            if tensor.grad is None:
                tensor.grad = grad.clone()
            else:
                tensor.grad += grad
