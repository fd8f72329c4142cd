"""Packages outside the main list: one small use of each, run by ``tools/ecosystem --more``.

A function is named after the module that it imports. Results are checked by properties (losses
fall, gradients are finite, shapes fit); values are compared where a closed form exists.
"""

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


def test_torch_optimizer():
    import torch_optimizer

    for name in (
        "AdaBound",
        "RAdam",
        "Lamb",
        "DiffGrad",
        "QHAdam",
        "Yogi",
        "NovoGrad",
        "Adahessian",
    ):
        if name == "Adahessian":
            net, x = mlp(), torch.randn(8, 4)
            optimizer = torch_optimizer.Adahessian(net.parameters())
            net(x).square().mean().backward(create_graph=True)
            optimizer.step()
            continue
        falling(lambda p, n=name: getattr(torch_optimizer, n)(p, lr=1e-2))
    falling(lambda p: torch_optimizer.Lookahead(torch_optimizer.Yogi(p, lr=1e-2)))


def test_pytorch_metric_learning():
    from pytorch_metric_learning import distances, losses, miners, reducers

    net, x, y = mlp(4, 8), torch.randn(12, 4), torch.arange(12) % 3
    miner = miners.MultiSimilarityMiner()
    for loss in (
        losses.TripletMarginLoss(
            distance=distances.CosineSimilarity(), reducer=reducers.MeanReducer()
        ),
        losses.NTXentLoss(),
        losses.ContrastiveLoss(),
        losses.ArcFaceLoss(3, 8),
        losses.CircleLoss(),
    ):
        trained(net, lambda f=loss: f(net(x), y, miner(net(x), y)))


def test_pytorch_lightning():
    import pytorch_lightning as pl

    class Net(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = mlp()

        def training_step(self, batch, index):
            x, y = batch
            loss = nn.functional.cross_entropy(self.net(x), y)
            self.log("loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters())

    data = torch.utils.data.TensorDataset(torch.randn(8, 4), torch.arange(8) % 2)
    trainer = pl.Trainer(
        max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, accelerator="cpu",
    )  # fmt: skip
    trainer.fit(Net(), torch.utils.data.DataLoader(data, 4))
    assert trainer.global_step == 2


def test_segmentation_models_pytorch():
    import segmentation_models_pytorch as smp

    net = smp.Unet("resnet18", encoder_weights=None, classes=2)
    x, y = torch.randn(2, 3, 64, 64), torch.randint(0, 2, (2, 64, 64))
    loss = smp.losses.DiceLoss("multiclass")
    trained(net, lambda: loss(net(x), y), steps=1)
    tp, fp, fn, tn = smp.metrics.get_stats(net(x).argmax(1), y, mode="multiclass", num_classes=2)
    assert 0 <= smp.metrics.iou_score(tp, fp, fn, tn, reduction="micro") <= 1


def test_efficientnet_pytorch():
    from efficientnet_pytorch import EfficientNet

    net = EfficientNet.from_name("efficientnet-b0", num_classes=3)
    trained(net, lambda: net(torch.randn(2, 3, 32, 32)).square().mean(), steps=1)


def test_vit_pytorch():
    from vit_pytorch import SimpleViT, ViT
    from vit_pytorch.cait import CaiT

    x = torch.randn(2, 3, 32, 32)
    sizes = {"image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 32, "mlp_dim": 64}
    vit = ViT(**sizes, depth=2, heads=2)
    trained(vit, lambda: vit(x).square().mean())
    simple = SimpleViT(**sizes, depth=1, heads=2)
    assert simple(x).shape == (2, 5)
    cait = CaiT(**sizes, depth=1, cls_depth=1, heads=2)
    assert cait(x).shape == (2, 5)


def test_lion_pytorch():
    from lion_pytorch import Lion

    falling(lambda p: Lion(p, lr=1e-3))


def test_torch_ema():
    from torch_ema import ExponentialMovingAverage

    net = mlp()
    ema = ExponentialMovingAverage(net.parameters(), decay=0.9)
    trained(net, lambda: net(torch.randn(4, 4)).square().mean())
    ema.update()
    with ema.average_parameters():
        assert net(torch.ones(1, 4)).shape == (1, 2)


def test_ema_pytorch():
    from ema_pytorch import EMA

    net = mlp()
    ema = EMA(net, beta=0.9, update_after_step=0, update_every=1)
    trained(net, lambda: net(torch.randn(4, 4)).square().mean())
    ema.update()
    assert ema(torch.ones(1, 4)).shape == (1, 2)


def test_performer_pytorch():
    from performer_pytorch import PerformerLM

    net = PerformerLM(num_tokens=20, max_seq_len=32, dim=16, depth=1, heads=2, dim_head=8)
    x = torch.randint(0, 20, (2, 32))
    trained(net, lambda: net(x).square().mean(), steps=1)


def test_rotary_embedding_torch():
    from rotary_embedding_torch import RotaryEmbedding

    rotary = RotaryEmbedding(dim=8)
    q = torch.randn(1, 2, 6, 16, requires_grad=True)
    y = rotary.rotate_queries_or_keys(q)
    torch.testing.assert_close(y.norm(dim=-1), q.norm(dim=-1))
    y.sum().backward()
    assert q.grad.isfinite().all()


def test_denoising_diffusion_pytorch():
    from denoising_diffusion_pytorch import GaussianDiffusion, Unet

    net = Unet(dim=8, dim_mults=(1, 2), flash_attn=False)
    diffusion = GaussianDiffusion(net, image_size=16, timesteps=4)
    trained(diffusion, lambda: diffusion(torch.rand(2, 3, 16, 16)), steps=1)
    assert diffusion.sample(batch_size=1).shape == (1, 3, 16, 16)


def test_vector_quantize_pytorch():
    from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, VectorQuantize

    x = torch.randn(1, 32, 16)
    quantizer = VectorQuantize(dim=16, codebook_size=8)
    y, index, loss = quantizer(x)
    assert y.shape == x.shape and index.shape == (1, 32) and loss.numel() == 1
    assert ResidualVQ(dim=16, num_quantizers=2, codebook_size=8)(x)[0].shape == x.shape
    assert FSQ([8, 5, 5])(torch.randn(1, 4, 3))[0].shape == (1, 4, 3)
    assert LFQ(codebook_size=16, dim=4)(torch.randn(1, 4, 4))[0].shape == (1, 4, 4)


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


def test_geoopt():
    import geoopt

    ball = geoopt.PoincareBall()
    p = geoopt.ManifoldParameter(ball.random_normal(4, 2, std=0.1), manifold=ball)
    optimizer = geoopt.optim.RiemannianAdam([p], lr=1e-2)
    target = torch.tensor([0.3, 0.3])
    for _ in range(5):
        optimizer.zero_grad()
        loss = ball.dist(p, target).square().mean()
        loss.backward()
        optimizer.step()
    assert p.norm(dim=-1).max() < 1


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


def test_pytorch_tabnet():
    from pytorch_tabnet.tab_network import TabNet

    group = torch.eye(4)
    net = TabNet(4, 2, n_d=4, n_a=4, group_attention_matrix=group)
    x = torch.randn(16, 4)
    trained(net, lambda: net(x)[0].square().mean() + net(x)[1])


def test_tab_transformer_pytorch():
    from tab_transformer_pytorch import FTTransformer, TabTransformer

    sizes = {
        "categories": (3, 5),
        "num_continuous": 2,
        "dim": 8,
        "dim_out": 1,
        "depth": 1,
        "heads": 2,
    }
    x, z = torch.randint(0, 3, (4, 2)), torch.randn(4, 2)
    for net in (TabTransformer(**sizes, mlp_act=nn.ReLU()), FTTransformer(**sizes)):
        trained(net, lambda n=net: n(x, z).square().mean())


def test_higher():
    import higher

    net, x = mlp(), torch.randn(8, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with higher.innerloop_ctx(net, optimizer, copy_initial_weights=False) as (fast, steps):
        for _ in range(2):
            steps.step(fast(x).square().mean())
        fast(x).square().mean().backward()
    assert all(p.grad is not None for p in net.parameters())


def test_opacus():
    from opacus import PrivacyEngine

    net = mlp()
    data = torch.utils.data.TensorDataset(torch.randn(16, 4), torch.arange(16) % 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    engine = PrivacyEngine(accountant="rdp")
    net, optimizer, loader = engine.make_private(
        module=net,
        optimizer=optimizer,
        data_loader=torch.utils.data.DataLoader(data, 8),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
    )
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    assert engine.get_epsilon(1e-5) > 0


def test_backpack():
    from backpack import backpack, extend
    from backpack.extensions import BatchGrad, DiagGGNExact, Variance

    net, loss = extend(mlp()), extend(nn.CrossEntropyLoss())
    x, y = torch.randn(8, 4), torch.arange(8) % 2
    with backpack(BatchGrad(), Variance(), DiagGGNExact()):
        loss(net(x), y).backward()
    for p in net.parameters():
        torch.testing.assert_close(p.grad_batch.sum(0), p.grad, atol=1e-5, rtol=1e-4)
        assert p.diag_ggn_exact.shape == p.shape


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


def test_facenet_pytorch():
    from facenet_pytorch import InceptionResnetV1

    net = InceptionResnetV1(pretrained=None, classify=True, num_classes=3)
    trained(net, lambda: net(torch.randn(2, 3, 96, 96)).square().mean(), steps=1)


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


def test_open_clip():
    import open_clip

    config = {
        "embed_dim": 16,
        "vision_cfg": {
            "image_size": 32,
            "layers": 1,
            "width": 32,
            "patch_size": 8,
            "head_width": 16,
        },
        "text_cfg": {"context_length": 8, "vocab_size": 50, "width": 16, "heads": 2, "layers": 1},
    }
    net = open_clip.CLIP(**config)
    image, text = torch.randn(2, 3, 32, 32), torch.randint(1, 50, (2, 8))
    loss = open_clip.ClipLoss()

    def value():
        a, b, scale = net(image, text)
        return loss(a, b, scale)

    trained(net, value)


def test_linear_attention_transformer():
    from linear_attention_transformer import LinearAttentionTransformerLM

    net = LinearAttentionTransformerLM(num_tokens=20, dim=16, heads=2, depth=1, max_seq_len=32)
    trained(net, lambda: net(torch.randint(0, 20, (1, 32))).square().mean(), steps=1)


def test_siren_pytorch():
    from siren_pytorch import SirenNet

    net = SirenNet(dim_in=2, dim_hidden=16, dim_out=3, num_layers=2)
    x = torch.rand(8, 2, requires_grad=True)
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    slope.square().mean().backward()


def test_axial_attention():
    from axial_attention import AxialAttention

    net = AxialAttention(dim=8, dim_index=1, heads=2, num_dimensions=2)
    trained(net, lambda: net(torch.randn(1, 8, 4, 4)).square().mean())


def test_local_attention():
    from local_attention import LocalAttention

    q = torch.randn(1, 2, 16, 8, requires_grad=True)
    attend = LocalAttention(dim=8, window_size=4, causal=True, look_backward=1)
    attend(q, q, q).sum().backward()
    assert q.grad.isfinite().all()


def test_product_key_memory():
    from product_key_memory import PKM

    net = PKM(dim=16, heads=2, dim_head=8, num_keys=4, topk=2)
    trained(net, lambda: net(torch.randn(1, 4, 16)).square().mean())


def test_reformer_pytorch():
    from reformer_pytorch import ReformerLM

    net = ReformerLM(
        num_tokens=20, dim=16, depth=1, max_seq_len=32, heads=2, bucket_size=8, n_hashes=2
    )
    trained(net, lambda: net(torch.randint(0, 20, (1, 32))).square().mean(), steps=1)


def test_perceiver_pytorch():
    from perceiver_pytorch import Perceiver

    net = Perceiver(
        input_channels=3, input_axis=2, num_freq_bands=2, max_freq=4.0, depth=1, num_latents=4,
        latent_dim=8, cross_heads=1, latent_heads=2, cross_dim_head=4, latent_dim_head=4,
        num_classes=3,
    )  # fmt: skip
    trained(net, lambda: net(torch.randn(1, 8, 8, 3)).square().mean(), steps=1)


def test_nystrom_attention():
    from nystrom_attention import Nystromformer

    net = Nystromformer(dim=16, dim_head=8, heads=2, depth=1, num_landmarks=4)
    trained(net, lambda: net(torch.randn(1, 16, 16)).square().mean(), steps=1)


def test_mlp_mixer_pytorch():
    from mlp_mixer_pytorch import MLPMixer

    net = MLPMixer(image_size=16, channels=3, patch_size=8, dim=16, depth=1, num_classes=3)
    trained(net, lambda: net(torch.randn(1, 3, 16, 16)).square().mean(), steps=1)


def test_lightly():
    from lightly.loss import BarlowTwinsLoss, NTXentLoss
    from lightly.models.modules import SimCLRProjectionHead

    net = SimCLRProjectionHead(4, 8, 8)
    x, y = torch.randn(8, 4), torch.randn(8, 4)
    trained(net, lambda: NTXentLoss()(net(x), net(y)))
    trained(net, lambda: BarlowTwinsLoss()(net(x), net(y)))


def test_byol_pytorch():
    from byol_pytorch import BYOL

    backbone = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    net = BYOL(
        backbone, image_size=16, hidden_layer=-1, projection_size=8, projection_hidden_size=16
    )
    trained(net, lambda: net(torch.rand(2, 3, 16, 16)), steps=1)
    net.update_moving_average()


def test_pytorch_ranger():
    from pytorch_ranger import Ranger

    falling(lambda p: Ranger(p, lr=1e-2))


def test_adabelief_pytorch():
    from adabelief_pytorch import AdaBelief

    falling(lambda p: AdaBelief(p, lr=1e-2, print_change_log=False))


def test_schedulefree():
    import schedulefree

    def make(params):
        optimizer = schedulefree.AdamWScheduleFree(params, lr=1e-2)
        optimizer.train()
        return optimizer

    falling(make)


def test_prodigyopt():
    from prodigyopt import Prodigy

    falling(lambda p: Prodigy(p, lr=1.0))


def test_dadaptation():
    import dadaptation

    net, x = mlp(), torch.randn(16, 4)
    trained(net, lambda: net(x).square().mean(), lambda p: dadaptation.DAdaptAdam(p, lr=1.0))


def test_entmax():
    import entmax

    x = torch.randn(3, 5, requires_grad=True)
    for f in (entmax.sparsemax, entmax.entmax15, entmax.entmax_bisect):
        y = f(x, dim=-1)
        torch.testing.assert_close(y.sum(-1), torch.ones(3))
        y.square().sum().backward()


def test_torchcrf():
    from torchcrf import CRF

    net = CRF(3)
    x, y = torch.randn(5, 2, 3), torch.randint(0, 3, (5, 2))
    trained(net, lambda: -net(x, y))
    assert len(net.decode(x)) == 2


def test_torchquad():
    from torchquad import MonteCarlo, Simpson

    f = lambda x: torch.sin(x[:, 0]) + torch.exp(x[:, 1])  # noqa: E731
    domain = [[0, 1], [-1, 1]]
    for rule in (Simpson(), MonteCarlo()):
        value = rule.integrate(f, dim=2, N=10001, integration_domain=domain, backend="torch")
        assert abs(float(value) - 3.2699) < 0.1


def test_laplace():
    from laplace import Laplace

    net, x = mlp(), torch.randn(16, 4)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, torch.arange(16) % 2), 8)
    la = Laplace(net, "classification", subset_of_weights="last_layer", hessian_structure="diag")
    la.fit(loader)
    assert la(x[:2]).shape == (2, 2)


def test_trl():
    from trl.trainer.utils import selective_log_softmax

    logits = torch.randn(2, 5, 7)
    index = torch.randint(0, 7, (2, 5))
    expected = logits.log_softmax(-1).gather(-1, index[..., None])[..., 0]
    torch.testing.assert_close(selective_log_softmax(logits, index), expected)


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


def test_torchcontrib():
    from torchcontrib.optim import SWA

    net = mlp()
    optimizer = SWA(torch.optim.SGD(net.parameters(), lr=0.1), swa_start=1, swa_freq=1)
    for _ in range(3):
        optimizer.zero_grad()
        net(torch.randn(4, 4)).square().mean().backward()
        optimizer.step()
    optimizer.swap_swa_sgd()
