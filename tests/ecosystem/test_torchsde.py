"""torchsde: paths of a stochastic equation, and gradients through them."""

import torch
import torchsde


class Equation(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self) -> None:
        super().__init__()
        self.drift = torch.nn.Parameter(torch.tensor(-1.0))

    def f(self, t, y):
        return self.drift * y

    def g(self, t, y):
        return 0.01 * torch.ones_like(y)


def test_paths():
    torch.manual_seed(0)
    equation, times = Equation(), torch.linspace(0, 1, 3)
    y = torchsde.sdeint(equation, torch.ones(32, 1), times, dt=0.02, method="euler")
    assert abs(float(y[-1].mean().detach()) - 0.3679) < 0.02
    y[-1].mean().backward()
    assert abs(float(equation.drift.grad) - 0.3679) < 0.05
