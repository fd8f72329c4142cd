"""Random numbers: arguments, shapes, dtypes. Their distributions: tests/core/test_random.py."""

from collections.abc import Callable
from typing import Any

import genesis
import numpy as np

from tests.ops.op import Op, Sample, to_numpy
from tests.ops.table.creation import BAD_SIZES, FILLED, SIZES, _always, _like_samples, _made, _shape

GENERATOR = genesis.Generator().manual_seed(3)


def _within(low: float, high: float) -> Callable[[list[Any], Sample], None]:
    """All finite, low <= x <= high, and not all the same unless there are few."""

    def check(outputs: list[Any], sample: Sample) -> None:
        x = to_numpy(outputs[0]).astype(np.float64)
        assert ((x >= low) & (x <= high)).all(), x
        assert np.isfinite(x).all()

    return check


def _both(*checks: Callable[[list[Any], Sample], None]) -> Callable[[list[Any], Sample], None]:
    def check(outputs: list[Any], sample: Sample) -> None:
        for one in checks:
            one(outputs, sample)

    return check


def _sized(name: str, low: float, high: float) -> Op:
    floating = [s for s in SIZES(None) if s.kwargs.get("dtype", genesis.float32).is_floating_point]
    return Op(
        name, method=False, grad=False, random=True, layouts=False,
        check=_both(_within(low, high),
                    _made(lambda s: _shape(s.args or (s.kwargs["size"],)), lambda s: "float32")),
        samples=_always(*floating, Sample(4, generator=GENERATOR)),
        raises=[*BAD_SIZES[:6], ((2,), {"dtype": genesis.int64}, TypeError, "floating"),
                ((2,), {"generator": 5}, TypeError, "Generator")],
    )  # fmt: skip


def _like(name: str, low: float, high: float) -> Op:
    return Op(
        name, method=False, grad=False, random=True, layouts=True,
        check=_both(_within(low, high), _made(lambda s: s.args[0].shape, lambda s: "")),
        samples=lambda rng: _like_samples(rng)[:3],
        raises=[((np.ones(2, np.int64),), {}, TypeError, "floating")],
    )  # fmt: skip


def _fill(
    name: str, low: float, high: float, *variants: Sample, dtypes: str = "float", raises: list[Any]
) -> Op:
    """x.name_(...) on several shapes; `variants` are its further arguments."""

    def samples(rng: np.random.Generator) -> list[Sample]:
        return [
            Sample(rng.normal(size=shape), *v.args, **v.kwargs)
            for shape in ((2, 3), (), (0, 2), (5,))
            for v in variants
        ]

    return Op(name, check=_within(low, high), samples=samples, dtypes=dtypes, grad=False,
              random=True, raises=raises, **FILLED)  # fmt: skip


def _probabilities(rng: np.random.Generator) -> list[Sample]:
    shapes = [(2, 3), (), (0, 2)]
    return [
        *(Sample(rng.uniform(0, 1, shape)) for shape in shapes),
        Sample(np.array([0.0, 1.0])),
        Sample(np.zeros((2, 3)), 0.5),
        Sample(np.zeros(4), p=1),
    ]


def _dropped(outputs: list[Any], sample: Sample) -> None:
    """Each element is zero, or scaled by 1 / (1 - p)."""
    x = np.asarray(sample.args[0])
    p = sample.args[1] if len(sample.args) > 1 else sample.kwargs.get("p", 0.5)
    y = to_numpy(outputs[0]).astype(np.float64)
    kept = y != 0
    scale = 1 if not sample.kwargs.get("training", True) else 0 if p == 1 else 1 / (1 - p)
    np.testing.assert_allclose(y[kept], (x * scale)[kept], rtol=1e-5)
    if p == 0 or scale == 1:
        np.testing.assert_allclose(y, x, rtol=1e-6)


def _whole(outputs: list[Any], sample: Sample) -> None:
    x = to_numpy(outputs[0])
    assert (x == np.floor(x)).all()


def _permuted(outputs: list[Any], sample: Sample) -> None:
    np.testing.assert_array_equal(np.sort(to_numpy(outputs[0])), np.arange(sample.args[0]))


def _drawn(outputs: list[Any], sample: Sample) -> None:
    """Indices of positive weight, all different without replacement."""
    weights, drawn = np.asarray(sample.args[0]), to_numpy(outputs[0])
    replacement = sample.kwargs.get("replacement", len(sample.args) > 2 and sample.args[2])
    assert drawn.shape == (*weights.shape[:-1], sample.args[1])
    for w, d in zip(np.atleast_2d(weights), np.atleast_2d(drawn), strict=True):
        assert (w[d] > 0).all()
        assert replacement or len(set(d.tolist())) == len(d)


OPS: list[Op] = [
    _sized("rand", 0, 1 - 2**-25),
    _sized("randn", -7, 7),
    Op("randint",
       check=_both(_within(-3, 9),
                   _made(lambda s: s.kwargs.get("size") or s.args[-1], lambda s: "int64")),
       method=False, grad=False, random=True,
       samples=_always(Sample(10, (2, 3)), Sample(-3, 4, (2, 3)), Sample(5, (0,)), Sample(0, 2, ()),
                       Sample(high=4, size=(3,)), Sample(low=-2, high=0, size=(3,)),
                       Sample(4, size=(2,)),
                       Sample(10, (4,), dtype=genesis.uint8),
                       Sample(10, (4,), dtype=genesis.float32),
                       Sample(2, (4,), dtype=genesis.bool)),
       raises=[((4, 4, (2,)), {}, ValueError, "low.*high"),
               ((0, (2,)), {}, ValueError, "low.*high"),
               ((300, (2,)), {"dtype": genesis.uint8}, ValueError, "299"),
               ((5,), {}, TypeError, "size"),
               ((2.5, (2,)), {}, TypeError, "int"), ((), {"size": (2,)}, TypeError, "high")]),
    Op("randperm", check=_permuted,
       method=False, grad=False, random=True,
       samples=_always(Sample(7), Sample(0), Sample(1), Sample(1000),
                       Sample(5, dtype=genesis.int16), Sample(5, dtype=genesis.float32)),
       raises=[((-1,), {}, ValueError, "negative"),
               ((300,), {"dtype": genesis.uint8}, ValueError, "299"),
               ((3000,), {"dtype": genesis.float16}, ValueError, "int64")]),
    _like("rand_like", 0, 1),
    _like("randn_like", -7, 7),
    Op("randint_like", method=False,
       check=_both(_within(-2, 4), _made(lambda s: s.args[0].shape, lambda s: "")),
       grad=False, random=True, dtypes="number",
       samples=lambda rng: [Sample(rng.normal(size=(2, 3)), 5), Sample(rng.normal(size=()), -2, 3),
                            Sample(rng.normal(size=(0, 2)), 5, dtype=genesis.int64),
                            Sample(rng.normal(size=2), 0, 5)],
       raises=[((np.ones(2), 3, 3), {}, ValueError, "low.*high")]),
    Op("normal", check=_within(-30, 30), method=False, grad=False, random=True,
       samples=lambda rng: [Sample(rng.normal(size=(2, 1)), rng.uniform(0, 2, 3)),
                            Sample(rng.normal(size=(2, 3))),
                            Sample(0.5, rng.uniform(0, 2, (2, 3))),
                            Sample(rng.normal(size=()), 0.0), Sample(1.0, 2.0, (2, 3)),
                            Sample(0, 1, size=(0,)),
                            Sample(mean=1.0, std=0.5, size=(2,), dtype=genesis.float64)],
       raises=[((1.0, 2.0), {}, TypeError, "size"), ((0.0, -1.0, (2,)), {}, ValueError, "std"),
               ((0.0, np.array([1.0, -1.0])), {}, ValueError, "std"),
               ((np.ones(2), -1.0), {}, ValueError, "std"),
               ((np.ones(2), np.ones(3)), {}, ValueError, r"\(2,\).*\(3,\)"),
               ((np.ones(2), 1.0, (2,)), {}, ValueError, "size"),
               ((np.arange(2), 1.0), {}, TypeError, "float")]),
    Op("bernoulli", check=_both(_within(0, 1), _whole), samples=_probabilities, grad=False,
       random=True,
       raises=[((np.array([0.5, 1.5]),), {}, ValueError, "1.5"),
               ((np.array([-0.5]),), {}, ValueError, "-0.5"),
               ((np.ones(2), 2.0), {}, ValueError, "p.*2"),
               ((np.ones(2, np.int64),), {}, TypeError, "float")]),
    Op("multinomial", check=_drawn, grad=False, random=True, result="int64",
       samples=lambda rng: [Sample(rng.uniform(0.1, 1, (2, 5)), 3),
                            Sample(rng.uniform(0, 1, 4), 10, replacement=True),
                            Sample(np.array([2.0, 0.0, 0.0, 1.0]), 2),
                            Sample(np.array([2.0, 0.0, 0.0]), 5, True),
                            Sample(rng.uniform(0.1, 1, (0, 5)), 3)],
       raises=[((np.ones(3), 4), {}, ValueError, "4.*3"),
               ((np.array([1.0, 0.0]), 2), {}, ValueError, "positive weight"),
               ((np.array([1.0, -1.0]), 1), {}, ValueError, "-1"),
               ((np.array([1.0, np.nan]), 1), {}, ValueError, "nan"),
               ((np.zeros(3), 1), {}, ValueError, "sum"),
               ((np.ones(3), 0), {}, ValueError, "num_samples"),
               ((np.ones((1, 1, 3)), 1), {}, ValueError, "dimensions"),
               ((np.ones((2, 0)), 1), {}, ValueError, "nothing"),
               ((np.ones(3, np.int64), 1), {}, TypeError, "float")]),
    Op("poisson", check=_both(_within(0, 2000), _whole), method=False, grad=False, random=True,
       samples=lambda rng: [Sample(rng.uniform(0, 30, (2, 3))), Sample(np.array([0.0, 1000.0])),
                            Sample(np.zeros((0, 2)))],
       raises=[((np.array([-1.0]),), {}, ValueError, "-1"),
               ((np.array([np.inf]),), {}, ValueError, "inf"),
               ((np.ones(2, np.int64),), {}, TypeError, "float")]),
    Op("binomial", check=_both(_within(0, 1000), _whole), method=False, grad=False, random=True,
       samples=lambda rng: [Sample(np.array([5.0, 40.0, 1000.0]), np.array([0.3, 0.5, 0.99])),
                            Sample(np.full((2, 1), 30.0), rng.uniform(0, 1, 3)),
                            Sample(np.array([0.0, 7.0, 7.0]), np.array([0.5, 0.0, 1.0])),
                            Sample(np.zeros((0, 2)), np.zeros((0, 2)))],
       raises=[((np.array([-1.0]), np.array([0.5])), {}, ValueError, "count.*-1"),
               ((np.array([1.5]), np.array([0.5])), {}, ValueError, "nonnegative integer"),
               ((np.array([1.0]), np.array([1.5])), {}, ValueError, "prob.*1.5"),
               ((np.ones(2), np.ones(3)), {}, ValueError, r"\(2,\).*\(3,\)"),
               ((np.ones(2, np.int64), np.ones(2)), {}, TypeError, "float")]),
    Op("dropout", check=_dropped, method=False, random=True,
       samples=lambda rng: [Sample(rng.normal(size=(2, 3))), Sample(rng.normal(size=(4, 5)), 0.3),
                            Sample(rng.normal(size=6), p=0.0),
                            Sample(rng.normal(size=6), p=1.0), Sample(rng.normal(size=()), 0.5),
                            Sample(rng.normal(size=(0, 2))),
                            Sample(rng.normal(size=6), training=False),
                            Sample(rng.normal(size=5000), 0.9)],
       view=False, raises=[((np.ones(2), 1.5), {}, ValueError, "p.*1.5"),
       ((np.ones(2, np.int64),), {}, TypeError, "float")]),
    # --- in place
    _fill("uniform_", -1, 2, Sample(-1.0, 2.0), Sample(), Sample(1.0, 1.0),
    Sample(0.0, 1.0, generator=GENERATOR),
          raises=[((np.ones(2), 2.0, 1.0), {}, ValueError, "range"),
                  ((np.ones(2, np.int64),), {}, TypeError, "float"),
                  ((np.ones(2), 0.0, np.inf), {}, ValueError, "finite")]),
    _fill("normal_", -20, 20, Sample(1.0, 2.0), Sample(), Sample(1.0, 0.0),
          raises=[((np.ones(2), 0.0, -1.0), {}, ValueError, "std"),
                  ((np.ones(2, np.int64),), {}, TypeError, "float")]),
    _fill("log_normal_", 0, 1e7, Sample(), Sample(0.0, 0.5),
          raises=[((np.ones(2), 0.0, 0.0), {}, ValueError, "std"),
                  ((np.ones(2, np.int64),), {}, TypeError, "float")]),
    _fill("exponential_", 1e-12, 100, Sample(), Sample(2.0),
          raises=[((np.ones(2), 0.0), {}, ValueError, "lambd"),
                  ((np.ones(2, np.int64),), {}, TypeError, "float")]),
    _fill("cauchy_", -1e9, 1e9, Sample(), Sample(1.0, 0.5),
          raises=[((np.ones(2), 0.0, 0.0), {}, ValueError, "sigma"),
                  ((np.ones(2, np.int64),), {}, TypeError, "float")]),
    _fill("geometric_", 1, 120, Sample(0.5), Sample(0.9), dtypes="number",
          raises=[((np.ones(2), 0.0), {}, ValueError, "p "),
                  ((np.ones(2), 1.5), {}, ValueError, "p ")]),
    _fill("bernoulli_", 0, 1, Sample(), Sample(0.25), Sample(np.array(0.5)), dtypes="all",
          raises=[((np.ones(2), 1.5), {}, ValueError, "1.5"),
                  ((np.ones(2), np.ones(3)), {}, ValueError, r"\(3,\)")]),
    _fill("random_", 0, 2**53, Sample(), Sample(5), Sample(2, 7), dtypes="all",
          raises=[((np.ones(2), 3, 3), {}, ValueError, "from"),
                  ((np.ones(2, np.int8), 300), {}, ValueError, "299")]),
]  # fmt: skip
