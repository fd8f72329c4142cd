"""timm: fifteen architectures, forward, backward and a step."""

import pytest
import timm
import torch

from .helpers import fill, same_after_saving, train, wave

NAMES = [
    "resnet18", "resnet26d", "resnext26ts", "mobilenetv3_small_050", "efficientnet_b0", "vgg11",
    "densenet121", "regnetx_002", "convnext_atto", "ghostnet_050", "mnasnet_small",
    "vit_tiny_patch16_224", "deit_tiny_patch16_224", "mixer_s32_224", "repvgg_a0",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_architecture(name, check, tmp_path):
    options = {"img_size": 64} if "_224" in name else {}
    model = fill(timm.create_model(name, num_classes=10, **options), scale=0.05).eval()
    images = wave(2, 3, 64, 64)
    logits = model(images)
    loss = torch.nn.functional.cross_entropy
    losses = train(model, lambda: loss(model(images), torch.tensor([1, 2])), steps=1)
    check(1e-3, logits=logits, losses=losses)
    same_after_saving(model, tmp_path)
