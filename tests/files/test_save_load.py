"""What is saved comes back: values, dtypes, structure, sharing, kinds."""

import io
import math
import pickle
from collections import OrderedDict, namedtuple

import genesis
import numpy as np
import pytest
from genesis.serialization import FileFormatError, load_file, read_metadata, save_file

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]


def round_trip(x, **options):
    file = io.BytesIO()
    genesis.save(x, file)
    file.seek(0)
    return genesis.load(file, **options)


def same(x, y):
    assert type(x) is type(y), (x, y)
    if isinstance(x, genesis.Tensor):
        assert x.dtype == y.dtype and x.shape == y.shape and x.requires_grad == y.requires_grad
        assert genesis._C._to_bytes(x.detach()) == genesis._C._to_bytes(y.detach())
    elif isinstance(x, dict):
        assert list(x) == list(y)
        for key in x:
            same(x[key], y[key])
    elif isinstance(x, (list, tuple)):
        assert len(x) == len(y)
        for a, b in zip(x, y, strict=True):
            same(a, b)
    elif isinstance(x, (np.ndarray, np.generic)):
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)
    elif isinstance(x, float) and math.isnan(x):
        assert math.isnan(y)
    else:
        assert x == y


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (5,), (3, 4, 5)])
@pytest.mark.parametrize("mmap", [False, True])
def test_dtypes_and_shapes_come_back(tmp_path, dtype, shape, mmap):
    x = genesis.randint(0, 2, shape).to(getattr(genesis, dtype))
    genesis.save({"x": x, "byte": genesis.ones(3, dtype=genesis.uint8)}, tmp_path / "x.safetensors")
    same(x, genesis.load(tmp_path / "x.safetensors", mmap=mmap)["x"])


@pytest.mark.parametrize(
    "x",
    [
        {},
        [],
        None,
        "text",
        -(2**80),
        {"a": [1, (2, {"b": None})], "empty": {}, "": genesis.ones(1)},
        {0: genesis.zeros(2), (1, "x"): 2.5, None: True, 1.5: 0},
        OrderedDict(b=genesis.ones(2), a=OrderedDict()),
        [float("inf"), float("-inf"), float("nan"), -0.0, 1e-320, 0.1],
        (b"\x00\xff", bytearray(b"ab"), 1 + 2j, slice(1, None, 2), {3, 1}, frozenset({"a"})),
        [genesis.float16, genesis.Size([2, 3]), genesis.device("cpu")],
        ["\ud800", "ü", '"', "\n"],
        [genesis.nn.Parameter(genesis.ones(2)), genesis.nn.Parameter(genesis.ones(2), False)],
        genesis.ones(3, requires_grad=True),
        {"__metadata__": genesis.ones(1), "a.b": genesis.ones(2), "a": {"b": genesis.zeros(3)}},
        {"dict": 1, "tensor": 0, "tuple": [1]},
        [np.arange(6, dtype=np.uint32).reshape(2, 3), np.float64(2.5), np.int64(3), np.bool_(True)],
        [np.arange(3, dtype=">f4").astype("<f4"), np.uint64(2**63 + 5), np.array(7, dtype=np.uint16)],
    ],
    ids=lambda x: type(x).__name__,
)  # fmt: skip
def test_structures_come_back(x):
    same(x, round_trip(x))


def test_a_dict_of_tensors_is_a_plain_safetensors_file(tmp_path):
    path = tmp_path / "x.safetensors"
    genesis.save({"b": genesis.ones(3, dtype=genesis.uint8), "a": genesis.zeros(2)}, path)
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    assert length % 8 == 0 and b"__metadata__" not in data
    assert data[8 + length :] == bytes(8) + b"\1\1\1"
    assert list(genesis.load(path)) == ["b", "a"]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.t(),
        lambda x: x[:, ::2],
        lambda x: x[0].expand(4, 6),
        lambda x: x.as_strided((3, 2), (1, 1)),
    ],
)
def test_tensors_that_are_not_contiguous(make):
    x = make(genesis.arange(24.0).reshape(4, 6))
    y = round_trip([x])[0]
    assert y.tolist() == x.tolist()


@pytest.mark.parametrize(
    "parts",
    [
        lambda x: [x, x],
        lambda x: [x, x.detach()],
        lambda x: [x, x[1:], x.t()],
        lambda x: [x[1:], x],
        lambda x: [x[:3], x[2:]],
        lambda x: [x[:, 0], x[:, 3]],
        lambda x: [x.reshape(-1)[3:9], x.view(genesis.uint8)[0, 3:20], x.view(genesis.int64)[2:]],
        lambda x: [x.view(genesis.int16), x],
        lambda x: [x, x.view(genesis.int64)],
    ],
)
@pytest.mark.parametrize("mmap", [False, True])
def test_shared_memory_is_shared_again(tmp_path, parts, mmap):
    original = parts(genesis.arange(24.0).reshape(4, 6))
    genesis.save(original, tmp_path / "x.safetensors")
    copies = genesis.load(tmp_path / "x.safetensors", mmap=mmap)
    same(original, copies)
    for i in range(len(original)):  # a write through one shows in the others as it did
        original[i].fill_(i + 1)
        copies[i].fill_(i + 1)
        same(original, copies)


def test_one_tensor_met_twice_is_one_tensor_again():
    x = genesis.ones(2)
    a, b, c = round_trip([x, x, x.detach()])
    assert a is b and a is not c


def test_parts_without_overlap_are_written_apart(tmp_path):
    x = genesis.arange(1000.0)
    genesis.save({"a": x[:10], "b": x[20:30]}, tmp_path / "x.safetensors")
    assert (tmp_path / "x.safetensors").stat().st_size < 300
    assert load_file(tmp_path / "x.safetensors")["b"].tolist() == list(range(20, 30))


def test_tied_parameters_stay_tied():
    w = genesis.nn.Parameter(genesis.ones(2, 2))
    back = round_trip({"encoder": w, "decoder": w, "step": 1})
    assert back["encoder"] is back["decoder"] and isinstance(back["encoder"], genesis.nn.Parameter)


def test_versions_of_a_state_dict_are_kept():
    state = OrderedDict(w=genesis.ones(1))
    state._metadata = OrderedDict({"": {"version": 2}})
    assert round_trip(state)._metadata == state._metadata


def test_several_objects_follow_each_other_in_a_stream():
    file = io.BytesIO(b"head")
    file.seek(4)
    for x in ({"a": genesis.ones(2)}, [1, genesis.zeros(3)]):
        genesis.save(x, file)
    file.seek(4)
    assert genesis.load(file)["a"].tolist() == [1, 1]
    assert genesis.load(file)[1].tolist() == [0, 0, 0]


def test_a_mapped_file_is_not_changed_by_writes(tmp_path):
    path = tmp_path / "x.safetensors"
    genesis.save({"x": genesis.zeros(1000)}, path)
    before = path.read_bytes()
    x = genesis.load(path, mmap=True)["x"]
    x += 1
    assert x.sum() == 1000 and path.read_bytes() == before


def test_metadata_is_for_other_readers(tmp_path):
    path = tmp_path / "x.safetensors"
    genesis.save([genesis.ones(1)], path, metadata={"format": "pt"})
    assert read_metadata(path) == {"format": "pt"}
    with pytest.raises(TypeError, match="strings to strings"):
        genesis.save({}, path, metadata={"epoch": 3})


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_files_of_numpy_go_both_ways(tmp_path, rng, suffix):
    array = rng.normal(size=(3, 4))
    path = tmp_path / f"x{suffix}"
    if suffix == ".npy":
        np.save(path, np.asfortranarray(array))
        assert np.array_equal(genesis.load(path).numpy(), array)
        genesis.save(genesis.from_numpy(array), path)
        assert np.array_equal(np.load(path), array)
    else:
        np.savez_compressed(path, a=array, b=np.arange(3, dtype=np.uint16))
        back = genesis.load(path)
        assert np.array_equal(back["a"].numpy(), array) and back["b"].dtype == genesis.uint16
        genesis.save({"a": back["a"]}, path)
        assert np.array_equal(np.load(path)["a"], array)


@pytest.mark.parametrize("dtype", [">f4", ">i8", "<u2", "<u4", "<u8", "?", "<f2"])
def test_dtypes_of_numpy_files(tmp_path, dtype):
    array = np.array([[0, 1], [1, 1]]).astype(dtype)
    np.save(tmp_path / "x.npy", array)
    assert genesis.load(tmp_path / "x.npy").tolist() == array.tolist()


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "x, text",
    [
        ({"model": {"f": len}}, "model -> f is a builtins.builtin_function_or_method"),
        ([Point(1, 2)], "_asdict"),
        (genesis.optim.SGD([genesis.ones(1)]), "state_dict"),
        ([np.array(["a"])], "astype"),
        ([np.datetime64("2020")], "astype"),
    ],
)
def test_what_cannot_be_saved_says_where_it_is(tmp_path, x, text):
    path = tmp_path / "x.safetensors"
    genesis.save({"old": genesis.ones(1)}, path)
    with pytest.raises(TypeError, match=text):
        genesis.save(x, path)
    assert list(genesis.load(path)) == ["old"]


def test_a_cycle_is_an_error():
    x = {"a": []}
    x["a"].append(x)
    with pytest.raises(ValueError, match="contains itself"):
        genesis.save(x, io.BytesIO())


def test_wrong_arguments_say_what_to_do(tmp_path):
    with pytest.raises(TypeError, match="io.BytesIO"):
        genesis.load(b"data")
    with pytest.raises(TypeError, match="path or a binary file"):
        genesis.save({}, 3)
    with pytest.raises(ValueError, match="pass its name"):
        genesis.load(io.BytesIO(), mmap=True)
    with pytest.raises(TypeError, match="one tensor"):
        genesis.save({}, tmp_path / "x.npy")
    with pytest.raises(TypeError, match="dict of tensors"):
        genesis.save([1], tmp_path / "x.npz")
    with pytest.raises(TypeError, match="tensors by name"):
        save_file({"a": 1}, tmp_path / "x.safetensors")
    with pytest.raises(FileNotFoundError):
        genesis.load(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        genesis.save({}, tmp_path)


@pytest.mark.parametrize(
    "location", [None, "cpu", genesis.device("cpu"), {"cuda:0": "cpu"}, lambda s, _: s]
)
def test_map_location_may_name_the_cpu(location):
    assert round_trip([genesis.ones(1)], map_location=location)[0] == 1


def test_other_safetensors_libraries_read_it_and_the_other_way_round(tmp_path):
    other = pytest.importorskip("safetensors.numpy")
    rng = np.random.default_rng(0)
    arrays = {
        "odd": rng.integers(0, 2, 3).astype(bool),
        "w": rng.normal(size=(2, 3)).astype("f4"),
        "h": rng.normal(size=5).astype("f2"),
        "u": np.arange(4, dtype="u2"),
        "none": np.zeros((0, 2)),
    }
    path = tmp_path / "x.safetensors"
    other.save_file(arrays, path, metadata={"a": "b"})
    back = genesis.load(path)
    assert all(np.array_equal(back[k].numpy(), arrays[k]) for k in arrays)
    nested = {"deep": [{"w": genesis.from_numpy(arrays["w"])}], "n": 1, "a": genesis.ones(3)}
    for x in (back, nested):
        genesis.save(x, path)
        read = other.load_file(path)
        for key, value in load_file(path).items():
            assert np.array_equal(read[key], value.numpy()), key
    assert "deep.0.w" in read


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickling(protocol):
    tensors = [
        genesis.arange(6.0).reshape(2, 3).t(), genesis.zeros(0, 2), genesis.tensor(2), genesis.tensor([True]),
        genesis.ones(2, dtype=genesis.bfloat16), genesis.nn.Parameter(genesis.ones(2)),
    ]  # fmt: skip
    back = pickle.loads(pickle.dumps(tensors, protocol))
    same(tensors, back)
    back[0][0, 0] = 5.0  # writable, and memory of its own
    assert tensors[0][0, 0] == 0


def test_pickling_with_memory_beside_it():
    x = genesis.arange(6.0)
    buffers = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(buffers) == 1 and len(data) < 300
    shared = pickle.loads(data, buffers=buffers)
    shared[0] = 7.0
    assert x[0] == 7
    fixed = pickle.loads(data, buffers=[bytes(buffers[0])])  # memory that must not be written to
    fixed[0] = 8.0
    assert x[0] == 7


def test_a_newer_structure_asks_for_an_upgrade():
    file = io.BytesIO()
    genesis.save([genesis.ones(1)], file)
    file = io.BytesIO(file.getvalue().replace(rb"\"version\":1", rb"\"version\":9"))
    with pytest.raises(FileFormatError, match="upgrade Genesis"):
        genesis.load(file)
