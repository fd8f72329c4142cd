"""torchinfo: the summary of a model."""

import torch
import torchinfo


def test_summary():
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 2)
    )
    found = torchinfo.summary(net, input_size=(1, 3, 8, 8), verbose=0)
    assert found.total_params == 3 * 8 * 9 + 8 + 8 * 36 * 2 + 2
    assert "Conv2d" in str(found)
