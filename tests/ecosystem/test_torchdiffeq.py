"""torchdiffeq: an equation with a known solution, and its gradients by the adjoint method."""

import torch
import torchdiffeq

from .helpers import fill, wave


def test_decay():
    rate = torch.tensor(0.7, requires_grad=True)
    times = torch.linspace(0, 2, 5)
    y = torchdiffeq.odeint(lambda t, y: -rate * y, torch.ones(1), times, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(y[:, 0], torch.exp(-0.7 * times), rtol=1e-4, atol=1e-5)
    y[-1].sum().backward()
    torch.testing.assert_close(rate.grad, -2 * torch.exp(torch.tensor(-1.4)), rtol=1e-3, atol=1e-4)


class Field(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, t, y):
        return torch.tanh(self.layer(y))


def test_adjoint(check):
    field = fill(Field())
    y = torchdiffeq.odeint_adjoint(field, wave(2, 3), torch.tensor([0.0, 1.0]), method="dopri5")
    y[-1].square().sum().backward()
    check(1e-3, y=y, gradient=field.layer.weight.grad)
