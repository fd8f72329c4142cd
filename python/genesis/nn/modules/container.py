"""Modules that hold modules or parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from genesis.nn.modules.module import Module

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ModuleDict", "ModuleList", "Sequential"]

T = TypeVar("T", bound=Module)


def position(kind: str, index: Any, size: int) -> int:
    """A position from 0, of an index that may be negative."""
    index = operator.index(index)
    if not -size <= index < size:
        raise IndexError(f"{kind}: index {index} is out of range for {size} items")
    return int(index % size)


class _Indexed(Module):
    """Modules named "0", "1", ..."""

    def _put(self, modules: Iterable[Module]) -> None:
        """Hold exactly these."""
        modules = list(modules)
        self._modules.clear()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def _key(self, index: Any) -> str:
        return list(self._modules)[position(type(self).__name__, index, len(self))]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())  # type: ignore[arg-type]

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: int | slice) -> None:
        if isinstance(index, slice):
            for key in list(self._modules)[index]:
                delattr(self, key)
        else:
            delattr(self, self._key(index))
        self._put(list(self))

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Add a module before the one at ``index``."""
        if not isinstance(module, Module):
            raise TypeError(f"insert: expected a Module, got {type(module).__name__}")
        modules = list(self)
        if not -len(modules) <= index <= len(modules):
            raise IndexError(f"insert: index {index} is out of range for {len(modules)} modules")
        modules.insert(index, module)
        self._put(modules)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"extend: expected modules, got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Take a module out."""
        module = self[key]  # type: ignore[index]
        del self[key]
        return module


class Sequential(_Indexed):
    """Modules one after the other: each gets what the one before returned.

    >>> model = Sequential(genesis.nn.Linear(2, 3), genesis.nn.ReLU())
    >>> model(genesis.ones(4, 2)).shape
    genesis.Size([4, 3])
    """

    def __init__(self, *args: Module | OrderedDict[str, Module]) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            self.extend(args)  # type: ignore[arg-type]

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input

    @overload
    def __getitem__(self, index: slice) -> Self: ...
    @overload
    def __getitem__(self, index: int) -> Any: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))  # type: ignore[arg-type]
        return self._modules[self._key(index)]

    def __add__(self, other: Sequential) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"+ of Sequential: expected a Sequential, got {type(other).__name__}")
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(f"+= of Sequential: expected a Sequential, got {type(other).__name__}")
        return self.extend(other)

    def __mul__(self, other: int) -> Sequential:
        self._check_times(other)
        return Sequential(*list(self) * other)

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        self._check_times(other)
        return self.extend(list(self) * (other - 1))

    @staticmethod
    def _check_times(other: int) -> None:
        if not isinstance(other, int):
            raise TypeError(f"* of Sequential: expected an int, got {type(other).__name__}")
        if other <= 0:
            raise ValueError(f"* of Sequential: expected a positive int, got {other}")


class ModuleList(_Indexed):
    """A list of modules.

    >>> layers = ModuleList([genesis.nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(layers[1:])
    (3, 2)
    """

    _no_forward = "it only holds modules: loop over them, use Sequential, or define"

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    @overload
    def __getitem__(self, index: slice) -> Self: ...
    @overload
    def __getitem__(self, index: int) -> Any: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])  # type: ignore[arg-type]
        return self._modules[self._key(index)]

    def insert(self, index: int, module: Module) -> None:
        """Add a module before the one at ``index``."""
        super().insert(index, module)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __repr__(self) -> str:
        if not len(self):
            return f"{self._get_name()}()"
        runs: list[tuple[int, int, str]] = []  # first, last, text: equal neighbours are shown once
        for i, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], i, text)
            else:
                runs.append((i, i, text))
        lines = []
        for first, last, text in runs:
            indented = text.replace("\n", "\n  ")
            if first == last:
                lines.append(f"({first}): {indented}")
            else:
                lines.append(f"({first}-{last}): {last - first + 1} x {indented}")
        return "\n  ".join([f"{self._get_name()}(", *lines]) + "\n)"


class ModuleDict(Module):
    """Modules by name.

    >>> heads = ModuleDict({"a": genesis.nn.Linear(2, 1), "b": genesis.nn.Linear(2, 3)})
    >>> heads["b"](genesis.ones(2)).shape
    genesis.Size([3])
    """

    _no_forward = "it only holds modules: call one of them by its key, or define"

    def __init__(
        self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None
    ) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take a module out."""
        return self._modules.pop(key)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and modules."""
        return self._modules.items()

    def values(self) -> Iterable[Any]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add modules, or replace those of the same names."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"ModuleDict.update: expected a dict or (name, module) pairs, got "
                f"{type(modules).__name__}"
            )
        for name, module in (
            modules.items() if isinstance(modules, (Mapping, ModuleDict)) else list(modules)
        ):
            self[name] = module
