"""The base class of everything that has parameters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from genesis import _C
from genesis._C import Tensor
from genesis.nn.modules import _hooks
from genesis.nn.modules._convert import ModuleConvert
from genesis.nn.modules._hooks import (
    Hooks,
    RemovableHandle,
    everywhere,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from genesis.nn.modules._registry import Registry
from genesis.nn.modules._state import EXTRA_STATE_KEY, ModuleState
from genesis.nn.modules._state import _IncompatibleKeys as _IncompatibleKeys
from genesis.nn.modules._tree import ModuleTree
from genesis.nn.parameter import Buffer, Parameter

if TYPE_CHECKING:
    from inspect import Signature

__all__ = [
    "Module",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

# PyTorch's names of things that are elsewhere here.
_EXTRA_STATE_KEY_SUFFIX = EXTRA_STATE_KEY

_REGISTRIES = ("_parameters", "_buffers", "_modules")


class _MadeByInit:
    """Stands in a class for an attribute that ``Module.__init__`` makes: an error if it did not."""

    def __get__(self, module: object, cls: type) -> Any:
        if module is None:
            return self
        raise AttributeError(
            f"{cls.__name__}: Module.__init__() was not called; call super().__init__() first in "
            f"{cls.__name__}.__init__()"
        )


class _ForwardSignature:
    """``inspect.signature(module)`` is that of its forward; that of the class is its own."""

    def __get__(self, module: Module | None, cls: type) -> Signature:
        if module is None:
            raise AttributeError("__signature__")
        import inspect

        return inspect.signature(module.forward)


def _no_module(where: str, value: Any) -> str:
    """What to say about something that was added as a submodule and is none."""
    if isinstance(value, type) and issubclass(value, Module):
        return (
            f"{where}: expected a module, got the class {value.__name__}; make one of it: "
            f"{value.__name__}()"
        )
    text = f"{where}: add_module: {type(value).__name__} is not a Module subclass"
    if isinstance(value, (list, tuple)):
        return f"{text}; pass modules one by one: {where}(*layers)"
    if callable(value):
        return f"{text}; call the function in forward(), or write a module for it"
    return f"{text}; only modules can be added"


def _addindent(text: str, spaces: int) -> str:
    """The text with all lines but the first moved to the right, as ``repr`` of a module does."""
    return text.replace("\n", "\n" + " " * spaces)


class _NoSuchAttribute:
    """The last base of modules whose class defines or mentions ``__getattr__``.

    Module itself has no such method: one in its class would slow down every look-up. The method
    finds what PyTorch's does: parameters, buffers and submodules.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        for registry in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(registry, {})
            if name in found:
                return found[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name)


def _mentions_getattr(cls: type) -> bool:
    """Whether a class defines ``__getattr__``, or calls it: ``self.__getattr__("weight")``.

    A ``__setattr__`` of its own may put parameters where only ``__getattr__`` finds them.
    """
    own = "__setattr__" in cls.__dict__ and not cls.__module__.startswith("genesis.")
    return (
        own
        or "__getattr__" in cls.__dict__
        or any(
            isinstance(f, FunctionType) and "__getattr__" in f.__code__.co_names
            for f in cls.__dict__.values()
        )
    )


class Module(ModuleState, ModuleConvert, ModuleTree, _C._ModuleBase):
    """A function with parameters: a layer, or a model composed of layers.

    A subclass calls ``super().__init__()``, assigns parameters and other modules to attributes, and
    defines ``forward``. Calling the module calls ``forward``, and the hooks around it.

    >>> class Affine(Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.scale = genesis.nn.Parameter(genesis.ones(2))
    ...     def forward(self, x):
    ...         return x * self.scale
    >>> Affine()(genesis.ones(2)).tolist()
    [1.0, 1.0]
    """

    __signature__ = _ForwardSignature()
    training: bool
    call_super_init = False
    _no_forward = "define"  # what to do about a forward that is not there
    if not TYPE_CHECKING:
        _parameters = _buffers = _modules = _non_persistent_buffers_set = _MadeByInit()
        _forward_hooks = _forward_pre_hooks = _backward_hooks = _backward_pre_hooks = _MadeByInit()
        _state_dict_pre_hooks = _load_state_dict_pre_hooks = _MadeByInit()
    _forward_hooks: Hooks
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: Hooks
    _forward_pre_hooks: Hooks
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _backward_hooks: Hooks
    _backward_pre_hooks: Hooks

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.__dict__.update(
            training=True,
            _hooked=False,  # whether a call may have to run a hook
            _parameters=Registry(self),
            _buffers=Registry(self),
            _modules=Registry(self),
            _non_persistent_buffers_set=set(),
            _forward_hooks=OrderedDict(),
            _forward_hooks_with_kwargs=OrderedDict(),
            _forward_hooks_always_called=OrderedDict(),
            _forward_pre_hooks=OrderedDict(),
            _forward_pre_hooks_with_kwargs=OrderedDict(),
            _backward_hooks=OrderedDict(),
            _backward_pre_hooks=OrderedDict(),
            _state_dict_pre_hooks=OrderedDict(),
            _state_dict_hooks=OrderedDict(),
            _load_state_dict_pre_hooks=OrderedDict(),
            _load_state_dict_post_hooks=OrderedDict(),
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)
        elif args or kwargs:
            given = f"keyword argument {next(iter(kwargs))!r}" if kwargs else "positional arguments"
            raise TypeError(f"{type(self).__name__}.__init__() got unexpected {given}")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if _NoSuchAttribute not in cls.__mro__ and _mentions_getattr(cls):
            cls.__bases__ = (*cls.__bases__, _NoSuchAttribute)

    # ---- calling --------------------------------------------------------------------------------

    # __call__ is native: it calls forward, or if there may be hooks _call_impl.

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return _hooks.call_with_hooks(self, args, kwargs)

    def _forward_unimplemented(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; every subclass defines it."""
        import difflib

        name = type(self).__name__
        near = difflib.get_close_matches("forward", (n for n in vars(type(self)) if n[0] != "_"), 1)
        way = f"rename {near[0]}() to" if near else self._no_forward
        raise NotImplementedError(
            f'Module [{name}] is missing the required "forward" function; {way} '
            f"{name}.forward(self, ...)"
        )

    # An attribute, not a method: a subclass may define forward with any parameters.
    forward: Callable[..., Any] = _forward_unimplemented

    def _register(self, hooks: Any, hook: Any, *also: Any, first: bool = False) -> RemovableHandle:
        handle = RemovableHandle(hooks, extra_dict=also)
        for place in (hooks, *also):
            place[handle.id] = hook
            if first:
                place.move_to_end(handle.id, last=False)
        self.__dict__["_hooked"] = True
        return handle

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before ``forward``; what it returns replaces the arguments.

        With ``with_kwargs`` it is ``hook(module, args, kwargs)``, and returns both or None.

        >>> layer = genesis.nn.Identity()
        >>> _ = layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
        >>> layer(genesis.zeros(1))
        tensor([1.])
        """
        also = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return self._register(self._forward_pre_hooks, hook, *also, first=prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after ``forward``; it may return another output.

        With ``with_kwargs`` it is ``hook(module, args, kwargs, output)``. With ``always_call`` it
        is called also after an exception.

        >>> layer = genesis.nn.Identity()
        >>> _ = layer.register_forward_hook(lambda module, args, output: output * 2)
        >>> layer(genesis.ones(1))
        tensor([2.])
        """
        also: list[Any] = [self._forward_hooks_with_kwargs] if with_kwargs else []
        if always_call:
            also.append(self._forward_hooks_always_called)
        return self._register(self._forward_hooks, hook, *also, first=prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the gradients of the outputs are known.

        What it returns replaces them.

        >>> layer, x = genesis.nn.Identity(), genesis.ones(1, requires_grad=True)
        >>> _ = layer.register_full_backward_pre_hook(lambda module, dy: dy[0] * 5)
        >>> layer(x).backward()
        >>> x.grad
        tensor([5.])
        """
        return self._register(self._backward_pre_hooks, hook, first=prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when gradients of the inputs are known.

        What it returns replaces those of the inputs.

        >>> layer, x = genesis.nn.Identity(), genesis.ones(1, requires_grad=True)
        >>> _ = layer.register_full_backward_hook(lambda module, dx, dy: (dx[0] * 5,))
        >>> layer(x).backward()
        >>> x.grad
        tensor([5.])
        """
        return self._register(self._backward_hooks, hook, first=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The old name of ``register_full_backward_hook``, which it is here."""
        return self.register_full_backward_hook(hook)

    # ---- attributes -----------------------------------------------------------------------------

    if TYPE_CHECKING:
        # Parameters, buffers and submodules are found in __dict__; a real __getattr__ would slow
        # down every look-up.
        def __getattr__(self, name: str) -> Any: ...

    def _check_name(self, what: str, name: str, registry: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{what}: name must be a str, got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{what}: name must not contain ".", got {name!r}')
        if name == "":
            raise KeyError(f"{what}: name must not be empty")
        if name not in registry and hasattr(self, name):  # a property may say that it is not there
            raise KeyError(f"{what}: attribute {name!r} already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter by name. None keeps the name for one that is not there."""
        self._check_name("register_parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign {type(param).__name__!r} object to parameter {name!r} "
                "(genesis.nn.Parameter or None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"register_parameter: {name!r} was computed by {param.grad_fn}, but a parameter "
                "must be a leaf; compute it in forward, or wrap it in genesis.nn.Parameter again"
            )
        if everywhere.parameter:
            param = _hooks.registered(everywhere.parameter, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is no parameter; it is in the ``state_dict`` if ``persistent``."""
        self._check_name("register_buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign {type(tensor).__name__!r} object to buffer {name!r} "
                "(genesis.Tensor or None required)"
            )
        if everywhere.buffer:
            tensor = _hooks.registered(everywhere.buffer, self, name, tensor)
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule by name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(_no_module(type(self).__name__, module))
        self._check_name("add_module", name, self._modules)
        if everywhere.module:
            module = _hooks.registered(everywhere.module, self, name, module)
        self._modules[name] = module

    def register_module(self, name: str, module: Module | None) -> None:
        """Another name of ``add_module``."""
        self.add_module(name, module)

    def __setattr__(self, name: str, value: Any) -> None:
        known = self.__dict__
        if isinstance(value, Parameter):
            self._make_room(name, self._parameters)
            self.register_parameter(name, value)
        elif "_parameters" not in known and not isinstance(value, (Module, Buffer)):
            object.__setattr__(self, name, value)
        elif name in self._parameters:
            self._require_none(name, value, "parameter", "Parameter")
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            self._make_room(name, self._modules)
            if everywhere.module:
                value = _hooks.registered(everywhere.module, self, name, value)
            self._modules[name] = value
        elif name in self._modules:
            self._require_none(name, value, "child module", "Module")
            self._modules[name] = None
        elif isinstance(value, Buffer):
            self._make_room(name, self._buffers)
            self.register_buffer(name, value, value.persistent)
        elif name in self._buffers:
            self.register_buffer(name, value, name not in self._non_persistent_buffers_set)
        elif name in _REGISTRIES:
            items = dict(value)
            known[name].clear()
            known[name].update(items)
        else:
            object.__setattr__(self, name, value)

    def _require_none(self, name: str, value: Any, what: str, wanted: str) -> None:
        if value is not None:
            raise TypeError(
                f"cannot assign {type(value).__name__!r} as {what} {name!r} (genesis.nn.{wanted} "
                "or None expected); delete the attribute to put something else there"
            )

    def _make_room(self, name: str, registry: dict[str, Any]) -> None:
        """Take away what else has this name."""
        if name not in registry:
            for other in (self._parameters, self._buffers, self._modules):
                other.pop(name, None)
            self._non_persistent_buffers_set.discard(name)
            self.__dict__.pop(name, None)

    def __delattr__(self, name: str) -> None:
        for registry in (self._parameters, self._buffers, self._modules):
            if name in registry:
                del registry[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _REGISTRIES:
            self.__dict__[name] = Registry(self, state[name])
