"""histogramdd and genesis.masked against PyTorch, with gradients by finite differences."""

import genesis
import numpy as np
import pytest
from genesis import _masked_tensor, masked
from genesis.autograd import gradcheck

torch = pytest.importorskip("torch")

X = np.random.default_rng(0).normal(size=(3, 4))
MASK = np.random.default_rng(1).integers(0, 2, (3, 4)).astype(bool)
MASK[:, 0] = True


def _both(function):
    ours = function(genesis, lambda a: genesis.tensor(a, dtype=getattr(genesis, a.dtype.name)))
    theirs = function(torch, torch.tensor)
    assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-12, equal_nan=True)


REDUCTIONS = ["sum", "prod", "amax", "amin", "mean", "norm", "var", "std", "logsumexp"]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("options", [{}, {"dim": 1}, {"dim": 0, "keepdim": True}, {"dim": (0, 1)}])
@pytest.mark.parametrize("with_mask", [True, False])
def test_masked_reductions(name, options, with_mask):
    def run(library, tensor):
        mask = tensor(MASK) if with_mask else None
        return getattr(library.masked, name)(tensor(X), **options, mask=mask)

    _both(run)


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin"])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_masked_reductions_of_other_dtypes(name, dtype):
    values = np.abs(X * 4).astype(dtype)
    _both(lambda L, tensor: getattr(L.masked, name)(tensor(values), 1, mask=tensor(MASK)))


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin", "cumsum", "cumprod"])
def test_masked_normalisations(name):
    _both(lambda L, tensor: getattr(L.masked, name)(tensor(X), 1, mask=tensor(MASK)))


@pytest.mark.parametrize("ord", [1, 2, float("inf"), -float("inf")])
def test_masked_norms(ord):
    _both(lambda L, tensor: L.masked.norm(tensor(X), ord, 1, mask=tensor(MASK)))
    _both(lambda L, tensor: L.masked.normalize(tensor(X), ord, 1, mask=tensor(MASK)))


@pytest.mark.parametrize("name", ["argmax", "argmin", "median"])
def test_masked_selections(name):
    _both(lambda L, tensor: getattr(L.masked, name)(tensor(X), 1, mask=tensor(MASK)))


def test_masked_logaddexp():
    _both(
        lambda L, tensor: L.masked.logaddexp(
            tensor(X),
            tensor(X.T.copy().reshape(3, 4)),
            input_mask=tensor(MASK),
            other_mask=tensor(~MASK),
        )
    )


def test_masks_broadcast_and_cannot_be_larger():
    x, row = genesis.tensor(X), genesis.tensor([True, False, True, True])
    assert genesis.allclose(masked.sum(x, 1, mask=row), (x * row).sum(1))
    with pytest.raises(IndexError, match="more dimensions"):
        masked.sum(row.float(), mask=genesis.ones(3, 4, dtype=genesis.bool))


def test_a_line_without_elements_is_nan_or_the_identity():
    mask = genesis.tensor([[True, True], [False, False]])
    x = genesis.ones(2, 2)
    assert masked.sum(x, 1, mask=mask).tolist() == [2.0, 0.0]
    assert masked.mean(x, 1, mask=mask).isnan().tolist() == [False, True]
    with pytest.raises(ValueError, match="dtype"):
        masked.mean(x.int(), 1)


NOT_REDUCTIONS = {"argmax", "argmin", "logaddexp", *_masked_tensor.__all__}


@pytest.mark.parametrize("name", sorted(set(masked.__all__) - NOT_REDUCTIONS))
def test_masked_gradients(name):
    x = genesis.tensor(X, dtype=genesis.float64, requires_grad=True)
    mask = genesis.tensor(MASK)
    args = (2.0, 1) if name == "normalize" else (2.0, 1) if name == "norm" else (1,)

    def run(x):
        y = getattr(masked, name)(x, *args, mask=mask)
        return y.where(y.isfinite(), 0.0)

    assert gradcheck(run, x, order=2)


BINS = [3, [2, 3], "edges"]


@pytest.mark.parametrize("bins", BINS, ids=str)
@pytest.mark.parametrize("options", [{}, {"density": True}, {"range": [-1.0, 1.0, -2.0, 2.0]}])
def test_histogramdd(bins, options):
    points = np.random.default_rng(2).normal(size=(20, 2))
    if bins == "edges" and "range" in options:
        return

    def run(library, tensor):
        edges = [tensor(np.array([-1.0, 0.0, 1.0])), tensor(np.array([-2.0, 0.5, 2.0, 3.0]))]
        return library.histogramdd(tensor(points), edges if bins == "edges" else bins, **options)

    ours = run(genesis, lambda a: genesis.tensor(a, dtype=genesis.float64))
    theirs = run(torch, torch.tensor)
    np.testing.assert_allclose(ours.hist.numpy(), theirs.hist.numpy(), rtol=1e-9)
    for a, b in zip(ours.bin_edges, theirs.bin_edges, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9)


def test_histogramdd_weighs_points_and_checks_its_arguments():
    points = genesis.tensor([[0.1, 0.1], [0.9, 0.9]])
    hist = genesis.histogramdd(points, 2, weight=genesis.tensor([2.0, 3.0])).hist
    assert hist.tolist() == [[2.0, 0.0], [0.0, 3.0]]
    with pytest.raises(ValueError, match="bins has 3 elements"):
        genesis.histogramdd(points, [1, 2, 3])
    with pytest.raises(ValueError, match="range must have 4 numbers"):
        genesis.histogramdd(points, 2, range=[0.0, 1.0])
    with pytest.raises(TypeError, match="must be floating"):
        genesis.histogramdd(points.long(), 2)
    with pytest.raises(ValueError, match="at least 2 dimensions"):
        genesis.histogramdd(points[0], 2)
