"""Affine grids and sampling at points, by loops."""

import itertools
import math

import numpy as np

from tests.ops.op import Op, Sample
from tests.ops.table.resample import cubic


def affine_grid(theta, size, align_corners=None):
    sides = []
    for n in size[2:]:
        at = np.arange(n)
        ends = (n - 1) if align_corners else n
        sides.append((2 * at - (n - 1)) / ends if ends else np.zeros(1))
    points = np.zeros((size[0], *size[2:], len(size) - 2))
    for place in itertools.product(*map(range, size[2:])):
        here = np.array([sides[d][i] for d, i in reversed(list(enumerate(place)))] + [1.0])
        points[(slice(None), *place)] = theta @ here
    return points


def reflected(x, n, align_corners):
    low, high = (0, n - 1) if align_corners else (-0.5, n - 0.5)
    if low == high:
        return 0.0
    while not low <= x <= high:
        x = 2 * low - x if x < low else 2 * high - x
    return min(max(x, 0), n - 1)


def padded(x, n, mode, align_corners):
    if mode == "border":
        return min(max(x, 0), n - 1)
    return reflected(x, n, align_corners) if mode == "reflection" else x


def taps(x, n, mode, padding_mode, align_corners):
    """(pixel, weight) along one dimension."""
    at = (x + 1) / 2 * (n - 1) if align_corners else ((x + 1) * n - 1) / 2
    if mode == "bicubic":
        first = math.floor(at) - 1
        return [
            (int(padded(i, n, padding_mode, align_corners)), cubic(i - at, -0.75))
            for i in range(first, first + 4)
        ]
    at = padded(at, n, padding_mode, align_corners)
    if mode == "nearest":
        return [(round(at), 1.0)]
    low = math.floor(at)
    return [(low, 1 - (at - low)), (low + 1, at - low)]


def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    sizes = x.shape[2:]
    y = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for n, *place in itertools.product(*map(range, grid.shape[:-1])):
        point = grid[(n, *place)][::-1]
        sides = [
            taps(p, m, mode, padding_mode, align_corners) for p, m in zip(point, sizes, strict=True)
        ]
        for corner in itertools.product(*sides):
            at = tuple(i for i, _ in corner)
            if all(0 <= i < m for i, m in zip(at, sizes, strict=True)):
                y[(n, slice(None), *place)] += x[(n, slice(None), *at)] * math.prod(
                    w for _, w in corner
                )
    return y


def samples(rng):
    def case(x, grid, **kwargs):
        return Sample(rng.normal(size=x), rng.uniform(-1.7, 1.7, grid), **kwargs)

    flat, deep = ((2, 2, 4, 5), (2, 2, 3, 2)), ((1, 2, 3, 2, 4), (1, 2, 2, 2, 3))
    made = [
        case(*flat),
        case(*flat, align_corners=True),
        case(*deep),
        case((1, 1, 1, 1), (1, 1, 4, 2)),
    ]
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("border", "reflection"):
            made.append(
                case(*flat, mode=mode, padding_mode=padding, align_corners=padding == "reflection")
            )
    made += [case(*flat, mode="bicubic"), case(*deep, mode="nearest", padding_mode="reflection")]
    return made


X, GRID = np.ones((1, 1, 3, 3)), np.zeros((1, 2, 2, 2))
OPS: list[Op] = [
    Op("grid_sample", grid_sample, method=False, samples=samples, rtol=1e-8, rtol32=1e-3,
       dtypes="wide", grad_options={"eps": 1e-7, "atol": 1e-4, "rtol": 1e-3}, raises=[
        ((X, GRID[..., :1]), {}, ValueError, "grid of shape"),
        ((X[0], GRID[0]), {}, ValueError, "got input of shape"),
        ((X, np.zeros((2, 2, 2, 2))), {}, ValueError, "must agree"),
        ((X, GRID.astype(np.float32)), {}, TypeError, "convert one of them"),
        ((X, GRID), {"mode": "linear"}, ValueError, "mode must be"),
        ((X, GRID), {"padding_mode": "circular"}, ValueError, "padding_mode must be"),
        ((np.ones((1, 1, 0, 3)), GRID), {}, ValueError, "has no pixels"),
    ]),
    Op("affine_grid", affine_grid, method=False, samples=lambda rng: [
        Sample(rng.normal(size=(2, 2, 3)), (2, 1, 3, 4)),
        Sample(rng.normal(size=(1, 2, 3)), (1, 1, 3, 1), align_corners=True),
        Sample(rng.normal(size=(1, 3, 4)), (1, 2, 2, 3, 2)),
    ], raises=[
        ((np.ones((1, 2, 2)), (1, 1, 2, 2)), {}, ValueError, "theta must be"),
        ((np.ones((1, 2, 3)), (1, 1, 0, 2)), {}, ValueError, "sizes must be positive"),
    ]),
]  # fmt: skip
