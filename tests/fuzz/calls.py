"""Random arguments for every public callable.

Whatever the arguments, a call returns or raises an exception that names the operation; it does not
crash, hang, read or write outside its tensors (`guard.py`), change what it was only given to read,
change anything when it raises, or keep memory.
"""

from __future__ import annotations

import gc
import inspect
import itertools
import random
import re
import warnings
from collections.abc import Iterator
from typing import Any

import genesis
import numpy as np

from tests.fuzz.arguments import Arguments, Made
from tests.fuzz.catalogue import KINDS, Public, public
from tests.fuzz.finding import Finding, one_line
from tests.fuzz.guard import Regions
from tests.fuzz.target import Target

EXPECTED = (TypeError, ValueError, RuntimeError, IndexError, MemoryError, OverflowError, ZeroDivisionError, BufferError, StopIteration)  # fmt: skip
INTERNAL = (NotImplementedError, RecursionError, UnboundLocalError)
OF_THE_MACHINE = ("std::", "vector::", "basic_string", "max_size", "bad_alloc")
NO_GRADIENT = re.compile(r"in place|has no derivative|no gradient|not differentiable")
RAISED, UNNAMED = 0, 1  # places in the counts
READ_LIMIT = 1 << 20  # elements of a result that are looked at


def contents(t: genesis.Tensor) -> bytes:
    t = t.detach()
    if t.layout != genesis.strided:
        t = t.to_dense()
    if t.numel() == 0:
        return b""
    if t.dtype == genesis.bfloat16:
        t = t.view(genesis.int16) if t.dim() == 0 or t.stride(-1) == 1 else t.float()
    return np.ascontiguousarray(t.numpy()).tobytes()


class Calls(Target):
    seconds = 10.0
    memory = 1 << 30
    count_names = ("calls that raised", "errors that name no operation")

    def __init__(self) -> None:
        self.public = public()
        self.names = {name for chosen in self.public for name in chosen.names()} | {
            "item",
            "device",
            "dlpack",
        }
        self.regions = Regions()
        self.samples: dict[str, list[Any]] = {}
        warnings.simplefilter("ignore")

    # --- making a call

    def case(self, rng: random.Random) -> Iterator[Finding]:
        gc.disable()
        before = genesis.memory.allocated()
        yield from self.call(rng)
        self.regions.restart()
        if genesis.memory.allocated() != before:
            gc.collect()
        left = genesis.memory.allocated() - before
        if left > 0:
            where = self.text.split("(")[0]
            yield Finding("leak", where, f"{left} bytes are still allocated", self.text)

    def call(self, rng: random.Random) -> Iterator[Finding]:
        genesis.manual_seed(1)
        chosen = rng.choice(self.public)
        arguments = Arguments(rng, self.regions)
        if chosen.rows and rng.random() < 0.75:
            args, kwargs = self.like_a_row(chosen, arguments)
        else:
            args, kwargs = self.by_names(chosen, arguments)
        shown = [code for _, code in args] + [f"{key}={code}" for key, (_, code) in kwargs.items()]
        self.text = f"{chosen.path}({', '.join(shown)})"
        self.note(self.text)
        yield from self.run(
            chosen,
            arguments.tensors,
            [value for value, _ in args],
            {key: value for key, (value, _) in kwargs.items()},
        )

    def by_names(self, chosen: Public, make: Arguments) -> tuple[list[Made], dict[str, Made]]:
        """Arguments that the names of the parameters suggest."""
        args: list[Made] = []
        kwargs: dict[str, Made] = {}
        for parameter in chosen.parameters:
            required = parameter.default is inspect.Parameter.empty
            if parameter.kind is parameter.VAR_POSITIONAL:
                kind = KINDS.get(parameter.name, "anything")
                args += [self.made(kind, make) for _ in range(make.rng.randint(0, 3))]
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                continue
            if make.rng.random() < (0.02 if required else 0.6):
                if parameter.kind is not parameter.KEYWORD_ONLY and required:
                    break
                continue
            kind = KINDS.get(parameter.name, "anything")
            if isinstance(parameter.default, bool):
                kind = "flag"
            by_position = parameter.kind is parameter.POSITIONAL_ONLY or (required and not kwargs)
            made = self.made(kind, make)
            if by_position and not kwargs:
                args.append(made)
            elif parameter.kind is not parameter.POSITIONAL_ONLY:
                kwargs[parameter.name] = made
        return args, kwargs

    def made(self, kind: str, make: Arguments) -> Made:
        if make.rng.random() < 0.06:
            return make.anything()
        made: Made = getattr(make, kind)()
        return made

    def like_a_row(self, chosen: Public, make: Arguments) -> tuple[list[Made], dict[str, Made]]:
        """A call of the op table, with some of its arguments changed."""
        row = make.rng.choice(chosen.rows)
        if row.id not in self.samples:
            self.samples[row.id] = row.all_samples()
        sample = make.rng.choice(self.samples[row.id])
        leaves = {id(a) for a in row.leaves(sample)}
        dtype = make.rng.choice(["float32", "float32", "float64", make.dtype])
        flat = [*enumerate(sample.args), *sample.kwargs.items()]
        changed = (
            {make.rng.randrange(len(flat)) for _ in range(make.rng.randint(0, 2))} if flat else {}
        )
        args: list[Made] = []
        kwargs: dict[str, Made] = {}
        for i, (key, value) in enumerate(flat):
            made = self.like(value, leaves, dtype, make, i in changed)
            if isinstance(key, int):
                args.append(made)
            else:
                kwargs[key] = made
        named = [p for p in chosen.parameters if p.kind is p.KEYWORD_ONLY and p.name not in kwargs]
        if named and make.rng.random() < 0.2:
            parameter = make.rng.choice(named)
            kwargs[parameter.name] = self.made(KINDS.get(parameter.name, "anything"), make)
        return args, kwargs

    def like(self, value: Any, leaves: set[int], dtype: str, make: Arguments, change: bool) -> Made:
        if isinstance(value, np.ndarray):
            if change and make.rng.random() < 0.5:
                return make.tensor() if make.rng.random() < 0.7 else make.anything()
            of = dtype if id(value) in leaves else value.dtype.name
            with np.errstate(all="ignore"):
                return make.tensor(value.shape, of, value)
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            if change and make.rng.random() < 0.3:
                return make.integers()
            place = make.rng.randrange(len(value)) if change and value else -1
            made = [self.like(v, leaves, dtype, make, i == place) for i, v in enumerate(value)]
            text = ", ".join(code for _, code in made)
            return type(value)(v for v, _ in made), f"[{text}]" if type(
                value
            ) is list else f"({text},)"
        if not change:
            return value, repr(value)[:80]
        if isinstance(value, (bool, str)):
            return make.word() if isinstance(value, str) else make.anything()
        if isinstance(value, int):
            return make.integer() if make.rng.random() < 0.85 else make.anything()
        if isinstance(value, float):
            return make.number() if make.rng.random() < 0.85 else make.anything()
        return make.anything()

    # --- looking at what it did

    def run(
        self, chosen: Public, tensors: list[genesis.Tensor], args: list[Any], kwargs: dict[str, Any]
    ) -> Iterator[Finding]:
        before = [contents(t) for t in tensors]
        shapes = [(t.shape, t.stride()) for t in tensors]
        error: BaseException | None = None
        result = None
        try:
            result = chosen.function(*args, **kwargs)
            if inspect.isgenerator(result):
                result = list(itertools.islice(result, 5))
        except Exception as caught:
            error = caught
            yield from self.wrong_error(chosen, caught)
        may_write = chosen.writes or "out" in kwargs or kwargs.get("inplace") is not None
        may_write = may_write or chosen.name in (
            "batch_norm",
            "instance_norm",
        )  # running statistics
        if error is not None or not may_write:
            for t, old, (shape, stride) in zip(tensors, before, shapes, strict=True):
                kind = "changed, then raised" if error is not None else "changed input"
                if t.shape != shape or t.stride() != stride:
                    yield self.finding(kind, chosen, f"{shape} became {t.shape}: {error!r}"[:300])
                elif contents(t) != old:
                    yield self.finding(kind, chosen, f"values of a tensor {shape}: {error!r}"[:300])
        error = None
        yield from self.look_at(chosen, result)

    def wrong_error(self, chosen: Public, error: Exception) -> Iterator[Finding]:
        text = one_line(error)
        self.counts[RAISED] += 1
        missing = isinstance(error, AttributeError) and "has no attribute" in text
        if isinstance(error, AssertionError) and chosen.path.startswith("genesis.testing."):
            return
        if (not isinstance(error, EXPECTED) and not missing) or isinstance(error, INTERNAL):
            yield self.finding("internal error", chosen, text)
        elif any(word in str(error) for word in OF_THE_MACHINE):
            yield self.finding("internal message", chosen, text)
        elif isinstance(error, (MemoryError, StopIteration)):
            pass
        elif not self.names_an_operation(chosen, text):
            self.counts[UNNAMED] += 1
            yield self.finding("unnamed error", chosen, text)

    def names_an_operation(self, chosen: Public, text: str) -> bool:
        """It has the name of what was called, or begins with that of what it stands for or calls."""
        if re.fullmatch(r"Tensor\.__\w+__", chosen.path):  # what Python calls by itself
            return True
        text = text.partition(":")[2].strip().lower()
        begin = re.match(r"([\w.]+)(\(\))?:", text)
        called = begin[1].rpartition(".")[2].strip("_") if begin else ""
        return called in self.names or any(name in text for name in chosen.names())

    def look_at(self, chosen: Public, result: Any) -> Iterator[Finding]:
        """Reads every element of the results and goes back through their graph."""
        found = [result] if isinstance(result, genesis.Tensor) else result
        if not isinstance(found, (list, tuple)):
            return
        for t in found[:100]:  # each backward pass of a split goes through all of its parts
            if not isinstance(t, genesis.Tensor) or t.numel() > READ_LIMIT:
                continue
            contents(t)
            if t.layout != genesis.strided:
                t = t.to_dense()
            if t.requires_grad and t.grad_fn is not None:
                self.note(f"{self.text} backward")
                try:
                    t.backward(genesis.ones_like(t), retain_graph=True)
                except Exception as error:
                    if not isinstance(error, EXPECTED) or isinstance(error, INTERNAL):
                        yield self.finding("internal error in backward", chosen, one_line(error))
                    elif not isinstance(error, MemoryError) and not NO_GRADIENT.search(str(error)):
                        yield self.finding("error in backward", chosen, one_line(error))

    def finding(self, kind: str, chosen: Public, text: str) -> Finding:
        return Finding(kind, chosen.path, text, self.text)
