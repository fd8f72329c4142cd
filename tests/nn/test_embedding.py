"""Embedding and EmbeddingBag, next to PyTorch's."""

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.autograd import gradcheck
from genesis.nn import functional as F

from tests.nn.against_torch import compare


@pytest.mark.parametrize(
    "options",
    [{}, {"padding_idx": 2}, {"padding_idx": -1}, {"scale_grad_by_freq": True}, {"max_norm": 0.8},
     {"max_norm": 1.5, "norm_type": 1.0}],
)  # fmt: skip
def test_embedding(options):
    for index in ([[1, 2, 2], [0, 5, 1]], [3], 4, np.zeros((0, 2), np.int64)):
        compare(lambda nn: nn.Embedding(6, 3, **options), np.array(index))


def test_rows_that_are_looked_up_are_scaled_in_place():
    table = nn.Embedding(4, 3, max_norm=1.0)
    with genesis.no_grad():
        table.weight.fill_(5.0)
    table(genesis.tensor([1, 1, 3]))
    norms = table.weight.detach().norm(dim=1)
    assert genesis.allclose(norms, genesis.tensor([75.0**0.5, 1.0, 75.0**0.5, 1.0]), rtol=1e-5)


def test_embedding_of_given_vectors():
    table = nn.Embedding.from_pretrained(genesis.tensor([[1.0, 2.0], [3.0, 4.0]]), padding_idx=0)
    assert table(genesis.tensor([1])).tolist() == [[3.0, 4.0]]
    assert not table.weight.requires_grad and table.padding_idx == 0
    assert nn.Embedding.from_pretrained(genesis.ones(2, 2), freeze=False).weight.requires_grad
    with pytest.raises(ValueError, match="must be 2-d"):
        nn.Embedding.from_pretrained(genesis.ones(2))


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="padding_idx must be within num_embeddings"):
        nn.Embedding(3, 2, padding_idx=3)
    with pytest.raises(ValueError, match=r"the weight must have shape \(3, 2\)"):
        nn.Embedding(3, 2, _weight=genesis.ones(2, 2))
    with pytest.raises(IndexError):
        nn.Embedding(3, 2)(genesis.tensor([3]))
    with pytest.raises(IndexError):
        nn.EmbeddingBag(3, 2)(genesis.tensor([[3]]))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize(
    "options", [{}, {"padding_idx": 1}, {"max_norm": 0.9}, {"include_last_offset": True}]
)
def test_embedding_bag(mode, options):
    flat = np.array([1, 2, 4, 1, 0, 3, 3])
    last = options.get("include_last_offset")
    for offsets in ([0, 2, 2, 5], [0], [0, 7]):
        offsets = np.array([*offsets, 7] if last else offsets)
        compare(lambda nn: nn.EmbeddingBag(5, 3, mode=mode, **options), flat, offsets)
    if not last:
        compare(lambda nn: nn.EmbeddingBag(5, 3, mode=mode, **options), flat[:6].reshape(2, 3))


@pytest.mark.parametrize("padding_idx", [None, 1])
def test_embedding_bag_with_weights(padding_idx, rng):
    torch = pytest.importorskip("torch")
    table, scale = rng.normal(size=(5, 3)), rng.normal(size=7)
    flat, offsets = np.array([1, 2, 4, 1, 0, 3, 3]), np.array([0, 2, 2, 5])
    results = []
    for lib, function in ((genesis, F.embedding_bag), (torch, torch.nn.functional.embedding_bag)):
        w = lib.tensor(table, dtype=lib.float64, requires_grad=True)
        s = lib.tensor(scale, dtype=lib.float64, requires_grad=True)
        y = function(
            lib.tensor(flat), w, lib.tensor(offsets), mode="sum", per_sample_weights=s,
            padding_idx=padding_idx,
        )  # fmt: skip
        (y**2).sum().backward()
        results.append([t.detach().numpy() for t in (y, w.grad, s.grad)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_embedding_bag_is_differentiable_twice(rng):
    table = genesis.tensor(rng.normal(size=(5, 2)), dtype=genesis.float64, requires_grad=True)
    flat, offsets = genesis.tensor([1, 2, 4, 4]), genesis.tensor([0, 1, 1])
    for mode in ("sum", "mean", "max"):
        f = lambda w: F.embedding_bag(flat, w, offsets, mode=mode)  # noqa: B023, E731
        assert gradcheck(f, (table,), order=2)


def test_bags_of_given_vectors():
    table = nn.EmbeddingBag.from_pretrained(genesis.eye(3), mode="sum")
    assert table(genesis.tensor([[0, 1], [2, 2]])).tolist() == [[1, 1, 0], [0, 0, 2]]
    assert not table.weight.requires_grad
