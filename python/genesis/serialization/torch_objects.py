"""Writes any Python object with the tensors in it as torch.save does, for programs of PyTorch.

`torch_writer.py` writes the plain values that `load` reads again. Other objects are pickled here by
the names of their classes. Reading such a file never makes them: `load` refuses it, or with
``weights_only=False`` gives `ForeignObject`s.
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import IO, Any

from genesis._C import Tensor
from genesis.serialization import torch_writer
from genesis.serialization.safetensors import Entry


class _Storage:
    """Memory of tensors: a number that the pickle refers to."""

    def __init__(self, key: int) -> None:
        self.key = key


class _Pickler(pickle.Pickler):
    def __init__(self, file: IO[bytes], protocol: int) -> None:
        super().__init__(file, protocol)
        self.tensors: list[Tensor] = []  # each is written as a separate storage

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, Tensor):
            return NotImplemented
        from genesis.torch.compat._utils import _rebuild_parameter, _rebuild_tensor_v2

        values = obj.detach().contiguous()
        storage = _Storage(len(self.tensors))
        self.tensors.append(values)
        parameter = obj._is_parameter()
        shape = tuple(obj.shape)
        whole = (storage, 0, shape, tuple(torch_writer.contiguous(shape)))
        if parameter:
            plain = _Call(_rebuild_tensor_v2, (*whole, False, OrderedDict()))
            return _rebuild_parameter, (plain, obj.requires_grad, OrderedDict())
        return _rebuild_tensor_v2, (*whole, obj.requires_grad, OrderedDict())

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, _Storage):
            return None
        from genesis import storage

        values = self.tensors[obj.key]
        kind = storage.class_of(values.dtype)
        return "storage", kind, str(obj.key), "cpu", values.numel()


class _Call:
    """A call inside a pickle."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._call = (function, args)

    def __reduce__(self) -> Any:
        return self._call


def writer(obj: Any, protocol: int) -> Callable[[IO[bytes]], None]:
    """What writes ``obj``; an object that cannot be pickled raises here."""
    memory = io.BytesIO()
    pickler = _Pickler(memory, protocol)
    pickler.dump(obj)
    entries = [Entry.of(str(i), t) for i, t in enumerate(pickler.tensors)]
    return lambda file: torch_writer.write(file, entries, memory.getvalue())
