"""Random programs, run by Genesis and by PyTorch: same values, dtypes, shapes, gradients and errors.

A disagreement is classified (`kind`), and the program is made as short as it can be while it still
disagrees in that way. Differences that have a reason are in `explained.py`.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import genesis
import numpy as np
import torch

from tests.fuzz.compare import differs, to_array
from tests.fuzz.explained import explanation
from tests.fuzz.finding import Finding, one_line
from tests.fuzz.program_steps import Builder
from tests.fuzz.target import Target

LIBRARIES = {"genesis": genesis, "torch": torch}
LOSS = "backward"  # the last step of every program
TOLERANCE = {"float64": 1e-7, "float32": 2e-4, "float16": 2e-2, "bfloat16": 1e-1}


@dataclass
class Outcome:
    """What a program left behind."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    types: dict[str, tuple[str, tuple[int, ...], bool]] = field(default_factory=dict)
    grads: dict[str, np.ndarray | None] = field(default_factory=dict)
    shared: dict[str, list[str]] = field(default_factory=dict)  # which others have its memory
    strides: list[tuple[int, ...] | None] = field(default_factory=list)  # of what each step made
    total: float = 0.0  # what was differentiated
    failed_at: int = -1
    error: str = ""


def place_of(t: Any) -> int:
    """Where the storage of a tensor begins."""
    if isinstance(t, torch.Tensor):
        return t.untyped_storage().data_ptr()
    return t.data_ptr() - t.storage_offset() * t.element_size()


def run_program(
    name: str, steps: list[str], nudge: float = 0.0, tracked_only: bool = False
) -> Outcome:
    """`nudge` changes every leaf, or every one that requires grad, by that part of its values."""
    library = LIBRARIES[name]
    space: dict[str, Any] = {"L": library, "F": library.nn.functional}
    result = Outcome()
    number = -1
    try:
        for step in steps:
            number += 1
            exec(step, space)
            made = space.get(step.split(" ")[0])
            result.strides.append(
                tuple(made.stride()) if isinstance(made, library.Tensor) else None
            )
            if nudge and re.match(r"w\d = L\.tensor", step):
                leaf = space[step.split(" ")[0]]
                if leaf.is_floating_point() and (leaf.requires_grad or not tracked_only):
                    leaf.data.mul_(1 + nudge)
        number = len(steps)
        tensors = {k: t for k, t in space.items() if isinstance(t, library.Tensor)}
        for key, t in tensors.items():
            result.arrays[key] = to_array(t)
            dtype = str(t.dtype).rpartition(".")[2]
            result.types[key] = dtype, tuple(t.shape), t.requires_grad
        places = {k: place_of(t) for k, t in tensors.items() if t.numel()}
        for key, place in places.items():
            result.shared[key] = [other for other in places if places[other] == place]
        parts = [
            (t.double() * (0.5 + 0.1 * k)).sum()
            for k, t in enumerate(tensors.values())
            if t.requires_grad
        ]
        if parts:
            total = library.stack(parts).sum()
            result.total = total.item()
            total.backward()
        for key, t in tensors.items():
            if t.is_leaf and t.requires_grad:
                result.grads[key] = None if t.grad is None else to_array(t.grad)
    except Exception as error:
        result.failed_at, result.error = number, one_line(error, 400)
    return result


@dataclass
class Disagreement:
    kind: str
    step: str  # the step that fails, or that made what differs
    text: str
    other_strides: bool = False  # a tensor lies otherwise in memory than PyTorch's
    rounding: bool = False  # whole numbers differ, after floating ones that differ in rounding
    zero_signs: bool = False  # a zero before it has the other sign
    same_total: bool = False  # a gradient is the same in sum, or has moved to other elements


def last_change(steps: list[str], name: str) -> str:
    for step in reversed(steps):
        if re.match(rf"(with .*: )?{name}\b", step):
            return step
    return steps[-1]


def compare(steps: list[str]) -> Disagreement | None:
    ours, theirs = run_program("genesis", steps), run_program("torch", steps)
    found = disagreement(steps, ours, theirs)
    if found is not None and found.kind == "does not raise" and found.step == LOSS:
        slope = wrong_slope(steps, ours)
        if slope:
            found = Disagreement("gradient against differences", LOSS, slope)
    if found is not None:
        pairs = zip(ours.strides, theirs.strides, strict=False)
        found.other_strides = any(a != b for a, b in pairs)
        found.rounding = rounded(found, ours, theirs)
        found.same_total = found.kind == "gradient" and same_total(found, ours, theirs)
        found.zero_signs = any(
            zeros_differ(ours.arrays[k], theirs.arrays[k])
            for k in theirs.arrays
            if k in ours.arrays
        )
    return found


# Where the gradient is not the slope of the values, or the slope is not seen in small differences.
NO_SLOPE = r"detach|no_grad|\.data\b|\.grad\b|autograd|backward|retain_grad|requires_grad_|unique|half|as_strided"
STEP = 1e-5


def _widened(match: re.Match[str]) -> str:
    return "float64" if match[0] == "float32" else ".double()"


def wrong_slope(steps: list[str], ours: Outcome) -> str:
    """Where PyTorch has no gradients to compare with: how ours differ from differences of values,
    along the leaves themselves. Nothing if they agree, or if differences tell nothing."""
    if re.search(NO_SLOPE, "\n".join(steps)):
        return ""
    wide = [re.sub(r"float32|\.float\(\)", _widened, step) for step in steps]
    if wide != steps:
        steps, ours = wide, run_program("genesis", wide)
        if ours.error:
            return ""
    up, down = (run_program("genesis", steps, h, tracked_only=True).total for h in (STEP, -STEP))
    right, left = (up - ours.total) / STEP, (ours.total - down) / STEP
    leaves = {k: g for k, g in ours.grads.items() if k[0] == "w" and g is not None}
    slope = sum(float((g * ours.arrays[k]).sum()) for k, g in leaves.items())
    if not np.isfinite([right, left, slope]).all() or abs(ours.total) > 1e5:
        return ""
    scale = 1 + max(abs(right), abs(left), abs(slope))
    if abs(right - left) > 1e-2 * scale or abs((right + left) / 2 - slope) < 1e-2 * scale:
        return ""
    return f"slope {slope}, differences {left} and {right}"


def zeros_differ(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape or a.dtype.kind != "f":
        return False
    return bool(((a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))).any())


def same_total(found: Disagreement, ours: Outcome, theirs: Outcome) -> bool:
    key = found.text.partition(":")[0]
    a, b = ours.grads.get(key), theirs.grads.get(key)
    if a is None or b is None:
        return False
    if np.isnan(b).any():
        return bool(np.isnan(a).sum() == np.isnan(b).sum())
    if np.isclose(a.sum(), b.sum(), rtol=1e-4):
        return True
    # f(x) and f(-x) may be equal, and have slopes of other signs: differences of equal size, in pairs
    moved = np.sort(np.abs(a - b)[differs(a, b, 1e-4)])
    return moved.size % 2 == 0 and np.allclose(moved[::2], moved[1::2], rtol=1e-3)


def rounded(found: Disagreement, ours: Outcome, theirs: Outcome) -> bool:
    """Whether it is about whole numbers, or how many elements are different or chosen, and floating
    values before it differ in rounding."""
    key = found.text.partition(":")[0]
    whole = found.kind == "value" and "float" not in theirs.types.get(key, ("float",))[0]
    counted = found.kind == "dtype or shape" and re.search(
        r"unique|nonzero|masked_select|\[.*[<>]", found.step
    )
    if not whole and not counted:
        return False
    return any(
        k != key and not np.array_equal(ours.arrays[k], theirs.arrays[k], equal_nan=True)
        for k, (dtype, _, _) in theirs.types.items()
        if "float" in dtype and k in ours.arrays
    )


def disagreement(steps: list[str], ours: Outcome, theirs: Outcome) -> Disagreement | None:
    if ours.error or theirs.error:
        return compare_errors(steps, ours, theirs)
    for key, kind in theirs.types.items():
        mine = ours.types.get(key)
        if mine is None or mine[:2] != kind[:2]:
            return Disagreement(
                "dtype or shape", last_change(steps, key), f"{key}: {mine}, PyTorch {kind}"
            )
        if mine[2] != kind[2]:
            return Disagreement(
                "requires_grad", last_change(steps, key), f"{key}: {mine}, PyTorch {kind}"
            )
    for key in reversed(theirs.shared):  # the last is the one that shares, or does not
        if ours.shared.get(key) != theirs.shared[key]:
            text = f"{key}: {ours.shared.get(key)}, PyTorch {theirs.shared[key]}"
            return Disagreement("shared memory", last_change(steps, key), text)
    nudged = None
    pairs = [("value", k, ours.arrays[k], theirs.arrays[k]) for k in theirs.arrays]
    for key, theirs_grad in theirs.grads.items():
        mine_grad = ours.grads.get(key)
        if (mine_grad is None) != (theirs_grad is None):
            text = f"{key}.grad: {mine_grad!r}, PyTorch {theirs_grad!r}"
            return Disagreement("gradient None", last_change(steps, key), text)
        if mine_grad is not None and theirs_grad is not None:
            pairs.append(("gradient", key, mine_grad, theirs_grad))
    narrow = min((d for d, _, _ in theirs.types.values() if d in TOLERANCE), key=lambda d: -TOLERANCE[d], default="float64")  # fmt: skip
    for kind, key, a, b in pairs:
        if a.shape != b.shape:
            return Disagreement(
                f"{kind} of another shape",
                last_change(steps, key),
                f"{key}: {a.shape}, PyTorch {b.shape}",
            )
        wrong = differs(a, b, TOLERANCE[narrow])
        if not wrong.any():
            continue
        if nudged is None:
            nudged = [run_program("torch", steps, n) for n in (1e-6, -1e-6, 1e-4)]
        if sensitive(kind, key, a, b, wrong, nudged):
            continue
        text = f"{key}: {a.tolist()}\nPyTorch: {b.tolist()}"
        return Disagreement(kind, last_change(steps, key), text[:600])
    return None


def sensitive(
    kind: str,
    key: str,
    ours: np.ndarray,
    theirs: np.ndarray,
    wrong: np.ndarray,
    nudged: list[Outcome],
) -> bool:
    """PyTorch itself gives something else when its inputs change a little: a tie, a border, or a
    sum of large numbers that cancel."""
    with np.errstate(all="ignore"):
        error = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))[wrong]
        moved = np.zeros_like(error)
        for outcome in nudged:
            other = (outcome.arrays if kind == "value" else outcome.grads).get(key)
            if other is None or other.shape != theirs.shape:
                return True
            change = np.abs(other.astype(np.float64) - theirs.astype(np.float64))[wrong]
            moved = np.maximum(moved, np.where(np.isnan(change), np.inf, change))
        error = np.where(np.isnan(error), np.inf, error)
        return bool((moved * 2 >= error).all())


def compare_errors(steps: list[str], ours: Outcome, theirs: Outcome) -> Disagreement | None:
    steps = [*steps, LOSS]
    if ours.error and theirs.error and ours.failed_at == theirs.failed_at:
        return None
    if ours.error and (not theirs.error or ours.failed_at < theirs.failed_at):
        return Disagreement("raises", steps[ours.failed_at], ours.error)
    return Disagreement("does not raise", steps[theirs.failed_at], f"PyTorch: {theirs.error}")


def minimised(steps: list[str], kind: str, operation: str) -> list[str]:
    """The steps without those that are not needed for a disagreement of the kind and operation."""

    def still(candidate: list[str]) -> bool:
        if not candidate:
            return False
        found = compare(candidate)
        return found is not None and found.kind == kind and operation_of(found.step) == operation

    size = max(1, len(steps) // 2)
    while True:
        before = len(steps)
        i = 0
        while i < len(steps):
            candidate = steps[:i] + steps[i + size :]
            if still(candidate):
                steps = candidate
            else:
                i += size
        if size > 1:
            size //= 2
        elif len(steps) == before:  # with a step gone, one before it may go too
            return steps


def operation_of(step: str) -> str:
    """The step without names of variables and numbers: equal for equal defects."""
    text = re.sub(r"^[vw]\d+ = ", "", step)
    text = re.sub(r"L\.tensor\(.*", "tensor", text) if text.startswith("L.tensor") else text
    text = re.sub(r"\b[vw]\d+\b", "x", text)
    return re.sub(r"-?\d+(\.\d+)?", "n", text)[:80]


class Programs(Target):
    seconds = 30.0
    memory = 6 << 30
    count_names = ("steps", "programs that raised in both", "explained disagreements")

    def __init__(self) -> None:
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        self.seen: set[tuple[str, str]] = set()

    def case(self, rng: random.Random) -> Iterator[Finding]:
        steps = Builder(rng).build(rng.choice([4, 6, 8, 12, 18]))
        self.counts[0] += len(steps)
        self.note("a program(\n" + "\n".join(steps))
        found = compare(steps)
        if found is None:
            return
        if explanation(found, steps):
            self.counts[2] += 1
            return
        operation = operation_of(found.step)
        if (found.kind, operation) not in self.seen:  # making it short takes a while
            self.seen.add((found.kind, operation))
            steps = minimised(steps, found.kind, operation)
            found = compare(steps) or found
            if explanation(found, steps):
                self.counts[2] += 1
                return
        code = "\n".join(re.sub(r"\bL\.", "genesis.", step) for step in steps)
        yield Finding(found.kind, operation, f"at: {found.step}\n{found.text}", code)
