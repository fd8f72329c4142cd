"""Taking over what functions do: the protocol of ``__torch_function__``.

A class with the class method ``__torch_function__(cls, func, types, args=(), kwargs=None)``, or
``__genesis_function__``, is asked whenever one of its objects is an argument of a function or
method of this package. ``func`` is what was called, ``types`` are the classes that take part.
Every subclass of :class:`genesis.Tensor` has one, which calls the function and gives tensors among
its results the subclass:

>>> class Metres(genesis.Tensor):
...     pass
>>> type(Metres([1.0, 2.0]) + 1).__name__
'Metres'

A :class:`TorchFunctionMode` is asked about every call within its block:

>>> class Names(TorchFunctionMode):
...     def __torch_function__(self, func, types, args=(), kwargs=None):
...         print(resolve_name(func))
...         return func(*args, **(kwargs or {}))
>>> with Names():
...     x = genesis.ones(2) * 3
genesis.ones
genesis.Tensor.mul
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from genesis import _C
from genesis._C import Tensor
from genesis._missing import explain

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]

_F = TypeVar("_F", bound=Callable[..., Any])

# Modules whose public functions can be overridden.
_MODULES = (
    "genesis",
    "genesis.nn.functional",
    "genesis.nn.init",
    "genesis.linalg",
    "genesis.special",
    "genesis.fft",
)
# Slots that belong to Python's object model rather than to tensors.
_OBJECT = {"__delattr__", "__getattribute__", "__hash__", "__init__", "__setattr__"}


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode, or the class of one of the arguments, overrides.

    >>> has_torch_function((genesis.ones(1), 3))
    False
    """
    return _C._has_override(tuple(relevant_args))


def has_torch_function_unary(obj: Any) -> bool:
    """:func:`has_torch_function` of one argument."""
    return _C._has_override_of(obj)


def has_torch_function_variadic(*args: Any) -> bool:
    """:func:`has_torch_function` of its arguments."""
    return _C._has_override_of(*args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Let modes and the classes of ``relevant_args`` do a call of ``public_api``.

    The classes are asked from left to right, subclasses before their superclasses, until one
    returns something else than ``NotImplemented``; if none does, a ``TypeError`` is raised.

    >>> def halve(x):
    ...     if has_torch_function_unary(x):
    ...         return handle_torch_function(halve, (x,), x)
    ...     return x / 2
    >>> halve(genesis.ones(1))
    tensor([0.5000])
    """
    return _C._ask_overrides(public_api, tuple(relevant_args), args, kwargs)


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a tensor, or of a class that can replace one.

    >>> is_tensor_like(genesis.ones(1)), is_tensor_like([1.0])
    (True, False)
    """
    names = ("__torch_function__", "__genesis_function__")
    return isinstance(inp, Tensor) or any(hasattr(type(inp), name) for name in names)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[_F], _F]:
    """A decorator that makes a function one that can be overridden.

    ``dispatcher`` has the parameters of the function and returns those that are relevant.

    >>> @wrap_torch_function(lambda x: (x,))
    ... def double(x):
    ...     return x * 2
    >>> double(genesis.ones(1))
    tensor([2.])
    """

    def decorate(function: _F) -> _F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if _C._has_override(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    return decorate


class _Off:
    """Overrides that are ignored within a block of this thread."""

    _classes, _all = True, False

    def __init__(self) -> None:
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> Self:
        classes, everything = _C._overrides_off()
        before = _C._set_overrides_off(classes or self._classes, everything or self._all)
        self._before.append(before)
        return self

    def __exit__(self, *error: object) -> None:
        _C._set_overrides_off(*self._before.pop())


class DisableTorchFunctionSubclass(_Off):
    """A block in which the classes of arguments override nothing; modes still do.

    >>> class Metres(genesis.Tensor):
    ...     pass
    >>> with DisableTorchFunctionSubclass():
    ...     type(Metres([1.0]) + 1).__name__
    'Tensor'
    """


class DisableTorchFunction(_Off):
    """A block in which neither classes nor modes override anything."""

    _all = True


@contextmanager
def enable_reentrant_dispatch() -> Iterator[None]:
    """A block inside a ``__torch_function__`` in which classes override again."""
    before = _C._set_overrides_off(False, False)
    try:
        yield
    finally:
        _C._set_overrides_off(*before)


class TorchFunctionMode:
    """A block in which ``__torch_function__`` of this object is called for every call.

    It is asked before the classes of the arguments, and not about the calls that it makes itself:
    those go to the mode around it.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """What to do instead of ``func(*args, **kwargs)``; to be defined by subclasses."""
        raise NotImplementedError(f"{type(self).__name__} must define __torch_function__")

    def __enter__(self) -> Self:
        _C._push_mode(self)
        return self

    def __exit__(self, *error: object) -> None:
        _C._pop_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """A new mode; PyTorch's older name for calling the class."""
        return cls(*args, **kwargs)


def _takes_tensors(op: dict[str, Any]) -> bool:
    inputs = [p["type"] for p in op["params"] if p["name"] != "out"]
    return any("Tensor" in kind or "Operand" in kind for kind in inputs)


def _is_function(value: Any) -> bool:
    return isinstance(value, _C._Overridable)


@functools.cache
def _native(with_tensors: bool) -> frozenset[Any]:
    """Native functions that can be overridden, by the classes of arguments or only by modes."""
    return frozenset(
        getattr(_C, op["name"])
        for op in _C.op_info()
        if op["function"] and op["overridable"] and _takes_tensors(op) == with_tensors
    )


def _members(with_tensors: bool) -> Iterator[tuple[Any, str, Any]]:
    """(namespace, name, function) of everything that can be overridden."""
    for name in _MODULES:
        module = importlib.import_module(name)
        for attribute in sorted(module.__all__):
            value = getattr(module, attribute, None)
            is_native = inspect.isbuiltin(value) and value in _native(with_tensors)
            if is_native or (with_tensors and _is_function(value)):
                yield module, attribute, value
    if not with_tensors:
        return
    methods = {op["name"]: op for op in _C.op_info() if op["method"]}
    for attribute, value in sorted(vars(Tensor).items()):
        op = methods.get(attribute)
        if op is not None:
            if op["overridable"]:
                yield Tensor, attribute, value
        elif inspect.isgetsetdescriptor(value):
            if attribute != "__dict__":
                yield Tensor, f"{attribute}.__get__", value.__get__
                yield Tensor, f"{attribute}.__set__", value.__set__
        elif _is_function(value) or (
            type(value).__name__ == "wrapper_descriptor" and attribute not in _OBJECT
        ):
            yield Tensor, attribute, value


@functools.cache
def _overridable() -> dict[Any, list[Callable[..., Any]]]:
    found: dict[Any, list[Callable[..., Any]]] = {}
    for namespace, name, value in _members(True):
        if not name.endswith(".__set__"):
            found.setdefault(namespace, []).append(value)
    return found


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that the classes of their arguments can override, by where they are found.

    >>> genesis.add in get_overridable_functions()[genesis]
    True
    """
    return {namespace: list(functions) for namespace, functions in _overridable().items()}


@functools.cache
def get_ignored_functions() -> set[Callable[..., Any]]:
    """Functions without arguments that could override them, and ``Tensor.as_subclass``.

    >>> genesis.zeros in get_ignored_functions()
    True
    """
    return {Tensor.as_subclass, *(value for _, _, value in _members(False))}


@functools.cache
def _names() -> dict[Any, str]:
    names: dict[Any, str] = {}
    for with_tensors in (True, False):
        for namespace, name, value in _members(with_tensors):
            where = "genesis.Tensor" if namespace is Tensor else namespace.__name__
            names.setdefault(value, f"{where}.{name}")
    return names


def resolve_name(f: Callable[..., Any]) -> str | None:
    """Where a function that can be overridden is found; None if it is none.

    >>> resolve_name(genesis.Tensor.mul), resolve_name(genesis.Tensor.shape.__get__)
    ('genesis.Tensor.mul', 'genesis.Tensor.shape.__get__')
    """
    name = _names().get(f)
    return f"torch{name.removeprefix('genesis')}" if name and _C._is_exact_torch() else name


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether ``func`` is a method of ``Tensor``, or reads or writes one of its properties.

    >>> is_tensor_method_or_property(genesis.Tensor.add), is_tensor_method_or_property(genesis.add)
    (True, False)
    """
    return _names().get(func, "").startswith("genesis.Tensor.")


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions whose results keep their class under the default ``__torch_function__``."""
    properties = vars(Tensor)
    return {properties[name].__get__ for name in ("grad", "_base")}


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function that can be overridden, one with its parameters that returns -1."""

    def dummy(function: Callable[..., Any]) -> Callable[..., Any]:
        def override(*args: Any, **kwargs: Any) -> int:
            return -1

        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return override
        setattr(override, "__signature__", signature)  # noqa: B010
        return override

    found = get_overridable_functions()
    return {function: dummy(function) for functions in found.values() for function in functions}


def _get_overloaded_args(relevant_args: Iterable[Any]) -> list[Any]:
    """One object of each class that overrides, in the order in which they are called."""
    return _C._overloaded(tuple(relevant_args))


def _get_current_function_mode() -> TorchFunctionMode | None:
    modes = _C._modes()
    return modes[-1] if modes else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    return _C._modes()


explain(globals())
