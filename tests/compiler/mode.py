"""Runs the calls of modules compiled, with a check of each: ``GENESIS_TEST_COMPILED=1 pytest tests/nn``.

The outermost call of a module is captured, then replayed from the same state next to eager
execution, and every bit is compared: results, gradients of inputs and parameters, buffers.
"""

from __future__ import annotations

import weakref
from typing import Any

import genesis
from genesis import _C
from genesis._compile.compiled import CompiledFunction
from genesis._compile.guards import Walk
from genesis._compile.state import State

counts = {"checked": 0, "eager": 0}

# Tests of how a call of a module is made: frames, recursion, and when objects die.
SKIPPED = frozenset(
    {
        "test_a_call_is_one_frame_above_forward",
        "test_deep_nests_of_modules_raise_and_do_not_crash",
        "test_a_module_dies_with_its_last_reference",
        "test_a_graph_with_backward_hooks_dies_with_its_result",
        "test_hooks_of_a_module_that_close_over_it_do_not_leak",
    }
)


def install() -> None:
    """From now on."""
    eager = genesis.nn.Module.__call__
    known: weakref.WeakKeyDictionary[Any, CompiledFunction] = weakref.WeakKeyDictionary()
    inside = False

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal inside
        if inside or _C._capturing() or _C._plan_modes() < 0:
            return eager(self, *args, **kwargs)
        inside = True
        try:
            leaves = [x for x in [*args, *kwargs.values()] if isinstance(x, genesis.Tensor)]
            tensors = list(Walk([self]).tensors.values())
            if any(t.grad_fn is not None for t in tensors):  # a parametrisation, say
                return eager(self, *args, **kwargs)
            function = known.get(self)
            if function is None:
                here = weakref.ref(self)
                function = CompiledFunction(
                    lambda *a, **k: eager(here(), *a, **k),
                    fullgraph=False,
                    check=True,
                    options={"max_plans": 1000},
                    module=self,
                )
                known[self] = function
            state = State([*tensors, *leaves], ())
            result = function(*args, **kwargs)
            if not function.entries or function.entries[0].plan is None:
                counts["eager"] += 1
                return result
            state.restore()
            counts["checked"] += 1
            return function(*args, **kwargs)
        finally:
            inside = False

    genesis.nn.Module.__call__ = call  # type: ignore[method-assign]
