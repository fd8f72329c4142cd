"""Namespaces, dataclasses, enums and paths in files."""

import argparse
import dataclasses
import enum
import json
import pathlib
import sys
import types

import genesis
import numpy as np
import pytest
from genesis.serialization import FileFormatError
from genesis.utils.training import Checkpoint


class Color(enum.Enum):
    RED = 1
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@dataclasses.dataclass(frozen=True)
class Inner:
    shape: tuple
    weights: genesis.Tensor


@dataclasses.dataclass
class Options:
    rate: float
    inner: Inner
    notes: list = dataclasses.field(default_factory=list)
    made: int = dataclasses.field(default=0, init=False)

    def __post_init__(self):
        self.made += 1


def round_trip(x, tmp_path, name="x.safetensors"):
    genesis.save(x, tmp_path / name)
    return genesis.load(tmp_path / name)


@pytest.mark.parametrize("make", [argparse.Namespace, types.SimpleNamespace])
def test_namespaces(tmp_path, make):
    x = make(lr=0.1, layers=[1, 2], weights=genesis.ones(2), inner=make(name="in"))
    y = round_trip({"args": x}, tmp_path)["args"]
    assert type(y) is make and (y.lr, y.layers, y.inner.name) == (0.1, [1, 2], "in")
    assert y.weights.tolist() == [1, 1]


def test_dataclasses(tmp_path):
    x = Options(0.5, Inner((2, 3), genesis.ones(2)), ["a"])
    y = round_trip(x, tmp_path)
    assert type(y) is Options and y.rate == 0.5 and y.notes == ["a"]
    assert y.made == 1  # neither __init__ nor __post_init__ ran
    assert type(y.inner) is Inner and y.inner.shape == (2, 3) and y.inner.weights.tolist() == [1, 1]


def test_enums_and_paths(tmp_path):
    x = [Color.RED, Color.BLUE, Level.LOW, Access.READ | Access.WRITE, Access.READ]
    y = round_trip(x, tmp_path)
    assert y == x and [type(v) for v in y] == [type(v) for v in x]
    paths = [pathlib.Path("a/b"), pathlib.PurePosixPath("/c"), pathlib.PureWindowsPath("d:\\e")]
    assert round_trip(paths, tmp_path) == paths


def test_arrays_and_states_of_generators(tmp_path):
    x = {
        "state": np.random.get_state(),
        "new": np.random.default_rng(3).bit_generator.state,
        "scalar": np.float32(1.5),
        "flag": np.bool_(True),
        "array": np.arange(4, dtype=np.uint16),
    }
    y = round_trip(x, tmp_path)
    assert y["state"][0] == "MT19937" and (y["state"][1] == x["state"][1]).all()
    assert y["state"][2:] == x["state"][2:] and y["new"] == x["new"]
    assert y["scalar"] == 1.5 and y["scalar"].dtype == np.float32 and y["flag"].dtype == bool
    assert y["array"].dtype == np.uint16
    np.random.set_state(y["state"])


def test_a_class_that_is_not_there_comes_as_data(tmp_path):
    module = types.ModuleType("gone")
    exec(
        "import dataclasses, enum\n"
        "@dataclasses.dataclass\nclass D:\n    a: int\n"
        "class E(enum.Enum):\n    X = 7\n",
        module.__dict__,
    )
    module.D.__module__ = module.E.__module__ = "gone"
    sys.modules["gone"] = module
    genesis.save([module.D(3), module.E.X], tmp_path / "x.safetensors")
    assert genesis.load(tmp_path / "x.safetensors")[1] is module.E.X
    del sys.modules["gone"]
    fields, value = genesis.load(tmp_path / "x.safetensors")
    assert fields == types.SimpleNamespace(a=3) and value == 7


def test_files_cannot_make_other_objects(tmp_path):
    path = tmp_path / "x.safetensors"
    for tree, expected in (
        ({"dataclass": ["subprocess:Popen", {"args": "ls"}]}, types.SimpleNamespace(args="ls")),
        ({"dataclass": ["os.path:join", {}]}, types.SimpleNamespace()),
        ({"enum": ["os:system", "ls"]}, "ls"),
        ({"dataclass": [__name__ + ":Inner", {"other": 1}]}, types.SimpleNamespace(other=1)),
    ):
        document = json.dumps({"version": 1, "tree": tree, "tensors": []})
        header = json.dumps({"__metadata__": {"genesis": document}}).encode()
        path.write_bytes(len(header).to_bytes(8, "little") + header)
        assert genesis.load(path) == expected
    for tree in (
        {"path": ["Popen", "x"]}, {"enum": 3}, {"dataclass": ["a:b"]}, {"dataclass": ["a:b", [1]]},
        {"Namespace": [1]}, {"path": 5},
    ):  # fmt: skip
        document = json.dumps({"version": 1, "tree": tree, "tensors": []})
        header = json.dumps({"__metadata__": {"genesis": document}}).encode()
        path.write_bytes(len(header).to_bytes(8, "little") + header)
        with pytest.raises(FileFormatError, match="damaged"):
            genesis.load(path)


def test_what_contains_itself_or_cannot_be_saved(tmp_path):
    x = argparse.Namespace()
    x.me = x
    with pytest.raises(ValueError, match="contains itself"):
        genesis.save(x, tmp_path / "x.safetensors")
    with pytest.raises(TypeError, match="options -> callback is a builtins.builtin_function"):
        genesis.save({"options": argparse.Namespace(callback=len)}, tmp_path / "x.safetensors")
    assert not list(tmp_path.iterdir())


def test_checkpoints_find_out_at_once_what_cannot_be_saved(tmp_path):
    class Part:
        def state_dict(self):
            return {"function": len}

        def load_state_dict(self, state):
            pass

    with pytest.raises(TypeError, match="part -> function"):
        Checkpoint(tmp_path, part=Part())
    model = genesis.nn.Linear(2, 1)
    checkpoint = Checkpoint(tmp_path, model=model, optimizer=genesis.optim.Adam(model.parameters()))
    args = argparse.Namespace(lr=0.1, out=pathlib.Path("runs"))
    checkpoint.check(args=args, rng=np.random.get_state(), color=Color.RED)
    with pytest.raises(TypeError, match="the value at callback"):
        checkpoint.check(callback=len)
    assert not list(tmp_path.iterdir())
    checkpoint.save(1, args=args, rng=np.random.get_state())
    values = checkpoint.restore()
    assert values["args"] == args and values["step"] == 1


@pytest.mark.parametrize("name", ["LazyLinear"])
def test_checkpoints_of_lazy_layers(tmp_path, name):
    Checkpoint(tmp_path, model=getattr(genesis.nn, name)(3))


class TestTorchFiles:
    """The same in files of PyTorch, read without running anything of them."""

    def test_round_trip(self, tmp_path):
        x = {
            "args": argparse.Namespace(
                lr=0.1, inner=types.SimpleNamespace(weights=genesis.ones(2))
            ),
            "options": Options(0.5, Inner((2, 3), genesis.ones(2)), ["a"]),
            "enums": [Color.RED, Color.BLUE, Level.LOW, Access.READ | Access.WRITE],
            "paths": [pathlib.Path("a/b"), pathlib.PurePosixPath("/c")],
            "arrays": [np.arange(6.0).reshape(2, 3), np.array([True]), np.zeros((0, 2), np.int16)],
            "scalars": (np.float32(1.5), np.uint16(7), np.bool_(True)),
            "generator": np.random.get_state(),
            "rest": (frozenset({1, 2}), slice(1, None, 2)),
            "tensor": genesis.arange(3),
        }
        y = round_trip(x, tmp_path, "x.pt")
        assert y["args"].lr == 0.1 and y["args"].inner.weights.tolist() == [1, 1]
        assert type(y["options"]) is Options and y["options"].made == 1
        assert type(y["options"].inner) is Inner and y["options"].inner.shape == (2, 3)
        assert y["enums"] == x["enums"] and y["paths"] == x["paths"] and y["rest"] == x["rest"]
        for a, b in zip(y["arrays"], x["arrays"], strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape and (a == b).all()
        assert y["scalars"] == x["scalars"]
        assert [type(v) for v in y["scalars"]] == [type(v) for v in x["scalars"]]
        np.random.set_state(y["generator"])
        assert y["tensor"].tolist() == [0, 1, 2]

    def test_pytorch_reads_them_and_writes_them(self, tmp_path):
        torch = pytest.importorskip("torch")
        x = {
            "args": argparse.Namespace(lr=0.1),
            "enum": Color.BLUE,
            "path": pathlib.Path("a/b"),
            "array": np.arange(4, dtype=np.int32),
            "scalar": np.float64(2.5),
        }
        genesis.save({**x, "w": genesis.ones(2)}, tmp_path / "ours.pt")
        theirs = torch.load(tmp_path / "ours.pt", weights_only=False)
        torch.save({**x, "w": torch.ones(2)}, tmp_path / "theirs.pt")
        ours = genesis.load(tmp_path / "theirs.pt")
        for y in (theirs, ours):
            assert y["args"] == x["args"] and y["enum"] is Color.BLUE and y["path"] == x["path"]
            assert (y["array"] == x["array"]).all() and y["scalar"] == 2.5
            assert y["w"].tolist() == [1, 1]

    def test_an_unknown_class_is_refused(self, tmp_path):
        genesis.save({"options": Options(0.5, Inner((1,), genesis.ones(1)))}, tmp_path / "x.pt")
        name = Options.__name__
        del globals()[name]
        try:
            with pytest.raises(FileFormatError, match=rf"{__name__}.{name}.*import the module"):
                genesis.load(tmp_path / "x.pt")
        finally:
            globals()[name] = Options_again

    def test_what_cannot_be_held_is_refused_first(self, tmp_path):
        with pytest.raises(TypeError, match="the value at callback"):
            genesis.save({"callback": len}, tmp_path / "x.pt")
        assert not (tmp_path / "x.pt").exists()


Options_again = Options
