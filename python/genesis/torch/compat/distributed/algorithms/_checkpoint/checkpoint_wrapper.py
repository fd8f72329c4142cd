"""Modules whose activations are computed again in backward."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from typing import Any

from genesis._C import Tensor
from genesis.nn.modules.module import Module
from genesis.nn.parameter import Parameter
from genesis.utils.checkpoint import checkpoint

__all__ = [
    "CheckpointImpl",
    "CheckpointWrapper",
    "apply_activation_checkpointing",
    "checkpoint_wrapper",
    "offload_wrapper",
]

_CHECKPOINT_WRAPPED_MODULE = "_checkpoint_wrapped_module"
_CHECKPOINT_PREFIX = _CHECKPOINT_WRAPPED_MODULE + "."


class CheckpointImpl(enum.Enum):
    """The kind of checkpoint; Genesis has one, which may be entered again."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class CheckpointWrapper(Module):
    """A module whose forward pass is a checkpoint; names of parameters stay as they were."""

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self.checkpoint_impl = checkpoint_impl
        if checkpoint_fn is None:
            checkpoint_fn = checkpoint
            checkpoint_fn_kwargs.setdefault("use_reentrant", False)
        self.checkpoint_fn: Any = functools.partial(checkpoint_fn, **checkpoint_fn_kwargs)
        self._register_state_dict_hook(_without_prefix)
        self.register_load_state_dict_pre_hook(_with_prefix)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.checkpoint_fn(self._checkpoint_wrapped_module, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == _CHECKPOINT_WRAPPED_MODULE:
            raise AttributeError(name)
        return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: int) -> Any:
        return self._checkpoint_wrapped_module[key]  # type: ignore[index]

    def named_parameters(  # type: ignore[override]
        self, *args: Any, **kwargs: Any
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters, by the names that they had."""
        for name, p in super().named_parameters(*args, **kwargs):
            yield name.replace(_CHECKPOINT_PREFIX, ""), p


def _without_prefix(module: Any, state: dict[str, Any], prefix: str, *args: Any) -> dict[str, Any]:
    for key in list(state):
        if key.startswith(prefix + _CHECKPOINT_PREFIX):
            state[prefix + key.removeprefix(prefix + _CHECKPOINT_PREFIX)] = state.pop(key)
    return state


def _with_prefix(module: Any, state: dict[str, Tensor], prefix: str, *args: Any) -> None:
    for key in list(state):
        if key.startswith(prefix) and not key.startswith(prefix + _CHECKPOINT_PREFIX):
            state[prefix + _CHECKPOINT_PREFIX + key.removeprefix(prefix)] = state.pop(key)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:
    """The module with a checkpoint around it."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def offload_wrapper(module: Module) -> Module:
    """The module itself: activations are on the CPU already."""
    return module


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: Callable[..., bool] | None = None,
) -> None:
    """Wrap the parts of a model that ``check_fn`` or the policy selects."""

    def chosen(module: Module) -> bool:
        if auto_wrap_policy is None:
            return check_fn(module)
        return auto_wrap_policy(module=module, recurse=False, nonwrapped_numel=-1)

    for name, child in list(model.named_children()):
        apply_activation_checkpointing(child, checkpoint_wrapper_fn, check_fn, auto_wrap_policy)
        if chosen(child):
            setattr(model, name, checkpoint_wrapper_fn(child))
