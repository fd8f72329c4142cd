"""Softmax over lines short and long, in every arrangement of memory, against NumPy in float64."""

import genesis
import numpy as np
import pytest

LENGTHS = [1, 2, 3, 8, 16, 17, 33, 65, 72, 73, 130]
TOLERANCE = {"float32": 4e-6, "float64": 1e-13, "bfloat16": 3e-2}


def arranged(values: np.ndarray, layout: str, dtype: str) -> genesis.Tensor:
    x = genesis.tensor(values).to(getattr(genesis, dtype))
    if layout == "strided":
        return x.repeat_interleave(2, -1)[..., ::2]
    if layout == "permuted":  # lines neither side by side nor evenly apart
        return x.transpose(0, 1).contiguous().transpose(0, 1)
    return x


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("layout", ["contiguous", "strided", "permuted"])
@pytest.mark.parametrize("length", LENGTHS)
def test_softmax_and_its_gradient(length, layout, dtype):
    rng = np.random.default_rng(length)
    x = arranged(4 * rng.standard_normal((5, 61, length)), layout, dtype).requires_grad_()
    dy = arranged(rng.standard_normal((5, 61, length)), layout, dtype)
    values, seed = x.detach().double().numpy(), dy.double().numpy()
    e = np.exp(values - values.max(-1, keepdims=True))
    soft = e / e.sum(-1, keepdims=True)
    expected = {
        "softmax": (soft, soft * (seed - (seed * soft).sum(-1, keepdims=True))),
        "log_softmax": (np.log(soft), seed - soft * seed.sum(-1, keepdims=True)),
    }
    for name, (y, dx) in expected.items():
        found = getattr(genesis, name)(x, dim=-1)
        (gradient,) = genesis.autograd.grad(found, x, dy)
        for ours, right in ((found.detach(), y), (gradient, dx)):
            error = np.abs(ours.double().numpy() - right)
            assert (error <= TOLERANCE[dtype] * (1 + np.abs(right))).all(), (name, error.max())


@pytest.mark.parametrize("length", [5, 100])
def test_infinite_scores(length):
    x = genesis.zeros(40, length)
    x[:, 0] = -float("inf")
    x[7] = float("nan")
    y = genesis.softmax(x, -1)
    assert y[7].isnan().all() and not y[8:].isnan().any() and (y[8:, 0] == 0).all()
    assert genesis.log_softmax(x, -1)[0, 0].item() == -float("inf")
