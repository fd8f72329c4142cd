"""Functions of nn.functional behind layers that pad, look up, shuffle, drop or compare."""

import numpy as np

from tests.ops.op import Op, Sample

# F.pad counts dimensions from the last, np.pad from the first.
MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _pad(x, pad, mode="constant", value=0.0):
    width = [(0, 0)] * (x.ndim - len(pad) // 2) + [
        tuple(pad[i : i + 2]) for i in range(len(pad) - 2, -1, -2)
    ]
    cut = tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(width, x.shape, strict=True))
    added = [(max(a, 0), max(b, 0)) for a, b in width]
    options = {"constant_values": value or 0} if mode == "constant" else {}
    return np.pad(x[cut], added, MODES[mode], **options)


def _pads(rng):
    x1, x2, x3 = (
        rng.normal(size=(2, 3, 4)),
        rng.normal(size=(2, 1, 3, 4)),
        rng.normal(size=(1, 2, 3, 4, 3)),
    )
    for mode in ("reflect", "replicate", "circular"):
        yield Sample(x1, (2, 1), mode)
        yield Sample(x1[0], (0, 3), mode)
        yield Sample(x2, (1, 3, 2, 0), mode=mode)
        yield Sample(x3, (1, 1, 2, 3, 1, 0), mode=mode)
    yield Sample(x1[0], (6, 5), "replicate")
    yield Sample(x1, (2, -1), "replicate")
    yield Sample(x1, (1, 2), "constant", 3.5)
    yield Sample(x1, (0, 0, 1, 2), value=-1.0)
    yield Sample(x1, (-1, 2, 0, -2, 1, 0))
    yield Sample(x1, (0, 0))
    yield Sample(rng.normal(size=(0, 2)), (1, 0, 2, 0))
    yield Sample(rng.normal(size=(2, 3)), ())


def _bag(
    x,
    weight,
    offsets=None,
    mode="mean",
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    if x.ndim == 2:
        bags = [list(range(i * x.shape[1], (i + 1) * x.shape[1])) for i in range(x.shape[0])]
    else:
        ends = list(offsets[1:]) if include_last_offset else [*offsets[1:], len(x)]
        bags = [list(range(a, b)) for a, b in zip(offsets, ends, strict=False)]
    flat = x.reshape(-1)
    scale = np.ones(flat.shape) if per_sample_weights is None else per_sample_weights.reshape(-1)
    reduce = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
    rows = []
    for bag in bags:
        terms = [weight[flat[i]] * scale[i] for i in bag if flat[i] != padding_idx]
        rows.append(reduce(terms, 0) if terms else np.zeros(weight.shape[1]))
    return np.array(rows).reshape(len(bags), weight.shape[1])


def _bags(rng):
    table, flat, offsets = (
        rng.normal(size=(5, 3)),
        np.array([1, 2, 4, 4, 0, 3]),
        np.array([0, 2, 2, 5]),
    )
    for mode in ("sum", "mean", "max"):
        yield Sample(flat, table, offsets, mode=mode)
        yield Sample(flat.reshape(2, 3), table, mode=mode)
        yield Sample(flat, table, offsets, mode=mode, padding_idx=4)
    yield Sample(flat, table, np.array([0, 3, 6]), include_last_offset=True)
    yield Sample(flat, table, offsets, mode="sum", per_sample_weights=rng.normal(size=6))
    yield Sample(flat.reshape(3, 2), table, mode="sum", per_sample_weights=rng.normal(size=(3, 2)))
    yield Sample(np.zeros(0, np.int64), table, np.zeros(2, np.int64))


def _pixel_shuffle(x, r):
    *batch, c, h, w = x.shape
    y = np.zeros((*batch, c // (r * r), h * r, w * r))
    for i in range(r):
        for j in range(r):
            y[..., i::r, j::r] = x[..., i * r + j :: r * r, :, :]
    return y


def _pixel_unshuffle(x, r):
    *batch, c, h, w = x.shape
    y = np.zeros((*batch, c * r * r, h // r, w // r))
    for i in range(r):
        for j in range(r):
            y[..., i * r + j :: r * r, :, :] = x[..., i::r, j::r]
    return y


def _norm(x, p, dim):
    return np.linalg.norm(x, p, dim, keepdims=True)


def _cosine(x1, x2, dim=1, eps=1e-8):
    x1, x2 = np.broadcast_arrays(x1, x2)
    return (x1 * x2).sum(dim) / (
        np.maximum(_norm(x1, 2, dim), eps) * np.maximum(_norm(x2, 2, dim), eps)
    ).squeeze(dim)


def _distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    d = _norm(x1 - x2 + eps, p, -1)
    return d if keepdim else d.squeeze(-1)


def _kept_whole(p, scale=None):
    """Every channel is zero or scaled as a whole."""

    def check(outputs, sample):
        x, y = sample.args[0], outputs[0].detach().double().numpy()
        places = tuple(range(2, x.ndim)) or (0,)
        ratio = y / x
        np.testing.assert_allclose(ratio.max(places), ratio.min(places), rtol=0.02, atol=0.02)
        assert all(min(abs(v), abs(v - 1 / (1 - p))) < 0.02 for v in ratio.ravel())

    return check


def _two_lines(outputs, sample):
    """Each element is either the constant or a x + b."""
    x, y = sample.args[0], outputs[0].detach().double().numpy()
    p, alpha = sample.kwargs.get("p", 0.5), 1.7580993408473766
    a = 1 / np.sqrt((alpha**2 * p + 1) * (1 - p))
    b = alpha * a * p
    dropped = -alpha * a + b
    assert (np.minimum(abs(y - (a * x + b)), abs(y - dropped)) < 0.05 * (1 + abs(x))).all()


OPS: list[Op] = [
    Op("constant_pad_nd", lambda x, pad, value=0: _pad(x, pad, "constant", value), method=False, dtypes="all",
       samples=lambda rng: [Sample(rng.normal(size=(2, 3)), (1, 0)), Sample(rng.normal(size=(2, 3)), (-1, 2, 3, 0), 2),
                            Sample(rng.normal(size=(2, 3)), ()), Sample(rng.normal(size=(2, 0)), (1, 1))],
       raises=[((np.ones((2, 3)), (1,)), {}, ValueError, "must be even"),
               ((np.ones((2, 3)), (1,) * 6), {}, ValueError, "for 3 dimensions"),
               ((np.ones((2, 3)), (-2, -2)), {}, ValueError, "leave nothing of dimension 1")]),
    Op("pad", _pad, method=False, samples=lambda rng: list(_pads(rng)),
       raises=[((np.ones((2, 3)), (3, 0), "reflect"), {}, ValueError, "at most 2 elements"),
               ((np.ones((2, 3)), (4, 0), "circular"), {}, ValueError, "at most 3 elements"),
               ((np.ones((2, 3)), (1, 1, 1, 1), "reflect"), {}, ValueError, "4 paddings for shape"),
               ((np.ones((2, 3)), (1, 1), "mirror"), {}, ValueError, "got 'mirror'"),
               ((np.ones((2, 3)), (1, 1), "reflect", 2.0), {}, ValueError, "takes no value"),
               ((np.ones((2, 0)), (1, 1), "replicate"), {}, ValueError, "nothing to take values from")]),
    Op("embedding_bag", _bag, method=False, samples=lambda rng: list(_bags(rng)), dtypes="wide",
       unlike_torch="torch.embedding_bag is another function; tests/nn/test_embedding.py compares",
       raises=[((np.array([0]), np.ones((2, 2))), {}, ValueError, "needs 1-d offsets"),
               ((np.array([0]), np.ones((2, 2)), np.array([1])), {}, ValueError, "begin with 0"),
               ((np.array([0, 1]), np.ones((2, 2)), np.array([0, 1])), {"include_last_offset": True}, ValueError, "the last offset"),
               ((np.array([[0]]), np.ones((2, 2)), np.array([0])), {}, ValueError, "pass no offsets"),
               ((np.array([[0]]), np.ones((2, 2))), {"mode": "prod"}, ValueError, "got 'prod'"),
               ((np.array([[0]]), np.ones((2, 2))), {"per_sample_weights": np.ones((1, 1))}, ValueError, "mode='sum'")]),
    Op("pixel_shuffle", _pixel_shuffle, method=False,
       samples=lambda rng: [Sample(rng.normal(size=(2, 8, 2, 3)), 2), Sample(rng.normal(size=(9, 2, 1)), 3)],
       raises=[((np.ones((1, 6, 2, 2)), 2), {}, ValueError, "divisible by 2 squared")]),
    Op("pixel_unshuffle", _pixel_unshuffle, method=False,
       samples=lambda rng: [Sample(rng.normal(size=(2, 3, 4, 6)), 2), Sample(rng.normal(size=(1, 3, 6)), 3)],
       raises=[((np.ones((1, 6, 3, 2)), 2), {}, ValueError, "H and W are divisible by 2")]),
    Op("channel_shuffle", lambda x, groups: np.concatenate([x[:, i :: x.shape[1] // groups] for i in range(x.shape[1] // groups)], 1),
       method=False, samples=lambda rng: [Sample(rng.normal(size=(2, 6, 2)), 3), Sample(rng.normal(size=(1, 4, 2, 2)), 2)],
       raises=[((np.ones((1, 6, 2)), 4), {}, ValueError, "divisible by 4")]),
    Op("native_channel_shuffle", lambda x, groups: np.concatenate([x[:, i :: x.shape[1] // groups] for i in range(x.shape[1] // groups)], 1),
       method=False, samples=lambda rng: [Sample(rng.normal(size=(2, 6, 2)), 3), Sample(rng.normal(size=(1, 4, 2, 2)), 2)],
       raises=[((np.ones((1, 6, 2)), 4), {}, ValueError, "divisible by 4")],
       unlike_torch="PyTorch has no gradient for it"),
    Op("cosine_similarity", _cosine, method=False,
       samples=lambda rng: [Sample(rng.normal(size=(2, 3)), rng.normal(size=(2, 3))),
                            Sample(rng.normal(size=(2, 3, 2)), rng.normal(size=(3, 1)), dim=0),
                            Sample(rng.normal(size=(0, 3)), rng.normal(size=(1, 3)))]),
    Op("pairwise_distance", _distance, method=False,
       samples=lambda rng: [Sample(rng.normal(size=(2, 3)), rng.normal(size=(2, 3))),
                            Sample(rng.normal(size=(2, 3)), rng.normal(size=3), p=1.0, keepdim=True),
                            Sample(rng.normal(size=3), rng.normal(size=3), 3.0)]),
    Op("normalize", lambda x, p=2.0, dim=1, eps=1e-12: x / np.maximum(_norm(x, p, dim), eps), method=False,
       samples=lambda rng: [Sample(rng.normal(size=(2, 3))), Sample(rng.normal(size=(2, 3, 2)), 1.0, -1),
                            Sample(rng.normal(size=3), dim=0)]),
    *[Op(f"dropout{n}d", method=False, random=True, check=_kept_whole(0.5), layouts=False,
         samples=lambda rng, n=n: [Sample(rng.uniform(1, 2, size=(2, 3, *(2,) * n)))],
         raises=[((np.ones(2),), {}, ValueError, "zeroes.single elements"),
                 ((np.ones((1, 1, *(2,) * n)),), {"p": 1.5}, ValueError, "between 0 and 1, but got 1.5")]) for n in (1, 2, 3)],
    Op("alpha_dropout", method=False, random=True, check=_two_lines, layouts=False,
       samples=lambda rng: [Sample(rng.normal(size=(4, 5)), training=True), Sample(rng.normal(size=7), p=0.2, training=True)],
       raises=[((np.ones(2),), {"p": -0.5}, ValueError, "between 0 and 1")]),
    Op("feature_alpha_dropout", method=False, random=True, check=_two_lines, layouts=False,
       samples=lambda rng: [Sample(rng.normal(size=(4, 5)), training=True), Sample(rng.normal(size=(2, 3, 4)), p=0.2, training=True)],
       raises=[((np.ones(2),), {"training": True}, ValueError, r"expected .N, C"),
               ((np.ones((2, 2)),), {"p": -0.5}, ValueError, "between 0 and 1")]),
]  # fmt: skip
