"""Gradients: modes, grad, backward, checks."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from genesis import _C
from genesis._C import (
    Context,
    Node,
    OutsideGraphWarning,
    RemovableHandle,
    Tensor,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from genesis._missing import MissingName

if TYPE_CHECKING:
    from genesis.autograd import forward_ad as forward_ad
    from genesis.autograd import function as function
    from genesis.autograd import functional as functional
    from genesis.autograd import graph as graph
    from genesis.autograd import tape as tape
    from genesis.autograd._anomaly import (
        NonFiniteError,
        check_finite,
        detect_anomaly,
        is_anomaly_check_nan_enabled,
        is_anomaly_enabled,
        set_detect_anomaly,
    )
    from genesis.autograd._checkpoint import (
        CheckpointError,
        checkpoint,
        checkpoint_sequential,
        register_ambient_state,
    )
    from genesis.autograd._gradcheck import GradcheckError, gradcheck, gradgradcheck
    from genesis.autograd.function import Function
    from genesis.autograd.tape import Gradients, Tape, accumulate_gradients
    from genesis.autograd.variable import Variable

__all__ = [
    "CheckpointError",
    "Context",
    "Function",
    "GradcheckError",
    "Gradients",
    "Node",
    "NonFiniteError",
    "OutsideGraphWarning",
    "RemovableHandle",
    "Tape",
    "Variable",
    "accumulate_gradients",
    "backward",
    "check_finite",
    "checkpoint",
    "checkpoint_sequential",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "register_ambient_state",
    "set_detect_anomaly",
    "set_grad_enabled",
    "tape",
]

_Tensors = Tensor | Sequence[Tensor]
_Grads = Tensor | Sequence[Tensor | None] | None


def backward(
    tensors: _Tensors,
    grad_tensors: _Grads = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: _Grads = None,
    inputs: _Tensors | None = None,
) -> None:
    """Add the gradients of ``sum(t * g)`` over tensors and grad_tensors to the ``grad`` of leaves.

    A ``g`` of None means 1 and requires a tensor of one element. With ``inputs``, only those
    leaves receive a gradient. ``retain_graph`` is ``create_graph`` unless given. ``grad_variables``
    is an old name of ``grad_tensors``.

    >>> x = genesis.tensor([1.0, 2.0], requires_grad=True)
    >>> backward([(x * x).sum(), x], [None, genesis.tensor([10.0, 10.0])])
    >>> x.grad
    tensor([12., 14.])
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise ValueError(
                "backward: grad_variables is an old name of grad_tensors; give only grad_tensors"
            )
        grad_tensors = grad_variables
    _C._backward(tensors, grad_tensors, retain_graph, create_graph, inputs)


def grad(
    outputs: _Tensors,
    inputs: _Tensors,
    grad_outputs: _Grads = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """The gradients of ``sum(o * g)`` over outputs and grad_outputs with respect to ``inputs``.

    Nothing is added to ``grad`` attributes. An input that the outputs do not depend on is an error;
    with ``allow_unused`` its gradient is None, with ``materialize_grads`` zeros. With
    ``is_grads_batched``, the first dimension of each of ``grad_outputs`` is a batch of them, and so
    is the first dimension of the results. ``only_inputs`` must be True, as in PyTorch.

    >>> x = genesis.tensor(3.0, requires_grad=True)
    >>> (g,) = grad(x**2, x, create_graph=True)
    >>> grad(g, x)
    (tensor(2.),)
    """
    if isinstance(only_inputs, Tensor) or isinstance(is_grads_batched, Tensor):
        raise TypeError("grad: only_inputs and is_grads_batched must be bools, got a Tensor")
    if not only_inputs:
        raise ValueError("grad: only_inputs=False is not supported; call backward() instead")
    rows = _batch_size(grad_outputs) if is_grads_batched else 0
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "grad: materialize_grads=True makes zeros of what allow_unused=False refuses"
        )
    if isinstance(allow_unused, _C.Tensor):
        raise TypeError("grad: allow_unused must be a bool or None, got Tensor")
    unused = bool(allow_unused) or materialize_grads
    grads = _grad(outputs, inputs, grad_outputs, retain_graph, create_graph, unused, rows)
    if materialize_grads:
        grads = tuple(
            (_C.zeros(rows, *x.shape, dtype=x.dtype) if rows else _C.zeros_like(x))
            if g is None
            else g
            for g, x in zip(grads, _listed(inputs), strict=True)
        )
    return grads


def _grad(
    outputs: Any,
    inputs: Any,
    seeds: Any,
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool,
    rows: int = 0,
) -> tuple[Any, ...]:
    """``_C._grad``, also of tensors that vmap maps over."""
    if "genesis.func._batching" in sys.modules:
        outputs, inputs = _listed(outputs), _listed(inputs)
        seeds = None if seeds is None else _listed(seeds)
        if any([_C._is_batched(x) for x in (*outputs, *inputs, *(seeds or ()))]):
            from genesis.func import _grad

            return _grad.grad(
                outputs, inputs, seeds, retain_graph, create_graph, allow_unused, rows
            )
    return _C._grad(outputs, inputs, seeds, retain_graph, create_graph, allow_unused, rows)


def _listed(tensors: Any) -> Any:
    if isinstance(tensors, Tensor):
        return [tensors]
    return tensors if isinstance(tensors, (list, tuple)) else list(tensors)


def _batch_size(grad_outputs: _Grads) -> int:
    """How many gradients each of ``grad_outputs`` holds."""
    if not isinstance(grad_outputs, (Tensor, list, tuple, type(None))):
        raise TypeError(
            "grad: grad_outputs must be a tensor, a sequence of tensors or None, got "
            f"{type(grad_outputs).__name__}"
        )
    batches = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs or ())
    for g in batches:
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"grad: grad_outputs must be tensors or None, got {type(g).__name__}")
    sizes = {g.shape[0] if g.ndim else 0 for g in batches if g is not None}
    if len(sizes) != 1 or sizes == {0}:
        raise ValueError(
            "grad: with is_grads_batched=True, grad_outputs must be tensors whose first dimension "
            f"is the batch, the same for all; got {[g if g is None else g.shape for g in batches]}"
        )
    (size,) = sizes
    return int(size)


# Imported when first used; NumPy is needed for checks only.
_SUBMODULES = ("forward_ad", "function", "functional", "graph", "tape")
_HOME = {
    "CheckpointError": "_checkpoint",
    "Function": "function",
    "GradcheckError": "_gradcheck",
    "Gradients": "tape",
    "NonFiniteError": "_anomaly",
    "Tape": "tape",
    "Variable": "variable",
    "accumulate_gradients": "tape",
    "check_finite": "_anomaly",
    "checkpoint": "_checkpoint",
    "checkpoint_sequential": "_checkpoint",
    "detect_anomaly": "_anomaly",
    "gradcheck": "_gradcheck",
    "gradgradcheck": "_gradcheck",
    "is_anomaly_check_nan_enabled": "_anomaly",
    "is_anomaly_enabled": "_anomaly",
    "register_ambient_state": "_checkpoint",
    "set_detect_anomaly": "_anomaly",
}


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"genesis.autograd.{name}")
    if name in _HOME:
        value = getattr(importlib.import_module(f"genesis.autograd.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise MissingName(__name__, name)
