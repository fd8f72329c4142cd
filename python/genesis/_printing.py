"""How a tensor is shown: PyTorch's layout, character for character.

``tensor_str`` cuts the tensor down to what will be shown (``_shown``), decides once how an element
looks (``_Style``), and lays the nested lists out (``_layout``). Only shown elements ever leave the
tensor, so printing a gigabyte costs as much as printing a thousand elements.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from genesis._C import get_default_dtype

if TYPE_CHECKING:
    from genesis._C import Tensor

_PLAIN = ("Tensor", "Parameter")  # any other class is a user's, and shows its own name
_HALF = ("float16", "bfloat16")
_INFERRED = ("int64", "bool")  # inferred by `tensor(...)`, besides the default dtype


@dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES: dict[str, tuple[int, float, int, int]] = {
    "default": (4, 1000, 3, 80),
    "short": (2, 1000, 2, 80),
    "full": (4, math.inf, 3, 80),
}
_options = _Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print; None keeps an option, except ``sci_mode``, where None means automatic.

    ``profile`` is "default", "short" or "full"; it comes first, the other arguments override it.

    >>> set_printoptions(precision=2)
    >>> genesis.tensor([1.12345])
    tensor([1.12])
    >>> set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(
                f"set_printoptions: profile must be one of {sorted(_PROFILES)}, got {profile!r}"
            )
        _options.precision, _options.threshold, _options.edgeitems, _options.linewidth = _PROFILES[
            profile
        ]
    if precision is not None:
        _options.precision = precision
    if threshold is not None:
        _options.threshold = threshold
    if edgeitems is not None:
        _options.edgeitems = edgeitems
    if linewidth is not None:
        _options.linewidth = linewidth
    _options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The current options, as keyword arguments for :func:`set_printoptions`."""
    return asdict(_options)


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Change the print options inside a ``with`` block."""
    before = get_printoptions()
    try:
        set_printoptions(**options)
        yield
    finally:
        set_printoptions(**before)


def tensor_str(t: Tensor) -> str:
    """The text of ``repr(t)`` and ``str(t)``."""
    dtype = str(t.dtype).rpartition(".")[2]
    default = str(get_default_dtype()).rpartition(".")[2]
    kind = type(t).__name__
    prefix = "tensor(" if kind in _PLAIN else kind + "("
    suffixes = []
    if t.is_meta:
        text = "..."
        suffixes += ["device='meta'", f"size={tuple(t.shape)}"]
        if dtype != default:
            suffixes.append(f"dtype={t.dtype}")
    elif t.numel() == 0:
        text = "[]"
        if len(t.shape) != 1:
            suffixes.append(f"size={tuple(t.shape)}")
        if dtype != default:  # an empty list has no dtype
            suffixes.append(f"dtype={t.dtype}")
    else:
        summarize = t.numel() > _options.threshold
        values = _shown(t.detach(), 0, dtype in _HALF, summarize)
        style = style_of(t, values)
        text = _layout(values, len(t.shape), len(prefix), style)
        if not _options.edgeitems:  # "[...]" alone is ambiguous
            suffixes.append(f"size={tuple(t.shape)}")
        inferred = str(get_default_dtype().to_complex()).rpartition(".")[2]
        if dtype not in (default, inferred, *_INFERRED):
            suffixes.append(f"dtype={t.dtype}")
    if t.grad_fn is not None:
        suffixes.append(f"grad_fn=<{t.grad_fn.name()}>")
    elif t.requires_grad:
        suffixes.append("requires_grad=True")
    return _with_suffixes(prefix + text, suffixes, len(prefix))


def _shown(t: Tensor, dim: int, half: bool, summarize: bool) -> Any:
    """What will be shown, as nested lists, with ... where a dimension was cut (0-d: the number)."""
    if not summarize or dim == len(t.shape):
        return (t.float() if half else t).tolist()
    edge = _options.edgeitems
    size = t.shape[dim]
    if size <= 2 * edge:
        return _shown(t, dim + 1, half, summarize)
    before = (slice(None),) * dim
    first, last = (*before, slice(0, edge)), (*before, slice(size - edge, size))
    head = _shown(t[first], dim + 1, half, summarize)
    tail = _shown(t[last], dim + 1, half, summarize)
    return _join(head, tail, dim)


def _join(head: list[Any], tail: list[Any], dim: int) -> list[Any]:
    """Put ... between two blocks along `dim`; dimensions before it have not been cut yet."""
    if dim == 0:
        return [*head, ..., *tail]
    return [_join(h, t, dim - 1) for h, t in zip(head, tail, strict=True)]


def _leaves(values: Any) -> Iterator[Any]:
    if isinstance(values, list):
        for value in values:
            yield from _leaves(value)
    elif values is not ...:
        yield values


class _Style:
    """How one element looks: chosen once for all shown elements, so that columns line up."""

    def __init__(self, values: list[Any], floating: bool) -> None:
        self.spec = ""
        self.point = ""  # marks an integer as floating point
        self.width = 1
        if not floating:
            self.width = max(len(f"{v}") for v in values) if values else 1
            return
        # zeros and non-finite values fit any style, and do not widen a column either
        counted = [v for v in values if v != 0 and math.isfinite(v)]
        whole = all(v.is_integer() for v in counted)
        if _is_scientific([abs(v) for v in counted]):
            self.spec = f".{_options.precision}e"
        elif whole:
            self.spec, self.point = ".0f", "."
        else:
            self.spec = f".{_options.precision}f"
        self.width = max((len(self.text(v)) for v in counted), default=1)

    def text(self, value: Any) -> str:
        shown = format(value, self.spec)
        if self.point and math.isfinite(value):
            shown += self.point
        return shown.rjust(self.width)


class _ComplexStyle:
    """The same for complex numbers: each part has its own style."""

    def __init__(self, values: list[complex]) -> None:
        self.real = _Style([v.real for v in values], True)
        self.imag = _Style([v.imag for v in values], True)
        self.width = self.real.width + self.imag.width + 1

    def text(self, value: complex) -> str:
        imaginary = self.imag.text(value.imag).lstrip()
        sign = "" if imaginary.startswith("-") else "+"
        return f"{self.real.text(value.real)}{sign}{imaginary}j"


def style_of(t: Tensor, values: Any) -> _Style | _ComplexStyle:
    """How the elements of a tensor look, from those that are shown."""
    shown = list(_leaves(values))
    return _ComplexStyle(shown) if t.is_complex() else _Style(shown, t.is_floating_point())


def _is_scientific(magnitudes: list[float]) -> bool:
    if not magnitudes:
        return False
    if _options.sci_mode is not None:
        return _options.sci_mode
    low, high = min(magnitudes), max(magnitudes)
    return high / low > 1000.0 or high > 1e8 or low < 1e-4


def _layout(values: Any, ndim: int, indent: int, style: _Style | _ComplexStyle) -> str:
    if ndim == 0:
        return style.text(values)
    if ndim > 1:
        rows = [v if v is ... else _layout(v, ndim - 1, indent + 1, style) for v in values]
        between = "," + "\n" * (ndim - 1) + " " * (indent + 1)
        return "[" + between.join("..." if row is ... else row for row in rows) + "]"
    # " ..." with its blank keeps the width of a column; alone (edgeitems=0) it has none to keep
    cut = " ..." if len(values) > 1 else "..."
    cells = [cut if isinstance(v, EllipsisType) else style.text(v) for v in values]
    per_line = max(1, (_options.linewidth - indent) // (style.width + 2))
    lines = [", ".join(cells[i : i + per_line]) for i in range(0, len(cells), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _with_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    used = len(text) - text.rfind("\n") + 1  # PyTorch counts two more than the line holds
    for suffix in suffixes:
        if used + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"
