"""Captures: a call of a function, and what it does besides calling kernels."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

import genesis
from genesis import _C, _pytree
from genesis._C import Tensor
from genesis._compile import host as _host
from genesis._compile.entry import PLAIN, Again, Argument, Break, Entry, is_own, unflatten
from genesis._compile.guards import TooMuch, Walk

if TYPE_CHECKING:
    from genesis._compile.compiled import CompiledFunction


class _Output:
    """Standard output during a capture: printed text cannot be repeated."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> Any:
        _C._capture_interrupt("the function prints")
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _where() -> str:
    """The line of the user's code that runs."""
    frame = sys._getframe(1)
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    while frame is not None:
        name = frame.f_code.co_filename
        if not os.path.abspath(name).startswith(here):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def _random_states() -> Any:
    import random

    import numpy as np

    state: Any = np.random.get_state(legacy=True)
    return random.getstate(), (state[0], state[1].tobytes(), *state[2:])


def _unguarded_argument(leaves: list[Any]) -> str | None:
    for x in leaves:
        if isinstance(x, np.ndarray):
            return "an argument is a NumPy array, which may change; pass a tensor"
        if hasattr(type(x), "__next__"):
            return f"an argument is a {type(x).__name__}, whose position a replay would not move"
    return None


def capture(
    owner: CompiledFunction,
    modes: Any,
    leaves: list[Any],
    spec: Any,
    given: list[Any] | None = None,
) -> tuple[Entry | None, Any]:
    """Call the function, with ``given`` in place of ``leaves``, and capture what it does.

    The entry is None if it is never to be captured again.
    """
    given = leaves if given is None else given
    args, kwargs = unflatten(given, spec)
    key = (modes, spec, [Tensor if isinstance(x, Tensor) else x for x in leaves])
    tensors = [x for x in given if isinstance(x, Tensor)]
    try:
        walk = Walk([*owner.roots, *(x for x in leaves if not isinstance(x, Tensor))])
    except TooMuch as error:
        owner.eager = Break(str(error))
        return None, owner.function(*args, **kwargs)
    entry = Entry(key, walk, walk.checker())
    entry.only_tensors = len(tensors) == len(leaves) and given is leaves
    ids = {id(t) for t in tensors}
    fixed = [t for t in walk.tensors.values() if id(t) not in ids]
    breaks: list[Break] = []
    versions = [t._version for t in (*tensors, *fixed)]
    layouts = [(t.shape, t.stride(), t.storage_offset()) for t in tensors]
    random_before = _random_states()
    streams = sys.stdout, sys.stderr
    wrapped = _Output(sys.stdout), _Output(sys.stderr)
    _C._capture_begin(tensors, fixed, lambda reason: breaks.append(Break(reason, _where())))
    _host.hosts = entry.hosts
    ended = False
    try:
        for known in (walk.hooked, walk.unknown, _unguarded_argument(leaves)):
            if known:
                _C._capture_interrupt(known)
        for t in [*tensors, *fixed]:
            if not is_own(t):
                _C._capture_interrupt(f"a tensor is of the class {type(t).__name__}")
        sys.stdout, sys.stderr = wrapped
        try:
            result = owner.function(*args, **kwargs)
        finally:
            if (sys.stdout, sys.stderr) == wrapped:
                sys.stdout, sys.stderr = streams
        if _random_states() != random_before:
            _C._capture_interrupt("the function draws random numbers of Python or NumPy")
        for t, layout in zip(tensors, layouts, strict=True):
            if (t.shape, t.stride(), t.storage_offset()) != layout:
                _C._capture_interrupt("the function changes the shape of an argument")
        for i, (t, version) in enumerate(zip((*tensors, *fixed), versions, strict=True)):
            if t._version != version:
                entry.changed.append(i if i < len(tensors) else t)
                if i < len(tensors) and t.grad_fn is not None:
                    _C._capture_interrupt("an argument that is part of a graph is changed in place")
        returned = _results(entry, result, tensors, fixed)
        if not breaks:
            returned = _differentiate(entry, returned, tensors, fixed)
        changed = _C._guards_fail(entry.guards)
        _host.hosts = None
        made = _C._capture_end(returned, owner.fuse)
        ended = True
    finally:
        _host.hosts = None
        if not ended:
            _C._capture_end(None)
    if changed >= 0:
        reason = Break(f"the function changes {walk.describe(changed)}, which a replay would not")
        owner.eager = reason
        return None, result
    if isinstance(made, str):
        entry.reason = breaks[0] if breaks else Break(made)
    else:
        entry.plan = made
        entry.actions = [action for _, action in entry.hosts]
    return entry, result


def _results(entry: Entry, result: Any, tensors: list[Tensor], fixed: list[Tensor]) -> list[Tensor]:
    """The tensors of a result that the function computed."""
    flat, entry.spec = _pytree.tree_flatten(result)
    known: dict[int, Any] = {id(t): t for t in fixed}
    known |= {id(t): Argument(i) for i, t in enumerate(tensors)}
    entry.leaves, count = [], 0
    for x in flat:
        leaf = known.get(id(x), Tensor) if isinstance(x, Tensor) else x
        entry.leaves.append(leaf)
        if leaf is Tensor:
            known[id(x)] = Again(count)
            count += 1
    computed = [x for x, leaf in zip(flat, entry.leaves, strict=True) if leaf is Tensor]
    if len(computed) == len(flat) and (entry.spec.kind is None or type(result) is tuple):
        flat_tuple = all(child.kind is None for child in entry.spec.children)
        entry.form = 0 if entry.spec.kind is None else 1 if flat_tuple else 3
    elif entry.spec.kind is None and type(result) in PLAIN:
        entry.form = 2
    for x in flat:
        if not isinstance(x, Tensor) and type(x) not in PLAIN:
            _C._capture_interrupt(f"the function returns a {type(x).__name__}")
    for x in computed:
        if type(x) is not Tensor:
            _C._capture_interrupt(f"the function returns a {type(x).__name__}")
    return computed


def _differentiate(
    entry: Entry, returned: list[Tensor], tensors: list[Tensor], fixed: list[Tensor]
) -> list[Tensor]:
    """Captures the backward pass of results that require grad; returns all results of the plan."""
    open_ = [i for i, t in enumerate(returned) if t.requires_grad and not _C._plan_used(t)]
    open_ = [i for i in open_ if returned[i].grad_fn is not None]
    if not open_:
        return returned
    if any(type(w) is int and tensors[w].requires_grad for w in entry.changed):
        _C._capture_interrupt("an argument that requires grad is changed in place")
        return returned
    _C._capture_pause(True)  # these come from outside
    given = [genesis.ones_like(returned[i].detach()).contiguous() for i in open_]
    _C._capture_pause(False)
    wanted: list[Any] = [i for i, t in enumerate(tensors) if t.requires_grad]
    wanted += [t for t in fixed if t.requires_grad]
    inputs = [w if isinstance(w, Tensor) else tensors[w] for w in wanted]
    entry.differentiable = open_
    entry.wanted = wanted
    _C._capture_backward(returned, given)
    found = genesis.autograd.grad(
        [returned[i] for i in open_], inputs, given, retain_graph=True, allow_unused=True
    )
    entry.reached = [g is not None for g in found]
    return [*returned, *(g for g in found if g is not None)]
