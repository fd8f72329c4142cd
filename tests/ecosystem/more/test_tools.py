"""Science, signals, images, and tools that look at models. Packages outside the main list, one small use of each.

A function is named after the module that it imports. Results are checked by properties (losses
fall, gradients are finite, shapes fit); values are compared where a closed form exists.
"""

import torch
from torch import nn

from .helpers import mlp, trained


def test_jaxtyping():
    from jaxtyping import Float, Int

    assert isinstance(torch.ones(2, 3), Float[torch.Tensor, "a b"])
    assert not isinstance(torch.ones(2, 3), Int[torch.Tensor, "a b"])
    assert not isinstance(torch.ones(2), Float[torch.Tensor, "a b"])


def test_tensordict():
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule

    data = TensorDict({"x": torch.ones(3, 4), "nested": {"y": torch.zeros(3)}}, batch_size=[3])
    assert data["nested", "y"].shape == (3,)
    assert data[1:].batch_size == torch.Size([2])
    assert torch.stack([data, data]).batch_size == torch.Size([2, 3])
    net = TensorDictModule(mlp(), in_keys=["x"], out_keys=["out"])
    net(data)["out"].sum().backward()


def test_torchcde():
    import torchcde

    times = torch.linspace(0, 1, 6)
    x = torch.stack([times, torch.sin(times * 3)], -1)[None]
    coeffs = torchcde.hermite_cubic_coefficients_with_backward_differences(x, times)
    path = torchcde.CubicSpline(coeffs, times)
    torch.testing.assert_close(path.evaluate(times[2]), x[:, 2])

    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = mlp(3, 6)

        def forward(self, t, z):
            return self.net(z).view(1, 3, 2)

    field = Field()
    trained(
        field,
        lambda: (
            torchcde.cdeint(X=path, func=field, z0=torch.ones(1, 3), t=path.interval)
            .square()
            .mean()
        ),
        steps=1,
    )


def test_torchdyn():
    from torchdyn.core import NeuralODE

    net = NeuralODE(nn.Linear(3, 3), solver="rk4", sensitivity="autograd")
    trained(net, lambda: net(torch.randn(2, 3), torch.linspace(0, 1, 4))[1][-1].square().mean())


def test_e3nn():
    from e3nn import o3

    irreps = o3.Irreps("2x0e + 1x1o")
    linear = o3.Linear(irreps, irreps)
    x = irreps.randn(5, -1)
    rotation = o3.rand_matrix()
    d = irreps.D_from_matrix(rotation)
    torch.testing.assert_close(linear(x @ d.T), linear(x) @ d.T, atol=1e-4, rtol=1e-4)
    trained(linear, lambda: linear(x).square().mean())
    assert o3.spherical_harmonics("1o", torch.randn(4, 3), True).shape == (4, 3)


def test_nflows():
    from nflows import distributions, flows, transforms

    flow = flows.Flow(
        transforms.CompositeTransform(
            [
                transforms.ReversePermutation(2),
                transforms.MaskedAffineAutoregressiveTransform(2, hidden_features=8),
            ]
        ),
        distributions.StandardNormal([2]),
    )
    x = torch.randn(16, 2)
    trained(flow, lambda: -flow.log_prob(x).mean())
    assert flow.sample(3).shape == (3, 2)


def test_normflows():
    import normflows

    base = normflows.distributions.DiagGaussian(2)
    net = normflows.nets.MLP([1, 8, 2], init_zeros=True)
    model = normflows.NormalizingFlow(base, [normflows.flows.AffineCouplingBlock(net)])
    x = torch.randn(16, 2)
    trained(model, lambda: model.forward_kld(x))
    assert model.sample(4)[0].shape == (4, 2)


def test_zuko():
    import zuko

    flow = zuko.flows.NSF(features=2, context=1, transforms=2, hidden_features=(8, 8))
    x, c = torch.randn(16, 2), torch.randn(16, 1)
    trained(flow, lambda: -flow(c).log_prob(x).mean())
    assert flow(c).sample((3,)).shape == (3, 16, 2)


def test_sbi():
    from sbi.inference import NPE
    from sbi.utils import BoxUniform

    torch.manual_seed(0)
    prior = BoxUniform(-2 * torch.ones(2), 2 * torch.ones(2))
    theta = prior.sample((64,))
    x = theta + 0.1 * torch.randn_like(theta)
    inference = NPE(prior, density_estimator="mdn", show_progress_bars=False)
    inference.append_simulations(theta, x).train(max_num_epochs=2, training_batch_size=16)
    posterior = inference.build_posterior()
    samples = posterior.sample((8,), x=torch.zeros(2), show_progress_bars=False)
    assert samples.shape == (8, 2)


def test_asteroid_filterbanks():
    from asteroid_filterbanks import Encoder, FreeFB

    net = Encoder(FreeFB(n_filters=8, kernel_size=4))
    trained(net, lambda: net(torch.randn(1, 1, 64)).square().mean())


def test_nnAudio():
    from nnAudio.features import STFT, MelSpectrogram

    x = torch.sin(torch.arange(4096) * 0.1)[None]
    assert STFT(n_fft=256, output_format="Magnitude", verbose=False)(x).shape[1] == 129
    assert MelSpectrogram(sr=8000, n_fft=256, n_mels=16, verbose=False)(x).shape[1] == 16


def test_julius():
    import julius

    x = torch.sin(torch.arange(1000) * 0.05)
    assert julius.resample_frac(x, 4, 2).shape == (500,)
    assert julius.lowpass_filter(x, 0.2).shape == x.shape
    assert julius.split_bands(x, 8000, n_bands=3).shape == (3, 1000)


def test_lpips():
    import lpips

    net = lpips.LPIPS(pretrained=False, net="squeeze", pnet_rand=True, verbose=False)
    x = torch.rand(1, 3, 64, 64, requires_grad=True)
    net(x, torch.rand(1, 3, 64, 64)).sum().backward()
    assert x.grad.isfinite().all()


def test_pytorch_msssim():
    from pytorch_msssim import ms_ssim, ssim

    x = torch.rand(1, 3, 176, 176, requires_grad=True)
    torch.testing.assert_close(ssim(x, x, data_range=1), torch.tensor(1.0))
    ms_ssim(x, torch.rand(1, 3, 176, 176), data_range=1).backward()
    assert x.grad.isfinite().all()


def test_piq():
    import piq

    x = torch.rand(1, 3, 48, 48, requires_grad=True)
    y = torch.rand(1, 3, 48, 48)
    total = piq.psnr(x, y) + piq.ssim(x, y) + piq.total_variation(x) + piq.gmsd(x, y)
    (total + piq.haarpsi(x, y) + piq.fsim(x, y)).sum().backward()
    assert x.grad.isfinite().all()


def test_thop():
    import thop

    macs, params = thop.profile(mlp(), (torch.ones(1, 4),), verbose=False)
    assert (macs, params) == (4 * 8 + 8 * 2, 4 * 8 + 8 + 8 * 2 + 2)


def test_ptflops():
    from ptflops import get_model_complexity_info

    _, params = get_model_complexity_info(
        mlp(), (4,), as_strings=False, print_per_layer_stat=False, backend="pytorch"
    )
    assert params == 58


def test_torchsummary(capsys):
    from torchsummary import summary

    summary(mlp(), (4,), device="cpu")
    assert "Total params: 58" in capsys.readouterr().out


def test_torchview():
    from torchview import draw_graph

    try:
        graph = draw_graph(mlp(), input_size=(1, 4), device="meta")
    except ImportError:  # graphviz is a program
        return
    assert "Linear" in graph.visual_graph.source


def test_pytorch_model_summary():
    from pytorch_model_summary import summary

    assert "58" in summary(mlp(), torch.zeros(1, 4))


def test_torchquad():
    from torchquad import MonteCarlo, Simpson

    f = lambda x: torch.sin(x[:, 0]) + torch.exp(x[:, 1])  # noqa: E731
    domain = [[0, 1], [-1, 1]]
    for rule in (Simpson(), MonteCarlo()):
        value = rule.integrate(f, dim=2, N=10001, integration_domain=domain, backend="torch")
        assert abs(float(value) - 3.2699) < 0.1


def test_torch_audiomentations():
    from torch_audiomentations import Compose, Gain, PolarityInversion

    augment = Compose(
        [Gain(p=1.0, output_type="dict"), PolarityInversion(p=1.0, output_type="dict")],
        output_type="dict",
    )
    assert augment(torch.randn(2, 1, 800), sample_rate=8000).samples.shape == (2, 1, 800)


def test_bertviz():
    from bertviz.util import format_attention

    assert format_attention([torch.rand(1, 2, 4, 4)] * 3).shape == (3, 2, 4, 4)
