"""The safetensors format: 8 bytes with the length of a header, the header (JSON), raw values.

The header maps names to dtype, shape and place; its key "__metadata__" maps strings to strings.
Other libraries of the format read what is written here, and the other way round.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from genesis import _C
from genesis._C import Tensor
from genesis.serialization.atomic import replacing
from genesis.serialization.errors import FileFormatError
from genesis.serialization.source import PathLike, Source

if TYPE_CHECKING:
    import numpy as np

# complex128 is an extension: other libraries of the format have no code for it.
DTYPES: dict[str, _C.dtype] = {
    dtype._safetensors: dtype
    for dtype in vars(_C).values()
    if isinstance(dtype, _C.dtype) and dtype._safetensors is not None
} | {"C128": _C.complex128}
CODES = {dtype: code for code, dtype in DTYPES.items()}
ITEMSIZE = {code: dtype.itemsize for code, dtype in DTYPES.items()}

MAX_HEADER = 100_000_000  # as the other libraries have it
METADATA = "__metadata__"


@dataclass
class Entry:
    """What is to be written under a name: a tensor, or an array of NumPy."""

    name: str
    code: str
    shape: tuple[int, ...]
    values: Any

    @classmethod
    def of(cls, name: str, tensor: Tensor) -> Entry:
        return cls(name, CODES[tensor.dtype], tuple(tensor.shape), tensor)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * ITEMSIZE[self.code]

    def memory(self) -> memoryview:
        if isinstance(self.values, Tensor):
            flat = self.values.detach().contiguous().reshape(-1).view(dtype=_C.uint8)
            return memoryview(flat)
        import numpy as np

        return np.ascontiguousarray(self.values).reshape(-1).view(np.uint8).data


@dataclass(frozen=True)
class Item:
    """What a file has under a name; ``begin`` counts from the start of the file."""

    name: str
    code: str
    shape: tuple[int, ...]
    begin: int

    @property
    def numel(self) -> int:
        return math.prod(self.shape)


def write(file: IO[bytes], entries: Sequence[Entry], metadata: Mapping[str, str]) -> None:
    # The order of the header is that of the entries; the values come by size of element, which
    # keeps all of them aligned.
    places: dict[str, tuple[int, int]] = {}
    place = 0
    ordered = sorted(entries, key=lambda entry: -ITEMSIZE[entry.code])
    for entry in ordered:
        places[entry.name] = place, place + entry.nbytes
        place += entry.nbytes
    header: dict[str, Any] = {METADATA: dict(metadata)} if metadata else {}
    for entry in entries:
        header[entry.name] = {
            "dtype": entry.code,
            "shape": list(entry.shape),
            "data_offsets": list(places[entry.name]),
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER:
        raise ValueError(
            f"save: the names and plain values take {len(text)} bytes; the format allows "
            f"{MAX_HEADER}. Keep large data in tensors"
        )
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for entry in ordered:
        file.write(entry.memory())


def read_header(source: Source) -> tuple[dict[str, str], dict[str, Item]]:
    """Metadata and items, all of them checked: known dtypes, inside the file, not overlapping."""
    length = int.from_bytes(source.read(0, 8, "the length of the header"), "little")
    if length > min(MAX_HEADER, source.size - 8):
        raise source.fail(
            f"the header of a safetensors file should be {length} bytes long, but the file has "
            f"{source.size}; it is cut short or damaged"
        )
    header = _parse(source, source.read(8, length, "the header"))
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise source.fail(f"{METADATA} of the header must map strings to strings")
    items = {name: _item(source, name, value, 8 + length) for name, value in header.items()}
    end = 8 + length
    for item in sorted(items.values(), key=lambda item: (item.begin, item.numel)):
        if item.begin != end:
            raise source.fail(
                f"the values of {item.name!r} begin at byte {item.begin}, expected {end}: there "
                "must be no gap and no overlap; the header is damaged"
            )
        end += item.numel * ITEMSIZE[item.code]
    if source.is_path and end != source.size:
        raise source.fail(
            f"the header describes {end} bytes, but the file has {source.size}; it is "
            f"{'cut short' if end > source.size else 'damaged, or something was added to it'}"
        )
    return metadata, items


def _parse(source: Source, text: bytes) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a name appears twice")
        return found

    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise source.fail(f"the header is not what safetensors writes: {error}") from None
    if not isinstance(header, dict):
        raise source.fail(f"the header must be a JSON object, got {type(header).__name__}")
    return header


def _item(source: Source, name: str, value: Any, start: int) -> Item:
    def natural(n: Any) -> bool:
        return type(n) is int and 0 <= n < 1 << 62

    def wrong(text: str) -> FileFormatError:
        return source.fail(f"tensor {name!r}: {text}")

    if not isinstance(value, dict) or not {"dtype", "shape", "data_offsets"} <= value.keys():
        raise wrong("its header needs dtype, shape and data_offsets")
    code, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(code, str) or code not in ITEMSIZE:
        known = ", ".join(ITEMSIZE)
        raise wrong(
            f"dtype {code!r} has no counterpart; convert it before saving to one of {known}"
        )
    if not isinstance(shape, list) or not all(map(natural, shape)) or len(shape) > 64:
        raise wrong(f"shape {shape!r} is not a list of sizes")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(natural, offsets)):
        raise wrong(f"data_offsets {offsets!r} are not two numbers")
    begin, end = offsets
    needed = math.prod(shape) * ITEMSIZE[code]
    if end - begin != needed:
        raise wrong(f"{code} of shape {tuple(shape)} takes {needed} bytes, not {end - begin}")
    if start + end > source.size:
        raise wrong(
            f"its values end at byte {start + end}, but the file has {source.size}; it is cut short"
        )
    return Item(name, code, tuple(shape), start + begin)


def read_tensor(source: Source, item: Item) -> Tensor:
    flat = source.tensor(item.begin, item.numel, DTYPES[item.code], f"tensor {item.name!r}")
    return flat.reshape(item.shape)


def read_array(source: Source, item: Item) -> np.ndarray[Any, Any]:
    import numpy as np

    return np.asarray(read_tensor(source, item).numpy())


def save_file(
    tensors: Mapping[str, Tensor], filename: PathLike, metadata: Mapping[str, str] | None = None
) -> None:
    """Write only named tensors, each with its own memory.

    >>> save_file({"w": genesis.ones(2)}, "w.safetensors", metadata={"by": "me"})
    >>> load_file("w.safetensors")
    {'w': tensor([1., 1.])}
    """
    entries = []
    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor) or name == METADATA:
            raise TypeError(
                f"save_file: expected tensors by name, got {type(tensor).__name__} under {name!r}; "
                "genesis.save keeps nested and plain values too"
            )
        entries.append(Entry.of(name, tensor))
    with replacing(filename) as file:
        write(file, entries, check_metadata(metadata))


def load_file(filename: PathLike, device: Any = "cpu") -> dict[str, Tensor]:
    """The tensors of a safetensors file by name, without the structure that `save` keeps.

    >>> save_file({"w": genesis.zeros(1)}, "w.safetensors")
    >>> list(load_file("w.safetensors"))
    ['w']
    """
    _C.empty(0, device=device)  # raises if there is no such device
    with Source(filename) as source:
        _, items = read_header(source)
        return {name: read_tensor(source, item) for name, item in items.items()}


def read_metadata(filename: PathLike) -> dict[str, str]:
    """The strings that were given to `save` as ``metadata``; reads only the head of the file.

    >>> genesis.save({"w": genesis.zeros(1)}, "w.safetensors", metadata={"epoch": "3"})
    >>> read_metadata("w.safetensors")
    {'epoch': '3'}
    """
    with Source(filename) as source:
        metadata, _ = read_header(source)
    return {key: value for key, value in metadata.items() if key != "genesis"}


def check_metadata(metadata: Mapping[str, str] | None) -> dict[str, str]:
    found = dict(metadata or {})
    for key, value in found.items():
        if not isinstance(key, str) or not isinstance(value, str) or key == "genesis":
            raise TypeError(
                f"save: metadata must map strings to strings ('genesis' is taken), got "
                f"{key!r}: {value!r}; put other values into the object that is saved"
            )
    return found
