"""linear_cross_entropy: the same numbers as its two halves, and in parts, less memory."""

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.autograd import gradcheck
from genesis.nn import LinearCrossEntropyOptions as Options
from genesis.nn import functional as F

CASES = [
    {},
    {"reduction": "sum", "bias": True},
    {"reduction": "none", "weighted": True},
    {"weighted": True, "ignore_index": 2, "bias": True},
    {"label_smoothing": 0.2, "weighted": True},
    {"probabilities": True, "label_smoothing": 0.1},
    {"places": (2, 3), "bias": True},
    {"places": (2,), "probabilities": True, "reduction": "sum"},
    {"single": True},
]


def arguments(
    rng, places=(), bias=False, weighted=False, probabilities=False, single=False, **rest
):
    classes, features, batch = 5, 4, () if single else (7,)
    x = rng.normal(size=(*batch, features))
    w = rng.normal(size=(classes, *places, features))
    b = rng.normal(size=(classes, *places)) if bias else None
    if probabilities:
        y = rng.random((*batch, classes, *places))
        y = y / y.sum(len(batch), keepdims=True)
    else:
        y = rng.integers(0, classes, (*batch, *places))
    class_weight = rng.random(classes) + 0.5 if weighted else None
    return x, w, b, y, class_weight, rest


def run(module, case, options=None, dtype="float64"):
    """The loss, and the gradients of input, weight and bias."""
    x, w, b, y, class_weight, rest = case
    dtype = getattr(module, dtype)

    def floating(a, grad=True):
        return None if a is None else module.tensor(a, dtype=dtype, requires_grad=grad)

    x, w, b, class_weight = floating(x), floating(w), floating(b), floating(class_weight, False)
    y = floating(y, False) if y.dtype == float else module.tensor(y)
    loss = module.nn.functional.linear_cross_entropy(
        x, w, y, linear_bias=b, weight=class_weight, options=options, **rest
    )
    loss.sum().backward()
    return [t.detach() for t in (loss, x.grad, w.grad, *(() if b is None else (b.grad,)))]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_as_torch_whole_and_in_parts(case, rng):
    torch = pytest.importorskip("torch")
    case = arguments(rng, **case)
    theirs = [t.numpy() for t in run(torch, case)]
    for options in (None, Options(), Options(batch_chunk_size=3), Options(acc_policy="compact")):
        for mine, wanted in zip(run(genesis, case, options), theirs, strict=True):
            np.testing.assert_allclose(mine.numpy(), wanted, rtol=1e-10, atol=1e-12)


def test_half_precision_is_computed_in_float32(rng):
    case = arguments(rng, bias=True)
    exact = run(genesis, case)
    for options in (
        Options(batch_chunk_size=2),
        Options(acc_policy="compact", acc_dtype=genesis.float32),
    ):
        for mine, wanted in zip(run(genesis, case, options, "bfloat16"), exact, strict=True):
            assert mine.dtype == genesis.bfloat16
            np.testing.assert_allclose(mine.double().numpy(), wanted.numpy(), rtol=0.05, atol=0.05)


def test_parts_take_less_memory():
    def peak(options):
        genesis.manual_seed(0)
        x = genesis.randn(512, 16, requires_grad=True)
        w = genesis.randn(2000, 16, requires_grad=True)
        y = genesis.randint(0, 2000, (512,))
        before = genesis.memory.allocated()
        genesis.memory.reset_peak()
        F.linear_cross_entropy(x, w, y, options=options).backward()
        return genesis.memory.peak() - before

    assert peak(Options()) < 0.2 * peak(None)


@pytest.mark.parametrize("options", [None, Options(batch_chunk_size=3)])
def test_differentiable_twice(options, rng):
    x, w = (
        genesis.tensor(rng.normal(size=s), dtype=genesis.float64, requires_grad=True)
        for s in [(4, 3), (5, 3)]
    )
    y = genesis.tensor([0, 4, 2, 2])

    def loss(x, w):
        return F.linear_cross_entropy(x, w, y, options=options)

    assert gradcheck(loss, (x, w), order=2)


def test_sizes_of_parts():
    assert Options(chunking_method="aspect_ratio").rows(100, 8, 64) == 16
    assert Options(chunking_method="aspect_ratio:4").rows(100, 8, 64) == 4
    assert Options().rows(100, 8, 64) == 8
    assert Options(chunking_method=None).rows(100, 8, 64) == 100
    assert Options(batch_chunk_size=9).rows(100, 8, 64) == 9
    with pytest.raises(ValueError, match="pass one of them"):
        Options(batch_chunk_size=9, chunking_method="aspect_ratio").rows(100, 8, 64)
    for wrong in (
        {"acc_policy": "best"},
        {"chunking_method": "rows"},
        {"batch_chunk_size": 0},
        {"acc_dtype": genesis.int64},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Options(**wrong)


@pytest.mark.parametrize("places", [(), (4, 3)])
def test_the_layer_same_as_torch(places, rng):
    torch = pytest.importorskip("torch")
    ours = nn.LinearCrossEntropyLoss(5, 10, out_features=places, bias=True)
    theirs = torch.nn.LinearCrossEntropyLoss(5, 10, out_features=places, bias=True)
    theirs.load_state_dict({k: torch.tensor(v.numpy()) for k, v in ours.state_dict().items()})
    x, y = rng.normal(size=(2, 5)).astype("float32"), rng.integers(0, 10, (2, *places))
    mine, wanted = (
        ours(genesis.tensor(x), genesis.tensor(y)),
        theirs(torch.tensor(x), torch.tensor(y)),
    )
    np.testing.assert_allclose(mine.item(), wanted.item(), rtol=1e-5)
    assert repr(ours).replace(", ", ",") == repr(theirs).replace(", ", ",")


def test_errors():
    x, w, y = genesis.ones(2, 3), genesis.ones(4, 3), genesis.tensor([0, 1])
    for wrong, match in [
        ((genesis.ones(2, 3, 3), w, y), "1 or 2 dimensions"),
        ((x, genesis.ones(4, 2), y), "last dimension"),
        ((genesis.ones(3), genesis.ones(4, 2, 3), y), "needs a batch"),
    ]:
        with pytest.raises(ValueError, match=match):
            F.linear_cross_entropy(*wrong)
    with pytest.raises(ValueError, match="linear_bias must have shape"):
        F.linear_cross_entropy(x, w, y, linear_bias=genesis.ones(3))
    with pytest.raises(ValueError, match="ignore_index is for class numbers"):
        F.linear_cross_entropy(x, w, genesis.ones(2, 4), ignore_index=0)
    with pytest.raises(ValueError, match="reduction"):
        F.linear_cross_entropy(x, w, y, reduction="max", options=Options())
    with pytest.raises(ValueError, match="weight must have shape"):
        nn.LinearCrossEntropyLoss(3, 4, weight=genesis.ones(3))
