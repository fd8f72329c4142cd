"""Genesis under the name of PyTorch: this package is written by `genesis torch enable`."""

import genesis.torch

genesis.torch.install()
