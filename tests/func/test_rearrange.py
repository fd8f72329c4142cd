"""func.rearrange against PyTorch's."""

import genesis
import numpy as np
import pytest
from genesis.func import rearrange, vmap

X = np.arange(2 * 4 * 6 * 3, dtype=np.float32).reshape(2, 4, 6, 3)

PATTERNS = [
    ("b h w c -> b c h w", {}),
    ("b (h a) w c -> b h (a w) c", {"a": 2}),
    ("b ... -> ... b", {}),
    ("... c -> c ...", {}),
    ("b h w c -> (b h w c)", {}),
    ("b (a h) (d w) c -> (b a d) h w c", {"a": 2, "d": 3}),
    ("b h w c -> b 1 h w c", {}),
    ("b h w c -> b () h w c", {}),
    ("... -> (...)", {}),
    ("(a b) h w c -> a b h w c", {"a": 1}),
]
WRONG = [
    ("b h w -> b h w", {}, r"takes 3 dimensions, got a tensor of shape \(2, 4, 6, 3\)"),
    ("b h w c -> b h w", {}, r"only on one side: \['c'\]"),
    ("b b w c -> b w c", {}, "more than once"),
    ("b (h k) w c -> b h k w c", {}, r"sizes of \['h', 'k'\]"),
    ("b h w c", {}, "must have one '->'"),
    ("b h w c -> b h w c", {"z": 3}, r"\['z'\] of axes_lengths do not occur"),
    ("b (h q) w c -> b h q w c", {"q": 5}, "dimension of size 4"),
    ("b h (w c -> b h w c", {}, "parentheses"),
    ("b h w c -> b h w ... c", {}, "only right of"),
    ("b h w 2c -> b h w 2c", {}, "no name of a dimension"),
]


@pytest.mark.parametrize(("pattern", "sizes"), PATTERNS)
def test_against_pytorch(pattern, sizes):
    torch = pytest.importorskip("torch")
    got = rearrange(genesis.tensor(X), pattern, **sizes)
    want = torch.func.rearrange(torch.tensor(X), pattern, **sizes)
    np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_lists_gradients_and_vmap():
    parts = [genesis.ones(2, requires_grad=True) for _ in range(3)]
    y = rearrange(parts, "n a -> a n")
    assert y.shape == (2, 3)
    y.sum().backward()
    assert parts[0].grad.tolist() == [1, 1]
    x = genesis.tensor(X)
    got = vmap(lambda a: rearrange(a, "h (w k) c -> k h w c", k=2))(x)
    assert genesis.equal(got, rearrange(x, "b h (w k) c -> b k h w c", k=2))


@pytest.mark.parametrize(("pattern", "sizes", "message"), WRONG)
def test_errors(pattern, sizes, message):
    with pytest.raises(ValueError, match=message):
        rearrange(genesis.tensor(X), pattern, **sizes)
