"""What the cases share."""

import torch
from torch import nn


def trained(module, loss, make=None, steps=3):
    """Some steps of an optimizer; the losses are finite and parameters change."""
    params = [p for p in module.parameters() if p.requires_grad]
    optimizer = make(params) if make else torch.optim.Adam(params, lr=1e-3)
    before = [p.detach().clone() for p in params]
    values = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        values.append(value.item())
    assert all(v == v and abs(v) < 1e6 for v in values), values
    assert any(not torch.equal(a, b) for a, b in zip(before, params, strict=True))
    return values


def mlp(inputs=4, outputs=2):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(inputs, 8), nn.Tanh(), nn.Linear(8, outputs))


def falling(make, steps=30):
    net, x = mlp(), torch.randn(16, 4)
    y = x[:, :2] * 0.5
    values = trained(net, lambda: nn.functional.mse_loss(net(x), y), make, steps)
    assert values[-1] < values[0]
