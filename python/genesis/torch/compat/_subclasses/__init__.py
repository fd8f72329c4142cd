"""Tensors without values, which a compiler computes with."""

from genesis.torch.compat._subclasses.fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
