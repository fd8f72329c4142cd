"""Mappings that do not keep tensors alive, by identity."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref[Any]):
    """A weak reference that is equal to others of the same object, independently of ``==``."""

    __slots__ = ["_id"]

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        found = self()
        return self is other or (
            found is not None and isinstance(other, weakref.ref) and found is other()
        )


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dict whose keys are objects by identity; an entry is removed with its key."""

    def __init__(self, dict: Any = None, ref_type: type[WeakIdRef] = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        if dict is not None:
            self.update(dict)

    def _ref(self, key: Any, callback: Any = None) -> WeakIdRef:
        return self.ref_type(key, callback)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self._ref(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        data = self.data
        self.data[self._ref(key, lambda gone: data.pop(gone, None))] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self._ref(key)]

    def __contains__(self, key: object) -> bool:
        return self._ref(key) in self.data

    def __iter__(self) -> Iterator[Any]:
        for ref in list(self.data):
            key = ref()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return sum(1 for _ in self)


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Any) -> None:
        self.ref = WeakIdRef(tensor)

    def __call__(self) -> Any:
        return self.ref()
