"""diffusers: a UNet, a VAE, and three schedulers."""

import diffusers
import pytest
import torch

from .helpers import fill, train, wave

SCHEDULERS = ["DDPMScheduler", "DDIMScheduler", "EulerDiscreteScheduler"]


def test_unet(check, tmp_path):
    model = fill(
        diffusers.UNet2DModel(
            sample_size=8,
            in_channels=3,
            out_channels=3,
            layers_per_block=1,
            norm_num_groups=4,
            block_out_channels=(8, 16),
            down_block_types=("DownBlock2D", "AttnDownBlock2D"),
            up_block_types=("AttnUpBlock2D", "UpBlock2D"),
            attention_head_dim=4,
        )
    ).eval()
    x, t = wave(2, 3, 8, 8), torch.tensor([3, 7])
    out = model(x, t).sample
    losses = train(model, lambda: model(x, t).sample.square().mean())
    check(1e-3, out=out, losses=losses)


def test_vae(check):
    model = fill(
        diffusers.AutoencoderKL(
            in_channels=3,
            out_channels=3,
            latent_channels=2,
            norm_num_groups=4,
            layers_per_block=1,
            block_out_channels=(8, 16),
            down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
        )
    ).eval()
    x = wave(1, 3, 16, 16)
    latent = model.encode(x).latent_dist.mode()
    check(1e-3, latent=latent, image=model.decode(latent).sample)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_scheduler(name, check):
    scheduler = getattr(diffusers, name)(num_train_timesteps=100)
    noisy = scheduler.add_noise(
        wave(2, 3, 4, 4), wave(2, 3, 4, 4, start=1.0), torch.tensor([10, 20])
    )
    scheduler.set_timesteps(5)
    sample = wave(1, 3, 4, 4)
    for t in scheduler.timesteps[-1:]:
        sample = scheduler.step(wave(1, 3, 4, 4, start=2.0), t, sample).prev_sample
    check(1e-3, noisy=noisy, sample=sample)


def test_save_and_load(tmp_path):
    model = diffusers.UNet2DModel(
        sample_size=8,
        layers_per_block=1,
        norm_num_groups=4,
        block_out_channels=(8, 16),
        down_block_types=("DownBlock2D",) * 2,
        up_block_types=("UpBlock2D",) * 2,
    )
    model.save_pretrained(tmp_path)
    again = diffusers.UNet2DModel.from_pretrained(tmp_path)
    state = model.state_dict()
    assert all(torch.equal(value, state[key]) for key, value in again.state_dict().items())
