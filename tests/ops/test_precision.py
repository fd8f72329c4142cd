"""Losses and norms in float32 against float64, where all inputs share a large offset or are very large or small."""

import genesis
import genesis.nn.functional as F
import numpy as np
import pytest

ROWS, CLASSES = 6, 10
LABELS = [i % CLASSES for i in range(ROWS)]
_rng = np.random.default_rng(5)
BASE = _rng.normal(size=(ROWS, CLASSES))
TARGET = _rng.random((ROWS, CLASSES))
SIGNS = np.where(_rng.random((ROWS, CLASSES)) > 0.5, 1.0, -1.0)
WEIGHT = np.linspace(0.5, 2, CLASSES)


def like(array, x):
    return genesis.tensor(array, dtype=x.dtype)


def other(x):
    return x.detach().roll(1, 0)


def planes(x):
    return x.reshape(3, 4, 5)


CASES = {
    "cross_entropy": lambda x: F.cross_entropy(x, genesis.tensor(LABELS)),
    "cross_entropy-none": lambda x: F.cross_entropy(x, genesis.tensor(LABELS), reduction="none"),
    "cross_entropy-smooth": lambda x: F.cross_entropy(
        x, genesis.tensor(LABELS), label_smoothing=0.1, weight=like(WEIGHT, x)
    ),
    "cross_entropy-inner": lambda x: F.cross_entropy(
        x.reshape(2, 3, CLASSES).transpose(1, 2), genesis.tensor(LABELS).reshape(2, 3)
    ),
    "cross_entropy-probabilities": lambda x: F.cross_entropy(x, like(TARGET, x)),
    "nll_loss": lambda x: F.nll_loss(F.log_softmax(x, 1), genesis.tensor(LABELS)),
    "log_softmax": lambda x: F.log_softmax(x, 1) * like(TARGET, x),
    "softmax": lambda x: F.softmax(x, 1) * like(TARGET, x),
    "kl_div": lambda x: F.kl_div(F.log_softmax(x, 1), like(TARGET, x), reduction="sum"),
    "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(
        x, like(TARGET, x)
    ),
    "mse_loss": lambda x: F.mse_loss(x, other(x)),
    "l1_loss": lambda x: F.l1_loss(x, other(x)),
    "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, other(x)),
    "huber_loss": lambda x: F.huber_loss(x, other(x), delta=2.0),
    "gaussian_nll_loss": lambda x: F.gaussian_nll_loss(x, other(x), like(TARGET + 1, x)),
    "multi_margin_loss": lambda x: F.multi_margin_loss(x, genesis.tensor(LABELS)),
    "hinge_embedding_loss": lambda x: F.hinge_embedding_loss(x, like(SIGNS, x)),
    "margin_ranking_loss": lambda x: F.margin_ranking_loss(x, other(x), like(SIGNS, x)),
    "layer_norm": lambda x: F.layer_norm(x, (CLASSES,)) * like(TARGET, x),
    "layer_norm-weight": lambda x: (
        F.layer_norm(x, (CLASSES,), like(WEIGHT, x), like(WEIGHT, x)) * like(TARGET, x)
    ),
    "rms_norm": lambda x: F.rms_norm(x, (CLASSES,), eps=1e-6) * like(TARGET, x),
    "group_norm": lambda x: F.group_norm(planes(x), 2) * planes(like(TARGET, x)),
    "instance_norm": lambda x: F.instance_norm(planes(x)) * planes(like(TARGET, x)),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True) * like(TARGET, x),
    "batch_norm-lines": lambda x: (
        F.batch_norm(x.reshape(1, 1, 60), None, None, training=True)
        * like(TARGET, x).reshape(1, 1, 60)
    ),
    "logsumexp": lambda x: x.logsumexp(1) * like(WEIGHT[:ROWS], x),
    "logsumexp-all": lambda x: x.logsumexp((0, 1)),
    "norm": lambda x: x.norm() + x.norm(dim=0).sum() + x.norm(dim=1).sum(),
    "norm-3": lambda x: x.norm(p=3, dim=1),
    "norm-of-one": lambda x: x.unsqueeze(0).norm(dim=0) + x.unsqueeze(0).norm(p=3, dim=0),
    "normalize": lambda x: F.normalize(x) * like(TARGET, x),
    "var": lambda x: x.var(1),
    "std": lambda x: x.std(1),
    "std-columns": lambda x: x.std(0),
    "std-all": lambda x: x.std(),
}
# Of these, squares of the inputs are part of the result.
SQUARES = {"mse_loss", "gaussian_nll_loss", "var"}
INPUTS = {f"offset {o:g}": BASE * (1 if o < 1e5 else 3) + o for o in (1, 1e2, 1e4, 1e6, 1e7)}
INPUTS |= {f"scale {s:g}": BASE * s for s in (1e-20, 1e-10, 1e-5, 1e5, 1e10, 1e20)}


def _run(function, array, dtype):
    x = genesis.tensor(array, dtype=dtype, requires_grad=True)
    y = function(x)
    y.sum().backward()
    return y.detach().numpy().astype("float64"), x.grad.numpy().astype("float64")


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("name", CASES)
def test_float32_agrees_with_float64(name, kind):
    array = INPUTS[kind].astype("float32")
    if name in SQUARES and kind in ("scale 1e-20", "scale 1e+20"):
        pytest.skip("the result is out of the range of float32")
    exact = _run(CASES[name], array.astype("float64"), genesis.float64)
    for found, wanted in zip(_run(CASES[name], array, genesis.float32), exact, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-4 * np.abs(wanted).max())


def test_a_margin_that_is_just_kept_has_no_slope():
    x = genesis.tensor([[1.0, 0.0, 3.0]], requires_grad=True)
    F.multi_margin_loss(x, genesis.tensor([0])).backward()
    np.testing.assert_allclose(x.grad.numpy(), [[-1 / 3, 0, 1 / 3]], rtol=1e-6)


def test_cosine_similarity_of_short_vectors():
    a = [[3e-10, -1e-10, 2e-10]]
    b = [[1e-10, 2e-10, 2e-10]]
    x = genesis.tensor(a, dtype=genesis.float64, requires_grad=True)
    y = F.cosine_similarity(x, genesis.tensor(b, dtype=genesis.float64))
    y.backward()
    # PyTorch's gradient: eps replaces the value of the norm, and not its slope.
    a, b, eps = np.array(a), np.array(b), 1e-8
    slope = a / np.linalg.norm(a)
    np.testing.assert_allclose(y.numpy(force=True), (a * b).sum(1) / eps**2, rtol=1e-9)
    expected = b / eps**2 - (a * b).sum() / eps**3 * slope
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "target, sign, loss", [(0, 1, "inf"), (1, -1, "inf"), (1, 1, 0), (0, -1, 0)]
)
def test_binary_cross_entropy_of_an_infinite_logit(target, sign, loss):
    x = genesis.tensor([sign * float("inf")])
    y = genesis.tensor([float(target)])
    assert F.binary_cross_entropy_with_logits(x, y).item() == float(loss)
    assert F.binary_cross_entropy_with_logits(x, y, reduction="none").item() == float(loss)


def test_running_statistics_are_updated_once_where_the_norm_is_repeated_in_float64():
    x = genesis.tensor(INPUTS["offset 1e+06"].astype("float32"))
    mean, var = genesis.zeros(CLASSES), genesis.ones(CLASSES)
    F.batch_norm(x, mean, var, training=True, momentum=0.5)
    wide = x.double()
    np.testing.assert_allclose(mean.numpy(), 0.5 * wide.mean(0).numpy(), rtol=1e-6)
    np.testing.assert_allclose(var.numpy(), 0.5 + 0.5 * wide.var(0).numpy(), rtol=1e-5)
