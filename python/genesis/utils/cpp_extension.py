"""C++ extensions of PyTorch: they are compiled against PyTorch's classes, which are not here."""

from __future__ import annotations

from typing import Any, NoReturn

from genesis._missing import explain

__all__ = [
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "include_paths",
    "load",
    "load_inline",
]

CUDA_HOME = ROCM_HOME = CUDNN_HOME = None
IS_HIP_EXTENSION = False


def _refuse(what: str) -> NoReturn:
    raise RuntimeError(
        f"cpp_extension.{what}: such extensions are compiled against PyTorch's C++ classes, which "
        "Genesis does not have; use the package's Python implementation, or write the operation as "
        "a genesis.autograd.Function"
    )


class BuildExtension:
    """Builds extensions; raises."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("BuildExtension")

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """The class itself, which raises when it is used."""
        return cls


def CppExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> Any:
    """Raises: PyTorch's C++ classes are not here."""
    _refuse("CppExtension")


def CUDAExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> Any:
    """Raises: PyTorch's C++ classes are not here."""
    _refuse("CUDAExtension")


def load(name: str, sources: Any, *args: Any, **kwargs: Any) -> Any:
    """Raises: PyTorch's C++ classes are not here."""
    _refuse("load")


def load_inline(name: str, cpp_sources: Any, *args: Any, **kwargs: Any) -> Any:
    """Raises: PyTorch's C++ classes are not here."""
    _refuse("load_inline")


def include_paths(*args: Any, **kwargs: Any) -> list[str]:
    """Raises: PyTorch's C++ headers are not here."""
    _refuse("include_paths")


explain(globals())
