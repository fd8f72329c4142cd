"""Layers that find out how many inputs they have when they are first called.

They then become the plain layers, parameters and all; optimizers that hold the parameters may be
made before. What is loaded from a ``state_dict`` gives the shapes as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.nn.modules.batchnorm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from genesis.nn.modules.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Numbers,
)
from genesis.nn.modules.linear import Linear
from genesis.nn.modules.module import Module
from genesis.nn.uninitialized import UninitializedBuffer, UninitializedParameter, is_lazy

__all__: list[str] = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
]


class _Lazy(Module):
    """What lazy layers have in common; the layer itself comes after it among the bases."""

    cls_to_become: type[Module]

    def _missing(self) -> Iterator[tuple[str, Any]]:
        """Parameters and buffers that wait for their shapes."""
        for own in (self._parameters, self._buffers):
            for name, value in own.items():
                if is_lazy(value):
                    yield name, value

    def has_uninitialized_params(self) -> bool:
        """Whether any parameter or buffer waits for its shape."""
        return any(True for _ in self._missing())

    def _wait(self, *names: str) -> None:
        """Take shape and values from these, where they are."""
        for name in names:
            value = getattr(self, name)
            if value is not None:
                kind = UninitializedParameter if name in self._parameters else UninitializedBuffer
                setattr(self, name, kind(dtype=value.dtype))

    def reset_parameters(self) -> None:
        """Reinitialize parameters, if they have their shapes."""
        if not self._new() and not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]

    def _new(self) -> bool:
        """Whether the number of inputs is not known."""
        raise TypeError(f"{type(self).__name__} does not say when it is new")

    def _find(self, input: Tensor) -> dict[str, tuple[int, ...]]:
        """Takes the number of inputs over; the shapes of what waits."""
        raise TypeError(f"{type(self).__name__} does not say what its shapes are")

    def initialize_parameters(self, input: Tensor) -> None:
        """Give parameters and buffers the shapes that this input requires."""
        shapes = self._find(input)
        waiting = dict(self._missing())
        for name, value in waiting.items():
            value.materialize(shapes[name])
        if waiting:
            with _C.no_grad():
                self.reset_parameters()

    def _become(self, input: Tensor) -> Any:
        """This layer, no longer lazy."""
        self.initialize_parameters(input)
        self.__class__ = self.cls_to_become  # type: ignore[assignment]
        return self

    def forward(self, input: Tensor) -> Tensor:
        y: Tensor = self._become(input).forward(input)
        return y

    def _save_to_state_dict(
        self, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name, value in self._missing():
            destination[prefix + name] = value

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any) -> None:
        for name, value in list(self._missing()):
            given = state_dict.get(prefix + name)
            if isinstance(given, Tensor) and not is_lazy(given):
                value.materialize(given.shape)
        absent = {name: value for name, value in self._missing() if prefix + name in state_dict}
        own = {k: v for k, v in state_dict.items() if k.removeprefix(prefix) not in absent}
        for name in absent:  # waits there as well as here
            (self._parameters if name in self._parameters else self._buffers).pop(name)
        super()._load_from_state_dict(own, prefix, *args)
        for name, value in absent.items():
            setattr(self, name, value)


class LazyLinear(_Lazy, Linear):
    """``Linear`` whose ``in_features`` are those of its first input.

    >>> layer = LazyLinear(3)
    >>> layer(genesis.ones(2, 5)).shape, layer
    (genesis.Size([2, 3]), Linear(in_features=5, out_features=3, bias=True))
    """

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, out_features, bias, device, dtype)
        self._wait("weight", "bias")

    def _new(self) -> bool:
        return self.in_features == 0

    def _find(self, input: Tensor) -> dict[str, tuple[int, ...]]:
        self.in_features = input.shape[-1]
        return {"weight": (self.out_features, self.in_features), "bias": (self.out_features,)}


class _LazyConv(_Lazy):
    in_channels: int
    out_channels: int
    groups: int
    kernel_size: tuple[int, ...]
    _spatial: int
    _transposed: bool

    def _new(self) -> bool:
        return self.in_channels == 0

    def _find(self, input: Tensor) -> dict[str, tuple[int, ...]]:
        name, n = type(self).__name__, self._spatial
        if input.ndim not in (n + 1, n + 2):
            raise ValueError(
                f"{name}: expected input of {n + 1} or {n + 2} dimensions, got shape "
                f"{tuple(input.shape)}"
            )
        channels = input.shape[-n - 1]
        if channels % self.groups:
            raise ValueError(
                f"{name}: {channels} channels of input must be divisible by groups={self.groups}"
            )
        self.in_channels = channels
        outer, inner = self.out_channels, channels // self.groups
        if self._transposed:
            outer, inner = channels, self.out_channels // self.groups
        return {"weight": (outer, inner, *self.kernel_size), "bias": (self.out_channels,)}


class _LazyStraight(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers = 1,
        padding: str | Numbers = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
            device, dtype,
        )  # fmt: skip
        self._wait("weight", "bias")


class _LazyTransposed(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers = 1,
        padding: Numbers = 0,
        output_padding: Numbers = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            0, out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation,
            padding_mode, device, dtype,
        )  # fmt: skip
        self._wait("weight", "bias")

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        y: Tensor = self._become(input).forward(input, output_size)
        return y


class _LazyNorm(_Lazy):
    num_features: int

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self._wait("weight", "bias", "running_mean", "running_var")

    def _new(self) -> bool:
        return self.num_features == 0

    def _find(self, input: Tensor) -> dict[str, tuple[int, ...]]:
        self._check_input_dim(input)
        unbatched = isinstance(self, (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d))
        self.num_features = input.shape[0 if unbatched and input.ndim == self._ndims[0] else 1]
        return dict.fromkeys(
            ("weight", "bias", "running_mean", "running_var"), (self.num_features,)
        )


class LazyConv1d(_LazyStraight, Conv1d):
    """``Conv1d`` whose number of channels is that of its first input.

    >>> LazyConv1d(3, 2)(genesis.ones(1, 5, 4)).shape[:2]
    genesis.Size([1, 3])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyStraight, Conv2d):
    """``Conv2d`` whose number of channels is that of its first input.

    >>> LazyConv2d(3, 2)(genesis.ones(1, 5, 4, 4)).shape[:2]
    genesis.Size([1, 3])
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyStraight, Conv3d):
    """``Conv3d`` whose number of channels is that of its first input.

    >>> LazyConv3d(3, 2)(genesis.ones(1, 5, 4, 4, 4)).shape[:2]
    genesis.Size([1, 3])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """``ConvTranspose1d`` whose number of channels is that of its first input.

    >>> LazyConvTranspose1d(3, 2)(genesis.ones(1, 5, 4)).shape[:2]
    genesis.Size([1, 3])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """``ConvTranspose2d`` whose number of channels is that of its first input.

    >>> LazyConvTranspose2d(3, 2)(genesis.ones(1, 5, 4, 4)).shape[:2]
    genesis.Size([1, 3])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """``ConvTranspose3d`` whose number of channels is that of its first input.

    >>> LazyConvTranspose3d(3, 2)(genesis.ones(1, 5, 4, 4, 4)).shape[:2]
    genesis.Size([1, 3])
    """

    cls_to_become = ConvTranspose3d


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """``BatchNorm1d`` whose number of channels is that of its first input.

    >>> LazyBatchNorm1d()(genesis.ones(2, 5, 4)).shape[:2]
    genesis.Size([2, 5])
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """``BatchNorm2d`` whose number of channels is that of its first input.

    >>> LazyBatchNorm2d()(genesis.ones(2, 5, 4, 4)).shape[:2]
    genesis.Size([2, 5])
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """``BatchNorm3d`` whose number of channels is that of its first input.

    >>> LazyBatchNorm3d()(genesis.ones(2, 5, 4, 4, 4)).shape[:2]
    genesis.Size([2, 5])
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """``InstanceNorm1d`` whose number of channels is that of its first input.

    >>> LazyInstanceNorm1d()(genesis.ones(2, 5, 4)).shape[:2]
    genesis.Size([2, 5])
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """``InstanceNorm2d`` whose number of channels is that of its first input.

    >>> LazyInstanceNorm2d()(genesis.ones(2, 5, 4, 4)).shape[:2]
    genesis.Size([2, 5])
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """``InstanceNorm3d`` whose number of channels is that of its first input.

    >>> LazyInstanceNorm3d()(genesis.ones(2, 5, 4, 4, 4)).shape[:2]
    genesis.Size([2, 5])
    """

    cls_to_become = InstanceNorm3d
