"""Functions called around forward and backward of a module, or of every module."""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from genesis import _C
from genesis.nn.modules._backward_hooks import BackwardHooks

if TYPE_CHECKING:
    from typing_extensions import Self

    from genesis.nn.modules.module import Module

Hook = Callable[..., Any]
Hooks = OrderedDict[int, Hook]


class RemovableHandle:
    """What ``register_*`` returns. ``remove()`` takes the hook off; so does the end of ``with``.

    >>> layer = genesis.nn.Identity()
    >>> with layer.register_forward_hook(lambda module, args, y: y + 1):
    ...     layer(genesis.zeros(1))
    tensor([1.])
    >>> layer(genesis.zeros(1))
    tensor([0.])
    """

    _ids = itertools.count()

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.id = next(RemovableHandle._ids)
        # Weak, so that a handle keeps no module alive.
        also = extra_dict if isinstance(extra_dict, (list, tuple)) else [extra_dict]
        places = (hooks_dict, *(place for place in also if place is not None))
        self._places = [weakref.ref(place) for place in places]

    def remove(self) -> None:
        """Take the hook off; a second call does nothing."""
        for place in self._places:
            hooks = place()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __getstate__(self) -> int:
        return self.id

    def __setstate__(self, state: int) -> None:
        self.id, self._places = state, []


class _Everywhere:
    """Hooks of every module. ``active`` says whether there are any, for the fast path."""

    def __init__(self) -> None:
        self._active = False
        self.scope: Callable[[Module], AbstractContextManager[None]] | None = None  # of an observer
        self.forward_pre: Hooks = OrderedDict()
        self.forward: Hooks = OrderedDict()
        self.forward_always: Hooks = OrderedDict()
        self.backward_pre: Hooks = OrderedDict()
        self.backward: Hooks = OrderedDict()
        self.parameter: Hooks = OrderedDict()
        self.buffer: Hooks = OrderedDict()
        self.module: Hooks = OrderedDict()

    @property
    def active(self) -> bool:
        return self._active

    @active.setter
    def active(self, on: bool) -> None:
        self._active = on
        _C._observe_modules(on)

    def any(self) -> bool:
        """Whether a hook of any kind is registered."""
        return any(hooks for hooks in vars(self).values() if isinstance(hooks, OrderedDict))


everywhere = _Everywhere()


class _EverywhereHandle(RemovableHandle):
    def remove(self) -> None:
        super().remove()
        everywhere.active = everywhere.scope is not None or everywhere.any()


def _register_everywhere(hooks: Hooks, hook: Hook, *also: Hooks) -> RemovableHandle:
    handle = _EverywhereHandle(hooks, *also)
    for place in (hooks, *also):
        place[handle.id] = hook
    everywhere.active = True
    return handle


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward of every module.

    >>> seen = []
    >>> with register_module_forward_pre_hook(lambda module, args: seen.append(type(module))):
    ...     _ = genesis.nn.Identity()(genesis.ones(1))
    >>> seen[0].__name__
    'Identity'
    """
    return _register_everywhere(everywhere.forward_pre, hook)


def register_module_forward_hook(hook: Hook, *, always_call: bool = False) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the forward of every module.

    With ``always_call``, also after one that raised.

    >>> with register_module_forward_hook(lambda module, args, y: y * 2):
    ...     genesis.nn.Identity()(genesis.ones(1))
    tensor([2.])
    """
    also = (everywhere.forward_always,) if always_call else ()
    return _register_everywhere(everywhere.forward, hook, *also)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward of every module.

    >>> x = genesis.ones(1, requires_grad=True)
    >>> with register_module_full_backward_pre_hook(lambda module, dy: (dy[0] * 3,)):
    ...     genesis.nn.Identity()(x).backward()
    >>> x.grad
    tensor([3.])
    """
    return _register_everywhere(everywhere.backward_pre, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` after the backward of every module.

    >>> x = genesis.ones(1, requires_grad=True)
    >>> with register_module_full_backward_hook(lambda module, dx, dy: (dx[0] * 3,)):
    ...     genesis.nn.Identity()(x).backward()
    >>> x.grad
    tensor([3.])
    """
    return _register_everywhere(everywhere.backward, hook)


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when a module gets a parameter.

    What it returns, unless None, is registered in its place.

    >>> names = []
    >>> with register_module_parameter_registration_hook(lambda m, name, p: names.append(name)):
    ...     _ = genesis.nn.Linear(2, 3)
    >>> names
    ['weight', 'bias']
    """
    return _register_everywhere(everywhere.parameter, hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when a module gets a buffer.

    What it returns, unless None, is registered in its place.

    >>> names = []
    >>> with register_module_buffer_registration_hook(lambda module, name, b: names.append(name)):
    ...     genesis.nn.Identity().register_buffer("scale", genesis.ones(1))
    >>> names
    ['scale']
    """
    return _register_everywhere(everywhere.buffer, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call ``hook(module, name, submodule)`` when a module gets a submodule.

    What it returns, unless None, is registered in its place.

    >>> names = []
    >>> with register_module_module_registration_hook(lambda module, name, m: names.append(name)):
    ...     _ = genesis.nn.Sequential(genesis.nn.Identity())
    >>> names
    ['0']
    """
    return _register_everywhere(everywhere.module, hook)


def registered(hooks: Hooks, module: Module, name: str, value: Any) -> Any:
    """``value``, or what a hook on registration puts in its place."""
    for hook in hooks.values():
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value


def _before_forward(
    module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    with_kwargs = module._forward_pre_hooks_with_kwargs
    for number, hook in [*everywhere.forward_pre.items(), *module._forward_pre_hooks.items()]:
        if number in with_kwargs:
            result = hook(module, args, kwargs)
            if result is None:
                continue
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(
                    f"forward pre-hook of {type(module).__name__}, registered with_kwargs: must "
                    f"return None or a tuple (args, kwargs), got {result!r}"
                )
            args, kwargs = result
        else:
            result = hook(module, args)
            if result is not None:
                args = result if isinstance(result, tuple) else (result,)
    return args, kwargs


def call_with_hooks(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``module.forward`` with all hooks, those of every module before the module's own."""
    if everywhere.scope is None:
        return _call_with_hooks(module, args, kwargs)
    with everywhere.scope(module):
        return _call_with_hooks(module, args, kwargs)


def _call_with_hooks(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    after = {**everywhere.forward, **module._forward_hooks}
    always = {**everywhere.forward_always, **module._forward_hooks_always_called}
    with_kwargs = module._forward_hooks_with_kwargs
    backward = [*everywhere.backward.values(), *module._backward_hooks.values()]
    backward_pre = [*everywhere.backward_pre.values(), *module._backward_pre_hooks.values()]
    if not (
        after or backward or backward_pre or everywhere.forward_pre or module._forward_pre_hooks
    ):
        module.__dict__["_hooked"] = False  # all were removed: calls are quick again
        return module.forward(*args, **kwargs)
    result: Any = None

    def run(number: int, hook: Hook) -> None:
        nonlocal result
        if number in with_kwargs:
            replacement = hook(module, args, kwargs, result)
        else:
            replacement = hook(module, args, result)
        if replacement is not None:
            result = replacement

    try:
        args, kwargs = _before_forward(module, args, kwargs)
        gates = BackwardHooks(module, backward, backward_pre) if backward or backward_pre else None
        if gates:
            args = gates.enter(args)
        result = module.forward(*args, **kwargs)
        for number, hook in after.items():
            always.pop(number, None)
            run(number, hook)
        if gates:
            result = gates.leave(result)
    except Exception:
        for number, hook in always.items():
            try:
                run(number, hook)
            except Exception as error:
                warnings.warn(
                    f"forward hook of {type(module).__name__}, registered with always_call: raised "
                    f"{type(error).__name__}: {error}, while another exception was on its way",
                    stacklevel=2,
                )
        raise
    return result
