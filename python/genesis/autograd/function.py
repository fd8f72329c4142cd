"""Operations written in Python: a forward and a backward."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from genesis import _C
from genesis._C import Context, Tensor
from genesis._missing import explain

__all__ = ["Context", "Function", "FunctionCtx", "once_differentiable"]

FunctionCtx = Context
_INDEX_NAMES = ("out_idx", "output_idx", "idx")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Function(_C._Function):
    """Base class of operations whose forward and backward are written in Python.

    Subclasses write ``forward(ctx, *args)`` and ``backward(ctx, *grad_outputs)`` as static methods
    and are called through ``apply``. Forward runs outside the graph; backward returns a gradient
    for each argument of forward, None where there is none. ``forward(*args)`` with
    ``setup_context(ctx, inputs, output)`` is accepted too.

    >>> class Square(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * grad_output
    >>> x = genesis.tensor([3.0], requires_grad=True)
    >>> y = Square.apply(x)
    >>> y.backward()
    >>> y.grad_fn, x.grad
    (<SquareBackward>, tensor([6.]))
    """

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the output: ``forward(ctx, *args)``, or ``forward(*args)`` with setup_context."""
        raise NotImplementedError("Function: write forward(ctx, ...) as a staticmethod")

    generate_vmap_rule = False

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """Apply to batches under ``genesis.func.vmap``; optional.

        ``info`` has ``batch_size`` and ``randomness``, ``in_dims`` the mapped dimension of each
        argument or None. Returns the outputs and their mapped dimensions. With
        ``generate_vmap_rule = True``, forward and backward are mapped over instead.
        """
        raise NotImplementedError("Function: vmap is optional and was not written")

    @staticmethod
    def setup_context(ctx: Context, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep on ``ctx`` what backward needs; written where forward does not take a ctx."""
        raise NotImplementedError("Function: setup_context is optional and was not written")

    @staticmethod
    def jvp(ctx: Context, *grad_inputs: Any) -> Any:
        """Return a tangent for each output, given one (or None) for each argument; optional.

        It is used in forward mode, must be linear in the tangents and made of differentiable
        operations; ``ctx.saved_tensors`` are those of ``ctx.save_for_forward``. A Function with
        ``jvp`` and without ``backward`` can be differentiated backward too.
        """
        raise NotImplementedError("Function: jvp is optional and was not written")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "jvp" in cls.__dict__:
            _use_jvp(cls)

    @staticmethod
    def backward(ctx: Context, *grad_outputs: Any) -> Any:
        """Return a gradient for each argument of forward, given one for each of its outputs."""
        raise NotImplementedError(
            f"{ctx.name().removesuffix('Backward')}: write backward(ctx, ...) as a staticmethod to "
            "differentiate through it"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"{type(self).__name__}: a Function is not called as an instance; "
            f"use {type(self).__name__}.apply(...)"
        )


_C._set_function_base(Function)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a backward that is not made of differentiable operations.

    Its result can be used, but differentiating it again raises instead of giving wrong gradients.

    >>> class Double(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, grad_output):
    ...         return genesis.from_numpy(2 * grad_output.numpy())
    >>> x = genesis.tensor([3.0], requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    tensor([2.])
    """

    @functools.wraps(backward)
    def once(ctx: Context, *grad_outputs: Any) -> Any:
        with _C.no_grad():
            grads = backward(ctx, *grad_outputs)
        if not _C.is_grad_enabled():
            return grads
        tracked = [g for g in grad_outputs if isinstance(g, Tensor) and g.requires_grad]
        saved = [t for t in ctx.saved_tensors if t is not None and t.requires_grad]
        if not tracked and not saved:
            return grads
        sources = tracked + saved
        single = isinstance(grads, Tensor)
        fenced = [
            _Fence.apply(g.detach(), ctx.name(), *sources) if isinstance(g, Tensor) else g
            for g in ((grads,) if single else grads)
        ]
        return fenced[0] if single else tuple(fenced)

    return once


class _Fence(Function):
    """The result of a once_differentiable backward, in the graph only to refuse what follows."""

    @staticmethod
    def forward(ctx: Context, grad: Tensor, name: str, *sources: Tensor) -> Tensor:
        ctx.function = name
        return grad.clone()

    @staticmethod
    def backward(ctx: Context, *grad_outputs: Any) -> Any:
        raise RuntimeError(
            f"{ctx.function}: its backward is marked once_differentiable and cannot be "
            "differentiated again; write it in differentiable operations to do so"
        )


def _save_for_forward(self: Context, *tensors: Tensor | None) -> None:
    """Keep tensors for jvp."""
    self._for_forward = tensors


Context.save_for_forward = _save_for_forward  # type: ignore[attr-defined]


class _ForwardContext:
    """The context as jvp sees it: its saved tensors are those kept for it."""

    def __init__(self, ctx: Context) -> None:
        object.__setattr__(self, "_ctx", ctx)

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        kept: tuple[Tensor | None, ...] | None = getattr(self._ctx, "_for_forward", None)
        return self._ctx.saved_tensors if kept is None else kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._ctx, name, value)


def _use_jvp(cls: type[Function]) -> None:
    """Let ``cls`` remember the shapes of its arguments, and use its jvp in forward mode."""
    separate = cls.setup_context is not Function.setup_context
    backward, forward, setup = cls.backward, cls.forward, cls.setup_context
    written = backward is not Function.backward

    def remember(ctx: Context, args: tuple[Any, ...]) -> None:
        ctx._arguments = [
            (tuple(x.shape), x.dtype)
            if isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())
            else None
            for x in args
        ]

    if separate:

        @functools.wraps(setup)
        def setup_context(ctx: Context, inputs: tuple[Any, ...], output: Any) -> None:
            remember(ctx, inputs)
            setup(ctx, inputs, output)

        cls.setup_context = staticmethod(setup_context)  # type: ignore[method-assign]
    else:

        @functools.wraps(forward)
        def remembering(ctx: Context, *args: Any, **kwargs: Any) -> Any:
            remember(ctx, (*args, *kwargs.values()))
            return forward(ctx, *args, **kwargs)

        cls.forward = staticmethod(remembering)  # type: ignore[method-assign]

    @functools.wraps(backward)
    def either(ctx: Context, *grad_outputs: Any) -> Any:
        from genesis.func._forward import is_recording_jvp

        if written and not is_recording_jvp():
            return backward(ctx, *grad_outputs)
        return _transposed(cls, ctx, grad_outputs)

    cls.backward = staticmethod(either)  # type: ignore[method-assign]


def _transposed(cls: type[Function], ctx: Context, grad_outputs: tuple[Any, ...]) -> Any:
    """The vector-Jacobian product from jvp, which is linear: its own gradient."""
    from genesis.autograd import grad

    create_graph = _C.is_grad_enabled()
    with _C.enable_grad():
        tangents = [
            None if a is None else _C.zeros(a[0], dtype=a[1], requires_grad=True)
            for a in ctx._arguments
        ]
        made = cls.jvp(_ForwardContext(ctx), *tangents)  # type: ignore[arg-type]
    images = made if isinstance(made, tuple) else (made,)
    pairs = [
        (y, g)
        for y, g in zip(images, grad_outputs, strict=True)
        if isinstance(y, Tensor) and y.requires_grad and g is not None
    ]
    wanted = [t for t in tangents if t is not None]
    if not pairs or not wanted:
        return tuple(None for _ in tangents)
    found = iter(
        grad(
            [y for y, _ in pairs],
            wanted,
            [g for _, g in pairs],
            create_graph=create_graph,
            allow_unused=True,
        )
    )
    return tuple(None if t is None else next(found) for t in tangents)


def _takes_output_index(backward: Callable[..., Any]) -> bool:
    """Whether backward is to be called once for each output, as backward(ctx, grad, out_idx)."""
    try:
        parameters = list(inspect.signature(backward).parameters.values())
    except (TypeError, ValueError):  # a callable without a signature
        return False
    third = parameters[2] if len(parameters) == 3 else None
    return third is not None and third.kind in _POSITIONAL and third.name in _INDEX_NAMES


def _num_positional(forward: Callable[..., Any]) -> int:
    """How many positional parameters forward has."""
    return sum(p.kind in _POSITIONAL for p in inspect.signature(forward).parameters.values())


def _bind(
    cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any], defaults: bool
) -> tuple[tuple[Any, ...], int, tuple[str, ...]]:
    """Keyword arguments in the places of forward's parameters, so that they get gradients.

    Returns all values, how many are positional, and the names of the others. With ``defaults``,
    arguments that were not given are filled in (setup_context sees them).
    """
    context = () if defaults else (None,)  # what stands for ctx, which is not given yet
    bound = inspect.signature(cls.forward).bind(*context, *args, **kwargs)
    bound.apply_defaults()
    values = bound.args[len(context) :]
    if not defaults:  # no further than the last one given
        names = list(bound.signature.parameters)[len(context) :]
        given = [i for i, name in enumerate(names[: len(values)]) if name in kwargs]
        values = values[: max([len(args), *(i + 1 for i in given)])]
    rest = {name: value for name, value in bound.kwargs.items() if name in kwargs or defaults}
    for name, value in rest.items():
        for tensor in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(tensor, Tensor) and tensor.requires_grad and _C.is_grad_enabled():
                raise TypeError(
                    f"{cls.__name__}: argument {name!r} of forward is keyword-only, so backward "
                    "cannot return a gradient for it; make it positional, or pass it detached"
                )
    return (*values, *rest.values()), len(values), tuple(rest)


explain(globals())
