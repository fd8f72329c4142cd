"""Normalisation of channels, with running statistics: over batches, and over each sample."""

from __future__ import annotations

import warnings
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn import init
from genesis.nn.modules._aliases import also_called
from genesis.nn.modules.module import Module
from genesis.nn.parameter import Parameter

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
]


class _ChannelNorm(Module):
    """What normalises channels: weight and bias, running statistics, and a count of batches."""

    _version = 2
    _ndims: tuple[int, ...]  # that an input may have
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: Any,
        dtype: _C.dtype | None,
        bias: bool,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            made = Parameter(_C.empty(num_features, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, made)
        kept = track_running_stats
        mean, var = (
            _C.empty(num_features, device=device, dtype=dtype) if kept else None for _ in range(2)
        )
        self.register_buffer("running_mean", mean)
        self.register_buffer("running_var", var)
        self.register_buffer(
            "num_batches_tracked", _C.tensor(0, dtype=_C.int64, device=device) if kept else None
        )
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget all batches: mean 0, variance 1."""
        for buffer, value in (
            (self.running_mean, 0),
            (self.running_var, 1),
            (self.num_batches_tracked, 0),
        ):
            if buffer is not None:
                buffer.fill_(value)

    def reset_parameters(self) -> None:
        """Set weight and bias to 1 and 0, and forget all batches."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in self._ndims:
            expected = " or ".join(f"{n}D" for n in self._ndims)
            raise ValueError(
                f"{type(self).__name__}: expected {expected} input (got {input.ndim}D input), that "
                f"is (batch, channels, ...), got shape {tuple(input.shape)}; reshape it, or use "
                "the norm for as many dimensions"
            )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *args: Any
    ) -> None:
        # Before version 2 batches were not counted.
        version = local_metadata.get("version")
        key = f"{prefix}num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked
            state_dict[key] = _C.tensor(0, dtype=_C.int64) if count is None else count
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class _BatchNorm(_ChannelNorm):
    @also_called({"dim": "num_features"})
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: _C.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = self.momentum
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if momentum is None:  # the mean over all batches so far
                momentum = 1 / int(self.num_batches_tracked.item())
        own = self.training or (self.running_mean is None and self.running_var is None)
        update = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if update else None,
            self.running_var if update else None,
            self.weight,
            self.bias,
            own,
            0.0 if momentum is None else momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Mean 0 and variance 1 of each channel over a batch, (N, C) or (N, C, L).

    While training, running statistics follow the batches' by ``momentum`` (None: their plain mean);
    in evaluation they are used instead.

    >>> BatchNorm1d(3)(genesis.tensor([[1.0, 2, 3], [3, 2, 1]])).detach()
    tensor([[-1.0000,  0.0000,  1.0000],
            [ 1.0000,  0.0000, -1.0000]])
    """

    _ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Mean 0 and variance 1 of each channel over a batch of images, (N, C, H, W).

    >>> BatchNorm2d(3)(genesis.ones(2, 3, 4, 4)).shape
    genesis.Size([2, 3, 4, 4])
    """

    _ndims = (4,)


class BatchNorm3d(_BatchNorm):
    """Mean 0 and variance 1 of each channel over a batch of volumes, (N, C, D, H, W).

    >>> BatchNorm3d(3)(genesis.ones(2, 3, 4, 4, 4)).shape
    genesis.Size([2, 3, 4, 4, 4])
    """

    _ndims = (5,)


class _InstanceNorm(_ChannelNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: _C.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = input.ndim == self._ndims[1]
        x = input if batched else input.unsqueeze(0)
        if x.shape[1] != self.num_features:
            said = (
                f"{type(self).__name__}: input of shape {tuple(input.shape)} has {x.shape[1]} "
                f"channels, expected num_features={self.num_features}"
            )
            if self.affine or self.track_running_stats:
                raise ValueError(said)
            warnings.warn(f"{said}; nothing depends on it", stacklevel=2)
        y = F.instance_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return y if batched else y.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Mean 0 and variance 1 of each channel of each sample, (N, C, L) or (C, L).

    >>> InstanceNorm1d(3)(genesis.ones(2, 3, 4)).shape
    genesis.Size([2, 3, 4])
    """

    _ndims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Mean 0 and variance 1 of each channel of each image, (N, C, H, W) or (C, H, W).

    >>> InstanceNorm2d(3)(genesis.ones(2, 3, 4, 4)).shape
    genesis.Size([2, 3, 4, 4])
    """

    _ndims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Mean 0 and variance 1 of each channel of each volume, (N, C, D, H, W) or (C, D, H, W).

    >>> InstanceNorm3d(3)(genesis.ones(2, 3, 4, 4, 4)).shape
    genesis.Size([2, 3, 4, 4, 4])
    """

    _ndims = (4, 5)


# PyTorch's names, for packages that subclass them or ask for an instance.
_NormBase = _ChannelNorm
