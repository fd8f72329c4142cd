"""A layer next to PyTorch's: same text, state, results and gradients."""

import genesis
import numpy as np
import pytest
from genesis import nn


def compare(build, *arrays, rtol=1e-5, atol=1e-6, seed=0):
    """``build(nn)`` makes the layer with genesis.nn or torch.nn; ``arrays`` are its inputs, which are
    differentiated if they are floating.
    """
    torch = pytest.importorskip("torch")
    genesis.manual_seed(seed)
    ours, theirs = build(nn), build(torch.nn)
    assert repr(ours) == repr(theirs)
    state = theirs.state_dict()
    assert list(ours.state_dict()) == list(state)
    theirs.load_state_dict({k: torch.tensor(v.numpy()) for k, v in ours.state_dict().items()})

    arrays = [a.astype("float32") if a.dtype.kind == "f" else a for a in arrays]
    x = [genesis.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    z = [torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    y, w = ours(*x), theirs(*z)
    assert tuple(y.shape) == tuple(w.shape)
    np.testing.assert_allclose(y.detach().numpy(), w.detach().numpy(), rtol, atol)

    if not w.requires_grad:
        return
    dy = np.random.default_rng(seed).normal(size=tuple(w.shape)).astype("float32")
    y.backward(genesis.tensor(dy)), w.backward(torch.tensor(dy))
    pairs = [
        *zip(x, z, strict=True), *zip(ours.parameters(), theirs.parameters(), strict=True)
    ]  # fmt: skip
    for a, b in pairs:
        if b.grad is not None:
            np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), 10 * rtol, 10 * atol)
