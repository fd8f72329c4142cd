"""Modules that hold parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from genesis._C import Tensor
from genesis.nn.modules.container import position
from genesis.nn.modules.module import Module
from genesis.nn.parameter import Parameter

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ParameterDict", "ParameterList"]


def _as_parameter(value: Any) -> Any:
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _describe(name: object, value: Any) -> str:
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(map(str, value.shape))
    return f"  ({name}): {kind} containing: [{value.dtype} of size {size}]"


class ParameterList(Module):
    """A list of parameters. Tensors put into it become parameters; other values stay as they are.

    >>> weights = ParameterList([genesis.ones(2), genesis.ones(3)])
    >>> len(weights.parameters()), weights[-1].shape
    (2, genesis.Size([3]))
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(getattr(self, str(i)) for i in range(*idx.indices(len(self))))
        return getattr(self, str(position("ParameterList", idx, len(self))))

    def __setitem__(self, idx: int, param: Any) -> None:
        index = position("ParameterList", idx, len(self))
        setattr(self, str(index), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, str(i)) for i in range(len(self)))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Add a value at the end."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add values at the end."""
        if isinstance(values, Tensor) or not isinstance(values, Iterable):
            raise TypeError(f"ParameterList.extend: expected a list, got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_describe(i, value) for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """Parameters by name. Tensors put into it become parameters; other values stay as they are.

    >>> weights = ParameterDict({"left": genesis.ones(2)})
    >>> weights["right"] = genesis.ones(3)
    >>> list(weights.state_dict())
    ['left', 'right']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._attribute(key))

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"ParameterDict: keys must be str, got {key!r}")
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[self._attribute(key)]
        delattr(self, key)

    def _attribute(self, key: str) -> str:
        if key not in self._keys:
            raise KeyError(key)
        return key

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Another dict of the same parameters."""
        return ParameterDict(dict(self.items()))

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter of that name, or ``default``."""
        return getattr(self, key) if key in self._keys else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The parameter of that name, which is ``default`` if there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        """Take a parameter out."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take the last parameter out."""
        if not self._keys:
            raise KeyError("popitem: the ParameterDict is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        """Take all parameters out."""
        for key in list(self._keys):
            del self[key]

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A dict that has ``default`` for each of ``keys``."""
        return ParameterDict(dict.fromkeys(keys, default))

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and parameters."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The parameters."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add parameters, or replace those of the same names."""
        if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
            raise TypeError(
                "ParameterDict.update: expected a dict or (name, value) pairs, got "
                f"{type(parameters).__name__}"
            )
        pairs = (
            parameters.items()
            if isinstance(parameters, (Mapping, ParameterDict))
            else list(parameters)
        )
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(_describe(key, value) for key, value in self.items())

    def __or__(self, other: ParameterDict) -> ParameterDict:
        both = self.copy()
        both.update(other)
        return both

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        both = other.copy()
        both.update(self)
        return both

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")
