"""Data sets on disk: MNIST and CIFAR files, folders of images. Nothing is downloaded."""

from __future__ import annotations

import gzip
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.data.dataset import Dataset
from genesis.serialization.unpickle import ForeignObject, Machine

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "ImageFolder", "read_idx", "read_image"]


# The type code of an idx file, as NumPy names it.
_IDX_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_idx(path: str | os.PathLike[str]) -> Tensor:
    """The tensor in a file of the idx format, in which MNIST comes; ``.gz`` files too.

    >>> _ = Path("labels").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
    >>> read_idx("labels")
    tensor([7, 2, 1], dtype=genesis.uint8)
    """
    import numpy as np

    with open(path, "rb") as file:
        data = file.read()
    try:
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (EOFError, OSError) as error:
        raise ValueError(f"read_idx: {path} is a damaged gzip file: {error}") from None
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in _IDX_TYPES:
        raise ValueError(f"read_idx: {path} is not an idx file; it begins with {data[:4]!r}")
    kind, ndim = np.dtype(_IDX_TYPES[data[2]]), data[3]
    start = 4 + 4 * ndim
    sizes = [data[i : i + 4] for i in range(4, start, 4)]
    shape = [int.from_bytes(size, "big") for size in sizes]
    count = math.prod(shape)
    if len(data) - start != count * kind.itemsize:
        raise ValueError(
            f"read_idx: {path} is incomplete: a tensor of shape {tuple(shape)} needs "
            f"{count * kind.itemsize} bytes, it has {max(0, len(data) - start)}; fetch it again"
        )
    array = np.frombuffer(data, kind, offset=start).reshape(shape)
    return _C.from_numpy(array.astype(kind.newbyteorder("=")))


class _Images(Dataset[Any]):
    """Images in memory, each with a label; what all small image data sets are.

    ``data`` has all images as uint8 (N, C, H, W), and ``targets`` the labels.
    """

    data: Tensor
    targets: Tensor
    classes: list[str]

    def __init__(
        self,
        data: Tensor,
        targets: Tensor,
        classes: Sequence[str],
        transform: Callable[[Any], Any] | None,
        target_transform: Callable[[Any], Any] | None,
    ) -> None:
        self.data = data
        self.targets = targets
        self.classes = list(classes)
        self.transform = transform
        self.target_transform = target_transform

    def __len__(self) -> int:
        return int(self.data.shape[0])

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        image, label = self.data[index], int(self.targets[index])
        image = _unit(image) if self.transform is None else self.transform(image)
        return image, label if self.target_transform is None else self.target_transform(label)

    def tensors(self) -> tuple[Tensor, Tensor]:
        """All images as float32 from 0 to 1, and all labels: for data that fit into memory."""
        return _unit(self.data), self.targets.long()

    def __repr__(self) -> str:
        shape = tuple(self.data.shape[1:])
        return f"{type(self).__name__}({len(self)} images of {shape}, {len(self.classes)} classes)"


def _unit(image: Tensor) -> Tensor:
    unit: Tensor = image.float() / 255
    return unit


def _found(name: str, root: Path, choices: Sequence[str], where: str) -> Path:
    """The first of some files that is there, in a folder or in its usual subfolders."""
    for choice in choices:
        if (root / choice).is_file():
            return root / choice
    raise FileNotFoundError(
        f"{name}: there is no {' or '.join(choices[:2])} in {root}. Genesis downloads nothing: "
        f"fetch the files from {where} and put them there"
    )


class MNIST(_Images):
    """The handwritten digits of MNIST, from the four idx files in ``root``, packed or not.

    Fashion-MNIST, KMNIST and EMNIST have files of the same names and format; pass their names as
    ``classes``. A sample is a float32 image (1, 28, 28) from 0 to 1 and an int; a ``transform``
    gets the uint8 image instead.

    >>> MNIST("nowhere")
    Traceback (most recent call last):
    ...
    FileNotFoundError: MNIST: there is no train-images-idx3-ubyte ...
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        classes: Sequence[str] | None = None,
    ) -> None:
        folder = Path(root)
        start = "train" if train else "t10k"
        where = "https://ossci-datasets.s3.amazonaws.com/mnist/"
        read = []
        for kind in ("images-idx3", "labels-idx1"):
            stem = f"{start}-{kind}-ubyte"
            places = [stem, f"{stem}.gz", f"raw/{stem}", f"raw/{stem}.gz", f"MNIST/raw/{stem}",
                      f"MNIST/raw/{stem}.gz", stem.replace("-idx", ".idx")]  # fmt: skip
            read.append(read_idx(_found("MNIST", folder, places, where)))
        images, labels = read
        if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
            raise ValueError(
                f"MNIST: images of shape {tuple(images.shape)} and labels of shape "
                f"{tuple(labels.shape)} in {folder} do not fit"
            )
        names = list(classes) if classes is not None else [str(i) for i in range(10)]
        super().__init__(images.unsqueeze(1), labels, names, transform, target_transform)


class _Pickle(Machine):
    """Pickles of Python 2, whose strings are bytes."""

    def string(self, data: bytes) -> str:
        return data.decode("latin1")


def _batch(path: Path) -> dict[str, Any]:
    """The dict in a file of CIFAR's Python version; nothing in it is imported or executed."""

    def no_storage(_: Any) -> Any:
        raise ValueError(f"CIFAR: {path} refers to data outside of the file")

    calls = {"_codecs.encode": lambda text, kind="latin1": text.encode("latin1")}
    found = _Pickle(path.read_bytes(), calls, {}, no_storage, foreign=True).run()
    if not isinstance(found, dict):
        raise ValueError(f"CIFAR: {path} holds a {type(found).__name__}, not a dict of a batch")
    return {k.decode("latin1") if isinstance(k, bytes) else str(k): v for k, v in found.items()}


def _array(path: Path, value: Any) -> Any:
    """The uint8 array that a pickle describes."""
    import numpy as np

    name = getattr(value, "kind", "")
    if isinstance(value, ForeignObject) and name.endswith("multiarray._reconstruct"):
        _, shape, dtype, fortran, raw = value.state
        raw = raw.encode("latin1") if isinstance(raw, str) else raw
        if isinstance(dtype, ForeignObject) and dtype.args[0] in ("u1", "|u1", b"u1"):
            array = np.frombuffer(raw, np.uint8)
            return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)
    raise ValueError(f"CIFAR: {path} holds no array of bytes as its images")


class CIFAR10(_Images):
    """CIFAR-10, from the files of its binary or of its Python version in ``root``.

    ``root`` is the unpacked folder ``cifar-10-batches-bin`` or ``cifar-10-batches-py``, or the one
    that holds it. The pickles of the Python version are read as data: nothing in them is executed.
    A sample is a float32 image (3, 32, 32) from 0 to 1 and an int; a ``transform`` gets uint8.

    >>> CIFAR10("nowhere")
    Traceback (most recent call last):
    ...
    FileNotFoundError: CIFAR10: there is no ...
    """

    _folders = ("cifar-10-batches-bin", "cifar-10-batches-py")
    _parts = (
        [f"data_batch_{i}" for i in range(1, 6)],
        ["test_batch"],
    )
    _label = "labels"
    _labels_before = 1  # bytes before an image in the binary version
    _names = ("batches.meta.txt", "batches.meta", "label_names")
    _count = 10

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        images, labels = [], []
        folder = self._folder(Path(root))
        for stem in self._parts[0 if train else 1]:
            rows, found = self._read(folder, stem)
            images.append(rows.reshape(-1, 3, 32, 32))
            labels.append(found)
        data = _C.from_numpy(_joined(images))
        targets = _C.from_numpy(_joined(labels))
        super().__init__(data, targets, self._class_names(folder), transform, target_transform)

    def _folder(self, root: Path) -> Path:
        first = self._parts[0][0]
        for folder in (root, *(root / name for name in self._folders)):
            if any((folder / name).is_file() for name in (first, f"{first}.bin")):
                return folder
        name = type(self).__name__
        raise FileNotFoundError(
            f"{name}: there is no {first} or {first}.bin in {root}. Genesis downloads nothing: "
            f"fetch cifar-{self._count}-binary.tar.gz or cifar-{self._count}-python.tar.gz from "
            "https://www.cs.toronto.edu/~kriz/cifar.html and unpack it there"
        )

    def _read(self, folder: Path, stem: str) -> tuple[Any, Any]:
        """The rows of images and the labels of a file of either version."""
        import numpy as np

        path = folder / f"{stem}.bin"
        if path.is_file():
            size = 3072 + self._labels_before
            raw = np.fromfile(path, np.uint8)
            if not len(raw) or len(raw) % size:
                raise ValueError(
                    f"{type(self).__name__}: {path} has {len(raw)} bytes, which is no multiple of "
                    f"{size}; fetch it again"
                )
            rows = raw.reshape(-1, size)
            return rows[:, self._labels_before :], rows[:, self._labels_before - 1].astype(np.int64)
        path = folder / stem
        if not path.is_file():
            raise FileNotFoundError(f"{type(self).__name__}: {path} is missing; unpack all files")
        batch = _batch(path)
        if "data" not in batch or self._label not in batch:
            raise ValueError(
                f"{type(self).__name__}: {path} has {sorted(batch)}, not 'data' and {self._label!r}"
            )
        rows, labels = _array(path, batch["data"]), np.asarray(batch[self._label], np.int64)
        if rows.ndim != 2 or rows.shape[1] != 3072 or len(rows) != len(labels):
            raise ValueError(f"{type(self).__name__}: {path} is damaged; fetch it again")
        return rows, labels

    def _class_names(self, folder: Path) -> list[str]:
        text, pickled, key = self._names
        if (folder / text).is_file():
            return (folder / text).read_text().split()
        if (folder / pickled).is_file():
            names = _batch(folder / pickled).get(key, [])
            return [n.decode() if isinstance(n, bytes) else str(n) for n in names]
        return [str(i) for i in range(self._count)]


class CIFAR100(CIFAR10):
    """CIFAR-100 with its 100 fine classes, read as `CIFAR10` is.

    >>> CIFAR100("nowhere")
    Traceback (most recent call last):
    ...
    FileNotFoundError: CIFAR100: there is no train or train.bin in nowhere. ...
    """

    _folders = ("cifar-100-binary", "cifar-100-python")
    _parts = (["train"], ["test"])
    _label = "fine_labels"
    _labels_before = 2
    _names = ("fine_label_names.txt", "meta", "fine_label_names")
    _count = 100


def _joined(arrays: list[Any]) -> Any:
    import numpy as np

    return np.ascontiguousarray(np.concatenate(arrays))


def read_image(path: str | os.PathLike[str], mode: str = "RGB") -> Tensor:
    """An image file as a uint8 tensor (C, H, W), through Pillow. ``mode`` is Pillow's: "RGB", "L".

    >>> read_image("photo.jpg")  # doctest: +SKIP
    """
    import numpy as np

    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise ImportError(
            "read_image needs the package Pillow, which is not installed: pip install pillow (or "
            'pip install "genesis-autograd[images]")'
        ) from None
    try:
        with Image.open(path) as image:
            array = np.asarray(image.convert(mode))
    except UnidentifiedImageError:
        raise ValueError(f"read_image: {path} is not an image that Pillow can read") from None
    if array.ndim == 2:
        array = array[:, :, None]
    return _C.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))


class ImageFolder(Dataset[Any]):
    """Images in a folder for each class: ``root/cat/1.jpg``, ``root/dog/2.png``; read by Pillow.

    Folders are classes in alphabetical order (``classes``, ``class_to_idx``), and may be nested.
    A sample is a float32 image (3, H, W) from 0 to 1 and its class; a ``transform`` gets the uint8
    image instead. ``samples`` lists paths and classes.

    >>> ImageFolder("nowhere")
    Traceback (most recent call last):
    ...
    FileNotFoundError: ImageFolder: there is no folder nowhere
    """

    EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp", ".gif")

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        *,
        mode: str = "RGB",
        extensions: Sequence[str] = EXTENSIONS,
    ) -> None:
        folder = Path(root)
        if not folder.is_dir():
            raise FileNotFoundError(f"ImageFolder: there is no folder {folder}")
        self.root = folder
        self.classes = sorted(p.name for p in folder.iterdir() if p.is_dir())
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        endings = tuple(e.lower() for e in extensions)
        self.samples = [
            (str(path), i)
            for name, i in self.class_to_idx.items()
            for path in sorted((folder / name).rglob("*"))
            if path.suffix.lower() in endings and path.is_file()
        ]
        if not self.samples:
            raise FileNotFoundError(
                f"ImageFolder: {folder} has no images ({' '.join(endings)}) in a folder for each "
                f"class; its folders are {self.classes}"
            )
        self.targets = [i for _, i in self.samples]
        self.mode = mode
        self.transform = transform
        self.target_transform = target_transform

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        path, label = self.samples[index]
        image = read_image(path, self.mode)
        found: Any = _unit(image) if self.transform is None else self.transform(image)
        return found, label if self.target_transform is None else self.target_transform(label)
