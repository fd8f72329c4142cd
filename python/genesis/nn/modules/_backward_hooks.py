"""Backward hooks of one call of a module.

Its inputs go through one node of the graph and its outputs through another
(``genesis._C._shared_node``), so that a hook sees the gradients of all of them at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from genesis import _C
from genesis._C import Tensor

if TYPE_CHECKING:
    from genesis.nn.modules.module import Module

_Grads = tuple[Tensor | None, ...]


def _pass_gate(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int], Any]:
    """The values, where among them tensors of the graph are, and the node that these passed."""
    if not _C.is_grad_enabled():
        return values, [], None
    at = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
    if not at:
        return values, at, None
    passed = list(values)
    for i, tensor in zip(at, _C._shared_node([values[i] for i in at]), strict=True):
        passed[i] = tensor
    return tuple(passed), at, passed[at[0]].grad_fn


def _spread(grads: _Grads, at: list[int], size: int) -> _Grads:
    """A gradient for each value, None for values outside the graph."""
    spread: list[Tensor | None] = [None] * size
    for i, grad in zip(at, grads, strict=True):
        spread[i] = grad
    return tuple(spread)


def _has_gradient(value: Any) -> bool:
    """Whether a tensor of the graph is anywhere in nested dicts, lists and tuples."""
    if isinstance(value, Tensor):
        return value.requires_grad
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return False
    return any(map(_has_gradient, value))


class BackwardHooks:
    """Calls hooks before and after the backward of one call of a module."""

    def __init__(
        self,
        module: Module,
        hooks: Sequence[Callable[..., Any]],
        pre_hooks: Sequence[Callable[..., Any]],
    ) -> None:
        self._module, self._hooks, self._pre_hooks = module, hooks, pre_hooks
        self._grad_outputs: _Grads | None = None

    # A hook of a node must not hold its tensors, nor the node: they would keep each other alive.

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, on their way into the module."""
        args, at, node = _pass_gate(args)
        self._num_inputs = size = len(args)
        self._inputs_tracked = bool(at)
        if at:
            node.register_hook(lambda grads, _: self._after(at, _spread(grads, at, size)))
        return args

    def leave(self, result: Any) -> Any:
        """The result, on its way out."""
        values = result if isinstance(result, tuple) else (result,)
        values, at, node = _pass_gate(values)
        if not at:
            if _C.is_grad_enabled() and _has_gradient(result):
                warnings.warn(
                    f"backward hooks of {type(self._module).__name__} will not be called: its "
                    f"output is a {type(result).__name__}, and not a tensor or a tuple of tensors",
                    stacklevel=4,
                )
            return result
        size = len(values)
        node.register_prehook(lambda grads: self._before(at, _spread(grads, at, size)))
        if not isinstance(result, tuple):
            return values[0]
        return type(result)(*values) if hasattr(result, "_fields") else values

    def _replaced(self, kind: str, grads: _Grads, result: Any) -> _Grads:
        replaced: _Grads = result if isinstance(result, tuple) else (result,)
        if len(replaced) != len(grads):
            raise RuntimeError(
                f"{kind} of {type(self._module).__name__}: must return None or {len(grads)} "
                f"gradients, got {len(replaced)}"
            )
        return replaced

    def _before(self, at: list[int], grads: _Grads) -> _Grads:
        for hook in self._pre_hooks:
            result = hook(self._module, grads)
            if result is not None:
                grads = self._replaced("full backward pre-hook", grads, result)
        self._grad_outputs = grads
        if not self._inputs_tracked:
            nothing: _Grads = (None,) * self._num_inputs
            for hook in self._hooks:
                result = hook(self._module, nothing, grads)
                if result is not None and any(
                    g is not None for g in self._replaced("full backward hook", nothing, result)
                ):
                    raise RuntimeError(
                        f"full backward hook of {type(self._module).__name__}: returned a gradient "
                        "of an input, but no input requires grad; return None"
                    )
            self._grad_outputs = None
        return tuple(grads[i] for i in at)

    def _after(self, at: list[int], grads: _Grads) -> _Grads | None:
        if self._grad_outputs is None:  # a second pass from elsewhere: the output is not in it
            return None
        for hook in self._hooks:
            result = hook(self._module, grads, self._grad_outputs)
            if result is not None:
                grads = self._replaced("full backward hook", grads, result)
        self._grad_outputs = None
        return tuple(grads[i] for i in at)
