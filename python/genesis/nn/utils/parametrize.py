"""Parametrizations: tensors of a module that are computed from stored tensors when read."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from genesis import _C
from genesis._C import Tensor
from genesis._missing import explain
from genesis.nn.modules.container import ModuleDict, ModuleList
from genesis.nn.modules.module import Module
from genesis.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

M = TypeVar("M", bound=Module)

_cache_depth = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """A context in which each parametrized tensor is computed at most once.

    >>> layer = genesis.nn.utils.parametrizations.weight_norm(genesis.nn.Linear(2, 3))
    >>> with cached():
    ...     layer.weight is layer.weight
    True
    """
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if _cache_depth == 0:
            _cache.clear()


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _overwrite(tensor: Tensor, value: Tensor) -> None:
    """Give the tensor the values and shape of another, and keep it the same object."""
    tensor.data = value.detach()


class ParametrizationList(ModuleList):
    """The parametrizations of a tensor, and the stored tensor ``original``.

    If the first parametrization takes several tensors, they are ``original0``, ``original1``, ...
    """

    def __init__(
        self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False
    ) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList: at least one module is needed")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with _C.no_grad():
            new = self._inverse(original, strict=False)
        if not isinstance(new, (Tensor, list, tuple)):
            raise ValueError(
                "ParametrizationList: right_inverse must return a tensor or several, got "
                f"{type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        if isinstance(new, Tensor):
            self.ntensors = 1
            if new.dtype != dtype:
                raise ValueError(
                    f"ParametrizationList: right_inverse returned {new.dtype}, but the tensor is "
                    f"{dtype}; it must keep the dtype"
                )
            _overwrite(original, new)
            _register(self, "original", original)
        else:
            self.ntensors = len(new)
            for i, part in enumerate(new):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "ParametrizationList: right_inverse must return tensors, got "
                        f"{type(part).__name__}"
                    )
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                _register(self, f"original{i}", part)
        if not unsafe:
            self._check(self(), shape, dtype)

    def _check(self, value: Any, shape: tuple[int, ...], dtype: _C.dtype) -> None:
        if not isinstance(value, Tensor):
            raise ValueError(f"a parametrization must return a tensor, got {type(value).__name__}")
        if value.shape != shape or value.dtype != dtype:
            raise ValueError(
                f"a parametrization must keep shape and dtype, {tuple(shape)} and {dtype}, got "
                f"{tuple(value.shape)} and {value.dtype}; pass unsafe=True to allow it"
            )

    def _inverse(self, value: Any, strict: bool) -> Any:
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                try:
                    value = module.right_inverse(value)
                except NotImplementedError:
                    if strict:
                        raise
            elif strict:
                raise RuntimeError(
                    f"parametrization {type(module).__name__} does not define right_inverse, so "
                    "the parametrized tensor cannot be assigned to"
                )
        return value

    def _originals(self) -> list[Tensor]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Change the originals so that the parametrized tensor becomes ``value``."""
        with _C.no_grad():
            new = self._inverse(value, strict=True)
            parts = [new] if self.is_tensor else list(new)
            if len(parts) != self.ntensors:
                raise ValueError(
                    f"right_inverse must return {self.ntensors} tensors, got {len(parts)}"
                )
            for original, part in zip(self._originals(), parts, strict=True):
                if part.dtype != original.dtype:
                    raise ValueError(
                        f"right_inverse must keep the dtype {original.dtype}, got {part.dtype}"
                    )
                _overwrite(original, part)

    def forward(self) -> Tensor:
        first, *others = self
        value: Tensor = first(*self._originals())
        for module in others:
            value = module(value)
        return value


def _deepcopy(self: Module, memo: dict[int, Any]) -> Module:
    replica = type(self).__new__(type(self))
    memo[id(self)] = replica
    replica.__setstate__(copy.deepcopy(self.__dict__, memo))
    # A class of its own, so that changes of the copy do not change this one.
    _inject_class(replica, type(self).__bases__[0])
    for name in replica.parametrizations:
        _inject_property(replica, name)
    return replica


def _refuse_pickle(self: Module, protocol: Any) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(); save that, "
        "and register the parametrizations again before loading it"
    )


def _inject_class(module: Module, base: type[Module]) -> None:
    methods = {"__deepcopy__": _deepcopy, "__reduce_ex__": _refuse_pickle}
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), methods)


def _inject_property(module: Module, name: str) -> None:
    def get(self: Module) -> Tensor:
        if not _cache_depth:
            result: Tensor = self.parametrizations[name]()
            return result
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def set(self: Module, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, set))


def register_parametrization(
    module: M, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> M:
    """Replace a parameter or buffer by ``parametrization`` of a stored tensor.

    The stored tensor is in ``module.parametrizations``. Several parametrizations are applied in the
    order in which they are registered. If ``right_inverse`` is defined, the tensor keeps its
    current value and can be assigned. Unless ``unsafe``, the shape and dtype must not change.

    >>> class Symmetric(genesis.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = register_parametrization(genesis.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            before = getattr(module, tensor_name)
            module.parametrizations[tensor_name]._check(
                parametrization(before), before.shape, before.dtype
            )
            if hasattr(parametrization, "right_inverse"):
                with _C.no_grad():
                    value = parametrization.right_inverse(before)
                    module.parametrizations[tensor_name]._check(value, before.shape, before.dtype)
                module.parametrizations[tensor_name].right_inverse(value)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"register_parametrization: {type(module).__name__} has no parameter, buffer or "
            f"parametrized tensor {tensor_name!r}"
        )
    original = getattr(module, tensor_name)
    parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _inject_class(module, type(module))
        module.parametrizations = ModuleDict()
    _inject_property(module, tensor_name)
    module.parametrizations[tensor_name] = parametrizations
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has a parametrized tensor, or the tensor of this name is parametrized.

    >>> is_parametrized(genesis.nn.Linear(2, 3))
    False
    """
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: M, tensor_name: str, leave_parametrized: bool = True) -> M:
    """Remove the parametrizations of a tensor, which gets its current or its original value.

    >>> layer = genesis.nn.utils.parametrizations.weight_norm(genesis.nn.Linear(2, 3))
    >>> type(remove_parametrizations(layer, "weight")).__name__
    'Linear'
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(
            f"remove_parametrizations: {type(module).__name__} has no parametrized tensor "
            f"{tensor_name!r}"
        )
    parametrizations = module.parametrizations[tensor_name]
    originals = parametrizations._originals()
    original = originals[0]
    if not leave_parametrized and not parametrizations.is_tensor:
        raise ValueError(
            "remove_parametrizations: the tensor is made of several, so there is no original to go "
            "back to; pass leave_parametrized=True"
        )
    if leave_parametrized:
        with _C.no_grad():
            value = getattr(module, tensor_name).detach().clone()
        if parametrizations.is_tensor:
            _overwrite(original, value)
        elif isinstance(original, Parameter):
            original = Parameter(value, any(o.requires_grad for o in originals))
        else:
            original = value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of a module before tensors were parametrized.

    >>> layer = genesis.nn.utils.parametrizations.weight_norm(genesis.nn.Linear(2, 3))
    >>> type_before_parametrizations(layer).__name__
    'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: M, tensor_name: str | None = None
) -> M:
    """Copy the parametrizations of ``from_module``, and their tensors, to ``to_module``.

    >>> layer = genesis.nn.utils.parametrizations.weight_norm(genesis.nn.Linear(2, 3))
    >>> copied = transfer_parametrizations_and_params(layer, genesis.nn.Linear(2, 3))
    >>> genesis.equal(layer.weight, copied.weight)
    True
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not is_parametrized(from_module, name):
            raise ValueError(
                f"transfer_parametrizations_and_params: {type(from_module).__name__} has no "
                f"parametrized tensor {name!r}"
            )
        if not hasattr(to_module, name):
            _register(to_module, name, from_module.parametrizations[name]._originals()[0])
        for parametrization in from_module.parametrizations[name]:
            register_parametrization(to_module, name, copy.deepcopy(parametrization), unsafe=True)
        to_list = to_module.parametrizations[name]
        with _C.no_grad():
            for mine, theirs in zip(
                to_list._originals(), from_module.parametrizations[name]._originals(), strict=True
            ):
                _overwrite(mine, theirs.clone())
    return to_module


explain(globals())
