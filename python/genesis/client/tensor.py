"""Tensors of GT: those of the package."""

from __future__ import annotations

from typing import Any

from genesis._C import (
    Tensor,
    cat,
    from_numpy,
    is_grad_enabled,
    ones,
    randn,
    set_grad_enabled,
    zeros,
)

__all__ = [
    "Tensor",
    "TensorData",
    "cat",
    "from_numpy",
    "is_grad_enabled",
    "ones",
    "randn",
    "set_grad_enabled",
    "zeros",
]


class TensorData:
    """Values that were fetched from a tensor: an array with ``numpy()``.

    >>> TensorData(genesis.ones(2).numpy()).shape
    (2,)
    """

    def __init__(self, data: Any) -> None:
        import numpy as np

        self._data = np.asarray(data)

    def numpy(self) -> Any:
        """The array."""
        return self._data

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        shape: tuple[int, ...] = self._data.shape
        return shape

    @property
    def dtype(self) -> Any:
        """The NumPy dtype of the array."""
        return self._data.dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy as np

        return np.array(self._data, dtype=dtype) if copy or dtype else self._data

    def __repr__(self) -> str:
        return repr(self._data)
