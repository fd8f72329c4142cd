"""Metrics against values of scikit-learn: in one piece, batch by batch, and merged."""

import json
import pathlib

import genesis
import numpy as np
import pytest
from genesis import metrics
from genesis.metrics import functional

from tests.metrics.data import binary, classes, numbers

REFERENCE = json.loads(pathlib.Path(__file__).with_name("reference.json").read_text())
AVERAGES = ("micro", "macro", "weighted", None)
KINDS = {"precision": metrics.Precision, "recall": metrics.Recall, "f1": metrics.F1}

CASES = {
    "accuracy": (metrics.Accuracy, classes, {}),
    **{f"top_{k}": (metrics.TopK, classes, {"k": k}) for k in (1, 2, 3)},
    **{f"{n}_{a}": (k, classes, {"average": a}) for n, k in KINDS.items() for a in AVERAGES},
    **{f"{n}_binary": (k, binary, {"average": "binary"}) for n, k in KINDS.items()},
    **{
        f"confusion_{n}": (metrics.ConfusionMatrix, classes, {"normalize": n})
        for n in (None, "true", "pred", "all")
    },
    "auroc": (metrics.AUROC, binary, {}),
    "auroc_macro": (metrics.AUROC, classes, {"average": "macro"}),
    "auroc_weighted": (metrics.AUROC, classes, {"average": "weighted"}),
    "mse": (metrics.MSE, numbers, {}),
    "mae": (metrics.MAE, numbers, {}),
    "r2": (metrics.R2, numbers, {}),
    "r2_each": (metrics.R2, numbers, {"average": None}),
}


@pytest.fixture(params=CASES)
def case(request):
    kind, data, options = CASES[request.param]
    preds, target = data()
    return kind, options, precise(preds), precise(target), REFERENCE[request.param]


def precise(x):
    return genesis.tensor(x, dtype=genesis.int64 if x.dtype.kind == "i" else genesis.float64)


def check(metric, expected):
    np.testing.assert_allclose(metric.compute().numpy(), expected, rtol=1e-9, atol=1e-12)


def test_every_reference_is_used():
    assert REFERENCE.keys() - {"sklearn"} == CASES.keys()


def test_in_one_piece(case):
    kind, options, preds, target, expected = case
    metric = kind(**options)
    metric.update(preds, target)
    check(metric, expected)


def test_batch_by_batch_and_again_after_a_reset(case):
    kind, options, preds, target, expected = case
    metric = kind(**options)
    metric.update(preds[:7], target[:7])
    metric.reset()
    for a, b in ((0, 1), (1, 30), (30, 31), (31, len(target))):
        metric.update(preds[a:b], target[a:b])
    check(metric, expected)


def test_merged_and_after_a_checkpoint(case, tmp_path):
    kind, options, preds, target, expected = case
    parts = [kind(**options) for _ in range(3)]
    for part, (a, b) in zip(parts, ((0, 20), (20, 21), (21, len(target))), strict=True):
        part.update(preds[a:b], target[a:b])
    assert parts[0].merge(*parts[1:]) is parts[0]
    genesis.save(parts[0].state_dict(), tmp_path / "state.safetensors")
    again = kind(**options)
    again.load_state_dict(genesis.load(tmp_path / "state.safetensors"))
    check(again, expected)
    check(again.sync(), expected)


def test_a_call_gives_the_batch_alone_and_counts_it(case):
    kind, options, preds, target, expected = case
    metric, alone = kind(**options), kind(**options)
    metric(preds[:100], target[:100])
    value = metric(preds[100:], target[100:])
    alone.update(preds[100:], target[100:])
    np.testing.assert_array_equal(value.numpy(), alone.compute().numpy())
    check(metric, expected)


def test_functions_give_the_same():
    scores, target = (precise(x) for x in classes())
    guess, true = (precise(x) for x in numbers())
    found = {
        "accuracy": functional.accuracy(scores, target),
        "top_2": functional.top_k(scores, target, k=2),
        "precision_macro": functional.precision(scores, target),
        "recall_weighted": functional.recall(scores, target, "weighted"),
        "f1_None": functional.f1(scores, target, None),
        "confusion_true": functional.confusion_matrix(scores, target, normalize="true"),
        "auroc_macro": functional.auroc(scores, target),
        "mse": functional.mse(guess, true),
        "mae": functional.mae(guess, true),
        "r2": functional.r2(guess, true),
    }
    for name, value in found.items():
        np.testing.assert_allclose(value.numpy(), REFERENCE[name], rtol=1e-9)
    assert functional.mse(guess, true, root=True).item() == pytest.approx(REFERENCE["mse"] ** 0.5)


def test_perplexity_is_the_exponential_of_the_cross_entropy():
    genesis.manual_seed(0)
    scores, tokens = genesis.randn(4, 9, 11), genesis.randint(0, 11, (4, 9))
    tokens[0, 3:] = -1
    loss = genesis.nn.functional.cross_entropy(
        scores.flatten(0, 1), tokens.flatten(), ignore_index=-1
    )
    metric = metrics.Perplexity(ignore_index=-1)
    for i in range(4):
        metric.update(scores[i : i + 1], tokens[i : i + 1])
    assert metric.compute().item() == pytest.approx(loss.exp().item(), rel=1e-5)
    other = metrics.Perplexity(dim=1, ignore_index=-1)
    other.update(scores.transpose(1, 2), tokens)
    assert other.compute().item() == pytest.approx(metric.compute().item(), rel=1e-6)


def test_a_mean_with_weights():
    mean = metrics.Mean()
    mean.update(genesis.tensor([1.0, 2.0]), genesis.tensor([1.0, 3.0]))
    assert mean.merge(metrics.Mean()).compute().item() == 1.75


def test_metrics_keep_no_graph():
    x = genesis.randn(4, 3, requires_grad=True)
    metric = metrics.MSE()
    metric.update(x, genesis.zeros(4, 3))
    assert not metric.compute().requires_grad


def test_classes_that_come_later_and_classes_that_are_absent():
    few, more = metrics.F1(average=None), metrics.F1(average=None)
    few.update(genesis.tensor([0, 1]), genesis.tensor([0, 1]))
    more.update(genesis.tensor([4]), genesis.tensor([4]))
    assert few.merge(more).compute().tolist() == [1, 1, 0, 0, 1]
    fixed = metrics.Recall(average="macro", num_classes=10)
    fixed.update(genesis.tensor([0, 1]), genesis.tensor([0, 0]))
    assert fixed.compute().item() == 0.25  # the mean over 0 and 1, as scikit-learn has it
    assert metrics.ConfusionMatrix(num_classes=4).compute().shape == (4, 4)


def test_metrics_of_nothing_are_nan():
    for kind in (
        metrics.Accuracy, metrics.TopK, metrics.F1, metrics.AUROC, metrics.MSE, metrics.R2,
        metrics.Mean, metrics.Perplexity,
    ):  # fmt: skip
        assert kind().compute().isnan().item(), kind


def test_one_class_has_no_roc_curve():
    assert functional.auroc(genesis.rand(4), genesis.ones(4, dtype=genesis.int64)).isnan()
    scores = genesis.tensor([[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.6, 0.3, 0.1]])
    each = functional.auroc(scores, genesis.tensor([0, 1, 0]), average=None)
    assert each.tolist()[:2] == [1.0, 1.0] and each[2].isnan()
    assert functional.auroc(scores, genesis.tensor([0, 1, 0])).item() == 1.0


def test_constant_targets_of_r2():
    true = genesis.ones(3, 2)
    guess = genesis.stack([genesis.ones(3), genesis.zeros(3)], 1)
    assert functional.r2(guess, true, average=None).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: functional.accuracy(genesis.rand(3, 2), genesis.rand(3)), TypeError, "target.long()"),
        (lambda: functional.accuracy(genesis.rand(3, 2), genesis.tensor([1, 0])), ValueError, "do not fit"),
        (lambda: functional.accuracy(genesis.tensor([1]), genesis.tensor([-1])), ValueError, "ignore_index"),
        (lambda: functional.f1(genesis.tensor([3]), genesis.tensor([1]), num_classes=3), ValueError, "num_classes is 3"),
        (lambda: functional.f1(genesis.tensor([3]), genesis.tensor([1]), "binary"), ValueError, "two classes"),
        (lambda: metrics.F1("mean"), ValueError, "average must be"),
        (lambda: metrics.TopK(0), ValueError, "positive"),
        (lambda: functional.top_k(genesis.rand(2, 3), genesis.tensor([0, 1])), ValueError, "k=5 is more"),
        (lambda: functional.auroc(genesis.rand(3), genesis.tensor([0, 1, 2])), ValueError, "outside of 0..1"),
        (lambda: functional.mse(genesis.rand(3, 1), genesis.rand(3)), ValueError, "same shape"),
        (lambda: functional.perplexity(genesis.rand(2, 3), genesis.tensor([0])), ValueError, "dim="),
        (lambda: metrics.MSE().merge(metrics.MAE()), TypeError, "expected a MSE, got MAE"),
        (lambda: metrics.MSE().load_state_dict({}), ValueError, "total"),
    ],
)  # fmt: skip
def test_mistakes(call, error, text):
    with pytest.raises(error, match=text):
        call()
