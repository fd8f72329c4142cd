"""What a compiled function returns and changes: arguments themselves, parameters, arguments in place."""

from __future__ import annotations

import math
from typing import Any

import genesis
import pytest
from genesis import nn
from genesis._compile import state


def leaves(i: int) -> tuple[Any, Any]:
    x = genesis.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=genesis.float64) * (1 + i)
    return x.requires_grad_(), genesis.tensor([0.5, -1.0], dtype=genesis.float64) * (1 + i)


def test_an_argument_among_the_results_is_the_argument():
    compiled = genesis.compile(lambda x, y: {"x": x, "sum": x * y, "y": y}, fullgraph=True)
    for i in range(4):
        x, y = leaves(i)
        out = compiled(x, y)
        assert out["x"] is x and out["y"] is y
        (out["x"].sum() + out["sum"].sum()).backward()
        assert genesis.equal(x.grad, (1 + y).expand(2, 2))


def test_a_parameter_among_the_results_is_the_parameter():
    layer = nn.Linear(2, 2, dtype=genesis.float64)
    compiled = genesis.compile(lambda x: (layer(x), layer.weight), fullgraph=True)
    for i in range(4):
        layer.zero_grad()
        y, weight = compiled(leaves(i)[0].detach())
        assert weight is layer.weight
        weight.sum().backward()
        assert genesis.equal(weight.grad, genesis.ones(2, 2, dtype=genesis.float64))
        assert y.requires_grad


def test_an_argument_alone():
    compiled = genesis.compile(lambda x: x, fullgraph=True)
    for i in range(3):
        x = leaves(i)[0]
        assert compiled(x) is x


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_gradients_of_one_element(shape):
    compiled = genesis.compile(lambda x: (x * x).reshape(shape))
    for i in range(4):
        x = genesis.tensor(2.0 + i, requires_grad=True)
        compiled(x).double().sum().backward()  # a gradient with strides of 0
        assert x.grad.item() == 2 * (2.0 + i)
    assert compiled.entries[0].uses == 2


def test_second_derivatives_do_not_change_arguments_again():
    def f(x: Any, y: Any) -> Any:
        y.mul_(2)
        return (x**3 * y).sum()

    compiled = genesis.compile(f)
    for i in range(4):
        x, y = leaves(i)
        before = y.clone()
        (first,) = genesis.autograd.grad(compiled(x, y), x, create_graph=True)
        assert genesis.equal(y, 2 * before)
        (second,) = genesis.autograd.grad(first.sum(), x)
        assert genesis.allclose(first, 6 * x**2 * before)
        assert genesis.allclose(second, 12 * x * before)
        assert genesis.equal(y, 2 * before)


def test_second_derivatives_do_not_change_buffers_again():
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("scale", genesis.ones(2, dtype=genesis.float64))

        def forward(self, x: Any) -> Any:
            self.scale.mul_(2)
            return (x**3 * self.scale).sum()

    model = Scaled()
    compiled = genesis.compile(model)
    for i in range(4):
        x, _ = leaves(i)
        (first,) = genesis.autograd.grad(compiled(x), x, create_graph=True)
        assert model.scale.tolist() == [2.0 ** (i + 1)] * 2
        assert genesis.allclose(first, 3 * x**2 * 2.0 ** (i + 1))


def test_an_argument_that_gets_another_shape_is_a_break():
    def f(x: Any) -> Any:
        x.transpose_(0, 1)
        return x + 1

    compiled = genesis.compile(f)
    for i in range(3):
        x = genesis.arange(6.0).reshape(2, 3) + i
        expected = x.mT + 1
        assert genesis.equal(compiled(x), expected) and x.shape == (3, 2)
    assert "changes the shape of an argument" in str(compiled.plan)


@pytest.mark.parametrize("dtype", [genesis.float32, genesis.float64, genesis.complex64])
def test_the_sign_of_nan_is_no_difference(dtype):
    nan, other = (genesis.tensor([value, 1.0], dtype=dtype) for value in (math.nan, -math.nan))
    assert state.bits(nan) != state.bits(other)
    assert not state.differences({"x": state.bits(nan)}, {"x": state.bits(other)})
    zeros = ({"x": state.bits(genesis.tensor([value, math.nan], dtype=dtype))} for value in (0.0, -0.0))  # fmt: skip
    assert state.differences(*zeros) == ["x"]
