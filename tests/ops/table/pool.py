"""Pooling, by loops over windows."""

import itertools
import math

import numpy as np

from tests.ops.op import Op, Sample

SIZES = {1: (7,), 2: (5, 6), 3: (3, 4, 3)}  # of the samples


def each(numbers, spatial):
    return (numbers,) * spatial if isinstance(numbers, int) else tuple(numbers)


def starts(n, k, s, p, d, ceil_mode):
    """Where windows begin, counted from the first element (so the first is at -p)."""
    last = n + 2 * p - (k - 1) * d - 1
    count = (math.ceil(last / s) if ceil_mode else last // s) + 1
    if ceil_mode and (count - 1) * s >= n + p:
        count -= 1
    return [o * s - p for o in range(count)]


def windows(x, spatial, kernel, stride, padding, dilation, ceil_mode):
    """For each output, the places in each dimension that its window sees, padding included."""
    return [
        [[b + t * d for t in range(k)] for b in starts(n, k, s, p, d, ceil_mode)]
        for n, k, s, p, d in zip(x.shape[-spatial:], kernel, stride, padding, dilation, strict=True)
    ]


def adaptive(x, spatial, output_size):
    return [
        [list(range(o * n // m, -(-(o + 1) * n // m))) for o in range(m)]
        for n, m in zip(x.shape[-spatial:], output_size, strict=True)
    ]


def valid(window, n):
    return [i for i in window if 0 <= i < n]


def pooled(x, sides, reduce):
    spatial = len(sides)
    y = np.zeros((*x.shape[:-spatial], *map(len, sides)))
    for at in itertools.product(*(range(len(side)) for side in sides)):
        window = [side[o] for side, o in zip(sides, at, strict=True)]
        y[(..., *at)] = reduce(x, window)
    return y


def maximum(x, window):
    index = np.ix_(*(valid(w, n) for w, n in zip(window, x.shape[-len(window) :], strict=True)))
    return x[(..., *index)].max(axis=tuple(range(-len(window), 0)))


def place(x, window):
    sizes = x.shape[-len(window) :]
    index = np.ix_(*(valid(w, n) for w, n in zip(window, sizes, strict=True)))
    flat = np.arange(math.prod(sizes)).reshape(sizes)[index].reshape(-1)
    lead = x.shape[: -len(window)]
    return flat[x[(..., *index)].reshape(*lead, flat.size).argmax(-1)]


def max_pool(spatial):
    def pool(
        x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False
    ):
        kernel = each(kernel_size, spatial)
        stride = kernel if stride is None else each(stride, spatial)
        sides = windows(
            x, spatial, kernel, stride, each(padding, spatial), each(dilation, spatial), ceil_mode
        )
        values = pooled(x, sides, maximum)
        return (values, pooled(x, sides, place).astype(int)) if return_indices else values

    return pool


def fractional(spatial):
    """Windows that begin where the random numbers, given here, place them."""

    def begins(u, n, out, k):
        step = (n - k) / (out - 1) if out > 1 else 0
        return [*(int((i + u) * step) - int(u * step) for i in range(out - 1)), n - k]

    def pool(x, kernel_size, output_size, return_indices=False, _random_samples=None):
        order = (1, 0) if spatial == 2 else (0, 1, 2)
        out = (*x.shape[:2], *output_size)
        values, places = np.zeros(out), np.zeros(out, int)
        for n, c in np.ndindex(x.shape[:2]):
            sides = [
                [list(range(b, b + kernel_size)) for b in begins(_random_samples[n, c, d], *shape)]
                for d, shape in zip(
                    order,
                    zip(x.shape[2:], output_size, [kernel_size] * spatial, strict=True),
                    strict=True,
                )
            ]
            values[n, c] = pooled(x[n, c], sides, maximum)
            places[n, c] = pooled(x[n, c], sides, place)
        return (values, places) if return_indices else values

    return pool


def fractional_samples(spatial):
    def samples(rng):
        x = rng.permutation(2 * 5**spatial).reshape((1, 2) + (5,) * spatial) / 7.0
        u = rng.uniform(size=(1, 2, spatial))
        return [Sample(x, 2, output_size=(out,) * spatial, _random_samples=u) for out in (1, 2, 3)]

    return samples


def with_indices(pool):
    return lambda x, *args, **kwargs: pool(x, *args, return_indices=True, **kwargs)


def avg_pool(spatial):
    def pool(
        x,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    ):
        kernel = each(kernel_size, spatial)
        stride = kernel if stride is None else each(stride, spatial)
        padding = each(padding, spatial)
        sides = windows(x, spatial, kernel, stride, padding, (1,) * spatial, ceil_mode)
        sizes = x.shape[-spatial:]

        def mean(x, window):
            inside = [valid(w, n) for w, n in zip(window, sizes, strict=True)]
            counted = [
                [i for i in w if i < n + p] for w, n, p in zip(window, sizes, padding, strict=True)
            ]
            count = math.prod(map(len, counted if count_include_pad else inside))
            total = x[(..., *np.ix_(*inside))].sum(axis=tuple(range(-spatial, 0)))
            return total / (divisor_override or count)

        return pooled(x, sides, mean)

    return pool


def adaptive_avg(spatial):
    def pool(x, output_size):
        sizes = [
            n if m is None else m
            for n, m in zip(x.shape[-spatial:], each(output_size, spatial), strict=True)
        ]
        return pooled(x, adaptive(x, spatial, sizes),
                      lambda x, w: x[(..., *np.ix_(*w))].mean(axis=tuple(range(-spatial, 0))))  # fmt: skip

    return pool


def adaptive_max(spatial):
    def pool(x, output_size, return_indices=False):
        sides = adaptive(x, spatial, each(output_size, spatial))
        values = pooled(x, sides, maximum)
        return (values, pooled(x, sides, place).astype(int)) if return_indices else values

    return pool


def lp_pool(spatial):
    def pool(x, norm_type, kernel_size, stride=None, ceil_mode=False):
        means = avg_pool(spatial)(x**norm_type, kernel_size, stride, 0, ceil_mode)
        return (means * math.prod(each(kernel_size, spatial))) ** (1 / norm_type)

    return pool


def max_unpool(spatial):
    def unpool(x, indices, kernel_size, stride=None, padding=0, output_size=None):
        kernel = each(kernel_size, spatial)
        stride = kernel if stride is None else each(stride, spatial)
        sizes = [(n - 1) * s - 2 * p + k
                 for n, s, p, k in zip(x.shape[-spatial:], stride, each(padding, spatial), kernel, strict=True)]  # fmt: skip
        sizes = sizes if output_size is None else list(output_size)[-spatial:]
        lead = x.shape[:-spatial]
        y = np.zeros((*lead, math.prod(sizes)))
        np.put_along_axis(y, indices.reshape(*lead, -1), x.reshape(*lead, -1), -1)
        return y.reshape(*lead, *sizes)

    return unpool


def distinct(rng, *shape):
    """Values that a finite difference does not bring into another order."""
    return rng.permutation(math.prod(shape)).reshape(shape) / 10.0


def pool_samples(spatial, values=distinct, **extra):
    def make(rng):
        n = SIZES[spatial]
        return [
            Sample(values(rng, 1, 2, *n), 2, **extra),
            Sample(values(rng, 2, *n), 3, 2, 1, **extra),
            Sample(values(rng, 1, 1, *n), (3, 2, 2)[:spatial], stride=1, ceil_mode=True, **extra),
            Sample(values(rng, 1, 2, *n), 2, 3, padding=1, ceil_mode=True, **extra),
            Sample(values(rng, 0, 2, *n), 2, **extra),
        ]

    return make


def max_samples(spatial, **extra):
    def make(rng):
        n = SIZES[spatial]
        return pool_samples(spatial, **extra)(rng) + [
            Sample(distinct(rng, 1, *n), 2, 1, dilation=2, **extra)
        ]

    return make


def adaptive_samples(spatial, **extra):
    def make(rng):
        n = SIZES[spatial]
        sizes = (4, 3, 2)[:spatial]
        return [
            Sample(distinct(rng, 1, 2, *n), sizes if spatial > 1 else 4, **extra),
            Sample(distinct(rng, 2, *n), 1, **extra),
            Sample(distinct(rng, 1, 2, *n), (2, *SIZES[spatial][1:]), **extra),
            Sample(distinct(rng, 0, 2, *n), 2, **extra),
        ]

    return make


def unpool_samples(spatial):
    def make(rng):
        n = (2, 3, 2)[:spatial]
        places = np.argsort(rng.random((2, 2, 2**spatial * math.prod(n))), -1)[..., : math.prod(n)]
        more = {"output_size": tuple(2 * k + 1 for k in n)}
        return [
            Sample(rng.normal(size=(2, 2, *n)), places.reshape(2, 2, *n), 2),
            Sample(rng.normal(size=(2, *n)), places[0].reshape(2, *n), 2, **more),
        ]

    return make


def bad(spatial):
    x = np.ones((1, 2) + (5,) * spatial)
    return [
        ((x, 6), {}, ValueError, "window of 6 elements does not fit in the 5"),
        ((x, 2), {"padding": 2}, ValueError, "padding 2 is more than half"),
        ((x, 0), {}, ValueError, "kernel_size must be at least 1"),
        ((x, 2), {"stride": 0}, ValueError, "stride must be at least 1"),
        ((np.ones(5), 2), {}, ValueError, "or the same without batch"),
        ((x.astype(bool), 2), {}, TypeError, "must be floating.*, got bool"),
        ((np.ones((1, 2) + (0,) * spatial), 2), {}, ValueError, "has no elements"),
    ]


def of_size(spatial):
    x = np.ones((1, 2) + (5,) * spatial)
    return [
        ((x, (1,) * (spatial + 1)), {}, ValueError, "output_size must be one number or"),
        ((x, -1), {}, ValueError, "output_size must be at least 0"),
    ]


def unpool_bad(spatial):
    x = np.ones((1, 1) + (2,) * spatial)
    at = np.zeros((1, 1) + (2,) * spatial, int)
    return [
        ((x, at + 4**spatial, 2), {}, IndexError, f"index {4**spatial} is outside"),
        ((x, at - 1, 2), {}, IndexError, "index -1 is outside"),
        ((x, at.astype(np.int32), 2), {}, TypeError, "indices must be int64"),
        ((x, at[..., :1], 2), {}, ValueError, "indices must have the shape of input"),
        (
            (x, at, 2),
            {"output_size": (9,) * spatial},
            ValueError,
            r"output_size\[0\] must be 3 to 5",
        ),
    ]


def whole(samples):
    """Integers, of which some are equal."""

    def make(rng):
        return [
            Sample(np.floor(s.args[0] % 2 * 10) - 9, *s.args[1:], **s.kwargs) for s in samples(rng)
        ]

    return make


OPS: list[Op] = []
for _n in (1, 2, 3):
    OPS.append(
        Op(f"max_pool{_n}d_with_indices", with_indices(max_pool(_n)), method=False, dtypes="int", low=-20, high=20,
           variant="integers", samples=whole(max_samples(_n))))  # fmt: skip
for _n in (1, 2, 3):
    OPS += [
        Op(f"max_pool{_n}d", max_pool(_n), method=False, samples=max_samples(_n), raises=bad(_n)),
        Op(f"max_pool{_n}d_with_indices", with_indices(max_pool(_n)), method=False, samples=max_samples(_n)),
        Op(f"avg_pool{_n}d", avg_pool(_n), method=False, samples=pool_samples(_n), raises=bad(_n)),
        Op(f"avg_pool{_n}d", avg_pool(_n), method=False, variant="uncounted",
           samples=pool_samples(_n, count_include_pad=False)),
        Op(f"adaptive_avg_pool{_n}d", adaptive_avg(_n), method=False, samples=adaptive_samples(_n), raises=of_size(_n)),
        Op(f"adaptive_max_pool{_n}d", adaptive_max(_n), method=False, samples=adaptive_samples(_n), raises=of_size(_n),
           unlike_torch="torch.adaptive_max_pool1d is another function" if _n == 1 else ""),
        Op(f"adaptive_max_pool{_n}d_with_indices", with_indices(adaptive_max(_n)), method=False,
           samples=adaptive_samples(_n)),
        Op(f"max_unpool{_n}d", max_unpool(_n), method=False, samples=unpool_samples(_n), raises=unpool_bad(_n)),
        Op(f"lp_pool{_n}d", lp_pool(_n), method=False, samples=lambda rng, n=_n: [
            Sample(rng.uniform(0.5, 2, (2, 2, *SIZES[n])), 2, 2),
            Sample(rng.uniform(0.5, 2, (2, *SIZES[n])), 3.0, 3, 2, ceil_mode=True),
        ]),
    ]  # fmt: skip
OPS.append(
    Op("max_pool2d", max_pool(2), method=False, variant="indices", samples=max_samples(2, return_indices=True),
       unlike_torch="torch.max_pool2d has no return_indices"))  # fmt: skip
for _n in (2, 3):
    OPS.append(
        Op(f"avg_pool{_n}d", avg_pool(_n), method=False, variant="divisor", samples=pool_samples(_n, divisor_override=3),
           raises=[((np.ones((1, 1) + (4,) * _n), 2), {"divisor_override": 0}, ValueError, "must not be 0")]))  # fmt: skip
for _n in (2, 3):
    for _name, _pool in [("", fractional(_n)), ("_with_indices", with_indices(fractional(_n)))]:
        OPS.append(
            Op(f"nn.functional.fractional_max_pool{_n}d{_name}", _pool, method=False, samples=fractional_samples(_n),
               called=f"fractional_max_pool{_n}d", fixed=("_random_samples",),
               raises=[((np.ones((1, 1) + (4,) * _n), 2), {}, ValueError, "one of output_size and output_ratio")]))  # fmt: skip
