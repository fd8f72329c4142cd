"""Compiled functions: the first call captures, the second is checked, later ones replay."""

from __future__ import annotations

import functools
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import genesis
from genesis import _C, _pytree
from genesis._C import Tensor
from genesis._compile import host as _host
from genesis._compile.guards import TooMuch, Walk
from genesis._compile.state import State, bits, differences

MOST_PLANS = 8
MOST_DYNAMIC_PLANS = 64
_PLAIN = (int, float, bool, str, bytes, complex, type(None))
_LEAVES = (Tensor, *_PLAIN)
_OWN = ("genesis", "torch")  # modules of our classes; the second under the import shim
_lock = threading.RLock()  # one capture at a time


class GraphBreak(RuntimeError):
    """A function with ``fullgraph=True`` does something that a plan cannot repeat."""


@dataclass
class Break:
    """Why there is no plan, and the line of Python that caused it."""

    reason: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.reason} ({self.where})" if self.where else self.reason


@dataclass
class Entry:
    """A plan, and when it may be used."""

    key: Any  # structure of the arguments, numbers among them, modes
    walk: Walk
    guards: Any
    only_tensors: bool = False  # among the arguments
    symbols: tuple[int, ...] = ()  # numbers among the arguments that are passed as tensors
    plan: Any = None  # None: eager
    reason: Break | None = None
    hosts: list[tuple[Any, Callable[[], Any]]] = field(default_factory=list)
    actions: list[Callable[[], Any]] = field(default_factory=list)
    spec: Any = None
    leaves: list[Any] = field(
        default_factory=list
    )  # of the result; Tensor where the plan gives one
    wanted: list[Any] | None = None  # inputs of its backward pass: numbers of arguments, or tensors
    differentiable: list[int] = field(default_factory=list)  # numbers of results
    reached: list[bool] = field(default_factory=list)  # which of them have a gradient
    changed: list[Any] = field(default_factory=list)  # in place: numbers of arguments, or tensors
    form: int = 3  # of the result: a tensor, a tuple of tensors, a constant, or anything
    checked: bool = False

    @property
    def uses(self) -> int:
        """How often the plan was replayed."""
        return 0 if self.plan is None else _C._plan_uses(self.plan)[0]

    @property
    def last_use(self) -> int:
        """Larger for plans that were used later."""
        return 0 if self.plan is None else _C._plan_uses(self.plan)[1]

    def ready(self) -> tuple[Any, ...] | None:
        """What replays calls with plain arguments without Python; None if the plan needs it."""
        modes, spec, constants = self.key
        if self.plan is None or not self.checked or self.wanted is not None or self.symbols:
            return None
        if type(modes) is not int or type(spec) is not int:
            return None
        last = self.leaves[0] if self.form == 2 else self._build_plain
        return modes, tuple(constants), self.guards, self.plan, self.actions, self.form, last

    def _build_plain(self, computed: list[Tensor], arguments: tuple[Any, ...]) -> Any:
        return _build(self, computed, [x for x in arguments if isinstance(x, Tensor)])


class _Call:
    """One replayed call that is to be differentiated."""

    def __init__(
        self,
        owner: CompiledFunction,
        entry: Entry,
        leaves: list[Any],
        spec: Any,
        tensors: list[Tensor],
    ) -> None:
        self.owner, self.entry, self.leaves, self.spec = owner, entry, leaves, spec
        self.tensors = tensors
        self.generator = genesis.get_rng_state()
        changed = [w if isinstance(w, Tensor) else tensors[w] for w in entry.changed]
        self.before = {id(t): (t, t.detach().clone()) for t in changed}
        self.run: Any = None
        self.results: list[Tensor] = []
        self.looks: list[tuple[Any, Any]] = []

    def gradients(self, grads: tuple[Any, ...], inputs: tuple[Tensor, ...]) -> tuple[Any, ...]:
        entry = self.entry
        given = []
        for i in entry.differentiable:
            shape, dtype = self.looks[i]
            g = grads[i]
            given.append(genesis.zeros(shape, dtype=dtype) if g is None else g)
        run, self.run = self.run, None  # its memory serves one backward pass
        if run is not None and not genesis.is_grad_enabled():
            dense = [g.detach().contiguous() for g in given]
            found = _C._plan_backward(run, [*self.tensors, *dense])
            if not isinstance(found, str):
                queue = iter(found)
                assert entry.wanted is not None
                return tuple(next(queue) if wanted else None for wanted in entry.reached)
        return self._eagerly(given, inputs)

    def _eagerly(self, given: list[Tensor], inputs: tuple[Tensor, ...]) -> tuple[Any, ...]:
        """Higher derivatives: the function once more, from the state before the call."""
        create = genesis.is_grad_enabled()
        state = State(self.entry.walk.tensors.values(), ())
        genesis.set_rng_state(self.generator)
        for t in state.tensors:
            if id(t) in self.before:
                t.detach().copy_(self.before[id(t)][1])
        leaves = [self.before[id(x)][1] if id(x) in self.before else x for x in self.leaves]
        try:
            with genesis.enable_grad():
                args, kwargs = _unflatten(leaves, self.spec)
                result = self.owner.function(*args, **kwargs)
                flat = _computed(self.entry, result)
                outputs = [flat[i] for i in self.entry.differentiable]
                return genesis.autograd.grad(
                    outputs, inputs, given, create_graph=create, allow_unused=True
                )
        finally:
            state.restore()


class _Replay(genesis.autograd.Function):
    """A replayed call with its own backward pass."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *inputs: Tensor) -> Any:
        ctx.call = call
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs)
        outputs, call.results = call.results, []
        entry = call.entry
        ctx.mark_non_differentiable(
            *(t for i, t in enumerate(outputs) if i not in entry.differentiable)
        )
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ctx.call.gradients(grads, ctx.saved_tensors))


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


class CompiledFunction:
    """A function that is captured once for each kind of arguments, and then replayed."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        fullgraph: bool,
        check: bool,
        options: dict[str, Any],
        dynamic: bool = False,
        module: Any = None,
    ) -> None:
        self.function = function
        self.roots = (function, module)
        self._settings = dict(fullgraph=fullgraph, check=check, options=options, dynamic=dynamic)
        self.fullgraph = fullgraph
        self.check = check
        self.fuse = bool(options.get("fuse", True))
        self.dynamic = dynamic
        self.most_plans = int(
            options.get("max_plans", MOST_DYNAMIC_PLANS if dynamic else MOST_PLANS)
        )
        self.entries: list[Entry] = []
        self._ready: list[tuple[Any, ...]] = []  # of entries
        self.eager: Break | None = None  # why it is never captured
        self.refused: set[tuple[int, ...]] = set()  # numbers that cannot be symbols
        functools.update_wrapper(self, function, updated=())
        compiled_functions.add(self)

    def __reduce__(self) -> Any:
        """A copy, or what is read from a file, has no plans yet."""
        name = getattr(self, "__qualname__", None)
        if getattr(sys.modules.get(self.__module__), name or "", None) is self:
            return name  # a decorated function of a module
        function, module = self.roots
        return _compiled_again, (None if module is not None else function, module, self._settings)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def reset(self) -> None:
        """Drop all plans."""
        self.entries.clear()
        self.eager = None
        self._refresh()

    def _refresh(self) -> None:
        """Call it when entries have changed."""
        found = [] if self.check else [entry.ready() for entry in self.entries]
        self._ready = [ready for ready in found if ready is not None]

    @property
    def plan(self) -> Any:
        """The plans made so far, as text; ``.svg()`` and ``.html()`` draw them."""
        from genesis._compile.show import Plans

        return Plans(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._ready and not kwargs and _stance == "default":
            result = _C._plan_call(self._ready, args)
            if result is not NotImplemented:
                return result
        return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.eager is not None or _stance != "default" or _C._capturing():
            return self.function(*args, **kwargs)
        modes: Any = _C._plan_modes()
        if modes < 0:
            return self.function(*args, **kwargs)
        leaves, spec = _flatten(args, kwargs)
        if modes & 4:
            modes = (modes, genesis.get_autocast_dtype("cpu"))
        broken = False
        for entry in self.entries:
            if (
                entry.key[0] == modes
                and entry.key[1] == spec
                and _same(entry, leaves)
                and _C._guards_fail(entry.guards) < 0
            ):
                if entry.plan is None:
                    broken = True  # for these tensors, unless a plan fits them
                    continue
                used, result = self._use(entry, leaves, spec)
                if used:
                    return result
                if result != "tensors":  # a check of values failed
                    return self.function(*args, **kwargs)
        if broken:
            return self.function(*args, **kwargs)
        return self._capture(modes, leaves, spec)

    # --- replay

    def _tensors(self, entry: Entry, leaves: list[Any]) -> list[Tensor]:
        if entry.only_tensors:
            return leaves
        return [
            x if isinstance(x, Tensor) else _symbol(x)
            for i, x in enumerate(leaves)
            if isinstance(x, Tensor) or i in entry.symbols
        ]

    def _use(self, entry: Entry, leaves: list[Any], spec: Any) -> tuple[bool, Any]:
        if not entry.checked or self.check:
            return self._check(entry, leaves, spec)
        tensors = self._tensors(entry, leaves)
        if entry.wanted is None:
            found = _C._plan_run(entry.plan, tensors, entry.actions)
            if isinstance(found, str):
                return False, found
            return True, _build(entry, found, tensors)
        call = _Call(self, entry, leaves, spec, tensors)
        found = _C._plan_run(entry.plan, tensors, entry.actions)
        if isinstance(found, str):
            return False, found
        call.run = found.pop()
        call.looks = [(t.shape, t.dtype) for t in found]
        call.results = found
        outputs = _Replay.apply(
            call, *(w if isinstance(w, Tensor) else tensors[w] for w in entry.wanted)
        )
        return True, _build(entry, list(outputs), tensors)

    def _check(self, entry: Entry, leaves: list[Any], spec: Any) -> tuple[bool, Any]:
        """Run the plan and the function on the same state, and compare every bit."""
        tensors = self._tensors(entry, leaves)
        owners = [owner for owner, _ in entry.hosts]
        state = State([*entry.walk.tensors.values(), *tensors], owners)
        found = _C._plan_run(entry.plan, tensors, entry.actions, check=True)
        if isinstance(found, str):
            return False, found
        run = found.pop() if entry.wanted is not None else None
        replayed = {f"result {i}": bits(t) for i, t in enumerate(found)}
        replayed |= state.now()
        given: list[Tensor] = []
        if run is not None:
            given = [genesis.randn_like(found[i]).contiguous() for i in entry.differentiable]
            back = _C._plan_backward(run, [*tensors, *given])
            replayed |= {f"input gradient {i}": bits(g) for i, g in enumerate(back)}
        del found, run
        state.restore()
        args, kwargs = _unflatten(leaves, spec)
        result = self.function(*args, **kwargs)
        flat = _computed(entry, result)
        eager = {f"result {i}": bits(t) for i, t in enumerate(flat)}
        eager |= state.now()
        if entry.wanted is not None:
            wanted = [w if isinstance(w, Tensor) else tensors[w] for w in entry.wanted]
            back = genesis.autograd.grad(
                [flat[i] for i in entry.differentiable],
                wanted,
                given,
                retain_graph=True,
                allow_unused=True,
            )
            back = [g for g in back if g is not None]
            eager |= {f"input gradient {i}": bits(g) for i, g in enumerate(back)}
        wrong = differences(replayed, eager)
        if not wrong:
            entry.checked = True
            self._refresh()
            return True, result
        entry.plan = None
        self._refresh()
        entry.reason = Break(
            f"the replay differs from the function in {', '.join(sorted(wrong)[:4])}"
        )
        text = f"compile: {self.name()}: {entry.reason}; it runs eagerly from now on"
        if self.check or self.fullgraph:
            raise RuntimeError(text)
        warnings.warn(text, RuntimeWarning, stacklevel=4)
        return True, result

    # --- capture

    def name(self) -> str:
        """What messages call the function."""
        if self.roots[1] is not None:
            return type(self.roots[1]).__name__
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    def _capture(self, modes: Any, leaves: list[Any], spec: Any) -> Any:
        args, kwargs = _unflatten(leaves, spec)
        if os.environ.get("GENESIS_COMPILE", "1") == "0":
            return self.function(*args, **kwargs)
        if self.dynamic:
            self._make_room()
        elif len(self.entries) >= self.most_plans:
            self.eager = Break(f"it needs more than {self.most_plans} plans")
            warnings.warn(
                f"compile: {self.name()} was captured for {self.most_plans} kinds of arguments "
                "and state, and needs more; it runs eagerly from now on. Shapes, or values that it "
                "reads, change from call to call; see genesis.compiler.explain",
                RuntimeWarning,
                stacklevel=4,
            )
            return self.function(*args, **kwargs)
        with _lock:
            if _C._capturing():
                return self.function(*args, **kwargs)
            symbols = self._symbols(modes, leaves, spec)
            entry = None
            if symbols:
                entry, result = self._capture_symbols(modes, leaves, spec, symbols)
            if entry is None:
                entry, result = capture(self, modes, leaves, spec)
        if entry is not None:
            self.entries.insert(0, entry)
        reason = self.eager if entry is None else entry.reason
        if self.fullgraph and reason is not None:
            self.reset()
            raise GraphBreak(f"compile: {self.name()} cannot be captured as a whole: {reason}")
        return result

    def _make_room(self) -> None:
        """Drops the plans that were not used for the longest time."""
        self.entries.sort(key=lambda entry: entry.last_use, reverse=True)
        del self.entries[max(0, self.most_plans - 1) :]
        self._refresh()

    def _symbols(self, modes: Any, leaves: list[Any], spec: Any) -> tuple[int, ...]:
        """Numbers among the arguments that have changed since another capture."""
        for entry in self.entries:
            if entry.key[0] != modes or entry.key[1] != spec:
                continue
            found = set(entry.symbols)
            for i, (now, then) in enumerate(zip(leaves, entry.key[2], strict=True)):
                if isinstance(now, Tensor) != (then is Tensor):
                    break
                if then is Tensor or now is then or i in found:
                    continue
                if type(now) is not type(then) or type(now) not in _PLAIN:
                    break
                if not _equal(now, then):
                    if type(now) not in (int, float):
                        break
                    found.add(i)
            else:
                symbols = tuple(sorted(found))
                if found - set(entry.symbols) and symbols not in self.refused:
                    return symbols
        return ()

    def _capture_symbols(
        self, modes: Any, leaves: list[Any], spec: Any, symbols: tuple[int, ...]
    ) -> tuple[Entry | None, Any]:
        """A capture with tensors in place of numbers; no entry if that is not the same function."""
        given = [_symbol(x) if i in symbols else x for i, x in enumerate(leaves)]
        args, kwargs = _unflatten(leaves, spec)
        walk = Walk([*self.roots, *(x for x in leaves if not isinstance(x, Tensor))])
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        state = State([*walk.tensors.values(), *tensors], walk.owners)
        try:
            entry, found = capture(self, modes, leaves, spec, given)
        except Exception:
            entry = None
        after = state.now()
        state.restore()
        if entry is not None and entry.plan is not None:
            entry.symbols = symbols
            result = self.function(*args, **kwargs)
            now, then = _pytree.tree_flatten(result), _pytree.tree_flatten(found)
            equal = now[1] == then[1] and [bits(x) for x in now[0]] == [bits(x) for x in then[0]]
            if equal and not differences(after, state.now()):
                return entry, result
            state.restore()
        self.eager = None
        self.refused.add(symbols)
        return None, None


def _compiled_again(function: Any, module: Any, settings: dict[str, Any]) -> CompiledFunction:
    return CompiledFunction(
        module.__call__ if function is None else function, module=module, **settings
    )


def _flatten(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    """The leaves of arguments, and their structure; a number if they are leaves themselves."""
    if not kwargs:
        for x in args:
            if not isinstance(x, _LEAVES):
                break
        else:
            return list(args), len(args)
    return _pytree.tree_flatten((args, kwargs))


def _unflatten(leaves: list[Any], spec: Any) -> Any:
    if type(spec) is int:
        return tuple(leaves), {}
    return _pytree.tree_unflatten(leaves, spec)


_stance = "default"
compiled_functions: weakref.WeakSet[CompiledFunction] = weakref.WeakSet()


def _symbol(x: Any) -> Tensor:
    return genesis.tensor(x, dtype=genesis.float64 if type(x) is float else genesis.int64)


def _equal(now: Any, then: Any) -> bool:
    """Whether values of one type are equal; 0.0 is not -0.0, and NaN is NaN."""
    inexact = isinstance(now, (float, complex, np.inexact))
    return repr(now) == repr(then) if inexact else bool(now == then)


def _same(entry: Entry, leaves: list[Any]) -> bool:
    for i, (now, then) in enumerate(zip(leaves, entry.key[2], strict=True)):
        if then is Tensor:
            if not isinstance(now, Tensor):
                return False
        elif now is not then and not (
            type(now) is type(then)
            and (type(now) in _PLAIN or isinstance(now, np.generic))
            and (_equal(now, then) or i in entry.symbols)
        ):
            return False
    return True


def _unguarded_argument(leaves: list[Any]) -> str | None:
    for x in leaves:
        if isinstance(x, np.ndarray):
            return "an argument is a NumPy array, which may change; pass a tensor"
        if hasattr(type(x), "__next__"):
            return f"an argument is a {type(x).__name__}, whose position a replay would not move"
    return None


@dataclass(frozen=True)
class _Argument:
    """A result that is an argument itself: the number of its tensor."""

    number: int


@dataclass(frozen=True)
class _Again:
    """A result that is returned before: its number among those that are computed."""

    number: int


def _build(entry: Entry, computed: list[Tensor], arguments: list[Tensor]) -> Any:
    queue = iter(computed)
    leaves = [
        next(queue)
        if x is Tensor
        else arguments[x.number]
        if type(x) is _Argument
        else computed[x.number]
        if type(x) is _Again
        else x
        for x in entry.leaves
    ]
    return leaves[0] if entry.spec.kind is None else _pytree.tree_unflatten(leaves, entry.spec)


def _computed(entry: Entry, result: Any) -> list[Tensor]:
    """The tensors of a result that a plan gives, as opposed to arguments and fixed tensors."""
    flat = _pytree.tree_leaves(result)
    return [x for x, leaf in zip(flat, entry.leaves, strict=True) if leaf is Tensor]


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
    args, kwargs = _unflatten(given, spec)
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
            if type(t) is not Tensor and type(t).__module__.partition(".")[0] not in _OWN:
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
    known |= {id(t): _Argument(i) for i, t in enumerate(tensors)}
    entry.leaves, count = [], 0
    for x in flat:
        leaf = known.get(id(x), Tensor) if isinstance(x, Tensor) else x
        entry.leaves.append(leaf)
        if leaf is Tensor:
            known[id(x)] = _Again(count)
            count += 1
    computed = [x for x, leaf in zip(flat, entry.leaves, strict=True) if leaf is Tensor]
    if len(computed) == len(flat) and (entry.spec.kind is None or type(result) is tuple):
        flat_tuple = all(child.kind is None for child in entry.spec.children)
        entry.form = 0 if entry.spec.kind is None else 1 if flat_tuple else 3
    elif entry.spec.kind is None and type(result) in _PLAIN:
        entry.form = 2
    for x in flat:
        if not isinstance(x, Tensor) and type(x) not in _PLAIN:
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
