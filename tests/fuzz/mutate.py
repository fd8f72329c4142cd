"""Damaged files: random bytes, and changes that respect the structure, so that they reach further."""

from __future__ import annotations

import io
import json
import pickletools
import random
import re
import struct
import zipfile
from collections.abc import Callable
from typing import Any

EDGES = [0, 1, -1, 2, 255, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, -(2**63)]


# --- bytes


def flip(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def cut(rng: random.Random, data: bytes) -> bytes:
    a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return rng.choice(
        [data[:a], data[a:], data[:a] + data[b:], data[:b] + data[a:], data + data[a:b]]
    )


def number(rng: random.Random, data: bytes) -> bytes:
    """A number at the edge of its type, somewhere."""
    form = rng.choice(["<H", "<I", "<Q", ">I", "<q"])
    bits = 8 * struct.calcsize(form)
    value = rng.choice(EDGES) % 2 ** (bits - form.endswith("q"))
    place = rng.randrange(max(1, len(data) - bits // 8))
    return data[:place] + struct.pack(form, value) + data[place + bits // 8 :]


BYTES: list[Callable[[random.Random, bytes], bytes]] = [flip, cut, number]


# --- JSON


def any_json(rng: random.Random) -> Any:
    return rng.choice(
        [*EDGES, None, True, "", "F32", "a", "\ud800", "x" * 300, [], {}, [[]], [0, 8], {"tensor": 0}, 1.5, 1e400,
         -0.0, [1] * 70, {"dict": []}, {"list": [{"tensor": 0}]}, {"tuple": [1]}, {"set": [[1]]}, 10**400, {"a": {}}]
    )  # fmt: skip


def change_json(rng: random.Random, value: Any) -> Any:
    """The tree with one place changed."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        kind = rng.random()
        rest = {k: v for k, v in value.items() if k != key}
        if kind < 0.1:
            return rest
        if kind < 0.2:
            return rest | {str(any_json(rng)): value[key]}
        if kind < 0.3:
            return value | {
                rng.choice(["dtype", "shape", "__metadata__", "tensor", "b"]): value[key]
            }
        return value | {key: change_json(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.85:
        i = rng.randrange(len(value))
        kind = rng.random()
        if kind < 0.15:
            return value[:i] + value[i + 1 :]
        if kind < 0.3:
            return value + [value[i]]
        return value[:i] + [change_json(rng, value[i])] + value[i + 1 :]
    if isinstance(value, int) and rng.random() < 0.5:
        return value + rng.choice([-1, 1, 4, -8, 2**32, 2**63])
    return any_json(rng)


def safetensors(rng: random.Random, data: bytes) -> bytes:
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    for _ in range(rng.choice([1, 1, 2, 3])):
        metadata = header.get("__metadata__") if isinstance(header, dict) else None
        if (
            isinstance(metadata, dict)
            and isinstance(metadata.get("genesis"), str)
            and rng.random() < 0.6
        ):
            try:
                tree = change_json(rng, json.loads(metadata["genesis"]))
            except ValueError:
                continue
            header = header | {"__metadata__": metadata | {"genesis": json.dumps(tree)}}
        else:
            header = change_json(rng, header)
    text = json.dumps(header).encode()
    if rng.random() < 0.1:
        text = flip(rng, text)
    size = len(text) if rng.random() < 0.95 else rng.choice(EDGES) % 2**64
    return struct.pack("<Q", size) + text + data[8 + length :]


# --- NumPy's header


def npy(rng: random.Random, data: bytes) -> bytes:
    (length,) = struct.unpack("<H", data[8:10])
    text = data[10 : 10 + length].decode("latin1")
    old = rng.choice(re.findall(r"\d+|'[^']*'|True|False|[(){},:]", text))
    new = rng.choice([str(rng.choice(EDGES)), "'<f4'", "'|O'", "'>i8'", "'<U9'", "True", "(", ")", "-1", "1e9", "'<V0'",
                      "('<f4', (2,))", "[('a', '<i4')]", "'<f2'", "''", "None", "9" * 5000, "(" * 200])  # fmt: skip
    text = text.replace(old, new, 1)
    encoded = text.encode("latin1")
    return data[:8] + struct.pack("<H", len(encoded) % 2**16) + encoded + data[10 + length :]


# --- pickles and zip archives


def pickled(rng: random.Random, data: bytes) -> bytes:
    """Opcodes left out, repeated, swapped, or with another argument."""
    try:
        places = [place for _, _, place in pickletools.genops(data) if place is not None]
    except Exception:
        return flip(rng, data)
    parts = [data[a:b] for a, b in zip(places, [*places[1:], len(data)], strict=True)]
    for _ in range(rng.choice([1, 1, 2, 3])):
        i, j = rng.randrange(len(parts)), rng.randrange(len(parts))
        kind = rng.randrange(6)
        if kind == 0 and len(parts) > 1:
            del parts[i]
        elif kind == 1:
            parts.insert(i, parts[j])
        elif kind == 2:
            parts[i], parts[j] = parts[j], parts[i]
        elif kind == 3:
            parts[i] = parts[i][:1] + flip(rng, parts[i][1:])
        elif kind == 4:
            parts.insert(i, rng.choice([b"K\xff", b"J\xff\xff\xff\x7f", b"\x8a\x09" + b"\xff" * 8 + b"\x00", b"N", b"(", b"]", b"}", b"0", b"2",
                                         b"cos\nsystem\n", b"cbuiltins\neval\n", b"ctorch\nFloatStorage\n", b"R", b"\x81", b"b", b"t", b"Q"]))  # fmt: skip
        else:
            parts[i] = bytes([rng.randrange(256)]) + parts[i][1:]
    return b"".join(parts)


def zipped(rng: random.Random, data: bytes) -> bytes:
    """One record changed, with checksums that fit."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        records = {i.filename: archive.read(i) for i in archive.infolist()}
    name = rng.choice([n for n in records if n.endswith((".pkl", ".npy"))] * 3 + list(records))
    content = records[name]
    if name.endswith(".pkl") and rng.random() < 0.8:
        content = pickled(rng, content)
    elif name.endswith(".npy") and rng.random() < 0.8:
        content = npy(rng, content)
    else:
        content = rng.choice(BYTES)(rng, content)
    kind = rng.random()
    if kind < 0.1:
        del records[name]
    elif kind < 0.2:
        records[name + rng.choice(["x", "/", "\x00", "../a"])] = content
    else:
        records[name] = content
    out = io.BytesIO()
    with zipfile.ZipFile(
        out, "w", rng.choice([zipfile.ZIP_STORED] * 3 + [zipfile.ZIP_DEFLATED])
    ) as archive:
        for key, value in records.items():
            archive.writestr(key, value)
    return out.getvalue() if rng.random() < 0.9 else rng.choice(BYTES)(rng, out.getvalue())


STRUCTURED: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "flat": safetensors,
    "nested": safetensors,
    "npy": npy,
    "npz": zipped,
    "zip": zipped,
    "torch": zipped,
    "legacy": pickled,
}
