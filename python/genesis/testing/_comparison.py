"""assert_close: are two tensors, or two nests of them, equal up to rounding?"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from genesis._C import Tensor

_TOLERANCE = {  # rtol, atol; other dtypes must be equal
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
_NUMBERS = (bool, int, float, complex, np.number, np.bool_)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise an AssertionError unless every ``|actual - expected| <= atol + rtol * |expected|``.

    Takes tensors, NumPy arrays, numbers, None, and sequences and mappings of those, nested. Shapes
    must be equal, and dtypes unless ``check_dtype=False`` (which compares in the wider dtype, with
    the wider tolerance); strides only with ``check_stride``. ``rtol`` and ``atol`` are given both
    or neither; by default they follow from the dtype:

    ==================  =======  ====
    dtype               rtol     atol
    ==================  =======  ====
    float16             1e-3     1e-5
    bfloat16            1.6e-2   1e-5
    float32             1.3e-6   1e-5
    float64             1e-7     1e-7
    others              0        0
    ==================  =======  ====

    The message counts the mismatches and shows the greatest differences and where they are. ``msg``
    replaces it: a string, or a function of it. ``check_device`` and ``check_layout`` always hold:
    tensors are strided and on the CPU.

    >>> try:
    ...     assert_close(genesis.tensor([1.0, 2.0, 3.0]), genesis.tensor([1.0, 2.0, 4.0]))
    ... except AssertionError as error:
    ...     print(error)
    Tensors are not close!
    <BLANKLINE>
    Mismatched elements: 1 / 3 (33.3%)
    Greatest absolute difference: 1.0 at index (2,) (up to 1e-05 allowed)
    Greatest relative difference: 0.25 at index (2,) (up to 1.3e-06 allowed)
    """
    __tracebackhide__ = True
    if (rtol is None) != (atol is None):
        raise ValueError(
            f"assert_close: give both rtol and atol or neither, got rtol={rtol}, atol={atol}"
        )
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value is not None and not isinstance(value, numbers.Real):
            raise TypeError(
                f"assert_close: {name} must be a number, got {type(value).__name__}"
                + ("; use item()" if isinstance(value, Tensor) else "")
            )
        if value is not None and not value >= 0:
            raise ValueError(f"assert_close: {name} must not be negative, got {value}")
    given = None if rtol is None or atol is None else (float(rtol), float(atol))
    comparison = _Comparison(given, allow_subclasses, equal_nan, check_dtype, check_stride)
    try:
        comparison.compare(actual, expected, "")
    except _Mismatch as mismatch:
        text = str(mismatch)
    else:
        return
    raise AssertionError(msg(text) if callable(msg) else text if msg is None else msg)


class _Mismatch(Exception):
    """Carries the text of the AssertionError."""


def _fail(text: str, path: str) -> NoReturn:
    where = f"\n\nThe failure occurred for item {path}" if path else ""
    raise _Mismatch(text + where)


@dataclass(frozen=True)
class _Comparison:
    tolerance: tuple[float, float] | None
    allow_subclasses: bool
    equal_nan: bool
    check_dtype: bool
    check_stride: bool

    def compare(self, actual: Any, expected: Any, path: str) -> None:
        if actual is None or expected is None:
            if actual is not expected:
                _fail(f"None mismatch: {actual} is not {expected}", path)
        elif _both(actual, expected, (Tensor, np.ndarray)) and self._related(actual, expected):
            self._arrays(actual, expected, path)
        elif _both(actual, expected, _NUMBERS):
            self._numbers(actual, expected, path)
        elif _both(actual, expected, Mapping):
            self._mappings(actual, expected, path)
        elif _both(actual, expected, Sequence) and not _either(actual, expected, (str, bytes)):
            if len(actual) != len(expected):
                lengths = f"{len(actual)} != {len(expected)}"
                _fail(f"The lengths of the sequences do not match: {lengths}", path)
            for i, pair in enumerate(zip(actual, expected, strict=True)):
                self.compare(*pair, f"{path}[{i}]")
        else:
            raise TypeError(
                f"assert_close: cannot compare {type(actual).__name__} with "
                f"{type(expected).__name__}{' at item ' + path if path else ''}; tensors, arrays, "
                "numbers, None, and sequences and mappings of them can be compared, each with its "
                "like"
            )

    def _related(self, actual: Any, expected: Any) -> bool:
        if not self.allow_subclasses:
            return type(actual) is type(expected)
        return isinstance(actual, type(expected)) or isinstance(expected, type(actual))

    def _mappings(self, actual: Any, expected: Any, path: str) -> None:
        missing = [key for key in expected if key not in actual]
        additional = [key for key in actual if key not in expected]
        if missing or additional:
            text = "The keys of the mappings do not match:"
            if missing:
                text += f"\nMissing keys in the actual mapping: {missing}"
            if additional:
                text += f"\nAdditional keys in the actual mapping: {additional}"
            _fail(text, path)
        for key in actual:
            self.compare(actual[key], expected[key], f"{path}[{key!r}]")

    def _numbers(self, actual: Any, expected: Any, path: str) -> None:
        if self.check_dtype and type(actual) is not type(expected):
            _fail(f"The types do not match: {type(actual)} != {type(expected)}.", path)
        if isinstance(actual, (bool, np.bool_)) and isinstance(expected, (bool, np.bool_)):
            if bool(actual) != bool(expected):
                _fail(f"Booleans mismatch: {actual} is not {expected}", path)
            return
        a, e = np.asarray(actual), np.asarray(expected)
        self._values(a, e, (a.dtype.name, e.dtype.name), path)

    def _arrays(self, actual: Any, expected: Any, path: str) -> None:
        def require_same(name: str, of_actual: Any, of_expected: Any) -> None:
            if of_actual != of_expected:
                text = f"The values for attribute '{name}' do not match"
                _fail(f"{text}: {of_actual} != {of_expected}.", path)

        require_same("shape", tuple(actual.shape), tuple(expected.shape))
        if self.check_dtype:
            require_same("dtype", actual.dtype, expected.dtype)
        if self.check_stride:
            require_same("stride()", _strides(actual), _strides(expected))
        self._values(_numpy(actual), _numpy(expected), (_name(actual), _name(expected)), path)

    def _values(
        self,
        actual: npt.NDArray[Any],
        expected: npt.NDArray[Any],
        dtypes: tuple[str, str],
        path: str,
    ) -> None:
        rtol, atol = self.tolerance or (
            max(_TOLERANCE.get(name, (0.0, 0.0))[i] for name in dtypes) for i in (0, 1)
        )
        if actual.dtype == np.bool_ or expected.dtype == np.bool_:
            actual, expected = actual.astype(np.int64), expected.astype(np.int64)
        same = actual == expected  # infinities too, whose difference is nan
        if self.equal_nan:
            same |= (actual != actual) & (expected != expected)
        with np.errstate(all="ignore"):
            # unsigned numbers and the ends of int64 wrap around when subtracted
            floats = [x.astype(np.result_type(x.dtype, np.float64)) for x in (actual, expected)]
            difference = np.abs(floats[0] - floats[1])
            relative = difference / np.abs(floats[1])
            allowed = atol + rtol * np.abs(floats[1])
        bad = ~(same | ((rtol > 0 or atol > 0) & np.isfinite(difference) & (difference <= allowed)))
        if not bad.any():
            return
        exact = rtol == 0 and atol == 0
        closeness = "equal" if exact else "close"
        integral = np.issubdtype(np.result_type(actual, expected), np.integer)
        if actual.ndim == 0:
            text = f"Scalars are not {closeness}!\n\nExpected {expected[()]} but got {actual[()]}."
            label = "\n{} difference: {}{}"
        else:
            text = (
                f"Tensors are not {closeness}!\n\n"
                f"Mismatched elements: {bad.sum()} / {bad.size} ({bad.sum() / bad.size:.1%})"
            )
            label = "\nGreatest {} difference: {}{}"
        for kind, values, limit in (("absolute", difference, atol), ("relative", relative, rtol)):
            worst = _worst(values, bad)
            value = values[worst].item()
            if integral and kind == "absolute":
                value = abs(int(actual[worst]) - int(expected[worst]))
            place = f" at index {tuple(int(i) for i in worst)}" if worst else ""
            if not exact:
                place += f" (up to {limit} allowed)"
            text += label.format(kind if actual.ndim else kind.capitalize(), value, place)
        _fail(text, path)


def _worst(values: npt.NDArray[Any], bad: npt.NDArray[np.bool_]) -> tuple[Any, ...]:
    """Where the greatest of the bad values is; a nan is greater than all."""
    ranked = np.where(bad, np.where(np.isnan(values), np.inf, values), -1.0)
    nans = bad & np.isnan(values)
    place = int(nans.argmax() if nans.any() else ranked.argmax())
    return tuple(np.unravel_index(place, values.shape))


def _both(a: Any, b: Any, kinds: Any) -> bool:
    return isinstance(a, kinds) and isinstance(b, kinds)


def _either(a: Any, b: Any, kinds: Any) -> bool:
    return isinstance(a, kinds) or isinstance(b, kinds)


def _name(x: Any) -> str:
    return str(x.dtype).rpartition(".")[2]


def _strides(x: Any) -> tuple[int, ...]:
    if isinstance(x, Tensor):
        return tuple(x.stride())
    return tuple(step // x.itemsize for step in x.strides)


def _numpy(x: Any) -> npt.NDArray[Any]:
    if isinstance(x, Tensor):
        x = x.detach()
        return (x.float() if _name(x) == "bfloat16" else x).numpy()  # type: ignore[no-any-return]
    return np.asarray(x)
