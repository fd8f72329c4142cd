"""einops: its functions take tensors, whichever package is imported first."""

import subprocess
import sys

import genesis
import numpy as np
import pytest

einops = pytest.importorskip("einops")


@pytest.mark.parametrize("order", ["import einops, genesis", "import genesis, einops"])
def test_either_may_be_imported_first(order):
    code = f"{order}\nx = einops.rearrange(genesis.ones(2, 3), 'a b -> b a'); print(tuple(x.shape))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "(3, 2)\n"


def test_functions():
    a = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    x = genesis.tensor(a, requires_grad=True)
    for f in (
        lambda v: einops.rearrange(v, "a b c -> (a c) b"),
        lambda v: einops.rearrange(v, "a b (c d) -> d a b c", d=2),
        lambda v: einops.reduce(v, "a b c -> b", "sum"),
        lambda v: einops.reduce(v, "a (b k) c -> a b", "max", k=3),
        lambda v: einops.reduce(v, "a b c -> a c", "mean"),
        lambda v: einops.reduce(v, "a b c -> ()", "min"),
        lambda v: einops.repeat(v, "a b c -> a b r c", r=2),
        lambda v: einops.einsum(v, v, "a b c, a d c -> b d"),
    ):
        y = f(x)
        assert isinstance(y, genesis.Tensor) and y.requires_grad
        np.testing.assert_allclose(y.detach().numpy(), f(a), rtol=1e-6)
    einops.reduce(x, "a b c -> ()", "sum").sum().backward()
    assert x.grad.tolist() == np.ones_like(a).tolist()
    stacked = einops.rearrange([x[0], x[1]], "n b c -> b (n c)")
    assert stacked.shape == (3, 8)
    packed, shapes = einops.pack([genesis.ones(2, 3), genesis.ones(2, 4, 3)], "a * c")
    assert packed.shape == (2, 5, 3)
    assert [p.shape for p in einops.unpack(packed, shapes, "a * c")] == [(2, 3), (2, 4, 3)]
    assert einops.parse_shape(x, "a _ c") == {"a": 2, "c": 4}
