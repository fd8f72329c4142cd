"""botorch: a model, and the next point by expected improvement."""

import botorch
import torch


def test_expected_improvement(check):
    x = torch.linspace(0, 1, 6, dtype=torch.float64).unsqueeze(-1)
    y = torch.sin(6 * x)
    model = botorch.models.SingleTaskGP(x, y)
    model.eval()
    improvement = botorch.acquisition.LogExpectedImprovement(model, best_f=y.max())
    points = torch.linspace(0, 1, 4, dtype=torch.float64).reshape(4, 1, 1)
    check(1e-3, values=improvement(points))
