"""Transforms of images: single and in batches, uint8 and floating, seeded."""

import colorsys

import genesis
import numpy as np
import pytest
from genesis.data import transforms as T
from genesis.data.transforms import _augment, _colour


def seeded(seed=0):
    return genesis.Generator().manual_seed(seed)


def images(n=6, c=3, h=12, w=10):
    return genesis.rand(n, c, h, w, generator=seeded(1))


RANDOM = {
    "crop": lambda g: T.RandomCrop(8, padding=2, generator=g),
    "resized_crop": lambda g: T.RandomResizedCrop((8, 6), generator=g),
    "horizontal_flip": lambda g: T.RandomHorizontalFlip(generator=g),
    "vertical_flip": lambda g: T.RandomVerticalFlip(generator=g),
    "erasing": lambda g: T.RandomErasing(0.7, generator=g),
    "jitter": lambda g: T.ColorJitter(0.4, 0.4, 0.4, 0.2, generator=g),
    "rand_augment": lambda g: T.RandAugment(2, 12, generator=g),
}
FIXED = {
    "resize": lambda: T.Resize((6, 7)),
    "shorter_side": lambda: T.Resize(5),
    "nearest": lambda: T.Resize(24, "nearest"),
    "bicubic": lambda: T.Resize(24, "bicubic"),
    "center_crop": lambda: T.CenterCrop(6),
    "pad": lambda: T.Pad(2),
    "reflect": lambda: T.Pad(2, mode="reflect"),
    "grayscale": lambda: T.Grayscale(3),
}
ALL = {**{n: (lambda f=f: f(seeded())) for n, f in RANDOM.items()}, **FIXED}


@pytest.mark.parametrize("name", ALL)
def test_single_images_batches_and_dtypes(name):
    x = images()
    found = ALL[name]()(x)
    assert found.ndim == 4 and len(found) == 6 and found.dtype == genesis.float32
    assert found.min().item() >= 0 and found.max().item() <= 1.0001
    single = ALL[name]()(x[0])
    assert single.shape == found.shape[1:]
    whole = ALL[name]()((x * 255).round().to(genesis.uint8))
    assert whole.dtype == genesis.uint8 and whole.shape == found.shape
    if name not in ("erasing", "rand_augment", "nearest"):
        rounded = ALL[name]()((x * 255).round() / 255)
        assert (whole.float() / 255 - rounded).abs().max().item() < 0.02
    assert ALL[name]()(x.double()).dtype == genesis.float64
    assert ALL[name]()(x[:0]).shape == (0, *found.shape[1:])
    assert genesis.equal(x, images())  # the input stays


@pytest.mark.parametrize("name", RANDOM)
def test_the_generator_decides(name):
    x = images(16)
    a, b, c = (RANDOM[name](seeded(s))(x) for s in (1, 1, 2))
    assert genesis.equal(a, b)
    assert not genesis.equal(a, c)
    genesis.manual_seed(4)
    d = RANDOM[name](None)(x)
    genesis.manual_seed(4)
    assert genesis.equal(d, RANDOM[name](None)(x))


@pytest.mark.parametrize("name", RANDOM)
def test_every_image_of_a_batch_has_numbers_of_its_own(name):
    same = images(1).expand(24, -1, -1, -1)
    found = RANDOM[name](seeded())(same)
    assert len({tuple(x.flatten().tolist()) for x in found}) >= 2


def test_crops_are_parts_of_the_image():
    x = genesis.arange(100.0).reshape(1, 1, 10, 10).expand(50, -1, -1, -1)
    found = T.RandomCrop(4, generator=seeded())(x)
    corners = set()
    for crop in found:
        top, left = divmod(int(crop[0, 0, 0]), 10)
        corners.add((top, left))
        assert genesis.equal(crop[0], x[0, 0, top : top + 4, left : left + 4])
    assert {0, 6} <= {t for t, _ in corners} and len(corners) > 20  # from edge to edge


def test_flips_have_their_probability():
    x = genesis.arange(2.0).reshape(1, 1, 1, 2).expand(4000, -1, -1, -1)
    flipped = T.RandomHorizontalFlip(0.3, generator=seeded())(x)[:, 0, 0, 0].mean().item()
    assert abs(flipped - 0.3) < 0.03
    assert genesis.equal(T.RandomVerticalFlip(0.0)(x), x)


def test_resizing_averages_and_keeps_constants():
    x = genesis.full((1, 3, 8, 8), 0.25)
    assert genesis.allclose(T.Resize(3)(x), genesis.full((1, 3, 3, 3), 0.25))
    assert T.Resize(4)(genesis.rand(3, 8, 16)).shape == (3, 4, 8)
    board = (genesis.arange(8)[:, None] + genesis.arange(8)) % 2 * 1.0
    smaller = T.Resize((2, 2))(board.reshape(1, 8, 8))
    assert (smaller - 0.5).abs().max().item() < 0.1  # not black or white


def test_normalizing_and_tensors():
    x = genesis.rand(5, 3, 4, 4)
    mean, std = [0.1, 0.2, 0.3], [0.5, 0.6, 0.7]
    expected = (x.numpy() - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    np.testing.assert_allclose(T.Normalize(mean, std)(x).numpy(), expected, rtol=1e-5, atol=1e-6)
    array = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    made = T.ToTensor()(array)
    np.testing.assert_allclose(made.numpy(), array.transpose(2, 0, 1) / 255, rtol=1e-6)
    assert T.ToTensor()(array[:, :, 0]).shape == (1, 2, 4)
    Image = pytest.importorskip("PIL.Image")
    assert genesis.equal(T.ToTensor()(Image.fromarray(array)), made)


def test_hues_are_those_of_the_hsv_model():
    x = images(1, h=6, w=6)
    for shift in (0.0, 0.1, -0.3, 0.5):
        found = _colour.hue(x, genesis.tensor([shift]))[0].permute(1, 2, 0).reshape(-1, 3).tolist()
        for (r, g, b), got in zip(
            x[0].permute(1, 2, 0).reshape(-1, 3).tolist(), found, strict=True
        ):
            h, s, v = colorsys.rgb_to_hsv(r, g, b)
            expected = colorsys.hsv_to_rgb((h + shift) % 1, s, v)
            np.testing.assert_allclose(got, expected, atol=2e-5)
    grey = genesis.full((1, 3, 2, 2), 0.4)
    assert genesis.allclose(_colour.hue(grey, genesis.tensor([0.3])), grey)


def test_colours_against_pillow():
    Image = pytest.importorskip("PIL.Image")
    ImageEnhance = pytest.importorskip("PIL.ImageEnhance")
    array = (images(1)[0].permute(1, 2, 0) * 255).round().to(genesis.uint8).numpy()
    picture = Image.fromarray(array)
    x = T.ToTensor()(array).unsqueeze(0)
    for ours, theirs in (
        (_colour.brightness, ImageEnhance.Brightness), (_colour.saturation, ImageEnhance.Color),
        (_colour.contrast, ImageEnhance.Contrast), (_augment._sharpness, ImageEnhance.Sharpness),
    ):  # fmt: skip
        for factor in (0.3, 1.0, 1.7):
            found = ours(x, genesis.tensor([factor]))[0].permute(1, 2, 0).numpy() * 255
            expected = np.asarray(theirs(picture).enhance(factor)).astype(float)
            assert np.abs(found - expected).max() <= 2.5, (ours.__name__, factor)


def test_operations_of_rand_augment_against_pillow():
    Image = pytest.importorskip("PIL.Image")
    ImageOps = pytest.importorskip("PIL.ImageOps")
    array = (images(1, h=16, w=16)[0] ** 2).permute(1, 2, 0)
    array = (array * 200 + 20).round().to(genesis.uint8).numpy()
    picture = Image.fromarray(array)
    x = T.ToTensor()(array).unsqueeze(0)
    value = genesis.tensor
    for name, found, expected in (
        ("posterize", _augment._posterize(x, value([4.0])), ImageOps.posterize(picture, 4)),
        ("solarize", _augment._solarize(x, value([100 / 255])), ImageOps.solarize(picture, 100)),
        ("autocontrast", _augment._autocontrast(x, value([0.0])), ImageOps.autocontrast(picture)),
        ("equalize", _augment._equalize(x, value([0.0])), ImageOps.equalize(picture)),
        ("rotate", _augment._rotate(x, value([90.0])), picture.rotate(90)),
    ):
        got = found[0].permute(1, 2, 0).numpy() * 255
        difference = np.abs(got - np.asarray(expected).astype(float))
        assert difference.max() <= 1.01, (name, difference.max())
    moved = _augment._translate(x, value([0.25]), 0)
    assert genesis.allclose(moved[..., :12], x[..., 4:]) and moved[..., 12:].abs().sum() == 0
    sheared = _augment._shear(x, value([0.0]), (0, 1))
    assert genesis.allclose(sheared, x)


def test_rand_augment_uses_every_operation_and_one_channel_is_enough():
    x = images(200, c=1)
    found = T.RandAugment(1, 20, generator=seeded())(x)
    same = sum(genesis.equal(a, b) for a, b in zip(found, x, strict=True))
    assert 5 < same < 60  # identity, and colour, which grey images have not
    assert genesis.equal(T.RandAugment(0)(x), x)
    assert len(T.RandAugment.OPERATIONS) == 14


def test_mixup_mixes_images_and_labels_alike():
    labels = genesis.tensor([0, 1, 2, 1])
    marks = genesis.eye(3)[labels].reshape(4, 3, 1, 1).expand(-1, -1, 4, 4)
    for _ in range(5):
        mixed, shares = T.MixUp(3, alpha=0.4)(marks, labels)
        np.testing.assert_allclose(mixed[:, :, 0, 0].numpy(), shares.numpy(), rtol=1e-5, atol=1e-6)
    a, b = (T.MixUp(3, generator=seeded(5))(marks, labels)[1] for _ in range(2))
    assert genesis.equal(a, b)
    same, shares = T.MixUp(3, p=0.0)((marks, labels))
    assert genesis.equal(same, marks) and genesis.equal(shares, genesis.eye(3)[labels])


def test_cutmix_counts_by_area():
    labels = genesis.tensor([0, 1, 2, 1])
    marks = genesis.eye(3)[labels].reshape(4, 3, 1, 1).expand(-1, -1, 16, 12)
    seen = set()
    for seed in range(10):
        mixed, shares = T.CutMix(3, generator=seeded(seed))(marks, labels)
        np.testing.assert_allclose(mixed.mean((2, 3)).numpy(), shares.numpy(), atol=1e-5)
        seen.add(round(shares[0].max().item(), 3))
    assert len(seen) > 3
    loss = genesis.nn.functional.cross_entropy(genesis.randn(4, 3), shares)
    assert loss.isfinite()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: T.Resize(3)("image"), TypeError, "ToTensor"),
        (lambda: T.Resize(3)(genesis.ones(3, 3)), ValueError, "(C, H, W)"),
        (lambda: T.Resize(0), ValueError, "positive"),
        (lambda: T.Resize(3, "area"), ValueError, "mode"),
        (lambda: T.RandomCrop(9)(genesis.ones(1, 8, 8)), ValueError, "larger than the images"),
        (lambda: T.CenterCrop(9)(genesis.ones(1, 8, 8)), ValueError, "pad or resize"),
        (lambda: T.RandomHorizontalFlip(1.5), ValueError, "p must be between"),
        (lambda: T.ColorJitter(hue=0.8), ValueError, "hue"),
        (lambda: T.ColorJitter(brightness=-1), ValueError, "brightness"),
        (lambda: T.ColorJitter(0.1)(genesis.ones(1, 4, 4)), ValueError, "3 channels"),
        (lambda: T.Normalize([0.5, 0.5], [1.0]), ValueError, "as many means"),
        (lambda: T.Normalize([0.5, 0.5], [1.0, 1.0])(genesis.ones(3, 4, 4)), ValueError, "3 channels"),
        (lambda: T.RandAugment(2, 31), ValueError, "magnitude"),
        (lambda: T.MixUp(1), ValueError, "num_classes"),
        (lambda: T.MixUp(3)(genesis.ones(2, 3)), TypeError, "labels"),
        (lambda: T.Compose([3]), TypeError, "not callable"),
        (lambda: T.ToTensor()("x"), TypeError, "Pillow"),
    ],
)  # fmt: skip
def test_mistakes(call, error, text):
    import re

    with pytest.raises(error, match=re.escape(text)):
        call()
