"""The older place of ``torch.vmap``."""

from genesis.func import vmap

__all__ = ["vmap"]

_vmap = vmap
