"""Losses beyond the table: modules, large sizes, second derivatives, autograd's edges, legacy names."""

import math

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.autograd import gradcheck, gradgradcheck
from genesis.nn import functional as F

MODULES = [
    ("L1Loss", {}, "reals"),
    ("MSELoss", {"reduction": "sum"}, "reals"),
    ("SmoothL1Loss", {"beta": 0.5}, "reals"),
    ("HuberLoss", {"delta": 0.5, "reduction": "none"}, "reals"),
    ("BCELoss", {"weight": (3,)}, "probabilities"),
    ("BCEWithLogitsLoss", {"weight": (3,), "pos_weight": (3,)}, "bits"),
    ("CrossEntropyLoss", {"weight": (3,), "ignore_index": 1, "label_smoothing": 0.1}, "classes"),
    ("NLLLoss", {"weight": (3,), "ignore_index": 1}, "classes"),
    ("KLDivLoss", {"reduction": "batchmean", "log_target": True}, "reals"),
    ("PoissonNLLLoss", {"full": True}, "counts"),
    ("GaussianNLLLoss", {"full": True}, "variance"),
    ("HingeEmbeddingLoss", {"margin": 0.5}, "signs"),
    ("SoftMarginLoss", {"reduction": "sum"}, "signs"),
    ("MarginRankingLoss", {"margin": 0.5}, "ranked"),
    ("MultiMarginLoss", {"p": 2, "margin": 0.5, "weight": (3,)}, "classes"),
    ("MultiLabelMarginLoss", {}, "labels"),
    ("MultiLabelSoftMarginLoss", {"weight": (3,)}, "bits"),
    ("CosineEmbeddingLoss", {"margin": 0.1}, "pairs"),
    ("TripletMarginLoss", {"margin": 0.5, "p": 1.0, "swap": True}, "triplets"),
    ("TripletMarginWithDistanceLoss", {"margin": 0.5, "swap": True}, "triplets"),
    ("CTCLoss", {"blank": 2, "zero_infinity": True}, "sequences"),
]


def arguments(kind, rng):
    x = rng.normal(size=(4, 3))
    others = {
        "reals": (rng.normal(size=(4, 3)),),
        "probabilities": (rng.uniform(size=(4, 3)),),
        "bits": (rng.integers(0, 2, (4, 3)) * 1.0,),
        "classes": (np.array([0, 1, 2, 0]),),
        "counts": (rng.integers(0, 5, (4, 3)) * 1.0,),
        "variance": (rng.normal(size=(4, 3)), rng.uniform(0.5, 1, (4, 3))),
        "signs": (rng.choice([-1.0, 1.0], (4, 3)),),
        "ranked": (rng.normal(size=(4, 3)), rng.choice([-1.0, 1.0], (4, 3))),
        "labels": (np.array([[0, -1, 1], [2, 1, -1], [-1, 0, 0], [1, 0, 2]]),),
        "pairs": (rng.normal(size=(4, 3)), np.array([1, -1, 1, -1])),
        "triplets": (rng.normal(size=(4, 3)), rng.normal(size=(4, 3))),
        "sequences": (np.array([0, 1]), np.array([4]), np.array([2])),
    }
    return (rng.uniform(0.1, 0.9, (4, 3)) if kind == "probabilities" else x), *others[kind]


@pytest.mark.parametrize(("name", "options", "kind"), MODULES, ids=[m[0] for m in MODULES])
def test_a_module_is_pytorchs(name, options, kind):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    args = arguments(kind, rng)
    weights = {k: rng.uniform(0.5, 2, v) for k, v in options.items() if isinstance(v, tuple)}
    results = []
    for library in (genesis, torch):
        given = {k: library.tensor(v, dtype=library.float64) for k, v in weights.items()}
        module = getattr(library.nn, name)(**{**options, **given})
        made = [library.tensor(a, dtype=getattr(library, a.dtype.name)) for a in args]
        made[0].requires_grad_()
        first = made[0].log_softmax(-1) if name in ("NLLLoss", "CTCLoss") else made[0]
        loss = module(first, *made[1:])
        loss.sum().backward()
        results.append((loss.detach().numpy(), made[0].grad.numpy(), repr(module)))
        assert list(module.state_dict()) == list(weights)
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-9)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-8, atol=1e-12)
    assert results[0][2] == results[1][2]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("shape", [(3, 1300), (300, 10), (2, 5, 1500), (70, 33), (1, 2, 3, 700)])
def test_cross_entropy_of_any_size_is_log_softmax_then_nll(shape, dtype, num_threads):
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, shape[1], (shape[0], *shape[2:]))
    x = genesis.tensor(rng.normal(size=shape) * 3, dtype=getattr(genesis, dtype))
    y = genesis.tensor(labels)
    weight = genesis.tensor(rng.uniform(0.5, 2, shape[1]), dtype=genesis.float64)
    wide = x.double().requires_grad_()
    x.requires_grad_()
    for options in ({"reduction": "mean"}, {"reduction": "none", "weight": weight}):
        expected = F.nll_loss(wide.log_softmax(1), y, ignore_index=-1, **options)
        for threads in (1, 3):
            genesis.set_num_threads(threads)
            loss = F.cross_entropy(x, y, ignore_index=-1, **options)
            tolerance = {"float64": 1e-12, "float32": 2e-6, "float16": 2e-3}.get(dtype, 1e-2)
            np.testing.assert_allclose(
                loss.detach().double().numpy(), expected.detach().numpy(), tolerance, tolerance
            )
            seed = genesis.tensor(rng.normal(size=tuple(loss.shape)), dtype=genesis.float64)
            (dx,) = genesis.autograd.grad(loss, x, seed.to(x.dtype))
            (wanted,) = genesis.autograd.grad(
                expected, wide, seed.to(x.dtype).double(), retain_graph=True
            )
            np.testing.assert_allclose(
                dx.double().numpy(), wanted.numpy(), 3 * tolerance, tolerance
            )


def test_cross_entropy_of_large_scores_is_exact():
    x = genesis.tensor([[1e4, 0.0, -1e4]], requires_grad=True)
    for label, loss in ((0, 0.0), (1, 1e4), (2, 2e4)):
        assert F.cross_entropy(x, genesis.tensor([label])).item() == loss
    F.cross_entropy(x, genesis.tensor([1])).backward()
    assert x.grad.tolist() == [[1.0, -1.0, 0.0]]


def test_an_ignored_case_has_no_gradient_even_where_it_is_infinite():
    x = genesis.tensor([[math.inf, 0.0], [1.0, 1.0]], requires_grad=True)
    loss = F.cross_entropy(x, genesis.tensor([-100, 0]))
    loss.backward()
    assert math.isclose(loss.item(), math.log(2), rel_tol=1e-6)
    assert x.grad.tolist() == [[0.0, 0.0], [-0.5, 0.5]]


def test_a_mean_over_nothing_is_nan():
    assert math.isnan(F.cross_entropy(genesis.ones(2, 3), genesis.tensor([-100, -100])).item())
    assert math.isnan(F.mse_loss(genesis.ones(0), genesis.ones(0)).item())
    assert math.isnan(F.cross_entropy(genesis.ones(0, 0), genesis.ones(0).long()).item())


@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss])
def test_a_mean_over_nothing_has_no_gradient(loss):
    x = genesis.ones(2, 3, requires_grad=True)
    y = loss(x, genesis.tensor([1, 1]), ignore_index=1, weight=genesis.ones(3))
    assert math.isnan(y.item())
    (dx,) = genesis.autograd.grad(y, x, create_graph=True)
    assert dx.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("shape", [(4, 1), (1, 3), (4,), (4, 3)])
def test_variances_of_gaussian_nll_loss_may_be_shared(shape, rng):
    x, y, var = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.random(shape) + 0.5
    full = var[:, None] if var.ndim == 1 else var
    expected = 0.5 * (np.log(full) + (x - y) ** 2 / full).mean()
    loss = F.gaussian_nll_loss(*(genesis.tensor(a, dtype=genesis.float64) for a in (x, y, var)))
    np.testing.assert_allclose(loss.item(), expected)
    with pytest.raises(ValueError, match="one of them 1"):
        F.gaussian_nll_loss(genesis.ones(4, 3), genesis.ones(4, 3), genesis.ones(1, 1))


def test_scores_of_minus_infinity_have_probability_zero():
    x = genesis.tensor([[0.0, -math.inf, 1.0]], requires_grad=True)
    F.cross_entropy(x, genesis.tensor([0])).backward()
    assert x.grad[0, 1].item() == 0.0
    assert F.cross_entropy(x, genesis.tensor([1])).item() == math.inf


def test_a_weight_that_requires_grad_is_refused():
    weight = genesis.ones(3, requires_grad=True)
    for loss in (F.cross_entropy, F.nll_loss):
        with pytest.raises(RuntimeError, match=r"weight is a constant.*weight.detach"):
            loss(genesis.ones(2, 3), genesis.tensor([0, 1]), weight)


def test_integer_targets_of_any_width_are_class_numbers():
    x = genesis.tensor(np.random.default_rng(0).normal(size=(3, 4)))
    expected = F.cross_entropy(x, genesis.tensor([0, 1, 3]))
    for dtype in (genesis.uint8, genesis.int16, genesis.int32):
        assert F.cross_entropy(x, genesis.tensor([0, 1, 3], dtype=dtype)) == expected


def test_different_shapes_warn_and_broadcast():
    with pytest.warns(UserWarning, match=r"mse_loss: target is \(2,\) and input is \(2, 1\)"):
        loss = F.mse_loss(genesis.zeros(2, 1), genesis.ones(2), reduction="none")
    assert loss.shape == (2, 2)
    with pytest.raises(ValueError, match="do not broadcast"):
        F.l1_loss(genesis.ones(2), genesis.ones(3))


@pytest.mark.parametrize(
    ("older", "name"),
    [
        ({"size_average": False}, "sum"),
        ({"reduce": False}, "none"),
        ({"size_average": True}, "mean"),
    ],
)
def test_older_names_of_the_reduction_warn(older, name):
    x, y = genesis.tensor([1.0, 3.0]), genesis.tensor([0.0, 0.0])
    expected = F.mse_loss(x, y, reduction=name)
    with pytest.warns(UserWarning, match=f"use reduction='{name}'"):
        assert F.mse_loss(x, y, **older).tolist() == expected.tolist()
    with pytest.warns(UserWarning, match="deprecated"):
        assert nn.MSELoss(**older)(x, y).tolist() == expected.tolist()
    with pytest.warns(UserWarning, match="deprecated"):
        F.cross_entropy(genesis.ones(1, 2), genesis.tensor([0]), **older)


def test_binary_cross_entropy_at_the_ends_is_finite():
    x = genesis.tensor([0.0, 1.0], requires_grad=True)
    loss = F.binary_cross_entropy(x, genesis.tensor([1.0, 0.0]), reduction="none")
    assert loss.tolist() == [100.0, 100.0]
    loss.sum().backward()
    assert all(map(math.isfinite, x.grad.tolist()))


def test_kl_div_warns_of_its_mean():
    x = genesis.tensor([[0.5, 0.5]]).log()
    with pytest.warns(UserWarning, match="batchmean"):
        F.kl_div(x, x.exp())


def test_ctc_has_exact_gradients_of_normalised_frames():
    """As in PyTorch, the gradient assumes log_softmax; tests/ops/test_edges.py compares without."""
    rng = np.random.default_rng(0)
    x = genesis.tensor(rng.normal(size=(5, 2, 4)), dtype=genesis.float64, requires_grad=True)
    targets = genesis.tensor([[1, 1, 2], [3, 0, 0]])

    def loss(x):
        return F.ctc_loss(x.log_softmax(-1), targets, [5, 3], [3, 1], reduction="none")

    assert gradcheck(loss, (x,))
    assert gradgradcheck(loss, (x,))


def test_ctc_of_a_target_that_does_not_fit_is_infinite_or_zero():
    x = genesis.zeros(2, 1, 3).log_softmax(-1).requires_grad_()
    targets = genesis.tensor([[1, 1]])
    assert F.ctc_loss(x, targets, [2], [2]).item() == math.inf
    loss = F.ctc_loss(x, targets, [2], [2], zero_infinity=True)
    loss.backward()
    assert loss.item() == 0.0
    assert not x.grad.any()


def test_ctc_has_no_third_derivative():
    x = genesis.tensor(np.zeros((3, 1, 2)), dtype=genesis.float64, requires_grad=True)
    loss = F.ctc_loss(x, genesis.tensor([[1]]), [3], [1])
    (first,) = genesis.autograd.grad(loss, x, create_graph=True)
    with pytest.raises(RuntimeError, match="no third derivative"):
        genesis.autograd.grad((first * first).sum(), x, create_graph=True)


@pytest.mark.parametrize("head_bias", [False, True])
def test_adaptive_softmax_is_pytorchs(head_bias):
    torch = pytest.importorskip("torch")
    arguments = (12, 30, [5, 11, 20], 2.0, head_bias)
    mine, other = (
        nn.AdaptiveLogSoftmaxWithLoss(*arguments),
        torch.nn.AdaptiveLogSoftmaxWithLoss(*arguments),
    )
    assert repr(mine) == repr(other)
    mine.load_state_dict({k: genesis.tensor(v.numpy()) for k, v in other.state_dict().items()})
    x = np.random.default_rng(0).normal(size=(9, 12)).astype("float32")
    labels = np.array([0, 4, 5, 10, 11, 29, 20, 3, 5])
    ours, theirs = genesis.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    a, b = mine(ours, genesis.tensor(labels)), other(theirs, torch.tensor(labels))
    np.testing.assert_allclose(a.output.detach().numpy(), b.output.detach().numpy(), rtol=1e-5)
    a.loss.backward()
    b.loss.backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-4, atol=1e-7)
    for p, q in zip(mine.parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        mine.log_prob(ours).detach().numpy(), other.log_prob(theirs).detach().numpy(), rtol=1e-5
    )
    assert mine.predict(ours).tolist() == other.predict(theirs).tolist()
    assert math.isclose(
        mine(ours[0], genesis.tensor(7)).loss.item(),
        other(theirs[0], torch.tensor(7)).loss.item(),
        rel_tol=1e-5,
    )


def test_adaptive_softmax_sums_to_one_and_checks():
    layer = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10])
    x = genesis.randn(3, 16)
    np.testing.assert_allclose(layer.log_prob(x).exp().sum(1).tolist(), 1.0, rtol=1e-5)
    with pytest.raises(IndexError, match="out of range"):
        layer(x, genesis.tensor([0, 1, 20]))
    with pytest.raises(ValueError, match="expected input"):
        layer(x, genesis.tensor([[0, 1, 2]]))
    for cutoffs in ([], [4, 4], [20], [0, 3]):
        with pytest.raises(ValueError, match="cutoffs must be"):
            nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs)


def test_names_of_the_specification():
    assert nn.mse_loss is F.mse_loss
    assert nn.cross_entropy_loss is F.cross_entropy
    assert nn.binary_cross_entropy is F.binary_cross_entropy
    assert nn.SGD is genesis.optim.SGD
