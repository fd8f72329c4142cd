"""genesis.compile: when a plan is used again, and what ends a capture."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import genesis
import pytest
from genesis import nn
from genesis._compile.compiled import GraphBreak

from tests.compiler.test_compile import bits, plans

F = nn.functional
step: Any = None  # named like a method of optimizers
last: Any


class TestGuards:
    def test_global_with_the_name_of_an_attribute(self) -> None:
        global step
        w = genesis.ones(2, requires_grad=True)
        optimizer = genesis.optim.SGD([w], lr=0.1)

        def train(x: Any) -> Any:
            optimizer.zero_grad()
            loss = (w * x).sum()
            loss.backward()
            optimizer.step()
            return loss

        f = genesis.compile(train)
        for step in range(6):  # noqa: B007
            f(genesis.ones(2))
        assert len(f.entries) == 2  # at first there is no gradient
        step = f = genesis.compile(train)
        for _ in range(6):
            f(genesis.ones(2))
        assert len(f.entries) == 1  # now there is one

    def test_compiled_functions_inside(self) -> None:
        inner = genesis.compile(lambda x: x * 2)
        outer = genesis.compile(lambda x: inner(x) + 1)
        for _ in range(4):
            assert outer(genesis.ones(1)).item() == inner(genesis.ones(1)).item() + 1 == 3
        assert len(outer.entries) == 1

    def test_global_that_is_made(self) -> None:
        def f(x: Any) -> Any:
            global last
            last = x * 2
            return x + 1

        c = genesis.compile(f)
        for i in range(4):
            c(genesis.full((1,), i))
            assert last.item() == 2 * i
        assert c.eager is not None

    def test_zeros_of_both_signs(self) -> None:
        zero = 0.0

        def f(x: Any) -> Any:
            return x * zero

        c = genesis.compile(f)
        for _ in range(3):
            assert bits(c(genesis.ones(1))) == bits(genesis.tensor([0.0]))
        zero = -0.0
        assert bits(c(genesis.ones(1))) == bits(genesis.tensor([-0.0]))
        d = genesis.compile(lambda x, y: x * y)
        for y in (0.0, 0.0, 0.0, -0.0, -0.0, -0.0, 0.0):
            assert bits(d(genesis.ones(1), y)) == bits(genesis.tensor([y]))

    def test_shapes(self) -> None:
        f = genesis.compile(lambda x: x.sum(0) * 2)
        for n in (2, 3, 2, 3, 2, 3):
            x = genesis.randn(n, 4)
            assert bits(f(x)) == bits(x.sum(0) * 2)
            assert bits(f(x.T.contiguous().T)) == bits(x.T.contiguous().T.sum(0) * 2)
        assert len(f.entries) == 4

    def test_numbers(self) -> None:
        f = genesis.compile(lambda x, a: x * a)
        for i in range(20):
            assert f(genesis.ones(2), i % 3 + 0.5).tolist() == [i % 3 + 0.5] * 2

    def test_number_that_always_changes(self) -> None:
        f = genesis.compile(lambda x, a: x * a + a)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for i in range(20):
                assert f(genesis.ones(2), i + 0.5).tolist() == [2 * i + 1.0] * 2
        assert f.eager is None

    def test_globals_and_closures(self) -> None:
        scale = 2.0
        config = {"shift": 1.0}

        def f(x: Any) -> Any:
            return x * scale + config["shift"]

        c = genesis.compile(f)
        for _ in range(3):
            assert c(genesis.ones(1)).item() == 3.0
        scale = 3.0
        assert c(genesis.ones(1)).item() == 4.0
        config["shift"] = 5.0
        assert c(genesis.ones(1)).item() == 8.0

    def test_attributes(self) -> None:
        class Scale(nn.Module):
            factor = 2.0

            def __init__(self) -> None:
                super().__init__()
                self.shift = 1.0

            def forward(self, x: Any) -> Any:
                return x * self.factor + self.shift

        m = Scale()
        c = genesis.compile(m)
        for _ in range(3):
            assert c(genesis.ones(1)).item() == 3.0
        m.shift = 2.0
        assert c(genesis.ones(1)).item() == 4.0
        Scale.factor = 4.0
        assert c(genesis.ones(1)).item() == 6.0

    def test_parameter_replaced(self) -> None:
        m = nn.Linear(2, 2)
        c = genesis.compile(m)
        x = genesis.ones(1, 2)
        for i in range(6):
            if i == 3:
                m.weight.data = genesis.ones(2, 2)
            if i == 5:
                m.weight = nn.Parameter(genesis.zeros(2, 2))
            assert bits(c(x)) == bits(m(x))

    def test_modes_and_threads(self) -> None:
        c = genesis.compile(lambda x: x * 2)
        threads = genesis.get_num_threads()
        try:
            for n in (1, 2, 1):
                genesis.set_num_threads(n)
                for _ in range(3):
                    c(genesis.ones(3))
            assert len(plans(c)) == 2
        finally:
            genesis.set_num_threads(threads)

    def test_overlapping_arguments(self) -> None:
        def f(x: Any, y: Any) -> Any:
            x.add_(1)
            return y * 2

        c = genesis.compile(f)
        for _ in range(3):
            c(genesis.ones(3), genesis.ones(3))
        x = genesis.ones(3)
        assert c(x, x).tolist() == [4.0] * 3
        assert c(x[:2], x[1:]).tolist() == [6.0, 4.0]

    def test_slices_of_one_tensor(self) -> None:
        data = genesis.randn(100, 4)
        f = genesis.compile(lambda x: (x * 2).sum(0))
        for i in range(0, 100, 10):
            assert bits(f(data[i : i + 10])) == bits((data[i : i + 10] * 2).sum(0))
        assert len(f.entries) == 1

    def test_labels_out_of_range(self) -> None:
        f = genesis.compile(lambda x, y: F.cross_entropy(x, y))
        for _ in range(3):
            f(genesis.randn(4, 3), genesis.randint(0, 3, (4,)))
        with pytest.raises(IndexError, match="out of range"):
            f(genesis.randn(4, 3), genesis.full((4,), 3))
        x, y = genesis.randn(4, 3), genesis.tensor([0, -100, 1, -100])
        assert bits(f(x, y)) == bits(F.cross_entropy(x, y))


class TestBreaks:
    @pytest.mark.parametrize(
        ("f", "reason"),
        [
            (lambda x: x * x.sum().item(), "value of a tensor"),
            (lambda x: x if x.sum() > 0 else -x, "value of a tensor"),
            (lambda x: genesis.tensor(x.numpy() * 2), "array"),
            (lambda x: (print(end=""), x * 2)[1], "print"),
            (lambda x: x[x > 0], "memory|kernel|value"),
            (lambda x: x.unique(), "memory|kernel|value"),
        ],
    )
    def test_break(self, f: Any, reason: str) -> None:
        x = genesis.tensor([1.0, -2.0, 3.0])
        c = genesis.compile(f)
        for _ in range(4):
            assert bits(c(x)) == bits(f(x))
        assert not plans(c)
        explained = genesis.compiler.explain(f, x)
        assert len(explained.breaks) == 1
        import re

        assert re.search(reason, explained.breaks[0].reason)
        with pytest.raises(GraphBreak, match=reason):
            genesis.compile(f, fullgraph=True)(x)

    def test_line(self) -> None:
        def f(x: Any) -> Any:
            y = x * 2
            return y.item()

        (found,) = genesis.compiler.explain(f, genesis.ones(())).breaks
        line = f.__code__.co_firstlineno + 2
        assert found.where == f"{__file__}:{line}"

    def test_side_effects(self) -> None:
        calls: list[int] = []

        def f(x: Any) -> Any:
            calls.append(1)
            return x * len(calls)

        c = genesis.compile(f)
        assert [c(genesis.ones(())).item() for _ in range(5)] == [1, 2, 3, 4, 5]
        assert "changes" in str(c.eager)

    def test_python_random(self) -> None:
        import random

        def f(x: Any) -> Any:
            return x * random.random()

        random.seed(0)
        right = [random.random() for _ in range(5)]
        random.seed(0)
        c = genesis.compile(f)
        assert [c(genesis.ones((), dtype=genesis.float64)).item() for _ in range(5)] == right

    def test_hidden_counter(self) -> None:
        import itertools

        counter = itertools.count(1)
        c = genesis.compile(lambda x: x * next(counter))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [c(genesis.ones(())).item() for _ in range(4)]
        assert found[0] == 1 and len(set(found)) == 4

    def test_hooks(self) -> None:
        w = genesis.ones(2, requires_grad=True)
        seen = []
        w.register_hook(lambda g: seen.append(1))

        def f(x: Any) -> Any:
            w.grad = None
            (w * x).sum().backward()
            return x * 2

        c = genesis.compile(f)
        for _ in range(4):
            c(genesis.ones(2))
        assert len(seen) == 4

    def test_custom_function(self) -> None:
        class Double(genesis.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return g * 2

        c = genesis.compile(lambda x: Double.apply(x) + 1)
        assert [c(genesis.ones(())).item() for _ in range(4)] == [3.0] * 4
        assert not plans(c)


def test_devices() -> None:
    f = genesis.compile(lambda x: x * 2)
    made = genesis.compile(lambda: genesis.zeros(2) + 1)
    for _ in range(4):
        f(genesis.ones(2)), made()
    assert f(genesis.ones(2, device="meta")).device.type == "meta"
    with genesis.device("meta"):
        assert made().device.type == "meta"
    assert f(genesis.ones(2)).tolist() == [2, 2] and made().tolist() == [1, 1]


@genesis.compile
def doubled(x: Any) -> Any:
    return x * 2


def test_copies() -> None:
    model = genesis.compile(nn.Linear(2, 2))
    x = genesis.ones(1, 2)
    for _ in range(3):
        y = model(x)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other._orig_mod.weight is not model._orig_mod.weight
        for _ in range(3):
            assert bits(other(x)) == bits(y)
        with genesis.no_grad():
            other._orig_mod.weight.zero_()
        assert other(x).tolist() == [other._orig_mod.bias.tolist()]
        assert bits(model(x)) == bits(y)
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    assert copy.deepcopy(doubled)(x).tolist() == [[2, 2]]


def test_a_break_does_not_hide_plans() -> None:
    w = genesis.ones(2, requires_grad=True)

    def f(x: Any) -> Any:
        return (x * w).sum() * (x.sum().item() if len(x) == 3 else 1)

    c = genesis.compile(f)
    for _ in range(3):
        c(genesis.ones(1, 2))
    assert c(genesis.ones(3, 2)).item() == 36
    (plan,) = plans(c)
    before = plan.uses
    assert c(genesis.ones(1, 2)).item() == 2 and plan.uses == before + 1


def test_tensors_of_other_classes() -> None:
    class Logged(genesis.Tensor):
        calls = 0

        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            cls.calls += 1
            return super().__torch_function__(func, types, args, kwargs or {})

    c = genesis.compile(lambda x: x * 2 + 1)
    for _ in range(4):
        c(genesis.ones(2))
    for i in range(3):
        assert type(c(genesis.ones(2).as_subclass(Logged))) is Logged
        assert Logged.calls == 2 * (i + 1)
    assert len(c.entries) == 1
    assert c(nn.Parameter(genesis.ones(2))).tolist() == [3, 3]
    whole = genesis.compile(lambda x: x * 2, fullgraph=True)
    for _ in range(3):
        whole(genesis.ones(2))
    with pytest.raises(GraphBreak, match="of the class Logged"):
        whole(genesis.ones(2).as_subclass(Logged))


def test_hooks_of_tensors_run_once() -> None:
    w = genesis.ones(2, requires_grad=True)
    seen: list[Any] = []

    def step(x: Any) -> Any:
        w.grad = None
        (w * x).sum().backward()
        return x * 2

    c, f = genesis.compile(step), genesis.compile(lambda x: (x * 3).sum())
    for _ in range(4):
        c(genesis.ones(2)), f(w).backward()
    uses = [sum(e.uses for e in g.entries) for g in (c, f)]
    for register in (w.register_hook, w.register_post_accumulate_grad_hook):
        handle = register(lambda _: seen.append(1))
        for _ in range(2):
            c(genesis.ones(2))
            f(w).backward()
        assert len(seen) == 4
        seen.clear()
        handle.remove()
    assert [sum(e.uses for e in g.entries) for g in (c, f)] == uses
    c(genesis.ones(2)), f(w).backward()
    assert not seen and [sum(e.uses for e in g.entries) for g in (c, f)] == [n + 1 for n in uses]


def test_hooks_of_results_run_once() -> None:
    f = genesis.compile(lambda x: (x * 3).sum())
    for _ in range(3):
        seen: list[Any] = []
        x = genesis.ones(2, requires_grad=True) * 2
        x.register_hook(seen.append)
        f(x).backward()
        assert len(seen) == 1
