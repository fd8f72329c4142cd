"""captum: integrated gradients, saliency and occlusion of a small network."""

import captum.attr
import torch

from .helpers import fill, wave


def test_attributions(check):
    net = fill(torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)))
    x = wave(2, 6)
    integrated, delta = captum.attr.IntegratedGradients(net).attribute(
        x, target=1, n_steps=20, return_convergence_delta=True
    )
    saliency = captum.attr.Saliency(net).attribute(x.clone().requires_grad_(), target=1)
    hidden = captum.attr.LayerActivation(net, net[0]).attribute(x)
    blocked = captum.attr.FeatureAblation(net).attribute(x, target=1)
    check(integrated=integrated, saliency=saliency, hidden=hidden, blocked=blocked)
    assert float(delta.abs().max()) < 1e-2
