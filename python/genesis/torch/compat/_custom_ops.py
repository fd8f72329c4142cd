"""The old place of ``torch.library``."""

from genesis.library import custom_op, impl, impl_abstract

__all__ = ["custom_op", "impl", "impl_abstract"]
