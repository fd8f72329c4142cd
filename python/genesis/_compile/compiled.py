"""Compiled functions: the first call captures, the second is checked, later ones replay."""

from __future__ import annotations

import functools
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import genesis
from genesis import _C, _pytree
from genesis._C import Tensor
from genesis._compile.capture import capture
from genesis._compile.entry import (
    PLAIN,
    Break,
    Entry,
    build,
    computed_of,
    equal,
    flatten,
    is_own,
    same,
    symbol,
    unflatten,
)
from genesis._compile.guards import Walk
from genesis._compile.state import State, bits, differences

MOST_PLANS = 8
MOST_DYNAMIC_PLANS = 64
_lock = threading.RLock()  # one capture at a time


class GraphBreak(RuntimeError):
    """A function with ``fullgraph=True`` does something that a plan cannot repeat."""


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
                args, kwargs = unflatten(leaves, self.spec)
                result = self.owner.function(*args, **kwargs)
                flat = computed_of(self.entry, result)
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
        leaves, spec = flatten(args, kwargs)
        if modes & 4:
            modes = (modes, genesis.get_autocast_dtype("cpu"))
        broken = not all(is_own(x) for x in leaves if isinstance(x, Tensor))
        if broken and not self.entries:
            return self._capture(modes, leaves, spec)  # for the reason
        for entry in () if broken else self.entries:
            if (
                entry.key[0] == modes
                and entry.key[1] == spec
                and same(entry, leaves)
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
        if broken and not self.fullgraph:
            return self.function(*args, **kwargs)
        return self._capture(modes, leaves, spec)

    # --- replay

    def _tensors(self, entry: Entry, leaves: list[Any]) -> list[Tensor]:
        if entry.only_tensors:
            return leaves
        return [
            x if isinstance(x, Tensor) else symbol(x)
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
            return True, build(entry, found, tensors)
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
        return True, build(entry, list(outputs), tensors)

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
        args, kwargs = unflatten(leaves, spec)
        result = self.function(*args, **kwargs)
        flat = computed_of(entry, result)
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
        args, kwargs = unflatten(leaves, spec)
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
                if type(now) is not type(then) or type(now) not in PLAIN:
                    break
                if not equal(now, then):
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
        given = [symbol(x) if i in symbols else x for i, x in enumerate(leaves)]
        args, kwargs = unflatten(leaves, spec)
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


_stance = "default"
compiled_functions: weakref.WeakSet[CompiledFunction] = weakref.WeakSet()
