"""gpytorch: an exact Gaussian process, fitted and asked."""

import gpytorch
import torch

from .helpers import train


class Model(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood) -> None:
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def test_exact_gp(check):
    x = torch.linspace(0, 1, 12)
    y = torch.sin(6 * x)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(x, y, likelihood)
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    losses = train(model, lambda: -mll(model(x), y), steps=4, lr=0.1)
    model.eval()
    likelihood.eval()
    with torch.no_grad():
        answer = likelihood(model(torch.linspace(0, 1, 5)))
    check(1e-3, losses=losses, mean=answer.mean, variance=answer.variance)
