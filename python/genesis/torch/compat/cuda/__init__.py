"""Types of tensors on a CUDA device, of which there are none."""

from __future__ import annotations

from typing import Any, NoReturn

import genesis
from genesis import _legacy

__all__: list[str] = []


class _Type(type):
    """Recognises no tensor, and makes none."""

    def __instancecheck__(cls, x: object) -> bool:
        return False

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            f"cuda.{cls.__name__}: there is no CUDA device; use torch.{cls.__name__}"
        )


for _name in _legacy.__all__:
    if _name.endswith("Tensor"):
        globals()[_name] = _Type(
            _name, (), {"__doc__": f"{_name} on a GPU.", "dtype": getattr(genesis, _name).dtype}
        )

default_generators: tuple[Any, ...] = ()


def _is_in_bad_fork() -> bool:
    """Whether a process was forked while CUDA was in use: no."""
    return False


def current_blas_handle() -> int:
    """Raises: there is no device."""
    raise RuntimeError("cuda.current_blas_handle: there is no CUDA device")


cudart = current_blas_handle
