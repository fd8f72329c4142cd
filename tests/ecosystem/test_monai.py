"""monai: a UNet, the Dice loss and a transform."""

import monai.losses
import monai.networks.nets
import monai.transforms

from .helpers import fill, same_after_saving, train, wave


def test_unet(check, tmp_path):
    net = fill(
        monai.networks.nets.UNet(
            spatial_dims=2,
            in_channels=1,
            out_channels=2,
            channels=(4, 8),
            strides=(2,),
            num_res_units=1,
        )
    ).eval()
    images, truth = wave(2, 1, 16, 16), (wave(2, 1, 16, 16, start=1.0) > 0).long()
    dice = monai.losses.DiceCELoss(to_onehot_y=True, softmax=True)
    out = net(images)
    losses = train(net, lambda: dice(net(images), truth))
    check(1e-3, out=out, losses=losses)
    same_after_saving(net, tmp_path)


def test_transform():
    scaled = monai.transforms.ScaleIntensity()(wave(1, 8, 8))
    assert float(scaled.min()) == 0.0
    assert float(scaled.max()) == 1.0
