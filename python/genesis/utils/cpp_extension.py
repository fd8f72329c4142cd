"""C++ extensions of PyTorch, which Genesis does not support: all functions raise."""

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
        f"cpp_extension.{what}: C++ extensions require the headers of PyTorch, which "
        "Genesis does not have; use the package's Python implementation, or write the operation as "
        "a genesis.autograd.Function"
    )


class BuildExtension:
    """Raises an error: C++ extensions of PyTorch are not supported."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("BuildExtension")

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """Returns the class, whose constructor raises."""
        return cls


def CppExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> Any:
    """Raises an error: C++ extensions of PyTorch are not supported."""
    _refuse("CppExtension")


def CUDAExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> Any:
    """Raises an error: C++ extensions of PyTorch are not supported."""
    _refuse("CUDAExtension")


def load(name: str, sources: Any, *args: Any, **kwargs: Any) -> Any:
    """Raises an error: C++ extensions of PyTorch are not supported."""
    _refuse("load")


def load_inline(name: str, cpp_sources: Any, *args: Any, **kwargs: Any) -> Any:
    """Raises an error: C++ extensions of PyTorch are not supported."""
    _refuse("load_inline")


def include_paths(*args: Any, **kwargs: Any) -> list[str]:
    """Raises an error: there are no PyTorch headers."""
    _refuse("include_paths")


explain(globals())
