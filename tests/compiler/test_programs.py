"""Programs as users write them, compiled and not: every number is the same."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable
from typing import Any

import genesis
import numpy as np
import pytest
from genesis import nn, optim

F = nn.functional
Program = Callable[[Any], list[Any]]
PROGRAMS: list[tuple[Program, bool]] = []


def program(replayed: bool = True) -> Callable[[Program], Program]:
    """A program; ``replayed`` tells whether plans are used, or the function stays eager."""

    def add(function: Program) -> Program:
        PROGRAMS.append((function, replayed))
        return function

    return add


def network(inputs: int = 6, outputs: int = 3) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 8), nn.Tanh(), nn.Linear(8, outputs))


def trained(compiled: Any, after: Callable[[optim.Optimizer], Any], **options: Any) -> list[Any]:
    """Training with a scheduler that ``after`` makes, stepped inside the compiled function."""
    model = network()
    optimizer = optim.SGD(model.parameters(), lr=0.1, **options)
    scheduler = after(optimizer)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss

    step = compiled(step)
    losses = [step(genesis.randn(3, 6)) for _ in range(9)]
    return [*losses, *model.parameters(), *scheduler.get_last_lr()]


@program()
def sequential_schedulers(compiled: Any) -> list[Any]:
    def make(o: Any) -> Any:
        parts = [optim.lr_scheduler.LinearLR(o, 0.1, 1, 3), optim.lr_scheduler.StepLR(o, 2, 0.5)]
        return optim.lr_scheduler.SequentialLR(o, parts, [3])

    return trained(compiled, make)


@program()
def chained_schedulers(compiled: Any) -> list[Any]:
    def make(o: Any) -> Any:
        parts = [
            optim.lr_scheduler.ExponentialLR(o, 0.9),
            optim.lr_scheduler.LambdaLR(o, lambda epoch: 1 / (epoch + 1)),
        ]
        return optim.lr_scheduler.ChainedScheduler(parts)

    return trained(compiled, make)


@program()
def scheduler_of_the_user(compiled: Any) -> list[Any]:
    class Halving(optim.lr_scheduler.LRScheduler):
        made = 0

        def get_lr(self) -> list[Any]:
            return [base / 2**self.made for base in self.base_lrs]

        def step(self, epoch: int | None = None) -> None:
            self.made += 1
            super().step(epoch)

    return trained(compiled, Halving)


@program()
def one_cycle(compiled: Any) -> list[Any]:
    return trained(
        compiled, lambda o: optim.lr_scheduler.OneCycleLR(o, 0.5, total_steps=20), momentum=0.9
    )


@program()
def policy(compiled: Any) -> list[Any]:
    model = network(4)
    optimizer = optim.Adam(model.parameters(), lr=0.01)

    def act(state: Any) -> Any:
        actions = genesis.distributions.Categorical(logits=model(state))
        action = actions.sample()
        return action, actions.log_prob(action)

    def learn(state: Any, action: Any, reward: Any) -> Any:
        optimizer.zero_grad()
        actions = genesis.distributions.Categorical(logits=model(state))
        loss = -(actions.log_prob(action) * reward).mean() - 0.01 * actions.entropy().mean()
        loss.backward()
        optimizer.step()
        return loss

    act, learn = compiled(act), compiled(learn)
    out: list[Any] = []
    for _ in range(6):
        state = genesis.randn(5, 4)
        with genesis.no_grad():
            action, probability = act(state)
        out += [action, probability, learn(state, action, genesis.randn(5))]
    return [*out, *model.parameters()]


@program()
def distribution_that_becomes_invalid(compiled: Any) -> list[Any]:
    f = compiled(lambda scale: genesis.distributions.Normal(0.0, scale).log_prob(genesis.ones(2)))
    out: list[Any] = []
    for value in (1.0, 2.0, 3.0, -1.0, 4.0):
        try:
            out.append(f(genesis.full((2,), value)))
        except ValueError as error:
            out.append(str(error))
    assert isinstance(out[3], str) and "invalid values" in out[3]
    return out


@program()
def gan(compiled: Any) -> list[Any]:
    generator, critic = network(4, 6), network(6, 1)
    first = optim.Adam(critic.parameters(), lr=0.01)
    second = optim.Adam(generator.parameters(), lr=0.01)
    score = F.binary_cross_entropy_with_logits

    def step(real: Any) -> Any:
        fake = generator(genesis.randn(8, 4))
        first.zero_grad()
        one, zero = genesis.ones(8, 1), genesis.zeros(8, 1)
        loss = score(critic(real), one) + score(critic(fake.detach()), zero)
        loss.backward()
        first.step()
        second.zero_grad()
        other = score(critic(fake), one)
        other.backward()
        second.step()
        return {"critic": loss, "generator": other}

    step = compiled(step)
    losses = [step(genesis.randn(8, 6)) for _ in range(6)]
    return [*losses, *generator.parameters(), *critic.parameters()]


@program()
def averaged_weights(compiled: Any) -> list[Any]:
    model, average = network(), network()
    optimizer = optim.AdamW(model.parameters(), lr=0.01)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        with genesis.no_grad():
            for a, p in zip(average.parameters(), model.parameters(), strict=True):
                a.mul_(0.9).add_(p, alpha=0.1)
        return loss

    step = compiled(step)
    return [*(step(genesis.randn(4, 6)) for _ in range(6)), *average.parameters()]


@program()
def gradient_accumulation(compiled: Any) -> list[Any]:
    model = network()
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any, update: bool) -> Any:
        loss = model(x).pow(2).mean()
        loss.backward()
        if update:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    step = compiled(step)
    losses = [step(genesis.randn(4, 6), i % 4 == 3) for i in range(16)]
    return [*losses, *model.parameters()]


@program()
def tensors_of_numbers(compiled: Any) -> list[Any]:
    weights = [1.0, 2.0]

    def f(x: Any) -> Any:
        y = x * genesis.tensor(weights) + genesis.tensor(3) + genesis.as_tensor([[1, 2], [3, 4]])
        return y, F.one_hot(genesis.tensor([1, 0]), 3), genesis.tensor([True, False])

    f = compiled(f)
    out = []
    for i in range(8):
        if i == 5:
            weights[0] = 5.0
        out.append(f(genesis.randn(2, 2)))
    return out


@program()
def one_tensor_twice(compiled: Any) -> list[Any]:
    w = genesis.ones(3, requires_grad=True)

    def f(x: Any) -> Any:
        y = x * 2
        w.grad = None
        (w * x).sum().backward()
        return y, y, x, w.grad

    f = compiled(f)
    out: list[Any] = []
    for _ in range(6):
        x = genesis.randn(3)
        a, b, c, grad = f(x)
        out += [a is b, c is x, grad is w.grad, a, grad]
    return out


@program()
def contents_of_a_set(compiled: Any) -> list[Any]:
    names = {"a", "b"}
    f = compiled(lambda x: x * (2 if "c" in names else 1))
    out = []
    for i in range(8):
        if i == 4:
            names.discard("a")
            names.add("c")
        out.append(f(genesis.ones(1)))
    return out


@program()
def contents_of_an_array(compiled: Any) -> list[Any]:
    factors, queue = np.ones(3), collections.deque([1.0, 2.0])
    f = compiled(lambda x: x * float(factors[0]) + queue[0])
    out = []
    for i in range(12):
        if i == 4:
            factors[0] = 2.0
        if i == 8:
            queue[0] = 5.0
        out.append(f(genesis.ones(1)))
    return out


@program()
def options_of_an_optimizer(compiled: Any) -> list[Any]:
    w = genesis.ones(2, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = (w * x).sum()
        loss.backward()
        optimizer.step()
        return loss, optimizer.param_groups[0]["lr"]

    step = compiled(step)
    out = []
    for i in range(10):
        if i == 6:
            optimizer.param_groups[0]["lr"] = 0.01
        out.append(step(genesis.randn(2)))
    return out


@program()
def numbers_of_numpy(compiled: Any) -> list[Any]:
    f = compiled(lambda x, n: x * int(n))
    return [f(genesis.ones(2), np.int64(i % 2)) for i in range(8)]


@program(replayed=False)
def iterator(compiled: Any) -> list[Any]:
    numbers = itertools.chain([1, 1, 1, 1], itertools.count())
    f = compiled(lambda x: x * next(numbers))
    return [f(genesis.ones(1)) for _ in range(8)]


@program(replayed=False)
def function_with_attributes(compiled: Any) -> list[Any]:
    def f(x: Any) -> Any:
        g.calls += 1  # type: ignore[attr-defined]
        return x * 2

    def g() -> None:
        pass

    g.calls = 0  # type: ignore[attr-defined]
    f = compiled(f)
    return [*(f(genesis.ones(1)) for _ in range(5)), g.calls]  # type: ignore[attr-defined]


@program(replayed=False)
def argument_of_numpy(compiled: Any) -> list[Any]:
    array = np.ones(2)
    f = compiled(lambda x, a: x * float(a[0]))
    out = []
    for i in range(8):
        array[0] = i // 4
        out.append(f(genesis.ones(1), array))
    return out


@program(replayed=False)
def learning_rate_set_inside(compiled: Any) -> list[Any]:
    w = genesis.ones(2, requires_grad=True)
    optimizer = optim.SGD([w], lr=0.1)

    def step(x: Any) -> None:
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.param_groups[0]["lr"] *= 0.5
        optimizer.step()

    step = compiled(step)
    return [*(step(genesis.randn(2)) for _ in range(5)), w]


def known(value: Any) -> Any:
    if isinstance(value, genesis.Tensor):
        return str(value.dtype), tuple(value.shape), genesis._C._to_bytes(value.detach())
    if isinstance(value, (list, tuple)):
        return [known(x) for x in value]
    return {k: known(x) for k, x in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("function, replayed", PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_program(function: Program, replayed: bool) -> None:
    made = []

    def compiled(f: Any) -> Any:
        made.append(genesis.compile(f))
        return made[-1]

    genesis.manual_seed(0)
    eager = known(function(lambda f: f))
    genesis.manual_seed(0)
    assert known(function(compiled)) == eager
    assert (sum(entry.uses for f in made for entry in f.entries) > 0) == replayed
