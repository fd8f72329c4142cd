"""Ops that read and write by index or by mask."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.op import Op, Sample


def _fitting(x: np.ndarray, dim: int, index: np.ndarray) -> tuple[slice, ...]:
    """The part of x that an index of this shape can reach."""
    dim %= max(x.ndim, 1)
    return tuple(slice(None) if d == dim else slice(0, n) for d, n in enumerate(index.shape))


def _gather(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    if index.size == 0:
        return np.zeros(index.shape)
    if x.ndim == 0 or index.ndim == 0:
        return x.reshape(-1)[index]
    return np.take_along_axis(x[_fitting(x, dim, index)], index, dim)


def _places(x: np.ndarray, dim: int, index: np.ndarray) -> list[tuple[Any, Any]]:
    """(where in x, where in index) for each element of index, in order."""
    found = []
    for at in np.ndindex(index.shape):
        to = list(at)
        if x.ndim:
            to = to or [0]
            to[dim] = index[at]
        found.append((tuple(to) if x.ndim else (), at))
    return found


def _scatter_with(combine: Callable[[Any, Any], Any]) -> Callable[..., np.ndarray]:
    def ref(x: np.ndarray, dim: int, index: np.ndarray, src: Any) -> np.ndarray:
        y = np.array(x)
        values = np.asarray(src)
        for to, at in _places(x, dim, index):
            y[to] = combine(y[to], values[at] if values.ndim else values)
        return y

    return ref


_scatter = _scatter_with(lambda _, new: new)
_scatter_add = _scatter_with(lambda old, new: old + new)


def _scatter_reduce(
    x: np.ndarray,
    dim: int,
    index: np.ndarray,
    src: np.ndarray,
    reduce: str,
    *,
    include_self: bool = True,
) -> np.ndarray:
    """Of int64 or float64, as mean rounds down for integers."""
    combine = {"sum": np.sum, "prod": np.prod, "amax": np.max, "amin": np.min,
               "mean": lambda v: np.mean(v) if v.dtype.kind == "f" else np.sum(v) // len(v)}[reduce]  # fmt: skip
    found: dict[Any, list[Any]] = {}
    for to, at in _places(x, dim, index):
        found.setdefault(tuple(to), [x[to]] if include_self else []).append(src[at])
    y = np.array(x)
    for to, values in found.items():
        y[to] = combine(np.array(values))
    return y


def _reduce_samples(rng: np.random.Generator, reduce: str) -> list[Sample]:
    made = []
    for i, (x, dim, index) in enumerate(_along(rng, repeats=True)):
        made.append(
            Sample(x, dim, index, rng.normal(size=index.shape), reduce, include_self=i % 2 == 0)
        )
    x, dim, index = _along(rng, repeats=True)[-2]
    return [*made, Sample(x, dim, index, rng.normal(size=index.shape), reduce)]


def _index_reduce(
    x: np.ndarray,
    dim: int,
    index: np.ndarray,
    source: np.ndarray,
    reduce: str,
    *,
    include_self: bool = True,
) -> np.ndarray:
    along = [1] * x.ndim
    if x.ndim:
        along[dim] = index.size
    each = np.broadcast_to(index.reshape(along), source.shape)
    return _scatter_reduce(x, dim, each, source, reduce, include_self=include_self)


def _index_reduce_samples(rng: np.random.Generator) -> list[Sample]:
    made = []
    for i, sample in enumerate(_source_samples(rng, True)):
        x, dim, index, source = sample.args
        if x.ndim:  # PyTorch refuses 0-d
            made.append(
                Sample(
                    x,
                    dim,
                    index,
                    source,
                    ["prod", "mean", "amax", "amin"][i % 4],
                    include_self=i % 3 != 0,
                )
            )
    return made


def _put(
    x: np.ndarray, index: np.ndarray, source: np.ndarray, accumulate: bool = False
) -> np.ndarray:
    y = np.array(x).reshape(-1)
    for i, value in zip(index.reshape(-1), source.reshape(-1), strict=True):
        y[i] = y[i] + value if accumulate else value
    return y.reshape(x.shape)


def _slices(x: np.ndarray, dim: int, index: np.ndarray) -> list[tuple[Any, Any]]:
    if x.ndim == 0:
        return [((), ())]
    lead = (slice(None),) * (dim % x.ndim)
    return [((*lead, i), (*lead, j)) for j, i in enumerate(np.atleast_1d(index))]


def _index_add(
    x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, alpha: float = 1
) -> np.ndarray:
    y = np.array(x)
    for to, at in _slices(x, dim, index):
        y[to] = y[to] + alpha * source[at]
    return y


def _index_copy(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    y = np.array(x)
    for to, at in _slices(x, dim, index):
        y[to] = source[at] if source.ndim else source
    return y


def _index_fill(x: np.ndarray, dim: int, index: np.ndarray, value: Any) -> np.ndarray:
    y = np.array(x)
    for to, _ in _slices(x, dim, index):
        y[to] = value
    return y


def _index_select(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    return np.take(x, np.atleast_1d(index), axis=dim) if x.ndim else x


def _take_along_dim(x: np.ndarray, indices: np.ndarray, dim: int | None = None) -> np.ndarray:
    return np.take_along_axis(x, indices.reshape(-1) if dim is None else indices, dim)


def _ints(*values: Any) -> np.ndarray:
    return np.array(*values, dtype=np.int64)


def _along(rng: np.random.Generator, repeats: bool) -> list[tuple[np.ndarray, int, np.ndarray]]:
    """(x, dim, index): every dim, smaller and larger indices, 0-d, zero-size."""

    def x(*shape: int) -> np.ndarray:
        return np.asarray(rng.normal(size=shape))

    def index(size: int, dim: int, *shape: int) -> np.ndarray:
        if repeats:
            return rng.integers(0, size, shape)
        order = np.broadcast_to(
            np.expand_dims(
                np.arange(size), [d for d in range(len(shape)) if d != dim % len(shape)]
            ),
            tuple(size if d == dim % len(shape) else n for d, n in enumerate(shape)),
        )
        return np.take(rng.permuted(order, axis=dim), range(shape[dim]), axis=dim)

    made = [
        (x(3, 4), 1, index(4, 1, 3, 2)),
        (x(3, 4), 0, index(3, 0, 2, 4)),
        (x(5), -1, index(5, 0, 3)),
        (x(2, 3, 4), 1, index(3, 1, 2, 3, 2)),
        (x(2, 3, 4), -3, index(2, 0, 1, 3, 4)),
        (x(3, 2, 2), 0, index(3, 0, 2, 1, 2)),
        (x(), 0, _ints(0)),
        (x(), -1, _ints([0])),
        (x(4), 0, _ints(2)),
        (x(2, 3), 1, np.zeros((2, 0), np.int64)),
        (x(0, 3), 1, np.zeros((0, 2), np.int64)),
        (x(2, 3), 0, np.zeros(0, np.int64)),
        (x(3, 4), 1, index(4, 1, 3, 2).astype(np.int32)),
    ]
    if repeats:
        made += [
            (x(2, 3), 1, index(3, 1, 2, 7)),
            (x(2, 3), 0, index(2, 0, 6, 3)),
            (x(1, 3), 0, np.zeros((4, 3), np.int64)),
        ]
    return made


def _gather_samples(rng: np.random.Generator) -> list[Sample]:
    return [Sample(*case) for case in _along(rng, repeats=True)]


def _scatter_samples(rng: np.random.Generator, repeats: bool, scalars: bool) -> list[Sample]:
    made = [Sample(x, d, i, rng.normal(size=i.shape)) for x, d, i in _along(rng, repeats)]
    x, d, i = _along(rng, repeats)[3]
    if repeats:  # elsewhere PyTorch's gradient wants src and index to have one shape
        made.append(Sample(x, d, i, rng.normal(size=(3, 3, 5))))
    if scalars:
        made += [Sample(x, d, i, 2.5), Sample(rng.normal(size=3), 0, _ints([2, 0]), -1)]
    return made


def _by_slices(rng: np.random.Generator, repeats: bool) -> list[tuple[np.ndarray, int, np.ndarray]]:
    def x(*shape: int) -> np.ndarray:
        return np.asarray(rng.normal(size=shape))

    made = [
        (x(4, 3), 0, _ints([2, 0, 3])),
        (x(2, 4), 1, _ints([3, 1])),
        (x(2, 3, 2), -2, _ints([1, 0])),
        (x(5), 0, _ints([4])),
        (x(5), -1, _ints([1, 3])),
        (x(), 0, _ints([0])),
        (x(), 0, _ints(0)),
        (x(3, 2), 0, np.zeros(0, np.int64)),
        (x(3, 0), 0, _ints([1, 2])),
    ]
    if repeats:
        made += [(x(3, 2), 0, _ints([1, 1, 2, 1])), (x(2, 3, 9), 1, _ints([2, 2]))]
    return made


def _source_samples(rng: np.random.Generator, repeats: bool, **kwargs: Any) -> list[Sample]:
    made = []
    for x, dim, index in _by_slices(rng, repeats):
        shape = list(x.shape)
        if x.ndim:
            shape[dim] = index.size
        made.append(Sample(x, dim, index, rng.normal(size=shape), **kwargs))
    return made


def _index_fill_samples(rng: np.random.Generator) -> list[Sample]:
    made = [Sample(x, d, i, 1.5) for x, d, i in _by_slices(rng, repeats=True)]
    x, d, i = _by_slices(rng, repeats=True)[-2]
    return [*made, Sample(x, d, i, np.array(0.5)), Sample(x, 1, _ints(1), np.array(3.0))]


def _masks(rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    def case(shape: tuple[int, ...], mask: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(rng.normal(size=shape)), np.asarray(rng.random(mask) < 0.5)

    shapes = [
        ((3, 4), (3, 4)),
        ((3, 4), (4,)),
        ((3, 4), (3, 1)),
        ((2, 3), ()),
        ((), ()),
        ((0, 3), (0, 3)),
        ((2, 1, 3), (2, 2, 3)),
        ((3,), (2, 3)),
    ]
    made = [case(*pair) for pair in shapes]
    return [*made, (made[0][0], np.zeros((3, 4), bool)), (made[0][0], np.ones((3, 4), bool))]


def _masked_fill(x: np.ndarray, mask: np.ndarray, value: Any) -> np.ndarray:
    return np.where(mask, np.asarray(value).astype(x.dtype), x)


def _masked_scatter(x: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    x, mask = np.broadcast_arrays(x, mask)
    y = np.array(x)
    y[mask] = source.reshape(-1)[: np.count_nonzero(mask)]
    return y


def _masked_scatter_samples(rng: np.random.Generator) -> list[Sample]:
    made = []
    for x, mask in _masks(rng):
        n = np.count_nonzero(np.broadcast_arrays(x, mask)[1])
        made += [Sample(x, mask, rng.normal(size=n)), Sample(x, mask, rng.normal(size=(2, n + 1)))]
    return made


def _masked_fill_samples(rng: np.random.Generator) -> list[Sample]:
    made = [Sample(x, mask, 2.0) for x, mask in _masks(rng)]
    return made + [Sample(x, mask, np.array(-1.0)) for x, mask in _masks(rng)[:3]]


def _embedding(index: np.ndarray, weight: np.ndarray, padding_idx: int | None = None,
               scale_grad_by_freq: bool = False) -> np.ndarray:  # fmt: skip
    return weight[index]


def _one_hot(x: np.ndarray, num_classes: int = -1) -> np.ndarray:
    return np.eye(num_classes if num_classes > 0 else x.max() + 1, dtype=np.int64)[x]


X = np.arange(6.0).reshape(2, 3)
AT = _ints([[0, 1, 2], [2, 1, 0]])
FLOAT_INDEX = (TypeError, "index must be int64 or int32, got float64")

OPS: list[Op] = [
    Op("gather", _gather, dtypes="all", samples=_gather_samples,
       raises=[
           ((X, 1, _ints([[0], [3]])), {}, IndexError, r"gather: index 3 at position \(1, 0\).*dimension 1 of size 3"),
           ((X, 1, _ints([[-1], [0]])), {}, IndexError, r"index -1 at position \(0, 0\)"),
           ((X, 0, np.zeros((1, 4), np.int64)), {}, ValueError, r"index of shape \(1, 4\) is larger in dimension 1"),
           ((X, 0, _ints([0])), {}, ValueError, "as many dimensions"),
           ((X, 2, AT), {}, IndexError, "(?i)dim"),
           ((X, 0, AT * 0.5), {}, *FLOAT_INDEX),
           ((np.ones((0, 2)), 0, _ints([[0, 0]])), {}, IndexError, "of size 0"),
       ], complex=True),
    Op("index_select", _index_select, dtypes="all",
       samples=lambda rng: [Sample(*case) for case in _by_slices(rng, repeats=True)],
       raises=[
           ((X, 0, _ints([1, 2])), {}, IndexError, r"index_select: index 2 at position \(1,\).*dimension 0 of size 2"),
           ((X, 0, _ints([-1])), {}, IndexError, "index -1"),
           ((X, 0, _ints([[0]])), {}, ValueError, "one dimension"),
           ((X, 0, np.array([True, False])), {}, TypeError, "got bool"),
           ((np.array(1.0), 0, _ints([0, 0])), {}, ValueError, "0-d"),
       ], complex=True),
    Op("take", lambda x, index: x.reshape(-1)[index], dtypes="all",
       samples=lambda rng: [
           Sample(rng.normal(size=(2, 3)), _ints([[0, 5], [-1, 5]])),
           Sample(rng.normal(size=4), _ints(2)),
           Sample(np.array(1.5), _ints([0, -1])),
           Sample(rng.normal(size=(0, 2)), np.zeros((0, 3), np.int64)),
       ],
       raises=[((X, _ints([6])), {}, IndexError, r"take: index 6 at position \(0,\).*of size 6"),
               ((X, _ints([-7])), {}, IndexError, "index -7")]),
    Op("take_along_dim", _take_along_dim, dtypes="all",
       samples=lambda rng: [
           Sample(rng.normal(size=(2, 3)), _ints([[0], [-1]]), 1),
           Sample(rng.normal(size=(2, 3)), _ints([[0, 2, 2]]), dim=-1),
           Sample(rng.normal(size=(1, 3)), _ints([[0], [2]]), 1),
           Sample(rng.normal(size=(2, 3)), _ints([3, 1])),
           Sample(rng.normal(size=4), _ints([3, 3]), 0),
       ],
       raises=[((X, _ints([0]), 1), {}, ValueError, "as many dimensions"),
               ((X, _ints([[3]]), 1), {}, IndexError, "index 3")]),
    Op("scatter", _scatter, dtypes="all", inplace=True,
       samples=lambda rng: _scatter_samples(rng, repeats=False, scalars=True),
       raises=[
           ((X, 1, AT + 1, X), {}, IndexError, r"scatter: index 3 at position \(0, 2\)"),
           ((X, 1, AT, X[:, :2]), {}, ValueError, "src of shape .* is smaller in dimension 1"),
           ((X, 1, AT, np.ones((2, 3), np.float32)), {}, TypeError, "src is float32"),
           ((X, 1, AT[0], X), {}, ValueError, "as many dimensions"),
           ((X, 1, AT * 1.0, X), {}, *FLOAT_INDEX),
       ]),
    # the last of several stays, and only that one has a gradient: PyTorch promises neither
    Op("scatter", _scatter, variant="repeats", dtypes="all", inplace=True,
       samples=lambda rng: _scatter_samples(rng, repeats=True, scalars=False),
       unlike_torch="the gradient of a value that was overwritten is 0 here"),
    Op("scatter_add", _scatter_add, dtypes="number", inplace=True, low=-9, high=9,
       samples=lambda rng: _scatter_samples(rng, repeats=True, scalars=False)[:-1],
       raises=[((X, 1, AT + 1, X), {}, IndexError, "scatter_add: index 3"),
               ((X, 1, AT, np.ones((2, 3), np.int64)), {}, TypeError, "src is int64")]),
    Op("scatter_add", _scatter_add, variant="larger_src", samples=lambda rng: _scatter_samples(rng, True, False)[-1:],
       unlike_torch="PyTorch's gradient wants src and index to have one shape"),
    *(
        Op("scatter_reduce", _scatter_reduce, variant=reduce, dtypes="number", inplace=True, low=-2, high=2,
           samples=lambda rng, reduce=reduce: _reduce_samples(rng, reduce),
           raises=[((X, 1, AT + 1, X, reduce), {}, IndexError, "scatter_reduce: index 3"),
                   ((X, 1, AT, X, "max"), {}, ValueError, "reduce must be .*, got 'max'"),
                   ((X, 1, AT, np.ones((2, 3), np.int64), reduce), {}, TypeError, "src is int64")])
        for reduce in ("sum", "prod", "mean", "amax", "amin")
    ),
    # factors of 0: of x, of src, one for several places
    Op("scatter_reduce", _scatter_reduce, variant="prod_zeros",
       samples=lambda rng: [
           Sample(np.array([0.0, 2.0, 3.0]), 0, _ints([0, 0, 1, 1]), np.array([2.0, 5.0, 0.0, 4.0]), "prod"),
           Sample(np.array([0.0, 0.0, 3.0]), 0, _ints([0, 0, 1, 1]), np.array([0.0, 5.0, 0.0, 4.0]), "prod", include_self=False),
           Sample(np.array([0.0, 2.0]), 0, _ints([0, 0]), np.array([0.0, 5.0]), "prod"),
       ]),
    Op("scatter", lambda x, dim, index, src, reduce: _scatter_reduce(x, dim, index, src, {"add": "sum", "multiply": "prod"}[reduce]),
       variant="reduce", dtypes="number", inplace=True, low=-2, high=2, unlike_torch="not differentiable there, deprecated",
       samples=lambda rng: [Sample(x, d, i, rng.normal(size=i.shape), reduce=reduce)
                            for x, d, i in _along(rng, repeats=True)[:4] for reduce in ("add", "multiply")],
       raises=[((X, 1, AT, X), {"reduce": "amax"}, ValueError, "scatter_reduce"), ((X, 1, AT), {}, TypeError, "src or value"),
               ((X, 1, AT, X), {"value": 1.0}, TypeError, "src or value")]),
    Op("index_reduce", _index_reduce, dtypes="number", inplace=True, samples=_index_reduce_samples,
       unlike_torch="its amax and amin warn that they are experimental",
       raises=[((X, 0, _ints([2]), X[:1], "amax"), {}, IndexError, "index_reduce: index 2"),
               ((X, 0, _ints([0]), X[:1], "sum"), {}, ValueError, "index_add"),
               ((X, 0, _ints([0]), X, "prod"), {}, ValueError, r"expected shape \(1, 3\)")]),
    Op("put", _put, dtypes="number", inplace=True, low=-9, high=9,
       samples=lambda rng: [
           Sample(rng.normal(size=(2, 3)), _ints([[5, -6]]), rng.normal(size=2)),
           Sample(rng.normal(size=(2, 3)), _ints([1, -5, 1]), rng.normal(size=(3, 1)), accumulate=True),
           Sample(np.array(1.0), _ints(0), np.array([2.0])),
           Sample(rng.normal(size=(2, 3)), np.zeros(0, np.int64), np.zeros(0)),
       ],
       raises=[((X, _ints([6]), np.ones(1)), {}, IndexError, "put_: index 6"),
               ((X, _ints([0]), np.ones(2)), {}, ValueError, "source has 2 elements but index 1")]),
    Op("index_add", _index_add, dtypes="number", inplace=True, low=-9, high=9,
       samples=lambda rng: _source_samples(rng, True) + _source_samples(rng, True, alpha=2)[-2:],
       raises=[((X, 0, _ints([0, 2]), X), {}, IndexError, r"index_add: index 2 at position \(1,\)"),
               ((X, 0, _ints([0]), X), {}, ValueError, r"expected shape \(1, 3\)"),
               ((X, 0, _ints([0, 1]), X.astype(np.float32)), {}, TypeError, "source is float32"),
               ((np.ones(2, np.int64), 0, _ints([0]), _ints([1])), {"alpha": 1.5}, TypeError, "alpha")]),
    Op("index_copy", _index_copy, dtypes="all", inplace=True, samples=lambda rng: _source_samples(rng, False)
       + [Sample(rng.normal(size=3), 0, _ints([1]), np.array(2.5))],
       raises=[((X, 0, _ints([0, 2]), X), {}, IndexError, "index_copy: index 2")]),
    Op("index_copy", _index_copy, variant="repeats", samples=lambda rng: _source_samples(rng, True)[-2:], inplace=True,
       unlike_torch="the gradient of a slice that was overwritten is 0 here"),
    Op("index_fill", _index_fill, dtypes="all", inplace=True, samples=lambda rng: _index_fill_samples(rng)[1:],
       raises=[((X, 0, _ints([2]), 1.0), {}, IndexError, "index_fill: index 2"),
               ((X, 0, _ints([0]), np.ones(2)), {}, ValueError, "0-d")]),
    # PyTorch's gradients know neither negative indices nor int32 here
    Op("index_fill", _index_fill, variant="negative", inplace=True, unlike_torch="its gradient refuses them",
       samples=lambda rng: [Sample(rng.normal(size=(3, 2)), 0, _ints([-1, 0]), 2),
                            Sample(rng.normal(size=(2, 3)), 1, np.array([-3, 1], np.int32), np.array(0.5))]),
    Op("take_along_dim", _take_along_dim, variant="negative", unlike_torch="its gradient refuses them",
       samples=lambda rng: [Sample(rng.normal(size=(2, 3)), _ints([3, -1]))]),
    Op("index_copy", _index_copy, variant="int32", inplace=True, unlike_torch="refuses int32",
       samples=lambda rng: [Sample(rng.normal(size=(3, 2)), 0, np.array([2, 0], np.int32), rng.normal(size=(2, 2)))]),
    Op("masked_fill", _masked_fill, dtypes="all", inplace=True, samples=_masked_fill_samples,
       raises=[((X, X > 1, np.ones(2)), {}, ValueError, "masked_fill: value must be"),
               ((X, AT, 1.0), {}, TypeError, "mask must be bool, got int64"),
               ((X, np.ones((3, 2), bool), 1.0), {}, ValueError, r"masked_fill.*\(2, 3\).*\(3, 2\)")], complex=True),
    Op("masked_select", lambda x, mask: np.broadcast_arrays(x, mask)[0][np.broadcast_arrays(x, mask)[1]], dtypes="all",
       samples=lambda rng: [Sample(*case) for case in _masks(rng)],
       raises=[((X, AT), {}, TypeError, "mask must be bool")]),
    Op("masked_scatter", _masked_scatter, dtypes="all", inplace=True, samples=_masked_scatter_samples,
       raises=[((X, X > 1, np.ones(3)), {}, ValueError, "mask has 4 true elements but source only 3"),
               ((X, X > 1, np.ones(4, np.int64)), {}, TypeError, "source is int64")]),
    Op("embedding", _embedding, dtypes="all", method=False,
       unlike_torch="torch.embedding takes its arguments in another order",
       samples=lambda rng: [
           Sample(_ints([[0, 2], [2, 1]]), rng.normal(size=(3, 4))),
           Sample(_ints([3, 3, 0]), rng.normal(size=(4, 9))),
           Sample(_ints(1), rng.normal(size=(2, 3))),
           Sample(np.array([1, 1], np.int32), rng.normal(size=(2, 3))),
           Sample(np.zeros((0, 2), np.int64), rng.normal(size=(2, 3))),
       ],
       raises=[((_ints([0, 3]), np.ones((3, 2))), {}, IndexError, r"embedding: index 3 at position \(1,\).*of size 3"),
               ((_ints([0]), np.ones(3)), {}, ValueError, "two dimensions"),
               ((_ints([0]), np.ones((3, 2)), 3), {}, IndexError, "padding_idx 3"),
               ((np.ones(2), np.ones((3, 2))), {}, *FLOAT_INDEX)]),
    Op("one_hot", _one_hot, method=False, grad=False,
       samples=lambda rng: [Sample(_ints([0, 2, 1])), Sample(_ints([[0], [1]]), 3), Sample(_ints(2), num_classes=4),
                            Sample(np.zeros((0, 2), np.int64), 3)],
       raises=[((_ints([0, 3]), 3), {}, IndexError, "class 3"), ((_ints([-1]),), {}, IndexError, "class -1"),
               ((np.zeros(0, np.int64),), {}, ValueError, "num_classes"), ((np.ones(2),), {}, TypeError, "int64")]),
]  # fmt: skip
