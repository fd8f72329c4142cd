"""Finding where NaN and Inf come from, and where an operation whose gradient fails was recorded.

The native observer sees every operation and, in the modes of this file, calls ``stop_forward``,
``stop_backward`` and ``explain`` here when something is wrong. An *origin* is what it notes of an
operation: the path of the module and the Python frames, innermost first.
"""

from __future__ import annotations

import functools
import itertools
import linecache
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, NoReturn

import genesis
from genesis import _C, _scope
from genesis._C import Node, Tensor

if TYPE_CHECKING:
    from typing_extensions import Self

Origin = tuple[str | None, tuple[tuple[CodeType, int], ...]]

_PACKAGE = os.path.join(os.path.dirname(genesis.__file__), "")


class NonFiniteError(RuntimeError):
    """A NaN or an Inf appeared: which operation, where in the code, in which module.

    >>> try:
    ...     with genesis.autograd.check_finite():
    ...         genesis.zeros(2).log()
    ... except NonFiniteError as error:
    ...     print(error.op, error.phase, error.inputs[0].max)
    log forward 0.0
    """

    __module__ = "genesis.autograd"

    def __init__(
        self, text: str, op: str, phase: str, origin: Origin | None, inputs: list[Statistics]
    ) -> None:
        super().__init__(text)
        self.op = op
        self.phase = phase
        self.inputs = inputs
        self.module = origin[0] if origin else None
        frame = user_frame(origin) if origin else None
        self.file = frame[0].co_filename if frame else None
        self.line = frame[1] if frame else None


@dataclass(frozen=True)
class Statistics:
    """What the elements of a tensor are like; min, max and mean are those of the finite ones."""

    shape: tuple[int, ...]
    dtype: _C.dtype
    numel: int
    nan: int
    posinf: int
    neginf: int
    min: float | None
    max: float | None
    mean: float | None

    def __str__(self) -> str:
        words = [f"{self.dtype} {self.shape}".removeprefix("genesis.")]
        for count, what in ((self.nan, "NaN"), (self.posinf, "+Inf"), (self.neginf, "-Inf")):
            if count:
                words.append(f"{count} of {self.numel} {what}")
        if self.numel == 0:
            words.append("no elements")
        elif self.min is None:
            words.append("nothing finite")
        else:
            every = self.nan + self.posinf + self.neginf == 0
            words.append("all finite:" if every else "the finite ones:")
            words[-1] += f" min {self.min:.6g}, max {self.max:.6g}, mean {self.mean:.6g}"
        return ", ".join(words)


def statistics(x: Tensor) -> Statistics:
    """Counts of NaN and Inf, and the range of the finite values.

    >>> print(statistics(genesis.tensor([1.0, 3.0, float("nan")])))
    float32 (3,), 1 of 3 NaN, the finite ones: min 1, max 3, mean 2
    """
    x = x.detach()
    numel = x.numel()
    values = x.double()[genesis.isfinite(x)] if numel else x
    some = values.numel() > 0
    return Statistics(
        shape=tuple(x.shape),
        dtype=x.dtype,
        numel=numel,
        nan=int(genesis.isnan(x).sum().item()),
        posinf=int(genesis.isposinf(x).sum().item()),
        neginf=int(genesis.isneginf(x).sum().item()),
        min=float(values.min().item()) if some else None,
        max=float(values.max().item()) if some else None,
        mean=float(values.mean().item()) if some else None,
    )


# ---- where --------------------------------------------------------------------------------------


def _user_frames(origin: Origin) -> list[tuple[CodeType, int]]:
    frames = list(itertools.takewhile(lambda f: not _of_notebook(f[0].co_filename), origin[1]))
    frames = frames or list(origin[1])
    return [f for f in frames if not f[0].co_filename.startswith(_PACKAGE)] or frames


def _of_notebook(file: str) -> bool:
    """Whether a file is of IPython or its kernel, which run a cell, rather than the cell."""
    return not {"IPython", "ipykernel"}.isdisjoint(Path(file).parts)


def user_frame(origin: Origin) -> tuple[CodeType, int] | None:
    """The innermost frame that is not of this package."""
    frames = _user_frames(origin)
    return frames[0] if frames else None


def describe(origin: Origin, callers: int = 3) -> str:
    """The place in the code, its callers, and the module: some lines of text."""
    lines = []
    for i, (code, number) in enumerate(_user_frames(origin)[: callers + 1]):
        source = linecache.getline(code.co_filename, number).strip()
        lines.append(
            f"  {'at' if i == 0 else 'called from'} {code.co_filename}:{number} in {code.co_name}"
            + (f":  {source}" if source else "")
        )
    if origin[0]:
        lines.append(f"  in module {origin[0]}")
    return "\n".join(lines)


def explain(op: str, recorded: Origin, writer: Origin | None) -> str:
    """Appended to an error of the gradient of ``op``: where it was recorded, and who wrote."""
    text = f"\n'{op}' was recorded\n{describe(recorded)}"
    return text if writer is None else f"{text}\nThe change in place was\n{describe(writer)}"


# ---- what ---------------------------------------------------------------------------------------


def _tensors(value: Any) -> Iterable[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            if isinstance(item, Tensor):
                yield item


def _kind(counts: Statistics) -> str:
    return "NaN" if counts.nan else "Inf"


def _is_wrong(counts: Statistics) -> bool:
    return bool(counts.nan or counts.posinf or counts.neginf)


def stop_forward(op: str, args: Sequence[Any], result: Any, origin: Origin) -> NoReturn:
    """Called by the observer: ``result`` of ``op(*args)`` holds NaN or Inf."""
    op = op.lstrip("_")
    outputs = [statistics(t) for t in _tensors(result)]
    wrong = next(s for s in outputs if _is_wrong(s))
    given = list(_tensors([t for a in args for t in _tensors(a)]))
    inputs = [statistics(t) for t in given]
    written = [any(t is r for r in _tensors(result)) for t in given]
    lines = [f"{op}: {_kind(wrong)} in the result of this operation", describe(origin)]
    for i, counts in enumerate(inputs):
        note = " (after the change in place)" if written[i] else ""
        lines.append(f"  input {i}{note}: {counts}")
    lines += [f"  result: {counts}" for counts in outputs]
    if any(_is_wrong(s) and not w for s, w in zip(inputs, written, strict=True)):
        lines.append(
            "An input held it already: it was made before check_finite() was entered, or is in data"
        )
    elif not wrong.nan:
        lines.append("If infinities are meant here, as in a mask, use check_finite(inf=False)")
    raise NonFiniteError("\n".join(lines), op, "forward", origin, inputs)


def stop_backward(
    node: Node,
    grads: Sequence[Tensor | None],
    results: Sequence[Tensor | None],
    index: int,
    origin: Origin | None,
) -> NoReturn:
    """Called by the observer: gradient ``index`` that ``node`` computed holds NaN or Inf."""
    wrong = results[index]
    assert wrong is not None
    counts = statistics(wrong)
    what = _kind(counts)
    lines = [
        f"Function '{node.name()}' returned {what.lower()} values in its {index}th output "
        f"(the gradient of input {index})"
    ]
    if origin is None:
        lines.append("  where it was recorded is not known: enter the mode before the forward pass")
    else:
        lines.append(f"The operation was recorded\n{describe(origin)}")
    inputs = [(i, statistics(x)) for i, x in enumerate(node.inputs) if x is not None]
    lines += [f"  input {i}: {s}" for i, s in inputs]
    lines += [
        f"  gradient of output {i}: {statistics(g)}" for i, g in enumerate(grads) if g is not None
    ]
    lines.append(f"  gradient of input {index}: {counts}")
    raise NonFiniteError("\n".join(lines), node.name(), "backward", origin, [s for _, s in inputs])


# ---- modes --------------------------------------------------------------------------------------


def _set_anomaly(mode: bool, check_nan: bool) -> tuple[bool, bool]:
    before = _C._set_anomaly(mode, check_nan)
    if mode != before[0]:
        _scope.watch(mode)
    return before


class detect_anomaly:
    """While on, a NaN gradient stops the backward pass with an error that names the operation.

    Every operation notes the Python line that ran it, so errors of a backward pass (NaN, a second
    backward, a saved tensor that was changed in place) show that line. The forward pass must be
    inside, too. ``check_nan=False`` keeps the notes without the check. Slow; for debugging.

    >>> x = genesis.zeros(1, requires_grad=True)
    >>> with detect_anomaly():
    ...     (x.sqrt() * 0).sum().backward()
    Traceback (most recent call last):
    ...
    genesis.autograd.NonFiniteError: Function 'SqrtBackward' returned nan values ...
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan

    def __enter__(self) -> None:
        self._before = _set_anomaly(True, self._check_nan)

    def __exit__(self, *exception: object) -> None:
        _set_anomaly(*self._before)


class set_detect_anomaly:
    """Turn anomaly detection on or off, permanently or as a context manager.

    >>> with set_detect_anomaly(True):
    ...     is_anomaly_enabled()
    True
    >>> is_anomaly_enabled()
    False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = _set_anomaly(bool(mode), check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _set_anomaly(*self._before)


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Turn anomaly detection on or off for good.

    >>> set_anomaly_enabled(False)
    """
    _set_anomaly(bool(enabled), check_nan)


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on.

    >>> is_anomaly_enabled()
    False
    """
    return _C._get_anomaly()[0]


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection, when on, looks for NaN.

    >>> with detect_anomaly(check_nan=False):
    ...     is_anomaly_check_nan_enabled()
    False
    """
    return _C._get_anomaly()[1]


class check_finite:
    """Stops at the first NaN or Inf that an operation of this thread makes, forward or backward.

    The error names the operation, the line that ran it, the module, and what its inputs were like.
    ``inf=False`` lets infinities pass (masks of attention use them), ``nan=False`` NaN;
    ``forward`` and ``backward`` say where to look. Also decorates functions.

    >>> with check_finite():
    ...     y = genesis.tensor([4.0, -1.0]).sqrt()
    Traceback (most recent call last):
    ...
    genesis.autograd.NonFiniteError: sqrt: NaN in the result of this operation...
    """

    def __init__(
        self, nan: bool = True, inf: bool = True, *, forward: bool = True, backward: bool = True
    ) -> None:
        if not (nan or inf) or not (forward or backward):
            raise ValueError(
                "check_finite: nothing to check; leave one of nan and inf, and one of forward and "
                "backward, on"
            )
        self._mode = (bool(nan), bool(inf), bool(forward), bool(backward))
        self._before: list[tuple[bool, bool, bool, bool]] = []

    def __enter__(self) -> Self:
        self._before.append(_C._set_finite(*self._mode))
        _scope.watch(True)
        return self

    def __exit__(self, *exception: object) -> None:
        _C._set_finite(*self._before.pop())
        _scope.watch(False)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with check_finite(
                self._mode[0], self._mode[1], forward=self._mode[2], backward=self._mode[3]
            ):
                return function(*args, **kwargs)

        return checked
