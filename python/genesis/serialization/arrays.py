"""Files of NumPy: one array (.npy) or several by name (.npz). Pickled objects are refused."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any

from genesis import _C
from genesis._C import Tensor
from genesis.serialization.errors import FileFormatError
from genesis.serialization.source import Source

if TYPE_CHECKING:
    import numpy as np

NPY_START = b"\x93NUMPY"


class _Stream:
    """A file that NumPy writes to by its method only.

    To a real file NumPy writes through a copy of its own, and drops the error if the last part of
    the data finds no room.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.write = file.write


def write_npy(file: IO[bytes], x: Any) -> None:
    import numpy as np

    if not isinstance(x, (Tensor, np.ndarray)):
        raise TypeError(
            f"save: a .npy file holds one tensor, got {type(x).__name__}; use .npz for a dict of "
            "tensors, or .safetensors for everything else"
        )
    np.save(_Stream(file), _array(x), allow_pickle=False)


def write_npz(file: IO[bytes], x: Any) -> None:
    import numpy as np

    if not isinstance(x, Mapping) or not all(
        isinstance(k, str) and isinstance(v, (Tensor, np.ndarray)) for k, v in x.items()
    ):
        raise TypeError(
            "save: a .npz file holds a dict of tensors under strings, got something else; use "
            ".safetensors, which keeps nested and plain values"
        )
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, value in x.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as record:
                np.save(record, _array(value), allow_pickle=False)


def _array(x: Any) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = x.detach().numpy() if isinstance(x, Tensor) else x
    return array


def read_npy(source: Source) -> Tensor:
    source.file.seek(source.base)
    return _read(source, source.file, "", source.size)


def read_npz(source: Source) -> dict[str, Tensor]:
    found = {}
    with zipfile.ZipFile(source.file) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            try:
                with archive.open(info) as record:
                    found[name] = _read(source, record, f"array {name!r}: ", info.file_size)
            except FileFormatError:
                raise
            except Exception as error:  # what zipfile and its decompressors raise for bad bytes
                raise source.fail(f"array {name!r} cannot be read: {error}") from None
    return found


def _read(source: Source, file: IO[bytes], where: str, size: int) -> Tensor:
    import numpy as np
    from numpy.lib import format as module

    npy: Any = module  # NumPy before 2.3 has no types for it
    try:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"its version is {version}")
        # Later versions differ in the size and encoding of the header, not in its contents.
        header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = header(file)
    except Exception as error:
        raise source.fail(f"{where}its header is not what NumPy writes: {error}") from None
    if dtype.hasobject:
        raise source.fail(
            f"{where}it holds Python objects, which are pickled, and Genesis runs no code of "
            "files; convert the array to numbers with astype() and save it again"
        )
    if dtype.itemsize == 0 or any(type(n) is not int for n in shape):
        raise source.fail(f"{where}its header says shape {shape} of {dtype}; it is damaged")
    needed = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or len(shape) > 64 or needed > size:
        raise source.fail(
            f"{where}shape {shape} of {dtype} takes {needed} bytes, but there are {size}; the file "
            "is cut short or damaged"
        )
    data = file.read(needed)
    if len(data) != needed:
        raise source.fail(f"{where}it ends after {len(data)} of {needed} bytes; it is cut short")
    array = np.frombuffer(bytearray(data), dtype=dtype)
    array = array.reshape(shape[::-1]).T if fortran else array.reshape(shape)
    if array.dtype.byteorder not in "=|<":
        array = array.astype(array.dtype.newbyteorder("="))
    try:
        return _C.from_numpy(array)
    except (TypeError, RuntimeError) as error:
        raise source.fail(f"{where}{error}") from None
