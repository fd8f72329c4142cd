"""Random programs as compiled functions: results and changed arguments have the bits that the function
itself gives in every call, and gradients its values."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import genesis
from genesis import _C

from tests.fuzz.compare import differs, to_array
from tests.fuzz.finding import Finding, one_line
from tests.fuzz.program_steps import Builder
from tests.fuzz.programs import TOLERANCE, operation_of
from tests.fuzz.target import Target

CALLS = 4  # captured, compared by the library itself, replayed twice
LEAF = re.compile(r"w\d = ")
# What the function and its arguments cannot do twice, and what ends every capture.
LEFT_OUT = re.compile(r"\.data\b|\.grad = |requires_grad_|retain_grad|detach_|\.backward\(")


class Rewritten(Builder):
    """Programs with more of what plans rewrite: matrix products, repeated sums, reduced rows."""

    def build(self, length: int) -> list[str]:
        if self.rng.random() < 0.3:
            rows, columns = self.rng.randint(1, 8), self.rng.choice([255, 256, 300, 496])
            values = f"L.arange({rows * columns}, dtype=L.{self.dtype}) * {self.rng.random():.3f}"
            self.add(f"w9 = ({values}).sin().reshape({rows}, {columns}).requires_grad_()")
        return super().build(length)

    def makers(self) -> list[Callable[[], str]]:
        return [*super().makers(), self.product, self.product, self.repeated, self.rows, self.rows]

    def rows(self) -> str:
        x = self.pick(lambda t: t.dim() > 0 and t.shape[-1] > 200 and t.is_floating_point())
        of = f"{x}.{self.rng.choice(['sum', 'mean', 'amax', 'amin', 'prod'])}(-1, keepdim=True)"
        forms = [f"{x} - {of}", f"({x} * 0.5).exp() / ({of}.abs() + 1)", f"({x} - {of}) * {x}", of]
        return f"{self.new()} = {self.rng.choice(forms)}"

    def product(self) -> str:
        x = self.pick(lambda t: t.dim() == 2 and t.is_floating_point())
        rank = len(self.shape(x))
        if rank != 2:
            return ""
        rows, inner = self.shape(x)
        y = self.pick(lambda t: t.dim() == 2 and t.shape[0] == inner and t.is_floating_point())
        half = max(1, rows // 2)
        forms = [
            f"{x}[:{half}] @ {y} + {x}[:{half}] @ {y}",
            f"L.cat([{x}[:{half}] @ {y}, {x}[{half}:] @ {y}])",
            f"({x}[:{half}] @ {y})[:1] @ {y}.mT",
            f"{x}.repeat(4, 1) @ {y}.repeat(1, 3)",
            f"{x} @ {y} + {x} @ {x}.mT @ {x} @ {y}",
        ]
        return f"{self.new()} = {self.rng.choice(forms)}"

    def repeated(self) -> str:
        x, times = self.floating(), self.rng.randint(2, 4)
        form = self.rng.choice(["L.tanh({0} * {1}) + {0}", "{0} * 0.5 + {1}", "{0} - {0}.mean() * {1}"])  # fmt: skip
        name = self.new()
        text = x
        for i in range(times):
            text = f"({form.format(text, i + 1)})"
        return f"{name} = {text}"


def function_of(steps: list[str]) -> tuple[Callable[..., Any], list[Any]]:
    """A program as a function of its leaves that returns all that it makes, and the leaves."""
    space: dict[str, Any] = {"L": genesis, "F": genesis.nn.functional}
    leaves = [step for step in steps if LEAF.match(step)]
    for step in leaves:
        exec(step, space)
    names = [step.split(" ")[0] for step in leaves]
    body = [step for step in steps if not LEAF.match(step) and not LEFT_OUT.search(step)]
    made = dict.fromkeys(m[1] for step in body if (m := re.match(r"(?:with .*: )?(v\d+) = ", step)))
    lines = [f"def program({', '.join(names)}):", *body, f"return [{', '.join(made)}]"]
    exec("\n    ".join(lines), space)
    return space["program"], [space[name] for name in names]


@dataclass
class Outcome:
    """What a call leaves behind."""

    tensors: list[Any]  # results, then arguments
    grads: list[Any]


def call(f: Callable[..., Any], leaves: list[Any], number: int, grads: bool) -> Outcome:
    own = []
    for leaf in leaves:
        x = leaf.detach().clone()
        if x.is_floating_point():
            x *= 1 + 0.25 * number
        own.append(x.requires_grad_(leaf.requires_grad and grads))
    out = [t for t in f(*own) if isinstance(t, genesis.Tensor)]
    tracked = [t for t in out if t.requires_grad]
    if tracked:
        genesis.autograd.backward([t.double().sum() for t in tracked])
    return Outcome([*out, *own], [x.grad for x in own])


def bits(t: Any) -> tuple[Any, ...]:
    x = t.detach()
    if x.is_floating_point():
        x = x.masked_fill(x.isnan(), float("nan"))  # the bits of NaN mean nothing
    return t.dtype, tuple(t.shape), t.requires_grad, _C._to_bytes(x.contiguous())


def difference(found: Outcome, expected: Outcome) -> str:
    for i, (a, b) in enumerate(zip(found.tensors, expected.tensors, strict=True)):
        if bits(a) != bits(b):
            return f"tensor {i}: {a}, expected {b}"
    for i, (a, b) in enumerate(zip(found.grads, expected.grads, strict=True)):
        if (a is None) != (b is None):
            return f"gradient {i}: {a}, expected {b}"
        # Its parts may be added in another order.
        if a is not None and differs(to_array(a), to_array(b), TOLERANCE[str(a.dtype)[8:]]).any():
            return f"gradient {i}: {a}, expected {b}"
    return ""


def disagreement(steps: list[str], grads: bool) -> tuple[str, bool]:
    """How the compiled program differs from the program (empty if it does not), and whether there
    was a plan."""
    f, leaves = function_of(steps)
    try:
        expected = [call(f, leaves, i, grads) for i in range(CALLS)]
    except Exception:
        return "", False  # programs that raise are for another target
    compiled = genesis.compile(f)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(CALLS):
            try:
                text = difference(call(compiled, leaves, i, grads), expected[i])
            except Exception as error:
                text = f"raises {one_line(error, 300)}"
            if text:
                return f"call {i}: {text}", True
    for warning in caught:
        if "differs from the function" in str(warning.message):
            return str(warning.message), True
    return "", any(entry.plan is not None for entry in compiled.entries)


def shortened(steps: list[str], grads: bool) -> list[str]:
    """The steps without those that are not needed for a disagreement."""
    i = len(steps) - 1
    while i >= 0:
        candidate = steps[:i] + steps[i + 1 :]
        try:
            if any(map(LEAF.match, candidate)) and disagreement(candidate, grads)[0]:
                steps = candidate
        except Exception:
            pass  # a name is missing
        i -= 1
    return steps


class Compiled(Target):
    seconds = 60.0
    memory = 6 << 30
    count_names = ("steps", "programs with a plan")

    def __init__(self) -> None:
        warnings.simplefilter("ignore")

    def case(self, rng: random.Random) -> Iterator[Finding]:
        steps = Rewritten(rng).build(rng.choice([4, 6, 8, 12, 18]))
        grads = rng.random() < 0.7
        self.counts[0] += len(steps)
        self.note("a compiled program(\n" + "\n".join(steps))
        text, planned = disagreement(steps, grads)
        self.counts[1] += planned
        if not text:
            return
        steps = shortened(steps, grads)
        text = disagreement(steps, grads)[0] or text
        code = "\n".join(re.sub(r"\bL\.", "genesis.", step) for step in steps)
        yield Finding("compiled", operation_of(steps[-1]), f"{text}\ngradients: {grads}", code)
