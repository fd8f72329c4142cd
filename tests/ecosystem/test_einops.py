"""einops: functions and layers."""

import einops
import einops.layers.torch
import torch

from .helpers import wave


def test_functions():
    x = wave(2, 3, 4, 6)
    y = einops.rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2)
    assert torch.equal(einops.rearrange(y, "b (h w) (p q c) -> b c (h p) (w q)", h=2, p=2, q=2), x)
    torch.testing.assert_close(einops.reduce(x, "b c h w -> b c", "mean"), x.mean((2, 3)))
    assert einops.repeat(x, "b c h w -> b c h w n", n=2).shape == (2, 3, 4, 6, 2)
    torch.testing.assert_close(
        einops.einsum(x, x, "b c h w, b d h w -> b c d"), torch.einsum("bchw,bdhw->bcd", x, x)
    )


def test_layer():
    x = wave(2, 3, 4, 4).requires_grad_()
    layer = torch.nn.Sequential(
        einops.layers.torch.Rearrange("b c h w -> b (c h w)"), torch.nn.Linear(48, 2)
    )
    layer(x).sum().backward()
    assert x.grad.shape == x.shape
