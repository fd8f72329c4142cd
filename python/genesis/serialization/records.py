"""The files inside a file of torch.save, under PyTorch's name."""

from __future__ import annotations

import os
import zipfile
from typing import Any

__all__ = ["PyTorchFileReader"]


class PyTorchFileReader:
    """Reads the records of a zip archive that ``torch.save`` wrote, by their names."""

    def __init__(self, file: Any) -> None:
        self._zip = zipfile.ZipFile(os.fspath(file) if isinstance(file, os.PathLike) else file)
        names = self._zip.namelist()
        roots = {name.partition("/")[0] for name in names}
        if len(roots) != 1:
            raise RuntimeError(
                f"PyTorchFileReader: a file of torch.save has one folder, found {sorted(roots)}"
            )
        self._root = roots.pop()

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return [name.partition("/")[2] for name in self._zip.namelist()]

    def has_record(self, name: str) -> bool:
        """Whether there is a record of this name."""
        return f"{self._root}/{name}" in self._zip.namelist()

    def get_record(self, name: str) -> bytes:
        """The bytes of a record."""
        return self._zip.read(f"{self._root}/{name}")

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Any:
        """A flat tensor on the bytes of a record."""
        from genesis import _C

        return _C._from_bytes(self.get_record(name), dtype, (numel,))
