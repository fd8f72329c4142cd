"""The private place of ``torch.func.vmap``."""

from genesis.func import vmap

__all__ = ["vmap"]
