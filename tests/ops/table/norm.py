"""Normalisation over rows, groups of channels, and batches."""

import math

import numpy as np

from tests.ops.op import Op, Sample


def standardized(x, axes, eps, centered=True):
    middle = x - x.mean(axes, keepdims=True) if centered else x
    return middle / np.sqrt((middle**2).mean(axes, keepdims=True) + eps)


def affine(x, weight, bias, shape):
    x = x if weight is None else x * weight.reshape(shape)
    return x if bias is None else x + bias.reshape(shape)


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    return affine(standardized(x, axes, eps), weight, bias, normalized_shape)


def rms_norm(x, normalized_shape, weight=None, eps=None):
    eps = np.finfo(x.dtype).eps if eps is None else eps
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    return affine(standardized(x, axes, eps, centered=False), weight, None, normalized_shape)


def per_channel(x):
    return (1, x.shape[1], *[1] * (x.ndim - 2))


def group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    grouped = x.reshape(x.shape[0], num_groups, x.shape[1] // num_groups, math.prod(x.shape[2:]))
    return affine(standardized(grouped, (2, 3), eps).reshape(x.shape), weight, bias, per_channel(x))


def batch_norm(x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    shape = per_channel(x)
    if training:
        y = standardized(x, tuple(d for d in range(x.ndim) if d != 1), eps)
    else:
        y = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)
    return affine(y, weight, bias, shape)


def instance_norm(x, mean=None, var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1,
                  eps=1e-5):  # fmt: skip
    if not use_input_stats:
        return batch_norm(x, mean, var, weight, bias, False, momentum, eps)
    y = standardized(x, tuple(range(2, x.ndim)), eps)
    return affine(y, weight, bias, per_channel(x))


def local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0):
    mean = np.zeros_like(x)
    for c in range(x.shape[1]):
        first, last = max(0, c - size // 2), c + (size - 1) // 2
        mean[:, c] = (x[:, first : last + 1] ** 2).sum(1) / size
    return x / (k + alpha * mean) ** beta


def _rows(rng, bias=True):
    made = []
    for shape, dims in [
        ((2, 3), 1),
        ((2, 3, 2), 2),
        ((3, 1), 1),
        ((4,), 1),
        ((0, 3), 1),
        ((3, 67), 1),
    ]:
        sizes = shape[-dims:]
        params = [rng.normal(size=sizes) for _ in range(2 if bias else 1)]
        made.append(Sample(rng.normal(size=shape), sizes, *params))
    made += [Sample(rng.normal(size=(2, 5)), (5,)), Sample(rng.normal(size=(2, 5)), (5,), eps=0.1)]
    return made


def _groups(rng):
    made = []
    for shape, groups in [
        ((2, 4, 3), 2),
        ((2, 4), 2),
        ((1, 2, 2, 2), 1),
        ((2, 3, 35), 3),
        ((0, 2, 3), 2),
    ]:
        params = [rng.normal(size=shape[1]) for _ in range(2)]
        made.append(Sample(rng.normal(size=shape), groups, *params))
    return [*made, Sample(rng.normal(size=(2, 4, 3)), 2, eps=0.1)]


def _batches(rng):
    made = []
    for shape in [(3, 2), (2, 3, 2), (2, 2, 2, 2), (2, 2, 34), (1, 2, 3)]:
        running = (rng.normal(size=shape[1]), rng.uniform(0.5, 2.0, shape[1]))
        params = [rng.normal(size=shape[1]) for _ in range(2)]
        for training in (True, False):
            made.append(Sample(rng.normal(size=shape), *running, *params, training))
    made.append(Sample(rng.normal(size=(3, 2)), None, None, training=True, eps=0.1))
    return made


def _instances(rng):
    made = []
    for shape in [(2, 3, 4), (1, 2, 2, 2)]:
        running = (rng.normal(size=shape[1]), rng.uniform(0.5, 2.0, shape[1]))
        params = [rng.normal(size=shape[1]) for _ in range(2)]
        for use_input_stats in (True, False):
            made.append(Sample(rng.normal(size=shape), *running, *params, use_input_stats))
    return [*made, Sample(rng.normal(size=(2, 3, 4)), eps=0.1)]


def _channels(rng):
    shapes = [((2, 5, 3), 3), ((1, 4, 2, 2), 2), ((2, 2, 3), 5), ((1, 3, 2), 1), ((0, 3, 2), 3)]
    return [
        Sample(rng.normal(size=shape), size, alpha=0.5, beta=0.6, k=1.5) for shape, size in shapes
    ]


X = np.ones((2, 3))
OPS: list[Op] = [
    Op("layer_norm", layer_norm, method=False, samples=_rows, rtol=1e-9, rtol32=3e-5,
       raises=[((X, (2,)), {}, ValueError, r"does not end in normalized_shape \(2,\)"),
               ((X, (3,), np.ones(2)), {}, ValueError, r"weight must have shape \(3,\), got \(2,\)"),
               ((X, ()), {}, ValueError, "at least one dimension"),
               ((X.astype(int), (3,)), {}, TypeError, "must be floating, got int64")]),
    Op("rms_norm", rms_norm, method=False, samples=lambda rng: _rows(rng, bias=False), rtol=1e-9,
       rtol32=3e-5,
       raises=[((X, (2,)), {}, ValueError, "rms_norm: input of shape")]),
    Op("rms_norm", lambda x, shape, weight=None, eps=1e-3: x / np.sqrt((x * x).mean(-1, keepdims=True) + eps),
       method=False, variant="complex", complex=True, rtol=1e-9, rtol32=3e-5,
       samples=lambda rng: [Sample(rng.normal(size=(2, 3)), (3,), eps=1e-3)]),
    Op("group_norm", group_norm, method=False, samples=_groups, rtol=1e-9, rtol32=3e-5,
       raises=[((X, 2), {}, ValueError, "3 channels of input of shape .* num_groups 2"),
               ((np.ones(3), 1), {}, ValueError, "at least 2 dimensions"),
               ((X, 3, np.ones(3), np.ones(2)), {}, ValueError, "bias must have shape")]),
    Op("nn.functional.batch_norm", batch_norm, method=False, samples=_batches, fixed=(1, 2),
       rtol=1e-9, rtol32=3e-5, called="batch_norm",
       raises=[((X, None, None), {}, ValueError, "running_mean and running_var are needed"),
               ((np.ones((1, 3)), None, None), {"training": True}, ValueError, "more than one value"),
               ((X, np.ones(2), np.ones(3)), {}, ValueError, "running_mean must be")]),
    Op("nn.functional.instance_norm", instance_norm, method=False, samples=_instances, fixed=(1, 2),
       rtol=1e-9, rtol32=3e-5, called="instance_norm",
       raises=[((np.ones((2, 3, 1)),), {}, ValueError, "more than 1 element"),
               ((X[None],), {"use_input_stats": False}, ValueError, "running_var are needed")]),
    Op("nn.functional.local_response_norm", local_response_norm, method=False, samples=_channels,
       called="local_response_norm",
       raises=[((X, 3), {}, ValueError, "at least 3 dimensions"),
               ((X[None], 0), {}, ValueError, "size must be at least 1")]),
]  # fmt: skip
