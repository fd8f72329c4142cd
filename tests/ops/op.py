"""The op table: what a row is, and the cases that it stands for.

A row (`Op`) says what an op computes, by a NumPy/SciPy reference, and which inputs it takes. Every
`table/<family>.py` exports a list `OPS` of rows; the `test_*.py` beside this file run each row
through forward, gradient, layouts, dtypes, in-place form and errors. Three rows:

    Op("exp", np.exp, dtypes="all", result="float", inplace=True, at=[-inf, 0.0, 800.0, nan])
    Op("add", np.add, nin=2, operator=operator.add, scalar=True, dtypes="all", inplace=True)
    Op("roll", lambda x, shifts, dim: np.roll(x, shifts, dim),
       samples=lambda rng: [Sample(rng.normal(size=(2, 3)), 1, 0)])

How samples are read: a float64 array in a sample is a *leaf*, an input that is differentiated, cast
to other dtypes, and laid out in other ways; other arrays become tensors as they are (indices,
masks), and so do arrays at positions or keywords named in `fixed`. The rest is passed as written.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import genesis
import numpy as np

INTS = ["uint8", "int8", "int16", "int32", "int64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
DTYPES = {
    "float": FLOATS,
    "wide": ["float32", "float64"],
    "int": INTS,
    "bool": ["bool"],
    "integral": ["bool", *INTS],
    "number": INTS + FLOATS,
    "all": ["bool", *INTS, *FLOATS],
}

# Shapes of elementwise samples by number of inputs. The first is the plain one; the rest are
# 0-d, zero-size, and every way of broadcasting.
SHAPES: dict[int, list[tuple[tuple[int, ...], ...]]] = {
    1: [((2, 3),), ((5,),), ((),), ((0, 3),), ((2, 1, 3),)],
    2: [
        ((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((3,), ()), ((), ()),
        ((2, 0), (1,)), ((2, 1, 2), (3, 1)),
    ],
    3: [((2, 3), (2, 3), (2, 3)), ((2, 1), (3,), ()), ((), (), ()), ((0, 2), (2,), (1, 1))],
}  # fmt: skip
LONG = (129, 517)  # past the vector width, with a tail, and enough for several threads


class Sample:
    """One call: positional and keyword arguments, NumPy arrays standing for tensors."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        def show(value: Any) -> str:
            if isinstance(value, np.ndarray):
                return f"{value.dtype}{list(value.shape)}"
            if isinstance(value, (list, tuple)):
                return "(" + ", ".join(map(show, value)) + ")"
            return repr(value)

        named = [f"{key}={show(value)}" for key, value in self.kwargs.items()]
        return f"Sample({', '.join([*map(show, self.args), *named])})"


@dataclass(kw_only=True)
class _Options:
    # inputs
    nin: int = 1  # tensors that an elementwise op takes
    low: float = -2.0  # values of the generated inputs
    high: float = 2.0
    kwargs: list[dict[str, Any]] = field(
        default_factory=lambda: [{}]
    )  # variants to try, elementwise
    samples: Callable[[np.random.Generator], list[Sample]] | None = None  # instead of all the above
    scalar: bool = False  # the second input may be a Python number
    at: list[Any] = field(default_factory=list)  # special values; tuples of values if nin > 1
    fixed: tuple[int | str, ...] = ()  # arguments that are neither differentiated nor cast

    # what must hold
    grad: bool = True  # first and second derivative by finite differences
    dtypes: str = "float"  # a key of DTYPES
    complex: bool = False  # defined for complex numbers too, by the same reference
    result: str | Callable[[str], str] = "promote"  # promote, float, sum, or a dtype's name
    check: Callable[..., None] | None = None  # check(outputs, sample) in place of a reference
    method: bool = True  # there is Tensor.<name>
    inplace: bool = False  # there is Tensor.<name>_
    operator: Callable[..., Any] | None = None  # operator.add: also x + y and 1.5 + x
    # the result shares memory with the first input ("each": every output with its own)
    view: bool | str = False
    layouts: bool = True  # any layout of the inputs gives the same result
    random: bool = False  # seeded before each call
    # f -> what is tested in its place: f of symmetric inputs, or without the sign of its outputs.
    # The reference is the reference of that.
    wrap: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None
    raises: list[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = field(
        default_factory=list
    )  # (args, kwargs, exception, regular expression)
    rtol: float = 1e-10  # in float64; float32 and half follow from their precision
    rtol32: float = 1e-5
    grad_options: dict[str, Any] = field(default_factory=dict)  # of gradcheck: atol, rtol, eps
    unlike_torch: str = ""  # why the comparison with PyTorch is left out
    called: str = ""  # what errors call it, if not by its name (an alias)
    variant: str = ""  # tells rows of one name apart


@dataclass
class Op(_Options):
    name: str
    ref: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        assert self.dtypes in DTYPES, f"{self.name}: dtypes={self.dtypes!r}, one of {list(DTYPES)}"
        assert self.ref or self.check, f"{self.name}: needs a reference or a check"
        if "float64" not in DTYPES[self.dtypes]:
            self.grad = False

    @property
    def id(self) -> str:
        return f"{self.name}-{self.variant}" if self.variant else self.name

    @property
    def mutates(self) -> bool:
        """Only an in-place form exists: fill_, copy_."""
        return self.name.endswith("_")

    @property
    def precise(self) -> tuple[str, str]:
        """The two dtypes in which every value is checked."""
        floating = "float64" in DTYPES[self.dtypes]
        return ("float64", "float32") if floating else ("int64", "int32")

    @property
    def elementwise(self) -> bool:
        return self.samples is None

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(zlib.crc32(self.id.encode()))

    def values(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        made = np.asarray(rng.uniform(self.low, self.high, shape))
        return made if self.precise[0] == "float64" else np.asarray(np.trunc(made))

    def all_samples(self) -> list[Sample]:
        rng = self.rng()
        if self.samples is not None:
            return self.samples(rng)
        made = [
            Sample(*(self.values(rng, shape) for shape in shapes), **kwargs)
            for kwargs in self.kwargs
            for shapes in SHAPES[self.nin]
        ]
        if self.scalar:
            made.append(Sample(self.values(rng, (2, 3)), float(self.values(rng, ()))))
        return made

    def long_sample(self) -> Sample:
        rng = self.rng()
        return Sample(*(self.values(rng, LONG) for _ in range(self.nin)), **self.kwargs[0])

    def forms(self) -> dict[str, Callable[..., Any]]:
        """Every way to call it: functions, method, operator."""
        found: dict[str, Callable[..., Any]] = {}
        # torch.embedding_bag and others are not the functions of nn.functional.
        other = genesis._HOME.get(self.name, "").startswith("genesis._second")
        paths = [] if other else [self.name]
        if (
            self.name in genesis.nn.functional.__all__
        ):  # others have the parameters of older programs
            paths.append(f"nn.functional.{self.name}")
        for path in paths:
            function = _lookup(genesis, path)
            if callable(function) and function not in found.values():  # genesis.float is a dtype
                found[f"genesis.{path}"] = function
        if self.method:
            name = self.name
            assert hasattr(genesis.Tensor, name), f"Tensor.{name} does not exist"
            found[f"Tensor.{name}"] = lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)
        if self.operator is not None:
            found[f"operator.{self.operator.__name__}"] = self.operator
        assert found, f"{self.name}: no such function or method"
        return {form: self.wrap(f) for form, f in found.items()} if self.wrap else found

    def complex_leaves(self, sample: Sample) -> list[np.ndarray]:
        """The leaves with imaginary parts."""
        rng = self.rng()
        return [np.asarray(a + 1j * rng.uniform(-1, 1, a.shape)) for a in self.leaves(sample)]

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        """The outputs of the first form."""
        return self.run(next(iter(self.forms().values())), args, kwargs)

    def run(
        self, form: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> list[Any]:
        if self.random:
            genesis.manual_seed(7)
        return listed(form(*args, **kwargs))

    def expected(self, sample: Sample) -> list[np.ndarray]:
        assert self.ref is not None
        with np.errstate(all="ignore"):
            return [np.asarray(r) for r in listed(self.ref(*sample.args, **sample.kwargs))]

    def result_dtype(self, dtype: str) -> str:
        """The dtype of the result, from the promoted dtype of the inputs."""
        if callable(self.result):
            return self.result(dtype)
        rules = {
            "promote": dtype,
            "float": dtype if dtype in FLOATS else "float32",
            "sum": dtype if dtype in FLOATS else "int64",
        }
        return rules.get(self.result, self.result)

    # --- leaves of a sample

    def leaves(self, sample: Sample) -> list[np.ndarray]:
        found: list[np.ndarray] = []

        def collect(array: np.ndarray) -> np.ndarray:
            found.append(array)
            return array

        self._map(sample, collect, lambda array: array)
        return found

    def with_leaves(
        self, sample: Sample, leaves: Iterable[Any], other: Callable[..., Any] | None = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, with `leaves` put in and tensors in place of other arrays."""
        remaining = iter(leaves)
        return self._map(sample, lambda _: next(remaining), other or tensor)

    def with_arrays(self, sample: Sample, leaves: Iterable[np.ndarray]) -> Sample:
        """The sample for the reference, with other values in the leaves."""
        args, kwargs = self.with_leaves(sample, leaves, other=lambda array: array)
        return Sample(*args, **kwargs)

    def _map(
        self, sample: Sample, leaf: Callable[..., Any], other: Callable[..., Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        def mapped(value: Any, fixed: bool) -> Any:
            if isinstance(value, np.ndarray):
                return leaf(value) if value.dtype == np.float64 and not fixed else other(value)
            if isinstance(value, list) or type(value) is tuple:
                return type(value)(mapped(v, fixed) for v in value)
            return value

        args = tuple(mapped(v, i in self.fixed) for i, v in enumerate(sample.args))
        return args, {k: mapped(v, k in self.fixed) for k, v in sample.kwargs.items()}


def _lookup(module: Any, name: str) -> Callable[..., Any] | None:
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def tensor(array: np.ndarray, dtype: str | None = None, **kwargs: Any) -> Any:
    """A tensor of the array's own dtype (the constructor would make float32 of float64)."""
    return genesis.tensor(array, dtype=getattr(genesis, dtype or array.dtype.name), **kwargs)


def dtype_name(t: Any) -> str:
    return str(t.dtype).rpartition(".")[2]


def to_numpy(t: Any) -> np.ndarray:
    if not isinstance(t, genesis.Tensor):
        return np.asarray(t)
    if dtype_name(t) in ("float16", "bfloat16"):
        t = t.float()
    return t.detach().numpy()


def cast(array: np.ndarray, dtype: str, op: Op) -> np.ndarray:
    """The values of a leaf as `dtype` can hold them, still within the op's range, as float64."""
    if dtype in FLOATS:
        return to_numpy(tensor(array, dtype)).astype(np.float64)
    whole = np.clip(np.rint(array), math.ceil(op.low), math.floor(op.high)) + 0.0  # no -0.0
    if dtype == "bool":
        return (whole != 0).astype(np.float64)
    return np.abs(whole) if dtype == "uint8" else whole


def assert_close(
    actual: Any, expected: np.ndarray, rtol: float, what: str, atol: float | None = None
) -> None:
    array = to_numpy(actual)
    assert array.shape == expected.shape, f"{what}: shape {array.shape}, expected {expected.shape}"
    atol = rtol if atol is None else atol
    np.testing.assert_allclose(array, expected, rtol=rtol, atol=atol, err_msg=what)


# --- promotion, written from the rule and not from a table, so that it can be the oracle


def promote(*dtypes: str) -> str:
    result = dtypes[0]
    for other in dtypes[1:]:
        result = _promote(result, other)
    return result


def _promote(a: str, b: str) -> str:
    if a == b:
        return a
    kinds = [2 if d in FLOATS else 1 if d in INTS else 0 for d in (a, b)]
    if kinds[0] != kinds[1]:
        return a if kinds[0] > kinds[1] else b
    if {a, b} == {"float16", "bfloat16"}:
        return "float32"  # neither holds the other
    if {a, b} == {"uint8", "int8"}:
        return "int16"
    order = FLOATS if kinds[0] == 2 else INTS
    return max(a, b, key=order.index)


# --- layouts: the same values, elsewhere in memory. Each gives (leaf, view of the leaf).


def _transposed(a: np.ndarray) -> tuple[np.ndarray, Callable[..., Any]]:
    order = tuple(reversed(range(a.ndim)))
    return np.ascontiguousarray(a.transpose(order)), lambda t: t.permute(order)


def _strided(a: np.ndarray) -> tuple[np.ndarray, Callable[..., Any]]:
    base = np.full(
        (*a.shape[:-1], 2 * a.shape[-1] + 1), 0.125, a.dtype
    )  # the gaps must not be read
    base[..., 1::2] = a
    return base, lambda t: t[..., 1::2]


def _expanded(a: np.ndarray) -> tuple[np.ndarray, Callable[..., Any]]:
    shape = a.shape
    return np.ascontiguousarray(a[..., :1]), lambda t: t.expand(shape)


LAYOUTS: dict[str, Callable[[np.ndarray], tuple[np.ndarray, Callable[..., Any]]]] = {
    "transposed": _transposed,
    "strided": _strided,
    "expanded": _expanded,
}


def layout_cases(
    op: Op, sample: Sample, layout: str
) -> tuple[list[np.ndarray], list[Callable[..., Any]]]:
    """Bases and views for all leaves; a leaf that cannot have the layout stays as it is."""
    bases, views = [], []
    for a in op.leaves(sample):
        base, view = LAYOUTS[layout](a) if a.ndim and a.size else (a, lambda t: t)
        bases.append(base)
        views.append(view)
    return bases, views


# --- writing rows


def axis(function: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy reduction under PyTorch's names: dim and keepdim."""

    def reduced(x: np.ndarray, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
        return function(x, axis=dim, keepdims=keepdim, **kwargs)

    return reduced


def reductions(
    *, low: float = -2.0, high: float = 2.0, tuples: bool = True, empty: bool = True
) -> Callable[[np.random.Generator], list[Sample]]:
    """Samples for a reduction: everything, dims, keepdim, several dims, 0-d, zero-size."""

    def make(rng: np.random.Generator) -> list[Sample]:
        def x(*shape: int) -> np.ndarray:
            return np.asarray(rng.uniform(low, high, shape))

        made = [Sample(x(2, 3)), Sample(x(3, 4), dim=0), Sample(x(3, 4), dim=-1, keepdim=True)]
        made += [
            Sample(x(2, 3, 2), dim=1),
            Sample(x(5), dim=0),
            Sample(x()),
            Sample(x(4, 1), dim=1),
        ]
        if tuples:
            made += [Sample(x(2, 3, 2), dim=(0, 2)), Sample(x(2, 3, 2), dim=(-1, 0), keepdim=True)]
        made.append(Sample(x(0, 3), dim=1))
        if empty:  # the reduction of nothing has a value
            made += [Sample(x(0, 3), dim=0), Sample(x(2, 0))]
        return made

    return make


def function_of(op: Op, sample: Sample) -> Callable[..., tuple[Any, ...]]:
    """A row as a function of the leaves of a sample that returns tensors."""
    form = next(iter(op.forms().values()))

    def function(*leaves: Any) -> tuple[Any, ...]:
        args, kwargs = op.with_leaves(sample, leaves)
        if op.mutates:
            args = (args[0] * 1, *args[1:])
        return tuple(y for y in op.run(form, args, kwargs) if isinstance(y, genesis.Tensor))

    return function


def sample_cases(ops: list[Op]) -> Iterator[tuple[Op, Sample, str]]:
    for op in ops:
        for i, sample in enumerate(op.all_samples()):
            yield op, sample, f"{op.id}-{i}"
