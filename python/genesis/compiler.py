"""Compiled functions: a call is captured as a list of kernel calls, which later calls replay.

>>> @genesis.compile
... def step(x):
...     return (x * 2 + 1).tanh().sum()
>>> x = genesis.ones(3)
>>> step(x) == step(x) == step(x)
tensor(True)
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from genesis import _C, _missing

if TYPE_CHECKING:
    from genesis._compile.compiled import CompiledFunction as CompiledFunction
    from genesis._compile.show import Explanation as Explanation

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "explain",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
]

T = TypeVar("T")

# PyTorch's. Each requests a property that every plan has: low overhead, or the fastest choice.
_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
_BACKENDS = ("tiles", "inductor", "aot_eager", "eager")
_OPTIONS = ("fuse", "max_plans")
# Options of PyTorch's Inductor that tune the code it generates, and change no result.
_HINTS = (
    "coordinate_descent_tuning",
    "epilogue_fusion",
    "fallback_random",
    "freezing",
    "max_autotune",
    "max_autotune_gemm",
    "max_autotune_pointwise",
    "shape_padding",
    "triton.cudagraphs",
)


def _checked_options(options: Any) -> dict[str, Any]:
    """The options that mean something here; raises for those that are not known."""
    if options is None:
        return {}
    if not isinstance(options, dict):
        raise TypeError(f"compile: options must be a dict, got {type(options).__name__}")
    hints = [name for name in options if name in _HINTS]
    own = {name: value for name, value in options.items() if name not in hints}
    for name in own:
        if name not in _OPTIONS:
            raise ValueError(
                f"compile: there is no option {name!r}; options are {_OPTIONS}, and those of "
                f"PyTorch's Inductor that are accepted and have no effect, {_HINTS}"
            )
    if not isinstance(own.get("fuse", True), bool):
        raise TypeError(f"compile: option 'fuse' must be True or False, got {own['fuse']!r}")
    most = own.get("max_plans", 1)
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise ValueError(f"compile: option 'max_plans' must be at least 1, got {most!r}")
    if hints:
        warnings.warn(
            f"compile: {', '.join(hints)} tune the code that PyTorch's Inductor generates, and "
            "have no effect: plans call kernels that exist",
            stacklevel=3,
        )
    return own


def compile(
    fn: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "tiles",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    check: bool = False,
    model: Any = None,
) -> Any:
    """A function that is captured in its first call and replayed in later ones; also a decorator.

    ``fn`` (PyTorch: ``model``) is a function, for example an entire training step, or a module. A
    call runs as usual while the kernels that it calls are recorded; the next call with such
    arguments checks the recording against the function, bit by bit; from then on the recording is
    replayed, without Python, with pointwise operations fused. What cannot be repeated (reading
    values, printing, hooks) is a graph break: the function then runs eagerly, or raises with
    ``fullgraph=True``.

    ``backend`` is ``"tiles"``, or a name of PyTorch: ``"inductor"`` means the same, ``"aot_eager"``
    captures and replays without fusion, ``"eager"`` returns the function itself. ``mode`` takes
    PyTorch's names, which all give the same plan: it has no overhead to reduce and nothing to tune.

    ``options`` are ``fuse`` (True) and ``max_plans`` (8); options that tune PyTorch's Inductor,
    such as ``max_autotune`` and ``triton.cudagraphs``, are accepted with a warning that they have
    no effect, and any other raises. With ``dynamic=True`` shapes are expected
    to change: ``max_plans`` is 64, and the plan that was not used for the longest time makes room
    for a new one. ``check=True`` compares every replay with the function. ``disable=True`` returns
    the function itself.

    >>> f = genesis.compile(lambda x: x.exp().sum())
    >>> [f(genesis.zeros(2)).item() for _ in range(3)]
    [2.0, 2.0, 2.0]
    """
    if model is not None:
        if fn is not None:
            raise TypeError("compile: fn and model are the same parameter; pass one of them")
        fn = model
    own = _checked_options(options)
    if fn is None:
        given = dict(fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=own)
        return lambda function: compile(function, **given, disable=disable, check=check)
    if not callable(fn):
        raise TypeError(f"compile: expected a function or a module, got {type(fn).__name__}")
    if dynamic not in (None, True, False):
        raise ValueError(f"compile: dynamic must be None, True or False, got {dynamic!r}")
    if mode is not None and mode not in _MODES:
        raise ValueError(f"compile: mode must be None or one of {_MODES}, got {mode!r}")
    if callable(backend):
        raise TypeError(
            "compile: backend must be a name; functions that take a graph of torch.fx cannot be "
            f"backends, since functions are captured as kernel calls: one of {_BACKENDS}"
        )
    if backend not in _BACKENDS:
        raise ValueError(f"compile: backend must be one of {_BACKENDS}, got {backend!r}")
    if disable or backend == "eager":
        return fn
    from genesis._compile.compiled import CompiledFunction
    from genesis.nn import Module

    if backend == "aot_eager":
        own = {"fuse": False} | own
    settings: dict[str, Any] = dict(
        fullgraph=fullgraph, check=check, dynamic=bool(dynamic), options=own
    )
    if isinstance(fn, Module):
        from genesis._compile.module import OptimizedModule

        return OptimizedModule(fn, CompiledFunction(fn.__call__, **settings, module=fn))
    if isinstance(fn, CompiledFunction):
        fn = fn.function
    return CompiledFunction(fn, **settings)


def explain(fn: Any, *args: Any, **kwargs: Any) -> Explanation:
    """Call a function once under capture; report what was captured, and why it was interrupted.

    >>> print(genesis.compiler.explain(lambda x: x.exp().item(), genesis.ones(())).breaks[0].reason)
    the value of a tensor is read
    """
    from genesis._compile.show import explain as explained

    return explained(fn, args, kwargs)


def disable(fn: Any = None, recursive: bool = True, **kwargs: Any) -> Any:
    """``fn`` itself: it interrupts a capture; also a decorator with options."""
    if fn is None:
        return disable
    import functools

    function = getattr(fn, "function", fn)

    @functools.wraps(function)
    def uncompiled(*args: Any, **given: Any) -> Any:
        _C._capture_interrupt("a function that must not be compiled is called")
        return function(*args, **given)

    return uncompiled


def allow_in_graph(fn: T) -> T:
    """``fn`` itself."""
    return fn


assume_constant_result = wrap_numpy = nested_compile_region = allow_in_graph


def substitute_in_graph(original_fn: Any, **kwargs: Any) -> Callable[[T], T]:
    """A decorator that changes nothing."""
    return allow_in_graph


def is_compiling() -> bool:
    """Whether a function is being captured."""
    return _C._capturing()


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """Whether this code is exported: never."""
    return False


def reset() -> None:
    """Drop the plans of all compiled functions."""
    from genesis._compile.compiled import compiled_functions

    for function in list(compiled_functions):
        function.reset()


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no CUDA graphs."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Names that ``compile(backend=)`` takes."""
    return sorted(_BACKENDS)


@contextlib.contextmanager
def set_stance(stance: str = "default", **kwargs: Any) -> Iterator[None]:
    """A block in which compiled functions run eagerly, with "force_eager"."""
    from genesis._compile import compiled as _compiled

    if stance not in ("default", "force_eager") or kwargs:
        raise ValueError(
            "set_stance: must be 'default' or 'force_eager', without options, got "
            f"{stance!r} {kwargs or ''}"
        )
    before, _compiled._stance = _compiled._stance, stance
    try:
        yield
    finally:
        _compiled._stance = before


_missing.explain(globals())
