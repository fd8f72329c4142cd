"""The recorded graph: its nodes, hooks on several tensors, and hooks on what operations save."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from genesis import _C
from genesis._C import Node, RemovableHandle, Tensor
from genesis._missing import explain

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor goes: a node, and which of its outputs the tensor is.

    Accepted in place of a tensor by the ``inputs`` of :func:`genesis.autograd.grad` and
    :func:`genesis.autograd.backward`: it keeps the graph, but not the tensor's memory.

    >>> x = genesis.ones(2, requires_grad=True)
    >>> edge = get_gradient_edge(x * 3)
    >>> edge.node.name(), edge.output_nr
    ('MulBackward', 0)
    """

    node: Node
    output_nr: int


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The :class:`GradientEdge` of a tensor that requires grad; of a leaf, its AccumulateGrad node.

    >>> y = genesis.ones(2, requires_grad=True) * 3
    >>> edge = get_gradient_edge(y)
    >>> genesis.autograd.grad((y * y).sum(), [edge])
    (tensor([6., 6.]),)
    """
    return GradientEdge(*_C._gradient_edge(tensor))


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Tell autograd that the memory of a tensor was changed by means that it does not see.

    A backward pass that had saved the old values raises instead of using the new ones.

    >>> x = genesis.ones(2)
    >>> increment_version(x)
    >>> x._version
    1
    """
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        _C._increment_version(t)


class saved_tensors_hooks:
    """While active, operations save the results of ``pack_hook`` for backward.

    ``pack_hook(tensor)`` returns any object; ``unpack_hook(object)`` returns a tensor of the same
    shape and dtype when backward needs it. The hooks run outside the graph, and gradients of any
    order stay right. Of nested pairs the innermost is used.

    >>> x = genesis.tensor([3.0], requires_grad=True)
    >>> with saved_tensors_hooks(lambda t: t.numpy().copy(), genesis.from_numpy):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([6.])
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        _C._push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *args: object) -> None:
        _C._pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in the CPU's memory, where here they are anyway.

    ``pin_memory`` and ``device_type`` are taken for the sake of code written for PyTorch; they
    concern the way to other devices.

    >>> x = genesis.tensor([3.0], requires_grad=True)
    >>> with save_on_cpu():
    ...     y = x * x
    >>> y.backward()
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: tensor, lambda tensor: tensor)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Raise ``RuntimeError(error_message)`` where :class:`saved_tensors_hooks` are entered.

    >>> with disable_saved_tensors_hooks("not here"):
    ...     with saved_tensors_hooks(lambda t: t, lambda t: t):
    ...         pass
    Traceback (most recent call last):
    RuntimeError: not here
    """
    before = _C._refuse_saved_hooks(error_message)
    try:
        yield
    finally:
        _C._refuse_saved_hooks(before)


@dataclass
class _Arrivals:
    """What a pass has brought to the tensors of one register_multi_grad_hook."""

    number: int
    expected: int
    grads: list[Tensor | None]


class _Handles:
    """Removes several hooks at once."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self._handles = tuple(handles)

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *args: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None],
    *,
    mode: Literal["all", "any"] = "all",
) -> _Handles:
    """Call ``fn`` once in each backward pass, when the gradients of ``tensors`` are there.

    With ``mode="all"``, ``fn`` gets a list with the gradient of each tensor, None for those that
    the pass does not reach; with ``mode="any"``, it gets the first gradient that arrives. What it
    returns is ignored. The handle's ``remove()`` takes it off.

    >>> x = genesis.ones(2, requires_grad=True)
    >>> y, z = x * 2, x * 3
    >>> handle = register_multi_grad_hook([y, z], print)
    >>> (y + z).sum().backward()
    [tensor([1., 1.]), tensor([1., 1.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook: mode must be 'all' or 'any', got {mode!r}")
    nodes = [get_gradient_edge(t).node for t in tensors]
    states: dict[int, _Arrivals] = {}  # by thread; each runs its passes one after another

    def hook_of(index: int) -> Callable[[Tensor], None]:
        def hook(grad: Tensor) -> None:
            number = _C._current_pass()
            state = states.get(threading.get_ident())
            if state is None or state.number != number:
                expected = sum(_C._pass_runs(node) for node in nodes) if mode == "all" else 1
                state = _Arrivals(number, expected, [None] * len(nodes))
                states[threading.get_ident()] = state
            state.expected -= 1
            if state.expected < 0:
                return
            state.grads[index] = grad
            if state.expected == 0:
                grads, state.grads = state.grads, []
                fn(grads if mode == "all" else grad)  # type: ignore[arg-type]

        return hook

    return _Handles([t.register_hook(hook_of(i)) for i, t in enumerate(tensors)])


explain(globals())
