"""Checkpointing: compute again in backward what would have been kept since forward.

The function runs as usual and leaves its usual graph, but what its operations save is replaced by
empty holders (saved-tensor hooks). When backward asks for the first of them, the function is run
again on the same inputs, under the same random and ambient state, and fills the holders; a holder
gives its tensor away once. The graph is the one of the forward pass, so everything that works on
graphs works here: autograd.grad, hooks, higher derivatives, checkpoints inside checkpoints.
"""

from __future__ import annotations

import contextlib
import traceback
import weakref
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from genesis import _C, amp, random
from genesis._C import Tensor
from genesis._pytree import tree_flatten, tree_unflatten
from genesis.autograd.function import Context, Function
from genesis.autograd.graph import saved_tensors_hooks
from genesis.autograd.tape import Tape

__all__ = [
    "CheckpointError",
    "checkpoint",
    "checkpoint_sequential",
    "noop_context_fn",
    "register_ambient_state",
]

_Capture = Callable[[], Callable[[], AbstractContextManager[Any]]]
_ambient_states: list[_Capture] = []


def register_ambient_state(capture: _Capture) -> Callable[[], None]:
    """Make checkpointed functions run again under a state that they depend on without seeing it.

    ``capture()`` is called before a checkpointed function runs; it returns a function that makes a
    context manager, which puts the captured state in force for the second run. Returns a function
    that takes ``capture`` off again.

    >>> import contextlib, contextvars
    >>> verbosity = contextvars.ContextVar("verbosity", default=0)
    >>> def capture():
    ...     value = verbosity.get()
    ...     @contextlib.contextmanager
    ...     def again():
    ...         token = verbosity.set(value)
    ...         try:
    ...             yield
    ...         finally:
    ...             verbosity.reset(token)
    ...     return again
    >>> remove = register_ambient_state(capture)
    >>> remove()
    """
    _ambient_states.append(capture)
    return lambda: _ambient_states.remove(capture)


def _autocast_state() -> Callable[[], AbstractContextManager[Any]]:
    enabled, dtype = amp.is_autocast_enabled(), amp.get_autocast_dtype()
    cached = amp.is_autocast_cache_enabled()
    return lambda: amp.autocast("cpu", dtype, enabled, cached)


def _random_state() -> Callable[[], AbstractContextManager[None]]:
    state = random.get_rng_state()

    @contextlib.contextmanager
    def again() -> Any:
        with random.fork_rng():
            random.set_rng_state(state)
            yield

    return again


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function differs from the first."""


def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Two contexts that do nothing: the default ``context_fn`` of :func:`checkpoint`.

    >>> forward, recompute = noop_context_fn()
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[
        [], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]
    ] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, without keeping what its backward needs: it is run again then.

    Gradients are exactly those of a plain call, if the function computes the same both times: the
    random state is restored unless ``preserve_rng_state=False``, and so is the state of autocast.
    ``context_fn`` returns two context managers, for the first and for the second run.

    The second run must save tensors of the same shapes and dtypes, and find its parameters
    unchanged, or a :class:`CheckpointError` is raised; ``determinism_check="none"`` asks only for
    the number. With ``debug=True`` the error shows the lines of code that saved the tensors. The
    second run ends as soon as everything is there, unless ``early_stop=False``.

    PyTorch's two kinds (``use_reentrant``) are one here, which has the limits of neither.

    >>> x = genesis.tensor([1.0, 2.0], requires_grad=True)
    >>> checkpoint(lambda x: x.sin().exp(), x).sum().backward()
    >>> x.grad
    tensor([ 1.2534, -1.0331])
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"checkpoint: determinism_check must be 'default' or 'none', got {determinism_check!r}"
        )
    if not _C.is_grad_enabled():
        return function(*args, **kwargs)
    first_context, second_context = context_fn()
    if any(_C._is_batched(x) for x in tree_flatten((args, kwargs))[0]):
        with first_context:  # vmap keeps what backward needs; the gradient is the same
            return function(*args, **kwargs)
    states = [capture() for capture in (_autocast_state, *_ambient_states)]
    if preserve_rng_state:
        states.append(_random_state())
    frame = _Frame(function, args, kwargs, states, second_context)
    frame.checked, frame.debug = determinism_check == "default", debug
    frame.early_stop = early_stop
    with first_context, saved_tensors_hooks(frame.pack, frame.unpack):
        return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Iterable[Callable[[Any], Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    *,
    preserve_rng_state: bool = True,
) -> Any:
    """The functions one after another, in ``segments`` parts that are checkpointed.

    ``functions`` is a ``Sequential`` or any series of modules or functions. The last part is run
    plainly, as backward begins with it. With the square root of the number of functions as
    ``segments``, memory grows with that square root.

    >>> layers = [genesis.sin, genesis.cos, genesis.tanh, genesis.exp]
    >>> x = genesis.tensor(0.5, requires_grad=True)
    >>> checkpoint_sequential(layers, 2, x).backward()
    >>> x.grad
    tensor(-0.4083)
    """
    series = list(functions)
    if not 1 <= segments <= max(1, len(series)):
        raise ValueError(
            f"checkpoint_sequential: segments must be from 1 to the number of functions, "
            f"{len(series)}, got {segments}"
        )

    def part(first: int, last: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for function in series[first:last]:
                value = function(value)
            return value

        return run

    size = len(series) // segments
    for k in range(segments - 1):
        input = checkpoint(
            part(k * size, (k + 1) * size),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )
    return part((segments - 1) * size, len(series))(input)


class _Holder:
    """Stands in the graph for the ``number``-th tensor that the function saved."""

    __slots__ = ("__weakref__", "number", "value")

    def __init__(self, number: int) -> None:
        self.number = number
        self.value: Tensor | None = None


class _Everything(BaseException):
    """Ends the second run when nothing more is needed; no handler of errors should catch it."""


class CheckpointInputs(Function):
    """A node that keeps the inputs, and has an enclosing checkpoint keep them in its way."""

    @staticmethod
    def forward(ctx: Context, anchor: Tensor, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(*tensors)
        return anchor.clone()

    @staticmethod
    def backward(ctx: Context, *grad_outputs: Any) -> Any:
        raise AssertionError("the node that keeps the inputs of a checkpoint has no gradient")


class _Frame:
    """One call of a checkpointed function: how to run it again, and the holders to fill."""

    checked = True
    debug = False
    early_stop = True

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        states: list[Callable[[], AbstractContextManager[Any]]],
        context: AbstractContextManager[Any],
    ) -> None:
        self.function = function
        self.states = states
        self.context = context
        self.holders: list[weakref.ref[_Holder]] = []
        self.facts: list[tuple[Any, ...]] = []
        self.lines: list[str] = []
        leaves, self.spec = tree_flatten((args, kwargs))
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        # the places of tensors are empty: the node below keeps them
        self.leaves = [None if isinstance(x, Tensor) else x for x in leaves]
        self.places = [i for i, x in enumerate(leaves) if isinstance(x, Tensor)]
        self.needs_grad = [_C._needs_grad(x) for x in tensors]
        self.taped = _C._needs_grad(_C.zeros(()))  # true while a tape records every tensor
        self.inputs = CheckpointInputs.apply(_C.zeros((), requires_grad=True), *tensors).grad_fn

    def pack(self, tensor: Tensor) -> _Holder:
        holder = _Holder(len(self.holders))
        self.holders.append(weakref.ref(holder))
        self.facts.append(_facts(tensor))
        if self.debug:
            self.lines.append(_caller())
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        if holder.value is None:
            self.run_again()
        value, holder.value = holder.value, None
        assert value is not None  # run_again() has filled every holder, or raised
        return value

    def run_again(self) -> None:
        leaves = list(self.leaves)
        inputs = zip(self.places, self.inputs.saved_tensors, self.needs_grad, strict=True)
        for place, tensor, watched in inputs:
            leaves[place] = tensor.detach().requires_grad_(watched)
        args, kwargs = tree_unflatten(leaves, self.spec)
        second = _SecondRun(self)
        with contextlib.ExitStack() as stack:
            for state in self.states:
                stack.enter_context(state())
            stack.enter_context(self.context)
            stack.enter_context(_C.enable_grad())
            if self.taped:
                stack.enter_context(Tape())
            stack.enter_context(saved_tensors_hooks(second.pack, _same))
            stack.enter_context(contextlib.suppress(_Everything))
            self.function(*args, **kwargs)
        if second.count != len(self.holders):
            raise CheckpointError(
                f"checkpoint: {_name(self.function)} saved {len(self.holders)} tensors when it ran "
                f"first, and {second.count} when it was run again for backward; it must compute "
                "the same both times"
            )


class _SecondRun:
    def __init__(self, frame: _Frame) -> None:
        self.frame = frame
        self.count = 0

    def pack(self, tensor: Tensor) -> Tensor:
        frame, number = self.frame, self.count
        self.count += 1
        if number < len(frame.holders):
            if frame.checked and _facts(tensor) != frame.facts[number]:
                raise CheckpointError(self._difference(number, tensor))
            holder = frame.holders[number]()
            if holder is not None:
                holder.value = tensor.detach()
        if frame.early_stop and self.count == len(frame.holders):
            raise _Everything
        return tensor

    def _difference(self, number: int, tensor: Tensor) -> str:
        frame = self.frame
        (shape, dtype, version), (shape2, dtype2, version2) = frame.facts[number], _facts(tensor)
        text = f"checkpoint: {_name(frame.function)}, saved tensor {number}: "
        if (shape, dtype) == (shape2, dtype2):
            text += (
                f"a tensor of shape {shape} was changed in place since the first run (version "
                f"{version} then, {version2} now); run backward before changing it"
            )
        else:
            text += (
                f"{dtype} of shape {shape} in the first run, {dtype2} of shape {shape2} when run "
                "again for backward; the function must compute the same both times"
            )
        if frame.debug:
            return f"{text}\nfirst saved at {frame.lines[number]}\nthen saved at {_caller()}"
        return text + "; pass debug=True to see where"


def _facts(tensor: Tensor) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.dtype, tensor._version


def _same(tensor: Tensor) -> Tensor:
    return tensor


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", type(function).__name__)


def _caller() -> str:
    """The line outside this file that saved a tensor."""
    frames = [f for f in traceback.extract_stack() if f.filename != __file__]
    last = frames[-1]
    return f"{last.filename}:{last.lineno}, in {last.name}: {last.line}"
