"""Names of a module's parameters, buffers and submodules."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")
_MISSING = object()


class Registry(dict[str, T]):
    """A dict whose items are attributes of a module, too.

    They stand in the module's ``__dict__``, so that Python finds them as it finds any attribute,
    without calling anything. Copies and pickles of a registry are plain dicts: the module that gets
    them makes registries of its own.
    """

    __slots__ = ("_module",)

    def __init__(self, module: object, items: Mapping[str, T] | None = None) -> None:
        self._module = weakref.ref(module)  # a plain reference would be a cycle
        if items:
            self.update(items)

    @property
    def _attributes(self) -> dict[str, Any]:
        module = self._module()
        return {} if module is None else module.__dict__

    def __setitem__(self, name: str, value: T) -> None:
        dict.__setitem__(self, name, value)
        module = self._module()
        if module is not None:
            module.__dict__[name] = value

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self._attributes.pop(name, None)

    def pop(self, name: str, default: Any = _MISSING) -> Any:
        if default is _MISSING or name in self:
            value = super().pop(name)
            self._attributes.pop(name, None)
            return value
        return default

    def popitem(self) -> tuple[str, T]:
        name, value = super().popitem()
        self._attributes.pop(name, None)
        return name, value

    def clear(self) -> None:
        for name in self:
            self._attributes.pop(name, None)
        super().clear()

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def update(self, items: Any = (), /, **more: T) -> None:
        for name, value in dict(items, **more).items():
            self[name] = value

    def __ior__(self, items: Any) -> Self:  # type: ignore[override,misc]
        self.update(items)
        return self

    def copy(self) -> dict[str, T]:
        return dict(self)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return dict, (), None, None, iter(self.items())


class SizedIterator(Generic[T]):
    """An iterator that knows how many items are left.

    >>> parameters = genesis.nn.Linear(2, 3).parameters()
    >>> len(parameters)
    2
    >>> next(parameters).shape
    genesis.Size([3, 2])
    """

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[T]) -> None:
        self._items = iter(list(items))

    def __iter__(self) -> Iterator[T]:
        return self._items  # a loop then runs without calls of __next__ below

    def __next__(self) -> T:
        return next(self._items)

    def __len__(self) -> int:
        return operator.length_hint(self._items)
