"""From a list of samples to a batch."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor

_WIDER = {"uint16": _C.int32, "uint32": _C.int64, "uint64": _C.int64, "longdouble": _C.float64}

__all__ = ["default_collate", "default_convert"]


def _is_numpy(x: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(x, (numpy.ndarray, numpy.generic))


def _has_tensor_dtype(x: Any) -> bool:
    return x.dtype.kind in "biuf"


def default_convert(data: Any) -> Any:
    """NumPy arrays in a nested structure as tensors; other values are unchanged.

    What a `DataLoader` does with single samples, when ``batch_size`` is None.

    >>> import numpy
    >>> default_convert({"x": numpy.ones(2), "name": "a"})
    {'x': tensor([1., 1.], dtype=genesis.float64), 'name': 'a'}
    """
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if _is_numpy(data):
        return _tensor(data) if _has_tensor_dtype(data) else data
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(x) for x in data))
    if isinstance(data, tuple):
        return [default_convert(x) for x in data]
    if isinstance(data, Sequence):
        return _like_sequence(data, [default_convert(x) for x in data])
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """Samples as one batch: tensors, arrays and numbers are stacked in a new first dimension.

    Mappings, namedtuples and sequences are gone through; strings and bytes stay lists. Floats give
    float64, as in PyTorch.

    >>> default_collate([{"x": genesis.ones(2), "y": 0}, {"x": genesis.zeros(2), "y": 1}])
    {'x': tensor([[1., 1.],
            [0., 0.]]), 'y': tensor([0, 1])}
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return _stack(batch)
    if _is_numpy(first) and _has_tensor_dtype(first):
        return _stack([_tensor(x) for x in batch])
    if isinstance(first, float):
        return _C.tensor(list(batch), dtype=_C.float64)
    if isinstance(first, int):
        return _C.tensor(list(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        found = {key: default_collate([sample[key] for sample in batch]) for key in first}
        return _like_mapping(first, found)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(list(column)) for column in _columns(batch)))
    if isinstance(first, tuple):
        return [default_collate(column) for column in _columns(batch)]
    if isinstance(first, Sequence):
        return _like_sequence(first, [default_collate(column) for column in _columns(batch)])
    kind = f"numpy array of dtype {first.dtype}" if _is_numpy(first) else type(first).__name__
    raise TypeError(
        "default_collate: samples must be made of tensors, NumPy arrays, numbers, strings, dicts, "
        f"tuples or lists; got a {kind}. Pass a collate_fn that makes a batch of them"
    )


def _tensor(x: Any) -> Tensor:
    import numpy

    array = numpy.array(x, copy=not x.flags.writeable or min(x.strides, default=0) < 0)
    if array.dtype.name in _WIDER:
        return _C.from_numpy(array, dtype=_WIDER[array.dtype.name])
    return _C.from_numpy(array, dtype=array.dtype.newbyteorder("="))


def _stack(tensors: Sequence[Tensor]) -> Tensor:
    try:
        return _C.stack(tuple(tensors))
    except (RuntimeError, TypeError) as error:
        shapes = {tuple(t.shape) for t in tensors if isinstance(t, Tensor)}
        if len(shapes) < 2:
            raise
        raise type(error)(
            f"default_collate: samples of one batch differ in shape: {sorted(shapes)}; make them "
            "equal in the dataset, or pass a collate_fn that pads them"
        ) from None


def _columns(batch: Sequence[Any]) -> list[tuple[Any, ...]]:
    sizes = {len(sample) for sample in batch}
    if len(sizes) > 1:
        raise RuntimeError(
            f"default_collate: samples of one batch differ in length: {sorted(sizes)}; pass a "
            "collate_fn that makes a batch of them"
        )
    return list(zip(*batch, strict=True))


def _like(make: Callable[[], Any], otherwise: Any) -> Any:
    try:
        return make()
    except TypeError:  # a class whose constructor takes something else
        return otherwise


def _like_mapping(original: Mapping[Any, Any], found: dict[Any, Any]) -> Any:
    def make() -> Any:
        if isinstance(original, MutableMapping):
            twin = copy.copy(original)
            twin.update(found)
            return twin
        return type(original)(found)  # type: ignore[call-arg]

    return found if type(original) is dict else _like(make, found)


def _like_sequence(original: Sequence[Any], found: list[Any]) -> Any:
    def make() -> Any:
        if isinstance(original, MutableSequence):
            twin = copy.copy(original)
            for i, value in enumerate(found):
                twin[i] = value
            return twin
        return type(original)(found)  # type: ignore[call-arg]

    return found if type(original) in (list, range) else _like(make, found)
