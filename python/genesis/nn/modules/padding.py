"""Layers that put values around their input."""

from __future__ import annotations

from collections.abc import Sequence

from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn.modules.module import Module

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    _dims: int
    _mode: str
    padding: tuple[int, ...]

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        sides = 2 * self._dims
        self.padding = (padding,) * sides if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != sides:
            raise ValueError(
                f"{type(self).__name__}: padding must be an int or {sides} of them, got {padding}"
            )

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    _mode = "constant"

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_ConstantPad):
    """Pads the last dimension with a value: (left, right).

    >>> ConstantPad1d((1, 2), 3.5)(genesis.zeros(1, 1))
    tensor([[3.5000, 0.0000, 3.5000, 3.5000]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """Pads the last two dimensions with a value: (left, right, top, bottom).

    >>> ConstantPad2d(1, 3.5)(genesis.zeros(1, 2, 2)).shape
    genesis.Size([1, 4, 4])
    """

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """Pads the last three dimensions with a value: (left, right, top, bottom, front, back).

    >>> ConstantPad3d(1, 3.5)(genesis.zeros(1, 2, 2, 2)).shape
    genesis.Size([1, 4, 4, 4])
    """

    _dims = 3


class ZeroPad1d(_ZeroPad):
    """Pads the last dimension with zeros.

    >>> ZeroPad1d(1)(genesis.ones(1, 1))
    tensor([[0., 1., 0.]])
    """

    _dims = 1


class ZeroPad2d(_ZeroPad):
    """Pads the last two dimensions with zeros.

    >>> ZeroPad2d((1, 0, 2, 0))(genesis.ones(1, 2, 2)).shape
    genesis.Size([1, 4, 3])
    """

    _dims = 2


class ZeroPad3d(_ZeroPad):
    """Pads the last three dimensions with zeros.

    >>> ZeroPad3d(1)(genesis.ones(1, 2, 2, 2)).shape
    genesis.Size([1, 4, 4, 4])
    """

    _dims = 3


class ReflectionPad1d(_Pad):
    """Pads (N, C, W) or (C, W) by reflection at the border.

    >>> ReflectionPad1d(2)(genesis.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """

    _dims, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """Pads (N, C, H, W) or (C, H, W) by reflection at the border.

    >>> ReflectionPad2d(1)(genesis.zeros(1, 2, 2)).shape
    genesis.Size([1, 4, 4])
    """

    _dims, _mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Pads (N, C, D, H, W) or (C, D, H, W) by reflection at the border.

    >>> ReflectionPad3d(1)(genesis.zeros(1, 2, 2, 2)).shape
    genesis.Size([1, 4, 4, 4])
    """

    _dims, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Pads (N, C, W) or (C, W) with the values at the border.

    >>> ReplicationPad1d(2)(genesis.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1., 1., 1., 2., 3., 3., 3.]])
    """

    _dims, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """Pads (N, C, H, W) or (C, H, W) with the values at the border.

    >>> ReplicationPad2d(1)(genesis.zeros(1, 2, 2)).shape
    genesis.Size([1, 4, 4])
    """

    _dims, _mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Pads (N, C, D, H, W) or (C, D, H, W) with the values at the border.

    >>> ReplicationPad3d(1)(genesis.zeros(1, 2, 2, 2)).shape
    genesis.Size([1, 4, 4, 4])
    """

    _dims, _mode = 3, "replicate"


class CircularPad1d(_Pad):
    """Pads (N, C, W) or (C, W) with the values of the other end.

    >>> CircularPad1d(1)(genesis.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    _dims, _mode = 1, "circular"


class CircularPad2d(_Pad):
    """Pads (N, C, H, W) or (C, H, W) with the values of the other end.

    >>> CircularPad2d(1)(genesis.zeros(1, 2, 2)).shape
    genesis.Size([1, 4, 4])
    """

    _dims, _mode = 2, "circular"


class CircularPad3d(_Pad):
    """Pads (N, C, D, H, W) or (C, D, H, W) with the values of the other end.

    >>> CircularPad3d(1)(genesis.zeros(1, 2, 2, 2)).shape
    genesis.Size([1, 4, 4, 4])
    """

    _dims, _mode = 3, "circular"


# PyTorch's names, for packages that subclass them or ask for an instance.
_ConstantPadNd = _ConstantPad
_ReflectionPadNd = _Pad
_ReplicationPadNd = _Pad
