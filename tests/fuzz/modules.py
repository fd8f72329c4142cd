"""Random models and optimizers: trained a few steps by Genesis and by PyTorch from the same
parameters; and every class of nn and optim made with random arguments."""

from __future__ import annotations

import copy
import gc
import inspect
import io
import random
import warnings
from collections.abc import Iterable, Iterator

import genesis
import numpy as np
import torch

from tests.fuzz.arguments import Arguments
from tests.fuzz.calls import EXPECTED, INTERNAL, Calls
from tests.fuzz.catalogue import KINDS
from tests.fuzz.compare import differs, to_array
from tests.fuzz.finding import Finding, one_line
from tests.fuzz.guard import Regions
from tests.fuzz.models import OPTIMIZERS, SCHEDULERS, Plan, train
from tests.fuzz.target import Target


def any_of(masks: Iterable[np.ndarray]) -> np.ndarray:
    return np.logical_or.reduce(list(masks))


class Modules(Target):
    seconds = 30.0
    memory = 6 << 30
    count_names = ("models trained", "objects made with random arguments")

    def __init__(self) -> None:
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        torch.optim.Adam([torch.ones(1, requires_grad=True)]).step()  # imports much
        self.regions = Regions()
        self.calls = Calls()
        self.classes = [
            (f"genesis.{place}.{name}", cls)
            for place, module in (
                ("nn", genesis.nn),
                ("optim", genesis.optim),
                ("optim.lr_scheduler", genesis.optim.lr_scheduler),
            )
            for name, cls in sorted(vars(module).items())
            if isinstance(cls, type)
            and not name.startswith("_")
            and name not in ("LRScheduler", "Optimizer")
        ]

    def case(self, rng: random.Random) -> Iterator[Finding]:
        before = genesis.memory.allocated()
        if rng.random() < 0.5:
            yield from self.train(rng)
        else:
            yield from self.construct(rng)
        gc.collect()
        self.regions.restart()
        if genesis.memory.allocated() > before:
            left = genesis.memory.allocated() - before
            yield Finding("leak", self.text.split("(")[0], f"{left} bytes", self.text)

    def train(self, rng: random.Random) -> Iterator[Finding]:
        self.counts[0] += 1
        plan = Plan(rng)
        name = rng.choice(list(OPTIMIZERS))
        optimizer = f"{name}(parameters, {rng.choice(OPTIMIZERS[name])})"
        scheduler = rng.choice(["", *SCHEDULERS])
        text = plan.text()
        steps = rng.randint(1, 4)
        self.text = f"training(\n{text}\n{optimizer}\n{scheduler}"
        self.note(self.text)
        torch.manual_seed(rng.getrandbits(30))
        state = {k: to_array(v) for k, v in eval(text, {"nn": torch.nn}).state_dict().items()}
        x = np.random.default_rng(rng.getrandbits(30)).normal(size=plan.shape).astype(np.float32)
        results = []
        for library in (genesis, torch):
            try:
                results.append(train(library, text, optimizer, scheduler, state, x, steps))
            except Exception as error:
                results.append(one_line(error))
        ours, theirs = results
        if isinstance(ours, str) or isinstance(theirs, str):
            if isinstance(ours, str) != isinstance(theirs, str):
                yield Finding(
                    "raises", optimizer.split("(")[0], f"{ours}\nPyTorch: {theirs}"[:400], self.text
                )
            return
        # Steps divide by small gradients, and sharp turns (ReLU, max) amplify: a nudge says how much.
        nudged = [
            train(
                torch, text, optimizer, scheduler,
                {k: v if v.dtype.kind != "f" else v * np.float32(1 + n) for k, v in state.items()},
                x * np.float32(1 + m), steps,
            )[0]
            for m, n in ((1e-6, 0), (-1e-6, 1e-6), (3e-6, -1e-6), (0, 1e-5), (-1e-5, 0))
        ]  # fmt: skip
        nudged.append(self.in_double(text, optimizer, scheduler, state, x, steps))
        # Steps whose size does not depend on the gradient follow the sign of one that is zero but for rounding.
        signs = [
            train(torch, text, optimizer, scheduler, state, x, steps, noise)[0]
            for noise in (1e-7, -1e-7)
        ]
        for key in theirs[0]:
            a, b = ours[0].get(key), theirs[0][key]
            moved = max(np.nanmax(np.abs(b - c[key]), initial=0) for c in nudged)
            if a is None or a.shape != b.shape:
                yield Finding(
                    "state_dict",
                    key,
                    f"{None if a is None else a.shape}, PyTorch {b.shape}",
                    self.text,
                )
            elif np.nanmax(np.abs(a - b), initial=0) <= 10 * moved:
                continue
            elif (
                differs(a, b, 1e-3) & ~any_of(np.abs(a - b) <= 10 * abs(b - c[key]) for c in signs)
            ).any():
                yield Finding(
                    "training differs",
                    f"{optimizer.split('(')[0]} {key.rpartition('.')[2]}",
                    f"{a.tolist()}\nPyTorch {b.tolist()}"[:500],
                    self.text,
                )
        yield from self.round_trip(text, state, x)

    def in_double(
        self, text: str, optimizer: str, scheduler: str, state: dict[str, np.ndarray],
        x: np.ndarray, steps: int,
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """The same by PyTorch in float64: the difference is what rounding does to it."""
        wide = {k: v.astype(np.float64) if v.dtype.kind == "f" else v for k, v in state.items()}
        torch.set_default_dtype(torch.float64)
        try:
            return train(torch, text, optimizer, scheduler, wide, x.astype(np.float64), steps)[0]
        finally:
            torch.set_default_dtype(torch.float32)

    def round_trip(
        self, text: str, state: dict[str, np.ndarray], x: np.ndarray
    ) -> Iterator[Finding]:
        """Copies and files give the same model."""
        model = eval(text, {"nn": genesis.nn})
        model.load_state_dict({k: genesis.tensor(v) for k, v in state.items()})
        model.eval()
        expected = to_array(model(genesis.tensor(x)))
        file = io.BytesIO()
        genesis.save(model.state_dict(), file)
        file.seek(0)
        loaded = eval(text, {"nn": genesis.nn})
        loaded.load_state_dict(genesis.load(file))
        loaded.eval()
        for how, other in (("deepcopy", copy.deepcopy(model)), ("save and load", loaded)):
            if not np.array_equal(to_array(other(genesis.tensor(x))), expected, equal_nan=True):
                yield Finding("another model", how, "the output differs", text)

    def construct(self, rng: random.Random) -> Iterator[Finding]:
        """Any class, with random arguments, and what it makes called with a random tensor."""
        self.counts[1] += 1
        path, cls = rng.choice(self.classes)
        make = Arguments(rng, self.regions)
        try:
            parameters = list(inspect.signature(cls).parameters.values())
        except (TypeError, ValueError):
            return
        args, kwargs = [], {}
        for parameter in parameters:
            required = parameter.default is inspect.Parameter.empty
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or (
                not required and rng.random() < 0.6
            ):
                continue
            kind = KINDS.get(parameter.name) or ("integer" if required else "anything")
            if (
                parameter.name
                in ("params", "optimizer", "module", "encoder_layer", "decoder_layer")
                and rng.random() < 0.8
            ):
                weight = genesis.nn.Parameter(genesis.ones(2, 2))
                weight.grad = genesis.ones(2, 2)
                value = {"params": [weight], "optimizer": genesis.optim.SGD([weight], lr=0.1)}.get(
                    parameter.name, genesis.nn.Linear(2, 2)
                )
                made = value, "an object"
            else:
                made = (
                    (rng.randint(1, 4), "small")
                    if kind == "integer" and rng.random() < 0.7
                    else getattr(make, kind)()
                )
            if required and not kwargs:
                args.append(made)
            else:
                kwargs[parameter.name] = made
        shown = [code for _, code in args] + [f"{k}={code}" for k, (_, code) in kwargs.items()]
        self.text = f"{path}({', '.join(shown)})"
        self.note(self.text)
        try:
            made = cls(*[v for v, _ in args], **{k: v for k, (v, _) in kwargs.items()})
            if isinstance(made, genesis.nn.Module):
                x, code = make.tensor(grad=True)
                self.text += f"({code})"
                self.note(self.text)
                made(x)
            elif isinstance(made, genesis.optim.Optimizer):
                made.step()
                made.load_state_dict(made.state_dict())
            elif hasattr(made, "step"):
                made.step()
        except Exception as error:
            missing = isinstance(error, AttributeError) and "object has no attribute" in str(error)
            if (not isinstance(error, (*EXPECTED, KeyError)) and not missing) or (
                isinstance(error, INTERNAL) and "forward" not in str(error)
            ):
                yield Finding("internal error", path, one_line(error), self.text)
