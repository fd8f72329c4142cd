"""Losses."""

import itertools
import math

import numpy as np

from tests.ops.op import Op, Sample

REDUCTIONS = ("mean", "sum", "none")


def reduced(loss, reduction):
    return {"mean": np.mean, "sum": np.sum, "none": np.asarray}[reduction](loss)


def pointwise(formula):
    def reference(x, y, *args, reduction="mean", weight=None, **kwargs):
        loss = formula(x, y, *args, **kwargs)
        if weight is None:
            return reduced(loss, reduction)
        loss = loss * weight
        return (
            loss.sum() / np.broadcast_to(weight, loss.shape).sum()
            if reduction == "mean"
            else (reduced(loss, reduction))
        )

    return reference


def smooth_l1(x, y, beta=1.0):
    d = np.abs(x - y)
    return np.where(d < beta, 0.5 * d**2 / (beta or 1), d - 0.5 * beta)


def huber(x, y, delta=1.0):
    d = np.abs(x - y)
    return np.where(d <= delta, 0.5 * d**2, delta * (d - 0.5 * delta))


def elements(low=-2.0, high=2.0, ylow=None, yhigh=None, **options):
    """Pairs of one shape under every reduction, then every option by itself."""
    ylow, yhigh = (low if ylow is None else ylow), (high if yhigh is None else yhigh)

    def make(rng):
        def pair(*shape):
            return np.asarray(rng.uniform(low, high, shape)), np.asarray(
                rng.uniform(ylow, yhigh, shape)
            )

        made = [Sample(*pair(2, 3), reduction=r) for r in REDUCTIONS]
        made += [Sample(*pair()), Sample(*pair(0, 3), reduction="sum"), Sample(*pair(7, 1, 2))]
        for key, values in options.items():
            for value in values:
                given = rng.uniform(0.5, 2, value) if isinstance(value, tuple) else value
                made += [Sample(*pair(3, 2), reduction=r, **{key: given}) for r in REDUCTIONS]
        return made

    return make


def bce(x, y, weight=None, reduction="mean"):
    loss = -y * np.log(x) - (1 - y) * np.log1p(-x)
    return reduced(loss if weight is None else loss * weight, reduction)


def softplus(x):
    return np.logaddexp(0, x)


def bce_logits(x, y, weight=None, reduction="mean", pos_weight=None):
    scale = 1 if pos_weight is None else pos_weight
    loss = scale * y * softplus(-x) + (1 - y) * softplus(x)
    return reduced(loss if weight is None else loss * weight, reduction)


def kl(x, y, reduction="mean", log_target=False):
    loss = np.exp(y) * (y - x) if log_target else y * (np.log(y) - x)
    return loss.sum() / x.shape[0] if reduction == "batchmean" else reduced(loss, reduction)


def poisson(x, y, log_input=True, full=False, eps=1e-8, reduction="mean"):
    loss = np.exp(x) - y * x if log_input else x - y * np.log(x + eps)
    if full:
        with np.errstate(all="ignore"):
            loss = loss + np.where(y > 1, y * np.log(y) - y + 0.5 * np.log(2 * np.pi * y), 0)
    return reduced(loss, reduction)


def gaussian(x, y, var, full=False, eps=1e-6, reduction="mean"):
    var = var[..., None] if np.ndim(var) == x.ndim - 1 and np.ndim(var) else var
    loss = 0.5 * (np.log(var) + (x - y) ** 2 / var) + (0.5 * math.log(2 * math.pi) if full else 0)
    return reduced(loss, reduction)


def log_softmax(x, axis):
    return (
        x
        - np.log(np.exp(x - x.max(axis, keepdims=True)).sum(axis, keepdims=True))
        - x.max(axis, keepdims=True)
    )


def nll(x, y, weight=None, ignore_index=-100, reduction="mean", smoothing=0.0):
    """One case after the other."""
    classes = x.shape[min(1, x.ndim - 1)]
    weight = np.ones(classes) if weight is None else weight
    rows = np.moveaxis(x, min(1, x.ndim - 1), -1).reshape(-1, classes)
    losses, total = [], 0.0
    for row, label in zip(rows, y.reshape(-1), strict=True):
        if label == ignore_index:
            losses.append(0.0)
            continue
        target = smoothing / classes * weight
        target[label] += (1 - smoothing) * weight[label]
        losses.append(-(target * row).sum())
        total += weight[label]
    if reduction == "none":
        return np.reshape(losses, y.shape)
    return np.sum(losses) / (total if reduction == "mean" else 1.0)


def cross_entropy(x, y, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    axis = min(1, x.ndim - 1)
    logs = log_softmax(x, axis)
    if y.dtype != np.float64:
        return nll(logs, y, weight, ignore_index, reduction, label_smoothing)
    classes = x.shape[axis]
    target = y * (1 - label_smoothing) + label_smoothing / classes
    if weight is not None:
        target = target * weight.reshape(classes, *[1] * (x.ndim - axis - 1))
    return reduced(-(logs * target).sum(axis), reduction)


def linear_cross_entropy(x, w, y, linear_bias=None, **options):
    scores = x @ w.T + (0 if linear_bias is None else linear_bias)
    return cross_entropy(scores, y, **options)


def linear_classes(rng):
    x, w, b = (rng.normal(size=shape) for shape in [(4, 3), (5, 3), (5,)])
    y = np.array([0, 4, 2, 2])
    return [
        Sample(x, w, y),
        Sample(x, w, y, linear_bias=b, reduction="sum"),
        Sample(x, w, y, reduction="none", ignore_index=2, label_smoothing=0.2),
        Sample(x[:0], w, y[:0], reduction="sum"),
    ]


def classes(rng, smoothing=False):
    def scores(*shape):
        return np.asarray(rng.normal(size=shape))

    weight = rng.uniform(0.5, 2, 5)
    labels = np.array([0, 4, 2, -100, 2, 1])
    made = [Sample(scores(6, 5), labels, reduction=r) for r in REDUCTIONS]
    made += [Sample(scores(6, 5), labels, reduction=r, weight=weight) for r in REDUCTIONS]
    made += [
        Sample(scores(5), np.array(3)),
        Sample(scores(6, 5), np.array([0, 4, 2, 1, 2, 1]), ignore_index=2),
        Sample(scores(2, 5, 3), labels.reshape(2, 3), reduction="none"),
        Sample(scores(2, 5, 1, 3), labels.reshape(2, 1, 3), weight=weight),
        Sample(scores(0, 5), np.zeros(0, np.int64), reduction="sum"),
        Sample(scores(2, 3, 0), np.zeros((2, 0), np.int64), reduction="none"),
        Sample(scores(3, 1), np.zeros(3, np.int64)),
    ]
    return made


def smooth_classes(rng):
    made = classes(rng)
    weight = rng.uniform(0.5, 2, 5)
    labels = np.array([0, 4, 2, -100, 2, 1])
    for options in ({}, {"weight": weight}):
        for reduction in REDUCTIONS:
            x = np.asarray(rng.normal(size=(6, 5)))
            made.append(Sample(x, labels, label_smoothing=0.2, reduction=reduction, **options))
    x = np.asarray(rng.normal(size=(2, 5, 3)))
    return [*made, Sample(x, labels.reshape(2, 3), label_smoothing=0.2, weight=weight)]


def probabilities(rng):
    def target(*shape):
        y = rng.uniform(0.1, 1, shape)
        return y / y.sum(min(1, y.ndim - 1), keepdims=True)

    def x(*shape):
        return np.asarray(rng.normal(size=shape))

    weight = rng.uniform(0.5, 2, 3)
    return [
        *(Sample(x(4, 3), target(4, 3), reduction=r) for r in REDUCTIONS),
        Sample(x(4, 3), target(4, 3), weight=weight, label_smoothing=0.3),
        Sample(x(2, 3, 2), target(2, 3, 2), weight=weight, reduction="none"),
        Sample(x(3), target(3)),
    ]


def ctc(x, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The sum over all paths, one by one."""
    x = log_softmax(x, -1)
    if x.ndim == 2:
        x, targets = x[:, None], np.reshape(targets, (1, -1))
    if targets.ndim == 1:
        ends = np.cumsum(target_lengths)
        rows = [targets[end - n : end] for end, n in zip(ends, target_lengths, strict=True)]
    else:
        rows = [row[:n] for row, n in zip(targets, target_lengths, strict=True)]
    losses = []
    for n, (row, frames) in enumerate(zip(rows, input_lengths, strict=True)):
        total = 0.0
        for path in itertools.product(range(x.shape[2]), repeat=int(frames)):
            spelt = [c for c, _ in itertools.groupby(path) if c != blank]
            if spelt == list(row):
                total += math.exp(sum(x[t, n, c] for t, c in enumerate(path)))
        losses.append(-math.log(total) if total else (0.0 if zero_infinity else math.inf))
    if reduction == "mean":
        return np.mean([v / max(1, len(r)) for v, r in zip(losses, rows, strict=True)])
    return np.sum(losses) if reduction == "sum" else np.array(losses)


def sequences(rng):
    def x(*shape):
        return np.asarray(rng.normal(size=shape))

    padded = np.array([[1, 2, 1], [2, 2, 0]])
    return [
        *(Sample(x(5, 2, 3), padded, [5, 4], [3, 2], reduction=r) for r in REDUCTIONS),
        Sample(x(4, 2, 3), np.array([1, 2]), [4, 2], [2, 0]),
        Sample(x(4, 2, 3), np.array([1, 0, 0]), np.array([4, 3]), np.array([1, 2]), blank=2),
        Sample(x(3, 2, 3), np.array([[1, 1], [1, 2]]), [2, 3], [2, 2], zero_infinity=True,
               reduction="sum"),
        Sample(x(4, 3), np.array([2, 1]), [4], [2]),
    ]  # fmt: skip


def hinge(x, y, margin=1.0, reduction="mean"):
    return reduced(np.where(y == 1, x, np.maximum(0, margin - x)), reduction)


def signs(rng, *shape):
    return rng.choice([-1, 1], shape)


def signed(**options):
    def make(rng):
        made = [Sample(rng.normal(size=(4, 3)), signs(rng, 4, 3), reduction=r) for r in REDUCTIONS]
        return [*made, Sample(rng.normal(size=5), signs(rng, 5), **options)]

    return make


def ranking(x1, x2, y, margin=0.0, reduction="mean"):
    return reduced(np.maximum(0, margin - y * (x1 - x2)), reduction)


def multi_margin(x, y, p=1, margin=1.0, weight=None, reduction="mean"):
    rows, labels = x.reshape(-1, x.shape[-1]), np.reshape(y, -1)
    losses = []
    for row, label in zip(rows, labels, strict=True):
        terms = np.maximum(0, margin - row[label] + row) ** p
        scale = 1 if weight is None else weight[label]
        losses.append(np.delete(terms, label).sum() * scale / len(row))
    return reduced(np.array(losses).reshape(np.shape(y)[: x.ndim - 1]), reduction)


def multilabel_margin(x, y, reduction="mean"):
    losses = []
    for row, listed in zip(x.reshape(-1, x.shape[-1]), y.reshape(-1, x.shape[-1]), strict=True):
        targets = list(itertools.takewhile(lambda c: c >= 0, listed))
        others = [j for j in range(len(row)) if j not in targets]
        losses.append(sum(max(0, 1 - row[i] + row[j]) for i in targets for j in others) / len(row))
    return reduced(np.array(losses).reshape(x.shape[:-1]), reduction)


def multilabel_soft(x, y, weight=None, reduction="mean"):
    return reduced(bce_logits(x, y, weight, "none").mean(-1), reduction)


def cosine_embedding(x1, x2, y, margin=0.0, reduction="mean"):
    cos = (x1 * x2).sum(-1) / np.sqrt((x1**2).sum(-1) * (x2**2).sum(-1))
    return reduced(np.where(y == 1, 1 - cos, np.maximum(0, cos - margin)), reduction)


def triplet(a, p, n, margin=1.0, order=2.0, eps=1e-6, swap=False, reduction="mean"):
    def distance(x, y):
        return np.linalg.norm(x - y + eps, ord=order, axis=-1)

    far = np.minimum(distance(a, n), distance(p, n)) if swap else distance(a, n)
    return reduced(np.maximum(0, margin + distance(a, p) - far), reduction)


def norm_triplet(anchor, near, far, p=2.0, **kwargs):
    return triplet(anchor, near, far, order=p, **kwargs)


def triplets(*options):
    def make(rng):
        def three(*shape):
            return [np.asarray(rng.normal(size=shape)) for _ in range(3)]

        made = [Sample(*three(4, 3), reduction=r) for r in REDUCTIONS]
        return made + [Sample(*three(4, 3), **given) for given in options]

    return make


def _multi_margin_samples(rng):
    y = np.array([0, 3, 1])
    made = [Sample(rng.normal(size=(3, 4)), y, reduction=r) for r in REDUCTIONS]
    weight = rng.uniform(0.5, 2, 4)
    return [
        *made,
        Sample(rng.normal(size=(3, 4)), y, 2, 0.5, weight),
        Sample(rng.normal(size=4), np.array(2)),
    ]


def _multilabel_samples(rng):
    y = np.array([[1, 3, -1, 0], [0, -1, -1, -1], [-1, 0, 0, 0]])
    made = [Sample(rng.normal(size=(3, 4)), y, reduction=r) for r in REDUCTIONS]
    return [*made, Sample(rng.normal(size=4), y[0])]


def _pairs(rng):
    def pair(*shape):
        return np.asarray(rng.normal(size=shape)), np.asarray(rng.normal(size=shape))

    return [
        *(Sample(*pair(4, 3), np.array([1, -1, 1, -1]), reduction=r) for r in REDUCTIONS),
        Sample(*pair(4, 3), np.array([1, -1, -1, -1]), margin=0.3),
        Sample(*pair(3), np.array(1)),
    ]


def _ranked(rng):
    made = [
        Sample(rng.normal(size=4), rng.normal(size=4), signs(rng, 4), reduction=r)
        for r in REDUCTIONS
    ]
    return [*made, Sample(rng.normal(size=(2, 3)), rng.normal(size=(2, 3)), signs(rng, 2, 3), 0.5)]


def _gaussian_samples(rng):
    def args(*shape):
        return rng.normal(size=shape), rng.normal(size=shape)

    def var(*shape):
        return rng.uniform(0.5, 2, shape)

    return [
        *(Sample(*args(4, 3), var(4, 3), reduction=r) for r in REDUCTIONS),
        Sample(*args(4, 3), var(4), full=True),
        Sample(*args(4, 3), var(4, 1)),
        Sample(*args(4, 3), 0.5),
    ]


def _l1_distance(x, y):
    return (x - y).abs().sum(-1)


def loss(name, reference, **options):
    """A row. PyTorch has some as torch.<name> too, with other arguments; these are the others."""
    return Op(f"nn.functional.{name}", reference, called=name, method=False, **options)


def bad(*args, error=ValueError, match="", **kwargs):
    return (args, kwargs, error, match)


two, three = np.ones(2), np.ones((2, 3))
labels = np.array([0, 1])

OPS = [
    loss("mse_loss", pointwise(lambda x, y: (x - y) ** 2),
       samples=elements(weight=[(3, 2)]), fixed=("weight",),
       raises=[bad(two, two, reduction="max", match="reduction must be"),
               bad(labels, labels, error=TypeError, match="input must be floating")]),
    loss("l1_loss", pointwise(lambda x, y: np.abs(x - y)),
       samples=elements(weight=[(3, 2)]), fixed=("weight",)),
    loss("smooth_l1_loss", pointwise(smooth_l1), samples=elements(beta=[0.5, 2.5, 0.0]),
       raises=[bad(two, two, beta=-1.0, match="beta must not be negative")]),
    loss("huber_loss", lambda x, y, reduction="mean", delta=1.0, weight=1.0:
         reduced(huber(x, y, delta) * weight, reduction),
       samples=elements(delta=[0.5, 2.5], weight=[(3, 2)]), fixed=("weight",),
       raises=[bad(two, two, delta=0.0, match="delta must be positive")]),
    loss("binary_cross_entropy", bce, fixed=("weight",),
       samples=elements(0.1, 0.9, weight=[(3, 2), (2,)]),
       raises=[bad(two, three, match="must have the same shape"),
               bad(two + 1, two, match="between 0 and 1")]),
    loss("binary_cross_entropy_with_logits", bce_logits, fixed=("weight", "pos_weight"),
       samples=elements(-3, 3, 0, 1, weight=[(3, 2)], pos_weight=[(2,)]),
       raises=[bad(two, three, match="must have the same shape"),
               bad(two, three, pos_weight=two, match="must have the same shape")]),
    loss("kl_div", kl,
       samples=lambda rng: [s for s in elements(-3, 0, 0.1, 1, log_target=[True])(rng)
                            if s.kwargs.get("reduction", "mean") != "mean"]
       + [Sample(rng.normal(size=(3, 2)), rng.uniform(0.1, 1, (3, 2)), reduction="batchmean")]),
    loss("poisson_nll_loss", poisson,
       samples=elements(0.5, 3.0, log_input=[False], full=[True])),
    loss("gaussian_nll_loss", gaussian, samples=_gaussian_samples,
       raises=[bad(three, three, -three, match="negative"), bad(three, three, np.ones(5), match="var is")]),
    loss("cross_entropy", cross_entropy, samples=smooth_classes, fixed=("weight",),
       raises=[bad(three, np.array([0, 3]), error=IndexError, match="target 3 is out of range for 3 classes"),
               bad(three, labels > 0, error=TypeError, match="target must hold class numbers"),
               bad(three, np.array([0]), match=r"target must be \(2,\), got \(1,\)"),
               bad(three, two, match="must have the input's shape"),
               bad(three, labels, weight=two, match="one number for each of the 3 classes"),
               bad(three, labels, label_smoothing=2.0, match="label_smoothing must be between"),
               bad(three, labels, reduction="all", match="reduction must be"),
               bad(np.array(1.0), np.array(0), match="dimension of classes")]),
    loss("cross_entropy", cross_entropy, variant="probabilities", samples=probabilities,
       fixed=("weight",),
       raises=[bad(three, three, weight=two, match="one number for each"),
               bad(three, three, label_smoothing=-1.0, match="label_smoothing must be between")]),
    loss("linear_cross_entropy", linear_cross_entropy, samples=linear_classes,
       raises=[bad(three, np.ones((4, 2)), labels, match="linear_cross_entropy")]),
    loss("nll_loss", nll, samples=classes, fixed=("weight",),
       raises=[bad(three, np.array([0, -1]), error=IndexError, match="target -1 is out of range"),
               bad(three, two, error=TypeError, match="use target.long()")]),
    loss("ctc_loss", ctc, samples=sequences, dtypes="wide", layouts=False,
       wrap=lambda f: lambda x, *args, **kwargs: f(x.log_softmax(-1), *args, **kwargs),
       raises=[bad(np.ones((4, 1, 3)), np.array([[0]]), [4], [1], error=IndexError, match="is the blank"),
               bad(np.ones((4, 1, 3)), np.array([[3]]), [4], [1], error=IndexError, match="target 3 is out of range"),
               bad(np.ones((4, 1, 3)), np.array([[1]]), [5], [1], match=r"input_lengths\[0\] is 5"),
               bad(np.ones((4, 1, 3)), np.array([[1]]), [4], [2], match="target_lengths reach 2"),
               bad(np.ones((4, 1, 3)), np.array([1]), [4], [2], match="add up to 2"),
               bad(np.ones((4, 1, 3)), np.array([1.0]), [4], [1], error=TypeError, match="class numbers"),
               bad(np.ones((4, 1, 3)), np.array([1]), [4], [1], blank=3, error=IndexError, match="blank 3")]),
    loss("hinge_embedding_loss", hinge, samples=signed(margin=0.5), fixed=(1,)),
    loss("soft_margin_loss", lambda x, y, reduction="mean": reduced(softplus(-y * x), reduction),
       samples=signed(), fixed=(1,)),
    loss("margin_ranking_loss", ranking, samples=_ranked, fixed=(2,),
       raises=[bad(two, two, three, match="as many dimensions")]),
    loss("multi_margin_loss", multi_margin, samples=_multi_margin_samples, fixed=(4,),
       raises=[bad(three, labels, 3, match="p must be 1 or 2"),
               bad(three, np.array([0, 3]), error=IndexError, match="out of range for 3 classes"),
               bad(three, np.array([0]), match=r"target must be \(2,\)"),
               bad(three, two, error=TypeError, match="class numbers")]),
    loss("multilabel_margin_loss", multilabel_margin, samples=_multilabel_samples,
       raises=[bad(three, np.full((2, 3), 3), error=IndexError, match="out of range"),
               bad(three, labels, match=r"target must be \(2, 3\)")]),
    loss("multilabel_soft_margin_loss", multilabel_soft, fixed=(1, "weight"),
       samples=lambda rng: [
           *(Sample(rng.normal(size=(3, 4)), rng.integers(0, 2, (3, 4)), reduction=r) for r in REDUCTIONS),
           Sample(rng.normal(size=(3, 4)), rng.integers(0, 2, (3, 4)), weight=rng.uniform(0.5, 2, 4)),
       ]),
    loss("cosine_embedding_loss", cosine_embedding, samples=_pairs, rtol=1e-9,
       raises=[bad(three, three, three, match="expected inputs")]),
    loss("triplet_margin_loss", norm_triplet,
       samples=triplets({"margin": 2.0}, {"p": 1.0}, {"swap": True}, {"p": 3.0}),
       raises=[bad(two, two, three, match="as many dimensions"), bad(two, two, two, margin=0.0, match="margin must be")]),
    loss("triplet_margin_with_distance_loss", triplet,
       samples=triplets({"margin": 2.0}, {"swap": True})),
    loss("triplet_margin_with_distance_loss", lambda a, p, n, distance_function: triplet(a, p, n, order=1.0, eps=0.0),
       variant="city blocks",
       samples=lambda rng: [
           Sample(*(rng.normal(size=(4, 3)) for _ in range(3)), distance_function=_l1_distance)
       ]),
]  # fmt: skip
