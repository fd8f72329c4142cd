"""Reads what torch.save writes: a zip archive with a pickle and the raw storages, or the older
format, in which pickles and storages follow each other.

Each storage becomes one flat tensor, and the tensors on it are views, so sharing is kept. Sizes,
strides and offsets are checked against the storage, storages against the file.
"""

from __future__ import annotations

import struct
import sys
import zipfile
import zlib
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Any, NoReturn

from genesis import _C
from genesis._C import Tensor
from genesis.serialization import pickled_objects
from genesis.serialization.errors import FileFormatError
from genesis.serialization.source import Source
from genesis.serialization.torch_pickle import Reader
from genesis.serialization.unpickle import Machine, Name

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_START = b"\x80\x02\x8a\x0a" + LEGACY_MAGIC.to_bytes(10, "little")

_STORAGES = {
    "torch.BoolStorage": _C.bool,
    "torch.ByteStorage": _C.uint8,
    "torch.CharStorage": _C.int8,
    "torch.ShortStorage": _C.int16,
    "torch.IntStorage": _C.int32,
    "torch.LongStorage": _C.int64,
    "torch.HalfStorage": _C.float16,
    "torch.BFloat16Storage": _C.bfloat16,
    "torch.FloatStorage": _C.float32,
    "torch.DoubleStorage": _C.float64,
    "torch.ComplexFloatStorage": _C.complex64,
    "torch.ComplexDoubleStorage": _C.complex128,
    "torch.UntypedStorage": _C.uint8,
    "torch.storage.UntypedStorage": _C.uint8,
}
_NO_COUNTERPART = ["complex32", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
# Tensors of these refer to bytes, and store their dtype separately.
_BY_NAME = (_C.uint16, _C.uint32, _C.uint64, _C.float8_e4m3fn, _C.float8_e5m2)
_VALUES: dict[str, Any] = {
    **{f"torch.{d.name}": d for d in (*_STORAGES.values(), *_BY_NAME)},
    **{name: Name(name) for name in _STORAGES},
}


def wrong(text: str) -> NoReturn:
    raise FileFormatError(text)


def _shown(x: Any) -> str:
    """For messages. Not repr: that of nested tuples from a hostile file may never end."""
    return repr(x)[:60] if isinstance(x, (str, int, float, bytes)) else f"a {type(x).__name__}"


def _rebuild_tensor(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any = False,
    hooks: Any = None,
    metadata: Any = None,
) -> Tensor:
    numbers = (offset, *size, *stride)
    if not isinstance(storage, Tensor) or not isinstance(requires_grad, bool):
        wrong("a tensor has no storage, or requires_grad is not a bool")
    if not all(type(n) is int and 0 <= n < 1 << 62 for n in numbers) or len(size) != len(stride):
        wrong("the offset, size and stride of a tensor are not numbers of elements")
    # The C++ side has 64-bit arithmetic; Python's integers cannot overflow, so they decide.
    reach = offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if 0 not in size and reach > storage.numel():
        wrong(
            f"a tensor of size {tuple(size)} and stride {tuple(stride)} at {offset} reaches "
            f"outside its storage of {storage.numel()} elements"
        )
    if 0 in size:
        stride, offset = [0] * len(size), 0
    if len(size) > 64:
        wrong(f"a tensor has {len(size)} dimensions")
    try:
        tensor = storage.as_strided(size, stride, storage.storage_offset() + offset)
        return tensor.requires_grad_() if requires_grad else tensor
    except (RuntimeError, ValueError, TypeError, OverflowError) as error:
        wrong(f"a tensor of size {tuple(size)} cannot be rebuilt: {error}")


def _rebuild_tensor_v3(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    requires_grad: Any,
    hooks: Any,
    dtype: Any,
    metadata: Any = None,
) -> Tensor:
    if not isinstance(dtype, _C.dtype) or not isinstance(storage, Tensor):
        name = dtype.text if isinstance(dtype, Name) else _shown(dtype)
        wrong(f"a tensor has dtype {name}, which has no counterpart; convert it before saving")
    if storage.numel() * storage.dtype.itemsize % dtype.itemsize:
        wrong(f"{storage.numel()} bytes are not a multiple of the size of {dtype} elements")
    return _rebuild_tensor(storage.view(dtype=dtype), offset, size, stride, requires_grad)


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Tensor:
    from genesis import sparse

    name = str(layout).rpartition(".")[2]
    if name == "sparse_coo":
        indices, values, size = data[:3]
        return sparse.sparse_coo_tensor(
            indices, values, size, is_coalesced=len(data) > 3 and bool(data[3])
        )
    makers = {"sparse_csr": sparse.sparse_csr_tensor, "sparse_csc": sparse.sparse_csc_tensor}
    if name not in makers:
        raise ValueError(f"load: tensors of layout {name} are not supported")
    return makers[name](*data[:4])


def _rebuild_parameter(data: Any, requires_grad: Any, hooks: Any, state: Any = None) -> Tensor:
    from genesis.nn.parameter import Parameter

    if not isinstance(data, Tensor) or not isinstance(requires_grad, bool):
        wrong("a parameter has no tensor")
    if requires_grad and not (data.is_floating_point() or data.is_complex()):
        wrong(f"a parameter of dtype {data.dtype} requires grad")
    return Parameter(data, requires_grad)


def _empty_of(kind: type[Any]) -> Any:
    """The result of OrderedDict() etc.: empty, since items follow as separate opcodes."""

    def make(pairs: Any = ()) -> Any:
        found = kind()
        for key, value in pairs:
            if not isinstance(key, (str, int, float, bool, bytes, type(None))):
                wrong(f"a {type(key).__name__} is used as a key")
            found[key] = value
        return found

    return make


def _counter(counts: Any = None) -> Counter[Any]:
    if counts is not None and not isinstance(counts, dict):
        wrong("a Counter holds something that is not a dict")
    return Counter(counts)


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        wrong("bytes are stored in an unknown way")
    try:
        return text.encode("latin1")
    except UnicodeEncodeError:
        wrong("bytes are stored in an unknown way")


def _bytearray(data: Any = b"", encoding: Any = "latin1") -> bytearray:
    return bytearray(data if isinstance(data, bytes) else _encode(data, encoding))


def _elements(kind: Any) -> Any:
    def make(values: Any = ()) -> Any:
        plain = (str, int, float, bool, bytes, type(None))
        if not isinstance(values, (list, tuple)) or not all(isinstance(v, plain) for v in values):
            wrong(f"a {kind.__name__} holds something that is not plain")
        return kind(values)

    return make


def _size(values: Any) -> Any:
    if not isinstance(values, (list, tuple)) or not all(type(v) is int for v in values):
        wrong("a torch.Size holds something that is not a number")
    return _C.Size(values)


def _complex(real: Any, imaginary: Any) -> complex:
    return complex(float(real), float(imaginary))


_CALLS: dict[str, Any] = {
    "collections.OrderedDict": _empty_of(OrderedDict),
    "collections.Counter": _counter,
    "collections.defaultdict": lambda factory=None: {},
    "torch._utils._rebuild_tensor": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v3": _rebuild_tensor_v3,
    "torch._utils._rebuild_sparse_tensor": _rebuild_sparse_tensor,
    "torch._utils._rebuild_parameter": _rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": _rebuild_parameter,
    "torch.Size": _size,
    "torch.device": lambda kind, index=None: _C.device("cpu"),
    "torch.serialization._get_layout": lambda name: str(name),
    "_codecs.encode": _encode,
    **{
        f"{module}.{kind.__name__}": _elements(kind)
        for module in ("builtins", "__builtin__")
        for kind in (set, frozenset)
    },
    "builtins.complex": _complex,
    "__builtin__.complex": _complex,
    "builtins.bytearray": _bytearray,
    "__builtin__.bytearray": _bytearray,
    **pickled_objects.CALLS,
}
# A factory is only a name, so a defaultdict is restored as a dict.
_VALUES.update(pickled_objects.VALUES)
_VALUES.update(
    {f"{m}.{n}": n for m in ("builtins", "__builtin__") for n in ("dict", "list", "int")}
)


@dataclass
class Executing:
    """How to read objects of other classes: by running their pickle with this module.

    ``allowed`` are the classes that may be used, None for all.
    """

    allowed: list[Any] | None
    module: Any
    options: dict[str, Any]


def _machine(
    source: Source, data: bytes, persistent: Any, foreign: bool | Executing, start: int = 0
) -> Machine | Reader:
    if isinstance(foreign, Executing):
        how = (foreign.allowed, foreign.module, foreign.options)
        return Reader(data, _CALLS, _STORAGES, persistent, start, *how)
    values = dict(_VALUES)
    for name in _NO_COUNTERPART:
        values[f"torch.{name}"] = Name(f"torch.{name}")
    return Machine(data, _CALLS, values, persistent, foreign, start)


def _reference(pid: Any) -> tuple[_C.dtype, str, int]:
    """dtype, key and number of elements of a reference to a storage."""
    if not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage":
        wrong(f"it refers to {_shown(pid)}, not to a storage")
    kind, key, count = pid[1], pid[2], pid[4]
    if not isinstance(kind, Name) or kind.text not in _STORAGES:
        name = kind.text if isinstance(kind, Name) else _shown(kind)
        wrong(f"a storage is of {name}, which has no counterpart; convert it before saving")
    if not isinstance(key, str) or type(count) is not int or not 0 <= count < 1 << 62:
        wrong(f"a storage has key {_shown(key)} and {_shown(count)} elements")
    return _STORAGES[kind.text], key, count


# ---- zip archives ------------------------------------------------------------------------------


class Archive:
    def __init__(self, source: Source) -> None:
        self.source = source
        try:
            with zipfile.ZipFile(source.file) as archive:
                infos = archive.infolist()
        except Exception as error:
            raise source.fail(
                f"it begins as a zip archive but cannot be read as one ({error}); it is cut short "
                "or damaged, copy or download it again"
            ) from None
        self.records = {info.filename: info for info in infos}
        roots = [name[: -len("data.pkl")] for name in self.records if name.endswith("data.pkl")]
        self.root = min(roots, key=len, default=None)
        self.storages: dict[str, Tensor] = {}
        self.bytes = 0

    def place(self, name: str) -> tuple[int, int]:
        """Where the bytes of a record are: their offset and number."""
        info = self.records.get(name)
        if info is None:
            wrong(f"its record {name!r} is missing")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            wrong(f"its record {name!r} is compressed, which PyTorch's are not")
        head = self.source.read(info.header_offset, 30, f"record {name!r}")
        if head[:4] != b"PK\x03\x04":
            wrong(f"its record {name!r} is not where the directory says")
        names, extras = struct.unpack("<HH", head[26:30])
        return info.header_offset + 30 + names + extras, info.file_size

    def read(self, name: str) -> bytes:
        data = self.source.read(*self.place(name), f"record {name!r}")
        self.check(name, data)
        return data

    def check(self, name: str, data: Any) -> None:
        if zlib.crc32(data) != self.records[name].CRC:
            wrong(
                f"the checksum of its record {name!r} is wrong: the file is damaged, or was "
                "written without checksums; mmap=True does not check those of tensors"
            )

    def storage(self, pid: Any) -> Tensor:
        dtype, key, count = _reference(pid)
        if key not in self.storages:
            self.storages[key] = self.load(f"{self.root}data/{key}", dtype, count)
        found = self.storages[key]
        if found.dtype != dtype or found.numel() != count:
            wrong(f"storage {key!r} is used as {count} of {dtype}, and as {found.numel()} before")
        return found

    def load(self, name: str, dtype: _C.dtype, count: int) -> Tensor:
        offset, size = self.place(name)
        if count * dtype.itemsize > size:
            wrong(f"storage {name!r} has {size} bytes, too few for {count} of {dtype}")
        self.bytes += size
        if self.bytes > self.source.size:
            wrong("its records overlap")
        values = self.source.tensor(offset, count, dtype, f"storage {name!r}")
        swapped = self.order() != sys.byteorder
        if self.source.map is None and count:
            whole = count * dtype.itemsize == size
            memory = memoryview(values.view(dtype=_C.uint8))
            self.check(name, memory if whole else self.source.read(offset, size, name))
        return _swapped(values) if swapped else values

    def order(self) -> str:
        name = f"{self.root}byteorder"
        return self.read(name).decode("ascii", "replace") if name in self.records else "little"


def _swapped(values: Tensor) -> Tensor:
    item = values.dtype.itemsize
    pairs = values.view(dtype=_C.uint8).reshape(-1, item).flip(1)
    return pairs.contiguous().reshape(-1).view(dtype=values.dtype)


def read_zip(source: Source, archive: Archive, foreign: bool | Executing) -> Any:
    root = archive.root
    if any(name.startswith(f"{root}code/") for name in archive.records):
        raise source.fail(
            "it is a TorchScript program (torch.jit.save), which is code; save the state_dict() of "
            "the model with torch.save instead"
        )
    try:
        data = archive.read(f"{root}data.pkl")
        return _machine(source, data, archive.storage, foreign).run()
    except FileFormatError as error:
        raise source.fail(str(error).removeprefix(f"load: {source.name}: ")) from None


# ---- the older format --------------------------------------------------------------------------


class Legacy:
    """Pickles of a magic number, a version and the system; the object; the keys of the storages;
    then each storage as its number of elements and its values."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.storages: dict[str, Tensor] = {}
        self.bytes = 0

    def storage(self, pid: Any) -> Tensor:
        dtype, key, count = _reference(pid)
        if key not in self.storages:
            self.bytes += count * dtype.itemsize
            if self.bytes > self.source.size:
                wrong(f"storage {key!r} should have {count} of {dtype}, more than the file")
            self.storages[key] = _C.empty(count, dtype=dtype)
        found = self.storages[key]
        if found.dtype != dtype or found.numel() != count:
            wrong(f"storage {key!r} is used as {count} of {dtype}, and as {found.numel()} before")
        view = pid[5] if len(pid) > 5 else None
        if view is None:
            return found
        if not isinstance(view, tuple) or len(view) != 3 or type(view[1]) is not int:
            wrong("a storage is an unknown part of another")
        return _rebuild_tensor(found, view[1], (view[2],), (1,))

    def read(self, foreign: bool | Executing) -> Any:
        source = self.source
        data = source.read(0, source.size, "the file")
        place = 0
        found: list[Any] = []
        for is_object in (False, False, False, True, False):
            machine = _machine(source, data, self.storage, is_object and foreign, place)
            found.append(machine.run())
            place = machine.end
        magic, version, system, result, keys = found
        if magic != LEGACY_MAGIC or version != 1001:
            wrong(f"its version is {_shown(version)}, expected 1001")
        if isinstance(system, dict) and system.get("little_endian") is False:
            wrong("it was written on a machine with the other order of bytes; save it again")
        strings = isinstance(keys, list) and all(isinstance(key, str) for key in keys)
        if not strings or set(keys) != set(self.storages) or len(keys) != len(self.storages):
            wrong("the storages at its end are not those that its tensors use")
        for key in keys:
            values = self.storages[key]
            count = int.from_bytes(source.read(place, 8, f"storage {key!r}"), "little", signed=True)
            if count != values.numel():
                wrong(f"storage {key!r} has {count} elements, expected {values.numel()}")
            source.fill(values, place + 8, f"storage {key!r}")
            place += 8 + values.numel() * values.dtype.itemsize
        return result


def read_legacy(source: Source, foreign: bool | Executing) -> Any:
    try:
        return Legacy(source).read(foreign)
    except FileFormatError as error:
        raise source.fail(str(error).removeprefix(f"load: {source.name}: ")) from None
