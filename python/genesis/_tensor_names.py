"""What ``genesis.tensor`` holds as a module; the name itself is the function that makes tensors."""

from genesis._C import Tensor, ones_like, tensor

__all__ = ["Tensor", "ones_like", "tensor"]
