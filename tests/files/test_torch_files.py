"""Files of torch.save: what they hold comes out, and nothing in them runs."""

import contextlib
import enum
import io
import os
import pickle
import struct
import zipfile
from collections import Counter, OrderedDict, defaultdict

import genesis
import numpy as np
import pytest
from genesis.serialization import FileFormatError, ForeignObject

STATE = (  # torch.save({"w": torch.tensor([[1., 2.], [3., 4.]]).t()}), written by hand
    b"\x80\x02}q\x00X\x01\x00\x00\x00wq\x01ctorch._utils\n_rebuild_tensor_v2\nq\x02((X\x07\x00\x00\x00storage"
    b"ctorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQK\x00K\x02K\x02\x86K\x01K\x02\x86\x89"
    b"ccollections\nOrderedDict\n)RtR" b"s."
)  # fmt: skip


def archive(
    pickled: bytes = STATE, data: bytes = struct.pack("<4f", 1, 2, 3, 4), **records
) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("archive/data.pkl", pickled)
        out.writestr("archive/data/0", data)
        for name, value in records.items():
            out.writestr(f"archive/{name}", value)
    file.seek(0)
    return file


def test_a_file_made_by_hand():
    w = genesis.load(archive())["w"]
    assert w.tolist() == [[1, 3], [2, 4]] and w.stride() == (1, 2)
    w[1, 0] = 9  # it has memory of its own, writable
    assert genesis.load(archive(byteorder=b"little"))["w"].tolist() == [[1, 3], [2, 4]]


def test_the_other_order_of_bytes():
    file = archive(data=struct.pack(">4f", 1, 2, 3, 4), byteorder=b"big")
    assert genesis.load(file)["w"].tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("mmap", [False, True])
def test_everything_plain_comes_back(tmp_path, zipped, mmap):
    torch = pytest.importorskip("torch")
    x = torch.arange(24.0).reshape(4, 6)
    layer = torch.nn.BatchNorm1d(3)
    tensors = {
        str(dtype): torch.arange(5).to(dtype)
        for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
                      torch.float16, torch.bfloat16, torch.float32, torch.float64)
    }  # fmt: skip
    plain = {
        "numbers": [1, -1, 300, 70000, 2**40, -(2**70), 2.5, True, None],
        "text": ["", "ü" * 300],
        "bytes": b"\x00\xff",
        "sets": [{1, 2}, frozenset({"a"})],
        "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
        "complex": 1 + 2j,
        "counter": Counter("aab"),
        1: {(1, "a"): 2},
    }
    ours = {**plain, "bytearray": bytearray(b"ab"), "default": defaultdict(list, {"a": [1]})}
    path = tmp_path / "x.pt"
    torch.save(
        {**ours, **tensors, "x": x, "part": x[1:, ::2], "t": x.t(), "wide": x[0].expand(3, 6),
         "none": torch.zeros(0, 3), "zero": torch.tensor(3.5), "grad": torch.ones(2, requires_grad=True),
         "parameter": layer.weight, "state": layer.state_dict(), "size": x.shape, "dtype": torch.float16,
         "device": torch.device("cpu")},
        path, _use_new_zipfile_serialization=zipped,
    )  # fmt: skip
    back = genesis.load(path, mmap=mmap)
    for key, value in plain.items():
        assert back[key] == value and type(back[key]) is type(value), key
    assert back["bytearray"] == b"ab" and back["default"] == {"a": [1]}
    for key, value in tensors.items():
        assert back[key].tolist() == value.tolist() and str(back[key].dtype)[8:] == key[6:]
    for key, value in (("x", x), ("part", x[1:, ::2]), ("t", x.t()), ("wide", x[0].expand(3, 6))):
        assert back[key].tolist() == value.tolist() and tuple(back[key].stride()) == value.stride()
    back["x"][1, 2] = 77.0
    assert back["part"][0, 1] == 77 and back["t"][2, 1] == 77
    assert (
        back["none"].shape == (0, 3) and back["zero"].item() == 3.5 and back["grad"].requires_grad
    )
    assert isinstance(back["parameter"], genesis.nn.Parameter) and back["parameter"].requires_grad
    state = back["state"]
    assert type(state) is OrderedDict and list(state) == list(layer.state_dict())
    assert state._metadata == {"": {"version": 2}}
    assert back["size"] == (4, 6) and back["dtype"] == genesis.float16
    assert back["device"] == genesis.device("cpu")


@pytest.mark.parametrize("zipped", [True, False])
def test_a_training_state_with_an_optimizer(tmp_path, zipped):
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(layer.parameters())
    layer(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    path = tmp_path / "x.pth"
    torch.save({"model": layer.state_dict(), "optimizer": optimizer.state_dict()}, path,
               _use_new_zipfile_serialization=zipped)  # fmt: skip
    back = genesis.load(path)
    state = optimizer.state_dict()
    assert back["optimizer"]["param_groups"] == state["param_groups"]
    for i, values in state["state"].items():
        for key, value in values.items():
            assert back["optimizer"]["state"][i][key].tolist() == value.tolist()


def test_a_whole_model_is_refused_or_comes_as_data(tmp_path):
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(2, 3))
    torch.save(model, tmp_path / "x.pt")
    with pytest.raises(FileFormatError, match=r"Sequential.*state_dict"):
        genesis.load(tmp_path / "x.pt")
    data = genesis.load(tmp_path / "x.pt", weights_only=False)
    assert isinstance(data, ForeignObject) and data.kind.endswith("Sequential")
    weight = data.state["_modules"]["0"].state["_parameters"]["weight"]
    assert weight.tolist() == model[0].weight.tolist()


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_dtypes_without_a_counterpart_are_named(tmp_path):
    torch = pytest.importorskip("torch")
    for dtype, name in (
        (torch.complex32, "complex32"),
        (torch.float8_e5m2fnuz, "float8"),
    ):
        torch.save([torch.zeros(2).to(dtype)], tmp_path / "x.pt")
        with pytest.raises(FileFormatError, match=name):
            genesis.load(tmp_path / "x.pt")


@pytest.mark.parametrize(
    "name", ["complex64", "complex128", "uint16", "uint64", "float8_e4m3fn", "float8_e5m2"]
)
def test_other_dtypes_come_and_go(tmp_path, name):
    torch = pytest.importorskip("torch")
    theirs = torch.tensor([1.0, 2.0, 3.0]).to(getattr(torch, name))
    torch.save({"x": theirs}, tmp_path / "x.pt")
    ours = genesis.load(tmp_path / "x.pt")["x"]
    assert ours.dtype.name == name
    assert ours.tolist() == theirs.tolist()
    for file in ("y.pt", "y.safetensors"):
        genesis.save({"x": ours}, tmp_path / file)
        again = genesis.load(tmp_path / file)["x"]
        assert (again.dtype, again.tolist()) == (ours.dtype, ours.tolist())
    assert torch.load(tmp_path / "y.pt")["x"].dtype == theirs.dtype


def test_programs_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match="TorchScript"):
        genesis.load(archive(**{"code/__torch__.py": b"def forward(): pass"}))


class Holder:
    class Inside(enum.Enum):
        ONE = 1


class Attack:
    def __reduce__(self):
        return os.system, ("echo attacked > attacked",)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_nothing_runs(tmp_path, monkeypatch, protocol, weights_only):
    monkeypatch.chdir(tmp_path)
    file = archive(pickle.dumps({"a": Attack()}, protocol))
    with contextlib.suppress(FileFormatError):
        genesis.load(file, weights_only=weights_only)
    assert os.listdir(tmp_path) == []


def tensor_pickle(offset: bytes, size: bytes, stride: bytes, count: bytes = b"K\x04") -> bytes:
    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
        b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
        + count
        + b"tQ"
        + offset
        + size
        + stride
        + b"\x89NtR."
    )


ONE = b"K\x01\x85"


@pytest.mark.parametrize(
    "pickled, text",
    [
        (tensor_pickle(b"K\x04", ONE, ONE), "outside its storage"),
        (tensor_pickle(b"J\xff\xff\xff\xff", ONE, ONE), "not numbers"),
        (tensor_pickle(b"K\x00", b"K\x05\x85", ONE), "outside its storage"),
        (tensor_pickle(b"K\x00", b"K\x02\x85", b"K\x04\x85"), "outside its storage"),
        (tensor_pickle(b"K\x00", b"\x8a\x08" + b"\xff" * 7 + b"\x3f\x85", b"\x8a\x08" + b"\xff" * 7 + b"\x3f\x85"), "outside"),
        (tensor_pickle(b"K\x00", b"\x8a\x08" + b"\xff" * 7 + b"\x7f\x85", b"K\x00\x85"), "not numbers"),
        (tensor_pickle(b"K\x00", b"K\x01K\x01\x86", ONE), "not numbers"),
        (tensor_pickle(b"K\x00", ONE, ONE, b"K\x05"), "too few"),
        (tensor_pickle(b"K\x00", ONE, ONE, b"\x8a\x08" + b"\xff" * 7 + b"\x3f"), "too few"),
        (tensor_pickle(b"K\x00", ONE, b"X\x01\x00\x00\x00a\x85"), "not numbers"),
        (b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.", "os.system"),
        (b"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85R.", "builtins.eval"),
        (b"\x80\x02(S'ls'\nios\nsystem\n.", "not one that PyTorch writes"),
        (b"\x80\x02}(" + b"(" * 100_000 + b"t" * 100_000 + b"K\x01u.", "used as a key"),
        (b"\x80\x02}(" + b")\x85q\x00h\x00\x86" * 60 + b"K\x01u.", "damaged"),
        (b"\x80\x02h\x05.", "refers to value 5"),
        (b"\x80\x02X\xff\xff\xff\xff.", "ends inside a value"),
        (b"\x80\x02\x8d" + b"\xff" * 8 + b".", "ends inside a value"),
        (b"\x80\x02}K\x01s.", "empty stack"),
        (b"\x80\x02N0.", "empty stack"),
        (b"\x80\x02e.", "mark is missing"),
        (b"\x80\x09N.", "protocol 9"),
        (b"\x80\x02NN.", "left over"),
        (b"\x80\x02N", "ends inside"),
        (b"", "ends inside"),
        (b"\x80\x02K\x01N\x85R.", "is called"),
        (b"\x80\x02K\x01K\x02\x86Q.", "not to a storage"),
    ],
)  # fmt: skip
def test_hostile_pickles_give_a_clean_error(pickled, text):
    with pytest.raises(FileFormatError, match=text):
        genesis.load(archive(pickled))


def test_deep_nesting_needs_no_stack():
    depth = 200_000
    x = genesis.load(archive(b"\x80\x02" + b"(" * depth + b"t" * depth + b"."))
    for _ in range(depth - 1):
        (x,) = x
    assert x == ()


def test_a_damaged_record_is_found():
    data = bytearray(archive().getvalue())
    data[data.find(struct.pack("<4f", 1, 2, 3, 4)) + 5] ^= 1
    with pytest.raises(FileFormatError, match="checksum"):
        genesis.load(io.BytesIO(data))


def test_a_missing_storage_is_named():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("archive/data.pkl", STATE)
    with pytest.raises(FileFormatError, match="archive/data/0"):
        genesis.load(file := io.BytesIO(file.getvalue()))


@pytest.mark.parametrize("mmap", [False, True])
def test_torch_loads_what_is_saved_as_pt(tmp_path, mmap):
    torch = pytest.importorskip("torch")
    x = genesis.arange(24.0).reshape(4, 6)
    tied = genesis.nn.Parameter(genesis.ones(2))
    state = OrderedDict(weight=x, half=genesis.ones(3, dtype=genesis.bfloat16))
    state._metadata = OrderedDict({"": {"version": 1}})
    plain = {
        "numbers": [
            0,
            255,
            256,
            -1,
            2**31,
            -(2**31),
            2**70,
            -(2**63),
            0.1,
            float("inf"),
            True,
            None,
        ],
        "text": ["", "ü", "\n"],
        "bytes": [b"\x00\xff", bytearray(b"ab")],
        "containers": [(), (1, (2,)), {}, [], {"a": {1: 2, (3, "x"): 4}}, {1, 2}, 1 + 2j],
    }
    path = tmp_path / "x.pt"
    genesis.save(
        {**plain, "state": state, "part": x[1:, ::2], "t": x.t(), "tied": [tied, tied], "none": genesis.zeros(0, 2),
         "zero": genesis.tensor(5), "grad": genesis.ones(1, requires_grad=True), "bool": genesis.tensor([True, False]),
         "dtype": genesis.int8, "size": x.shape, "device": genesis.device("cpu")},
        path,
    )  # fmt: skip
    for back, library in (
        (torch.load(path, mmap=mmap), torch),
        (genesis.load(path, mmap=mmap), genesis),
    ):
        assert {key: back[key] for key in plain} == plain
        assert type(back["state"]) is OrderedDict and back["state"]._metadata == {
            "": {"version": 1}
        }
        assert (
            back["state"]["weight"].tolist() == x.tolist()
            and back["state"]["half"].dtype == library.bfloat16
        )
        assert back["t"].tolist() == x.t().tolist() and back["part"].tolist() == x[1:, ::2].tolist()
        back["state"]["weight"][1, 2] = 77.0
        assert back["t"][2, 1] == 77 and back["part"][0, 1] == 77
        assert back["tied"][0] is back["tied"][1] and isinstance(
            back["tied"][0], library.nn.Parameter
        )
        assert (
            back["none"].shape == (0, 2) and back["zero"].item() == 5 and back["grad"].requires_grad
        )
        assert back["bool"].tolist() == [True, False] and back["dtype"] == library.int8
        assert back["size"] == (4, 6) and back["device"] == library.device("cpu")


def test_weights_of_a_model_go_both_ways(tmp_path):
    torch = pytest.importorskip("torch")

    def model(nn):
        return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2, bias=False))

    ours, theirs = model(genesis.nn), model(torch.nn)
    x = np.linspace(-1, 1, 6, dtype="f4").reshape(2, 3)
    torch.save(theirs.state_dict(), tmp_path / "theirs.pth")
    ours.load_state_dict(genesis.load(tmp_path / "theirs.pth"))
    expected = theirs(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(
        ours(genesis.from_numpy(x)).detach().numpy(), expected, rtol=1e-5, atol=1e-6
    )
    genesis.save(ours.state_dict(), tmp_path / "ours.pth")
    other = model(torch.nn)
    other.load_state_dict(torch.load(tmp_path / "ours.pth"))
    assert torch.equal(other(torch.from_numpy(x)), theirs(torch.from_numpy(x)))


def test_what_pytorchs_files_cannot_hold(tmp_path):
    x = genesis.ones(4)
    for value in ([x, x.view(genesis.int32)], [Holder.Inside.ONE]):
        with pytest.raises(TypeError, match="PyTorch's files"):
            genesis.save(value, tmp_path / "x.pt")
    with pytest.raises(ValueError, match="metadata"):
        genesis.save({}, tmp_path / "x.pt", metadata={"a": "b"})
    assert os.listdir(tmp_path) == []


def test_values_equal_those_of_torch_bit_for_bit(tmp_path):
    torch = pytest.importorskip("torch")
    x = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    torch.save(x, tmp_path / "x.pt")
    assert np.array_equal(genesis.load(tmp_path / "x.pt").numpy(), x.numpy())


def test_a_file_that_cannot_seek(tmp_path):
    path = tmp_path / "outer.zip"
    with zipfile.ZipFile(path, "w") as archive, archive.open("weights.pt", "w") as member:
        genesis.save({"w": genesis.arange(3.0)}, member)
    with zipfile.ZipFile(path) as archive:
        member = io.BytesIO(archive.read("weights.pt"))
    assert genesis.load(member)["w"].tolist() == [0.0, 1.0, 2.0]
