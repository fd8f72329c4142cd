"""Modules as functions of their parameters."""

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.func import functional_call, grad, jacrev

X = genesis.tensor([[1.0, 2.0], [3.0, -1.0]])


class Tied(nn.Module):
    """One weight under two names, one layer under two names, and a buffer that is replaced."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = self.a
        self.c = nn.Linear(2, 2, bias=False)
        self.c.weight = self.a.weight
        self.register_buffer("calls", genesis.zeros(()))

    def forward(self, x, scale=1.0):
        self.calls = self.calls + 1
        return self.a(x) * scale, self.b(x), self.c(x)


def network():
    return nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))


def test_parameters_are_replaced_for_the_call_only():
    model = network()
    before = {k: v.detach().clone() for k, v in model.named_parameters()}
    own = dict(model.named_parameters())
    doubled = {k: v * 2 for k, v in before.items()}
    y = functional_call(model, doubled, X)
    hidden = X.numpy() @ doubled["0.weight"].numpy().T + doubled["0.bias"].numpy()
    expected = hidden @ doubled["1.weight"].numpy().T + doubled["1.bias"].numpy()
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-6)
    assert not y.requires_grad
    assert all(p is own[k] for k, p in model.named_parameters())
    assert model[0].weight is own["0.weight"]
    some = functional_call(model, {"1.bias": genesis.tensor([100.0])}, (X,))
    np.testing.assert_allclose((some - model(X)).detach().numpy(), 100 - before["1.bias"].item() + np.zeros((2, 1)), rtol=1e-4)  # fmt: skip


def test_gradients_are_those_of_the_parameters():
    model = network()

    def loss(parameters):
        return (functional_call(model, parameters, X) ** 2).sum()

    parameters = dict(model.named_parameters())
    gradients = grad(loss)(parameters)
    assert all(p.grad is None for p in model.parameters())
    (model(X) ** 2).sum().backward()
    assert list(gradients) == list(parameters)
    for name, p in parameters.items():
        np.testing.assert_allclose(gradients[name].detach().numpy(), p.grad.numpy(), rtol=1e-6)
    rows = jacrev(lambda p: functional_call(model, p, X))(parameters)
    assert rows["0.weight"].shape == (2, 1, 3, 2)


def test_tied_weights_stay_tied():
    model, zero = Tied(), genesis.zeros(2, 2)
    first, second, third = functional_call(model, {"a.weight": zero}, X)
    np.testing.assert_array_equal(
        first.detach().numpy(), np.tile(model.a.bias.detach().numpy(), (2, 1))
    )
    np.testing.assert_array_equal(second.detach().numpy(), first.detach().numpy())
    assert third.abs().sum() == 0
    by_another_name = functional_call(model, {"b.weight": zero}, X)
    assert by_another_name[2].abs().sum() == 0
    apart = functional_call(model, {"a.weight": zero}, X, tie_weights=False)
    assert apart[2].abs().sum() != 0
    assert functional_call(model, {"a.weight": zero, "b.weight": zero}, X)[2].abs().sum() == 0
    with pytest.raises(ValueError, match="one tensor in the module"):
        functional_call(model, {"a.weight": zero, "c.weight": zero + 1}, X)
    assert model.b is model.a
    assert model.c.weight is model.a.weight


def test_buffers_keywords_and_exceptions():
    model = Tied()
    buffers = {"calls": genesis.tensor(10.0)}
    y, _, _ = functional_call(model, [dict(model.named_parameters()), buffers], X, {"scale": 0.0})
    assert y.abs().sum() == 0
    assert buffers["calls"].item() == 11
    assert model.calls.item() == 0
    weight = model.a.weight
    with pytest.raises(TypeError, match="unexpected keyword"):
        functional_call(model, {"a.weight": weight * 2}, X, {"size": 1})
    assert model.a.weight is weight


def test_errors():
    model = network()
    own = dict(model.named_parameters())
    with pytest.raises(RuntimeError, match=r"missing names \['0.bias'.*unexpected names \['x'\]"):
        functional_call(model, {"0.weight": own["0.weight"], "x": X}, X, strict=True)
    functional_call(model, own, X, strict=True)
    with pytest.raises(ValueError, match="'0.weight' is in several"):
        functional_call(model, (own, own), X)
    with pytest.raises(TypeError, match="'0.bias' must be a tensor, got int"):
        functional_call(model, {"0.bias": 3}, X)
