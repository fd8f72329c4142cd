"""torchvision: models and transforms of tensors."""

import pytest
import torch
import torchvision

from .helpers import fill, same_after_saving, train, wave


@pytest.mark.parametrize(
    "name", ["resnet18", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_5"]
)
def test_model(name, check, tmp_path):
    model = fill(torchvision.models.get_model(name, num_classes=10), scale=0.05).eval()
    images = wave(2, 3, 64, 64)
    logits = model(images)
    loss = torch.nn.functional.cross_entropy
    losses = train(model, lambda: loss(model(images), torch.tensor([1, 2])), steps=1)
    check(1e-3, logits=logits, losses=losses)
    same_after_saving(model, tmp_path)


def test_transforms(check):
    images = wave(2, 3, 16, 16)
    steps = torchvision.transforms.Compose(
        [
            torchvision.transforms.Resize(8, antialias=False),
            torchvision.transforms.CenterCrop(6),
            torchvision.transforms.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4]),
        ]
    )
    check(images=steps(images))


def test_boxes(check):
    boxes = torch.tensor([[0.0, 0, 2, 2], [1, 1, 3, 3], [5, 5, 6, 7]])
    check(iou=torchvision.ops.box_iou(boxes, boxes), area=torchvision.ops.box_area(boxes))
