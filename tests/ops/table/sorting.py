"""Ops that order, look up and count."""

from typing import Any

import numpy as np

from tests.ops.op import Op, Sample

inf, nan = np.inf, np.nan


def _argsort(
    x: np.ndarray, dim: int = -1, descending: bool = False, stable: bool = False
) -> np.ndarray:
    """Stable both ways: equal elements of a descending sort keep their order too; NaN is largest."""
    if x.ndim == 0:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(x, dim, kind="stable")
    reversed_order = np.argsort(np.flip(x, dim), dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(reversed_order, dim)


def _pick(x: np.ndarray, indices: np.ndarray, dim: int) -> np.ndarray:
    return np.take_along_axis(x, indices, dim) if x.ndim else x


def _sort(
    x: np.ndarray, dim: int = -1, descending: bool = False, stable: bool = False
) -> tuple[Any, Any]:
    indices = _argsort(x, dim, descending)
    return _pick(x, indices, dim), indices


def _topk(
    x: np.ndarray, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Any, Any]:
    indices = _argsort(x, dim, largest)
    if x.ndim:
        indices = np.take(indices, range(k), axis=dim)
    return _pick(x, indices, dim), indices


def _kthvalue(x: np.ndarray, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Any, Any]:
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    indices = np.take(_argsort(x, dim), [k - 1], axis=dim)
    values = np.take_along_axis(x, indices, dim)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


def _different(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """No two elements near each other: finite differences must not change the order."""
    size = int(np.prod(shape))
    return rng.permutation(np.linspace(-2.0, 2.0, max(size, 1))[:size]).reshape(shape)


def _sort_samples(rng: np.random.Generator) -> list[Sample]:
    return [
        Sample(_different(rng, 3, 4)),
        Sample(_different(rng, 3, 4), 0),
        Sample(_different(rng, 2, 3, 4), dim=1, descending=True),
        Sample(_different(rng, 5), -1, True),
        Sample(np.array(1.5), 0),
        Sample(_different(rng, 0, 3)),
        Sample(_different(rng, 3, 0), 1, True),
        Sample(_different(rng, 1, 17), descending=True),
        Sample(_different(rng, 2, 40), stable=True),
    ]


# rows past the runs that are merged, past what is merged, and past what one thread sorts
def _long_samples(rng: np.random.Generator) -> list[Sample]:
    made = []
    for n in (33, 250, 1000, 5000, 70_000):
        made.append(Sample(rng.normal(size=n)))
        made.append(Sample(rng.integers(-20, 20, n) / 4.0, descending=True))  # many equal ones
    special = rng.choice([nan, inf, -inf, 0.0, -0.0, 1.0, -1e-310, 2.5], 70_000)
    return [*made, Sample(special), Sample(special, descending=True), Sample(np.zeros(70_000)),
            Sample(np.arange(70_000.0)), Sample(special[:100]), Sample(special[:1000], descending=True)]  # fmt: skip


def _unique(
    x: np.ndarray,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    values, inverse, counts = np.unique(
        x, return_inverse=True, return_counts=True, axis=dim, equal_nan=False
    )
    inverse = inverse.reshape(x.shape) if dim is None else inverse.reshape(-1)
    found = [values] + [inverse] * return_inverse + [counts] * return_counts
    return found[0] if len(found) == 1 else tuple(found)


def _unique_consecutive(
    x: np.ndarray, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    slices = x.reshape(-1, 1) if dim is None else np.moveaxis(x, dim, 0).reshape(x.shape[dim], -1)
    new = np.ones(len(slices), bool)
    new[1:] = (slices[1:] != slices[:-1]).any(1)
    inverse = np.cumsum(new) - 1
    values = x.reshape(-1)[new] if dim is None else np.compress(new, x, axis=dim)
    counts = np.bincount(inverse, minlength=int(new.sum()))
    found = (
        [values]
        + [inverse.reshape(x.shape) if dim is None else inverse] * return_inverse
        + [counts] * return_counts
    )
    return found[0] if len(found) == 1 else tuple(found)


def _searchsorted(
    sorted_sequence: np.ndarray, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    side = side or ("right" if right else "left")
    values = np.asarray(input)
    if sorted_sequence.ndim == 1:
        return np.searchsorted(sorted_sequence, values, side=side, sorter=sorter)
    out = np.empty(values.shape, np.int64)
    for row in np.ndindex(values.shape[:-1]):
        out[row] = np.searchsorted(
            sorted_sequence[row],
            values[row],
            side=side,
            sorter=None if sorter is None else sorter[row],
        )
    return out


def _histc(x: np.ndarray, bins: int = 100, min: float = 0, max: float = 0) -> np.ndarray:
    if min == max and x.size:
        min, max = x.min(), x.max()
    if min == max:
        min, max = min - 1, max + 1
    return np.histogram(x, bins, (min, max))[0].astype(np.float64)


def _ints(*values: Any) -> np.ndarray:
    return np.array(*values, dtype=np.int64)


OPS: list[Op] = [
    Op("sort", _sort, dtypes="all", samples=_sort_samples, raises=[((np.ones((2, 3)), 2), {}, IndexError, "(?i)dim")]),
    Op("sort", _sort, variant="long", grad=False, fixed=(0,), samples=_long_samples, layouts=False,
       unlike_torch="NaN and equal elements"),
    Op("argsort", _argsort, dtypes="number", result="int64", grad=False, samples=_sort_samples,
       raises=[((np.ones(3), 1), {}, IndexError, "(?i)dim")]),
    Op("msort", lambda x: np.sort(x, axis=0), dtypes="all",
       samples=lambda rng: [Sample(_different(rng, 4, 2)), Sample(_different(rng, 5)), Sample(_different(rng, 0, 2))]),
    Op("topk", _topk, dtypes="number",
       samples=lambda rng: [
           Sample(_different(rng, 3, 5), 2),
           Sample(_different(rng, 5, 3), 3, 0, False),
           Sample(_different(rng, 2, 4, 3), 1, dim=1, largest=True),
           Sample(_different(rng, 6), 6),
           Sample(_different(rng, 6), 0),
           Sample(np.array(2.0), 1),
           Sample(_different(rng, 0, 4), 2),
           Sample(_different(rng, 2, 100), 3),
       ],
       raises=[((np.ones(3), 4), {}, ValueError, "topk: k is 4 .* size 3"), ((np.ones(3), -1), {}, ValueError, "k is -1"),
               ((np.ones(3), 1, 1), {}, IndexError, "(?i)dim")]),
    Op("topk", _topk, variant="long", grad=False, fixed=(0,), layouts=False, unlike_torch="NaN and equal elements",
       samples=lambda rng: [
           Sample(s.args[0], k, largest=largest)
           for s in _long_samples(rng)
           for k, largest in ((1, True), (10, False), (min(1000, s.args[0].size), True))
       ] + [Sample(rng.normal(size=(3, 70_000)), 5), Sample(np.arange(200_000.0), 100),
            Sample(rng.normal(size=(50, 300)), 9), Sample(rng.normal(size=100_000), 50_000)]),
    Op("kthvalue", _kthvalue, dtypes="number",
       samples=lambda rng: [
           Sample(_different(rng, 3, 5), 2),
           Sample(_different(rng, 5, 3), 3, 0),
           Sample(_different(rng, 2, 3, 2), 1, dim=-2, keepdim=True),
           Sample(np.array(2.0), 1),
           Sample(_different(rng, 0, 4), 2),
       ],
       raises=[((np.ones(3), 0), {}, ValueError, "kthvalue: k is 0"), ((np.ones(3), 4), {}, ValueError, "between 1 and 3")]),
    Op("kthvalue", _kthvalue, variant="long", grad=False, fixed=(0,), layouts=False, unlike_torch="NaN and equal elements",
       samples=lambda rng: [Sample(s.args[0], 1 + (7 * i * s.args[0].size) // 128) for i, s in enumerate(_long_samples(rng))]),
    Op("unique", _unique, dtypes="all", grad=False,
       samples=lambda rng: [
           Sample(rng.integers(-2, 3, (3, 4)) * 1.0),
           Sample(rng.integers(-2, 3, 9) * 1.0, return_inverse=True),
           Sample(rng.integers(-2, 3, (2, 6)) * 1.0, True, True, True),
           Sample(np.array(3.0), return_counts=True),
           Sample(np.zeros((0, 2)), return_inverse=True, return_counts=True),
           Sample(rng.integers(0, 2, (6, 2)) * 1.0, return_inverse=True, return_counts=True, dim=0),
           Sample(rng.integers(0, 2, (2, 7)) * 1.0, return_inverse=True, dim=-1),
           Sample(rng.integers(0, 2, (2, 5, 2)) * 1.0, return_counts=True, dim=1),
           Sample(rng.integers(0, 2, (2, 3, 5)) * 1.0, return_inverse=True, dim=2),
           Sample(rng.integers(0, 9, 100_000) / 4.0, return_inverse=True, return_counts=True),
       ],
       raises=[((np.ones((2, 0)),), {"dim": 0}, ValueError, "no elements"), ((np.array(1.0),), {"dim": 0}, ValueError, "0-d"),
               ((np.ones(2),), {"dim": 1}, IndexError, "(?i)dim")]),
    Op("unique", _unique, variant="nan", grad=False, samples=lambda rng: [Sample(np.array([nan, 1.0, nan, -inf]), return_counts=True)]),
    Op("unique_consecutive", _unique_consecutive, dtypes="all", grad=False,
       samples=lambda rng: [
           Sample(np.array([1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 0.0])),
           Sample(rng.integers(0, 2, (3, 4)) * 1.0, True, True),
           Sample(rng.integers(0, 2, (9, 2)) * 1.0, return_inverse=True, return_counts=True, dim=0),
           Sample(rng.integers(0, 2, (1, 9)) * 1.0, return_inverse=True, return_counts=True, dim=1),
           Sample(np.zeros(0), True, True),
       ]),
    Op("searchsorted", _searchsorted, dtypes="number", result="int64", grad=False, method=False,
       samples=lambda rng: [
           Sample(np.array([0.0, 1.0, 1.0, 2.0]), rng.integers(-2, 3, (2, 5)) * 1.0),
           Sample(np.array([-1.0, 0.0, 0.0, 2.0]), rng.integers(-2, 3, 7) * 1.0, right=True),
           Sample(np.sort(rng.normal(size=(2, 3, 6))), rng.normal(size=(2, 3, 4)), side="right"),
           Sample(np.array([2.0, 0.0, 1.0]), rng.normal(size=4), sorter=_ints([1, 2, 0])),
           Sample(np.array([1.0, 2.0]), 1.5),
           Sample(np.array([1.0, 2.0]), np.array(1.0)),
           Sample(np.zeros(0), np.array([1.0])),
           Sample(np.array([0.0, 1.0]), np.zeros((0, 2))),
           Sample(np.sort(rng.normal(size=1000)), rng.normal(size=5000), out_int32=True),
           Sample(np.array([0.0, 1.0]), np.array([nan, inf, -inf])),
       ],
       raises=[((np.ones((2, 3)), np.ones((3, 3))), {}, ValueError, "searchsorted: sorted_sequence of shape"),
               ((np.ones(3), np.ones(2)), {"side": "up"}, ValueError, "'left' or 'right'"),
               ((np.ones(3), np.ones(2)), {"side": "left", "right": True}, ValueError, "contradicts"),
               ((np.ones(2), np.ones(2)), {"sorter": _ints([0, 2])}, IndexError, "index 2"),
               ((np.array(1.0), np.ones(2)), {}, ValueError, "at least one dimension")]),
    Op("bucketize", lambda x, boundaries, right=False: np.searchsorted(boundaries, x, side="right" if right else "left"),
       dtypes="number", result="int64", grad=False, method=False,
       samples=lambda rng: [
           Sample(rng.integers(-2, 3, (2, 5)) * 1.0, np.array([0.0, 1.0, 2.0])),
           Sample(rng.integers(-2, 3, (2, 5)) * 1.0, np.array([-1.0, 0.0, 2.0]), right=True),
           Sample(0.5, np.array([0.0, 1.0])),
       ],
       raises=[((np.ones(2), np.ones((2, 2))), {}, ValueError, "one dimension")]),
    Op("isin", lambda elements, test_elements, assume_unique=False, invert=False: np.isin(elements, test_elements, invert=invert),
       dtypes="number", result="bool", grad=False, method=False,
       samples=lambda rng: [
           Sample(rng.integers(-2, 3, (3, 4)) * 1.0, np.array([1.0, -2.0])),
           Sample(rng.integers(-2, 3, 9) * 1.0, rng.integers(-2, 3, (2, 2)) * 1.0, invert=True),
           Sample(np.array([1.0, 2.0]), 2.0),
           Sample(2.0, np.array([1.0, 2.0])),
           Sample(np.array([1.0, nan, 0.0]), np.array([nan, -0.0])),
           Sample(np.array([1.0]), np.zeros(0)),
           Sample(np.zeros((0, 2)), np.ones(2)),
       ]),
    Op("bincount", lambda x, weights=None, minlength=0: np.bincount(x, weights, minlength), grad=False,
       samples=lambda rng: [
           Sample(rng.integers(0, 6, 20)),
           Sample(rng.integers(0, 6, 20), rng.normal(size=20)),
           Sample(_ints([1, 1]), minlength=5),
           Sample(np.zeros(0, np.int64), minlength=2),
           Sample(np.array([3, 1], np.uint8), weights=np.array([2, 5])),
       ],
       raises=[((_ints([1, -2]),), {}, ValueError, "must not be negative, got -2 at position 1"),
               ((np.ones(2),), {}, TypeError, "integers, got float64"), ((_ints([[1]]),), {}, ValueError, "one dimension"),
               ((_ints([1]), np.ones(2)), {}, ValueError, "same shape"), ((_ints([1]),), {"minlength": -1}, ValueError, "minlength")]),
    Op("histc", _histc, grad=False, dtypes="float",
       samples=lambda rng: [
           Sample(rng.normal(size=(4, 5)), 4, -2, 2),
           Sample(rng.normal(size=50), bins=7),
           Sample(np.array([1.0, 1.0]), 4),
           Sample(np.array([0.0, 0.5, 1.0, nan, 2.0]), 2, 0.0, 1.0),
           Sample(np.zeros(0), 3),
       ],
       raises=[((np.ones(2), 0), {}, ValueError, "bins must be positive"), ((np.ones(2), 3, 2, 1), {}, ValueError, "larger than min"),
               ((np.array([1.0, inf]), 3), {}, ValueError, "not finite"), ((_ints([1]), 3), {}, TypeError, "floating")]),
]  # fmt: skip
