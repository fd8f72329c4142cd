"""The structure around tensors (dicts, lists, numbers) as JSON, and which tensors share memory.

`encode` turns an object into a tree and a list of entries to be written; `decode` is its inverse.
In the tree, None, bool, int, str, finite floats and lists stand for themselves; everything else is
an object with one key that names its kind: {"tuple": [...]}, {"dict": {...}}, {"tensor": 3}, ...
A number of a tensor points into a table, so that one tensor met twice is one tensor again.
A dict of plain tensors under strings needs no tree at all: the names in the file say everything.
"""

from __future__ import annotations

import base64
import math
from collections import OrderedDict
from typing import Any, NoReturn

from genesis import _C
from genesis._C import Tensor
from genesis.serialization import objects, safetensors
from genesis.serialization.errors import FileFormatError
from genesis.serialization.safetensors import DTYPES, METADATA, Entry, Item
from genesis.serialization.sharing import overlapping
from genesis.serialization.source import Source

VERSION = 1


class Encoder:
    def __init__(self) -> None:
        self.tensors: list[
            tuple[str, Tensor]
        ] = []  # by number, each with the name under which it was found
        self.numbers: dict[int, int] = {}
        self.arrays: list[Entry] = []
        self.names: set[str] = {METADATA}
        self.open: set[int] = set()  # containers that are being encoded, to find cycles

    def name(self, path: list[str]) -> str:
        wanted = name = ".".join(path) or "tensor"
        count = 1
        while name in self.names:
            count += 1
            name = f"{wanted}~{count}"
        self.names.add(name)
        return name

    def encode(self, x: Any, path: list[str]) -> Any:
        kind = type(x)
        if x is None or kind in (bool, int, str):
            return x
        if kind is float:
            return x if math.isfinite(x) else {"float": repr(x)}
        if isinstance(x, Tensor):
            if kind is not Tensor and hasattr(x, "_stored"):
                return self.sparse(x, path)
            return {"tensor": self.tensor(x, path)}
        if kind in (list, tuple, set, frozenset, dict, OrderedDict):
            return self.container(x, path)
        if kind is bytes or kind is bytearray:
            return {kind.__name__: base64.b64encode(x).decode()}
        if kind is complex:
            return {"complex": [repr(x.real), repr(x.imag)]}
        if kind is _C.Size:
            return {"size": list(x)}
        if kind is _C.dtype:
            return {"dtype": x.name}
        if kind is _C.device:
            return {"device": str(x)}
        if kind is slice:
            return {"slice": [self.encode(v, path) for v in (x.start, x.stop, x.step)]}
        if kind.__module__ == "numpy":
            return self.numpy(x, path)
        simple = objects.encode_simple(x, lambda value: self.encode(value, path))
        if simple is not None:
            return simple
        fields = objects.fields_of(x)
        if fields is not None:
            return self.fields(x, fields, path)
        self.refuse(x, path)

    def refuse(self, x: Any, path: list[str]) -> NoReturn:
        at = "the object" if not path else "the value at " + " -> ".join(path)
        kind = f"{type(x).__module__}.{type(x).__qualname__}"
        way = (
            "save x.state_dict()"
            if hasattr(x, "state_dict")
            else "save tuple(x) or x._asdict()"
            if hasattr(x, "_asdict")
            else "save what it is made of (tensors, arrays, numbers, strings, lists, dicts, "
            "namespaces, dataclasses)"
        )
        raise TypeError(f"save: {at} is a {kind}, which files do not hold; {way}")

    def fields(self, x: Any, values: dict[str, Any], path: list[str]) -> Any:
        """A namespace or a dataclass, field by field."""
        self.enter(x, path)
        found = {name: self.encode(value, [*path, name]) for name, value in values.items()}
        self.open.discard(id(x))
        kind, name = objects.head_of(x)
        return {kind: [name, found] if name else found}

    def enter(self, x: Any, path: list[str]) -> None:
        if id(x) in self.open:
            raise ValueError(f"save: the value at {' -> '.join(path)} contains itself")
        self.open.add(id(x))

    def tensor(self, x: Tensor, path: list[str]) -> int:
        number = self.numbers.get(id(x))
        if number is None:
            number = self.numbers[id(x)] = len(self.tensors)
            self.tensors.append((self.name(path), x))
        return number

    def sparse(self, x: Any, path: list[str]) -> Any:
        """A sparse tensor, by its parts."""
        index, stored, size, kind, coalesced, requires_grad = x.__reduce_ex__(2)[1]
        name = str(kind).removeprefix("genesis.")
        parts = [self.tensor(index, [*path, "indices"]), self.tensor(stored, [*path, "values"])]
        return {"sparse": [name, list(size), coalesced, requires_grad, *parts]}

    def container(self, x: Any, path: list[str]) -> Any:
        self.enter(x, path)
        kind = type(x)
        found: Any
        if kind in (dict, OrderedDict):
            found = self.mapping(x, path)
        else:
            values = sorted(x, key=repr) if kind in (set, frozenset) else x
            found = [self.encode(v, [*path, str(i)]) for i, v in enumerate(values)]
            if kind is not list:
                found = {kind.__name__: found}
        self.open.discard(id(x))
        return found

    def mapping(self, x: dict[Any, Any], path: list[str]) -> Any:
        kind = type(x).__name__
        found: dict[str, Any]
        if all(type(k) is str for k in x):
            found = {kind: {k: self.encode(v, [*path, k]) for k, v in x.items()}}
        else:
            pairs = []
            for key, value in x.items():
                name = str(key) if isinstance(key, (int, str, float)) else repr(key)
                pairs.append([self.encode(key, [*path, name]), self.encode(value, [*path, name])])
            found = {kind: pairs}
        versions = getattr(x, "_metadata", None)  # of a module's state_dict()
        if versions is not None:
            found["_metadata"] = self.encode(versions, [*path, "_metadata"])
        return found

    def numpy(self, x: Any, path: list[str]) -> Any:
        import numpy as np

        if not isinstance(x, (np.ndarray, np.generic)):
            self.refuse(x, path)
        names = {str(d).removeprefix("genesis."): code for code, d in DTYPES.items()}
        code = names.get(x.dtype.name)
        if code is None:
            at = " -> ".join(path) or "the top"
            raise TypeError(
                f"save: the array at {at} has dtype {x.dtype}, which files do not hold; convert it "
                "with astype() or view()"
            )
        native = np.asarray(x, dtype=x.dtype.newbyteorder("<"))
        if isinstance(x, np.generic):
            return {"scalar": [x.dtype.name, base64.b64encode(native.tobytes()).decode()]}
        entry = Entry(self.name(path), code, x.shape, native)
        self.arrays.append(entry)
        return {"ndarray": entry.name}


def check(x: Any) -> None:
    """Raise what `encode` would: a file of ``x`` could not be written. Nothing is copied."""
    Encoder().encode(x, [])


def parts(x: Any) -> tuple[list[Entry], Any, list[Any]]:
    """Entries to be written, the tree around them, and the table of tensors."""
    encoder = Encoder()
    tree = encoder.encode(x, [])
    entries, table = overlapping(encoder.tensors)
    return [*entries, *encoder.arrays], tree, table


def encode(x: Any) -> tuple[list[Entry], dict[str, Any] | None]:
    """Entries to be written, and the structure around them (None for a dict of plain tensors)."""
    entries, tree, table = parts(x)
    flat = (
        type(x) is dict
        and all(type(k) is str and type(v) is Tensor for k, v in x.items())
        and table == list(x)
    )
    if flat:
        return entries, None
    return entries, {"version": VERSION, "tree": tree, "tensors": table}


class Decoder:
    """Every step checks its input; a wrong type anywhere is an error in the file."""

    def __init__(self, source: Source, items: dict[str, Item], table: list[Any]) -> None:
        self.source = source
        self.items = items
        self.table = table
        self.memory: dict[str, Tensor] = {}
        self.tensors: dict[int, Tensor] = {}

    def fail(self, what: Any) -> NoReturn:
        raise self.source.fail(f"the structure of the file is damaged at {str(what)[:80]!r}")

    def item(self, name: Any) -> Item:
        if not isinstance(name, str) or name not in self.items:
            self.fail(name)
        return self.items[name]

    def of_entry(self, name: Any) -> Tensor:
        item = self.item(name)
        if name not in self.memory:
            self.memory[name] = safetensors.read_tensor(self.source, item)
        return self.memory[name]

    def tensor(self, number: Any) -> Tensor:
        if type(number) is not int or not 0 <= number < len(self.table):
            self.fail(number)
        if number not in self.tensors:
            self.tensors[number] = self.rebuild(self.table[number])
        return self.tensors[number]

    def rebuild(self, row: Any) -> Tensor:
        if isinstance(row, str):
            return self.of_entry(row)
        if not isinstance(row, dict):
            self.fail(row)
        x = self.of_entry(row.get("entry")).detach()
        if "stride" in row:
            dtype = DTYPES.get(str(row.get("dtype")))
            if dtype is None:
                self.fail(row)
            try:
                x = x.reshape(-1).view(dtype=dtype)
                x = x.as_strided(row["shape"], row["stride"], x.storage_offset() + row["offset"])
            except (TypeError, KeyError, RuntimeError, ValueError, IndexError, OverflowError):
                self.fail(row)
        grad = bool(row.get("requires_grad", False))
        if row.get("parameter"):
            from genesis.nn.parameter import Parameter

            return Parameter(x, grad)
        return x.requires_grad_() if grad else x

    def decode(self, x: Any) -> Any:
        if x is None or type(x) in (bool, int, float, str):
            return x
        if isinstance(x, list):
            return [self.decode(v) for v in x]
        kind, value = next(iter(x.items()), ("", None))
        if kind in ("dict", "OrderedDict"):
            return self.mapping(x, kind, value)
        if len(x) != 1:
            self.fail(x)
        if kind == "tensor":
            return self.tensor(value)
        if kind == "sparse":
            return self.sparse(value)
        if kind in objects.KINDS:
            try:
                return objects.decode(kind, value, self.decode)
            except (TypeError, ValueError, KeyError, AttributeError):
                self.fail(x)
        if kind == "ndarray":
            return safetensors.read_array(self.source, self.item(value))
        try:
            return self.plain(kind, value)
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
            self.fail(x)

    def sparse(self, value: Any) -> Tensor:
        from genesis import _legacy, sparse

        layouts = (_legacy.sparse_coo, _legacy.sparse_csr, _legacy.sparse_csc)
        try:
            name, size, coalesced, requires_grad, index, stored = value
            kind = {str(k).removeprefix("genesis."): k for k in layouts}[name]
            x = sparse.sparse_coo_tensor(self.tensor(index), self.tensor(stored), size)
            made = sparse.rebuilt(x, kind, bool(coalesced))
        except (TypeError, ValueError, LookupError):
            self.fail(value)
        return made.requires_grad_() if requires_grad else made

    def plain(self, kind: str, value: Any) -> Any:
        if kind == "float":
            return float(value)
        if kind in ("tuple", "set", "frozenset"):
            types = {"tuple": tuple, "set": set, "frozenset": frozenset}
            return types[kind](self.decode(v) for v in list(value))
        if kind in ("bytes", "bytearray"):
            data = base64.b64decode(value, validate=True)
            return data if kind == "bytes" else bytearray(data)
        if kind == "complex":
            real, imaginary = value
            return complex(float(real), float(imaginary))
        if kind == "size":
            if not all(type(n) is int for n in value):
                self.fail(value)
            return _C.Size(value)
        if kind == "dtype":
            return {str(d): d for d in DTYPES.values()}[f"genesis.{value}"]
        if kind == "device":
            return _C.device(value)
        if kind == "slice":
            start, stop, step = value
            return slice(self.decode(start), self.decode(stop), self.decode(step))
        if kind == "scalar":
            import numpy as np

            name, data = value
            if name not in {np.dtype(c).name for c in "?BbhilqefdHILQ"}:
                self.fail(name)
            raw = base64.b64decode(data, validate=True)
            return np.frombuffer(raw, dtype=np.dtype(name).newbyteorder("<"), count=1)[0]
        self.fail(kind)

    def mapping(self, x: dict[str, Any], kind: str, value: Any) -> Any:
        found: dict[Any, Any] = OrderedDict() if kind == "OrderedDict" else {}
        try:
            pairs = value.items() if isinstance(value, dict) else list(value)
            for key, element in pairs:
                found[key if isinstance(value, dict) else self.decode(key)] = self.decode(element)
        except (TypeError, ValueError):
            self.fail(x)
        if kind == "OrderedDict" and "_metadata" in x:
            found._metadata = self.decode(x["_metadata"])  # type: ignore[attr-defined]
        return found


def decode(source: Source, items: dict[str, Item], structure: Any) -> Any:
    """The object that `encode` was given."""
    if not isinstance(structure, dict) or type(structure.get("version")) is not int:
        raise source.fail("the structure of the file is damaged: it has no version")
    if structure["version"] > VERSION:
        raise source.fail(
            f"the file was written by a later Genesis (structure {structure['version']}, known is "
            f"{VERSION}); upgrade Genesis, or read its tensors with serialization.load_file"
        )
    table = structure.get("tensors")
    if not isinstance(table, list) or "tree" not in structure:
        raise source.fail("the structure of the file is damaged: it has no tree")
    try:
        return Decoder(source, items, table).decode(structure["tree"])
    except RecursionError:
        raise source.fail("the structure of the file is nested too deeply") from None
    except FileFormatError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as e:
        raise source.fail(f"the structure of the file is damaged: {e}") from None
