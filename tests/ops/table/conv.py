"""Convolutions, their transposes, and windows as columns."""

import itertools

import numpy as np

from tests.ops.op import Op, Sample


def each(numbers, spatial):
    return (numbers,) * spatial if isinstance(numbers, int) else tuple(numbers)


def tap_slices(sizes, stride, dilation, tap):
    """Where the outputs of a convolution read under one tap, in the padded input."""
    return tuple(
        slice(t * d, t * d + (n - 1) * s + 1, s)
        for n, s, d, t in zip(sizes, stride, dilation, tap, strict=True)
    )


def conv(x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    spatial = w.ndim - 2
    if x.ndim == spatial + 1:
        return conv(x[None], w, b, stride, padding, dilation, groups)[0]
    stride, dilation = each(stride, spatial), each(dilation, spatial)
    span = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    if padding == "same":
        pads = [((n - 1) // 2, n - 1 - (n - 1) // 2) for n in span]
    else:
        pads = [(p, p) for p in each(0 if padding == "valid" else padding, spatial)]
    x = np.pad(x, [(0, 0), (0, 0), *pads])
    sizes = [(n - m) // s + 1 for n, m, s in zip(x.shape[2:], span, stride, strict=True)]
    y = np.zeros((x.shape[0], w.shape[0], *sizes))
    outs, ins = w.shape[0] // groups, w.shape[1]
    for g in range(groups):
        for tap in itertools.product(*map(range, w.shape[2:])):
            part = x[:, g * ins : (g + 1) * ins][(..., *tap_slices(sizes, stride, dilation, tap))]
            weight = w[(slice(g * outs, (g + 1) * outs), slice(None), *tap)]
            y[:, g * outs : (g + 1) * outs] += np.einsum("nc...,mc->nm...", part, weight)
    return y if b is None else y + b.reshape(-1, *[1] * spatial)


def conv_transpose(x, w, b=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    spatial = w.ndim - 2
    if x.ndim == spatial + 1:
        return conv_transpose(x[None], w, b, stride, padding, output_padding, groups, dilation)[0]
    stride, dilation, padding, more = (
        each(v, spatial) for v in (stride, dilation, padding, output_padding)
    )
    sizes = x.shape[2:]
    padded = [
        (n - 1) * s + (k - 1) * d + 1 + max(m, 0)
        for n, s, k, d, m in zip(sizes, stride, w.shape[2:], dilation, more, strict=True)
    ]
    y = np.zeros((x.shape[0], groups * w.shape[1], *padded))
    ins, outs = w.shape[0] // groups, w.shape[1]
    for g in range(groups):
        for tap in itertools.product(*map(range, w.shape[2:])):
            weight = w[(slice(g * ins, (g + 1) * ins), slice(None), *tap)]
            part = np.einsum("nc...,cm->nm...", x[:, g * ins : (g + 1) * ins], weight)
            y[:, g * outs : (g + 1) * outs][(..., *tap_slices(sizes, stride, dilation, tap))] += (
                part
            )
    y = y[(..., *(slice(p, n - p) for p, n in zip(padding, padded, strict=True)))]
    return y if b is None else y + b.reshape(-1, *[1] * spatial)


def unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    if x.ndim == 3:
        return unfold(x[None], kernel_size, dilation, padding, stride)[0]
    kernel, dilation, padding, stride = (
        each(v, 2) for v in (kernel_size, dilation, padding, stride)
    )
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    sizes = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, d, s in zip(x.shape[2:], kernel, dilation, stride, strict=True)
    ]
    taps = itertools.product(*map(range, kernel))
    columns = [x[(..., *tap_slices(sizes, stride, dilation, tap))] for tap in taps]
    rows = x.shape[1] * kernel[0] * kernel[1]
    return np.stack(columns, 2).reshape(x.shape[0], rows, sizes[0] * sizes[1])


def fold(columns, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The transpose of unfold, by its matrix."""
    if columns.ndim == 2:
        return fold(columns[None], output_size, kernel_size, dilation, padding, stride)[0]
    height, width = each(output_size, 2)
    basis = np.eye(height * width).reshape(-1, 1, height, width)
    matrix = unfold(basis, kernel_size, dilation, padding, stride).reshape(height * width, -1)
    channels = columns.shape[1] // np.prod(each(kernel_size, 2))
    flat = columns.reshape(columns.shape[0], channels, -1)
    return (flat @ matrix.T).reshape(columns.shape[0], channels, height, width)


def case(rng, x, w, bias=None, **kwargs):
    arrays = [rng.normal(size=x), rng.normal(size=w)]
    if bias is not None:
        arrays.append(rng.normal(size=bias))
    return Sample(*arrays, **kwargs)


def whole(rng, *args, **kwargs):
    """The same in small integers."""
    made = case(rng, *args, **kwargs)
    return Sample(*(rng.integers(-2, 3, a.shape).astype(float) for a in made.args), **made.kwargs)


def raises(spatial, transposed=False):
    def ones(*shape):
        return np.ones(shape + (5,) * spatial)

    wrong = "takes 3" if not transposed else r"takes 3; .* \(channels in"
    cases = [
        (
            (ones(2, 4), ones(3, 2) if transposed else ones(2, 3)),
            {},
            ValueError,
            f"has 4 channels.*{wrong}",
        ),
        ((ones(2, 4), ones(4, 4)), {"stride": 0}, ValueError, "stride must be at least 1"),
        ((ones(2, 4), ones(4, 4)), {"padding": -1}, ValueError, "padding must be at least 0"),
        (
            (ones(2, 4), ones(4, 4)),
            {"stride": (1,) * 4},
            ValueError,
            "stride must be one number or",
        ),
        (
            (ones(2, 4), ones(4, 4), np.ones(3)),
            {},
            ValueError,
            "bias must have one number for each of the 4",
        ),
        (
            (ones(2, 4), np.ones((4, 4))),
            {},
            ValueError,
            f"weight must have {spatial + 2} dimensions",
        ),
        ((np.ones(4), ones(4, 4)), {}, ValueError, "or the same without batch"),
        (
            (ones(2, 4).astype(bool), ones(4, 4).astype(bool)),
            {},
            TypeError,
            "must hold numbers, got bool",
        ),
        (
            (ones(2, 4), ones(4, 4).astype(np.float32)),
            {},
            TypeError,
            "float64 but weight is float32",
        ),
        ((ones(2, 4), ones(4, 4)), {"groups": 0}, ValueError, "groups must be positive"),
    ]
    if transposed:
        cases += [
            (
                (ones(2, 4), ones(4, 4)),
                {"output_padding": 1},
                ValueError,
                "smaller than stride or dilation",
            ),
            ((ones(2, 4), ones(4, 4)), {"padding": 9}, ValueError, "take less padding"),
        ]
    else:
        cases += [
            (
                (ones(2, 4), ones(4, 4)),
                {"dilation": 2},
                ValueError,
                r"spans 9 elements.*has 5 there",
            ),
            (
                (ones(2, 4), ones(4, 4)),
                {"padding": "same", "stride": 2},
                ValueError,
                "needs stride 1",
            ),
            (
                (ones(2, 4), ones(4, 4)),
                {"padding": "full"},
                ValueError,
                "'same', 'valid' or numbers",
            ),
            ((ones(2, 4), ones(3, 2)), {"groups": 2}, ValueError, "groups=2 does not divide"),
        ]
    return cases


INTEGERS = {"method": False, "dtypes": "int", "variant": "integers"}


def conv_tbc(x, weight, bias, pad=0):
    y = conv(x.transpose(1, 2, 0), weight.transpose(2, 1, 0), bias, padding=pad)
    return y.transpose(2, 0, 1)


CLOSE = {"rtol": 1e-9, "rtol32": 1e-4}
OPS: list[Op] = [
    Op("nn.functional.conv_tbc", conv_tbc, method=False, **CLOSE, called="conv_tbc", samples=lambda rng: [
        case(rng, (5, 2, 3), (2, 3, 4), (4,)), case(rng, (5, 2, 3), (3, 3, 4), (4,), pad=1)],
       raises=[((np.ones((2, 3)), np.ones((2, 3, 4)), np.ones(4)), {}, ValueError, "3 dimensions")]),
    Op("conv1d", conv, method=False, **CLOSE, raises=raises(1), samples=lambda rng: [
        case(rng, (2, 4, 7), (3, 4, 3), (3,), padding=1),
        case(rng, (4, 9), (3, 4, 3), stride=2, dilation=2, padding=2),
        case(rng, (1, 4, 20), (6, 2, 4), (6,), groups=2, padding="same"),
        case(rng, (0, 4, 5), (3, 4, 2), (3,)),
    ]),
    Op("conv2d", conv, method=False, **CLOSE, raises=raises(2), samples=lambda rng: [
        case(rng, (2, 3, 5, 6), (4, 3, 3, 3), (4,), padding=1),
        case(rng, (2, 3, 5, 6), (4, 3, 3, 2), stride=(2, 3), padding=(1, 0), dilation=(1, 2)),
        case(rng, (4, 6, 5), (4, 1, 3, 3), (4,), groups=4, padding="same"),
        case(rng, (1, 4, 5, 5), (6, 2, 2, 4), groups=2, padding="same", dilation=(2, 1)),
        case(rng, (2, 3, 4, 4), (5, 3, 1, 1), (5,)),
        case(rng, (1, 2, 5, 5), (3, 2, 1, 1), stride=2, padding=1),
        case(rng, (0, 2, 5, 5), (3, 2, 3, 3), (3,)),
        case(rng, (1, 1, 3, 3), (10, 1, 3, 3), padding="valid"),
    ]),
    Op("conv3d", conv, method=False, **CLOSE, raises=raises(3), samples=lambda rng: [
        case(rng, (1, 2, 3, 4, 3), (2, 2, 2, 3, 2), (2,), padding=1),
        case(rng, (2, 3, 3, 4), (2, 1, 2, 2, 2), (2,), groups=2, stride=(1, 2, 2)),
    ]),
    Op("conv_transpose1d", conv_transpose, method=False, **CLOSE, raises=raises(1, True), samples=lambda rng: [
        case(rng, (2, 3, 5), (3, 4, 3), (4,), stride=2, padding=1, output_padding=1),
        case(rng, (4, 5), (4, 3, 3), (6,), groups=2, dilation=2),
    ]),
    Op("conv_transpose2d", conv_transpose, method=False, **CLOSE, raises=raises(2, True), samples=lambda rng: [
        case(rng, (2, 3, 3, 4), (3, 4, 3, 3), (4,), stride=2, padding=1, output_padding=1),
        case(rng, (4, 3, 3), (4, 1, 3, 2), groups=4, stride=(1, 3), dilation=(2, 1)),
        case(rng, (1, 2, 3, 3), (2, 3, 1, 1), (3,), stride=2),
        case(rng, (0, 2, 3, 3), (2, 3, 2, 2)),
    ]),
    Op("conv_transpose3d", conv_transpose, method=False, **CLOSE, raises=raises(3, True), samples=lambda rng: [
        case(rng, (1, 2, 2, 3, 2), (2, 3, 2, 2, 3), (3,), stride=(1, 2, 1), padding=(0, 1, 1)),
    ]),
    Op("conv1d", conv, **INTEGERS, samples=lambda rng: [
        whole(rng, (2, 4, 7), (3, 4, 3), (3,), padding=1),
        whole(rng, (4, 9), (3, 4, 3), stride=2, dilation=2, padding=2),
        whole(rng, (1, 4, 8), (6, 2, 4), (6,), groups=2, padding="same"),
        whole(rng, (0, 4, 5), (3, 4, 2), (3,)),
    ]),
    Op("conv2d", conv, **INTEGERS, samples=lambda rng: [
        whole(rng, (2, 2, 5, 6), (4, 2, 3, 3), (4,), padding=1),
        whole(rng, (2, 3, 5, 6), (4, 3, 3, 2), stride=(2, 3), padding=(1, 0), dilation=(1, 2)),
        whole(rng, (4, 6, 5), (4, 1, 3, 3), (4,), groups=4, padding="same"),
    ]),
    Op("conv3d", conv, **INTEGERS, samples=lambda rng: [
        whole(rng, (1, 2, 3, 4, 3), (2, 2, 2, 3, 2), (2,), padding=1),
        whole(rng, (2, 3, 3, 4), (2, 1, 2, 2, 2), (2,), groups=2, stride=(1, 2, 2)),
    ]),
    Op("conv_transpose1d", conv_transpose, **INTEGERS, samples=lambda rng: [
        whole(rng, (2, 3, 5), (3, 4, 3), (4,), stride=2, padding=1, output_padding=1),
        whole(rng, (4, 5), (4, 3, 3), (6,), groups=2, dilation=2),
        whole(rng, (1, 2, 6), (2, 1, 2), padding=3, stride=2),
        whole(rng, (0, 2, 3), (2, 3, 2), (3,)),
    ]),
    Op("conv_transpose2d", conv_transpose, **INTEGERS, samples=lambda rng: [
        whole(rng, (2, 3, 3, 4), (3, 4, 3, 3), (4,), stride=2, padding=1, output_padding=1),
        whole(rng, (4, 3, 3), (4, 1, 3, 2), groups=4, stride=(1, 3), dilation=(2, 1)),
    ]),
    Op("conv_transpose3d", conv_transpose, **INTEGERS, samples=lambda rng: [
        whole(rng, (1, 2, 2, 3, 2), (2, 3, 2, 2, 3), (3,), stride=(1, 2, 1), padding=(0, 1, 1)),
    ]),
    Op("unfold", lambda *args, **kwargs: unfold(*args, **kwargs).astype(bool), method=False,
       variant="windows-bool", grad=False,
       samples=lambda rng: [Sample(rng.random((2, 2, 4, 5)) < 0.5, (2, 3), padding=1)]),
    Op("fold", lambda *args, **kwargs: fold(*args, **kwargs).astype(bool), method=False,
       variant="bool", grad=False,
       samples=lambda rng: [Sample(rng.random((2, 12, 12)) < 0.3, (4, 5), (2, 2))]),
    Op("unfold", unfold, method=False, variant="windows", samples=lambda rng: [
        Sample(rng.normal(size=(2, 2, 4, 5)), (2, 3)),
        Sample(rng.normal(size=(2, 5, 6)), 2, dilation=2, padding=1, stride=(2, 3)),
        Sample(rng.normal(size=(0, 2, 3, 3)), 2),
    ], raises=[
        ((np.ones((2, 3)), 2), {}, ValueError, "or the same without batch"),
        ((np.ones((1, 2, 3, 3)), 4), {}, ValueError, "spans 4 elements"),
        ((np.ones((1, 2, 3, 3), int), 2), {}, TypeError, "must be floating"),
        ((np.ones((1, 2, 3, 3)), (2, 2, 2)), {}, ValueError, "one number or two"),
    ], complex=True),
    Op("fold", fold, method=False, samples=lambda rng: [
        Sample(rng.normal(size=(2, 12, 12)), (4, 5), (2, 2)),
        Sample(rng.normal(size=(8, 6)), (5, 6), 2, dilation=2, padding=1, stride=(2, 3)),
    ], raises=[
        ((np.ones((1, 11, 12)), (4, 5), 2), {}, ValueError, "multiple of 4"),
        ((np.ones((1, 12, 11)), (4, 5), 2), {}, ValueError, "has 12 windows, but .* has 11"),
        ((np.ones(3), (4, 5), 2), {}, ValueError, "or the same without batch"),
    ], complex=True),
]  # fmt: skip
