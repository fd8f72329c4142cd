"""kornia: colours, filters and geometry of images, with gradients."""

import kornia
import torch

from .helpers import wave


def test_images(check):
    images = (wave(2, 3, 16, 16) + 1) / 2
    turned = kornia.geometry.transform.rotate(images, torch.tensor([30.0, -15.0]))
    check(
        1e-3,
        gray=kornia.color.rgb_to_grayscale(images),
        hsv=kornia.color.rgb_to_hsv(images),
        blurred=kornia.filters.gaussian_blur2d(images, (3, 3), (1.0, 1.0)),
        edges=kornia.filters.sobel(images),
        turned=turned,
    )


def test_gradient(check):
    angle = torch.tensor([10.0], requires_grad=True)
    image = wave(1, 1, 8, 8)
    kornia.geometry.transform.rotate(image, angle).square().sum().backward()
    check(1e-3, gradient=angle.grad)
