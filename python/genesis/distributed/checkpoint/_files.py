"""A checkpoint is a directory: a file of tensors from each rank, and an index.

The index holds the state with a table of boxes in place of each tensor: which part of it lies in
which file. A tensor that all ranks have is cut among them, so all ranks write at the same time. The
directory gets its name when everything is in it, in one step.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.distributed import _objects, _world
from genesis.serialization import FileFormatError
from genesis.serialization import load as load_state
from genesis.serialization import save as save_state
from genesis.serialization.safetensors import read_header, read_tensor
from genesis.serialization.source import Source

INDEX = "index.safetensors"
_KEY = "__distributed_tensor__"
_WHOLE = 1 << 14  # bytes: a smaller tensor is written by one rank alone

Box = tuple[tuple[int, ...], tuple[int, ...]]  # where it begins, and its sizes


@dataclass
class Piece:
    """The part of a tensor on this rank: its values, their position, and the full shape.

    ``values`` is None on a rank whose part another rank writes.
    """

    values: Tensor | None
    begin: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: _C.dtype


def as_piece(x: Any) -> Piece | None:
    """The piece that a value represents; None for anything else."""
    if isinstance(x, Piece):
        return x
    make = getattr(x, "__checkpoint_piece__", None)
    return None if make is None else make()


def _ranks() -> tuple[int, int]:
    if not _world.is_initialized():
        return 0, 1
    return _world.get_rank(), _world.get_world_size()


def _all(value: Any) -> list[Any]:
    """The values of all ranks."""
    if _ranks()[1] == 1:
        return [value]
    found: list[Any] = [None] * _ranks()[1]
    _objects.all_gather_object(found, value)
    return found


def together(name: str, action: Callable[[], Any]) -> list[Any]:
    """Run ``action`` on every rank and return the results of all; an error of one is one of all."""
    mine: Any = None
    failure: BaseException | None = None
    try:
        mine = action()
    except Exception as error:
        failure = error
    results = _all((None if failure is None else f"{type(failure).__name__}: {failure}", mine))
    wrong = [(rank, text) for rank, (text, _) in enumerate(results) if text is not None]
    if failure is not None:
        raise failure
    if wrong:
        rank, text = wrong[0]
        raise RuntimeError(f"{name}: rank {rank} failed: {text}")
    return [value for _, value in results]


class _Writer:
    """Replaces tensors by entries of the index, and keeps what this rank has to write."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self.mine: dict[str, Tensor] = {}
        self.boxes: dict[int, list[Any]] = {}
        self.count = 0
        self.load = [0] * size  # bytes that each rank writes of tensors that all have

    def encode(self, x: Any) -> Any:
        piece = as_piece(x)
        if piece is not None:
            return self._piece(piece)
        if isinstance(x, Tensor):
            return self._tensor(x.detach())
        if isinstance(x, dict):
            plain = {k: self.encode(v) for k, v in x.items()}
            return type(x)(plain) if type(x).__name__ == "OrderedDict" else plain
        if type(x) in (list, tuple):
            return type(x)(self.encode(v) for v in x)
        return x

    def _entry(self, shape: tuple[int, ...], dtype: _C.dtype) -> tuple[int, dict[str, Any]]:
        number = self.count
        self.count += 1
        return number, {_KEY: number, "shape": list(shape), "dtype": dtype}

    def _keep(self, number: int, begin: tuple[int, ...], values: Tensor) -> None:
        name = f"{number}@{','.join(map(str, begin))}"
        self.mine[name] = values
        self.boxes.setdefault(number, []).append((name, list(begin), list(values.shape)))

    def _tensor(self, x: Tensor) -> dict[str, Any]:
        number, entry = self._entry(tuple(x.shape), x.dtype)
        rows = x.shape[0] if x.ndim else 0
        if x.nbytes <= _WHOLE or rows < self.size:
            owner = self.load.index(min(self.load))
            self.load[owner] += x.nbytes
            if owner == self.rank:
                self._keep(number, (0,) * x.ndim, x)
            return entry
        begin, end = rows * self.rank // self.size, rows * (self.rank + 1) // self.size
        self._keep(number, (begin,) + (0,) * (x.ndim - 1), x[begin:end])
        return entry

    def _piece(self, piece: Piece) -> dict[str, Any]:
        number, entry = self._entry(piece.shape, piece.dtype)
        if piece.values is not None and piece.values.numel():
            self._keep(number, piece.begin, piece.values.detach())
        return entry


def save(state_dict: Any, checkpoint_id: str | os.PathLike[str]) -> None:
    """Write a state, all ranks together, to a new directory of this name.

    It is there whole or not at all. Tensors are taken to be the same on every rank, except
    distributed ones, of which every rank writes its part; other values are those of rank 0. The
    directory must be on a file system that all ranks see.

    >>> save({"w": genesis.ones(3), "step": 4}, "state")
    >>> read("state")
    {'w': tensor([1., 1., 1.]), 'step': 4}
    """
    rank, size = _ranks()
    target = os.path.abspath(os.fspath(checkpoint_id))
    parent, name = os.path.split(target)
    token = _all(secrets.token_hex(6))[0]
    folder = os.path.join(parent, f".{name}.{token}.tmp")
    file = f"rank-{rank:05d}-of-{size:05d}.safetensors"
    writer = _Writer(rank, size)

    def prepare() -> None:
        if os.path.exists(target):
            raise FileExistsError(f"save: {target} exists; choose another name or remove it")
        os.makedirs(folder, exist_ok=True)

    def write() -> Any:
        state = writer.encode(state_dict)
        save_state(dict(writer.mine), os.path.join(folder, file))
        return state if rank == 0 else None, writer.boxes, file

    def finish(results: list[Any]) -> None:
        if rank:
            return
        table: dict[int, list[Any]] = {}
        for _, boxes, name in results:
            if not os.path.exists(os.path.join(folder, name)):
                raise FileNotFoundError(
                    f"save: rank 0 does not see {name} in {folder}; use a directory on a file "
                    "system that all ranks share"
                )
            for number, rows in boxes.items():
                table.setdefault(number, []).extend([name, *row] for row in rows)
        save_state({"state": results[0][0], "boxes": table}, os.path.join(folder, INDEX))
        os.rename(folder, target)
        with contextlib.suppress(OSError):
            descriptor = os.open(parent, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)

    try:
        together("save", prepare)
        results = together("save", write)
        together("save", lambda: finish(results))
    except BaseException:
        if rank == 0:
            shutil.rmtree(folder, ignore_errors=True)
        raise


class _Reader:
    """Puts tensors together from the files of a checkpoint."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        index = load_state(os.path.join(folder, INDEX))
        if not isinstance(index, dict) or not {"state", "boxes"} <= index.keys():
            raise FileFormatError(f"load: {folder} has no index of a distributed checkpoint")
        self.state: Any = index["state"]
        self.boxes: dict[int, list[Any]] = index["boxes"]
        self.sources: dict[str, tuple[Source, dict[str, Any]]] = {}

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        for source, _items in self.sources.values():
            source.__exit__(None, None, None)

    def _stored(self, file: str, name: str) -> Tensor:
        if file not in self.sources:
            source = Source(os.path.join(self.folder, os.path.basename(file)))
            source.__enter__()
            self.sources[file] = source, read_header(source)[1]
        source, items = self.sources[file]
        return read_tensor(source, items[name])

    def fill(self, entry: dict[str, Any], into: Tensor, begin: tuple[int, ...]) -> None:
        """The part of a tensor that begins at ``begin`` and has the shape of ``into``."""
        covered = 0
        sizes = tuple(into.shape)
        for file, name, at, extent in self.boxes.get(entry[_KEY], []):
            low = [max(a, b) for a, b in zip(at, begin, strict=True)]
            high = [min(a + e, b + s) for a, e, b, s in zip(at, extent, begin, sizes, strict=True)]
            if any(stop <= start for start, stop in zip(low, high, strict=True)):
                continue
            values = self._stored(file, name)
            source = tuple(slice(i - a, j - a) for i, j, a in zip(low, high, at, strict=True))
            target = tuple(slice(i - b, j - b) for i, j, b in zip(low, high, begin, strict=True))
            part = values[source] if source else values
            if target:
                into[target] = part
            else:
                into.copy_(part)
            covered += part.numel()
        if covered != into.numel():
            raise FileFormatError(
                f"load: {self.folder}: a tensor of shape {tuple(entry['shape'])} is incomplete: "
                f"{covered} of {into.numel()} values were found"
            )

    def full(self, entry: dict[str, Any]) -> Tensor:
        result = _C.empty(tuple(entry["shape"]), dtype=entry["dtype"])
        self.fill(entry, result, (0,) * result.ndim)
        return result

    def decode(self, x: Any) -> Any:
        if isinstance(x, dict):
            if _KEY in x:
                return self.full(x)
            plain = {k: self.decode(v) for k, v in x.items()}
            return type(x)(plain) if type(x).__name__ == "OrderedDict" else plain
        if type(x) in (list, tuple):
            return type(x)(self.decode(v) for v in x)
        return x

    def into(self, target: Any, found: Any, path: str) -> Any:
        """``target`` with the values that were found; tensors are written in place."""
        if isinstance(found, dict) and _KEY in found:
            piece = as_piece(target)
            whole = tuple(found["shape"])
            if piece is None and not isinstance(target, Tensor):
                return self.full(found)
            shape = tuple(target.shape) if piece is None else piece.shape
            if shape != whole:
                raise ValueError(
                    f"load: {path or 'the state'} has shape {shape}, the checkpoint {whole}"
                )
            if piece is None:
                self.fill(found, target.detach(), (0,) * len(whole))
            elif piece.values is not None and piece.values.numel():
                self.fill(found, piece.values.detach(), piece.begin)
            return target
        if isinstance(target, dict) and isinstance(found, dict):
            missing = [k for k in target if k not in found]
            if missing:
                raise KeyError(f"load: the checkpoint has no {path}{missing[0]!r}")
            for k in list(target):
                target[k] = self.into(target[k], found[k], f"{path}{k}.")
            return target
        if isinstance(target, list) and isinstance(found, list) and len(target) == len(found):
            for i, value in enumerate(found):
                target[i] = self.into(target[i], value, f"{path}{i}.")
            return target
        return self.decode(found)


def read(checkpoint_id: str | os.PathLike[str]) -> Any:
    """The complete state of a checkpoint, with full tensors, on any number of ranks."""
    with _Reader(os.fspath(checkpoint_id)) as reader:
        return reader.decode(reader.state)


def load(state_dict: dict[str, Any], checkpoint_id: str | os.PathLike[str]) -> None:
    """Put the values of a checkpoint into ``state_dict``, in place.

    Of a distributed tensor only the part of this rank is read.

    >>> save({"w": genesis.ones(3)}, "weights")
    >>> state = {"w": genesis.zeros(3)}
    >>> load(state, "weights")
    >>> state
    {'w': tensor([1., 1., 1.])}
    """
    with _Reader(os.fspath(checkpoint_id)) as reader:
        reader.into(state_dict, reader.state, "")
