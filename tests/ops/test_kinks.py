"""Gradients where a function has a kink, a tie or an edge: PyTorch's choices, and never a NaN."""

import genesis
import numpy as np
import pytest
from numpy import inf, nan


def gradients(function, *values):
    leaves = [genesis.tensor(v, dtype=genesis.float64, requires_grad=True) for v in values]
    function(*leaves).sum().backward()
    return [leaf.grad.numpy() for leaf in leaves]


CASES = [
    ("abs at 0", genesis.abs, [[-2.0, 0.0, 3.0]], [[-1, 0, 1]]),
    ("maximum at a tie", genesis.maximum, [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]],
     [[0, 0.5, 1], [1, 0.5, 0]]),
    ("minimum at a tie", genesis.minimum, [[1.0, 2.0, 3.0], [2.0, 2.0, 2.0]],
     [[1, 0.5, 0], [0, 0.5, 1]]),
    ("fmax at a tie and NaN", genesis.fmax, [[2.0, nan, 1.0], [2.0, 1.0, nan]],
     [[1, 0, 1], [0, 1, 0]]),
    ("fmin at a tie and NaN", genesis.fmin, [[2.0, nan, 1.0], [2.0, 1.0, nan]],
     [[1, 0, 1], [0, 1, 0]]),
    ("clamp at its bounds", lambda x: x.clamp(-1, 1), [[-2.0, -1.0, 0.0, 1.0, 2.0]],
     [[0, 1, 1, 1, 0]]),
    ("clamp between tensors", genesis.clamp,
     [[-2.0, -1.0, 0.0, 1.0, 2.0], [-1.0] * 5, [1.0] * 5],
     [[0, 1, 1, 1, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]),
    ("clamp between crossed tensors", genesis.clamp, [[0.0], [1.0], [-1.0]], [[0], [0], [1]]),
    ("pow of 0", genesis.pow, [[0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 2.0, 0.5]],
     [[0, 1, 0, inf], [0, 0, 0, 0]]),
    ("pow by 0", lambda x: x**0, [[0.0, 2.0, inf, nan]], [[0, 0, 0, 0]]),
    ("0 to a power", lambda y: 0**y, [[0.0, 1.0, 2.5]], [[0, 0, 0]]),
    ("square root by pow at 0", lambda x: x**0.5, [[0.0, 4.0]], [[inf, 0.25]]),
    ("atan2 at the origin", genesis.atan2, [[0.0, 1.0], [0.0, 0.0]], [[0, 0], [0, -1]]),
    ("hypot at the origin", genesis.hypot, [[0.0, 3.0], [0.0, 4.0]], [[0, 0.6], [0, 0.8]]),
    ("copysign at 0", genesis.copysign, [[0.0, -2.0], [-1.0, -1.0]], [[0, 1], [0, 0]]),
    ("xlogy at 0", genesis.xlogy, [[0.0, 0.0, 2.0], [-1.0, 2.0, 1.0]],
     [[0, np.log(2), 0], [0, 0, 2]]),
    ("nan_to_num", genesis.nan_to_num, [[1.0, nan, inf]], [[1, 0, 0]]),
    ("where hides infinities", lambda x: genesis.where(x > 0, x.reciprocal(), x), [[0.0, 2.0]],
     [[nan, -0.25]]),
    ("sign is flat", genesis.sign, [[-1.0, 0.0]], [[0, 0]]),
    ("round is flat", genesis.round, [[0.5, 1.2]], [[0, 0]]),
    ("remainder", genesis.remainder, [[5.5, -5.5], [2.0, 2.0]], [[1, 1], [-2, 3]]),
    ("fmod", genesis.fmod, [[5.5, -5.5], [2.0, 2.0]], [[1, 1], [-2, 2]]),
]  # fmt: skip


@pytest.mark.parametrize("function, values, wanted", [pytest.param(*c[1:], id=c[0]) for c in CASES])
def test_gradient_at_an_edge(function, values, wanted):
    for actual, expected in zip(gradients(function, *values), wanted, strict=True):
        np.testing.assert_allclose(actual, np.array(expected, float), rtol=1e-12)
