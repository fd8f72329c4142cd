"""Layers that set some of their input to zero while the model is trained."""

from __future__ import annotations

from genesis import _C
from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn.modules.module import Module

__all__ = [
    "AlphaDropout",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "FeatureAlphaDropout",
]


class _Dropout(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(
                f"{type(self).__name__}: dropout probability has to be between 0 and 1, but got "
                f"{p}; a half is p=0.5"
            )
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Zeroes elements with probability p and scales the others by ``1 / (1 - p)``, in training.

    >>> sorted(set(Dropout(0.75)(genesis.ones(1000)).tolist()))
    [0.0, 4.0]
    >>> Dropout().eval()(genesis.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return _C.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """Zeroes entire channels of (N, C, L) or (C, L).

    >>> sorted(set(Dropout1d()(genesis.ones(1, 100, 3)).sum(-1).flatten().tolist()))
    [0.0, 6.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """Zeroes entire channels of (N, C, H, W).

    >>> sorted(set(Dropout2d()(genesis.ones(1, 100, 2, 2)).sum((2, 3)).flatten().tolist()))
    [0.0, 8.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """Zeroes entire channels of (N, C, D, H, W) or (C, D, H, W).

    >>> sorted(set(Dropout3d()(genesis.ones(100, 1, 2, 2)).sum((1, 2, 3)).tolist()))
    [0.0, 8.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """Dropout for SELU: keeps mean 0 and variance 1.

    >>> AlphaDropout(0.1)
    AlphaDropout(p=0.1, inplace=False)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_Dropout):
    """AlphaDropout of entire channels.

    >>> FeatureAlphaDropout()(genesis.ones(2, 3, 4)).shape
    genesis.Size([2, 3, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)


# PyTorch's names, for packages that subclass them or ask for an instance.
_DropoutNd = _Dropout
