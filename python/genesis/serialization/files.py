"""`save` and `load`: which format, and how to tell what a file is."""

from __future__ import annotations

import functools
import json
import os
import pickle
from collections.abc import Callable, Mapping
from typing import IO, Any

from genesis import _C
from genesis.serialization import (
    arrays,
    safetensors,
    structure,
    torch_file,
    torch_objects,
    torch_writer,
)
from genesis.serialization.atomic import replacing
from genesis.serialization.errors import FileFormatError
from genesis.serialization.source import PathLike, Source

safe_classes: list[Any] = []  # see add_safe_globals


def save(
    obj: Any,
    f: PathLike | IO[bytes],
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    *,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tensors, and the dicts, lists, tuples, sets, numbers and strings around them, to ``f``.

    The format is safetensors; a path that ends in .pt or .pth gives one that torch.load reads, .npy
    and .npz give NumPy's. dtypes, shared memory, ``requires_grad`` and `nn.Parameter` are kept.
    ``metadata`` are strings for other readers of safetensors.
    Under the name of PyTorch (``genesis.torch``) the format is always PyTorch's, and any object
    that can be pickled is written; ``pickle_protocol`` is for those.
    A file at a path is replaced in one step: after a crash it is the old or the new one, whole.

    >>> genesis.save({"w": genesis.ones(2), "epoch": 3}, "model.safetensors")
    >>> genesis.load("model.safetensors")
    {'w': tensor([1., 1.]), 'epoch': 3}
    """
    if _C._is_exact_torch() and metadata is None:
        make = functools.partial(_torch_writer, obj, pickle_protocol)
    else:
        name = os.fspath(f) if isinstance(f, (str, os.PathLike)) else ""
        make = functools.partial(_writer, obj, name, metadata)
    if isinstance(f, (str, os.PathLike)):
        write = make()
        with replacing(f) as file:
            write(file)
    elif hasattr(f, "write"):
        make()(f)
    else:
        raise TypeError(f"save: expected a path or a binary file, got {type(f).__name__}")


def _torch_writer(obj: Any, protocol: int) -> Callable[[IO[bytes]], None]:
    try:
        return _writer(obj, "x.pt", None)
    except TypeError:  # an object of some class
        return torch_objects.writer(obj, protocol)


def _writer(obj: Any, path: str, metadata: Mapping[str, str] | None) -> Callable[[IO[bytes]], None]:
    """The writer for ``obj``; errors are found before a file is touched."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in (".npy", ".npz", ".pt", ".pth") and metadata:
        raise ValueError(f"save: a {suffix} file has no place for metadata; use .safetensors")
    if suffix in (".pt", ".pth"):
        storages, data = torch_writer.pickled(*structure.parts(obj))
        return lambda file: torch_writer.write(file, storages, data)
    if suffix in (".npy", ".npz"):
        write = arrays.write_npy if suffix == ".npy" else arrays.write_npz
        return lambda file: write(file, obj)
    found = safetensors.check_metadata(metadata)
    entries, tree = structure.encode(obj)
    if tree is not None:
        found["genesis"] = json.dumps(tree, separators=(",", ":"), allow_nan=False)
    return lambda file: safetensors.write(file, entries, found)


def load(
    f: PathLike | IO[bytes],
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = True,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what `save` or torch.save wrote, any safetensors file, or NumPy's .npy and .npz.

    The kind of file is told by its content. Nothing in it is executed: of a PyTorch file tensors
    and plain values are read, other objects are an error, or with ``weights_only=False`` come as
    data (`serialization.ForeignObject`). ``mmap=True`` maps the file at a path into memory instead
    of reading it; values come from the disk when they are used, and writing to them does not change
    the file. Tensors are put on the CPU wherever they were, so ``map_location`` may be None, a CPU
    device, a dict or a function, as PyTorch has it.
    Under the name of PyTorch (``genesis.torch``) ``weights_only=False`` is PyTorch's: the file is
    a program, which ``pickle_module`` runs and which makes objects of any class.

    >>> genesis.save([genesis.zeros(2), "two"], "pair.safetensors")
    >>> genesis.load("pair.safetensors", mmap=True)
    [tensor([0., 0.]), 'two']
    """
    _check_location(map_location)
    running = _C._is_exact_torch()
    if (pickle_module is not None or pickle_load_args) and not running:
        raise TypeError(
            "load: pickle_module and options of pickle are for programs of PyTorch; nothing in a "
            "file is executed here"
        )
    foreign: bool | torch_file.Executing = weights_only is not None and not weights_only
    if running and foreign:
        foreign = torch_file.Executing(None, pickle_module or pickle, pickle_load_args)
    with Source(f, bool(mmap)) as source:
        if running and not foreign and safe_classes:
            try:
                return _read(source, False)
            except FileFormatError:  # try again with the classes that add_safe_globals names
                foreign = torch_file.Executing(safe_classes, pickle, {})
        return _read(source, foreign)


def _check_location(location: Any) -> None:
    if location is None or callable(location):
        return
    for device in location.values() if isinstance(location, dict) else [location]:
        _C.empty(0, device=device)  # raises if there is no such device


def _read(source: Source, foreign: bool | torch_file.Executing) -> Any:
    head = source.read(0, min(source.size, 64), "the beginning")
    if head.startswith(b"PK\x03\x04"):
        source.from_start()
        return _read_zip(source, foreign)
    if head.startswith(arrays.NPY_START):
        return arrays.read_npy(source)
    if head.startswith(torch_file.LEGACY_START):
        return torch_file.read_legacy(source, foreign)
    if head[8:9] == b"{":
        return _read_safetensors(source)
    raise source.fail(_what_it_is(head))


def _read_zip(source: Source, foreign: bool | torch_file.Executing) -> Any:
    archive = torch_file.Archive(source)
    if archive.root is not None:
        return torch_file.read_zip(source, archive, foreign)
    if archive.records and all(name.endswith(".npy") for name in archive.records):
        return arrays.read_npz(source)
    names = ", ".join(list(archive.records)[:3])
    raise source.fail(
        f"it is a zip archive, but neither of torch.save nor of numpy.savez; it holds {names}"
    )


def _read_safetensors(source: Source) -> Any:
    metadata, items = safetensors.read_header(source)
    end = max((i.begin + i.numel * safetensors.ITEMSIZE[i.code] for i in items.values()), default=0)
    if "genesis" in metadata:
        try:
            tree = json.loads(metadata["genesis"])
        except (ValueError, RecursionError) as error:
            raise source.fail(f"the structure of the file is damaged: {error}") from None
        found = structure.decode(source, items, tree)
    else:
        found = {name: safetensors.read_tensor(source, item) for name, item in items.items()}
    if not source.is_path and items:
        source.file.seek(source.base + end)  # another object may follow in the same stream
    return found


def _what_it_is(head: bytes) -> str:
    kinds = {
        b"": "it is empty",
        b"<": "it is a web page or XML; the download failed, look at it with a text editor",
        b"version https://git-lfs": "it is a pointer of Git LFS, not the file; run `git lfs pull`",
        b"\x1f\x8b": "it is compressed with gzip; decompress it first",
        b"\x89HDF": "it is an HDF5 file; read it with h5py and save its arrays",
        b"GGUF": "it is a GGUF file; convert it to safetensors first",
        b"\x80": "it is a pickle but not of torch.save, and Genesis runs no code of files; load it "
        "where it was made and save its tensors with genesis.save or torch.save",
    }
    for start, text in kinds.items():
        if head.startswith(start) and (start or not head):
            return text
    return (
        f"it begins with {head[:16]!r}, which is none of safetensors, PyTorch's zip or older "
        "format, .npy and .npz; it is damaged or of another kind"
    )
