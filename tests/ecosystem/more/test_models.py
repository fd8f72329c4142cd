"""Models and layers. Packages outside the main list, one small use of each.

A function is named after the module that it imports. Results are checked by properties (losses
fall, gradients are finite, shapes fit); values are compared where a closed form exists.
"""

import torch
from torch import nn

from .helpers import trained


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


def test_facenet_pytorch():
    from facenet_pytorch import InceptionResnetV1

    net = InceptionResnetV1(pretrained=None, classify=True, num_classes=3)
    trained(net, lambda: net(torch.randn(2, 3, 96, 96)).square().mean(), steps=1)


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
