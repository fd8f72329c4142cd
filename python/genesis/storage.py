"""The memory behind tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from genesis import _C
from genesis._C import Tensor
from genesis._missing import explain

__all__ = ["TypedStorage", "UntypedStorage"]


class UntypedStorage:
    """A block of bytes that tensors share.

    >>> x = genesis.arange(4, dtype=genesis.int32)
    >>> x[1:].untyped_storage().nbytes()
    16
    """

    def __init__(self, *args: Any, device: Any = None) -> None:
        if len(args) > 1:
            raise TypeError(f"UntypedStorage: expected a size or bytes, got {len(args)} arguments")
        if not args or isinstance(args[0], int):
            self._bytes = _C.empty(args[0] if args else 0, dtype=_C.uint8, device=device)
        else:
            self._bytes = _C.tensor(list(args[0]), dtype=_C.uint8, device=device)

    @classmethod
    def _of(cls, x: Tensor) -> UntypedStorage:
        self = cls.__new__(cls)
        self._bytes = _C._whole_storage(x, _C.uint8)
        return self

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The bytes of a file, mapped into memory; with ``shared``, writes change the file."""
        import mmap
        import os

        writing = "r+b" if shared else "rb"
        with open(filename, writing) as file:
            size = os.fstat(file.fileno()).st_size
            if shared and size < nbytes:
                file.truncate(nbytes)
            elif size < nbytes:
                raise RuntimeError(
                    f"UntypedStorage.from_file: {filename} has {size} bytes, {nbytes} are wanted"
                )
            self = cls()
            if nbytes:
                access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
                memory = mmap.mmap(file.fileno(), nbytes, access=access)
                self._bytes = _C.frombuffer(memory, dtype=_C.uint8)
        return self

    @classmethod
    def from_buffer(cls, buffer: Any, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        """A copy of the bytes of a buffer."""
        data = memoryview(buffer).cast("B")
        self = cls()
        self._bytes = _C.frombuffer(bytearray(data), dtype=_C.uint8) if len(data) else self._bytes
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        found = self._bytes.numpy()
        return found if dtype is None else found.astype(dtype)

    def nbytes(self) -> int:
        """How many bytes."""
        return self._bytes.numel()

    size = __len__ = nbytes

    def element_size(self) -> int:
        """Bytes of one element: 1."""
        return 1

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._bytes.data_ptr()

    _cdata = property(data_ptr)

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return self._bytes.device

    is_cuda = is_hpu = is_sparse = is_sparse_csr = False

    def is_pinned(self, device: Any = "cuda") -> bool:
        """Whether the memory is pinned for a device: no."""
        return False

    def is_shared(self) -> bool:
        """Whether child processes see writes to the memory."""
        shared: Any = self._bytes
        return bool(shared.is_shared())

    def share_memory_(self) -> UntypedStorage:
        """Raises unless the memory is shared: tensors hold on to their memory."""
        if not self.is_shared():
            raise RuntimeError("UntypedStorage.share_memory_: call share_memory_() of the tensor")
        return self

    def __getitem__(self, index: Any) -> Any:
        found = self._bytes[index]
        if isinstance(index, slice):
            part = UntypedStorage.__new__(UntypedStorage)
            part._bytes = found  # the same memory
            return part
        return found.item()

    def __setitem__(self, index: Any, value: int) -> None:
        self._bytes[index] = value

    def __iter__(self) -> Iterator[int]:
        return iter(self._bytes.tolist())

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        return list(self)

    def clone(self) -> UntypedStorage:
        """A copy."""
        return UntypedStorage._of(self._bytes.clone())

    def copy_(self, source: UntypedStorage, non_blocking: Any = None) -> UntypedStorage:
        """Take the bytes of another storage."""
        self._bytes.copy_(source._bytes)
        return self

    def fill_(self, value: int) -> UntypedStorage:
        """Set all bytes."""
        self._bytes.fill_(value)
        return self

    def cpu(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def resize_(self, size: int) -> UntypedStorage:
        """Raises unless the size is the same: tensors hold on to their memory."""
        if size != self.nbytes():
            raise RuntimeError(
                f"UntypedStorage.resize_: memory of {self.nbytes()} bytes cannot become {size}; "
                "make a new tensor and copy"
            )
        return self

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UntypedStorage):
            return NotImplemented
        return self.data_ptr() == other.data_ptr() and self.nbytes() == other.nbytes()

    def __hash__(self) -> int:
        return hash((self.data_ptr(), self.nbytes()))

    def __repr__(self) -> str:
        return f"[storage of {self.nbytes()} bytes]"


class TypedStorage:
    """The elements of a storage, all of one dtype.

    ``FloatStorage(3)`` has new memory, ``FloatStorage([1, 2])`` these values.
    """

    dtype: _C.dtype

    def __init__(
        self, *args: Any, wrap_storage: UntypedStorage | None = None, dtype: Any = None,
        device: Any = None,
    ) -> None:  # fmt: skip
        if args and isinstance(args[0], UntypedStorage):
            wrap_storage, args = args[0], args[1:]
            dtype = args[0] if args else dtype
        self.dtype = dtype or getattr(type(self), "dtype", None) or _C.get_default_dtype()
        if wrap_storage is None:
            made = (
                _C.empty(args[0] if args else 0, dtype=self.dtype, device=device)
                if not args or isinstance(args[0], int)
                else _C.tensor(list(args[0]), dtype=self.dtype, device=device)
            )
            wrap_storage = UntypedStorage._of(made)
        self._untyped_storage = wrap_storage
        self._values = wrap_storage._bytes.view(dtype=self.dtype)

    @classmethod
    def from_buffer(cls, buffer: Any, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        """The elements that a buffer holds."""
        return cls(UntypedStorage.from_buffer(buffer), dtype or getattr(cls, "dtype", None))

    _from_buffer = from_buffer

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    def __len__(self) -> int:
        return self._values.numel()

    size = _size = __len__

    def nbytes(self) -> int:
        """How many bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    _data_ptr = data_ptr
    _cdata = property(data_ptr)
    is_cuda = is_sparse = False

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return self._untyped_storage.device

    def __getitem__(self, index: Any) -> Any:
        found = self._values[index]
        return found.tolist() if isinstance(index, slice) else found.item()

    def __setitem__(self, index: Any, value: Any) -> None:
        self._values[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values.tolist())

    def tolist(self) -> list[Any]:
        """The elements as numbers."""
        return list(self)

    def fill_(self, value: Any) -> TypedStorage:
        """Set all elements."""
        self._values.fill_(value)
        return self

    def __repr__(self) -> str:
        return f"[TypedStorage of {len(self)} {self.dtype} elements]"


def _class(name: str, dtype: _C.dtype) -> type[TypedStorage]:
    made = type(name, (TypedStorage,), {"dtype": dtype, "__doc__": f"Memory of {dtype} elements."})
    made.__module__ = "torch"  # the place that files name
    return made


# PyTorch's names of the memory of each dtype.
_CLASSES = {
    dtype: _class(f"{name}Storage", dtype)
    for name, dtype in {
        "Double": _C.float64, "Float": _C.float32, "Half": _C.float16, "BFloat16": _C.bfloat16,
        "Long": _C.int64, "Int": _C.int32, "Short": _C.int16, "Char": _C.int8, "Byte": _C.uint8,
        "Bool": _C.bool, "ComplexFloat": _C.complex64, "ComplexDouble": _C.complex128,
    }.items()
}  # fmt: skip
globals().update({kind.__name__: kind for kind in _CLASSES.values()})
if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


def class_of(dtype: _C.dtype) -> type[TypedStorage]:
    """The class of the memory of a dtype, such as FloatStorage."""
    return _CLASSES[dtype]


explain(globals())
