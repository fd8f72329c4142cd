"""Optimizers and training loops. Packages outside the main list, one small use of each.

A function is named after the module that it imports. Results are checked by properties (losses
fall, gradients are finite, shapes fit); values are compared where a closed form exists.
"""

import torch
from torch import nn

from .helpers import falling, mlp, trained


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


def test_torchcontrib():
    from torchcontrib.optim import SWA

    net = mlp()
    optimizer = SWA(torch.optim.SGD(net.parameters(), lr=0.1), swa_start=1, swa_freq=1)
    for _ in range(3):
        optimizer.zero_grad()
        net(torch.randn(4, 4)).square().mean().backward()
        optimizer.step()
    optimizer.swap_swa_sgd()
