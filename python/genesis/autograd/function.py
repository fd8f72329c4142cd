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
