"""Writes what torch.load reads (with its default, weights_only=True): a zip archive of a pickle
and the raw storages.

The object is brought into the tree of `structure.py` first; here the tree becomes the few opcodes
of pickle that it needs.
"""

from __future__ import annotations

import base64
import io
import struct
import sys
import zipfile
from typing import IO, Any

from genesis.serialization.pickled_objects import NUMPY_CODES
from genesis.serialization.safetensors import DTYPES, Entry

ALIGN = 64  # of storages in the file, so that they can be mapped
_STORAGE = {
    "BOOL": "Bool",
    "U8": "Byte",
    "I8": "Char",
    "I16": "Short",
    "I32": "Int",
    "I64": "Long",
    "F16": "Half",
    "BF16": "BFloat16",
    "F32": "Float",
    "F64": "Double",
    "C64": "ComplexFloat",
    "C128": "ComplexDouble",
}


class Pickler:
    def __init__(self, entries: list[Entry], table: list[Any]) -> None:
        self.entries = {entry.name: entry for entry in entries}
        self.storages: list[Entry] = []  # of tensors; NumPy's arrays are in the pickle
        self.keys: dict[str, str] = {}
        self.table = table
        self.memo: dict[int, int] = {}  # of tensors, so that repeated ones are written once
        self.out = bytearray(b"\x80\x02")

    def name(self, module: str, name: str) -> None:
        self.out += f"c{module}\n{name}\n".encode()

    def text(self, x: str) -> None:
        data = x.encode("utf-8", "surrogatepass")
        self.out += b"X" + struct.pack("<I", len(data)) + data

    def integer(self, x: int) -> None:
        if 0 <= x < 256:
            self.out += b"K" + bytes([x])
        elif -(1 << 31) <= x < 1 << 31:
            self.out += b"J" + struct.pack("<i", x)
        else:
            data = x.to_bytes(x.bit_length() // 8 + 1, "little", signed=True)
            short = len(data) < 256
            size = bytes([len(data)]) if short else struct.pack("<i", len(data))
            self.out += (b"\x8a" if short else b"\x8b") + size + data

    def plain(self, x: Any) -> None:
        if x is None:
            self.out += b"N"
        elif isinstance(x, bool):
            self.out += b"\x88" if x else b"\x89"
        elif isinstance(x, int):
            self.integer(x)
        elif isinstance(x, float):
            self.out += b"G" + struct.pack(">d", x)
        else:
            self.text(x)

    def call(self, module: str, name: str, *args: Any) -> None:
        """A call with plain arguments and tuples of them."""
        self.name(module, name)
        self.values(args)
        self.out += b"R"

    def values(self, x: tuple[Any, ...]) -> None:
        self.out += b"("
        for value in x:
            self.values(value) if isinstance(value, tuple) else self.plain(value)
        self.out += b"t"

    def write(self, node: Any) -> None:
        """Opcodes for a node of the tree."""
        if isinstance(node, list):
            self.elements(node)
            return
        if not isinstance(node, dict):
            self.plain(node)
            return
        kind, value = next(iter(node.items()))
        if kind in ("dict", "OrderedDict"):
            self.mapping(node, kind, value)
        elif kind == "tensor":
            self.tensor(value)
        elif kind == "sparse":
            self.sparse(*value)
        elif kind == "float":
            self.plain(float(value))
        elif kind == "tuple":
            self.out += b"("
            for element in value:
                self.write(element)
            self.out += b"t"
        elif kind == "set":
            self.name("__builtin__", "set")
            self.elements(value)
            self.out += b"\x85R"
        elif kind in ("bytes", "bytearray"):
            self.bytes(kind, base64.b64decode(value))
        elif kind == "complex":
            self.call("__builtin__", "complex", float(value[0]), float(value[1]))
        elif kind == "size":
            self.call("torch", "Size", tuple(value))
        elif kind == "dtype":
            self.name("torch", value)
        elif kind == "device":
            self.call("torch", "device", value)
        elif kind == "frozenset":
            self.name("__builtin__", "frozenset")
            self.elements(value)
            self.out += b"\x85R"
        elif kind == "slice":
            self.call("__builtin__", "slice", *value)
        elif kind == "path":
            self.call("pathlib", *value)
        elif kind == "enum":
            self.own_class(value[0])
            self.write(value[1])
            self.out += b"\x85R"
        elif kind == "dataclass":
            self.own_class(value[0])
            self.out += b")\x81"
            self.state(value[1])
        elif kind in ("Namespace", "SimpleNamespace"):
            self.call("argparse" if kind == "Namespace" else "types", kind)
            self.state(value)
        elif kind == "ndarray":
            self.array(self.entries[value])
        elif kind == "scalar":
            self.name("numpy.core.multiarray", "scalar")
            self.out += b"("
            self.dtype(value[0])
            self.bytes("bytes", base64.b64decode(value[1]))
            self.out += b"tR"
        else:
            raise TypeError(
                f"save: PyTorch's files do not hold a {kind}; convert it to a tensor or a plain "
                "value, or choose a name that ends in .safetensors"
            )

    def own_class(self, name: str) -> None:
        module, _, path = name.partition(":")
        if "." in path:
            raise TypeError(
                f"save: {path} is a class inside another one, which PyTorch's files do not hold; "
                "choose a name that ends in .safetensors"
            )
        self.name(module, path)

    def state(self, fields: dict[str, Any]) -> None:
        self.out += b"}("
        for key, value in fields.items():
            self.text(key)
            self.write(value)
        self.out += b"ub"

    def dtype(self, name: str) -> None:
        import numpy as np

        self.call("numpy", "dtype", np.dtype(name).str.lstrip("<|>="), False, True)
        self.values((3, "<", None, None, None, -1, -1, 0))
        self.out += b"b"

    def array(self, entry: Entry) -> None:
        self.name("numpy.core.multiarray", "_reconstruct")
        self.out += b"("
        self.name("numpy", "ndarray")
        self.values((0,))
        self.bytes("bytes", b"b")
        self.out += b"tR("
        self.integer(1)
        self.values(tuple(entry.shape))
        self.dtype(NUMPY_CODES[entry.code])
        self.out += b"\x89"
        self.bytes("bytes", bytes(entry.memory()))
        self.out += b"tb"

    def elements(self, x: list[Any]) -> None:
        self.out += b"]("
        for element in x:
            self.write(element)
        self.out += b"e"

    def mapping(self, node: dict[str, Any], kind: str, value: Any) -> None:
        if kind == "dict":
            self.out += b"}"
        else:
            self.call("collections", "OrderedDict")
        self.out += b"("
        for key, element in value.items() if isinstance(value, dict) else value:
            self.text(key) if isinstance(value, dict) else self.write(key)
            self.write(element)
        self.out += b"u"
        if kind == "OrderedDict" and "_metadata" in node:
            self.out += b"}"
            self.text("_metadata")
            self.write(node["_metadata"])
            self.out += b"sb"

    def bytes(self, kind: str, data: bytes) -> None:
        if kind == "bytearray":
            self.name("__builtin__", "bytearray")
        self.call("_codecs", "encode", data.decode("latin1"), "latin1")
        if kind == "bytearray":
            self.out += b"\x85R"

    def sparse(
        self,
        kind: str,
        size: list[int],
        coalesced: bool,
        requires_grad: bool,
        index: int,
        stored: int,
    ) -> None:
        if kind != "sparse_coo":
            raise TypeError(
                f"save: PyTorch's files hold sparse tensors of layout sparse_coo here, got {kind}; "
                "use x.to_sparse_coo(), or choose a name that ends in .safetensors"
            )
        self.name("torch._utils", "_rebuild_sparse_tensor")
        self.out += b"("
        self.call("torch.serialization", "_get_layout", f"torch.{kind}")
        self.out += b"("
        self.tensor(index)
        self.tensor(stored)
        self.call("torch", "Size", tuple(size))
        self.plain(coalesced)
        self.out += b"ttR"

    def tensor(self, number: int) -> None:
        if number in self.memo:
            self.out += b"j" + struct.pack("<I", self.memo[number])
            return
        row = self.table[number]
        row = {"entry": row} if isinstance(row, str) else row
        entry = self.entries[row["entry"]]
        shape = tuple(row.get("shape", entry.shape))
        stride = tuple(row.get("stride", contiguous(shape)))
        if row.get("dtype", entry.code) != entry.code:
            raise TypeError(
                "save: PyTorch's files cannot hold tensors that view the same memory as different "
                "dtypes; clone() one, or choose a name that ends in .safetensors"
            )
        if entry.name not in self.keys:
            self.keys[entry.name] = str(len(self.storages))
            self.storages.append(entry)
        parameter, grad = row.get("parameter", False), row.get("requires_grad", False)
        if parameter:
            self.name("torch._utils", "_rebuild_parameter")
            self.out += b"("
        dtype = DTYPES[entry.code]
        typed = entry.code in _STORAGE  # of the other dtypes there are bytes only
        self.name("torch._utils", "_rebuild_tensor_v2" if typed else "_rebuild_tensor_v3")
        self.out += b"(("
        self.text("storage")
        if typed:
            self.name("torch", f"{_STORAGE[entry.code]}Storage")
        else:
            self.name("torch.storage", "UntypedStorage")
        self.text(self.keys[entry.name])
        self.text("cpu")
        self.integer(entry.nbytes // dtype.itemsize if typed else entry.nbytes)
        self.out += b"tQ"
        self.integer(row.get("offset", 0))
        self.values(shape)
        self.values(stride)
        self.plain(grad and not parameter)
        self.call("collections", "OrderedDict")
        if not typed:
            self.name("torch", dtype.name)
        self.out += b"tR"
        if parameter:
            self.plain(grad)
            self.call("collections", "OrderedDict")
            self.out += b"tR"
        self.memo[number] = len(self.memo)
        self.out += b"r" + struct.pack("<I", self.memo[number])


def contiguous(shape: tuple[int, ...]) -> list[int]:
    strides: list[int] = []
    step = 1
    for n in reversed(shape):
        strides.insert(0, step)
        step *= max(n, 1)
    return strides


def pickled(entries: list[Entry], tree: Any, table: list[Any]) -> tuple[list[Entry], bytes]:
    """The storages that the pickle refers to by number, and the pickle."""
    pickler = Pickler(entries, table)
    pickler.write(tree)
    return pickler.storages, bytes(pickler.out + b".")


def write(file: IO[bytes], entries: list[Entry], data: bytes) -> None:
    if not file.seekable():  # such as a member of an archive that is being written
        memory = io.BytesIO()
        write(memory, entries, data)
        file.write(memory.getbuffer())
        return
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _record(archive, file, "data.pkl", memoryview(data))
        _record(archive, file, "byteorder", memoryview(sys.byteorder.encode()))
        for i, entry in enumerate(entries):
            _record(archive, file, f"data/{i}", entry.memory())
        _record(archive, file, "version", memoryview(b"3\n"))


def _record(archive: zipfile.ZipFile, file: IO[bytes], name: str, data: memoryview) -> None:
    info = zipfile.ZipInfo(f"archive/{name}")
    large = data.nbytes >= 1 << 31
    start = file.tell() + 30 + len(info.filename) + 20 * large + 4
    padding = -start % ALIGN
    info.extra = struct.pack("<HH", 0x4246, padding) + bytes(padding)  # an unused id
    with archive.open(info, "w", force_zip64=large) as record:
        record.write(data)
