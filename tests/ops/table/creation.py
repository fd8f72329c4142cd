"""New tensors, copies of tensors, and conversions between dtypes.

What takes Python's or NumPy's data rather than tensors is tested in tests/core/test_tensor.py too.
"""

from collections.abc import Callable
from typing import Any

import genesis
import numpy as np

from tests.ops.op import Op, Sample, dtype_name


def _always(*samples: Sample) -> Callable[[np.random.Generator], list[Sample]]:
    return lambda rng: list(samples)


def _values(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], list[Sample]]:
    """One tensor of each shape."""
    return lambda rng: [Sample(rng.normal(size=shape)) for shape in shapes]


PLAIN = _values((2, 3), (), (0, 2))


def _shape(size: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape that f(2, 3) or f((2, 3)) asks for."""
    return tuple(size) if len(size) != 1 or isinstance(size[0], int) else tuple(size[0])


def _made(shape: Callable[[Sample], tuple[int, ...]], dtype: Callable[[Sample], str]):
    """A check for memory that is not initialised."""

    def check(outputs: list[Any], sample: Sample) -> None:
        (out,) = outputs
        assert tuple(out.shape) == shape(sample)
        wanted = sample.kwargs.get("dtype")
        if wanted is not None:
            assert out.dtype == wanted
        elif dtype(sample):
            assert dtype_name(out) == dtype(sample)
        assert out.requires_grad == sample.kwargs.get("requires_grad", False)

    return check


NOT_INITIALISED = "the values are undefined"
SIZES = _always(
    Sample(2, 3),
    Sample((2, 3)),
    Sample(()),
    Sample(0, 2),
    Sample([4]),
    Sample(size=(2, 1)),
    Sample(3, dtype=genesis.int16),
    Sample(2, dtype=genesis.float64, device="cpu"),
)
BAD_SIZES = [
    ((), {}, TypeError, "size"),
    ((-1,), {}, ValueError, "negative"),
    ((2.0,), {}, TypeError, "size"),
    (((1, 2.0),), {}, TypeError, "size"),
    ((1 << 62, 1 << 62), {}, ValueError, "elements"),
    ((2,), {"dtype": "complex32"}, TypeError, "complex32"),
    ((2,), {"device": "cuda"}, RuntimeError, "cuda"),
    ((2,), {"dtype": genesis.int64, "requires_grad": True}, TypeError, "floating"),
    ((2,), {"layout": "sparse_coo"}, ValueError, "layout must be strided"),
]


def _factory(name: str, ref: Callable[..., Any]) -> Op:
    def reference(*sizes: Any, size: Any = None, **_: Any) -> Any:
        return ref(_shape(sizes if size is None else (size,)))

    return Op(name, reference, samples=SIZES, method=False, grad=False, raises=BAD_SIZES)


def _like_samples(rng: np.random.Generator) -> list[Sample]:
    return [
        Sample(rng.normal(size=(2, 3))),
        Sample(rng.normal(size=())),
        Sample(rng.normal(size=(0, 2))),
        Sample(rng.normal(size=(2, 1)), dtype=genesis.int32),
    ]


def _like(name: str, ref: Callable[..., Any]) -> Op:
    return Op(name, lambda x, dtype=None: ref(x), samples=_like_samples, dtypes="all", method=False,
              grad=False,
              raises=[((np.ones(2),), {"device": "cuda"}, RuntimeError, "cuda"),
                      (((2, 3),), {}, TypeError, "Tensor")])  # fmt: skip


def _new_samples(rng: np.random.Generator) -> list[Sample]:
    x = rng.normal(size=2)
    return [Sample(x, 2, 3), Sample(x, (2,)), Sample(x, ()), Sample(x, 0, dtype=genesis.float64)]


def _new(name: str, ref: Callable[..., Any]) -> Op:
    return Op(name, lambda x, *size, dtype=None: ref(_shape(size)), samples=_new_samples,
              dtypes="all", grad=False,
              raises=[((np.ones(2), -1), {}, ValueError, "negative"),
                      ((np.ones(2),), {}, TypeError, "size")])  # fmt: skip


def _full_samples(rng: np.random.Generator) -> list[Sample]:
    return [
        Sample((2, 3), 1.5),
        Sample((), 2),
        Sample((0,), True),
        Sample((3,), float("inf")),
        Sample((2,), -1, dtype=genesis.int8),
        Sample((2,), 2.75, dtype=genesis.int64),  # towards zero
        Sample((2,), 3, dtype=genesis.bool),
    ]


def _full(size: Any, value: Any, dtype: Any = None) -> np.ndarray:
    return np.full(size, value, None if dtype is None else str(dtype).rpartition(".")[2])


TOO_LARGE = [
    ((2, 300), {"dtype": genesis.uint8}, ValueError, "300.*uint8"),
    ((2, -129), {"dtype": genesis.int8}, ValueError, "-129.*int8"),
    ((2, float("nan")), {"dtype": genesis.int32}, ValueError, "nan.*int32"),
    ((2, 1e39), {"dtype": genesis.float32}, ValueError, "float32"),
]


def _arange(start: Any = 0, end: Any = None, step: Any = 1, dtype: Any = None) -> np.ndarray:
    if end is None:
        start, end = 0, start
    if dtype is None or dtype.is_floating_point:
        return np.arange(start, end, step)
    # integers are counted in integers; only in int64 is the length, too
    exact = np.arange(int(start), int(end), int(step)) if dtype == genesis.int64 else None
    length = len(np.arange(start, end, step) if exact is None else exact)
    return int(start) + int(step) * np.arange(length)


def _spaced(function: Callable[..., Any]) -> Callable[..., Any]:
    def reference(*args: Any, dtype: Any = None, **kwargs: Any) -> np.ndarray:
        if dtype is None or dtype.is_floating_point:
            return function(*args, **kwargs)
        return np.trunc(function(*map(int, args), **kwargs))

    return reference


def _conversion(name: str, dtype: str, exact: bool = True) -> Op:
    """A method like x.long(); floats become integers towards zero."""
    seen = dtype if exact else "float32"
    return Op(
        name, lambda x: x.astype(seen), dtypes="all", result=dtype, grad="float" in dtype,
        grad_options={"eps": 0.25, "atol": 0.02},  # exact in half precision: it is linear
        samples=_always(Sample(np.array([[2.0, 0.0], [1.0, 1.75]])), Sample(np.array(1.5)),
                        Sample(np.zeros((0, 2)))),
        unlike_torch="" if exact else "NumPy has no bfloat16 to compare in",
        raises=[((np.ones(2), 1), {}, TypeError, "argument")],
        # a conversion to the dtype that it has returns the tensor itself
        view=False,
    )  # fmt: skip


def _to_samples(rng: np.random.Generator) -> list[Sample]:
    x = rng.normal(size=(2, 3))
    return [
        Sample(x, genesis.float64, copy=True),
        Sample(x, genesis.float64, False, True),
        Sample(x, "cpu", genesis.float64, False, True),
        Sample(x, device="cpu", dtype=genesis.float64, copy=True),
        Sample(rng.normal(size=()), genesis.float64, non_blocking=True, copy=True),
        Sample(rng.normal(size=(0, 2)), dtype=genesis.float64, copy=True),
    ]


def _one(x: np.ndarray, *_: Any, **__: Any) -> np.ndarray:
    return x


def _fill_diagonal(x, fill_value, wrap=False):
    filled = x.copy()
    if x.size:
        np.fill_diagonal(filled, fill_value, wrap=wrap)
    return filled


FILLED = dict(view=True, layouts=False)  # writes into its first argument

OPS: list[Op] = [
    # --- from data
    Op("tensor", lambda x: np.asarray(x), method=False, grad=False, dtypes="all",
       samples=lambda rng: [Sample(rng.normal(size=(2, 3))), Sample([[1.0, 2.0], [3.0, 4.0]]),
                            Sample(2.5), Sample([]), Sample([[], []]), Sample(range(4)),
                            Sample((1, 2.5)), Sample([True, 2])],
       unlike_torch="a copy of a tensor makes torch warn",
       raises=[(([[1, 2], [3]],), {}, ValueError, "ragged"),
               (([[1, 2], 3],), {}, ValueError, "depth"),
               (("text",), {}, TypeError, "str"),
               (([None],), {}, TypeError, "NoneType"),
               ((300,), {"dtype": genesis.uint8}, ValueError, "300.*uint8"),
               (([1, -129],), {"dtype": genesis.int8}, ValueError, "-129"),
               ((float("nan"),), {"dtype": genesis.int64}, ValueError, "nan"),
               ((2**63,), {}, ValueError, "int64"),
               (([1],), {"requires_grad": True}, TypeError, "floating"),
               (([1],), {"device": "cuda"}, RuntimeError, "cuda")]),
    Op("as_tensor", lambda x, dtype=None: np.asarray(x), method=False, grad=False,
       samples=_always(Sample([1.0, 2.5]), Sample(3), Sample([[1], [2]], dtype=genesis.float64)),
       raises=[((object(),), {}, TypeError, "object")]),
    Op("asarray", lambda x, dtype=None, copy=None: np.asarray(x), method=False, grad=False,
       samples=_always(Sample([1.0, 2.5]), Sample(3), Sample([[1], [2]], dtype=genesis.float64),
                       Sample([1.0], copy=True)),
       raises=[(([1.0],), {"copy": False}, ValueError, "copy")]),
    Op("scalar_tensor", lambda s, dtype=None: np.asarray(s), method=False, grad=False,
       samples=_always(Sample(2.5), Sample(3), Sample(True, dtype=genesis.bool)),
       raises=[(("2",), {}, TypeError, "number")]),
    # --- of a size
    _factory("zeros", np.zeros),
    _factory("ones", np.ones),
    Op("empty", check=_made(lambda s: _shape(s.args or (s.kwargs["size"],)), lambda s: "float32"),
       samples=SIZES, method=False, grad=False, layouts=False, raises=BAD_SIZES,
       unlike_torch=NOT_INITIALISED),
    Op("full", _full, samples=_full_samples, method=False, grad=False, raises=TOO_LARGE),
    Op("empty_strided", method=False, grad=False, layouts=False, unlike_torch=NOT_INITIALISED,
       check=lambda outputs, s: (_made(lambda s: tuple(s.args[0]), lambda s: "float32")(outputs, s),
                                 _equal(outputs[0].stride(), tuple(s.args[1]))),
       samples=_always(Sample((2, 3), (1, 2)), Sample((2, 3), (3, 1)), Sample((), ()),
                       Sample((2, 2), (0, 5)), Sample((0, 3), (7, 7))),
       raises=[(((2,), (1, 1)), {}, ValueError, "strides"),
               (((2,), (-1,)), {}, ValueError, "negative"),
               (((1 << 40, 1 << 40), (1 << 40, 1)), {}, ValueError, "large|elements")]),
    # --- like a tensor
    _like("zeros_like", np.zeros_like),
    _like("ones_like", np.ones_like),
    Op("empty_like", check=_made(lambda s: s.args[0].shape, lambda s: ""), samples=_like_samples,
       dtypes="all", method=False, grad=False, layouts=False, unlike_torch=NOT_INITIALISED),
    Op("full_like", lambda x, value, dtype=None: np.full_like(x, value), dtypes="all", method=False,
       grad=False,
       samples=lambda rng: [Sample(rng.normal(size=(2, 3)), 1), Sample(rng.normal(size=()), -1)],
       raises=[((np.ones(2), 300), {"dtype": genesis.int8}, ValueError, "300")]),
    _new("new_zeros", np.zeros),
    _new("new_ones", np.ones),
    Op("new_empty", check=_made(lambda s: _shape(s.args[1:]), lambda s: ""), samples=_new_samples,
       dtypes="all", grad=False, layouts=False, unlike_torch=NOT_INITIALISED),
    Op("new_empty_strided", check=_made(lambda s: s.args[1], lambda s: ""), dtypes="all",
       grad=False, samples=lambda rng: [Sample(rng.normal(size=2), (2, 3), (1, 2))], layouts=False,
       unlike_torch=NOT_INITIALISED,
       raises=[((np.ones(2), (2,), (1, 1)), {}, ValueError, "strides")]),
    Op("new_full", lambda x, size, value: np.full(size, value), dtypes="all", grad=False,
       samples=_always(Sample(np.ones(2), (2, 3), 1), Sample(np.ones(2), (), 0))),
    Op("new_tensor", lambda x, data: np.asarray(data), dtypes="all", grad=False,
       samples=_always(Sample(np.ones(2), [[1, 0], [1, 1]]), Sample(np.ones(2), 1))),
    # --- sequences
    Op("arange", _arange, method=False, grad=False,
       samples=_always(Sample(5), Sample(0), Sample(2, 7), Sample(7, 2, -2), Sample(1.5, 4.0),
                       Sample(0, 1, 0.25), Sample(end=4), Sample(1, 5, dtype=genesis.float64),
                       Sample(0, 300_000, 7), Sample(-3, 3), Sample(True),
                       Sample(0.9, 4.9, 2.5, dtype=genesis.int64), Sample(0.0, -8.000001, -4.0, dtype=genesis.int64),
                       Sample(0.9, 4.9, 2.5, dtype=genesis.int32), Sample(0.0, -8.000001, -4.0, dtype=genesis.int16)),
       raises=[((0, 5, 0), {}, ValueError, "step"), ((5, 0), {}, ValueError, "step"),
               ((0, float("inf")), {}, ValueError, "finite"), ((), {}, TypeError, "number"),
               ((3,), {"dtype": genesis.bool}, TypeError, "bool"),
               ((0, 3, 0.5), {"dtype": genesis.int64}, ValueError, "as int64 0.5 is zero"),
               ((0, 1e19), {"dtype": genesis.int64}, ValueError, "must fit int64"),
               (("3",), {}, TypeError, "number")]),
    Op("linspace", _spaced(np.linspace), method=False, grad=False, rtol=1e-6,
       samples=_always(Sample(0.0, 1.0, 5), Sample(3, -3, 4), Sample(2, 5, 1), Sample(0, 1, 0),
                       Sample(0, 10, 5, dtype=genesis.int64), Sample(4.3, -3.7, 8, dtype=genesis.int32),
                       Sample(-1.0, 1.0, 2001, dtype=genesis.float64)),
       raises=[((0, 1, -1), {}, ValueError, "steps"), ((0, 1), {}, TypeError, "steps"),
               ((0, 1, 2.5), {}, TypeError, "steps"),
               ((0, 1, 2), {"dtype": genesis.bool}, TypeError, "must not be bool")]),
    Op("logspace", _spaced(np.logspace), method=False, grad=False, rtol=1e-6,
       samples=_always(Sample(0.0, 2.0, 5), Sample(-3, 3, 4, base=2.0), Sample(0, 1, 0),
                       Sample(0, 2, 3, dtype=genesis.int32), Sample(0, 1.2, 2, dtype=genesis.int64)),
       raises=[((0, 1, -1), {}, ValueError, "steps"),
               ((0, 1, 2), {"base": 0}, ValueError, "base")]),
    Op("eye", lambda n, m=None, dtype=None: np.eye(n, m), method=False, grad=False,
       samples=_always(Sample(3), Sample(2, 4), Sample(4, 2), Sample(0), Sample(3, 0),
                       Sample(2, dtype=genesis.bool)),
       raises=[((-1,), {}, ValueError, "negative"), ((2, -1), {}, ValueError, "negative")]),
    # --- copies
    Op("clone", _one, dtypes="all", samples=PLAIN, complex=True),
    Op("contiguous", _one, dtypes="all", view=True, layouts=False, samples=PLAIN),
    Op("detach", _one, dtypes="all", grad=False, view=True, samples=PLAIN),
    Op("fill_", lambda x, value: np.full_like(x, value), dtypes="all", **FILLED,
       samples=lambda rng: [Sample(rng.normal(size=(2, 3)), 1), Sample(rng.normal(size=()), 0.5),
                            Sample(rng.normal(size=(2, 3)), rng.normal(size=())),
                            Sample(rng.normal(size=(0, 2)), 1)],
       raises=[((np.ones(2), np.ones(2)), {}, ValueError, "0-d"),
               ((np.ones(2), "1"), {}, TypeError, "number"),
               ((np.ones(2, np.int8), 300), {}, ValueError, "300")]),
    Op("fill", lambda x, value: np.full_like(x, value), method=False, dtypes="all",
       samples=lambda rng: [Sample(rng.normal(size=(2, 3)), 1), Sample(rng.normal(size=(2, 3)), rng.normal(size=()))]),
    Op("fill_diagonal_", _fill_diagonal, dtypes="all", **FILLED,
       samples=lambda rng: [Sample(rng.normal(size=(3, 3)), 1), Sample(rng.normal(size=(2, 5)), 1),
                            Sample(rng.normal(size=(7, 2)), 1, True), Sample(rng.normal(size=(7, 2)), 1, wrap=False),
                            Sample(rng.normal(size=(3, 3, 3)), 1), Sample(rng.normal(size=(0, 2)), 1)],
       raises=[((np.ones(2), 1), {}, ValueError, "at least 2 dimensions"),
               ((np.ones((2, 2, 3)), 1), {}, ValueError, "one size"),
               ((np.ones((2, 2)), "1"), {}, TypeError, "number")]),
    Op("zero_", np.zeros_like, dtypes="all", **FILLED, samples=PLAIN),
    Op("copy_", lambda x, y: np.broadcast_to(y, x.shape), dtypes="all", **FILLED,
       samples=lambda rng: [Sample(rng.normal(size=to), rng.normal(size=source)) for to, source in
                            (((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), ()), ((0, 3), (1, 3)))],
       raises=[((np.ones(2), np.ones(3)), {}, ValueError, r"\(3,\).*\(2,\)|\(2,\).*\(3,\)"),
               ((np.ones(2), np.ones((1, 2))), {}, ValueError, r"\(1, 2\)")]),
    # --- conversions
    Op("to", _one, samples=_to_samples, dtypes="all", result="float64",
       unlike_torch="dtypes are ours",
       raises=[((np.ones(2), "cuda"), {}, RuntimeError, "cuda"),
               ((np.ones(2), 5), {}, TypeError, "dtype")]),
    Op("type", _one,
       samples=lambda rng: [Sample(rng.normal(size=(2, 3)), "genesis.DoubleTensor"),
                            Sample(rng.normal(size=2), genesis.float64)],
       dtypes="all", result="float64", view=True, unlike_torch="names are ours",
       raises=[((np.ones(2), "genesis.ComplexTensor"), {}, TypeError, "ComplexTensor")]),
    Op("type_as", lambda x, y: x, dtypes="all", fixed=(1,), result="int16", grad=False,
       samples=lambda rng: [Sample(np.array([[1.0, 0.0], [1.0, 1.0]]), np.ones(2, np.int16))]),
    _conversion("float", "float32"),
    _conversion("half", "float16"),
    _conversion("bfloat16", "bfloat16", exact=False),
    _conversion("long", "int64"),
    _conversion("int", "int32"),
    _conversion("short", "int16"),
    _conversion("char", "int8"),
    _conversion("byte", "uint8"),
    _conversion("bool", "bool"),
    Op("double", _one, samples=PLAIN, dtypes="all", result="float64", view=True),
]  # fmt: skip


def _equal(a: Any, b: Any) -> None:
    assert a == b
