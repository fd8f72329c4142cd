"""Invertible transforms with the logarithm of their Jacobian's determinant.

>>> ExpTransform().log_abs_det_jacobian(genesis.tensor(1.0), genesis.e)
tensor(1.)
"""

from genesis._missing import explain
from genesis.distributions._transforms.base import Transform
from genesis.distributions._transforms.base import _InverseTransform as _InverseTransform
from genesis.distributions._transforms.combine import (
    CatTransform,
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    StackTransform,
    identity_transform,
)
from genesis.distributions._transforms.elementwise import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from genesis.distributions._transforms.elementwise import clipped_sigmoid as _clipped_sigmoid  # noqa: F401
from genesis.distributions._transforms.matrix import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]

explain(globals())
