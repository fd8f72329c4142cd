"""Normalisation of each sample by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn import init
from genesis.nn.modules._aliases import also_called
from genesis.nn.modules.module import Module
from genesis.nn.parameter import Parameter

__all__ = [
    "CrossMapLRN2d",
    "FusedLayerNorm",
    "GroupNorm",
    "LayerNorm",
    "LocalResponseNorm",
    "RMSNorm",
]


def _sizes(normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last dimensions, then ``* weight + bias``.

    ``normalized_shape`` are the sizes of those dimensions; a number is the last one's.

    >>> LayerNorm(4)(genesis.arange(4.0))
    tensor([-1.3416, -0.4472,  0.4472,  1.3416], grad_fn=<LayerNormBackward>)
    """

    normalized_shape: tuple[int, ...]
    weight: Parameter | None
    bias: Parameter | None

    @also_called({"dim": "normalized_shape"})
    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        for name, wanted in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            made = _C.empty(self.normalized_shape, device=device, dtype=dtype) if wanted else None
            self.register_parameter(name, None if made is None else Parameter(made))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class FusedLayerNorm(LayerNorm):
    """`LayerNorm` of the last dimension with the eps of earlier programs.

    >>> FusedLayerNorm(4)
    FusedLayerNorm((4,), eps=1e-06, elementwise_affine=True, bias=True)
    """

    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__(dim, eps)


class RMSNorm(Module):
    """Mean square 1 over the last dimensions, then ``* weight``. Without eps, the dtype's own.

    ``RMSNorm(dim=4)`` is that of earlier programs, whose eps is 1e-6.

    >>> RMSNorm(2)(genesis.tensor([3.0, 4.0]))
    tensor([0.8485, 1.1314], grad_fn=<RmsNormBackward>)
    """

    normalized_shape: tuple[int, ...]
    weight: Parameter | None

    @also_called({"dim": "normalized_shape"}, eps=1e-6)
    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter(
            "weight",
            Parameter(_C.empty(self.normalized_shape, device=device, dtype=dtype))
            if elementwise_affine
            else None,
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Mean 0 and variance 1 over groups of channels of each sample, then ``* weight + bias``.

    Channels are dimension 1; each has a weight and a bias of its own.

    >>> GroupNorm(3, 6)(genesis.ones(2, 6, 10)).shape
    genesis.Size([2, 6, 10])
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: _C.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_groups < 1 or num_channels % num_groups != 0:
            raise ValueError(
                f"GroupNorm: num_channels ({num_channels}) must be divisible by num_groups "
                f"({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            made = Parameter(_C.empty(num_channels, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class CrossMapLRN2d(Module):
    """Divides by ``(k + alpha / size * sum(x**2)) ** beta``, the sum over channels around.

    An older form of :class:`LocalResponseNorm` for images: the sum has as many channels before as
    after each one.

    >>> CrossMapLRN2d(3)(genesis.ones(1, 4, 2, 2)).shape
    genesis.Size([1, 4, 2, 2])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim != 4:
            raise ValueError(
                f"CrossMapLRN2d: input must be (batch, channels, height, width), got "
                f"{tuple(input.shape)}"
            )
        half = (self.size - 1) // 2
        squares = F.pad(input.square(), (0, 0, 0, 0, half, half))
        total = squares.unfold(1, 2 * half + 1, 1).sum(-1)
        # PyTorch's running sum keeps the first channel where its window has moved on.
        behind = squares[:, half : half + 1].expand(-1, max(input.shape[1] - half - 1, 0), -1, -1)
        total = total + F.pad(behind, (0, 0, 0, 0, min(half + 1, input.shape[1]), 0))
        return input * (self.k + self.alpha / self.size * total) ** -self.beta

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(Module):
    """Divides by ``(k + alpha * mean(x**2)) ** beta``, the mean over ``size`` channels around.

    >>> LocalResponseNorm(2)(genesis.ones(1, 4, 3)).shape
    genesis.Size([1, 4, 3])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
