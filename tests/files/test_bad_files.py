"""Damaged files: every one gives a FileFormatError or the right values, never anything else."""

import io
import json
import struct
import zipfile

import genesis
import numpy as np
import pytest
from genesis.serialization import FileFormatError

from tests.files.test_torch_files import archive


def files() -> dict[str, bytes]:
    x = genesis.arange(12.0).reshape(3, 4)
    flat, nested, npy, npz = io.BytesIO(), io.BytesIO(), io.BytesIO(), io.BytesIO()
    genesis.save({"a": x, "b": genesis.ones(3, dtype=genesis.bfloat16)}, flat)
    genesis.save(
        {
            "a": x,
            "t": [x.t(), x[1:]],
            1: (2.5, {"n": np.uint32([1])}),
            "p": genesis.nn.Parameter(x),
        },
        nested,
    )
    np.save(npy, x.numpy())
    np.savez_compressed(npz, a=x.numpy(), b=np.arange(3))
    found = {
        "flat": flat,
        "nested": nested,
        "npy": npy,
        "npz": npz,
        "zip": archive(byteorder=b"little"),
    }
    try:
        import torch
    except ImportError:
        return {name: file.getvalue() for name, file in found.items()}
    for name, zipped in (("torch", True), ("legacy", False)):
        found[name] = io.BytesIO()
        y = torch.arange(12.0).reshape(3, 4)
        state = {
            "w": torch.nn.Linear(2, 2).state_dict(),
            "t": y.t(),
            "part": y[1:],
            "n": [1, 2.5, "x"],
        }
        torch.save(state, found[name], _use_new_zipfile_serialization=zipped)
    return {name: file.getvalue() for name, file in found.items()}


FILES = files()


def try_to_load(data: bytes, weights_only: bool) -> None:
    try:
        genesis.load(io.BytesIO(data), weights_only=weights_only)
    except FileFormatError as error:
        assert str(error).startswith("load: ")


@pytest.mark.parametrize("kind", FILES)
def test_flipped_bytes(kind):
    rng = np.random.default_rng(1)
    for i in range(600):
        data = bytearray(FILES[kind])
        for _ in range(1 + i % 3):
            data[rng.integers(len(data))] = rng.integers(256)
        try_to_load(bytes(data), i % 2 == 0)


@pytest.mark.parametrize("kind", FILES)
def test_truncated_at_any_place(kind):
    data = FILES[kind]
    for end in {*range(0, len(data), max(1, len(data) // 150)), *range(min(len(data), 40))}:
        with pytest.raises(FileFormatError):
            genesis.load(io.BytesIO(data[:end]))


@pytest.mark.parametrize("kind", FILES)
def test_pieces_repeated_removed_and_swapped(kind):
    rng = np.random.default_rng(2)
    whole = FILES[kind]
    for i in range(200):
        a, b = sorted(rng.integers(len(whole), size=2).tolist())
        pieces = [
            whole[:a] + whole[b:],
            whole[:b] + whole[a:],
            whole[b:] + whole[:b],
            whole + whole[a:b],
        ]
        try_to_load(pieces[i % 4], i % 2 == 0)


def test_the_pickle_with_its_checksum_made_good():
    """Byte flips inside a zip archive mostly end at its checksums; these go past them."""
    rng = np.random.default_rng(3)
    with zipfile.ZipFile(io.BytesIO(FILES["zip"])) as whole:
        pickled = whole.read("archive/data.pkl")
    for i in range(3000):
        data = bytearray(pickled)
        for _ in range(1 + i % 4):
            data[rng.integers(len(data))] = rng.integers(256)
        try_to_load(archive(bytes(data)).getvalue(), i % 2 == 0)


def header(tensors, data=b"", length=None) -> io.BytesIO:
    text = tensors if isinstance(tensors, bytes) else json.dumps(tensors).encode()
    return io.BytesIO(struct.pack("<Q", len(text) if length is None else length) + text + data)


def of(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    "file, text",
    [
        (header({"a": of()}, bytes(7)), "cut short"),
        (header({"a": of(shape=[2**40, 2**40])}, bytes(8)), "takes"),
        (header({"a": of(shape=[-2])}, bytes(8)), "not a list of sizes"),
        (header({"a": of(shape=[True, 2])}, bytes(8)), "not a list of sizes"),
        (header({"a": of(shape=[1] * 100, offsets=(0, 4))}, bytes(8)), "not a list of sizes"),
        (header({"a": of(offsets=(0, 4))}, bytes(8)), "takes 8 bytes"),
        (header({"a": of(offsets=(8, 0))}, bytes(8)), "takes 8 bytes"),
        (header({"a": of(offsets=(4, 12))}, bytes(12)), "no gap"),
        (header({"a": of(), "b": of(offsets=(4, 12))}, bytes(12)), "no overlap"),
        (header({"a": of("F4", [8])}, bytes(8)), "F4"),
        (header({"a": {"dtype": "F32"}}), "needs dtype"),
        (header({"a": 1}), "needs dtype"),
        (header({"__metadata__": {"a": 1}}), "strings to strings"),
        (header(b'{"a":1,"a":2}'), "twice"),
        (header(b'{"a":' + b"[" * 100_000), "header"),
        (header(b'{"a":\xff}'), "header"),
        (header({}, length=2**40), "cut short or damaged"),
        (header({"__metadata__": {"genesis": "{"}}), "structure"),
        (header({"__metadata__": {"genesis": "[1]"}}), "no version"),
        (header({"__metadata__": {"genesis": '{"version":1,"tensors":[],"tree":{"tensor":0}}'}}), "damaged at"),
        (header({"__metadata__": {"genesis": '{"version":1,"tensors":["x"],"tree":{"tensor":0}}'}}), "damaged at"),
        (header({"__metadata__": {"genesis": '{"version":1,"tensors":[],"tree":{"os.system":"ls"}}'}}), "damaged at"),
        (header({"__metadata__": {"genesis": '{"version":1,"tensors":[],"tree":{"set":[[1]]}}'}}), "damaged at"),
        (header({"__metadata__": {"genesis": '{"version":1,"tensors":[],"tree":{"dtype":"nothing"}}'}}), "damaged"),
        (header({"__metadata__": {"genesis": '{"version":1,"tensors":[],"tree":{"dtype":[1]}}'}}), "damaged"),
        (header({"__metadata__": {"genesis": '{"version":1,"tensors":[],"tree":{"device":"nothing"}}'}}), "damaged"),
        (header({"__metadata__": {"genesis": '{"version":1,"tensors":[],"tree":{"device":[]}}'}}), "damaged"),
        (header({"__metadata__": {"genesis": '{"version":1,"tensors":[],"tree":{"scalar":[[], ""]}}'}}), "damaged"),
        (header({"__metadata__": {"genesis": '{"version":1,"tensors":[],"tree":{"tuple":[{"dtype":"x"}]}}'}}), "damaged"),
        (header({"__metadata__": {"genesis": '{"version":1,"tensors":[{}],"tree":{"tensor":0}}'}}), "damaged"),
        (header({"__metadata__": {"genesis": '{"version":1,"tensors":[],"tree":{"size":[1, "x"]}}'}}), "damaged"),
        (header({"a": of(dtype=[])}), "has no counterpart"),
        (header({"a": of(dtype={})}), "has no counterpart"),
        (io.BytesIO(b""), "empty"),
        (io.BytesIO(b"<!DOCTYPE html><html>"), "web page"),
        (io.BytesIO(b"version https://git-lfs.github.com/spec/v1"), "git lfs pull"),
        (io.BytesIO(b"\x1f\x8b\x08"), "gzip"),
        (io.BytesIO(b"\x80\x04K\x01."), "pickle"),
        (io.BytesIO(b"hello, world"), "hello, world"),
    ],
)  # fmt: skip
def test_the_error_says_what_was_found(file, text):
    with pytest.raises(FileFormatError, match=text):
        genesis.load(file)


def test_a_longer_file_is_damaged(tmp_path):
    path = tmp_path / "x.safetensors"
    genesis.save({"a": genesis.ones(2)}, path)
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(FileFormatError, match=r"x\.safetensors.*something was added"):
        genesis.load(path)


def test_rows_that_reach_outside_their_memory():
    for row in (
        {"offset": 5},
        {"shape": [9]},
        {"stride": [99]},
        {"shape": [2**62], "stride": [2**62]},
        {"dtype": "I64"},
    ):
        table = [{"entry": "a", "dtype": "F32", "shape": [2], "stride": [1], "offset": 0, **row}]
        structure = json.dumps({"version": 1, "tensors": table, "tree": {"tensor": 0}})
        file = header(
            {"a": of(shape=[3], offsets=(0, 12)), "__metadata__": {"genesis": structure}}, bytes(12)
        )
        with pytest.raises(FileFormatError, match="damaged at"):
            genesis.load(file)


def test_arrays_of_objects_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(FileFormatError, match="Python objects"):
        genesis.load(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", np.array(["text"]))
    with pytest.raises(FileFormatError, match="no counterpart"):
        genesis.load(tmp_path / "x.npy")


def test_a_zip_archive_of_something_else(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as out:
        out.writestr("readme.txt", "hello")
    with pytest.raises(FileFormatError, match=r"readme\.txt"):
        genesis.load(tmp_path / "x.zip")
