"""Readers of data on disk: idx and CIFAR files, folders of images, CSV, text."""

import gzip
import pickle
import sys

import genesis
import numpy as np
import pytest
from genesis.data import (
    CIFAR10,
    CIFAR100,
    MNIST,
    CharacterDataset,
    CSVDataset,
    DataLoader,
    ImageFolder,
    TextLines,
    TokenDataset,
    read_idx,
    read_image,
)


def idx(array):
    codes = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}
    head = bytes([0, 0, codes[array.dtype.str[1:]], array.ndim])
    sizes = np.array(array.shape, ">u4").tobytes()
    return head + sizes + array.astype(array.dtype.newbyteorder(">")).tobytes()


# --- MNIST


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "i4", "f4", "f8"])
def test_idx_files_of_all_types(dtype, tmp_path):
    array = (np.arange(24).reshape(2, 3, 4) * 3 - 20).astype(dtype)
    (tmp_path / "plain").write_bytes(idx(array))
    (tmp_path / "packed.gz").write_bytes(gzip.compress(idx(array)))
    for name in ("plain", "packed.gz"):
        np.testing.assert_array_equal(read_idx(tmp_path / name).numpy(), array)


def test_damaged_idx_files(tmp_path):
    whole = idx(np.arange(10, dtype="u1"))
    for data, text in (
        (whole[:-3], "incomplete"), (b"\x89PNG", "not an idx file"), (b"", "not an idx file"),
        (gzip.compress(whole)[:-9], "damaged gzip"), (whole[:6], "incomplete"),
    ):  # fmt: skip
        (tmp_path / "file").write_bytes(data)
        with pytest.raises(ValueError, match=text):
            read_idx(tmp_path / "file")


def write_mnist(folder, n=20):
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.RandomState(0)
    found = {}
    for start, count in (("train", n), ("t10k", n // 2)):
        images = rng.randint(0, 256, (count, 28, 28)).astype("u1")
        labels = rng.randint(0, 10, count).astype("u1")
        (folder / f"{start}-images-idx3-ubyte").write_bytes(idx(images))
        (folder / f"{start}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
        found[start] = images, labels
    return found


@pytest.mark.parametrize("place", [".", "raw", "MNIST/raw"])
def test_mnist(place, tmp_path):
    written = write_mnist(tmp_path / place)
    data = MNIST(tmp_path)
    images, labels = written["train"]
    assert len(data) == 20 and len(MNIST(tmp_path, train=False)) == 10
    image, label = data[3]
    np.testing.assert_allclose(image.numpy()[0], images[3] / 255, rtol=1e-6)
    assert label == labels[3]
    x, y = data.tensors()
    assert x.shape == (20, 1, 28, 28) and y.dtype == genesis.int64
    raw, _ = MNIST(tmp_path, transform=lambda image: image)[0]
    assert raw.dtype == genesis.uint8
    batch, target = next(iter(DataLoader(data, batch_size=5)))
    assert batch.shape == (5, 1, 28, 28) and target.dtype == genesis.int64


def test_missing_files_say_what_to_fetch(tmp_path):
    with pytest.raises(FileNotFoundError, match="downloads nothing: fetch .* https://.*put them"):
        MNIST(tmp_path)
    with pytest.raises(FileNotFoundError, match="cifar-10-binary.tar.gz .* https://.*unpack"):
        CIFAR10(tmp_path)
    with pytest.raises(FileNotFoundError, match="cifar-100-binary.tar.gz"):
        CIFAR100(tmp_path)


# --- CIFAR


def cifar_rows(n=4, seed=0, classes=10):
    rng = np.random.RandomState(seed)
    return rng.randint(0, 256, (n, 3072)).astype("u1"), rng.randint(0, classes, n)


def test_cifar_in_the_binary_version(tmp_path):
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    expected = []
    for i, name in enumerate([*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]):
        rows, labels = cifar_rows(seed=i)
        data = np.concatenate([labels[:, None].astype("u1"), rows], 1)
        (folder / f"{name}.bin").write_bytes(data.tobytes())
        expected.append((rows, labels))
    (folder / "batches.meta.txt").write_text("airplane\ncar\n\n")
    data = CIFAR10(tmp_path)
    assert len(data) == 20 and data.classes == ["airplane", "car"]
    np.testing.assert_array_equal(data.data.numpy()[4:8], expected[1][0].reshape(4, 3, 32, 32))
    assert data.targets.tolist()[4:8] == expected[1][1].tolist()
    assert data[0][0].shape == (3, 32, 32) and data[0][0].max() <= 1
    assert CIFAR10(folder, train=False).targets.tolist() == expected[5][1].tolist()
    (folder / "test_batch.bin").write_bytes(b"short")
    with pytest.raises(ValueError, match="no multiple of 3073"):
        CIFAR10(folder, train=False)


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_cifar_in_the_python_version(protocol, tmp_path):
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    rows, labels = cifar_rows(classes=100)
    for name in ("train", "test"):
        batch = {b"data": rows, b"fine_labels": labels.tolist(), b"filenames": [b"a.png"]}
        (folder / name).write_bytes(pickle.dumps(batch, protocol))
    (folder / "meta").write_bytes(pickle.dumps({b"fine_label_names": [b"apple", b"boy"]}, protocol))
    data = CIFAR100(tmp_path)
    np.testing.assert_array_equal(data.data.numpy().reshape(4, -1), rows)
    assert data.targets.tolist() == labels.tolist() and data.classes == ["apple", "boy"]


def python2_string(data):
    return b"T" + len(data).to_bytes(4, "little") + data


def test_a_pickle_as_python_2_wrote_it(tmp_path):
    """CIFAR's own files: strings where Python 3 has bytes, and NumPy's old module names."""
    rows, labels = cifar_rows(2)
    shape = b"(K\x02M\x00\x0ct"  # (2, 3072)
    dtype = (
        b"cnumpy\ndtype\n(U\x02u1K\x00K\x01tR"
        b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR"
        + b"(K\x01" + shape + dtype + b"\x89" + python2_string(rows.tobytes()) + b"tb"
    )  # fmt: skip
    numbers = b"](" + b"".join(b"K" + bytes([v]) for v in labels) + b"e"
    data = b"\x80\x02}(U\x04data" + array + b"U\x06labels" + numbers + b"u."
    if sys.version_info >= (3, 11):  # that these bytes are a pickle, says Python itself
        loaded = pickle.loads(data, encoding="latin1")
        np.testing.assert_array_equal(loaded["data"], rows)
    for i in range(1, 6):
        (tmp_path / f"data_batch_{i}").write_bytes(data)
    found = CIFAR10(tmp_path)
    np.testing.assert_array_equal(found.data.numpy()[:2].reshape(2, -1), rows)
    assert found.targets.tolist()[:2] == labels.tolist()


def test_a_pickle_with_code_is_not_run(tmp_path):
    class Evil:
        def __reduce__(self):
            return (exec, (f"open({str(tmp_path / 'owned')!r}, 'w')",))

    for protocol in (0, 2, 4):
        (tmp_path / "train").write_bytes(pickle.dumps({b"data": Evil()}, protocol))
        with pytest.raises((ValueError, genesis.serialization.FileFormatError)):
            CIFAR100(tmp_path)
        (tmp_path / "train").write_bytes(
            pickle.dumps({b"data": Evil(), b"fine_labels": [1]}, protocol)
        )
        with pytest.raises((ValueError, genesis.serialization.FileFormatError)):
            CIFAR100(tmp_path)
    assert not (tmp_path / "owned").exists()


# --- images


@pytest.fixture
def folders(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    rng = np.random.RandomState(0)
    for name in ("dog/1.png", "dog/2.png", "cat/deep/3.png", "cat/4.bmp"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.randint(0, 256, (6, 5, 3)).astype("u1")).save(path)
    (tmp_path / "cat" / "notes.txt").write_text("not an image")
    return tmp_path


def test_folders_of_images(folders):
    from PIL import Image

    data = ImageFolder(folders)
    assert data.classes == ["cat", "dog"] and data.targets == [0, 0, 1, 1]
    image, label = data[2]
    expected = np.asarray(Image.open(folders / "dog" / "1.png")).transpose(2, 0, 1)
    np.testing.assert_allclose(image.numpy(), expected / 255, rtol=1e-6)
    assert label == 1
    grey = ImageFolder(folders, lambda image: image, str, mode="L")[0]
    assert grey[0].shape == (1, 6, 5) and grey[0].dtype == genesis.uint8 and grey[1] == "0"
    assert len(list(DataLoader(data, 2, num_workers=2))) == 2
    (folders / "cat" / "4.bmp").write_text("broken")
    with pytest.raises(ValueError, match="not an image"):
        read_image(folders / "cat" / "4.bmp")


def test_folders_without_images_and_a_python_without_pillow(tmp_path, monkeypatch):
    (tmp_path / "cat").mkdir()
    with pytest.raises(FileNotFoundError, match="has no images"):
        ImageFolder(tmp_path)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match="pip install pillow"):
        read_image(tmp_path / "a.png")


# --- tables and texts


def test_tables(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('size, "colour",weight,kind\n1.5,red,3,b\n2.5,blue,4,a\n3.5,red,5,b\n')
    data = CSVDataset(path, target="kind")
    assert data.columns == ["size", "colour", "weight"] and len(data) == 3
    assert data.features.tolist() == [[1.5, 1, 3], [2.5, 0, 4], [3.5, 1, 5]]
    assert data.targets.tolist() == [1, 0, 1] and data.targets.dtype == genesis.int64
    assert data.categories == {"colour": ["blue", "red"], "kind": ["a", "b"]}
    assert CSVDataset(path, target="weight", columns=["size"]).targets.dtype == genesis.int64
    assert CSVDataset(path, target="size", columns=["weight"]).targets.dtype == genesis.float32
    assert CSVDataset(path, columns=["size"])[0].tolist() == [1.5]
    x, y = next(iter(DataLoader(data, batch_size=2)))
    assert x.shape == (2, 3) and y.shape == (2,)


def test_tables_without_a_header_and_with_gaps(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("1;2\n;4\n")
    assert CSVDataset(
        path, target=-1, header=False, delimiter=";", missing=0.5
    ).features.tolist() == [[1.0], [0.5]]
    with pytest.raises(ValueError, match="row 2 of '0' is empty"):
        CSVDataset(path, header=False, delimiter=";")
    with pytest.raises(ValueError, match="no column 'x'"):
        CSVDataset(path, target="x", header=False, delimiter=";", missing=0)
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(ValueError, match="row 3 has 1 cells, expected 2"):
        CSVDataset(path)
    path.write_text("a,b\n")
    with pytest.raises(ValueError, match="no rows"):
        CSVDataset(path)


def test_lines(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\ntwo")
    (tmp_path / "b.txt").write_bytes("drüben\n".encode("latin1"))
    assert list(TextLines(tmp_path / "a.txt")) == ["one", "", "two"]
    assert len(TextLines(tmp_path / "a.txt", len, skip_empty=True)) == 2
    assert TextLines(tmp_path / "a.txt", len)[2] == 3
    with pytest.raises(ValueError, match="encoding="):
        TextLines(tmp_path / "b.txt")
    both = TextLines([tmp_path / "b.txt", tmp_path / "b.txt"], encoding="latin1")
    assert list(both) == ["drüben"] * 2


@pytest.mark.parametrize("kind", ["tensor", "list", "npy", "bin"])
def test_windows_of_tokens(kind, tmp_path):
    ids = np.arange(11)
    np.save(tmp_path / "ids.npy", ids)
    ids.astype(np.uint16).tofile(tmp_path / "ids.bin")
    source = {"tensor": genesis.tensor(ids), "list": ids.tolist(), "npy": tmp_path / "ids.npy",
              "bin": tmp_path / "ids.bin"}[kind]  # fmt: skip
    data = TokenDataset(source, context=3)
    assert [a.tolist() for a, _ in (data[i] for i in range(len(data)))] == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8],
    ]
    assert data[-1][1].tolist() == [7, 8, 9] and data[0][0].dtype == genesis.int64
    assert len(TokenDataset(source, context=3, stride=1)) == 8
    assert TokenDataset(source, 3, 1)[7][1].tolist() == [8, 9, 10]
    with pytest.raises(IndexError):
        data[3]
    with pytest.raises(ValueError, match="more than context=11"):
        TokenDataset(source, context=11)


def test_windows_of_characters(tmp_path):
    (tmp_path / "text.txt").write_text("hello world")
    data = CharacterDataset.from_file(tmp_path / "text.txt", context=4)
    inputs, targets = data[1]
    assert (data.decode(inputs), data.decode(targets)) == ("o wo", " wor")
    assert data.encode("hold").tolist() == [data.alphabet.index(c) for c in "hold"]
    with pytest.raises(ValueError, match="not in the alphabet: 'xy'"):
        data.encode("xy")
    other = CharacterDataset("world", 2, alphabet=data.alphabet)
    assert other.alphabet == data.alphabet
