"""Resampling, by a matrix for each dimension."""

import math
import warnings

import numpy as np

from tests.ops.op import Op, Sample


def cubic(x, a):
    x = abs(x)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def matrix(n, m, mode, align_corners, scale, antialias):
    rows = np.zeros((m, n))
    step = (
        (n - 1) / (m - 1)
        if align_corners and m > 1
        else 0.0
        if align_corners
        else 1 / scale
        if scale
        else n / m
    )
    for o in range(m):
        if mode.startswith("nearest"):
            rows[o, min(n - 1, math.floor((o + 0.5 * (mode == "nearest-exact")) * step))] = 1
            continue
        at = o * step if align_corners else (o + 0.5) * step - 0.5
        if antialias:
            stretch = max(step, 1)
            weights = [
                cubic((i - at) / stretch, -0.5)
                if mode == "bicubic"
                else max(0, 1 - abs(i - at) / stretch)
                for i in range(n)
            ]
            rows[o] = np.array(weights) / sum(weights)
        elif mode == "bicubic":
            for i in range(math.floor(at) - 1, math.floor(at) + 3):
                rows[o, min(max(i, 0), n - 1)] += cubic(i - at, -0.75)
        else:
            at = max(at, 0.0)
            low = min(math.floor(at), n - 1)
            rows[o, low] += 1 - (at - low)
            rows[o, min(low + 1, n - 1)] += at - low
    return rows


def area(n, m):
    rows = np.zeros((m, n))
    for o in range(m):
        window = slice(o * n // m, -(-(o + 1) * n // m))
        rows[o, window] = 1 / (window.stop - window.start)
    return rows


def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=None,
                recompute_scale_factor=None, antialias=False):  # fmt: skip
    spatial = x.ndim - 2
    scales = [None] * spatial
    if scale_factor is not None:
        scales = (
            [scale_factor] * spatial if not isinstance(scale_factor, tuple) else list(scale_factor)
        )
        size = tuple(math.floor(n * s) for n, s in zip(x.shape[2:], scales, strict=True))
    if recompute_scale_factor:
        scales = [None] * spatial
    sizes = (size,) * spatial if isinstance(size, int) else size
    for d, (m, scale) in enumerate(zip(sizes, scales, strict=True)):
        n = x.shape[2 + d]
        weights = (
            area(n, m) if mode == "area" else matrix(n, m, mode, align_corners, scale, antialias)
        )
        x = np.moveaxis(np.moveaxis(x, 2 + d, -1) @ weights.T, -1, 2 + d)
    return x


def samples(rng):
    def x(*shape):
        return rng.normal(size=shape)

    made = [
        Sample(x(2, 2, 3, 4), scale_factor=2.0),
        Sample(x(1, 2, 5), size=3),
        Sample(x(1, 2, 3), size=(7,), mode="nearest-exact"),
        Sample(x(1, 1, 2, 3, 2), size=(3, 2, 5)),
        Sample(x(1, 2, 5), size=8, mode="linear"),
        Sample(x(1, 2, 5), size=8, mode="linear", align_corners=True),
        Sample(x(1, 2, 5), size=1, mode="linear", align_corners=True),
        Sample(x(2, 1, 3, 4), size=(5, 3), mode="bilinear"),
        Sample(x(2, 1, 3, 4), scale_factor=(1.7, 0.6), mode="bilinear", align_corners=False),
        Sample(x(2, 1, 3, 4), scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
        Sample(x(1, 1, 3, 4), size=(6, 7), mode="bilinear", align_corners=True),
        Sample(x(1, 1, 5, 4), size=(3, 7), mode="bicubic"),
        Sample(x(1, 1, 4, 4), scale_factor=2.0, mode="bicubic", align_corners=True),
        Sample(x(1, 1, 2, 3, 2), size=(3, 4, 3), mode="trilinear"),
        Sample(x(1, 1, 2, 3, 2), scale_factor=2.0, mode="trilinear", align_corners=True),
        Sample(x(1, 2, 5), size=3, mode="area"),
        Sample(x(1, 1, 6, 5), size=(3, 4), mode="area"),
        Sample(x(1, 1, 9, 8), size=(4, 3), mode="bilinear", antialias=True),
        Sample(x(1, 1, 9, 4), size=(4, 6), mode="bicubic", antialias=True),
        Sample(x(0, 2, 3, 4), scale_factor=2.0),
    ]
    return made


def old_name(name, **settings):
    """A row of a function that is interpolate with some settings, and warns of that."""

    def samples(rng):
        image = rng.normal(size=(2, 1, 3, 4))
        return [
            Sample(image, size=(5, 3)),
            Sample(image, scale_factor=2),
            Sample(image[:0], size=2),
        ]

    def silent(f):
        def call(*args, **kwargs):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return f(*args, **kwargs)

        return call

    return Op(f"nn.functional.{name}", lambda x, **kwargs: interpolate(x, **kwargs, **settings),
              called="interpolate", method=False, samples=samples, wrap=silent, rtol32=1e-4,
              raises=[((IMAGE,), {}, ValueError, "one of size and scale_factor")])  # fmt: skip


IMAGE = np.ones((1, 1, 4, 4))
OPS: list[Op] = [
    Op("interpolate", interpolate, method=False, samples=samples, rtol=1e-9, rtol32=1e-4, raises=[
        ((IMAGE,), {}, ValueError, "one of size and scale_factor"),
        ((IMAGE,), {"size": 2, "scale_factor": 2.0}, ValueError, "one of size and scale_factor"),
        ((IMAGE,), {"size": (2, 2, 2)}, ValueError, "size must be one number or 2"),
        ((IMAGE,), {"scale_factor": (2.0,)}, ValueError, "scale_factor must be one number or 2"),
        ((IMAGE,), {"size": 2, "mode": "linear"}, ValueError, "takes input of 3 dimensions"),
        ((IMAGE,), {"size": 2, "mode": "cubic"}, ValueError, "mode must be one of"),
        ((IMAGE,), {"size": 2, "align_corners": True}, ValueError, "leave it None"),
        ((IMAGE,), {"size": 2, "antialias": True}, ValueError, "antialias goes with"),
        ((IMAGE,), {"size": 0}, ValueError, "sizes must be positive"),
        ((IMAGE,), {"size": 3, "recompute_scale_factor": True}, ValueError, "goes with scale_factor"),
        ((IMAGE.astype(int),), {"size": 3}, TypeError, "must be floating or uint8, got int64"),
        ((IMAGE[0].astype(np.uint8),), {"size": 3, "mode": "linear"}, TypeError, "must be floating, got uint8"),
    ]),
    old_name("upsample"),
    old_name("upsample_nearest"),
    old_name("upsample_bilinear", mode="bilinear", align_corners=True),
]  # fmt: skip
